/**
 * Asks callgate before a call is dialed. `decide` returns one of three results; only `Allowed` has
 * something to dial with, so code that forgets a case does not compile, and `if (result.mayDial)` is safe.
 */
import {
  type Call,
  type Decision,
  type Finding,
  normalizeNumber,
  readDecision,
  readJsonObject,
  undecided,
} from './decision.js'
import { type HttpAnswer, type HttpRequest, type Limits, type NoAnswer, send } from './http.js'
import { memberOf, textOf } from './json.js'

export type {
  Allowed,
  Blocked,
  Call,
  CallKind,
  Decision,
  Disclosure,
  Finding,
  RemainingAttempts,
  Undecided,
  UndecidedCause,
  WaitingApproval,
} from './decision.js'
export { DialRefused } from './decision.js'

export interface ClientOptions {
  /** Where callgate listens, such as `http://127.0.0.1:8480`. */
  readonly url: string | URL
  /** An API key, or an access token, which may permit less than its key. */
  readonly key: string
  /** The time for one request and its whole answer; 1,000 by default. */
  readonly deadlineMs?: number | undefined
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** Instead of that of the client. */
  readonly deadlineMs?: number | undefined
}

/** The deadline is for each number. */
export interface OptOutOptions extends RequestOptions {
  /** For whose call it was said; the Master Project when absent. */
  readonly projectId?: string | undefined
  /** The words of the person, at most 500 characters. */
  readonly said?: string | undefined
}

/** A recorded decision; the description of the API names its other members. */
export interface DecisionRecord {
  readonly id: string
  readonly decision: 'allow' | 'block'
  readonly reason: string
  readonly message: string
  readonly number: string
  readonly findings: readonly Finding[]
  readonly [member: string]: unknown
}

export interface Client {
  /** Rejects only for misuse; an outage is an `Undecided`. Never asks twice. */
  decide(call: Call, options?: RequestOptions): Promise<Decision>
  /**
   * Puts numbers on the internal do-not-call lists of all projects, one after the other. Rejects with {@link CallgateError}
   * if one was not acknowledged: then repeat all, which does no harm.
   */
  optOut(numbers: string | readonly string[], options?: OptOutOptions): Promise<void>
  /** Reads a recorded decision. Rejects with {@link CallgateError} if there is none, or it cannot be read. */
  explain(id: string, options?: RequestOptions): Promise<DecisionRecord>
}

/** A request other than `decide` that did not succeed. */
export class CallgateError extends Error {
  override readonly name = 'CallgateError'
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined

  constructor(message: string, status: number | undefined) {
    super(message)
    this.status = status
  }
}

/** Throws a `TypeError` for options that cannot be used. */
export function createClient(options: ClientOptions): Client {
  const { base, key, deadlineMs } = readOptions(options)
  const ask = async (request: HttpRequest, given: RequestOptions = {}) => {
    const limits: Limits = {
      signal: given.signal,
      deadlineMs: readDeadline(given.deadlineMs ?? deadlineMs),
    }
    const answer = await send({ base, key }, request, limits)
    return hideKey(answer, key)
  }
  return Object.freeze({
    async decide(call: Call, given?: RequestOptions): Promise<Decision> {
      requireCall(call)
      if (normalizeNumber(call.number) === undefined) {
        const rule = 'must be digits, with an optional + and spaces or ( ) . - / between them'
        return undecided('unsupported-number', `the number ${rule}`)
      }
      const { number, callKind, purpose, projectId, campaignId, postalCode, callerId } = call
      const { subject, personId, reference, approvalId } = call
      const about = { projectId, campaignId, postalCode, callerId, subject, personId }
      const json = { number, callKind, purpose, ...about, reference, approvalId }
      const answer = await ask({ method: 'POST', path: 'v1/decisions', json }, given)
      if (!answer.ok) return undecided(answer.cause, answer.message)
      if (answer.status === 200) return readDecision(call, answer)
      const cause =
        answer.status < 400 ? 'unreadable' : answer.status < 500 ? 'refused' : 'unavailable'
      return undecided(cause, describeRefusal(answer), answer.status)
    },
    async optOut(numbers: string | readonly string[], given: OptOutOptions = {}): Promise<void> {
      const normalized = [numbers].flat().map(readTenDigits)
      if (normalized.length === 0) throw new TypeError('numbers must not be empty')
      const { projectId, said } = given
      for (const number of normalized) {
        const json = { number, projectId, said }
        const answer = await ask({ method: 'POST', path: 'v1/opt-outs', json }, given)
        const body = readOk(answer, 'the opt-out was not acknowledged')
        if (memberOf(body, 'recorded') === true) continue
        throw new CallgateError('the opt-out was not acknowledged: the answer is another', 200)
      }
    },
    async explain(id: string, given?: RequestOptions): Promise<DecisionRecord> {
      if (typeof id !== 'string' || id === '') throw new TypeError('id must be that of a decision')
      const path = `v1/decisions/${encodeURIComponent(id)}`
      const body = readOk(await ask({ method: 'GET', path }, given), 'the decision was not read')
      if (textOf(body, 'id') !== id || !Array.isArray(memberOf(body, 'findings'))) {
        throw new CallgateError('the decision was not read: the answer is another', 200)
      }
      return body as DecisionRecord
    },
  })
}

function readOptions(options: ClientOptions) {
  for (const name of Object.keys(options)) {
    if (!['url', 'key', 'deadlineMs'].includes(name)) {
      throw new TypeError(`unknown option '${name}'; known are url, key, deadlineMs`)
    }
  }
  const { url, key, deadlineMs = 1_000 } = options
  // What else a header may not hold would be refused with a message that repeats it.
  if (typeof key !== 'string' || !/^[!-~]+$/.test(key)) {
    throw new TypeError('key must be an API key of callgate')
  }
  return { base: readBase(url), key, deadlineMs: readDeadline(deadlineMs) }
}

function readBase(url: string | URL): URL {
  const rule = 'url must be an address such as http://127.0.0.1:8480, without password, query and #'
  let base: URL
  try {
    base = new URL(url)
  } catch {
    throw new TypeError(rule)
  }
  const isPlain = `${base.username}${base.password}${base.search}${base.hash}` === ''
  if (!/^https?:$/.test(base.protocol) || !isPlain) throw new TypeError(rule)
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return base
}

function readDeadline(ms: number): number {
  if (Number.isFinite(ms) && ms >= 1 && ms <= 60_000) return ms
  throw new TypeError('deadlineMs must be 1 to 60000')
}

const callKinds: readonly string[] = ['manual', 'autodialed', 'ai']

function requireCall(call: Call): void {
  if (typeof call?.number !== 'string') throw new TypeError('number must be text')
  if (!callKinds.includes(call.callKind)) {
    throw new TypeError(`callKind must be one of ${callKinds.join(', ')}`)
  }
}

function readTenDigits(text: string): string {
  const number = typeof text === 'string' ? normalizeNumber(text) : undefined
  if (number !== undefined && /^\d{10}$/.test(number)) return number
  throw new TypeError('an opt-out is of North American numbers, of 10 digits; none was recorded')
}

function readOk(answer: HttpAnswer | NoAnswer, failure: string) {
  if (!answer.ok) throw new CallgateError(`${failure}: ${answer.message}`, undefined)
  const body = answer.status === 200 ? readJsonObject(answer) : undefined
  if (body) return body
  throw new CallgateError(`${failure}: ${describeRefusal(answer)}`, answer.status)
}

/** What the service says of a request that it refuses, if it is callgate that answers. */
function describeRefusal({ status, headers, text }: HttpAnswer): string {
  const type = headers.get('content-type') ?? ''
  const isOwn = /^(?:application\/(?:problem\+)?json|text\/plain)\b/i.test(type)
  const detail = isOwn && text !== '' ? `: ${text.slice(0, 500)}` : ''
  return `callgate answered ${status}${detail}`
}

/** Whatever a server repeats, the key is in no result and no message. */
function hideKey(answer: HttpAnswer | NoAnswer, key: string): HttpAnswer | NoAnswer {
  return answer.ok ? { ...answer, text: answer.text.replaceAll(key, '***') } : answer
}
