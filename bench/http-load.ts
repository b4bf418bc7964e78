/** A child process that puts load on a server when its parent asks. */
import autocannon from 'autocannon'

export interface LoadOrder {
  readonly url: string
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly seconds: number
  /** Every answer must begin with it. */
  readonly expected: string
  /** Unlimited when absent: as many as the connections allow. */
  readonly perSecond?: number
}

export interface LoadResult {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Errors and answers other than the expected one. */
  readonly wrong: number
}

async function load(order: LoadOrder): Promise<LoadResult> {
  const { url, paths, headers, connections, seconds, expected, perSecond } = order
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    ...(perSecond === undefined ? {} : { overallRate: perSecond }),
    headers,
    requests: paths.map((path) => ({ method: 'GET', path })),
    verifyBody: (body) => String(body).startsWith(expected),
  })
  return {
    perSecond: result['2xx'] / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    maxMs: result.latency.max,
    wrong: result.errors + result.non2xx + result.mismatches,
  }
}

process.on('message', (order: LoadOrder) => {
  void load(order).then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit())
