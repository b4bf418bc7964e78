/**
 * One HTTP request to a provider, from a composed question to what came of it. What follows from a
 * failure (another attempt, a pause, a circuit that opens) is left to the asker.
 */
import type { Clock, Instant, Timers } from '../../domain/clock.js'
import type { Question, Unanswered } from '../../domain/compliance.js'
import { addressOf } from './addresses.js'
import {
  type BatchQuestion,
  type NotUnderstood,
  type OutgoingRequest,
  ReplyError,
  type Understood,
  usualRowBytes,
} from './batch-question.js'
import type { KeyHeaders } from './credentials.js'
import type { ProviderAddresses } from './provider-options.js'
import { retryAfterMs } from './retry.js'
import {
  type ProviderReply,
  type ProviderRequest,
  type Transport,
  TransportError,
} from './transport.js'

export interface Exchange<Asks extends Question, Value> {
  readonly question: Pick<BatchQuestion<Asks, Value>, 'read' | 'rowBytes'>
  readonly questions: readonly Asks[]
  readonly outgoing: OutgoingRequest
  readonly keyHeaders: KeyHeaders
  readonly transport: Transport
  readonly addresses: ProviderAddresses
  readonly clock: Clock
  readonly timers: Timers
  /** When it takes longer it is given up. */
  readonly limitMs: number
  /** Aborted at the limit, or by whoever has no more use for it. */
  readonly controller: AbortController
}

export interface ExchangeFailure extends Pick<Unanswered, 'why' | 'detail'> {
  readonly answered: false
  /** The same request may do better. */
  readonly isPassing: boolean
  /** It tells of the provider's health, not of this request alone. */
  readonly isFault: boolean
  /** The provider does not accept the key. */
  readonly isKeyRefused: boolean
  /** It may accept another one, had anew. */
  readonly isNewKeyWorth: boolean
  /** One question of several may be what the provider refuses. */
  readonly mayBeOfOne?: boolean
  /** How long the provider asks to be left alone; 0 when it does not. */
  readonly waitMs: number
}

export type ExchangeEnd<Value> =
  | {
      readonly answered: true
      readonly askedAt: Instant
      /** In the order of the questions. */
      readonly rows: readonly (Understood<Value> | NotUnderstood)[]
    }
  | ExchangeFailure

/** Sends at once. Never rejects. */
export async function exchange<Asks extends Question, Value>(
  parts: Exchange<Asks, Value>,
): Promise<ExchangeEnd<Value>> {
  const { transport, timers, clock, limitMs, controller } = parts
  const askedAt = clock.now()
  const callOff = timers.after(limitMs, () => controller.abort())
  try {
    const reply = await transport.send(requestOf(parts), controller.signal)
    return { answered: true, askedAt, rows: rowsIn(reply, { ...parts, askedAt }) }
  } catch (cause) {
    return failureIn(cause, limitMs)
  } finally {
    callOff()
  }
}

/** Some times what an error page has. */
const pageBytes = 65_536

function requestOf<Asks extends Question, Value>({
  outgoing: { method, path, wire },
  question: { rowBytes = usualRowBytes },
  questions,
  keyHeaders,
  addresses,
}: Exchange<Asks, Value>): ProviderRequest {
  const query = wire.query ? `?${new URLSearchParams(wire.query).toString()}` : ''
  const isJson = wire.json !== undefined || wire.jsonRequested === true
  return {
    method,
    url: addressOf(path, addresses) + query,
    maxReplyBytes: pageBytes + rowBytes * questions.length,
    headers: {
      ...keyHeaders,
      accept: 'application/json',
      ...(isJson && { 'content-type': 'application/json' }),
    },
    ...(wire.json !== undefined && { body: JSON.stringify(wire.json) }),
  }
}

class Refusal extends Error {
  readonly failure: ExchangeFailure

  constructor(failure: ExchangeFailure) {
    super(failure.detail)
    this.failure = failure
  }
}

function rowsIn<Asks extends Question, Value>(
  reply: ProviderReply,
  parts: Exchange<Asks, Value> & { readonly askedAt: Instant },
): readonly (Understood<Value> | NotUnderstood)[] {
  const { question, questions, keyHeaders, clock, askedAt } = parts
  if (reply.status < 200 || reply.status > 299) {
    throw new Refusal(statusFailure(reply, keyHeaders, clock.now()))
  }
  // What rows and error texts say goes into decisions and logs.
  if (repeatsKey(reply.body, keyHeaders)) {
    throw new ReplyError('not-understood', 'the reply repeats the key')
  }
  const rows = question.read({ ...reply, askedAt }, questions)
  if (rows.length === questions.length) return withoutKeys(rows, keyHeaders)
  throw new ReplyError('not-understood', `${rows.length} rows for ${questions.length} numbers`)
}

const plain = {
  answered: false,
  isPassing: false,
  isFault: true,
  isKeyRefused: false,
  isNewKeyWorth: false,
  waitMs: 0,
} as const

function statusFailure(reply: ProviderReply, keys: KeyHeaders, now: Instant): ExchangeFailure {
  const { status, retryAfter, body } = reply
  const detail = `answered ${status}`
  if (status === 401 || status === 403) {
    const isNewKeyWorth = status === 401
    const refused = `${detail}: the key is not accepted`
    return { ...plain, why: 'refused', detail: refused, isKeyRefused: true, isNewKeyWorth }
  }
  if (status === 429) {
    const waitMs = retryAfterMs(retryAfter, now)
    return { ...plain, why: 'rate-limited', detail, isFault: false, waitMs }
  }
  if (status >= 500) {
    const waitMs = retryAfter === undefined ? 0 : retryAfterMs(retryAfter, now)
    return { ...plain, why: 'source-failed', detail, isPassing: true, waitMs }
  }
  if (status >= 400) {
    // What a caller names, such as a project, may be the reason: others are still answered.
    const said = sayable(body, keys)
    const mayBeOfOne = status === 400 || status === 422
    return { ...plain, why: 'bad-question', detail: `${detail}${said}`, isFault: false, mayBeOfOne }
  }
  const redirects = `${detail}, and redirects are not followed`
  return { ...plain, why: 'source-failed', detail: redirects }
}

const longestSaid = 60

/** A shorter text may be part of any word. */
const shortestKey = 8

function secretsOf(keys: KeyHeaders): readonly string[] {
  return Object.values(keys).map((value) => value.replace(/^Bearer /, ''))
}

const onlyDigits = /^\d+$/

/** A key of digits alone may be part of any number or date: see {@link withoutKeys}. */
function repeatsKey(body: string, keys: KeyHeaders): boolean {
  const said = body.toLowerCase()
  const forms = secretsOf(keys)
    .filter((key) => key.length >= shortestKey && !onlyDigits.test(key))
    .flatMap((key) => [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)])
    .flatMap((form) => [form, form.replaceAll('/', '\\/')])
  return forms.some((form) => said.includes(form.toLowerCase()))
}

/**
 * What was read of a reply, with keys of digits alone masked in its texts. Facts are not harmed: none
 * of them is a text of so many digits.
 */
function withoutKeys<Read>(read: Read, keys: KeyHeaders): Read {
  const digitKeys = secretsOf(keys).filter(
    (key) => key.length >= shortestKey && onlyDigits.test(key),
  )
  if (digitKeys.length === 0) return read
  const masked = (value: unknown): unknown => {
    if (typeof value === 'string') {
      return digitKeys.reduce((text, key) => text.replaceAll(key, '***'), value)
    }
    if (Array.isArray(value)) return value.map(masked)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, held]) => [name, masked(held)]))
  }
  return masked(read) as Read
}

/** The beginning of what a provider says, without keys and numbers. */
function sayable(body: string, keys: KeyHeaders): string {
  if (repeatsKey(body, keys)) return ''
  const without = secretsOf(keys).reduce((text, secret) => text.replaceAll(secret, '***'), body)
  const said = textIn(without).replace(/\s+/g, ' ').trim().slice(0, longestSaid).replace(/\d/g, '#')
  return said === '' ? '' : `: ${said}`
}

/** Of a problem object or an error in JSON what it says to people; any other body as it is. */
function textIn(body: string): string {
  try {
    const { detail, error, ReasonPhrase } = JSON.parse(body) as Record<string, unknown>
    const said = [detail, error, ReasonPhrase].find((text) => typeof text === 'string')
    return typeof said === 'string' ? said : body
  } catch {
    return body
  }
}

function failureIn(cause: unknown, limitMs: number): ExchangeFailure {
  if (cause instanceof Refusal) return cause.failure
  if (cause instanceof ReplyError) {
    const { why, message: detail } = cause
    const isKeyRefused = why === 'refused'
    return { ...plain, why, detail, isKeyRefused, isNewKeyWorth: isKeyRefused }
  }
  if (!(cause instanceof TransportError)) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    return { ...plain, why: 'not-understood', detail }
  }
  const { why, message: detail } = cause
  if (why === 'aborted') {
    const late = `no reply within ${limitMs} ms`
    return { ...plain, why: 'deadline', detail: late, isPassing: true }
  }
  if (why === 'unreachable' || why === 'cut-off') {
    return { ...plain, why: 'source-failed', detail, isPassing: true }
  }
  return { ...plain, why: why === 'unreadable' ? 'not-understood' : 'source-failed', detail }
}
