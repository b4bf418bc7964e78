/**
 * The one-line answer to a dialplan. Whatever goes wrong is a `block:...:end` line with a status
 * other than 200; emergency and service codes pass whatever else the request holds or lacks.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type DecisionRequest,
  type PredialAnswer,
  predialGet,
  predialLine,
  predialPost,
} from '../api/gate.js'
import { route } from '../api/route.js'
import type { Caller } from '../domain/caller.js'
import { type CallRequest, type Decision, degradedBy } from '../domain/decision.js'
import { parseDialed } from '../domain/phone-number.js'
import { type LogFields, sampledWarning } from '../log.js'
import { callerOf, keyInHeaders } from './authenticate.js'
import { type BindTools, pathOf } from './bind.js'
import { errorReply } from './error-body.js'
import { joinFields, type RawFields, readBodyFields, readQuery } from './read-fields.js'
import { sendReply } from './send-reply.js'

export interface PredialOptions extends BindTools {
  readonly decide: (call: CallRequest) => Promise<Decision>
  readonly serviceCodes: ReadonlySet<string>
}

/** Far above what a dialplan sends; a stranger cannot make us read more. */
const longestBody = 16_384

/** The handler never rejects. */
export function predialHandler(
  options: PredialOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const answered = route(predialGet, async (caller, request) =>
    answerOf(await options.decide(callOf(caller, request, 'predial'))),
  )
  const warnWithoutKey = sampledWarning(
    options.logger,
    'an emergency or service code passed without a valid key',
  )
  return async (request, response) => {
    const context = {
      shape: predialGet.errors,
      jsonRequested: false,
      path: pathOf(request),
      endpoint: predialGet.name,
    }
    try {
      const { code, fields } = await readCall(request, options)
      const caller = await knownCaller(request, options, code)
      if (code === undefined && caller) {
        return sendReply(
          response,
          await answered.answer(fields(), { caller, jsonRequested: false }),
        )
      }
      const known = knownOf(fields)
      const call = { ...known, number: code ?? '' }
      const line = await emergencyLine(call, caller, { decide: options.decide, warnWithoutKey })
      sendReply(response, { text: `${line}\n` })
    } catch (error) {
      sendReply(response, errorReply(error, context, options.logger))
    }
  }
}

/** The call to judge, from the fields of a request. */
export function callOf(
  caller: Caller,
  request: DecisionRequest,
  via: CallRequest['via'],
): CallRequest {
  const { number: dialed, ...rest } = request
  return { dialed, accountId: caller.accountId, via, ...rest }
}

/** A decision that could not be made or kept is a failure, told by the status as well. */
function answerOf(decision: Decision): PredialAnswer {
  const failed = decision.reason === 'overloaded' || decision.reason === 'not-recorded'
  const status = failed ? 503 : 200
  return { line: predialLine(decision), status, degraded: degradedBy(decision) }
}

interface AskedCall {
  /** The emergency or service code, when that is what is dialled. */
  readonly code: string | undefined
  /** Throws a refusal for a field that is given twice. */
  readonly fields: () => RawFields
}

/** An emergency number in the address is seen before anything else is looked at. */
async function readCall(request: IncomingMessage, options: PredialOptions): Promise<AskedCall> {
  const code = codeIn(addressPairs(request), options.serviceCodes)
  if (code !== undefined || request.method === 'GET') {
    return { code, fields: () => readQuery(request) }
  }
  const { fields } = await readBodyFields(request, {
    accepts: predialPost.accepts,
    maxBytes: Math.min(longestBody, options.maxBodyBytes),
  })
  return {
    code: codeIn(Object.entries(fields), options.serviceCodes),
    fields: () => joinFields([readQuery(request), fields]),
  }
}

function addressPairs(request: IncomingMessage): Iterable<readonly [string, string]> {
  return new URLSearchParams((request.url ?? '').split('?').slice(1).join('?'))
}

/** The service code that every field of that name holds; two different numbers are no emergency. */
function codeIn(
  pairs: Iterable<readonly [string, unknown]>,
  serviceCodes: ReadonlySet<string>,
): string | undefined {
  const codes = new Set<string | undefined>()
  for (const [name, value] of pairs) {
    if (name.toLowerCase() !== 'number') continue
    const dialed = typeof value === 'string' ? parseDialed(value, serviceCodes) : undefined
    codes.add(dialed?.kind === 'service-code' ? dialed.code : undefined)
  }
  const [code] = codes
  return codes.size === 1 ? code : undefined
}

/** Throws `unauthenticated`, unless an emergency call lets that pass. */
async function knownCaller(
  request: IncomingMessage,
  { authenticate }: PredialOptions,
  code: string | undefined,
): Promise<Caller | undefined> {
  try {
    return await callerOf(keyInHeaders(request), authenticate)
  } catch (error) {
    if (code === undefined) throw error
    return undefined
  }
}

/** What can be told of an emergency call; what is wrong with the other fields does not matter. */
function knownOf(fields: AskedCall['fields']): DecisionRequest {
  try {
    const parsed = predialGet.request.safeParse(fields())
    return parsed.success ? parsed.data : emptyRequest
  } catch {
    return emptyRequest
  }
}

const emptyRequest: DecisionRequest = {
  number: '',
  callKind: 'manual',
  projectId: undefined,
  campaignId: undefined,
  postalCode: undefined,
  callerId: undefined,
  reference: undefined,
  at: undefined,
}

interface EmergencyTools extends Pick<PredialOptions, 'decide'> {
  readonly warnWithoutKey: (fields: LogFields) => void
}

/** Without a key there is no account to keep a record for, so the line carries no id. */
async function emergencyLine(
  request: DecisionRequest,
  caller: Caller | undefined,
  { decide, warnWithoutKey }: EmergencyTools,
): Promise<string> {
  const { number } = request
  if (!caller) {
    warnWithoutKey({ number })
    return predialLine({ decision: 'allow', number, reason: 'service-code', id: '-' })
  }
  return predialLine(await decide(callOf(caller, request, 'predial')))
}
