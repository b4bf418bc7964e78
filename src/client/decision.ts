/** What `decide` can return, and the checks that an allow has passed. */
import { elapsedMs, type Moment, parseHttpDate, parseInstant } from './clock.js'
import type { HttpAnswer, NoAnswerCause } from './http.js'
import { isObject, type JsonObject, memberOf, parseJson, textOf } from './json.js'

export type CallKind = 'manual' | 'autodialed' | 'ai'

export interface Call {
  /** Digits, with an optional `+`, spaces and `( ) . - /`; not a URI. */
  readonly number: string
  readonly callKind: CallKind
  /** What the call is for, such as `informational`, if the settings of the service let a request say it. */
  readonly purpose?: string | undefined
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly postalCode?: string | undefined
  readonly callerId?: string | undefined
  /** What the call is about, one of those that the service knows: some laws count only calls on the same subject. */
  readonly subject?: string | undefined
  /** Your name for the person called: the calls to all numbers of a person count together. */
  readonly personId?: string | undefined
  readonly reference?: string | undefined
  /** The approval of exactly this call by a person, named by {@link Blocked.approval} before. */
  readonly approvalId?: string | undefined
}

/** The result of one check. New values may come with any release of the service. */
export interface Finding {
  readonly check: string
  readonly verdict: string
  readonly reason: string
  readonly detail: string
}

/** What must be said in the call, in words of your own, and the rules that ask for it. New keys may come with any release. */
export interface Disclosure {
  readonly key: string
  /** Citations. */
  readonly rules: readonly string[]
}

interface Answered {
  readonly id: string
  /** A code such as `permitted` or `no-consent`. New ones may come with any release of the service. */
  readonly reason: string
  readonly message: string
  /** ISO 8601, UTC. */
  readonly validUntil: string
  readonly findings: readonly Finding[]
}

export interface Blocked extends Answered {
  readonly kind: 'blocked'
  readonly mayDial: false
  /** When the call may be asked about again, if only the time blocks it; ISO 8601, UTC. */
  readonly nextAllowedAt: string | undefined
  /** The call may be asked about again at `nextAllowedAt` at the latest, and perhaps earlier. */
  readonly nextAllowedAtLatest: boolean
  /** The approval that the call waits for: ask again with its id once a person has given it. */
  readonly approval: WaitingApproval | undefined
}

export interface WaitingApproval {
  readonly id: string
  /** A person can give it before then; ISO 8601, UTC. */
  readonly expiresAt: string
}

/** Calls that the key may still ask for in this hour and in 24 hours; absent for what is not limited. */
export interface RemainingAttempts {
  readonly hour?: number
  readonly day?: number
}

/**
 * Why there is no decision: `refused` is an answer of 400 to 499, `unavailable` one of 500 or more,
 * `wrong-call` a decision about another call, `expired` an allow whose time is over.
 */
export type UndecidedCause =
  | NoAnswerCause
  | 'refused'
  | 'unavailable'
  | 'wrong-call'
  | 'expired'
  | 'unsupported-number'

export interface Undecided {
  readonly kind: 'undecided'
  readonly mayDial: false
  readonly cause: UndecidedCause
  /** For people; never contains the key. */
  readonly message: string
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined
}

export type Decision = Allowed | Blocked | Undecided

/** The call may not be dialed any more: the time of its allow is over, or it was used. */
export class DialRefused extends Error {
  override readonly name = 'DialRefused'
}

const onlyHere = Symbol('made by decide')

interface Validity {
  readonly since: Moment
  readonly forMs: number
}

/** A call that may be dialed once. Only `decide` makes one. */
export class Allowed implements Answered {
  readonly kind = 'allowed'
  readonly mayDial = true
  readonly id: string
  readonly reason: string
  readonly message: string
  readonly validUntil: string
  readonly findings: readonly Finding[]
  /** What is to be dialed: ten digits, a service code, or what policy allows unchecked. */
  readonly number: string
  /** Checks without a fresh answer that policy allowed. */
  readonly degraded: readonly string[]
  readonly remaining: RemainingAttempts
  /** In the order in which it is said; empty if nothing must be. */
  readonly disclosures: readonly Disclosure[]
  readonly #validity: Validity
  #isUsed = false

  constructor(
    proof: symbol,
    {
      answered,
      number,
      degraded,
      remaining,
      disclosures,
      validity,
    }: {
      readonly answered: Answered
      readonly number: string
      readonly degraded: readonly string[]
      readonly remaining: RemainingAttempts
      readonly disclosures: readonly Disclosure[]
      readonly validity: Validity
    },
  ) {
    if (proof !== onlyHere) throw new TypeError('an allow comes only from decide')
    this.id = answered.id
    this.reason = answered.reason
    this.message = answered.message
    this.validUntil = answered.validUntil
    this.findings = answered.findings
    this.number = number
    this.degraded = degraded
    this.remaining = remaining
    this.disclosures = disclosures
    this.#validity = validity
    Object.freeze(this)
  }

  /**
   * Calls `place` with the number to dial, and returns its result. Rejects with {@link DialRefused},
   * without calling it, at or after `validUntil` and at the second use.
   */
  async dial<T>(place: (number: string) => T | Promise<T>): Promise<T> {
    if (typeof place !== 'function')
      throw new TypeError('dial needs a function that places the call')
    if (this.#isUsed) throw new DialRefused(`decision ${this.id} was used; ask again`)
    if (elapsedMs(this.#validity.since) >= this.#validity.forMs) {
      throw new DialRefused(`decision ${this.id} was valid until ${this.validUntil}; ask again`)
    }
    this.#isUsed = true
    return await place(this.number)
  }
}

export function undecided(cause: UndecidedCause, message: string, status?: number): Undecided {
  return Object.freeze({ kind: 'undecided', mayDial: false, cause, message, status })
}

/**
 * The digits that two spellings of a number have in common, with the `+`, `011` or `00` of another
 * country; `undefined` for what is not a plain number.
 */
export function normalizeNumber(text: string): string | undefined {
  if (text.length > 128) return undefined
  const plain = text.replace(/[\p{Zs}().\-/]/gu, '')
  if (!/^\+?\d+$/.test(plain)) return undefined
  // Some telephone systems put a plus before service codes too.
  return plain.replace(/^(?:\+|011|00)?1(?=\d{10}$)|^\+(?=\d{3}$)/, '')
}

/** Reads an answer with status 200. Whatever it is, only a sound allow of this very call becomes one. */
export function readDecision(call: Call, answer: HttpAnswer): Decision {
  const { status, headers } = answer
  const date = parseHttpDate(headers.get('date') ?? '')
  const body = readJsonObject(answer)
  const answered = body && readAnswered(body)
  if (!body || !answered || date === undefined) {
    return undecided('unreadable', 'the answer is not a decision of callgate', status)
  }
  const number = textOf(body, 'number')
  const decision = textOf(body, 'decision')
  const isOfNumber =
    number !== undefined && normalizeNumber(number) === normalizeNumber(call.number)
  // Whatever else a call to a service code says, it is allowed.
  const isOfKind = textOf(body, 'callKind') === call.callKind || answered.reason === 'service-code'
  const isSound = isOfNumber || (decision === 'block' && number === '')
  if (!isSound || !isOfKind || memberOf(body, 'whatIf') !== false) {
    return undecided('wrong-call', 'the answer is about another call', status)
  }
  const mandate = objectOf(body, 'mandate')
  if (decision === 'block') {
    const nextAllowedAt = textOf(body, 'nextAllowedAt')
    const approval = readApproval(memberOf(mandate, 'approval'))
    const nextAllowedAtLatest = memberOf(body, 'nextAllowedAtLatest') === true
    const next = { nextAllowedAt, nextAllowedAtLatest, approval }
    return Object.freeze({ kind: 'blocked', mayDial: false, ...answered, ...next })
  }
  const degraded = textsOf(memberOf(body, 'degraded'))
  const validMs = readValidMs(body, date)
  const disclosures = readDisclosures(memberOf(body, 'disclosures'))
  if (
    decision !== 'allow' ||
    textOf(body, 'dial') !== number ||
    !degraded ||
    !disclosures ||
    validMs === undefined
  ) {
    return undecided('unreadable', 'the answer is not a decision of callgate', status)
  }
  const remaining = readRemaining(objectOf(mandate, 'remaining'))
  const validity = { since: answer.sentAt, forMs: validMs }
  if (elapsedMs(validity.since) >= validMs) {
    return undecided('expired', `the allow was valid until ${answered.validUntil}`, status)
  }
  return new Allowed(onlyHere, {
    answered,
    number,
    degraded,
    remaining,
    disclosures,
    validity,
  })
}

/** The body if it is a JSON object, by its type and its text. */
export function readJsonObject({ headers, text }: HttpAnswer): JsonObject | undefined {
  // An answer from a cache has an age.
  if (!/^application\/json\s*(?:;|$)/i.test(headers.get('content-type') ?? '')) return undefined
  if (headers.has('age')) return undefined
  try {
    const body = parseJson(text)
    return isObject(body) ? body : undefined
  } catch {
    return undefined
  }
}

function readAnswered(body: JsonObject): Answered | undefined {
  const id = textOf(body, 'id')
  const reason = textOf(body, 'reason')
  const message = textOf(body, 'message')
  const validUntil = textOf(body, 'validUntil')
  const findings = memberOf(body, 'findings')
  if (!id || !reason || message === undefined || validUntil === undefined) return undefined
  if (!Array.isArray(findings)) return undefined
  const read = findings.map(readFinding)
  if (!read.every((one) => one !== undefined)) return undefined
  return { id, reason, message, validUntil, findings: Object.freeze(read) }
}

function readFinding(value: unknown): Finding | undefined {
  if (!isObject(value)) return undefined
  const check = textOf(value, 'check')
  const verdict = textOf(value, 'verdict')
  const reason = textOf(value, 'reason')
  const detail = textOf(value, 'detail')
  if (check === undefined || verdict === undefined) return undefined
  if (reason === undefined || detail === undefined) return undefined
  return Object.freeze({ check, verdict, reason, detail })
}

/** `undefined` if it cannot be read: a call of which it is not known what must be said is not placed. */
function readDisclosures(value: unknown): readonly Disclosure[] | undefined {
  if (value === undefined) return Object.freeze([])
  if (!Array.isArray(value)) return undefined
  const read = value.map((one) => {
    const key = isObject(one) ? textOf(one, 'key') : undefined
    const rules = isObject(one) ? textsOf(memberOf(one, 'rules')) : undefined
    return key && rules && Object.freeze({ key, rules })
  })
  return read.every((one) => typeof one === 'object') ? Object.freeze(read) : undefined
}

function readApproval(value: unknown): WaitingApproval | undefined {
  if (!isObject(value)) return undefined
  const id = textOf(value, 'id')
  const expiresAt = textOf(value, 'expiresAt')
  if (!id || expiresAt === undefined) return undefined
  return Object.freeze({ id, expiresAt })
}

function readRemaining(value: JsonObject): RemainingAttempts {
  const numbers = (['hour', 'day'] as const).flatMap((name) => {
    const member = memberOf(value, name)
    return typeof member === 'number' ? [[name, member]] : []
  })
  return Object.freeze(Object.fromEntries(numbers))
}

/** Empty if it is none. */
function objectOf(value: JsonObject, name: string): JsonObject {
  const member = memberOf(value, name)
  return isObject(member) ? member : {}
}

function textsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.every((one) => typeof one === 'string') ? Object.freeze([...value]) : undefined
}

/** The most that `gate.allowValidMs` can be. */
const maxValidMs = 3_600_000

/**
 * How long an allow is valid, from when its request was sent: by the clock of the server, which was at
 * most at the end of the second in `Date`, or at `decidedAt`, when it answered, and no earlier than the
 * request. `undefined` if the instants make no sense.
 */
function readValidMs(body: JsonObject, date: number): number | undefined {
  const [decidedAt, judgedAt, validUntil] = ['decidedAt', 'judgedAt', 'validUntil'].map((name) =>
    parseInstant(textOf(body, name) ?? ''),
  )
  if (decidedAt === undefined || judgedAt === undefined || validUntil === undefined)
    return undefined
  if (validUntil - judgedAt > maxValidMs || Math.abs(decidedAt - date) > maxValidMs)
    return undefined
  // The sandbox may have its own time, in which it judges.
  const isSandbox = textOf(body, 'accountId') === 'sandbox'
  const expiresAt = isSandbox ? decidedAt + validUntil - judgedAt : validUntil
  const validMs = expiresAt - Math.max(date + 1_000, decidedAt)
  return validMs > maxValidMs ? undefined : validMs
}
