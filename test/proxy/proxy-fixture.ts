/** A proxy in process, before a fake platform that keeps what it gets, with a real callgate as its gate. */
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CallKind } from '../../src/domain/decision.js'
import type { Timers } from '../../src/domain/time/clock.js'
import { createLogger } from '../../src/observability/log.js'
import type { PlatformName } from '../../src/platform-events/call-event.js'
import { DeliveryQueue } from '../../src/proxy/delivery-queue.js'
import { GateClient, type GateClientOptions } from '../../src/proxy/gate-client.js'
import type { Platform } from '../../src/proxy/platforms/platform.js'
import { platforms } from '../../src/proxy/platforms/platforms.js'
import { openProxy } from '../../src/proxy/proxy-server.js'
import { Upstream } from '../../src/proxy/upstream.js'
import type { Listener } from '../../src/runtime/listen.js'
import { systemTimers } from '../../src/runtime/runtime.js'

interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface FakePlatform {
  readonly url: string
  readonly received: ReceivedRequest[]
  /** What it answers; an empty object with status 200 at first. */
  answer: { status: number; headers?: Record<string, string>; body: string }
  /** Ends each connection instead of answering. */
  isBroken: boolean
  /** Answers by the address, in place of `answer`; `undefined` is a 404. */
  answers?: ((request: ReceivedRequest) => object | undefined) | undefined
  close(): Promise<void>
}

export async function openFakePlatform(): Promise<FakePlatform> {
  const server = createServer((incoming, outgoing) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => void parts.push(part))
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming
      const received = { method, url, headers, body: Buffer.concat(parts).toString() }
      platform.received.push(received)
      if (platform.isBroken) return void incoming.socket.destroy()
      if (platform.answers) {
        const found = platform.answers(received)
        outgoing.writeHead(found ? 200 : 404, { 'content-type': 'application/json' })
        return void outgoing.end(JSON.stringify(found ?? {}))
      }
      const { status, headers: more, body } = platform.answer
      outgoing.writeHead(status, { 'content-type': 'application/json', ...more })
      outgoing.end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const platform: FakePlatform = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    answer: { status: 200, body: '{}' },
    isBroken: false,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return platform
}

export interface TestProxyOptions extends Partial<Omit<GateClientOptions, 'platform'>> {
  readonly platform: Platform | PlatformName
  readonly upstream: string
  readonly gate: { readonly url: string; readonly key: string }
  readonly allowScheduled?: boolean
  readonly callKind?: CallKind
  readonly eventsUrl?: string
  /** For the pauses before something is sent to the gate again; none by default. */
  readonly retryTimers?: Pick<Timers, 'after'>
}

/** Runs everything at once, so that tests do not wait. */
export const noPauses: Pick<Timers, 'after'> = {
  after(_ms, run) {
    const immediate = setImmediate(run)
    return () => clearImmediate(immediate)
  },
}

export interface TestProxy extends Listener {
  readonly logLines: readonly string[]
}

export async function openTestProxy({
  platform,
  upstream,
  gate,
  allowScheduled = false,
  timers = systemTimers,
  eventsUrl,
  retryTimers = noPauses,
  ...more
}: TestProxyOptions): Promise<TestProxy> {
  const logLines: string[] = []
  const known = typeof platform === 'string' ? platforms[platform] : platform
  const log = createLogger('debug', { write: (line) => void logLines.push(line) })
  const deliveries = new DeliveryQueue({ timers: retryTimers, log })
  const proxy = await openProxy({
    platform: known,
    eventsUrl,
    deliveries,
    gate: new GateClient({
      platform: known.name,
      callKind: 'ai',
      deadlineMs: 10_000,
      timers,
      ...gate,
      ...more,
    }),
    upstream: new Upstream({ origin: upstream }),
    allowScheduled,
    host: '127.0.0.1',
    port: 0,
    timers,
    log,
  })
  return {
    ...proxy,
    logLines,
    async close() {
      await proxy.close()
      await deliveries.close()
    },
  }
}

export interface RawRequest {
  readonly method?: string
  /** Sent as it is. */
  readonly path: string
  /** Pairs may repeat a name. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string | Buffer
}

export interface RawReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Sends a request that `fetch` would correct or refuse. */
export function sendRaw(url: string, raw: RawRequest): Promise<RawReply> {
  const { method = 'POST', path, headers = [], body } = raw
  const { hostname, port } = new URL(url)
  const bytes = Buffer.from(body ?? '')
  const length = body === undefined ? [] : ['content-length', String(bytes.length)]
  const host = headers.some(([name]) => name.toLowerCase() === 'host') ? [] : ['host', 'proxy']
  return new Promise((resolve, reject) => {
    const sent = request({
      hostname,
      port,
      method,
      path,
      agent: false,
      setHost: false,
      headers: [...host, ...headers.flat(), ...length],
    })
    sent.on('error', reject)
    sent.on('response', (reply) => {
      const parts: Buffer[] = []
      reply.on('data', (part: Buffer) => void parts.push(part))
      reply.on('error', reject)
      reply.on('end', () =>
        resolve({
          status: reply.statusCode ?? 0,
          headers: reply.headers,
          body: Buffer.concat(parts).toString(),
        }),
      )
    })
    sent.end(bytes)
  })
}
