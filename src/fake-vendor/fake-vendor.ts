/**
 * A provider for tests and for users' CI: this program's own compliance service with the facts of
 * the sandbox, behind faults that are set while it runs.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { grantToken } from '../api/auth.js'
import { route } from '../api/route.js'
import type { Instant, Timers } from '../domain/clock.js'
import { type Logger, silentLogger } from '../log.js'
import { realWorld } from '../world.js'
import { answerRequest, type ExchangeParts } from './exchange.js'
import type { Fault } from './fault.js'
import { FaultPlan } from './fault-plan.js'
import { RateLimit } from './rate-limit.js'
import { type RecordedRequest, type RequestCounts, RequestRecord } from './request-record.js'
import { ServiceReplies } from './service-replies.js'
import type { FaultTarget } from './target.js'
import { Tokens } from './tokens.js'
import { openVendorService, type VendorService, vendorCaller } from './vendor-service.js'

export interface FakeVendorOptions {
  /** 127.0.0.1 when absent. */
  readonly host?: string | undefined
  /** A free one when absent or 0. */
  readonly port?: number | undefined
  /** The API key it takes; made up when absent, as the other two are. */
  readonly loginId?: string | undefined
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  /** How long its tokens hold; 3600 when absent (spec, "Limits"). */
  readonly tokenSeconds?: number | undefined
  /** It answers as at this instant; absent means now. */
  readonly at?: Instant | undefined
  /** Projects it has beside the Master Project. */
  readonly projects?: readonly string[] | undefined
  /** Of each question in any 60 seconds; more are answered 429 with Retry-After. */
  readonly requestsPerMinute?: number | undefined
  /** From the head of a request to its answer, at least. */
  readonly latencyMs?: number | undefined
  readonly log?: Logger | undefined
  /** Of latency, slowness, tokens and the minute; the machine's when absent. */
  readonly timers?: Timers | undefined
  /** From 0 up to, not including, 1: whether a fault with a chance strikes. */
  readonly random?: (() => number) | undefined
}

export interface FakeVendor {
  readonly port: number
  /** `http://host:port`, without a slash at its end: every address of a provider but `authUrl`. */
  readonly url: string
  /** The token endpoint, path included. */
  readonly authUrl: string
  readonly loginId: string
  readonly clientId: string
  readonly clientSecret: string
  /** Replaces the fault of a target or ends it. Throws an `AppError` for one that cannot strike. */
  setFault(target: FaultTarget, fault: Fault | undefined): void
  /** The latest 10,000 requests, oldest first; those to its own paths are not counted. */
  requests(): readonly RecordedRequest[]
  counts(): RequestCounts
  /** Ends all faults; forgets all requests, what was taken of the minute, and all tokens. */
  reset(): void
  /** At once, open connections and unanswered requests included; removes its data. */
  close(): Promise<void>
}

/** Longer than clients keep an idle connection, so that it is not the vendor that closes first. */
const keepAliveMs = 75_000
const keyBytes = 33

/** Rejects when it cannot listen, such as on a port in use. */
export async function openFakeVendor(options: FakeVendorOptions = {}): Promise<FakeVendor> {
  const { log = silentLogger, random = realWorld.random } = options
  const world = { ...realWorld, log, random, processMetrics: false }
  const service = await openVendorService({
    ...{ world, at: options.at, projects: options.projects ?? [] },
  })
  const server = createServer({ keepAliveTimeout: keepAliveMs })
  try {
    await listen(server, options)
    return serve(server, service, options)
  } catch (cause) {
    await service.close()
    throw cause
  }
}

function listen(server: Server, { port = 0, host = '127.0.0.1' }: FakeVendorOptions) {
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function serve(server: Server, service: VendorService, options: FakeVendorOptions): FakeVendor {
  const url = urlOf(server)
  const credentials = credentialsOf(options)
  const parts = createParts(service, options, { ...credentials, url })
  const { logger, faults, record } = parts
  const underWay = new Set<Promise<void>>()
  server.on('request', (request, response) => {
    const answering = answerRequest(request, response, parts)
      .catch((err: unknown) => {
        logger.error('request failed', { err })
        response.destroy()
      })
      .finally(() => underWay.delete(answering))
    underWay.add(answering)
  })
  let closing: Promise<void> | undefined
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
    await Promise.all(underWay)
    await service.close()
  }
  return {
    ...{ url, authUrl: `${url}/oauth/token`, ...credentials },
    port: Number(new URL(url).port),
    setFault: (target, fault) => faults.set(target, fault),
    requests: () => record.requests(),
    counts: () => record.counts(),
    reset: parts.reset,
    close() {
      closing ??= close()
      return closing
    },
  }
}

type Credentials = Pick<FakeVendor, 'loginId' | 'clientId' | 'clientSecret'>

function createParts(
  { routes }: VendorService,
  options: FakeVendorOptions,
  { url, loginId, clientId, clientSecret }: Credentials & { readonly url: string },
): ExchangeParts {
  const { log: logger = silentLogger, timers = realWorld.timers } = options
  const { randomBytes } = realWorld
  const { tokenSeconds = 3_600, requestsPerMinute = Number.POSITIVE_INFINITY } = options
  const record = new RequestRecord()
  const faults = new FaultPlan(options.random ?? realWorld.random)
  const limit = new RateLimit(requestsPerMinute)
  const monotonicMs = () => timers.monotonicMs()
  const tokens = new Tokens({ clientId, clientSecret, tokenSeconds, monotonicMs, randomBytes })
  const authenticate = (key: string) =>
    key === loginId || tokens.accepts(key) ? vendorCaller : undefined
  const granted = route(grantToken, (_caller, request) => tokens.grant(request))
  const service = new ServiceReplies({ routes: [granted, ...routes], authenticate, logger })
  const reset = () => {
    for (const part of [faults, record, limit, tokens]) part.reset()
  }
  const { latencyMs = 0 } = options
  return {
    ...{ url, record, faults, limit, service, reset },
    ...{ latencyMs, timers, randomBytes, logger },
  }
}

function credentialsOf({ loginId, clientId, clientSecret }: FakeVendorOptions): Credentials {
  const madeUp = () => realWorld.randomBytes(keyBytes).toString('base64url')
  return {
    loginId: loginId ?? madeUp(),
    clientId: clientId ?? 'fake-vendor',
    clientSecret: clientSecret ?? madeUp(),
  }
}

function urlOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
