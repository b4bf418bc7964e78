/**
 * A route as a handler: find the caller, read the fields, let the route answer, write the reply.
 * Every outcome, refusals and bugs included, leaves in the shape the endpoint declares.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  ignoresUnknownFields,
  type RateClass,
  type Reply,
  type StreamedReply,
} from '../api/endpoint.js'
import type { Route } from '../api/route.js'
import { ignoredFieldsHeader } from '../api/unknown-fields.js'
import { anonymousCaller, type Caller } from '../domain/caller.js'
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
import type { NumberAdmission } from './limits/rate-limits.js'
import { findField } from './request/find-field.js'
import { discardBody, isJsonRequest, readBodyFields } from './request/read-body.js'
import { mergeFields, type RawFields, type RepeatPolicy, readQuery } from './request/read-fields.js'
import { sendReplyInSlices, sendStreamedReply } from './send-reply.js'

/** Counts a request of an account; throws `rate-limited` when there were too many. */
type RequestLimiter = (accountId: string, rate: RateClass) => void

/** Counts the numbers of a request; throws `rate-limited` when there were too many. */
type NumberLimiter = (
  accountId: string,
  rate: RateClass | undefined,
  count: number,
) => NumberAdmission

export interface RouteHandlerDeps {
  readonly authenticate: Authenticate
  /** Whether a key may be in the address; absent means yes. */
  readonly keysInAddress?: boolean | undefined
  /** Absent means no limits. */
  readonly limitRate?: RequestLimiter | undefined
  readonly admitNumbers?: NumberLimiter | undefined
  readonly maxBodyBytes: number
  /** Limits the bytes of all bodies in progress; absent means no limit. */
  readonly bodyBudget?: BodyBudget | undefined
  readonly onIgnoredFields?: ((ignored: IgnoredFields) => void) | undefined
  readonly logger: Logger
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
    const admissions: NumberAdmission[] = []
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
        for (const numbers of admissions) numbers.release()
      }
      // An answer that is not read is kept in memory, so its call is in progress until it is gone.
      if (response.destroyed) end()
      else response.once('close', end)
    }
  }
}

interface RequestState extends RequestContext {
  readonly sender: Sender
  /** Once the key has been found and may make this call. */
  caller: Caller | undefined
  readonly route: Route
  readonly deps: RouteHandlerDeps
  readonly charge: BodyCharge | undefined
  /** What was admitted for the request, to be released when it has been answered. */
  readonly admissions: NumberAdmission[]
  /** Headers of the answer that are not the endpoint's. */
  readonly extraHeaders: Record<string, string>
}

async function answerRequest(
  request: IncomingMessage,
  state: RequestState,
): Promise<Reply | StreamedReply> {
  const { route, deps, sender, path } = state
  const jsonRequested = isJsonRequest(request)
  try {
    const { caller, fields } = await readRequest(request, state)
    const admitNumbers = (count: number) => {
      const numbers = deps.admitNumbers?.(caller.accountId, route.endpoint.rateClass, count)
      if (!numbers) return
      state.admissions.push(numbers)
      Object.assign(state.extraHeaders, numbers.headers)
    }
    const onIgnoredFields = (names: readonly string[]) => {
      state.extraHeaders[ignoredFieldsHeader] = names.join(', ')
      deps.onIgnoredFields?.({ endpoint: route.endpoint.name, caller, names })
    }
    const context = { caller, jsonRequested, admitNumbers, onIgnoredFields }
    return await route.handle(
      mergeFields([state.parameters, fields], repeatPolicyOf(route)),
      context,
    )
  } catch (error) {
    discardBody(request, sender, deps.maxBodyBytes)
    const { errors: shape, name } = route.endpoint
    return createErrorReply(error, { shape, jsonRequested, path, endpoint: name }, deps.logger)
  }
}

/**
 * A key in the headers or the address, and its rights, are checked before the body is read. Of a body
 * that may hold the key, only the first part is read before that key is checked.
 */
async function readRequest(
  request: IncomingMessage,
  state: RequestState,
): Promise<{ readonly caller: Caller; readonly fields: RawFields }> {
  const { endpoint } = state.route
  const { access, accepts, keyAlsoIn, method } = endpoint
  const query = readQuery(request, repeatPolicyOf(state.route))
  if (access === 'open') state.caller = anonymousCaller
  else {
    const { keysInAddress } = state.deps
    const places = { endpoint, query: Object.entries(query), keysInAddress }
    const caller = await identifyBeforeBody(request, state.sender, places)
    const mayBeInBody = method !== 'GET' && keyAlsoIn.some((source) => source !== 'query')
    if (caller || !mayBeInBody) admit(caller ?? (await identify(state.sender, undefined)), state)
  }
  const { form, fields } = method === 'GET' ? noBody : await readBodyOf(request, state)
  const { rest: queryFields } = splitKey(query, keyAlsoIn.includes('query'))
  if (!ignoresUnknownFields(endpoint) && !accepts.includes('query')) refuseQueryFields(queryFields)
  const body = splitKey(fields, form !== undefined && keyAlsoIn.includes(form))
  const caller = state.caller ?? admit(await identify(state.sender, body.key), state)
  const rest = access === 'open' ? addBasicClient(request, body.rest) : body.rest
  return { caller, fields: mergeFields([queryFields, rest], repeatPolicyOf(state.route)) }
}

/** Throws `forbidden`, `rate-limited` or `overloaded`. */
function admit(caller: Caller, state: RequestState): Caller {
  const { route, deps, charge } = state
  const { rateClass } = route.endpoint
  route.requireRights(caller)
  if (rateClass !== undefined) deps.limitRate?.(caller.accountId, rateClass)
  charge?.assignTo(caller.accountId)
  state.caller = caller
  return caller
}

const repeatPolicyOf = ({ endpoint }: Route): RepeatPolicy =>
  ignoresUnknownFields(endpoint) ? 'equal' : 'refused'

const noBody = { form: undefined, fields: {} } as const

const unreadable: ReadonlySet<ErrorKind> = new Set(['invalid-request', 'unsupported-media-type'])

/** A body that cannot be read, of a sender who is not known yet, is treated as one without a key. */
async function readBodyOf(request: IncomingMessage, state: RequestState) {
  const { route, deps, charge } = state
  const { accepts, bareListField, keyAlsoIn, maxBodyBytes = deps.maxBodyBytes } = route.endpoint
  const maxBytes = Math.min(maxBodyBytes, deps.maxBodyBytes)
  const contentType = request.headers['content-type'] ?? ''
  const identifySender = async (bytes: Buffer, isWhole: boolean) => {
    const start = { bytes, isWhole, contentType }
    const { key } = extractKey(await findField(keyField, start, keyAlsoIn))
    admit(await identify(state.sender, key), state)
  }
  try {
    return await readBodyFields(request, {
      accepts,
      bareListField,
      maxBytes,
      charge,
      repeats: repeatPolicyOf(route),
      identify: state.caller ? undefined : identifySender,
    })
  } catch (error) {
    const isUnreadable = error instanceof AppError && unreadable.has(error.kind)
    if (state.caller === undefined && isUnreadable) return { ...noBody, fields: {} }
    throw error
  }
}

function splitKey(fields: RawFields, keyAllowed: boolean) {
  return keyAllowed ? extractKey(fields) : { key: undefined, rest: fields }
}

/** On a call whose fields are in the body, a field in the address would otherwise be overlooked. */
export function refuseQueryFields(query: RawFields): void {
  const rule = 'must be in the body; it was sent in the URL'
  const problems = Object.keys(query).map((name) => ({ field: truncate(name), rule }))
  if (problems.length > 0) throw invalidRequest(problems)
}
