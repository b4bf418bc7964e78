/**
 * A provider for tests and for users' CI: this program's own compliance service with the facts of
 * the sandbox, behind faults that are set while it runs.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tokenEndpoint } from '../api/accounts/authentication.js'
import { createRoute } from '../api/route.js'
import type { Instant, Timers } from '../domain/time/clock.js'
import type { Logger } from '../observability/log.js'
import { nodeRuntime, silentLogger } from '../runtime/runtime.js'
import { type AnswerRequestDeps, answerRequest, VendorRateLimiter } from './answer-request.js'
import type { Fault } from './fault.js'
import { FaultPlan } from './fault-plan.js'
import { type RecordedRequest, type RequestCounts, RequestLog } from './request-log.js'
import type { FaultTarget } from './request-target.js'
import { ServiceDispatcher } from './service-dispatcher.js'
import { TokenIssuer } from './token-issuer.js'
import { openVendorService, type VendorService, vendorCaller } from './vendor-service.js'

export interface FakeVendorOptions {
  /** 127.0.0.1 when absent. */
  readonly host?: string | undefined
  /** A free one when absent or 0. */
  readonly port?: number | undefined
  /** The API key it accepts; random when absent, like the client secret. */
  readonly loginId?: string | undefined
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  /** How long its tokens are valid; 3600 when absent (spec, "Limits"). */
  readonly tokenSeconds?: number | undefined
  /** The instant as of which it answers; now when absent. */
  readonly at?: Instant | undefined
  /** Projects besides the Master Project. */
  readonly projects?: readonly string[] | undefined
  /** Limit per question in any 60 seconds; requests above it get 429 with Retry-After. */
  readonly requestsPerMinute?: number | undefined
  /** Minimum time from receiving the head of a request to its reply. */
  readonly latencyMs?: number | undefined
  readonly log?: Logger | undefined
  /** Used for latency, slow replies, tokens and rate limits; the machine's when absent. */
  readonly timers?: Timers | undefined
  /** Returns 0 (inclusive) to 1 (exclusive); decides whether a fault with a chance applies. */
  readonly random?: (() => number) | undefined
}

export interface FakeVendor {
  readonly port: number
  /** `http://host:port`, without a slash at its end; for every address of a provider except `authUrl`. */
  readonly url: string
  /** The token endpoint, path included. */
  readonly authUrl: string
  readonly loginId: string
  readonly clientId: string
  readonly clientSecret: string
  /** Replaces or removes the fault of a target. Throws an `AppError` for one that cannot apply. */
  setFault(target: FaultTarget, fault: Fault | undefined): void
  /** The latest 10,000 requests, oldest first, excluding those to control paths. */
  requests(): readonly RecordedRequest[]
  counts(): RequestCounts
  /** Removes all faults, requests, rate-limit counts and tokens. */
  reset(): void
  /** Closes it immediately, with open connections and unanswered requests, and removes its data. */
  close(): Promise<void>
}

/** Longer than clients keep an idle connection, so that the vendor never closes first. */
const keepAliveMs = 75_000
const keyBytes = 33

/** Rejects when it cannot listen, such as on a port in use. */
export async function openFakeVendor(options: FakeVendorOptions = {}): Promise<FakeVendor> {
  const { log = silentLogger, random = nodeRuntime.random } = options
  const runtime = { ...nodeRuntime, log, random, processMetrics: false }
  const { at, projects = [] } = options
  const service = await openVendorService({ runtime, at, projects })
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
  const { randomBytes } = nodeRuntime
  const { log: logger = silentLogger, timers = nodeRuntime.timers, latencyMs = 0 } = options
  const { tokenSeconds = 3_600, requestsPerMinute = Number.POSITIVE_INFINITY } = options
  const randomKey = () => randomBytes(keyBytes).toString('base64url')
  const { loginId = randomKey(), clientId = 'fake-vendor', clientSecret = randomKey() } = options
  const url = formatServerUrl(server)
  const record = new RequestLog()
  const faults = new FaultPlan(options.random ?? nodeRuntime.random)
  const limit = new VendorRateLimiter(requestsPerMinute)
  const monotonicMs = () => timers.monotonicMs()
  const tokens = new TokenIssuer({ clientId, clientSecret, tokenSeconds, monotonicMs, randomBytes })
  const reset = () => {
    for (const part of [faults, record, limit, tokens]) part.reset()
  }
  const dispatcher = new ServiceDispatcher({
    routes: [
      createRoute(tokenEndpoint, (_caller, request) => tokens.issue(request)),
      ...service.routes,
    ],
    authenticate: (key) => (key === loginId || tokens.isValid(key) ? vendorCaller : undefined),
    logger,
  })
  const deps: AnswerRequestDeps = {
    url,
    record,
    faults,
    limit,
    reset,
    latencyMs,
    timers,
    randomBytes,
    logger,
    service: dispatcher,
  }
  const inProgress = new Set<Promise<void>>()
  server.on('request', (request, response) => {
    const answering = answerRequest(request, response, deps)
      .catch((err: unknown) => {
        logger.error('request failed', { err })
        response.destroy()
      })
      .finally(() => inProgress.delete(answering))
    inProgress.add(answering)
  })
  let closing: Promise<void> | undefined
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
    await Promise.all(inProgress)
    await service.close()
  }
  return {
    url,
    authUrl: `${url}/oauth/token`,
    loginId,
    clientId,
    clientSecret,
    port: Number(new URL(url).port),
    setFault: (target, fault) => faults.set(target, fault),
    requests: () => record.requests(),
    counts: () => record.counts(),
    reset,
    close() {
      closing ??= close()
      return closing
    },
  }
}

function formatServerUrl(server: Server): string {
  const { address, port } = server.address() as AddressInfo
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
