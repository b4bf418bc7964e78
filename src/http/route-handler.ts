/**
 * A route as a handler: find the caller, read the fields, let the route answer, write the reply.
 * Every outcome, refusals and bugs included, leaves in the shape the endpoint declares.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import {
  type BytesReply,
  getMaxBodyBytes,
  ignoresUnknownFields,
  type RateClass,
  type Reply,
  type StreamedReply,
} from '../api/endpoint.js'
import type { EndpointDescriptor, Route } from '../api/route.js'
import { ignoredFieldsHeader } from '../api/unknown-fields.js'
import { anonymousCaller, type Caller } from '../domain/caller.js'
import type { MaybePromise } from '../domain/compliance.js'
import { AppError, type ErrorKind, invalidRequest, truncate } from '../errors.js'
import type { Logger } from '../observability/log.js'
import {
  type Authenticate,
  addBasicClient,
  extractKey,
  identify,
  identifyBeforeBody,
  keyField,
  type Sender,
} from './authenticate.js'
import { createErrorReply } from './error-reply.js'
import type { BodyBudget, BodyCharge } from './limits/body-budget.js'
import type { ConnectionTracker, ThrottledSocket } from './limits/connections.js'
import type { LiveStreams } from './limits/live-streams.js'
import type { NumberAdmission } from './limits/rate-limits.js'
import { findField } from './request/find-field.js'
import {
  discardBody,
  isJsonContentType,
  isJsonRequest,
  parseBodyFields,
  readBody,
} from './request/read-body.js'
import { mergeFields, type RawFields, type RepeatPolicy, readQuery } from './request/read-fields.js'
import { sendReplyInSlices, sendStreamedReply } from './send-reply.js'

/** Counts a request of an account; throws or rejects with `rate-limited` when there were too many. */
type RequestLimiter = (accountId: string, rate: RateClass) => MaybePromise<void>

/** Counts the numbers of a request; throws or rejects with `rate-limited` when there were too many. */
type NumberLimiter = (
  accountId: string,
  rate: RateClass | undefined,
  count: number,
) => MaybePromise<NumberAdmission>

export interface RouteHandlerDeps {
  readonly authenticate: Authenticate
  /** Whether a key may be in the address; absent means yes. */
  readonly keysInAddress?: boolean | undefined
  /** Absent means no limits. */
  readonly limitRate?: RequestLimiter | undefined
  readonly admitNumbers?: NumberLimiter | undefined
  /** Throws `not-available` while what others have stored may be missing; absent if nobody else stores anything. */
  readonly requireCurrent?: (() => void) | undefined
  /** Throws `not-available` while nothing that is stored may be read or changed. */
  readonly requireOpen?: (() => void) | undefined
  readonly maxBodyBytes: number
  /** Limits the bytes of all bodies in progress; absent means no limit. */
  readonly bodyBudget?: BodyBudget | undefined
  readonly onIgnoredFields?: ((ignored: IgnoredFields) => void) | undefined
  /** Absent means that every request is answered in this thread. */
  readonly serviceThreads?: RequestAnswerer | undefined
  readonly live?: LiveAnswers | undefined
  readonly logger: Logger
}

/** Keeps the answers that have no end by themselves. */
interface LiveAnswers {
  readonly streams: LiveStreams
  /** What the key of a caller may do now; `undefined` when it is not in force. */
  readonly findKey: (keyId: string) => MaybePromise<Caller | undefined>
}

/** Answers requests in another thread. */
export interface RequestAnswerer {
  /** Rejects with refusals, and with an error when the thread has ended. Takes the memory of the body. */
  answer(
    endpointName: string,
    request: ReceivedRequest,
    events: RequestEvents,
  ): Promise<BytesReply | StreamedReply>
}

/** A request of a known sender who may make it; its fields have not been read. */
export interface ReceivedRequest {
  readonly caller: Caller
  /** Parameters of the path, decoded, by name. */
  readonly parameters: Readonly<Record<string, string>>
  /** The fields of the address, without the key. */
  readonly query: RawFields
  readonly contentType: string
  /** Absent with GET. */
  readonly body: Buffer | undefined
  /** The header, where the request itself holds the credentials. */
  readonly authorization: string | undefined
}

export interface RequestEvents {
  /** Called with the count of numbers before they are processed; throws to refuse them. */
  admitNumbers(count: number): MaybePromise<void>
  /** Called with the names of unknown fields, if there are any. */
  onIgnoredFields(names: readonly string[]): void
}

/** Fields of a request that its call does not know and ignored. */
export interface IgnoredFields {
  readonly endpoint: string
  readonly caller: Caller
  readonly names: readonly string[]
}

/** What the router adds to a request. */
export interface RequestContext {
  /** Path of the request as sent, without its query. */
  readonly path: string
  /** Parameters of the path, decoded, by name. */
  readonly parameters: Readonly<Record<string, string>>
  /** The connection it came by, where a {@link ConnectionTracker} keeps it. */
  readonly connection?: ThrottledSocket | undefined
}

/** Never rejects. */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => Promise<void>

/** The handler never rejects. */
export function createRouteHandler(route: Route, deps: RouteHandlerDeps): RequestHandler {
  return async (request, response, context) => {
    const charge = deps.bodyBudget?.openCharge()
    const admissions: MaybePromise<NumberAdmission>[] = []
    const extraHeaders: Record<string, string> = {}
    try {
      const reply = await answerRequest(request, {
        ...context,
        sender: {
          authenticate: deps.authenticate,
          connection: context.connection,
          hasKey: false,
        },
        caller: undefined,
        route,
        deps,
        charge,
        admissions,
        extraHeaders,
      })
      const headers = { ...reply.headers, ...extraHeaders }
      if ('parts' in reply) await sendStreamedReply(response, { ...reply, headers })
      else await sendReplyInSlices(response, { ...reply, headers })
    } catch (err) {
      // Of a long answer whose headers have been sent.
      deps.logger.error('an answer was cut short', { endpoint: route.endpoint.name, err })
      response.destroy()
    } finally {
      const end = () => {
        charge?.release()
        for (const numbers of admissions) void releaseNumbers(numbers)
      }
      // An answer that is not read is kept in memory, so its call is in progress until it is gone.
      if (response.destroyed) end()
      else response.once('close', end)
    }
  }
}

async function releaseNumbers(numbers: MaybePromise<NumberAdmission>): Promise<void> {
  if (!(numbers instanceof Promise)) return numbers.release()
  // Nothing was admitted if it rejects.
  const admitted = await numbers.catch(() => undefined)
  admitted?.release()
}

/** What this process asks of itself, with the names of the published fields. */
export interface OwnRequest {
  readonly parameters?: Readonly<Record<string, string>> | undefined
  readonly query?: RawFields | undefined
  /** Sent as JSON when it is an object. */
  readonly body?: object | { readonly bytes: Buffer; readonly contentType: string } | undefined
}

/**
 * Answers a request that this process makes itself for a known caller, with the rights and limits of one that came by HTTP.
 * Rejects with refusals.
 */
export async function answerOwnRequest(
  route: Route,
  { caller, ...request }: OwnRequest & { readonly caller: Caller },
  deps: RouteHandlerDeps,
): Promise<Reply | BytesReply | StreamedReply> {
  const { rateClass, usesServiceThread, requiresCurrent } = route.endpoint
  route.requireRights(caller)
  deps.requireOpen?.()
  if (rateClass !== undefined) await deps.limitRate?.(caller.accountId, rateClass)
  if (requiresCurrent) deps.requireCurrent?.()
  const admissions: MaybePromise<NumberAdmission>[] = []
  const events = createRequestEvents(caller, { route, deps, admissions, extraHeaders: {} })
  const { parameters = {}, query = {}, body } = request
  const sent = body && ('bytes' in body ? body : encodeBody(body))
  const received = {
    ...{ caller, parameters, query, authorization: undefined },
    ...{ body: sent?.bytes, contentType: sent?.contentType ?? '' },
  }
  try {
    const usesThread =
      usesServiceThread === 'always' ||
      (usesServiceThread && (sent?.bytes.length ?? 0) > maxShortRequest)
    return await answerBy(usesThread ? deps.serviceThreads : undefined, received, {
      route,
      deps,
      events,
    })
  } finally {
    for (const numbers of admissions) void releaseNumbers(numbers)
  }
}

async function answerBy(
  thread: RequestAnswerer | undefined,
  received: ReceivedRequest,
  context: Pick<RequestState, 'route' | 'deps'> & { readonly events: RequestEvents },
): Promise<Reply | BytesReply | StreamedReply> {
  const { route, deps, events } = context
  const answer = () =>
    thread
      ? thread.answer(route.endpoint.name, received, events)
      : answerReceived(route, received, events)
  if (!route.endpoint.isEndless || !deps.live) return await answer()
  const { streams, findKey } = deps.live
  const { caller } = received
  return await streams.open(caller, answer, async () => {
    // The console looks at sessions, which may be without a key.
    if (caller.session) return true
    const found = await findKey(caller.keyId)
    return isDeepStrictEqual(found?.limits, caller.limits)
  })
}

const encodeBody = (body: object) => ({
  bytes: Buffer.from(JSON.stringify(body)),
  contentType: 'application/json',
})

interface RequestState extends RequestContext {
  readonly sender: Sender
  /** Once the key has been found and may make this call. */
  caller: Caller | undefined
  readonly route: Route
  readonly deps: RouteHandlerDeps
  readonly charge: BodyCharge | undefined
  /** What was admitted for the request, to be released when it has been answered. */
  readonly admissions: MaybePromise<NumberAdmission>[]
  /** Headers of the answer that are not the endpoint's. */
  readonly extraHeaders: Record<string, string>
}

/** Bytes of the body and the address together; about 200 numbers, which take a few milliseconds at most. */
const maxShortRequest = 2_048

async function answerRequest(
  request: IncomingMessage,
  state: RequestState,
): Promise<Reply | BytesReply | StreamedReply> {
  const { route, deps, sender, path } = state
  const { errors: shape, name, usesServiceThread, requiresCurrent } = route.endpoint
  try {
    const received = await receiveRequest(request, state)
    deps.requireOpen?.()
    if (requiresCurrent) deps.requireCurrent?.()
    const events = createRequestEvents(received.caller, state)
    const length = (received.body?.length ?? 0) + (request.url?.length ?? 0)
    const usesThread =
      usesServiceThread === 'always' || (usesServiceThread && length > maxShortRequest)
    return await answerBy(usesThread ? deps.serviceThreads : undefined, received, {
      route,
      deps,
      events,
    })
  } catch (error) {
    discardBody(request, sender, deps.maxBodyBytes)
    const context = { shape, jsonRequested: isJsonRequest(request), path, endpoint: name }
    return createErrorReply(error, context, deps.logger)
  }
}

function createRequestEvents(
  caller: Caller,
  state: Pick<RequestState, 'route' | 'deps' | 'admissions' | 'extraHeaders'>,
): RequestEvents {
  const { name, rateClass } = state.route.endpoint
  const { deps, admissions, extraHeaders } = state
  return {
    admitNumbers(count) {
      const numbers = deps.admitNumbers?.(caller.accountId, rateClass, count)
      if (!numbers) return
      admissions.push(numbers)
      const addHeaders = ({ headers }: NumberAdmission) => void Object.assign(extraHeaders, headers)
      return numbers instanceof Promise ? numbers.then(addHeaders) : addHeaders(numbers)
    },
    onIgnoredFields(names) {
      extraHeaders[ignoredFieldsHeader] = names.join(', ')
      deps.onIgnoredFields?.({ endpoint: name, caller, names })
    },
  }
}

/** Reads the fields of a request and lets the route answer; in this thread, or in a service thread. */
export async function answerReceived(
  route: Route,
  request: ReceivedRequest,
  events: RequestEvents,
): Promise<Reply | BytesReply | StreamedReply> {
  const { caller, parameters, query, contentType } = request
  const { accepts, acceptsAnyContentType, access, bareListField, keyAlsoIn } = route.endpoint
  const repeats = repeatPolicyOf(route)
  const { form, fields } = request.body
    ? await parseBodyFields(request.body, contentType, {
        accepts,
        acceptsAnyContentType,
        bareListField,
        repeats,
      })
    : noBody
  requireNoQueryFields(route.endpoint, query)
  const body = splitKey(fields, form !== undefined && keyAlsoIn.includes(form))
  const rest = access === 'open' ? addBasicClient(request.authorization, body.rest) : body.rest
  const all = mergeFields([parameters, mergeFields([query, rest], repeats)], repeats)
  return await route.handle(all, {
    caller,
    jsonRequested: isJsonContentType(contentType),
    admitNumbers: (count) => events.admitNumbers(count),
    onIgnoredFields: (names) => events.onIgnoredFields(names),
  })
}

/**
 * A key in the headers or the address, and its rights, are checked before the body is read. Of a body
 * that may hold the key, only the first part is read before that key is checked.
 */
async function receiveRequest(
  request: IncomingMessage,
  state: RequestState,
): Promise<ReceivedRequest> {
  const { endpoint } = state.route
  const { access, keyAlsoIn, method } = endpoint
  const query = readQuery(request, repeatPolicyOf(state.route))
  if (access === 'open') state.caller = anonymousCaller
  else {
    const { keysInAddress } = state.deps
    const places = { endpoint, query: Object.entries(query), keysInAddress }
    const caller = await identifyBeforeBody(request, state.sender, places)
    const mayBeInBody = method !== 'GET' && keyAlsoIn.some((source) => source !== 'query')
    if (caller || !mayBeInBody) {
      await admit(caller ?? (await identify(state.sender, undefined)), state)
    }
  }
  const { rest } = splitKey(addLastEventId(query, request, endpoint), keyAlsoIn.includes('query'))
  const body = method === 'GET' ? undefined : await readBodyOf(request, state)
  if (!state.caller) requireNoQueryFields(endpoint, rest)
  return {
    caller: state.caller ?? (await admit(await identify(state.sender, undefined), state)),
    parameters: state.parameters,
    query: rest,
    contentType: request.headers['content-type'] ?? '',
    body,
    authorization: access === 'open' ? request.headers.authorization : undefined,
  }
}

/** Sent by a browser that comes again. */
function addLastEventId(
  query: RawFields,
  { headers }: IncomingMessage,
  { isEndless }: EndpointDescriptor,
): RawFields {
  const after = headers['last-event-id']
  return isEndless && after !== undefined ? { ...query, after: String(after) } : query
}

/** Rejects with `forbidden`, `rate-limited` or `overloaded`. */
async function admit(caller: Caller, state: RequestState): Promise<Caller> {
  const { route, deps, charge } = state
  const { rateClass } = route.endpoint
  route.requireRights(caller)
  if (rateClass !== undefined) await deps.limitRate?.(caller.accountId, rateClass)
  charge?.assignTo(caller.accountId)
  state.caller = caller
  return caller
}

const repeatPolicyOf = ({ endpoint }: Route): RepeatPolicy =>
  ignoresUnknownFields(endpoint) || endpoint.acceptsAnyContentType ? 'equal' : 'refused'

const noBody = { form: undefined, fields: {} } as const

const unreadable: ReadonlySet<ErrorKind> = new Set(['invalid-request', 'unsupported-media-type'])

/** A body that cannot be read, of a sender who is not known yet, is treated as one without a key. */
async function readBodyOf(
  request: IncomingMessage,
  state: RequestState,
): Promise<Buffer | undefined> {
  const { route, deps, charge } = state
  const { keyAlsoIn } = route.endpoint
  const maxBytes = getMaxBodyBytes(route.endpoint, deps.maxBodyBytes)
  const contentType = request.headers['content-type'] ?? ''
  const identifySender = async (bytes: Buffer, isWhole: boolean) => {
    const start = { bytes, isWhole, contentType }
    const { key } = extractKey(await findField(keyField, start, keyAlsoIn))
    await admit(await identify(state.sender, key), state)
  }
  try {
    const identify = state.caller ? undefined : identifySender
    return await readBody(request, { maxBytes, charge, identify })
  } catch (error) {
    const isUnreadable = error instanceof AppError && unreadable.has(error.kind)
    if (state.caller === undefined && isUnreadable) return undefined
    throw error
  }
}

/** On a call whose fields are in the body, a field in the address would otherwise be overlooked. */
function requireNoQueryFields(endpoint: EndpointDescriptor, query: RawFields): void {
  if (!ignoresUnknownFields(endpoint) && !endpoint.accepts.includes('query')) {
    refuseQueryFields(query)
  }
}

function splitKey(fields: RawFields, keyAllowed: boolean) {
  return keyAllowed ? extractKey(fields) : { key: undefined, rest: fields }
}

export function refuseQueryFields(query: RawFields): void {
  const rule = 'must be in the body; it was sent in the URL'
  const problems = Object.keys(query).map((name) => ({ field: truncate(name), rule }))
  if (problems.length > 0) throw invalidRequest(problems)
}
