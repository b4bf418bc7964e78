/**
 * The one-line answer to a dialplan. Whatever goes wrong is a `block:...:end` line with a status
 * other than 200; emergency and service codes pass whatever else the request holds or lacks.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { smallBodyBytes, type WholeReply } from '../api/endpoint.js'
import {
  type DecisionRequest,
  type PredialAnswer,
  predialGet,
  predialLine,
  predialPost,
} from '../api/gate.js'
import { route } from '../api/route.js'
import type { Caller } from '../domain/caller.js'
import {
  type CallRequest,
  type Decision,
  type DeliverDecision,
  degradedBy,
} from '../domain/decision.js'
import { parseDialed } from '../domain/phone-number.js'
import { type LogFields, sampledWarning } from '../log.js'
import { callerOf, keyInHeaders } from './authenticate.js'
import { type BindTools, pathOf } from './bind.js'
import { errorReply } from './error-body.js'
import { anonymousBodyBytes, discardRest } from './read-body.js'
import { joinFields, type RawFields, readBodyFields, readQuery } from './read-fields.js'
import { sendReply } from './send-reply.js'

export interface PredialOptions extends BindTools {
  /** Judges a call whose request arrived at that instant of the monotonic clock. */
  readonly judge: (call: CallRequest, arrivedAtMs: number) => Promise<DeliverDecision>
  readonly serviceCodes: ReadonlySet<string>
}

/** The handler never rejects. */
export function predialHandler(
  options: PredialOptions,
): (
  request: IncomingMessage,
  response: ServerResponse,
  context: Pick<BindTools, 'onKnown'> & { readonly arrivedAtMs: number },
) => Promise<void> {
  const warnWithoutKey = sampledWarning(
    options.logger,
    'an emergency or service code passed without a valid key',
  )
  return async (request, response, { arrivedAtMs, onKnown }) => {
    const context = {
      shape: predialGet.errors,
      jsonRequested: false,
      path: pathOf(request),
      endpoint: predialGet.name,
    }
    const judge = (caller: Caller, fields: DecisionRequest) =>
      options.judge(callOf(caller, fields, 'predial'), arrivedAtMs)
    const answered = route(predialGet, async (caller, fields) => {
      const deliver = await judge(caller, fields)
      return () => answerOf(deliver(isQueued(response)))
    })
    try {
      const { code, fields } = await readCall(request, options)
      const caller = await knownCaller(request, { ...options, onKnown }, code)
      if (code === undefined && caller) {
        answered.admit(caller)
        const reply = await answered.answer(fields(), { caller, jsonRequested: false })
        // One line is never long.
        return sendReply(response, reply as WholeReply)
      }
      const known = { ...knownOf(fields), number: code ?? '' }
      const line = caller
        ? predialLine((await judge(caller, known))())
        : strangersEmergencyLine(known, warnWithoutKey)
      sendReply(response, { text: `${line}\n` })
    } catch (error) {
      discardRest(request, anonymousBodyBytes)
      sendReply(response, errorReply(error, context, options.logger))
    }
  }
}

/** An earlier answer on the same connection is not finished, so this one cannot leave yet. */
export function isQueued(response: ServerResponse): boolean {
  return response.socket === null && !response.destroyed
}

/** The call to judge, from the fields of a request. */
export function callOf(
  caller: Caller,
  request: DecisionRequest,
  via: CallRequest['via'],
): CallRequest {
  const { number: dialed, ...rest } = request
  return { dialed, accountId: caller.accountId, keyId: caller.keyId, via, ...rest }
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

/** An emergency number in the address passes whatever is wrong with the body. */
async function readCall(request: IncomingMessage, options: PredialOptions): Promise<AskedCall> {
  const address = [...addressPairs(request)]
  const code = codeIn(address, options.serviceCodes)
  const inAddress = { code, fields: () => readQuery(request) }
  if (request.method === 'GET') return inAddress
  try {
    const { fields } = await readBodyFields(request, {
      accepts: predialPost.accepts,
      maxBytes: Math.min(smallBodyBytes, options.maxBodyBytes),
    })
    return {
      code: codeIn([...address, ...Object.entries(fields)], options.serviceCodes),
      fields: () => joinFields([readQuery(request), fields]),
    }
  } catch (error) {
    if (code === undefined) throw error
    return inAddress
  }
}

function addressPairs(request: IncomingMessage): Iterable<readonly [string, string]> {
  return new URLSearchParams((request.url ?? '').split('?').slice(1).join('?'))
}

/**
 * The service code that every field `number` holds, blank ones aside; two different numbers are no
 * emergency. No field has a name with a digit of any script: that is what a dialed `911&PJSIP/2125550105` leaves of
 * its second number.
 */
function codeIn(
  pairs: Iterable<readonly [string, unknown]>,
  serviceCodes: ReadonlySet<string>,
): string | undefined {
  const codes = new Set<string | undefined>()
  for (const [name, value] of pairs) {
    if (/\p{N}/u.test(name)) return undefined
    if (name.toLowerCase() !== 'number' || value === '' || value === null) continue
    const dialed = typeof value === 'string' ? parseDialed(value, serviceCodes) : undefined
    codes.add(dialed?.kind === 'service-code' ? dialed.code : undefined)
  }
  const [code] = codes
  return codes.size === 1 ? code : undefined
}

/** Throws `unauthenticated`, unless an emergency call lets that pass. */
async function knownCaller(
  request: IncomingMessage,
  { authenticate, onKnown }: PredialOptions,
  code: string | undefined,
): Promise<Caller | undefined> {
  try {
    const caller = await callerOf(keyInHeaders(request), authenticate)
    onKnown?.(request)
    return caller
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

/** Without a key there is no account to keep a record for, so the line carries no id. */
function strangersEmergencyLine(
  { number }: DecisionRequest,
  warnWithoutKey: (fields: LogFields) => void,
): string {
  warnWithoutKey({ number })
  return predialLine({ decision: 'allow', number, reason: 'service-code', id: '-' })
}
