/** Tells how a request was answered and how long it took. Counting is left to whoever is told. */
import type { ServerResponse } from 'node:http'
import { monotonicSeconds } from '../domain/clock.js'

/** One answered request. */
export interface RequestMeasure {
  /** Name of the endpoint; `unmatched` when path or method mean none. */
  readonly endpoint: string
  /** 499 when the client left before the answer. */
  readonly status: number
  /** From the call of {@link measureResponse} to the end of the answer. */
  readonly seconds: number
}

export type OnRequest = (measure: RequestMeasure) => void

/** Calls `onRequest` once, when the response has ended or its connection is gone. */
export function measureResponse(
  response: ServerResponse,
  endpoint: string,
  onRequest: OnRequest | undefined,
): void {
  if (!onRequest) return
  const started = monotonicSeconds()
  response.once('close', () => {
    const status = response.writableFinished ? response.statusCode : 499
    onRequest({ endpoint, status, seconds: monotonicSeconds() - started })
  })
}
