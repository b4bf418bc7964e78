/**
 * A route as a handler: find the caller, read the fields, let the route answer, write the reply.
 * Every outcome, refusals and bugs included, leaves in the shape the endpoint declares.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RateClass, Reply } from '../api/endpoint.js'
import type { EndpointFacts, Route } from '../api/route.js'
import { type Caller, nobody } from '../domain/caller.js'
import { AppError, type ErrorKind, invalidRequest, shorten } from '../errors.js'
import type { Logger } from '../log.js'
import {
  type Authenticate,
  type Credential,
  callerOf,
  keyInHeaders,
  takeKey,
  withBasicClient,
} from './authenticate.js'
import { errorReply } from './error-body.js'
import type { AdmittedNumbers } from './rate-limits.js'
import {
  isJsonRequest,
  joinFields,
  type RawFields,
  readBodyFields,
  readQuery,
} from './read-fields.js'
import { sendReplyInSlices } from './send-reply.js'

/** Counts a request of an account; throws `rate-limited` when there were too many. */
export type LimitRate = (accountId: string, rate: RateClass) => void

/** Counts the numbers of a request; throws `rate-limited` when there were too many. */
export type AdmitNumbers = (
  accountId: string,
  rate: RateClass | undefined,
  count: number,
) => AdmittedNumbers

export interface BindTools {
  readonly authenticate: Authenticate
  /** Absent means no limits. */
  readonly limitRate?: LimitRate | undefined
  readonly admitNumbers?: AdmitNumbers | undefined
  readonly maxBodyBytes: number
  readonly logger: Logger
}

/** Path parameters come decoded, by name. */
export type RouteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  parameters: Readonly<Record<string, string>>,
) => Promise<void>

/** The handler never rejects. */
export function bind(route: Route, tools: BindTools): RouteHandler {
  return async (request, response, parameters) => {
    const admitted: AdmittedNumbers[] = []
    try {
      const reply = await replyTo(request, parameters, { route, tools, admitted })
      const headers = Object.assign({}, reply.headers, ...admitted.map((one) => one.headers))
      await sendReplyInSlices(response, { ...reply, headers })
    } finally {
      // An answer that is not read is kept in memory, so its call is under way until it is gone.
      for (const { end } of admitted) {
        if (response.closed) end()
        else response.once('close', end)
      }
    }
  }
}

interface Bound {
  readonly route: Route
  readonly tools: BindTools
  /** What was admitted for the request, to be ended when it has been answered. */
  readonly admitted: AdmittedNumbers[]
}

async function replyTo(
  request: IncomingMessage,
  parameters: RawFields,
  { route, tools, admitted }: Bound,
): Promise<Reply> {
  const jsonRequested = isJsonRequest(request)
  try {
    const { caller, fields } = await readRequest(request, route.endpoint, tools)
    const admitNumbers = (count: number) => {
      const numbers = tools.admitNumbers?.(caller.accountId, route.endpoint.rate, count)
      if (numbers) admitted.push(numbers)
    }
    const context = { caller, jsonRequested, admitNumbers }
    return await route.answer(joinFields([parameters, fields]), context)
  } catch (error) {
    const { errors: shape, name } = route.endpoint
    const path = pathOf(request)
    return errorReply(error, { shape, jsonRequested, path, endpoint: name }, tools.logger)
  }
}

/**
 * A key in the headers or the address is checked before the body is read, so that a stranger
 * cannot make us read one unless the endpoint takes its key there.
 */
async function readRequest(
  request: IncomingMessage,
  endpoint: EndpointFacts,
  tools: BindTools,
): Promise<{ readonly caller: Caller; readonly fields: RawFields }> {
  const { accepts, keyAlsoIn } = endpoint
  const admit = (key: Credential | undefined) => admitted(key, endpoint, tools)
  const query = splitKey(readQuery(request), keyAlsoIn.includes('query'))
  const earlyKey = keyInHeaders(request) ?? query.key
  const keyMayBeInBody = keyAlsoIn.some((source) => source !== 'query')
  const early = earlyKey === undefined && keyMayBeInBody ? undefined : await admit(earlyKey)
  const { form, fields } =
    endpoint.method === 'GET' ? noBody : await bodyOf(request, { endpoint, tools, early })
  if (!accepts.includes('query')) refuseFields(query.rest)
  const body = splitKey(fields, form !== undefined && keyAlsoIn.includes(form))
  const caller = early ?? (await admit(body.key))
  const rest = endpoint.access === 'open' ? withBasicClient(request, body.rest) : body.rest
  return { caller, fields: joinFields([query.rest, rest]) }
}

const noBody = { form: undefined, fields: {} } as const

const unreadable: ReadonlySet<ErrorKind> = new Set(['invalid-request', 'unsupported-media-type'])

interface BodyOf {
  readonly endpoint: EndpointFacts
  readonly tools: BindTools
  readonly early: Caller | undefined
}

/** Whoever is not known by a key yet and sends what cannot be read has sent no key. */
async function bodyOf(request: IncomingMessage, { endpoint, tools, early }: BodyOf) {
  const { accepts, listBody } = endpoint
  try {
    return await readBodyFields(request, { accepts, listBody, maxBytes: tools.maxBodyBytes })
  } catch (error) {
    if (early === undefined && error instanceof AppError && unreadable.has(error.kind)) {
      return { ...noBody, fields: {} }
    }
    throw error
  }
}

async function admitted(
  key: Credential | undefined,
  { access, rate }: EndpointFacts,
  { authenticate, limitRate }: BindTools,
): Promise<Caller> {
  if (access === 'open') return nobody
  const caller = await callerOf(key, authenticate)
  if (rate !== undefined) limitRate?.(caller.accountId, rate)
  return caller
}

function splitKey(fields: RawFields, keyAllowed: boolean) {
  return keyAllowed ? takeKey(fields) : { key: undefined, rest: fields }
}

/** On a call whose fields are in the body, a field in the address would otherwise be overlooked. */
function refuseFields(query: RawFields): void {
  const rule = 'is not read from the address; send it in the body'
  const problems = Object.keys(query).map((name) => ({ field: shorten(name), rule }))
  if (problems.length > 0) throw invalidRequest(problems)
}

/** The path of a request as sent, without its query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? ''
}
