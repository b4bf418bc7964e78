/**
 * Sends one HTTP request to a provider and classifies its result. The caller decides how to handle a
 * failure: another attempt, a pause, or an open circuit.
 */

import type { AnswerFailure, Question } from '../../../domain/compliance.js'
import type { Clock, Instant, Timers } from '../../../domain/time/clock.js'
import { formatTraceparent, type TraceContext } from '../../../domain/trace/trace-context.js'
import { getErrorMessage } from '../../../errors.js'
import {
  type BatchQuestion,
  defaultMaxRowBytes,
  type EndpointRequest,
  type InvalidRow,
  type ParsedRow,
  ReplyError,
} from '../batch-question.js'
import type { ProviderAddresses } from '../provider-options.js'
import { parseRetryAfterMs } from './backoff.js'
import type { AuthHeaders } from './credentials.js'
import type { QuestionFailure } from './question-failure.js'
import { redactExcerpt } from './reply-diagnostics.js'
import {
  type ProviderReply,
  type ProviderRequest,
  type Transport,
  TransportError,
} from './transport.js'

export interface BatchRequest<Asks extends Question, Value> {
  readonly question: Pick<BatchQuestion<Asks, Value>, 'parseReply' | 'maxRowBytes'>
  readonly questions: readonly Asks[]
  readonly request: EndpointRequest
  readonly authHeaders: AuthHeaders
  readonly transport: Transport
  readonly addresses: ProviderAddresses
  readonly clock: Clock
  readonly timers: Timers
  /** Sent as header `traceparent`. */
  readonly trace?: TraceContext | undefined
  /** The request is aborted if it takes longer. */
  readonly timeoutMs: number
  /** Aborted on timeout, or by a caller that closes. */
  readonly controller: AbortController
}

export interface RequestFailure extends QuestionFailure {
  readonly answered: false
  /** Whether the same request may succeed later. */
  readonly isRetryable: boolean
  /** Whether it is treated as a failure of the provider, rather than of this request alone. */
  readonly isProviderFault: boolean
  /** Whether the provider does not accept the key. */
  readonly isKeyRefused: boolean
  /** Whether it may accept a newly obtained key. */
  readonly canRetryWithNewKey: boolean
  /** Whether only one of several questions may be the cause. */
  readonly isSplittable: boolean
  /** The pause requested by the provider; 0 for none. */
  readonly retryAfterMs: number
}

export type RequestResult<Value> =
  | {
      readonly answered: true
      readonly askedAt: Instant
      /** In the order of the questions. */
      readonly rows: readonly (ParsedRow<Value> | InvalidRow)[]
    }
  | RequestFailure

/** Sends immediately. Never rejects. */
export async function sendBatch<Asks extends Question, Value>(
  parts: BatchRequest<Asks, Value>,
): Promise<RequestResult<Value>> {
  const { transport, timers, clock, timeoutMs, controller } = parts
  const askedAt = clock.now()
  const cancelTimeout = timers.after(timeoutMs, () => controller.abort())
  try {
    const reply = await transport.send(buildProviderRequest(parts), controller.signal)
    return { answered: true, askedAt, rows: readRows(reply, { ...parts, askedAt }) }
  } catch (cause) {
    return toRequestFailure(cause, timeoutMs)
  } finally {
    cancelTimeout()
  }
}

/** Several times the size of an error page. */
const maxErrorPageBytes = 65_536

function buildProviderRequest<Asks extends Question, Value>({
  request: { method, path, wire },
  question: { maxRowBytes = defaultMaxRowBytes },
  questions,
  authHeaders,
  addresses,
  trace,
}: BatchRequest<Asks, Value>): ProviderRequest {
  const query = wire.query ? `?${new URLSearchParams(wire.query).toString()}` : ''
  const isJson = wire.json !== undefined || wire.jsonRequested === true
  return {
    method,
    url: buildProviderUrl(path, addresses) + query,
    maxReplyBytes: maxErrorPageBytes + maxRowBytes * questions.length,
    headers: {
      ...authHeaders,
      accept: 'application/json',
      ...(isJson && { 'content-type': 'application/json' }),
      ...(trace && { traceparent: formatTraceparent(trace) }),
    },
    ...(wire.json !== undefined && { body: JSON.stringify(wire.json) }),
  }
}

class FailureError extends Error {
  readonly failure: RequestFailure

  constructor(failure: RequestFailure) {
    super(failure.detail)
    this.failure = failure
  }
}

function readRows<Asks extends Question, Value>(
  reply: ProviderReply,
  parts: BatchRequest<Asks, Value> & { readonly askedAt: Instant },
): readonly (ParsedRow<Value> | InvalidRow)[] {
  const { question, questions, authHeaders, clock, askedAt } = parts
  if (reply.status < 200 || reply.status > 299) {
    throw new FailureError(createStatusFailure(reply, authHeaders, clock.now()))
  }
  // Texts of rows and errors are copied to decisions and logs.
  if (hasKeyInBody(reply.body, authHeaders)) {
    throw new ReplyError('not-understood', 'the reply repeats the key')
  }
  const rows = question.parseReply({ ...reply, askedAt }, questions)
  if (rows.length === questions.length) return redactDigitKeys(rows, authHeaders)
  throw new ReplyError('not-understood', `${rows.length} rows for ${questions.length} numbers`)
}

function createFailure(
  reason: AnswerFailure['reason'],
  detail: string,
  traits: Partial<RequestFailure> = {},
): RequestFailure {
  return {
    answered: false,
    reason,
    detail,
    isRetryable: false,
    isProviderFault: true,
    isKeyRefused: false,
    canRetryWithNewKey: false,
    isSplittable: false,
    retryAfterMs: 0,
    ...traits,
  }
}

function createStatusFailure(
  { status, retryAfter, body }: ProviderReply,
  keys: AuthHeaders,
  now: Instant,
): RequestFailure {
  const detail = `answered ${status}`
  if (status === 401 || status === 403) {
    return createFailure('refused', `${detail}: the key is not accepted`, {
      isKeyRefused: true,
      canRetryWithNewKey: status === 401,
    })
  }
  if (status === 429) {
    const retryAfterMs = parseRetryAfterMs(retryAfter, now)
    return createFailure('rate-limited', detail, { isProviderFault: false, retryAfterMs })
  }
  if (status >= 500) {
    const retryAfterMs = retryAfter === undefined ? 0 : parseRetryAfterMs(retryAfter, now)
    return createFailure('source-failed', detail, { isRetryable: true, retryAfterMs })
  }
  if (status >= 400) {
    // The cause may be one caller's request, such as its project; others are still answered.
    return createFailure('bad-question', `${detail}${redactReplyExcerpt(body, keys)}`, {
      isProviderFault: false,
      isSplittable: status === 400 || status === 422,
    })
  }
  return createFailure('source-failed', `${detail}, and redirects are not followed`)
}

/** Shorter keys may be part of any word. */
const minKeyLength = 8

function listSecrets(keys: AuthHeaders): readonly string[] {
  return Object.values(keys).map((value) => value.replace(/^Bearer /, ''))
}

const onlyDigits = /^\d+$/

/** Ignores keys that consist of digits, which may occur in any number: see {@link redactDigitKeys}. */
function hasKeyInBody(body: string, keys: AuthHeaders): boolean {
  const text = body.toLowerCase()
  const forms = listSecrets(keys)
    .filter((key) => key.length >= minKeyLength && !onlyDigits.test(key))
    .flatMap((key) => [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)])
    .flatMap((form) => [form, form.replaceAll('/', '\\/')])
  return forms.some((form) => text.includes(form.toLowerCase()))
}

/**
 * Masks keys that consist of digits in the texts of a parsed reply. No fact has that many digits, so
 * none is changed.
 */
function redactDigitKeys<Rows>(rows: Rows, keys: AuthHeaders): Rows {
  const digitKeys = listSecrets(keys).filter(
    (key) => key.length >= minKeyLength && onlyDigits.test(key),
  )
  if (digitKeys.length === 0) return rows
  const masked = (value: unknown): unknown => {
    if (typeof value === 'string') {
      return digitKeys.reduce((text, key) => text.replaceAll(key, '***'), value)
    }
    if (Array.isArray(value)) return value.map(masked)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, held]) => [name, masked(held)]))
  }
  return masked(rows) as Rows
}

/** The beginning of a provider's text, without keys and numbers. */
function redactReplyExcerpt(body: string, keys: AuthHeaders): string {
  if (hasKeyInBody(body, keys)) return ''
  const without = listSecrets(keys).reduce((text, secret) => text.replaceAll(secret, '***'), body)
  const excerpt = redactExcerpt(findErrorText(without))
  return excerpt === '' ? '' : `: ${excerpt}`
}

/** The message of a JSON problem or error object; any other body unchanged. */
function findErrorText(body: string): string {
  try {
    const { detail, error, ReasonPhrase } = JSON.parse(body) as Record<string, unknown>
    const message = [detail, error, ReasonPhrase].find((text) => typeof text === 'string')
    return typeof message === 'string' ? message : body
  } catch {
    return body
  }
}

function toRequestFailure(cause: unknown, limitMs: number): RequestFailure {
  if (cause instanceof FailureError) return cause.failure
  if (cause instanceof ReplyError) {
    const isKeyRefused = cause.why === 'refused'
    return createFailure(cause.why, cause.message, {
      isKeyRefused,
      canRetryWithNewKey: isKeyRefused,
    })
  }
  if (!(cause instanceof TransportError)) {
    return createFailure('not-understood', getErrorMessage(cause))
  }
  switch (cause.why) {
    case 'aborted':
      return createFailure('deadline', `no reply within ${limitMs} ms`, { isRetryable: true })
    case 'unreachable':
    case 'cut-off':
      return createFailure('source-failed', cause.message, { isRetryable: true })
    case 'too-large':
      return createFailure('source-failed', cause.message)
    case 'unreadable':
      return createFailure('not-understood', cause.message)
  }
}

/** The full URL of a path (spec, "Addresses"); letter case is ignored. */
export function buildProviderUrl(path: string, addresses: ProviderAddresses): string {
  const lower = path.toLowerCase()
  if (lower.startsWith('/app/main/rpc/')) return addresses.rpcUrl + path
  if (lower.startsWith('/v1.4/reputation')) return addresses.monitorUrl + path
  return addresses.baseUrl + path
}
