/** Has a running server warm numbers, in as many jobs as their size takes, and follows the jobs. */
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
}

export interface WarmJobRequest {
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly keepForMs: number
}

const firstWaitMs = 100
const longestWaitMs = 2_000

export class WarmClient {
  readonly #options: WarmClientOptions

  constructor(options: WarmClientOptions) {
    this.#options = options
  }

  start(numbers: readonly NumberToWarm[], request: WarmJobRequest): Promise<WarmStartedBody> {
    const body = JSON.stringify({ ...request, numbers: numbers.map(wireNumber) })
    const headers = { 'content-type': 'application/json' }
    return this.#send('/v1/warm', startWarming, { method: 'POST', body, headers })
  }

  /** Resolves with each job's state when none is asking for the first time any more. */
  async follow(
    started: readonly WarmBody[],
    onProgress: (jobs: readonly WarmBody[]) => void,
  ): Promise<readonly WarmBody[]> {
    let jobs = started
    for (let waitMs = firstWaitMs; jobs.some(isAsking); waitMs *= 2) {
      onProgress(jobs)
      await this.#wait(Math.min(waitMs, longestWaitMs))
      jobs = await Promise.all(jobs.map((job) => (isAsking(job) ? this.#progress(job.id) : job)))
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
    const { url, loginId } = this.#options
    const headers = { ...request.headers, loginId }
    const response = await fetch(`${url}${path}`, { ...request, headers, redirect: 'error' }).catch(
      (cause: unknown) => {
        throw new CommandFailure(`--url '${url}': cannot be reached: ${rootCause(cause)}`)
      },
    )
    const text = await response.text()
    if (!response.ok) {
      throw new CommandFailure(`--url '${url}': status ${response.status}: ${detailOf(text)}`)
    }
    const read = schema.safeParse(parsed(text))
    if (read.success) return read.data
    throw new CommandFailure(`--url '${url}': '${shorten(text)}' is no answer of this call`)
  }
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

function rootCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? cause.cause.message : cause.message
}
