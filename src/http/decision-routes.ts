/**
 * The calls that decide, from the request to its answer. Whatever goes wrong has a status other than
 * 200; emergency and service codes pass whatever else the request holds or lacks.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Endpoint, getMaxBodyBytes } from '../api/endpoint.js'
import {
  type DecisionRequest,
  decideEndpoint,
  encodePredialReply,
  formatPredialLine,
  predialGet,
  predialPost,
  readPlainDecision,
  requireInstantInRange,
} from '../api/gate/decisions.js'
import { type EndpointDescription, parseRequest, requireSomeRight } from '../api/route.js'
import { anonymousCaller, type Caller } from '../domain/caller.js'
import {
  type CallRequest,
  type Decision,
  type DecisionFinalizer,
  listDegradedChecks,
} from '../domain/decision.js'
import { parseDialString } from '../domain/phone-number.js'
import type { Clock } from '../domain/time/clock.js'
import { getErrorMessage } from '../errors.js'
import { createSampledWarning } from '../observability/log.js'
import { withTimeout } from '../runtime/runtime.js'
import { extractKey, findKey, identify, identifyBeforeBody, type Sender } from './authenticate.js'
import { createErrorReply } from './error-reply.js'
import { throttledSocketOf } from './limits/connections.js'
import { type BodyFields, discardBody, parseBodyFields, readBody } from './request/read-body.js'
import { mergeFields, queryPairs, type RawFields, readQuery } from './request/read-fields.js'
import { type RequestHandler, type RouteHandlerDeps, refuseQueryFields } from './route-handler.js'
import type { HttpRoute } from './router.js'
import { sendReply } from './send-reply.js'

export interface DecisionRoutesOptions
  extends Pick<RouteHandlerDeps, 'authenticate' | 'keysInAddress' | 'maxBodyBytes' | 'logger'> {
  readonly gate: {
    /** Judges a call whose request arrived at that instant of the monotonic clock. */
    judge(call: CallRequest, arrivedAtMs: number): Promise<DecisionFinalizer>
    /** Allows a call to a service code of which no record can be kept. */
    allowUnrecorded(call: CallRequest): Decision
  }
  /** The decision as the HTTP caller reads it, as JSON. */
  readonly toJson: (decision: Decision) => string
  readonly serviceCodes: ReadonlySet<string>
  readonly clock: Clock
}

/** Those answered here. */
export const decisionEndpoints: readonly EndpointDescription[] = [
  decideEndpoint,
  predialGet,
  predialPost,
]

interface DecisionCall {
  readonly endpoint: Omit<Endpoint<DecisionRequest, unknown>, 'encode'>
  readonly via: 'http' | 'predial'
  readonly options: DecisionRoutesOptions
  /** Called with the number and the cause. */
  readonly warnUnrecorded: (fields: { readonly number: string; readonly because: string }) => void
}

type Pairs = readonly (readonly [name: string, value: unknown])[]

export function createDecisionRoutes(options: DecisionRoutesOptions): readonly HttpRoute[] {
  const warnUnrecorded = createSampledWarning(
    options.logger,
    'an emergency or service code passed without a record',
  )
  const calls: readonly DecisionCall[] = [
    { endpoint: decideEndpoint, via: 'http', options, warnUnrecorded },
    { endpoint: predialGet, via: 'predial', options, warnUnrecorded },
    { endpoint: predialPost, via: 'predial', options, warnUnrecorded },
  ]
  return calls.map((call) => ({ endpoint: call.endpoint, handle: createDecisionHandler(call) }))
}

/**
 * Answers these routes at once, since a dialer waits for them. All other requests go to the router, also
 * those that spell a path of these in another way.
 */
export function createDecisionListener(
  routes: readonly HttpRoute[],
  router: RequestListener,
): RequestListener {
  const handlers = new Map<string, HttpRoute>()
  for (const route of routes) {
    const { method, paths } = route.endpoint
    for (const path of paths) handlers.set(`${method} ${path}`, route)
  }
  return (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const route = handlers.get(`${request.method} ${path}`)
    if (!route) return router(request, response)
    const pending = throttledSocketOf(request).pending.get(response)
    if (pending) pending.endpoint = route.endpoint.name
    // A handler that rejects could not even write a refusal.
    route.handle(request, response, { path, parameters: {} }).catch(() => response.destroy())
  }
}

/** The handler never rejects. */
function createDecisionHandler(call: DecisionCall): RequestHandler {
  const { endpoint, options } = call
  const { authenticate, keysInAddress, maxBodyBytes, logger } = options
  return async (request, response, { path }) => {
    const connection = throttledSocketOf(request)
    const sender: Sender = { authenticate, connection, hasKey: false }
    const { arrivedAtMs } = connection
    const query = request.url?.includes('?') ? [...queryPairs(request)] : []
    // While the body is read, which may hold an emergency call whatever the key is.
    const known = identifyBeforeBody(request, sender, { endpoint, query, keysInAddress })
    known.catch(() => undefined)
    try {
      const body = await receiveBody(request, call)
      const plain = readPlainCall(request, body, call)
      const caller = plain && (await known)
      if (plain && caller) {
        const { rights, projects, callKinds } = caller.limits
        // No limit of this key depends on the fields.
        if (projects === 'any' && callKinds === 'any' && rights.has('decide')) {
          const asked = toCallRequest(caller, plain, call.via)
          return answer(response, await options.gate.judge(asked, arrivedAtMs), {
            call,
            fields: plain,
          })
        }
      }
      await answerAnyRequest({ request, response, sender, known, query, body, call, arrivedAtMs })
    } catch (error) {
      discardBody(request, sender, maxBodyBytes)
      const { name, errors: shape } = endpoint
      const context = { shape, jsonRequested: false, path, endpoint: name }
      sendReply(response, createErrorReply(error, context, logger))
    }
  }
}

/** The body as sent, or why it could not be read. */
interface ReceivedBody {
  readonly bytes?: Buffer
  readonly refusal?: unknown
}

async function receiveBody(
  request: IncomingMessage,
  { endpoint, options }: DecisionCall,
): Promise<ReceivedBody> {
  if (endpoint.method === 'GET') return {}
  const maxBytes = getMaxBodyBytes(endpoint, options.maxBodyBytes)
  try {
    return { bytes: await readBody(request, { maxBytes }) }
  } catch (refusal) {
    return { refusal }
  }
}

const jsonType = 'application/json; charset=utf-8'
const plainTypes: ReadonlySet<string> = new Set(['application/json', jsonType])

/** The call of the usual request; `undefined` for every other one, such as one to a service code. */
function readPlainCall(
  { headers, url }: IncomingMessage,
  { bytes }: ReceivedBody,
  { endpoint, options }: DecisionCall,
): DecisionRequest | undefined {
  if (endpoint !== decideEndpoint || bytes === undefined || url?.includes('?')) return undefined
  if (!plainTypes.has(headers['content-type'] ?? '')) return undefined
  const call = readPlainDecision(bytes)
  return call && options.serviceCodes.has(call.number) ? undefined : call
}

interface AnsweredRequest {
  readonly call: DecisionCall
  readonly fields: DecisionRequest
}

interface AnyRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly sender: Sender
  /** The caller of a key that does not come in the body. */
  readonly known: Promise<Caller | undefined>
  readonly query: Pairs
  readonly body: ReceivedBody
  readonly call: DecisionCall
  readonly arrivedAtMs: number
}

async function answerAnyRequest(received: AnyRequest): Promise<void> {
  const { request, response, sender, known, query, call, arrivedAtMs } = received
  const { endpoint, via, options } = call
  const { accepts, keyAlsoIn } = endpoint
  const body = await readFieldsOf(request, received.body, call)
  const inBody = Object.entries(body.fields)
  const mayHoldKey = body.form !== undefined && keyAlsoIn.includes(body.form)
  const identified = known.then(
    (caller) => caller ?? identify(sender, mayHoldKey ? findKey(inBody) : undefined),
  )
  // An emergency number in the address passes whatever is wrong with the body.
  if (body.refusal === undefined || accepts.includes('query')) {
    const code = findServiceCode([...query, ...inBody], options.serviceCodes)
    if (code !== undefined) {
      const fields = readServiceCall(code, call, () => readFields(request, endpoint, body))
      const decision = await passServiceCode(call, { fields, arrivedAtMs, identified })
      return answer(response, () => decision, { call, fields })
    }
  }
  const caller = await identified
  requireSomeRight(caller, endpoint.rights)
  if (body.refusal !== undefined) throw body.refusal
  const fields = await parseRequest(endpoint, readFields(request, endpoint, body), caller)
  if (fields.at !== undefined) requireInstantInRange(fields.at, options.clock.now())
  const judged = await options.gate.judge(toCallRequest(caller, fields, via), arrivedAtMs)
  answer(response, judged, { call, fields })
}

function answer(
  response: ServerResponse,
  finalize: DecisionFinalizer,
  { call: { via, options }, fields }: AnsweredRequest,
): void {
  // An earlier answer on the same connection is not finished, so this one cannot leave yet.
  const isQueued = response.socket === null && !response.destroyed
  const decision = finalize(isQueued)
  if (via === 'http') {
    sendReply(response, { text: options.toJson(decision), contentType: jsonType })
    return
  }
  const { dialed } = decision.request
  // What else a URI or punctuation holds would not stay one part of the line.
  const number = fields.keepSentNumber && /^\+?\d+$/.test(dialed) ? dialed : decision.number
  // In a dialplan, a decision that could not be made or kept is a failure by its status as well.
  const failed = decision.reason === 'overloaded' || decision.reason === 'not-recorded'
  const reply = encodePredialReply({
    line: formatPredialLine({ ...decision, number }),
    status: failed ? 503 : 200,
    degraded: listDegradedChecks(decision),
  })
  sendReply(response, reply)
}

/** The fields of a body, or why it could not be read. */
interface CallBody extends BodyFields {
  readonly refusal?: unknown
}

async function readFieldsOf(
  { headers }: IncomingMessage,
  { bytes, refusal }: ReceivedBody,
  { endpoint: { accepts } }: DecisionCall,
): Promise<CallBody> {
  const none = { form: undefined, fields: {} }
  if (bytes === undefined) return { ...none, refusal }
  try {
    return await parseBodyFields(bytes, headers['content-type'] ?? '', { accepts })
  } catch (unreadable) {
    return { ...none, refusal: unreadable }
  }
}

/**
 * The service code that every field `number` holds, blank ones aside; two different numbers are no
 * emergency. No field has a name with a digit of any script: that is what a dialed
 * `911&PJSIP/2125550105` leaves of its second number.
 */
function findServiceCode(pairs: Pairs, serviceCodes: ReadonlySet<string>): string | undefined {
  const codes = new Set<string | undefined>()
  for (const [name, value] of pairs) {
    if (/\p{N}/u.test(name)) return undefined
    if (name.toLowerCase() !== 'number' || value === '' || value === null) continue
    // JSON has numbers too. The point and the sign of one do not separate its digits as in text.
    const isText = typeof value === 'string' || (Number.isSafeInteger(value) && Number(value) > 0)
    const dialed = parseDialString(isText ? String(value) : '', serviceCodes)
    codes.add(dialed.kind === 'service-code' ? dialed.code : undefined)
  }
  const [code] = codes
  return codes.size === 1 ? code : undefined
}

/** The fields of body and address without the key. Throws a refusal for one that is given twice. */
function readFields(
  request: IncomingMessage,
  { accepts, keyAlsoIn }: DecisionCall['endpoint'],
  { form, fields }: CallBody,
): RawFields {
  const inBody = form !== undefined && keyAlsoIn.includes(form) ? extractKey(fields).rest : fields
  if (!request.url?.includes('?')) return inBody
  const query = readQuery(request)
  const inAddress = keyAlsoIn.includes('query') ? extractKey(query).rest : query
  if (!accepts.includes('query')) refuseQueryFields(inAddress)
  return mergeFields([inAddress, inBody])
}

function toCallRequest(
  caller: Caller,
  request: DecisionRequest,
  via: CallRequest['via'],
): CallRequest {
  const { number: dialed, keepSentNumber: _, ...rest } = request
  const keyId = caller === anonymousCaller ? undefined : caller.keyId
  return { dialed, accountId: caller.accountId, keyId, via, ...rest }
}

/** What is known of a call to a service code; it does not matter what is wrong with its other fields. */
function readServiceCall(
  code: string,
  { endpoint }: DecisionCall,
  read: () => RawFields,
): DecisionRequest {
  try {
    const parsed = endpoint.request.safeParse(read())
    if (parsed.success) return parsed.data
  } catch {
    // The number alone is known.
  }
  return { number: code, callKind: 'manual' }
}

/** How long an emergency call waits for the caller of its key. */
const maxCallerWaitMs = 50

/** Without a record when none can be kept, or the caller is not known in time. */
async function passServiceCode(
  { via, options, warnUnrecorded }: DecisionCall,
  {
    fields,
    arrivedAtMs,
    identified,
  }: {
    readonly fields: DecisionRequest
    readonly arrivedAtMs: number
    readonly identified: Promise<Caller>
  },
): Promise<Decision> {
  try {
    const caller = await withTimeout(identified, maxCallerWaitMs, () => {
      throw new Error(`the key could not be looked up within ${maxCallerWaitMs} ms`)
    })
    return (await options.gate.judge(toCallRequest(caller, fields, via), arrivedAtMs))()
  } catch (cause) {
    const because = getErrorMessage(cause)
    warnUnrecorded({ number: fields.number, because })
    return options.gate.allowUnrecorded(toCallRequest(anonymousCaller, fields, via))
  }
}
