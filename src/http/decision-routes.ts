/**
 * The calls that decide, from the request to its answer. Whatever goes wrong has a status other than
 * 200; emergency and service codes pass whatever else the request holds or lacks.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Endpoint, Reply, TextReply } from '../api/endpoint.js'
import {
  type DecisionRequest,
  decideEndpoint,
  encodePredialReply,
  formatPredialLine,
  type PermitChoice,
  predialGet,
  predialPost,
  readPlainDecision,
  readPlainPredial,
  requireInstantInRange,
} from '../api/gate/decisions.js'
import { type PendingPermit, permitEndpoint } from '../api/gate/permits.js'
import { type EndpointDescription, parseRequest, requireSomeRight } from '../api/route.js'
import { anonymousCaller, type Caller } from '../domain/caller.js'
import type { MaybePromise } from '../domain/compliance.js'
import {
  type CallRequest,
  type Decision,
  type DecisionFinalizer,
  listDegradedChecks,
} from '../domain/decision.js'
import type { Clock } from '../domain/time/clock.js'
import { parseTraceparent } from '../domain/trace/trace-context.js'
import { AppError, getErrorMessage } from '../errors.js'
import { createSampledLine } from '../observability/log.js'
import { withTimeout } from '../runtime/runtime.js'
import { findKey, identify, identifyBeforeBody, type Sender } from './authenticate.js'
import { createErrorReply } from './error-reply.js'
import { journalHeaders } from './journal-headers.js'
import { type AnswerPlain, type ThrottledSocket, throttledSocketOf } from './limits/connections.js'
import {
  findServiceCode,
  type Pairs,
  type ReceivedBody,
  readFields,
  readFieldsOf,
  readIdempotencyKey,
  receiveBody,
  withCallKind,
} from './request/call-fields.js'
import type { PlainRequest } from './request/plain-request.js'
import { discardBody } from './request/read-body.js'
import { queryPairs, type RawFields } from './request/read-fields.js'
import type { RequestHandler, RouteHandlerDeps } from './route-handler.js'
import type { HttpRoute } from './router.js'
import { formatWholeReply, sendReply } from './send-reply.js'

export interface DecisionRoutesOptions
  extends Pick<RouteHandlerDeps, 'authenticate' | 'keysInAddress' | 'maxBodyBytes' | 'logger'> {
  readonly gate: {
    /** Judges a call whose request arrived at that instant of the monotonic clock. */
    judge(
      call: CallRequest,
      arrivedAtMs: number,
      withAllow?: Pick<PendingPermit, 'record' | 'left'>,
    ): MaybePromise<DecisionFinalizer>
    /** Allows a call to a service code of which no record can be kept. */
    allowUnrecorded(call: CallRequest): Decision
  }
  readonly permits: {
    prepare(caller: Caller, call: DecisionRequest, choice: PermitChoice): Promise<PendingPermit>
  }
  readonly repeats: { of(caller: Caller, request: IdempotentRequest): RepeatedCall }
  readonly shut: { readonly problem: string | undefined }
  /** The decision as the HTTP caller reads it, in JSON. */
  readonly encode: (decision: Decision) => string
  readonly journal: { readonly durableSeq: number }
  readonly serviceCodes: ReadonlySet<string>
  readonly clock: Clock
  readonly recentCalls: { noteError(accountId: string | undefined): void }
}

/** One line of a decision, for the log. */
interface DecidedLine {
  readonly id: string
  readonly decision: 'allow' | 'block'
  readonly reason: string
  readonly number: string
}

/** An earlier decision, from its record. */
interface EarlierDecision extends DecidedLine {
  readonly dialed: string
  readonly degraded: readonly string[]
}

interface IdempotentRequest {
  readonly idempotencyKey: string
  /** All that it asks. */
  readonly content: string
  readonly asked: CallRequest
}

/** Answers repeated requests with their first decision. */
interface RepeatedCall extends Pick<PendingPermit, 'record' | 'left'> {
  /** The earlier decision, or the block that withdraws it. */
  begin(): Promise<EarlierDecision | undefined>
}

/** Those answered here. */
export const decisionEndpoints: readonly EndpointDescription[] = [
  decideEndpoint,
  predialGet,
  predialPost,
  permitEndpoint,
]

const jsonType = 'application/json; charset=utf-8'

interface DecisionCall {
  readonly endpoint: Omit<Endpoint<DecisionRequest, unknown>, 'encode'>
  readonly via: 'http' | 'predial'
  readonly options: DecisionRoutesOptions
  readonly warnUnrecorded: (passed: UnrecordedPass) => void
}

/** A service code that passed without a record. */
interface UnrecordedPass {
  readonly number: string
  readonly because: string
}

export function createDecisionRoutes(options: DecisionRoutesOptions): readonly HttpRoute[] {
  // Strangers may send any number of them.
  const warnUnrecorded = createSampledLine(options.logger, {
    level: 'warn',
    message: 'an emergency or service code passed without a record',
    fields: ({ number, because }: UnrecordedPass) => ({ number, because }),
    max: 10,
    per: 'minute',
  })
  const calls: readonly DecisionCall[] = [
    { endpoint: decideEndpoint, via: 'http', options, warnUnrecorded },
    { endpoint: predialGet, via: 'predial', options, warnUnrecorded },
    { endpoint: predialPost, via: 'predial', options, warnUnrecorded },
    { endpoint: permitEndpoint, via: 'http', options, warnUnrecorded },
  ]
  return calls.map((call) => ({
    endpoint: call.endpoint,
    handle: createDecisionHandler(call),
    answerPlain: createPlainAnswer(call),
  }))
}

/** Answers the usual request of a known sender who may make any call. */
function createPlainAnswer(call: DecisionCall): AnswerPlain {
  const { authenticate, serviceCodes } = call.options
  return (request, socket) => {
    const fields = readPlainCall(call, request)
    if (fields === undefined || serviceCodes.has(fields.number)) return false
    const { loginId, traceparent } = request.headers
    const caller = loginId === '' ? undefined : authenticate(loginId, 'login-id')
    if (caller instanceof Promise) {
      // It is asked again for the same request; a failure is answered there.
      caller.catch(() => undefined)
      return false
    }
    if (!caller?.limits.rights.has('decide')) return false
    judgePlain(call, { caller, fields, traceparent, socket }).catch(() => socket.destroy())
    return true
  }
}

interface PlainCall {
  readonly caller: Caller
  readonly fields: DecisionRequest
  readonly traceparent: string
  readonly socket: ThrottledSocket
}

async function judgePlain(
  call: DecisionCall,
  { caller, fields, traceparent, socket }: PlainCall,
): Promise<void> {
  const { endpoint, via, options } = call
  const { gate, clock } = options
  let reply: Reply
  try {
    const request = toCallRequest(caller, { fields, via, traceparent })
    const finalize = await gate.judge(request, socket.arrivedAtMs)
    reply = createReply(finalize(), call, fields)
  } catch (error) {
    const sentBy = { path: endpoint.paths[0] ?? '', accountId: caller.accountId }
    reply = createFailureReply(call, error, sentBy)
  }
  const answer = formatWholeReply(reply, { at: clock.now(), isLast: socket.isStopping })
  socket.sendPlain(endpoint.name, reply.status ?? 200, answer)
}

const plainTypes: ReadonlySet<string> = new Set(['application/json', jsonType])

function readPlainCall(
  { endpoint, options }: DecisionCall,
  { target, headers, body }: PlainRequest,
): DecisionRequest | undefined {
  if (endpoint === predialGet) {
    return body === '' ? readPlainPredial(target) : undefined
  }
  const isUsual = endpoint === decideEndpoint && plainTypes.has(headers.contentType)
  if (!isUsual || body.length > options.maxBodyBytes || target.includes('?')) return undefined
  return readPlainDecision(body)
}

/** The handler never rejects. */
function createDecisionHandler(call: DecisionCall): RequestHandler {
  const { endpoint, options } = call
  const { authenticate, keysInAddress, maxBodyBytes } = options
  return async (request, response, { path }) => {
    const connection = throttledSocketOf(request)
    const sender: Sender = { authenticate, connection, hasKey: false }
    const { arrivedAtMs } = connection
    const query = request.url?.includes('?') ? [...queryPairs(request)] : []
    // While the body is read, which may hold an emergency call whatever the key is.
    const known = identifyBeforeBody(request, sender, { endpoint, query, keysInAddress })
    known.catch(() => undefined)
    try {
      const body = await receiveBody(request, endpoint, maxBodyBytes)
      await answerAnyRequest({ request, response, sender, known, query, body, call, arrivedAtMs })
    } catch (error) {
      discardBody(request, sender, maxBodyBytes)
      const sentBy = { path, accountId: connection.accountId }
      sendReply(response, createFailureReply(call, error, sentBy))
    }
  }
}

function createFailureReply(
  { endpoint, options }: DecisionCall,
  error: unknown,
  { path, accountId }: { readonly path: string; readonly accountId: string | undefined },
): Reply {
  const { name, errors: shape } = endpoint
  const context = { shape, jsonRequested: false, path, endpoint: name }
  const reply = createErrorReply(error, context, options.logger)
  // A sender that has used up what it may take says nothing about the calls of others.
  const isLimit = error instanceof AppError && error.kind === 'overloaded'
  if ((reply.status ?? 200) >= 500 && !isLimit) options.recentCalls.noteError(accountId)
  return reply
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
  const { traceparent } = request.headers
  const { accepts, keyAlsoIn } = endpoint
  const body = await readFieldsOf(request, received.body, endpoint)
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
      const sent = { fields, via, traceparent }
      const decision = await passServiceCode(call, { sent, arrivedAtMs, identified })
      answer(response, () => decision, { call, fields })
      return
    }
  }
  const caller = await identified
  requireSomeRight(caller, endpoint.rights)
  if (body.refusal !== undefined) throw body.refusal
  const given = withCallKind(readFields(request, endpoint, body), caller, via)
  const fields = await parseRequest(endpoint, given, caller)
  if (fields.at !== undefined) requireInstantInRange(fields.at, options.clock.now())
  const sent = { fields, via, traceparent }
  const idempotencyKey = readIdempotencyKey(request, endpoint !== permitEndpoint)
  if (idempotencyKey !== undefined && options.shut.problem === undefined) {
    const content = JSON.stringify([endpoint.name, Object.entries(fields).sort()])
    const repeat = { idempotencyKey, content, asked: toCallRequest(caller, sent) }
    return await answerOnce(received, caller, { sent, repeat })
  }
  const permit = fields.permit && (await options.permits.prepare(caller, fields, fields.permit))
  const judged = await options.gate.judge(toCallRequest(caller, sent), arrivedAtMs, permit)
  answer(response, judged, { call, fields, permit })
}

async function answerOnce(
  { response, call, arrivedAtMs }: AnyRequest,
  caller: Caller,
  { sent: { fields }, repeat }: { readonly sent: SentCall; readonly repeat: IdempotentRequest },
): Promise<void> {
  const { gate, repeats } = call.options
  const repeated = repeats.of(caller, repeat)
  const earlier = await repeated.begin()
  const headers = journalHeaders(call.options.journal)
  if (earlier && call.via === 'predial') {
    const reply = createLineReply(earlier, earlier, fields.keepSentNumber)
    return sendReply(response, { ...reply, headers })
  }
  if (earlier) {
    return sendReply(response, { text: JSON.stringify(earlier), contentType: jsonType, headers })
  }
  answer(response, await gate.judge(repeat.asked, arrivedAtMs, repeated), { call, fields })
}

function answer(
  response: ServerResponse,
  finalize: DecisionFinalizer,
  {
    call,
    fields,
    permit,
  }: Pick<AnyRequest, 'call'> & {
    readonly fields: DecisionRequest
    readonly permit?: PendingPermit | undefined
  },
): void {
  // An earlier answer on the same connection is not finished, so this one cannot leave yet.
  const isQueued = response.socket === null && !response.destroyed
  const decision = finalize(isQueued)
  sendReply(response, createReply(decision, call, fields, permit?.json))
}

function createReply(
  decision: Decision,
  { via, options }: DecisionCall,
  { keepSentNumber }: DecisionRequest,
  permit = '',
): TextReply {
  const headers = journalHeaders(options.journal, decision.seq)
  if (via === 'http') {
    const text = options.encode(decision)
    const withPermit = permit === '' ? text : `${text.slice(0, -1)},"permit":${permit}}`
    return { text: withPermit, contentType: jsonType, headers }
  }
  const judged = { dialed: decision.request.dialed, degraded: listDegradedChecks(decision) }
  const reply = createLineReply(decision, judged, keepSentNumber)
  return { ...reply, headers: { ...reply.headers, ...headers } }
}

function createLineReply(
  { decision, reason, id, number }: DecidedLine,
  { dialed, degraded }: Pick<EarlierDecision, 'dialed' | 'degraded'>,
  keepSentNumber = false,
): TextReply {
  // What else a URI or punctuation holds would not stay one part of the line.
  const isSent = keepSentNumber && /^\+?\d+$/.test(dialed)
  // In a dialplan, a decision that could not be made or kept is a failure by its status as well.
  const failed = reason === 'overloaded' || reason === 'not-recorded'
  return encodePredialReply({
    line: formatPredialLine({ decision, reason, id, number: isSent ? dialed : number }),
    status: failed ? 503 : 200,
    degraded,
  })
}

/** What the request says of its call. */
interface SentCall {
  readonly fields: DecisionRequest
  readonly via: CallRequest['via']
  /** The header; one that was sent twice is malformed, and ignored like any other that is. */
  readonly traceparent: string | string[] | undefined
}

type CallFields = Omit<DecisionRequest, 'number' | 'keepSentNumber' | 'permit'>

function toCallRequest(caller: Caller, { fields, via, traceparent }: SentCall): CallRequest {
  const { accountId, limits } = caller
  // One literal: built from parts, an object of this size takes many times as long.
  return {
    accountId,
    keyId: caller === anonymousCaller ? undefined : caller.keyId,
    mandate: limits.mandate,
    dialed: fields.number,
    callKind: fields.callKind,
    purpose: fields.purpose,
    projectId: fields.projectId,
    campaignId: fields.campaignId,
    postalCode: fields.postalCode,
    callerId: fields.callerId,
    subject: fields.subject,
    personId: fields.personId,
    approvalId: fields.approvalId,
    reference: fields.reference,
    at: fields.at,
    trace: traceparent ? parseTraceparent(String(traceparent)) : undefined,
    via,
  } satisfies CallRequest & Record<keyof CallFields, unknown>
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
  { options, warnUnrecorded }: DecisionCall,
  {
    sent,
    arrivedAtMs,
    identified,
  }: {
    readonly sent: SentCall
    readonly arrivedAtMs: number
    readonly identified: Promise<Caller>
  },
): Promise<Decision> {
  try {
    const caller = await withTimeout(identified, maxCallerWaitMs, () => {
      throw new Error(`the key could not be looked up within ${maxCallerWaitMs} ms`)
    })
    return (await options.gate.judge(toCallRequest(caller, sent), arrivedAtMs))()
  } catch (cause) {
    const because = getErrorMessage(cause)
    warnUnrecorded({ number: sent.fields.number, because })
    return options.gate.allowUnrecorded(toCallRequest(anonymousCaller, sent))
  }
}
