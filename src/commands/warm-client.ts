/**
 * Has a running server warm numbers, in as many jobs as their size takes, and follows the jobs. What
 * goes wrong is told in words that never hold the key.
 */
import type { Endpoint } from '../api/endpoint.js'
import { readWarming, startWarming, type WarmBody, type WarmStartedBody } from '../api/warm.js'
import type { Timers } from '../domain/clock.js'
import { shorten } from '../errors.js'
import type { NumberToWarm } from '../gate/warm-numbers.js'
import { CommandFailure } from './command.js'

export interface WarmClientOptions {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  /** Sent in a header, and shown nowhere. */
  readonly loginId: string
  readonly timers: Timers
  /** How long one request may take; 30 s unless said. */
  readonly requestMs?: number
}

export interface WarmJobRequest {
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly keepForMs: number
}

const firstWaitMs = 100
const longestWaitMs = 2_000
const usualRequestMs = 30_000
/** How long a server that began the jobs is asked for them in vain. */
const patienceMs = 60_000

/** The server was not reached, or its reply is none: asked again, it may well answer. */
class PassingFailure extends CommandFailure {}

export class WarmClient {
  readonly #options: WarmClientOptions

  constructor(options: WarmClientOptions) {
    this.#options = options
  }

  /** Tried once: tried again it could begin a second job. */
  start(numbers: readonly NumberToWarm[], request: WarmJobRequest): Promise<WarmStartedBody> {
    const body = JSON.stringify({ ...request, numbers: numbers.map(wireNumber) })
    const headers = { 'content-type': 'application/json' }
    return this.#send('/v1/warm', startWarming, { method: 'POST', body, headers })
  }

  /**
   * Resolves with each job's state when none is asking for the first time any more. A server that is
   * away for less than a minute is waited for.
   */
  async follow(
    started: readonly WarmBody[],
    onProgress: (jobs: readonly WarmBody[]) => void,
  ): Promise<readonly WarmBody[]> {
    const { timers } = this.#options
    let jobs = started
    let heardMs = timers.monotonicMs()
    for (let waitMs = firstWaitMs; jobs.some(isAsking); waitMs *= 2) {
      onProgress(jobs)
      await this.#wait(Math.min(waitMs, longestWaitMs))
      try {
        jobs = await Promise.all(jobs.map((job) => (isAsking(job) ? this.#progress(job.id) : job)))
        heardMs = timers.monotonicMs()
      } catch (failure) {
        if (!(failure instanceof PassingFailure)) throw failure
        if (timers.monotonicMs() - heardMs >= patienceMs) throw lostSight(failure)
      }
    }
    onProgress(jobs)
    return jobs
  }

  #progress(id: string): Promise<WarmBody> {
    return this.#send(`/v1/warm/${encodeURIComponent(id)}`, readWarming, { method: 'GET' })
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.timers.after(ms, resolve)
    })
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
      const what = `status ${status}: ${detailOf(this.#withoutKey(text))}`
      throw status >= 500 && request.method === 'GET' ? this.#passing(what) : this.#failure(what)
    }
    const read = schema.safeParse(parsed(text))
    if (read.success) return read.data
    throw this.#passing(`'${shorten(this.#withoutKey(text))}' is no answer of this call`)
  }

  async #fetch(path: string, request: RequestInit) {
    const { url, requestMs = usualRequestMs } = this.#options
    const signal = AbortSignal.timeout(requestMs)
    let isAnswering = false
    try {
      const response = await fetch(`${url}${path}`, { ...request, redirect: 'error', signal })
      isAnswering = true
      return { status: response.status, ok: response.ok, text: await response.text() }
    } catch (cause) {
      if (signal.aborted) throw this.#passing(`no whole answer within ${requestMs / 1_000} s`)
      const what = isAnswering ? 'the reply was cut off' : 'cannot be reached'
      throw this.#passing(`${what}${describeCause(cause)}`)
    }
  }

  #passing(what: string): PassingFailure {
    return new PassingFailure(this.#message(what))
  }

  #failure(what: string): CommandFailure {
    return new CommandFailure(this.#message(what))
  }

  #message(what: string): string {
    return `--url '${this.#options.url}': ${this.#withoutKey(what)}`
  }

  /** Whatever is at the address may send back what it was sent. */
  #withoutKey(text: string): string {
    return text.replaceAll(this.#options.loginId, '(the key)')
  }
}

function lostSight({ message, exitCode }: PassingFailure): CommandFailure {
  const rule = `tried for ${patienceMs / 1_000} s; what the server has begun may go on there`
  return new CommandFailure(`${message}; ${rule}`, exitCode)
}

function isAsking({ state }: WarmBody): boolean {
  return state === 'asking'
}

function wireNumber({ number, postalCode }: NumberToWarm) {
  return postalCode === undefined ? number : { number, postalCode }
}

/** What {@link WarmClient.start} takes at once within a request of so many bytes. */
export function inRequests<Listed extends NumberToWarm>(
  numbers: readonly Listed[],
  mostBytes: number,
): readonly (readonly Listed[])[] {
  const requests: Listed[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const one of numbers) {
    const size = JSON.stringify(wireNumber(one)).length + 1
    if (bytes + size > mostBytes) {
      requests.push([])
      bytes = 0
    }
    requests.at(-1)?.push(one)
    bytes += size
  }
  return requests
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The `detail` of a problem (RFC 9457), or the text as it is. */
function detailOf(text: string): string {
  const body = parsed(text)
  const isProblem = typeof body === 'object' && body !== null && 'detail' in body
  return isProblem ? String(body.detail) : shorten(text)
}

/**
 * What the network said, which fetch gives as the cause of its error. The error itself may be about
 * a header, and quote it.
 */
function describeCause(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return ''
  const code = 'code' in cause ? String(cause.code) : ''
  const what = cause.message === '' ? code : cause.message
  return what === '' ? '' : `: ${what}`
}
