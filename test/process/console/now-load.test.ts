/** Page Now and readers that do not read, while the built program decides 200 calls a second. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBrowser, openVisitor, signIn } from '../../support/browser.js'
import { shortOrLong } from '../../support/long.js'
import { type Serving, serve } from '../../support/program.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-now-'))
const preload = join(import.meta.dirname, '../../support/collect-garbage.mjs')
let server: Serving
let browser: Browser
beforeAll(async () => {
  const environment = {
    CALLGATE_DATA_DIR: join(folder, 'var'),
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    // The machine has other work: the browser, what decides to call, and other tests.
    CALLGATE_GATE_DEADLINE_MS: '2500',
  }
  server = await serve(environment, [], { preload, isMeasured: true })
  browser = await openBrowser()
})
afterAll(async () => {
  await server.end('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const aSecond = 200
const ticks = 20

/** What each call was answered, and after how many milliseconds. */
async function decideFor(seconds: number) {
  const decided: Promise<readonly [reason: string, ms: number]>[] = []
  const start = performance.now()
  for (let tick = 0; tick < seconds * ticks; tick += 1) {
    for (let call = 0; call < aSecond / ticks; call += 1) decided.push(decide())
    // The rate stays the same when a timer is late.
    await pause(start + ((tick + 1) * 1_000) / ticks - performance.now())
  }
  return await Promise.all(decided)
}

async function decide(): Promise<readonly [reason: string, ms: number]> {
  const start = performance.now()
  const answer = await fetch(`${server.url}/v1/decisions`, {
    method: 'POST',
    headers: { loginId: server.keys.sandbox, 'content-type': 'application/json' },
    body: JSON.stringify({ number: '2125550106', callKind: 'ai' }),
  })
  const { reason } = (await answer.json()) as { readonly reason: string }
  return [reason, performance.now() - start]
}

function summarize(decided: readonly (readonly [reason: string, ms: number])[]) {
  const times = decided.map(([, ms]) => ms).sort((one, other) => one - other)
  const at = (share: number) => Math.round(times[Math.floor(share * (times.length - 1))] ?? 0)
  const late = decided.filter(([reason]) => reason === 'overloaded').length
  return { p50: at(0.5), p99: at(0.99), longest: at(1), late }
}

/** Of the server after a collection: its heap, and all of its memory. */
async function readServer(): Promise<{ readonly heap: number; readonly resident: number }> {
  server.signal('SIGUSR2')
  await pause(500)
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  const heap = read('nodejs_heap_size_used_bytes')
  return { heap, resident: read('process_resident_memory_bytes') }
}

async function openHeapReader(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  return async () => {
    await session.send('HeapProfiler.collectGarbage')
    return (await session.send('Runtime.getHeapUsage')).usedSize
  }
}

/** Asks for the stream, and never reads. */
async function openDeafReader(): Promise<Socket> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname).pause()
  await once(socket, 'connect')
  socket.write(
    `GET /v1/decisions/stream HTTP/1.1\r\nHost: ${hostname}\r\nloginId: ${server.keys.sandbox}\r\n\r\n`,
  )
  return socket
}

it('no decision is late and nothing grows, and the server stops with all readers', async () => {
  // What decisions themselves leave in the heap, such as what is known of the latest ones, is compared.
  const warm = await decideFor(shortOrLong(4, 10))
  const start = await readServer()
  const alone = await decideFor(shortOrLong(5, 60))
  const unread = await readServer()
  const { page, context, takeComplaints } = await openVisitor(browser)
  await signIn(page, server.url, server.keys.sandbox)
  await page.getByText('Live. New since').waitFor()
  const deaf = await Promise.all(Array.from({ length: 4 }, openDeafReader))
  const readPage = await openHeapReader(page)
  // Until the table is full, and what is compiled is compiled.
  warm.push(...(await decideFor(shortOrLong(8, 10))))
  const before = { page: await readPage(), ...(await readServer()) }
  const decided = await decideFor(shortOrLong(5, 60))
  const after = { page: await readPage(), ...(await readServer()) }
  const growth = {
    alone: unread.heap - start.heap,
    read: after.heap - before.heap,
    page: after.page - before.page,
  }
  const ms = { alone: summarize(alone), read: summarize(decided) }
  const resident = [start, unread, before, after].map((each) => each.resident)
  process.stdout.write(`${JSON.stringify({ decisions: decided.length, ms, growth, resident })}\n`)

  expect([...warm, ...alone, ...decided].filter(([reason]) => reason === 'overloaded')).toEqual([])
  expect(growth.page).toBeLessThan(2_000_000)
  expect(growth.read - growth.alone).toBeLessThan(3_000_000)
  expect(await page.locator('[data-stream] tbody tr').count()).toBe(200)
  expect(takeComplaints()).toEqual([])

  const stopAt = performance.now()
  expect(await server.end('SIGTERM')).toBe(0)
  // What it waits for a request that does not end is ten seconds.
  expect(performance.now() - stopAt).toBeLessThan(8_000)
  for (const socket of deaf) socket.destroy()
  await context.close()
}, 300_000)
