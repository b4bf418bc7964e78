/** The log of the real program when its reader stalls or goes away. */
import { type ChildProcessByStdio, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startChild } from '../../../scripts/children.mjs'
import { fetchMetrics } from '../../support/fresh-metrics.js'
import { environmentOf, firstKeysIn, program } from '../../support/program.js'

type Program = ChildProcessByStdio<null, Readable, Readable>

let dataDir: string
let environment: Record<string, string>
const started: Program[] = []

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-log-'))
  // A log that delays answers delays them for ever; a busy machine must not make them overloaded.
  environment = {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_HTTP_PORT: '0',
    CALLGATE_GATE_DEADLINE_MS: '10000',
  }
})

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
  rmSync(dataDir, { recursive: true, force: true })
})

function start(stdout: 'pipe' | number = 'pipe'): Program {
  const child = startChild(process.execPath, [program, 'serve'], {
    env: environmentOf(environment),
    stdio: ['ignore', stdout, 'pipe'],
  }) as Program
  started.push(child)
  return child
}

/** Reads until the greeting is complete, and nothing after it. */
async function addressOf(child: Program, stalls: boolean): Promise<string> {
  let text = ''
  for (;;) {
    const [bytes] = (await once(child.stdout, 'data')) as [Buffer]
    text += bytes.toString()
    const url = /listens on (\S+)\n[\s\S]*\n/.exec(text)?.[1]
    if (url === undefined) continue
    if (stalls) child.stdout.pause()
    return url
  }
}

function readAvailable(reader: number): string {
  const bytes = Buffer.alloc(65_536)
  try {
    return bytes.toString('utf8', 0, readSync(reader, bytes))
  } catch {
    return '' // Nothing is in the pipe at the moment.
  }
}

const readKey = () => firstKeysIn(dataDir).sandbox

/** Asks so many times, fifty at once; gives how often each status was answered. */
async function ask(count: number, url: string, headers = {}): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  let left = count
  const askInTurn = async () => {
    while (left-- > 0) {
      const reply = await fetch(url, { headers })
      await reply.arrayBuffer()
      statuses[reply.status] = (statuses[reply.status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 50 }, askInTurn))
  return statuses
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

async function droppedBy(url: string): Promise<number> {
  const text = await fetchMetrics(url)
  return Number(/^callgate_log_lines_dropped_total (\d+)$/m.exec(text)?.[1])
}

it('a reader that stalls delays no answer; what was dropped is counted and reported', async () => {
  const child = start()
  const url = await addressOf(child, true)
  const loginId = readKey()
  const predial = `${url}/v1/predial?number=2125550100&kind=manual`
  let asked = 0
  while ((await droppedBy(url)) === 0) {
    expect(await ask(900, predial, { loginId })).toEqual({ 200: 900 })
    // More than a thousand decisions of one second have no line each.
    await sleep(1_100)
    asked += 900
  }
  expect(await ask(50, `${url}/v1/predial?number=911`)).toEqual({ 200: 50 })
  const dropped = await droppedBy(url)

  let text = ''
  child.stdout.on('data', (bytes: Buffer) => {
    text += bytes.toString()
  })
  child.stdout.resume()
  const said = 'log lines were dropped because standard output was not read'
  await expect.poll(() => text).toContain(said)
  child.kill('SIGTERM')
  const [code] = (await once(child, 'close')) as [number]
  expect(code).toBe(0)
  const lines = linesOf(text)
  expect(lines.find(({ message }) => message === said)).toMatchObject({ count: dropped })
  const written = lines.filter(({ message }) =>
    /^(?:decision|an emergency or service code passed)/.test(String(message)),
  )
  // Of the emergency calls without a key the first ten are written.
  expect(written.length + dropped).toBe(asked + 10)
  expect(lines.at(-1)).toMatchObject({ message: 'stopped' })
})

it('a pipe that is never read keeps the program neither from answering nor from stopping', async () => {
  const pipe = join(dataDir, 'pipe')
  execFileSync('mkfifo', [pipe])
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(pipe, constants.O_WRONLY)
  const child = start(writer)
  closeSync(writer)
  try {
    let text = ''
    const address = () => {
      text += readAvailable(reader)
      return /listens on (\S+)\n[\s\S]*\n/.exec(text)?.[1]
    }
    await expect.poll(address).toBeDefined()
    const loginId = readKey()
    const predial = `${address()}/v1/predial?number=2125550100&kind=manual`
    expect(await ask(1_000, predial, { loginId })).toEqual({ 200: 1_000 })
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  } finally {
    closeSync(reader)
  }
})

it('a reader that goes away ends neither the server nor a command', async () => {
  const child = start()
  const url = await addressOf(child, false)
  child.stdout.destroy()
  child.stderr.destroy()
  const loginId = readKey()
  const predial = `${url}/v1/predial?number=2125550100&kind=manual`
  expect(await ask(200, predial, { loginId })).toEqual({ 200: 200 })
  expect(await ask(20, `${url}/v1/predial?number=911`)).toEqual({ 200: 20 })
  expect(child.exitCode).toBeNull()
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])

  const list = startChild(process.execPath, [program, 'lists', '--json'], {
    env: environmentOf(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(list)
  list.stdout.destroy()
  let problems = ''
  list.stderr.on('data', (bytes: Buffer) => {
    problems += bytes.toString()
  })
  await once(list, 'close')
  expect(problems).not.toContain('EPIPE')
})

it('a fatal error leaves with every line written before it', async () => {
  const file = join(dataDir, 'log')
  const log = openSync(file, 'w')
  const module = join(program, '../observability/log.js')
  const script =
    `import { openLog } from ${JSON.stringify(module)}\n` +
    "const { log } = openLog('info')\n" +
    "for (let n = 0; n < 3; n += 1) log.info('line', { n })\n" +
    "throw new Error('fatal')\n"
  const child = startChild(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', log, 'ignore'],
  })
  closeSync(log)
  expect(await once(child, 'exit')).toEqual([1, null])
  expect(linesOf(readFileSync(file, 'utf8')).map(({ n }) => n)).toEqual([0, 1, 2])
})
