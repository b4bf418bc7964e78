/** Answers for everybody: made once for many, and sent as the client has use for them. */
import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { afterEach, expect, test, vi } from 'vitest'
import { StrangersAllowance } from '../../src/http/limits/strangers-allowance.js'
import type { ServerOptions } from '../../src/http/server.js'
import { openTestApp } from '../support/test-app.js'
import { openTestCallgate } from '../support/test-callgate.js'

afterEach(() => vi.restoreAllMocks())

const text = 'up 1\n'.repeat(1_000)

async function openMetrics(body = () => text, options: Partial<ServerOptions> = {}) {
  let renders = 0
  const renderMetrics = async () => {
    renders += 1
    return { contentType: 'text/plain', body: body() }
  }
  const app = await openTestApp({ routes: [], ops: { checks: [], renderMetrics }, ...options })
  return { app, renders: () => renders }
}

/** As it comes over the wire. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>(
    (resolve, reject) => {
      const sent = request(url, { headers, method }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes: Buffer.concat(parts),
          }),
        )
      })
      sent.on('error', reject).end()
    },
  )
}

test('a few who ask have an answer of now each, and many share one', async () => {
  let count = 0
  const next = () => {
    count += 1
    return `up ${count}\n`
  }
  const { app, renders } = await openMetrics(next)
  expect((await app.send('/metrics')).text).toBe('up 1\n')
  expect((await app.send('/metrics')).text).toBe('up 2\n')
  const startedMs = performance.now()
  for (let asked = 0; asked < 50; asked += 1) await app.send('/metrics')
  await Promise.all(Array.from({ length: 50 }, () => app.send('/metrics')))
  const seconds = (performance.now() - startedMs) / 1_000
  expect(renders()).toBeLessThanOrEqual(11 + seconds)
})

test('HEAD makes nothing', async () => {
  const { app, renders } = await openMetrics()
  const { status, bytes } = await get(`${app.url}/metrics`, {}, 'HEAD')
  expect([status, bytes.length, renders()]).toEqual([200, 0, 0])
})

test('they are compressed for who takes that, and not sent to who has them', async () => {
  const { app } = await openMetrics()
  const url = `${app.url}/metrics`
  const plain = await get(url)
  expect([plain.headers['content-encoding'], String(plain.bytes)]).toEqual([undefined, text])
  const zipped = await get(url, { 'accept-encoding': 'deflate, gzip;q=0.8' })
  expect([zipped.headers['content-encoding'], zipped.headers.vary]).toEqual([
    'gzip',
    'Accept-Encoding',
  ])
  expect(String(gunzipSync(zipped.bytes))).toBe(text)
  expect(zipped.bytes.length).toBeLessThan(text.length / 10)
  const refused = await get(url, { 'accept-encoding': 'gzip;q=0, br' })
  expect(refused.headers['content-encoding']).toBeUndefined()
  const { etag } = zipped.headers
  for (const known of [String(etag), `"other", ${etag}`, String(etag).replace('W/', '')]) {
    const same = await get(url, { 'if-none-match': known })
    expect([same.status, same.bytes.length, same.headers.etag]).toEqual([304, 0, etag])
  }
  expect((await get(url, { 'if-none-match': '"other"' })).status).toBe(200)
})

test('a failure is logged once for all who ask meanwhile', async () => {
  const error = vi.fn()
  const logger = { error, warn: vi.fn(), info: vi.fn(), debug: vi.fn() }
  const renderMetrics = () => Promise.reject(new Error('no metrics'))
  const app = await openTestApp({ routes: [], ops: { checks: [], renderMetrics }, logger })
  const startedMs = performance.now()
  for (let asked = 0; asked < 50; asked += 1) {
    expect((await app.send('/metrics')).status).toBe(500)
  }
  expect(error.mock.calls.length).toBeLessThan(12 + (performance.now() - startedMs) / 1_000)
})

test('long answers for strangers stop at what all of them may have, short ones do not', async () => {
  const strangers = new StrangersAllowance()
  const { app } = await openMetrics(() => 'x'.repeat(20_000), { strangers })
  const long = () => get(`${app.url}/metrics`)
  expect((await long()).status).toBe(200)
  strangers.takeBytes(1_000_000_000)
  const refused = await long()
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
  expect(() => strangers.takeBytes(20_000)).toThrow('send the request again in 1 second')
  expect((await get(`${app.url}/metrics`, { 'accept-encoding': 'gzip' })).status).toBe(200)
  expect((await app.send('/healthz')).status).toBe(200)
})

test('work for strangers is done one after the other, and stops at what all of them may have', async () => {
  const strangers = new StrangersAllowance()
  let running = 0
  const work = async () => {
    running += 1
    expect(running).toBe(1)
    const untilMs = performance.now() + 150
    while (performance.now() < untilMs) await new Promise((resolve) => setImmediate(resolve))
    running -= 1
  }
  const done = await Promise.allSettled(Array.from({ length: 30 }, () => strangers.run(work)))
  const kinds = done.map((one) => (one.status === 'fulfilled' ? 'done' : one.reason.kind))
  expect(kinds.slice(0, 5)).toEqual(['done', 'done', 'done', 'done', 'done'])
  expect(kinds).toContain('overloaded')
})

test('work for strangers that never ends is given up, and the next one is done', async () => {
  vi.useFakeTimers()
  try {
    const strangers = new StrangersAllowance()
    const stuck = strangers.run(() => new Promise(() => undefined)).catch(({ kind }) => kind)
    const waiting = strangers.run(async () => 'done').catch(({ kind }) => kind)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await Promise.all([stuck, waiting])).toEqual(['overloaded', 'overloaded'])
    // The time that it took is worked off.
    await vi.advanceTimersByTimeAsync(25_000)
    expect(await strangers.run(async () => 'done')).toBe('done')
  } finally {
    vi.useRealTimers()
  }
})

test('a made-up cookie of the console reads no session from the database', async () => {
  const running = await openTestCallgate()
  const { db } = running.callgate.storage
  // The console is loaded with the first request.
  const ask = (cookie: string) =>
    fetch(`${running.url}/console/decisions`, { headers: { cookie }, redirect: 'manual' })
  await ask('')
  await ask(`callgate-session=${'A'.repeat(86)}`)
  const reads = vi.spyOn(db, 'selectFrom')
  for (const secret of ['', 'A', 'A'.repeat(43), 'A'.repeat(86), 'é'.repeat(86)]) {
    const { status, headers } = await ask(`callgate-session=${encodeURI(secret)}`)
    expect([status, headers.get('location')]).toEqual([303, '/console/sign-in'])
  }
  expect(reads.mock.calls.flat()).not.toContain('console_sessions')
  await running.end()
})

test('public keys of permits are read from the database once for many who ask', async () => {
  const running = await openTestCallgate({
    environment: {
      CALLGATE_PERMITS_ISSUER: 'https://gate.example',
      CALLGATE_PERMITS_EDGES: '{ edge-a: {} }',
    },
  })
  const url = `${running.url}/.well-known/jwks.json`
  const { etag } = (await get(url)).headers
  const reads = vi.spyOn(running.callgate.storage.reads, 'selectFrom')
  const startedMs = performance.now()
  for (let asked = 0; asked < 50; asked += 1) {
    expect((await get(url, { 'if-none-match': String(etag) })).status).toBe(304)
  }
  const seconds = (performance.now() - startedMs) / 1_000
  const keyReads = reads.mock.calls.flat().filter((table) => String(table) === 'permit_keys')
  expect(keyReads.length).toBeLessThanOrEqual(1 + seconds)
  await running.end()
})
