/** How the program stops: what is under way is answered, nobody can hold it up, and nothing is left behind. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { callgate, type Serving, serve, startCallgate } from '../../support/program.js'

const folders: string[] = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function start(): Promise<Serving> {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-stopping-'))
  folders.push(dataDir)
  return serve({ CALLGATE_DATA_DIR: dataDir })
}

function open({ url }: Serving): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  return new Promise((resolve) => socket.once('connect', () => resolve(socket)))
}

interface Tally {
  answered: number
  saidClose: number
  cut: number
}

/** One request after the other on one connection, until an answer says that it closes. */
async function askOn(socket: Socket, serving: Serving, tally: Tally): Promise<void> {
  const request =
    `GET /v1/predial?number=2125550106&kind=ai HTTP/1.1\r\nHost: x\r\n` +
    `loginId: ${serving.keys.sandbox}\r\n\r\n`
  let answer = ''
  let isWaiting = true
  socket.on('data', (bytes) => {
    answer += bytes.toString()
    if (!answer.endsWith(':end\n')) return
    tally.answered += 1
    isWaiting = !/^connection: close/im.test(answer)
    answer = ''
    if (isWaiting) socket.write(request)
    else tally.saidClose += 1
  })
  socket.write(request)
  await new Promise((resolve) => socket.once('close', resolve))
  if (isWaiting) tally.cut += 1
}

test('SIGTERM cuts no request that was sent', async () => {
  const serving = await start()
  const tally: Tally = { answered: 0, saidClose: 0, cut: 0 }
  const opened = await Promise.all(Array.from({ length: 40 }, () => open(serving)))
  const asking = opened.map((socket) => askOn(socket, serving, tally))
  await until('requests are under way', () => tally.answered > 200)
  // These are in the queue of the kernel when the signal comes, with a request each.
  const late = await Promise.all(Array.from({ length: 20 }, () => open(serving)))
  asking.push(...late.map((socket) => askOn(socket, serving, tally)))
  const ended = serving.end('SIGTERM')
  await Promise.all(asking)
  expect(await ended).toBe(0)
  expect([tally.cut, tally.saidClose]).toEqual([0, asking.length])
})

test.each([
  ['a half line', 'GET /heal'],
  ['half of the headers', 'POST /v1/decisions HTTP/1.1\r\nHost: x\r\n'],
  [
    'half of a body',
    'POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
      'Content-Length: 90\r\n\r\ngrant_type=',
  ],
])(
  '%s does not hold up the stop',
  async (_case, text) => {
    const serving = await start()
    const socket = await open(serving)
    socket.write(text)
    await new Promise((resolve) => setTimeout(resolve, 100))
    const startedAt = performance.now()
    expect(await serving.end('SIGTERM')).toBe(0)
    // Without an end to it, half a request is waited for as long as a whole one: 10 seconds.
    expect(performance.now() - startedAt).toBeLessThan(7_000)
    socket.destroy()
  },
  60_000,
)

test('a signal ends a command that writes a file at once, and leaves no part of it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-stopping-'))
  folders.push(folder)
  const environment = { CALLGATE_DATA_DIR: join(folder, 'data') }
  const numbers = join(folder, 'numbers.csv')
  const lines = Array.from({ length: 100_000 }, (_, index) => `${2_122_000_000 + index * 7}\n`)
  writeFileSync(numbers, `number\n${lines.join('')}`)
  const imported = ['records', 'import', 'opt-outs', numbers, '--undated']
  expect(await callgate(imported, environment)).toMatchObject({ code: 0 })
  const out = join(folder, 'out.csv')
  const written = () => readdirSync(folder).filter((name) => name.startsWith('out.csv'))
  const preview = ['preview', numbers, '--kind', 'ai', '--out', out]
  for (const [args, signal] of [
    [preview, 'SIGINT'],
    [preview, 'SIGTERM'],
    [['records', 'export', 'opt-outs', out], 'SIGINT'],
  ] as const) {
    const running = startCallgate(args, environment)
    await until('it writes', () => written().length > 0, { everyMs: 2 })
    expect(await running.end(signal), args[0]).toBe(signal)
    expect(written(), args[0]).toEqual([])
  }
})

test('SIGHUP reloads the settings and ends nothing', async () => {
  const serving = await start()
  serving.signal('SIGHUP')
  await until('a line about it', () => serving.output().includes('the settings were reloaded'))
  expect((await fetch(`${serving.url}/healthz`)).status).toBe(200)
  expect(await serving.end('SIGTERM')).toBe(0)
})
