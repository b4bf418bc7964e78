/** One request and its whole answer, within a deadline. Nothing is sent twice. */
import { type Moment, now } from './clock.js'

const maxBodyBytes = 1_048_576

export interface HttpOptions {
  /** Ends with a slash. */
  readonly base: URL
  readonly key: string
}

export interface Limits {
  readonly signal?: AbortSignal | undefined
  readonly deadlineMs: number
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  /** Below the base, without a slash at the beginning. */
  readonly path: string
  readonly json?: object
}

export interface HttpAnswer {
  readonly ok: true
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly sentAt: Moment
}

/** Why there is no answer. */
export type NoAnswerCause = 'timeout' | 'aborted' | 'network' | 'unreadable'

export interface NoAnswer {
  readonly ok: false
  readonly cause: NoAnswerCause
  readonly message: string
}

class UnreadableBody extends Error {}

/** Never rejects. */
export async function send(
  { base, key }: HttpOptions,
  { method, path, json }: HttpRequest,
  { signal, deadlineMs }: Limits,
): Promise<HttpAnswer | NoAnswer> {
  const controller = new AbortController()
  let cause: NoAnswerCause = 'network'
  const stop = (because: NoAnswerCause) => {
    cause = because
    controller.abort()
  }
  const onAbort = () => stop('aborted')
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(stop, deadlineMs, 'timeout')
  const sentAt = now()
  try {
    const response = await fetch(new URL(path, base), {
      method,
      headers: {
        ...credentialHeader(key),
        accept: 'application/json',
        // A compressed answer may be a thousand times as long as it looks.
        'accept-encoding': 'identity',
        ...(json && { 'content-type': 'application/json' }),
      },
      redirect: 'error',
      signal: controller.signal,
      ...(json && { body: JSON.stringify(json) }),
    })
    const text = await readBody(response)
    // An abort while the last bytes were read does not reject.
    controller.signal.throwIfAborted()
    return { ok: true, status: response.status, headers: response.headers, text, sentAt }
  } catch (error) {
    if (error instanceof UnreadableBody) {
      return { ok: false, cause: 'unreadable', message: error.message }
    }
    return { ok: false, cause, message: describe(cause, error, deadlineMs) }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    // Closes the connection of an answer that was not read to its end.
    controller.abort()
  }
}

/** The server reads a token only there, and a key in its own header with less work. */
function credentialHeader(key: string): Readonly<Record<string, string>> {
  return key.startsWith('cgt_') ? { authorization: `Bearer ${key}` } : { loginId: key }
}

async function readBody(response: Response): Promise<string> {
  const encoding = response.headers.get('content-encoding') ?? 'identity'
  if (encoding !== 'identity') throw new UnreadableBody('the answer is compressed')
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const decode = (part: Uint8Array | undefined, stream: boolean) => {
    try {
      return decoder.decode(part, { stream })
    } catch {
      throw new UnreadableBody('the answer is not UTF-8')
    }
  }
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    bytes += value?.length ?? 0
    if (bytes > maxBodyBytes) throw new UnreadableBody('the answer is longer than 1 MiB')
    text += decode(value, !done)
    if (done) return text
  }
}

function describe(cause: NoAnswerCause, error: unknown, deadlineMs: number): string {
  if (cause === 'timeout') return `no answer within ${deadlineMs} ms`
  if (cause === 'aborted') return 'the caller aborted the request'
  return `the request failed: ${codeOf(error) ?? codeOf(causeOf(error)) ?? 'no answer, or a redirect'}`
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}

/** Messages of other programs may repeat headers; a code, such as `ECONNREFUSED`, does not. */
function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' && /^[A-Z][A-Z\d_]{2,40}$/.test(code) ? code : undefined
}
