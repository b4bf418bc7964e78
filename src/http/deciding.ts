/**
 * The calls that decide, from the request to its answer. Whatever goes wrong has a status other than
 * 200; emergency and service codes pass whatever else the request holds or lacks.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DecisionBody } from '../api/decision-body.js'
import type { Endpoint } from '../api/endpoint.js'
import { type DecisionRequest, refuseFarInstant } from '../api/gate.js'
import { replyOf, route } from '../api/route.js'
import { type Caller, nobody } from '../domain/caller.js'
import type { Clock } from '../domain/clock.js'
import type { CallRequest, Decision, DeliverDecision } from '../domain/decision.js'
import { parseDialed } from '../domain/phone-number.js'
import { sampledWarning } from '../log.js'
import {
  admitKeyInAddress,
  type Credential,
  callerOf,
  keyAmong,
  keyAsPassword,
  keyInHeaders,
  takeKey,
} from './authenticate.js'
import { type BindTools, pathOf, refuseFields } from './bind.js'
import { errorReply } from './error-body.js'
import { anonymousBodyBytes, discardRest } from './read-body.js'
import { joinFields, type RawFields, readBodyFields, readQuery } from './read-fields.js'
import { sendReply } from './send-reply.js'

export interface DecidingTools
  extends Pick<BindTools, 'authenticate' | 'keysInAddress' | 'maxBodyBytes' | 'logger'> {
  /** Judges a call whose request arrived at that instant of the monotonic clock. */
  readonly judge: (call: CallRequest, arrivedAtMs: number) => Promise<DeliverDecision>
  /** Allows a call to a service code of which no record can be kept. */
  readonly passUnrecorded: (call: CallRequest) => Decision
  /** The decision as the HTTP caller reads it. */
  readonly document: (decision: Decision) => DecisionBody
  readonly serviceCodes: ReadonlySet<string>
  readonly clock: Clock
}

/** What the server adds to a request: when it arrived, and whom to notify once its key is valid. */
export interface RequestContext extends Pick<BindTools, 'onKnown'> {
  /** The earliest that it can have arrived, on the monotonic clock. */
  readonly arrivedAtMs: number
}

/** Never rejects. */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => Promise<void>

export interface DecidingCall<Answer> {
  readonly endpoint: Endpoint<DecisionRequest, Answer>
  readonly via: CallRequest['via']
  readonly answerOf: (decision: Decision, request: DecisionRequest) => Answer
}

export function decidingHandlers(
  tools: DecidingTools,
): <Answer>(call: DecidingCall<Answer>) => Handler {
  const warnUnrecorded = sampledWarning(
    tools.logger,
    'an emergency or service code passed without a record',
  )
  return ({ endpoint, via, answerOf }) => {
    return async (request, response, { arrivedAtMs, onKnown }) => {
      const sender = findSender(request, endpoint, { ...tools, onKnown })
      const judge = (caller: Caller, fields: DecisionRequest) =>
        tools.judge(callOf(caller, fields, via), arrivedAtMs)
      const judged = route(endpoint, async (caller, fields) => {
        refuseFarInstant(fields.at, tools.clock.now())
        const deliver = await judge(caller, fields)
        return () => answerOf(deliver(isQueued(response)), fields)
      })
      const passed = async (known: DecisionRequest, { keyInBody }: AskedCall) => {
        try {
          return (await judge(await soon(sender.callerWith(keyInBody)), known))()
        } catch (cause) {
          const because = cause instanceof Error ? cause.message : String(cause)
          warnUnrecorded({ number: known.number, because })
          return tools.passUnrecorded(callOf(nobody, known, via))
        }
      }
      try {
        const asked = await readCall(request, endpoint, tools)
        const { code, fields } = asked
        if (code !== undefined) {
          const known = knownOf(endpoint, fields, code)
          const context = { request: known, jsonRequested: false }
          return sendReply(
            response,
            await replyOf(endpoint, answerOf(await passed(known, asked), known), context),
          )
        }
        const caller = await sender.callerWith(asked.keyInBody)
        judged.admit(caller)
        sendReply(response, await judged.answer(fields(), { caller, jsonRequested: false }))
      } catch (error) {
        discardRest(request, sender.isKnown ? tools.maxBodyBytes : anonymousBodyBytes)
        const { errors: shape, name } = endpoint
        const context = { shape, jsonRequested: false, path: pathOf(request), endpoint: name }
        sendReply(response, errorReply(error, context, tools.logger))
      }
    }
  }
}

type KeyPlaces = Pick<Endpoint<unknown, unknown>, 'keyAlsoIn' | 'keyAsPassword'>

/**
 * Looks a key in headers or address up while the body is read, which may hold an emergency call
 * whatever the key is.
 */
function findSender(
  request: IncomingMessage,
  places: KeyPlaces,
  tools: Pick<BindTools, 'authenticate' | 'keysInAddress' | 'onKnown'>,
) {
  const lookUp = async (key: Credential | undefined) => {
    const caller = await callerOf(key, tools.authenticate)
    sender.isKnown = true
    tools.onKnown?.(request)
    return caller
  }
  const early = keyBeforeBody(request, places, tools).then((key) => key && lookUp(key))
  early.catch(() => undefined)
  const sender = {
    isKnown: false,
    callerWith: async (keyInBody: AskedCall['keyInBody']) =>
      (await early) ?? (await lookUp(keyInBody())),
  }
  return sender
}

async function keyBeforeBody(
  request: IncomingMessage,
  places: KeyPlaces,
  { keysInAddress }: Pick<BindTools, 'keysInAddress'>,
): Promise<Credential | undefined> {
  const mayBeInAddress = places.keyAlsoIn.includes('query')
  const inAddress = mayBeInAddress ? keyAmong(addressPairs(request)) : undefined
  admitKeyInAddress(inAddress, keysInAddress)
  const inHeaders = keyInHeaders(request) ?? (places.keyAsPassword && keyAsPassword(request))
  return inHeaders || inAddress
}

/** An earlier answer on the same connection is not finished, so this one cannot leave yet. */
function isQueued(response: ServerResponse): boolean {
  return response.socket === null && !response.destroyed
}

function callOf(caller: Caller, request: DecisionRequest, via: CallRequest['via']): CallRequest {
  const { number: dialed, asSent: _, ...rest } = request
  const keyId = caller === nobody ? undefined : caller.keyId
  return { dialed, accountId: caller.accountId, keyId, via, ...rest }
}

interface AskedCall {
  /** The emergency or service code, when that is what is dialled. */
  readonly code: string | undefined
  /** Throws a refusal for a key that is given twice. */
  readonly keyInBody: () => Credential | undefined
  /** Throws a refusal for a body that cannot be read, and for a field that is given twice. */
  readonly fields: () => RawFields
}

/**
 * Where the number may be in the address, an emergency number there passes whatever is wrong with the
 * body.
 */
async function readCall(
  request: IncomingMessage,
  endpoint: Pick<Endpoint<unknown, unknown>, 'method' | 'accepts' | 'keyAlsoIn' | 'maxBodyBytes'>,
  { serviceCodes, maxBodyBytes }: DecidingTools,
): Promise<AskedCall> {
  const { method, accepts, keyAlsoIn } = endpoint
  const address = [...addressPairs(request)]
  const codeInAddress = accepts.includes('query') ? codeIn(address, serviceCodes) : undefined
  const query = () => {
    const all = readQuery(request)
    const fields = keyAlsoIn.includes('query') ? takeKey(all).rest : all
    if (!accepts.includes('query')) refuseFields(fields)
    return fields
  }
  const keyInBody = () => undefined
  if (method === 'GET') return { code: codeInAddress, keyInBody, fields: query }
  try {
    const maxBytes = Math.min(endpoint.maxBodyBytes ?? maxBodyBytes, maxBodyBytes)
    const { form, fields } = await readBodyFields(request, { accepts, maxBytes })
    const code = codeIn([...address, ...Object.entries(fields)], serviceCodes)
    const mayHoldKey = form !== undefined && keyAlsoIn.includes(form)
    return {
      code,
      keyInBody: () => (mayHoldKey ? keyAmong(Object.entries(fields)) : undefined),
      fields: () => joinFields([query(), mayHoldKey ? takeKey(fields).rest : fields]),
    }
  } catch (error) {
    if (codeInAddress !== undefined) return { code: codeInAddress, keyInBody, fields: query }
    const refuse = () => {
      throw error
    }
    return { code: undefined, keyInBody, fields: refuse }
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
    const dialed = parseDialed(dialedText(value), serviceCodes)
    codes.add(dialed.kind === 'service-code' ? dialed.code : undefined)
  }
  const [code] = codes
  return codes.size === 1 ? code : undefined
}

/** JSON has numbers too; the point and the sign of one are no punctuation between its digits. */
function dialedText(value: unknown): string {
  if (typeof value === 'string') return value
  return Number.isSafeInteger(value) && Number(value) > 0 ? String(value) : ''
}

/** What can be told of an emergency call; what is wrong with the other fields does not matter. */
function knownOf(
  { request }: Pick<Endpoint<DecisionRequest, unknown>, 'request'>,
  fields: AskedCall['fields'],
  code: string,
): DecisionRequest {
  try {
    const parsed = request.safeParse(fields())
    if (parsed.success) return parsed.data
  } catch {
    // Told below.
  }
  return { ...emptyRequest, number: code }
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

/** How long an emergency call waits to learn whose it is. */
const longestWaitMs = 50

/** Rejects when that takes too long. */
async function soon(asking: Promise<Caller>): Promise<Caller> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const problem = `the key could not be looked up within ${longestWaitMs} ms`
    timer = setTimeout(() => reject(new Error(problem)), longestWaitMs)
  })
  try {
    return await Promise.race([asking, late])
  } finally {
    clearTimeout(timer)
  }
}
