/** `callgate erase` beside a running server and without one, under load and under kills. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { recordsIn } from '../../support/journal.js'
import { callgate, type Serving, serve } from '../../support/program.js'

/** Of the sandbox: the first is on its internal list, the second may be called. */
const blockedNumber = '2125550104'
const allowedNumber = '2125550100'

let dataDir: string
let key = ''
const environment = () => ({
  CALLGATE_DATA_DIR: dataDir,
  CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  CALLGATE_GATE_DEADLINE_MS: '10000',
})

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-erase-'))
  key = ''
})

afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

async function start(): Promise<Serving> {
  const serving = await serve(environment())
  key ||= serving.keys.sandbox
  return serving
}

/** Without a server the command takes its place, and a start is refused until it is done. */
async function startBeside(command: Promise<unknown>): Promise<Serving> {
  try {
    return await start()
  } catch (cause) {
    if (!/already serving this data folder/.test(String(cause))) throw cause
    await command
    return await start()
  }
}

const erase = (...args: readonly string[]) => callgate(['erase', ...args], environment())

async function send(url: string, path: string, body?: unknown): Promise<Response> {
  return await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

async function decide(url: string, number: string): Promise<DecisionDocument> {
  const response = await send(url, '/v1/decisions', {
    number,
    callKind: 'manual',
    reference: 'lead of Jane Doe',
  })
  return (await response.json()) as DecisionDocument
}

const read = async (url: string, id: string) =>
  (await (await send(url, `/v1/decisions/${id}`)).json()) as DecisionDocument

/** The files with the text, of the database and its log, the index and the journal. */
function filesWith(text: string): readonly string[] {
  const names = [
    ...readdirSync(dataDir),
    ...readdirSync(join(dataDir, 'journal')).map((name) => `journal/${name}`),
  ]
  return names.filter((name) => {
    if (!/\.(?:sqlite|sqlite-wal|seg|seg\.gz|tmp|erased)$/.test(name)) return false
    const bytes = readFileSync(join(dataDir, name))
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).includes(text)
  })
}

it('erases beside a running server, which still blocks the number that opted out', async () => {
  const serving = await start()
  const opted = '2125550123'
  await send(serving.url, `/app/main/rpc/pdnc?phoneList=${opted}&actionType=add`)
  const made = await decide(serving.url, opted)
  const allowed = await decide(serving.url, allowedNumber)
  expect([made.decision, allowed.decision]).toEqual(['block', 'allow'])

  const preview = await erase('--number', opted)
  expect(preview.code).toBe(2)
  expect(preview.err).toContain('nothing was changed; --yes erases the number')
  expect((await read(serving.url, made.id)).number).toBe(opted)
  const dry = await erase('--number', opted, '--dry-run')
  expect(dry.code).toBe(0)
  // That somebody looked is an audit row more.
  const withoutAudit = (out: string) => out.replace(/^reduced +\d+ audit rows.*\n/m, '')
  expect(withoutAudit(dry.out)).toBe(withoutAudit(preview.out))

  const done = await erase('--number', '(212) 555-0123', '--yes', '--reason', 'request 17')
  expect(done.err).toMatch(/^erasure e[0-9a-f]{16}: the database is done/)
  expect(done.code).toBe(0)
  expect(done.out).toContain('kept         1 opt-outs (internal do-not-call list): as long as')
  expect(done.out).toContain('reduced      1 decisions: without the number')
  expect(await read(serving.url, made.id)).toMatchObject({
    id: made.id,
    decision: 'block',
    reason: made.reason,
    number: '',
    dialed: '',
    erased: true,
  })
  expect((await read(serving.url, made.id)).reference).toBeUndefined()
  expect((await read(serving.url, allowed.id)).number).toBe(allowedNumber)
  expect((await decide(serving.url, opted)).decision).toBe('block')
  const list = await erase('list')
  expect(list.out).toMatch(/^erasure .*\ne[0-9a-f]{16} {2}2026-\S+ +\S+ +\(all\) .* request 17\n$/)
  expect(list.out).not.toContain(opted)
  expect(serving.output()).not.toContain(opted)

  // The opt-out has it; of the decision that was made after the erasure, the journal.
  const withNumber = filesWith(opted)
  expect(withNumber.filter((name) => name.startsWith('journal/'))).toHaveLength(1)
  expect(withNumber).not.toContain('index.sqlite')

  const monitored = '2127365001'
  await send(serving.url, '/v1.4/reputation/add', [{ Phone: monitored, Label: 'x' }])
  await decide(serving.url, monitored)
  expect(filesWith(monitored)).not.toEqual([])
  const all = await erase('--number', monitored, '--yes', '--allowed-calls')
  expect(all.out).toContain('deleted      1 monitored numbers\n')
  // Neither in free space of the database nor in its log.
  expect(filesWith(monitored)).toEqual([])
  expect(await serving.end('SIGTERM')).toBe(0)
})

it('erases without a server, also what a killed one left undone', async () => {
  const serving = await start()
  const first = await decide(serving.url, blockedNumber)
  expect(first.decision).toBe('block')
  // A block is answered before it is on disk; an allow is not, and the block comes before it.
  await decide(serving.url, allowedNumber)
  expect(await serving.end('SIGKILL')).toBe('SIGKILL')
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'))
  database
    .prepare(
      "insert into erasures values ('e0000000000000000', ?, null, 0, 'tester', null, 1, '[]', null, null, null)",
    )
    .run(blockedNumber)
  database.close()

  const other = await erase('--number', allowedNumber, '--yes', '--allowed-calls')
  expect(other.code).toBe(0)
  expect(filesWith(blockedNumber).filter((name) => !name.startsWith('callgate'))).toEqual([])
  const list = await erase('list')
  expect(list.out.match(/^e[0-9a-f]{16} /gm)).toHaveLength(2)
  expect(list.out).not.toContain('in progress')
  const again = await start()
  await expect
    .poll(() => read(again.url, first.id))
    .toMatchObject({ reason: first.reason, number: '' })
  expect(await again.end('SIGTERM')).toBe(0)
})

it('goes on at the next start after a kill, with every decision in its place', async () => {
  const kept = new Map<string, DecisionDocument>()
  const erased = new Set<string>()
  let serving = await start()
  for (let kill = 0; kill < 3; kill += 1) {
    for (let index = 0; index < 20; index += 1) {
      const { id } = await decide(serving.url, blockedNumber)
      erased.add(id)
      const other = await decide(serving.url, allowedNumber)
      kept.set(other.id, other)
    }
    const erasing = erase('--number', blockedNumber, '--yes')
    const { url } = serving
    const load = Promise.allSettled(
      Array.from({ length: 4 }, async () => {
        for (;;) await decide(url, allowedNumber)
      }),
    )
    await expect.poll(() => filesWith(blockedNumber).length, { interval: 1 }).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 150 + kill * 150))
    expect(await serving.end('SIGKILL')).toBe('SIGKILL')
    serving = await startBeside(erasing)
    await load
    // The command waits for whoever erases, or does it itself.
    expect((await erasing).code).toBe(0)
  }
  const [last = ''] = [...kept.keys()].slice(-1)
  await expect.poll(() => read(serving.url, last)).toMatchObject({ id: last })
  for (const [id, document] of kept) expect(await read(serving.url, id)).toEqual(document)
  for (const id of erased)
    expect(await read(serving.url, id)).toMatchObject({ number: '', erased: true })
  const records = recordsIn(dataDir)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1))
  expect(filesWith(blockedNumber).filter((name) => name.startsWith('journal/'))).toEqual([])
  expect(await serving.end('SIGTERM')).toBe(0)
})

it('loses no decision that is made meanwhile', async () => {
  const serving = await start()
  for (let index = 0; index < 50; index += 1) await decide(serving.url, blockedNumber)
  const answers: DecisionDocument[] = []
  let isDone = false
  const clients = Array.from({ length: 6 }, async () => {
    while (!isDone) answers.push(await decide(serving.url, allowedNumber))
  })
  const results = []
  for (let index = 0; index < 3; index += 1) {
    results.push(erase('--number', index === 1 ? '6465550199' : blockedNumber, '--yes'))
  }
  const ended = await Promise.all(results)
  isDone = true
  await Promise.all(clients)
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(answers.length).toBeGreaterThan(10)
  expect(answers.filter(({ decision }) => decision !== 'allow')).toEqual([])
  for (const { id } of answers) expect((await read(serving.url, id)).id).toBe(id)
  expect(filesWith(blockedNumber).filter((name) => name.startsWith('journal/'))).toEqual([])
  expect(await serving.end('SIGTERM')).toBe(0)
})

it.each([
  [['--number', '123', '--yes'], "--number '123': must be a number of the US or Canada"],
  [['--yes'], "--number '': must be a number"],
  [['--number', blockedNumber, '--account', 'nobody', '--yes'], "account 'nobody' not found"],
  [
    ['--number', blockedNumber, '--reason', 'of 212-555-0104', '--yes'],
    '--reason must not have the number',
  ],
])('refuses %j', async (args, problem) => {
  const { code, err } = await erase(...args)
  expect([code, err]).toEqual([2, expect.stringContaining(problem)])
})
