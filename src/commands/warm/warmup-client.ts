/**
 * Starts warmup jobs on a running server and follows their progress. Error messages never contain
 * the API key.
 */

import type { Endpoint } from '../../api/endpoint.js'
import {
  readWarmupEndpoint,
  startWarmupEndpoint,
  type WarmupProgressBody,
  type WarmupStartedBody,
} from '../../api/gate/warmup.js'
import type { Timers } from '../../domain/time/clock.js'
import { truncate } from '../../errors.js'
import { sleep } from '../../runtime/runtime.js'
import type { WarmupNumber } from '../../sources/warming/read-warmup-numbers.js'
import { CommandFailure } from '../command.js'

export interface WarmupClientOptions {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  /** Sent in a header and never shown. */
  readonly loginId: string
  readonly timers: Timers
  /** How long one request may take; default 30 s. */
  readonly requestTimeoutMs?: number
}

export interface WarmupJobRequest {
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly keepForMs: number
}

const firstWaitMs = 100
const maxWaitMs = 2_000
const defaultRequestTimeoutMs = 30_000
/** How long to keep polling while the server does not answer. */
const maxOutageMs = 60_000

/** The server was not reached or sent an unusable reply; a retry may succeed. */
class TransientFailure extends CommandFailure {}

export class WarmupClient {
  readonly #options: WarmupClientOptions

  constructor(options: WarmupClientOptions) {
    this.#options = options
  }

  /** Not retried, since that could start a second job. */
  start(numbers: readonly WarmupNumber[], request: WarmupJobRequest): Promise<WarmupStartedBody> {
    const body = JSON.stringify({ ...request, numbers: numbers.map(toWireNumber) })
    const headers = { 'content-type': 'application/json' }
    return this.#send('/v1/warm', startWarmupEndpoint, { method: 'POST', body, headers })
  }

  /**
   * Resolves with the state of each job when all have finished their first pass. Outages of less than
   * a minute are tolerated.
   */
  async follow(
    started: readonly WarmupProgressBody[],
    onProgress: (jobs: readonly WarmupProgressBody[]) => void,
  ): Promise<readonly WarmupProgressBody[]> {
    const { timers } = this.#options
    let jobs = started
    let lastReplyMs = timers.monotonicMs()
    for (let waitMs = firstWaitMs; jobs.some(isRunning); waitMs *= 2) {
      onProgress(jobs)
      await sleep(Math.min(waitMs, maxWaitMs), this.#options)
      try {
        jobs = await Promise.all(jobs.map((job) => (isRunning(job) ? this.#readJob(job.id) : job)))
        lastReplyMs = timers.monotonicMs()
      } catch (failure) {
        if (!(failure instanceof TransientFailure)) throw failure
        if (timers.monotonicMs() - lastReplyMs >= maxOutageMs) throw toConnectionLost(failure)
      }
    }
    onProgress(jobs)
    return jobs
  }

  #readJob(id: string): Promise<WarmupProgressBody> {
    return this.#send(`/v1/warm/${encodeURIComponent(id)}`, readWarmupEndpoint, { method: 'GET' })
  }

  async #send<Body>(
    path: string,
    { response: schema }: Pick<Endpoint<unknown, Body>, 'response'>,
    request: { method: string; body?: string; headers?: Record<string, string> },
  ): Promise<Body> {
    const { loginId } = this.#options
    const headers = { ...request.headers, loginId }
    const { status, ok, text } = await this.#fetch(path, { ...request, headers })
    if (!ok) {
      const what = `status ${status}: ${findDetail(this.#withoutKey(text))}`
      const isTransient = status >= 500 && request.method === 'GET'
      throw this.#failure(what, isTransient ? TransientFailure : CommandFailure)
    }
    const read = schema.safeParse(parseJson(text))
    if (read.success) return read.data
    const what = `'${truncate(this.#withoutKey(text))}' is not a valid answer of this call`
    throw this.#failure(what, TransientFailure)
  }

  async #fetch(path: string, request: RequestInit) {
    const { url, requestTimeoutMs = defaultRequestTimeoutMs } = this.#options
    const signal = AbortSignal.timeout(requestTimeoutMs)
    let hasResponse = false
    try {
      const response = await fetch(`${url}${path}`, { ...request, redirect: 'error', signal })
      hasResponse = true
      return { status: response.status, ok: response.ok, text: await response.text() }
    } catch (cause) {
      const late = `no complete answer within ${requestTimeoutMs / 1_000} s`
      const what = hasResponse ? 'the reply was cut off' : 'cannot be reached'
      const why = signal.aborted ? late : `${what}${describeCause(cause)}`
      throw this.#failure(why, TransientFailure)
    }
  }

  #failure(what: string, Failure = CommandFailure): CommandFailure {
    return new Failure(`--url '${this.#options.url}': ${this.#withoutKey(what)}`)
  }

  /** The server at that address may echo the request, including the key. */
  #withoutKey(text: string): string {
    return text.replaceAll(this.#options.loginId, '(the key)')
  }
}

function toConnectionLost({ message, exitCode }: TransientFailure): CommandFailure {
  const rule = `tried for ${maxOutageMs / 1_000} s; jobs already started may continue on the server`
  return new CommandFailure(`${message}; ${rule}`, exitCode)
}

function isRunning({ state }: WarmupProgressBody): boolean {
  return state === 'asking'
}

function toWireNumber({ number, postalCode }: WarmupNumber) {
  return postalCode === undefined ? number : { number, postalCode }
}

/** Splits numbers into parts for {@link WarmupClient.start}, each at most `maxBytes` as a request. */
export function splitIntoRequests<Listed extends WarmupNumber>(
  numbers: readonly Listed[],
  maxBytes: number,
): readonly (readonly Listed[])[] {
  const requests: Listed[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const number of numbers) {
    const size = JSON.stringify(toWireNumber(number)).length + 1
    if (bytes + size > maxBytes) {
      requests.push([])
      bytes = 0
    }
    requests.at(-1)?.push(number)
    bytes += size
  }
  return requests
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The `detail` of a problem (RFC 9457), or the text itself. */
function findDetail(text: string): string {
  const body = parseJson(text)
  const isProblem = typeof body === 'object' && body !== null && 'detail' in body
  return isProblem ? String(body.detail) : truncate(text)
}

/**
 * The network error, which fetch gives as the cause of its own error. The message of the outer error
 * is not used, since it may quote a header.
 */
function describeCause(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return ''
  const code = 'code' in cause ? String(cause.code) : ''
  const what = cause.message === '' ? code : cause.message
  return what === '' ? '' : `: ${what}`
}
