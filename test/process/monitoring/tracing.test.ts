/** Traces through the built program: from the caller to the provider, the log and a collector. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { parseTraceparent, type TraceContext } from '../../../src/domain/trace/trace-context.js'
import { findClosedAddress } from '../../support/free-port.js'
import { fetchMetrics } from '../../support/fresh-metrics.js'
import { callgate, type Serving, serve } from '../../support/program.js'
import { providerVariables } from '../../support/remote-callgate.js'
import { type VendorProcess, vendorProcess } from '../../support/vendor-process.js'

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: unknown }[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

/** The sampled flag, set. */
const traceparent = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`

const server = 2
const client = 3

let dataDir: string
let vendor: VendorProcess
let opened: { close(): void }[]
/** The header of each request to the provider. */
let received: (string | undefined)[]

beforeAll(async () => {
  vendor = await vendorProcess()
})
afterAll(() => vendor.end())

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-tracing-'))
  opened = []
  received = []
})

afterEach(() => {
  for (const one of opened.reverse()) one.close()
  rmSync(dataDir, { recursive: true, force: true })
})

async function listen(answer: RequestListener): Promise<string> {
  const listening: Server = createServer(answer)
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  opened.push({
    close() {
      listening.closeAllConnections()
      listening.close()
    },
  })
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

/** Passes requests to the vendor. */
async function openProvider(): Promise<string> {
  return await listen(async (request, response) => {
    received.push(request.headers.traceparent as string | undefined)
    const { 'content-type': type = '', loginid = '' } = request.headers
    const reply = await fetch(vendor.url + request.url, {
      method: request.method ?? 'GET',
      headers: { loginId: String(loginid), ...(type !== '' && { 'content-type': type }) },
      ...(request.method !== 'GET' && { body: await text(request) }),
    })
    const contentType = reply.headers.get('content-type') ?? ''
    response.writeHead(reply.status, { 'content-type': contentType })
    response.end(await reply.text())
  })
}

interface Collector {
  readonly url: string
  readonly spans: OtlpSpan[]
  readonly requests: IncomingMessage[]
}

async function openCollector(): Promise<Collector> {
  const spans: OtlpSpan[] = []
  const requests: IncomingMessage[] = []
  const url = await listen(async (request, response) => {
    requests.push(request)
    const { resourceSpans } = JSON.parse(await text(request)) as OtlpBody
    for (const { scopeSpans } of resourceSpans)
      for (const { spans: some } of scopeSpans) spans.push(...some)
    response.setHeader('content-type', 'application/json').end('{}')
  })
  return { url, spans, requests }
}

/** Prints at the end how many files of OpenTelemetry's SDK were loaded. */
const countLoaded = `
  import Module from 'node:module'
  process.on('exit', () => {
    const files = Object.keys(Module._cache).filter((file) => file.includes('/sdk-trace/'))
    console.error('files of the SDK: ' + files.length)
  })`
const preload = `data:text/javascript,${encodeURIComponent(countLoaded)}`

async function open(environment: Readonly<Record<string, string>>): Promise<Serving> {
  const provider = await openProvider()
  const settings = {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_SOURCE_KIND: 'remote',
    // Both decisions of a test share each request.
    ...providerVariables('PROVIDER', {
      NAME: 'acme',
      BASE_URL: provider,
      LOGIN_ID: vendor.loginId,
      COALESCE_MS: '1000',
    }),
    CALLGATE_GATE_DEADLINE_MS: '20000',
    ...environment,
  }
  const serving = await serve(settings, [], { preload })
  opened.push({ close: () => serving.signal('SIGKILL') })
  return serving
}

interface Sent {
  readonly number: string
  readonly traceparent?: string
}

async function decide({ url, keys }: Serving, { number, traceparent }: Sent) {
  const reply = await fetch(`${url}/v1/decisions`, {
    method: 'POST',
    headers: {
      loginId: keys.main,
      'content-type': 'application/json',
      ...(traceparent !== undefined && { traceparent }),
    },
    body: JSON.stringify({ number, callKind: 'manual' }),
  })
  expect(reply.status).toBe(200)
  return (await reply.json()) as { readonly id: string }
}

const findLine = (serving: Serving, id: string) =>
  vi.waitFor(() => {
    const line = serving.output().match(new RegExp(`^.*"decisionId":"${id}".*$`, 'm'))?.[0]
    return JSON.parse(line ?? '') as Readonly<Record<string, unknown>>
  })

it('without a collector, the trace goes to the log and to the provider unchanged', async () => {
  const serving = await open({})
  const { id } = await decide(serving, { number: '2125550100', traceparent: traceparent('a') })
  expect(await findLine(serving, id)).toMatchObject({ traceId: 'a'.repeat(32) })
  expect(received).toHaveLength(4)
  expect(new Set(received)).toEqual(new Set([traceparent('a')]))

  received = []
  const query = 'number=2125550101&kind=manual'
  const headers = { loginId: serving.keys.main, traceparent: traceparent('b') }
  const line = await (await fetch(`${serving.url}/v1/predial?${query}`, { headers })).text()
  const predialId = line.split(':')[2] ?? ''
  expect(await findLine(serving, predialId)).toMatchObject({ traceId: 'b'.repeat(32) })
  expect(new Set(received)).toEqual(new Set([traceparent('b')]))

  received = []
  const malformed = { number: '2125550102', traceparent: '00-nonsense' }
  const plain = await decide(serving, malformed)
  expect(await findLine(serving, plain.id)).not.toHaveProperty('traceId')
  expect(new Set(received)).toEqual(new Set([undefined]))

  expect(await serving.end('SIGTERM')).toBe(0)
  expect(serving.output()).toMatch(/^files of the SDK: 0$/m)
})

it('a collector gets a span for each decision and for each request, with links', async () => {
  const { url, spans, requests } = await openCollector()
  const serving = await open({ CALLGATE_TRACING_OTLP_URL: url })
  const [first, second] = await Promise.all([
    decide(serving, { number: '2125550100', traceparent: traceparent('a') }),
    decide(serving, { number: '2125550101' }),
  ])
  await vi.waitFor(() => expect(spans).toHaveLength(6), { timeout: 5_000 })
  expect(requests[0]).toMatchObject({ method: 'POST', url: '/v1/traces' })
  const spanOf = ({ id }: { readonly id: string }) =>
    spans.find(({ attributes }) => JSON.stringify(attributes).includes(id))
  const [known, begun] = [spanOf(first), spanOf(second)]
  expect(known).toMatchObject({
    name: 'decision',
    kind: server,
    traceId: 'a'.repeat(32),
    parentSpanId: 'a'.repeat(16),
    attributes: [
      { key: 'callgate.decision_id', value: { stringValue: first.id } },
      { key: 'callgate.decision', value: { stringValue: expect.any(String) } },
      { key: 'callgate.reason', value: { stringValue: expect.any(String) } },
      { key: 'callgate.kind', value: { stringValue: 'manual' } },
      { key: 'callgate.via', value: { stringValue: 'http' } },
    ],
  })
  expect(begun?.parentSpanId).toBeUndefined()
  expect(await findLine(serving, second.id)).toMatchObject({ traceId: begun?.traceId })
  const both = [known, begun].map((span) => span?.spanId)
  const clients = spans.filter(({ kind }) => kind === client)
  expect(new Set(clients.map(({ name }) => name))).toEqual(
    new Set(['scrub', 'internal-dnc', 'litigator', 'legal-time']),
  )
  for (const { parentSpanId, links, startTimeUnixNano, endTimeUnixNano } of clients) {
    const linked = links.map(({ spanId }) => spanId)
    expect(new Set([parentSpanId, ...linked])).toEqual(new Set(both))
    expect(BigInt(endTimeUnixNano)).toBeGreaterThan(BigInt(startTimeUnixNano))
  }
  const sent = received.map((header): Partial<TraceContext> => parseTraceparent(header ?? '') ?? {})
  expect(new Set(sent.map(({ spanId }) => spanId))).toEqual(
    new Set(clients.map(({ spanId }) => spanId)),
  )
  expect(JSON.stringify(spans)).not.toMatch(/212555/)
})

it.each([
  ['refuses connections', undefined],
  ['never answers', () => undefined],
  [
    'answers with an error and without end',
    (_: unknown, response: { writeHead(status: number): { write(text: string): unknown } }) =>
      void response.writeHead(500).write('x'.repeat(1_000)),
  ],
] as const)('a collector that %s costs spans only', async (_, answer) => {
  const url = answer ? await listen(answer as RequestListener) : await findClosedAddress()
  const serving = await open({ CALLGATE_TRACING_OTLP_URL: url })
  await decide(serving, { number: '2125550100' })
  const metrics = () => fetchMetrics(serving.url)
  if (answer === undefined) {
    const dropped = /^callgate_trace_spans_dropped_total 5$/m
    await vi.waitFor(async () => expect(await metrics()).toMatch(dropped), { timeout: 8_000 })
  }
  const startedAt = performance.now()
  expect(await serving.end('SIGTERM')).toBe(0)
  expect(performance.now() - startedAt).toBeLessThan(8_000)
})

it('a span that is not sampled is not exported, and the provider learns it', async () => {
  const { url, spans } = await openCollector()
  const serving = await open({ CALLGATE_TRACING_OTLP_URL: url })
  const unsampled = `00-${'a'.repeat(32)}-${'a'.repeat(16)}-00`
  await decide(serving, { number: '2125550100', traceparent: unsampled })
  await serving.end('SIGTERM')
  expect(spans).toEqual([])
  for (const header of received) {
    expect(parseTraceparent(header ?? '')).toMatchObject({
      traceId: 'a'.repeat(32),
      isSampled: false,
    })
  }
})

it('what is queued is exported at the end', async () => {
  const { url, spans } = await openCollector()
  const serving = await open({ CALLGATE_TRACING_OTLP_URL: url })
  await decide(serving, { number: '2125550100' })
  expect(await serving.end('SIGTERM')).toBe(0)
  expect(spans).toHaveLength(5)
  expect(serving.output()).toMatch(/^files of the SDK: [1-9]/m)
})

it('settings that are wrong are refused by name', async () => {
  const { code, err } = await callgate(['serve'], {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_TRACING_OTLP_URL: 'collector:4318',
    CALLGATE_TRACING_SAMPLE_RATIO: '2',
  })
  expect(code).toBe(2)
  expect(err).toContain('tracing.otlpUrl')
  expect(err).toContain('must be http://host or https://host')
  expect(err).toContain('tracing.sampleRatio')
})
