/**
 * A route as a handler: find the caller, read the fields, let the route answer, write the reply.
 * Every outcome, refusals and bugs included, leaves in the shape the endpoint declares.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type PendingReply, type RateClass, takesOpenFields } from '../api/endpoint.js'
import { ignoredFieldsHeader } from '../api/open-fields.js'
import type { Route } from '../api/route.js'
import { type Caller, nobody } from '../domain/caller.js'
import { AppError, type ErrorKind, invalidRequest, shorten } from '../errors.js'
import type { Logger } from '../log.js'
import {
  type Authenticate,
  admitKeyInAddress,
  type Credential,
  callerOf,
  keyField,
  keyInHeaders,
  takeKey,
  withBasicClient,
} from './authenticate.js'
import type { BodyBudget, BodyCharge } from './body-budget.js'
import { errorReply } from './error-body.js'
import type { AdmittedNumbers } from './rate-limits.js'
import { anonymousBodyBytes, discardRest } from './read-body.js'
import {
  findField,
  isJsonRequest,
  joinFields,
  type RawFields,
  type Repeats,
  readBodyFields,
  readQuery,
} from './read-fields.js'
import { sendLongReply, sendReply, sendReplyInSlices } from './send-reply.js'

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
  /** Whether a key may stand in the address; absent means yes. */
  readonly keysInAddress?: boolean | undefined
  /** Absent means no limits. */
  readonly limitRate?: LimitRate | undefined
  readonly admitNumbers?: AdmitNumbers | undefined
  readonly maxBodyBytes: number
  /** Bounds all bodies under way; absent means no bound. */
  readonly bodies?: BodyBudget | undefined
  /** Called once the sender of a request has shown a valid key. */
  readonly onKnown?: ((request: IncomingMessage) => void) | undefined
  readonly onIgnored?: ((ignored: IgnoredFields) => void) | undefined
  readonly logger: Logger
}

/** Fields of a request that its call does not know and passed over. */
export interface IgnoredFields {
  readonly endpoint: string
  readonly caller: Caller
  readonly names: readonly string[]
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
    const charge = tools.bodies?.open()
    const admitted: AdmittedNumbers[] = []
    const extra: Record<string, string> = {}
    try {
      const reply = await replyTo(request, parameters, { route, tools, charge, admitted, extra })
      if (typeof reply === 'function') return sendReply(response, reply)
      const headers = { ...reply.headers, ...extra }
      if ('parts' in reply) await sendLongReply(response, { ...reply, headers })
      else await sendReplyInSlices(response, { ...reply, headers })
    } catch (err) {
      // Of a long answer whose head has left.
      tools.logger.error('an answer was cut short', { endpoint: route.endpoint.name, err })
      response.destroy()
    } finally {
      const end = () => {
        charge?.release()
        for (const numbers of admitted) numbers.end()
      }
      // An answer that is not read is kept in memory, so its call is under way until it is gone.
      if (response.destroyed) end()
      else response.once('close', end)
    }
  }
}

interface Bound {
  readonly route: Route
  readonly tools: BindTools
  readonly charge: BodyCharge | undefined
  /** What was admitted for the request, to be ended when it has been answered. */
  readonly admitted: AdmittedNumbers[]
  /** Headers of the answer that are not the endpoint's. */
  readonly extra: Record<string, string>
}

async function replyTo(
  request: IncomingMessage,
  parameters: RawFields,
  bound: Bound,
): Promise<PendingReply> {
  const { route, tools } = bound
  const jsonRequested = isJsonRequest(request)
  const sender = new Sender(request, bound)
  try {
    const { caller, fields } = await readRequest(request, bound, sender)
    const admitNumbers = (count: number) => {
      const numbers = tools.admitNumbers?.(caller.accountId, route.endpoint.rate, count)
      if (!numbers) return
      bound.admitted.push(numbers)
      Object.assign(bound.extra, numbers.headers)
    }
    const onIgnored = (names: readonly string[]) => {
      bound.extra[ignoredFieldsHeader] = names.join(', ')
      tools.onIgnored?.({ endpoint: route.endpoint.name, caller, names })
    }
    const context = { caller, jsonRequested, admitNumbers, onIgnored }
    return await route.answer(joinFields([parameters, fields], repeatsIn(route)), context)
  } catch (error) {
    discardRest(request, sender.hasKey ? tools.maxBodyBytes : anonymousBodyBytes)
    const { errors: shape, name } = route.endpoint
    const path = pathOf(request)
    return errorReply(error, { shape, jsonRequested, path, endpoint: name }, tools.logger)
  }
}

/**
 * A key in the headers or the address is checked, and whether it may ask, before the body is read. Of a
 * body that may hold the key only its first part is read before that key is checked.
 */
async function readRequest(
  request: IncomingMessage,
  bound: Bound,
  sender: Sender,
): Promise<{ readonly caller: Caller; readonly fields: RawFields }> {
  const { endpoint } = bound.route
  const { accepts, keyAlsoIn } = endpoint
  const query = splitKey(readQuery(request, repeatsIn(bound.route)), keyAlsoIn.includes('query'))
  admitKeyInAddress(query.key, bound.tools.keysInAddress)
  const earlyKey = keyInHeaders(request) ?? query.key
  const keyMayBeInBody = keyAlsoIn.some((source) => source !== 'query')
  const isBodyFirst = earlyKey === undefined && keyMayBeInBody && endpoint.method !== 'GET'
  if (!isBodyFirst) await sender.identify(earlyKey)
  const { form, fields } = endpoint.method === 'GET' ? noBody : await bodyOf(request, bound, sender)
  if (!takesOpenFields(endpoint) && !accepts.includes('query')) refuseFields(query.rest)
  const body = splitKey(fields, form !== undefined && keyAlsoIn.includes(form))
  const caller = sender.caller ?? (await sender.identify(body.key))
  const rest = endpoint.access === 'open' ? withBasicClient(request, body.rest) : body.rest
  return { caller, fields: joinFields([query.rest, rest], repeatsIn(bound.route)) }
}

const repeatsIn = ({ endpoint }: Route): Repeats =>
  takesOpenFields(endpoint) ? 'equal' : 'refused'

const noBody = { form: undefined, fields: {} } as const

const unreadable: ReadonlySet<ErrorKind> = new Set(['invalid-request', 'unsupported-media-type'])

/** Whoever is not known by a key yet and sends what cannot be read has sent no key. */
async function bodyOf(request: IncomingMessage, { route, tools, charge }: Bound, sender: Sender) {
  const { accepts, listBody, keyAlsoIn, maxBodyBytes = tools.maxBodyBytes } = route.endpoint
  const maxBytes = Math.min(maxBodyBytes, tools.maxBodyBytes)
  const contentType = request.headers['content-type'] ?? ''
  const identify = async (bytes: Buffer, isWhole: boolean) => {
    const start = { bytes, isWhole, contentType }
    const { key } = takeKey(await findField(keyField, start, keyAlsoIn))
    await sender.identify(key)
  }
  const isKnown = sender.caller !== undefined
  try {
    return await readBodyFields(request, {
      ...{ accepts, listBody, maxBytes, charge, repeats: repeatsIn(route) },
      ...(!isKnown && { identify }),
    })
  } catch (error) {
    const isUnreadable = error instanceof AppError && unreadable.has(error.kind)
    if (sender.caller === undefined && isUnreadable) return { ...noBody, fields: {} }
    throw error
  }
}

/** Who sent a request, once that is known. */
class Sender {
  readonly #request: IncomingMessage
  readonly #bound: Bound
  caller: Caller | undefined
  /** Has shown a valid key, also where it may not ask, or not now. */
  hasKey = false

  constructor(request: IncomingMessage, bound: Bound) {
    this.#request = request
    this.#bound = bound
  }

  /** Throws `unauthenticated`, `forbidden`, `rate-limited` or `overloaded`. */
  async identify(key: Credential | undefined): Promise<Caller> {
    const { tools, route, charge } = this.#bound
    const { access, rate } = route.endpoint
    if (access === 'open') {
      this.caller = nobody
      return nobody
    }
    const caller = await callerOf(key, tools.authenticate)
    this.hasKey = true
    tools.onKnown?.(this.#request)
    route.admit(caller)
    if (rate !== undefined) tools.limitRate?.(caller.accountId, rate)
    charge?.assignTo(caller.accountId)
    this.caller = caller
    return caller
  }
}

function splitKey(fields: RawFields, keyAllowed: boolean) {
  return keyAllowed ? takeKey(fields) : { key: undefined, rest: fields }
}

/** On a call whose fields are in the body, a field in the address would otherwise be overlooked. */
export function refuseFields(query: RawFields): void {
  const rule = 'is not read from the address; send it in the body'
  const problems = Object.keys(query).map((name) => ({ field: shorten(name), rule }))
  if (problems.length > 0) throw invalidRequest(problems)
}

/** The path of a request as sent, without its query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? ''
}
