/**
 * The thread that decides waits for no disk, and does nothing for long: the table "Threads" of
 * docs/architecture.md, held against the built program under a mixed load. What its main thread calls and
 * how long it takes is recorded from inside, by `test/support/main-thread-probe.mjs`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../e2e/asterisk/lab/until.js'
import { callgate, type Serving, serve } from '../support/program.js'

interface Call {
  /** Such as `fs.statSync <path>` or `sqlite.get read-only <file> <statement>`. */
  readonly name: string
  /** Of our own code, innermost first. */
  readonly frames: readonly string[]
  readonly count: number
}

/** What the probe writes. */
interface Report {
  readonly calls: readonly Call[]
  /** The nice values of the process's threads while it had work. */
  readonly niceness: readonly number[]
  /** Processor time of the longest stretch of each round, without the garbage collector. */
  readonly longestStretchMsOfRounds: readonly number[]
}

const maxStretchMs = 10
/**
 * What the program does comes again in each round; what other programs do to the processor, by taking half
 * of a shared core or its cache, does not.
 */
const maxRounds = 8

/** Where the thread that decides may read at once: a row or a few, which a decision or one request needs. */
const allowedReads = [
  // A decision's opt-outs and consents, its key and its project.
  /^sqlite\.(get|all) read-only \S+callgate\.sqlite select /,
  // Memory of the kernel, for the metrics.
  /^fs\.\w+ \/proc\/self\//,
  // Log lines; a pipe or socket that is full refuses them at once. Those of a file wait for its disk.
  /^fs\.writeSync 1$/,
  // The place of the record of one decision.
  /^sqlite\.get writable \S+index\.sqlite select .* where (decision_)?id = \?$/,
]

/** Of the record of one decision, at its place in the journal. */
const isRecordRead = ({ name, frames }: Call) =>
  /^fs\.(open|fstat|read|close)Sync /.test(name) &&
  frames.some((frame) => frame.startsWith('RecordReader.'))

let dataDir: string
let report: Report
let receiver: Server
let webhooks = 0
const statuses = new Map<string, number>()

const numbers = (count: number, first: number) =>
  Array.from({ length: count }, (_, index) => String(first + index))
const tenThousand = numbers(10_000, 3_035_550_000)

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-main-thread-'))
  receiver = createServer((_, response) => {
    webhooks += 1
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  for (const list of ['us-dnc', 'canada-dnc', 'litigators']) await importList(list, 1_000)
  const serving = await serve(
    {
      CALLGATE_DATA_DIR: dataDir,
      CALLGATE_WEBHOOKS_ALLOW: '127.0.0.1',
      // How long a slow machine takes is tested elsewhere.
      CALLGATE_GATE_DEADLINE_MS: '5000',
      PROBE_REPORT: join(dataDir, 'report.json'),
    },
    [],
    { preload: join(import.meta.dirname, '../support/main-thread-probe.mjs'), isMeasured: true },
  )
  // Functions are compiled when they first run.
  await load(serving)
  await beginRound(serving)
  for (let round = 1; round <= maxRounds; round += 1) {
    await load(serving)
    if ((await beginRound(serving)) < maxStretchMs) break
  }
  await until('a webhook has come', () => webhooks > 0)
  await serving.end('SIGTERM')
  report = JSON.parse(readFileSync(join(dataDir, 'report.json'), 'utf8'))
}, 240_000)

/** Gives the longest stretch of the round before it. */
async function beginRound(serving: Serving): Promise<number> {
  const readLines = () => [...serving.output().matchAll(/^longest stretch: (\S+) ms$/gm)]
  const before = readLines().length
  serving.signal('SIGUSR2')
  await until('the probe records', () => readLines().length > before)
  return Number(readLines().at(-1)?.[1])
}

afterAll(() => {
  receiver.close()
  rmSync(dataDir, { recursive: true, force: true })
})

/** As an operator does: by another process. */
async function importList(name: string, count: number): Promise<void> {
  const file = join(dataDir, `${name}.txt`)
  writeFileSync(file, `${numbers(count, 8_505_550_000).join('\n')}\n`)
  const coverage = name === 'litigators' ? [] : ['--area-codes', 'all']
  const args = ['import', name, file, ...coverage]
  const { code, err } = await callgate(args, { CALLGATE_DATA_DIR: dataDir })
  expect([code, code === 0 ? '' : err]).toEqual([0, ''])
}

/** Each of them at the same time as the others, once or for as long as the longest takes. */
async function load(serving: Serving): Promise<void> {
  let isOver = false
  const meanwhile = async (work: () => Promise<void>) => {
    while (!isOver) await work()
  }
  const beside = [
    ...Array.from({ length: 4 }, (_, lane) => meanwhile(() => decide(serving, lane))),
    meanwhile(() => askShort(serving)),
  ]
  await Promise.all([writeLong(serving), readLong(serving), changeFiles()])
  isOver = true
  await Promise.all(beside)
}

async function ask(
  { url, keys }: Serving,
  path: string,
  { body, key = keys.sandbox }: { readonly body?: unknown; readonly key?: string } = {},
): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    headers: { loginId: key, 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  const what = `${path.split('?')[0]} ${response.status}`
  statuses.set(what, (statuses.get(what) ?? 0) + 1)
  return await response.text()
}

let decided = 0
/** Of a decision that is soon in the index. */
let firstId: string | undefined

/** One that finds its answers in the cache, and one that reads them; every other one of the real account. */
async function decide(serving: Serving, lane: number): Promise<void> {
  const key = lane % 2 === 0 ? serving.keys.main : serving.keys.sandbox
  for (const number of ['2125550100', String(2_127_360_000 + (decided % 10_000))]) {
    decided += 1
    await ask(serving, '/v1/decisions', { body: { number, callKind: 'manual' }, key })
  }
}

/** Opt-outs and consents, 10,000 of each. */
async function writeLong(serving: Serving): Promise<void> {
  const phoneList = tenThousand.join(',')
  const pdnc = (actionType: string) =>
    ask(serving, '/app/main/rpc/pdnc', { body: { phoneList, actionType } })
  const today = new Date().toISOString().slice(0, 10)
  const ebrList = [{ phoneNumber: phoneList, type: 'P', dateOfLastContact: today }]
  await pdnc('add')
  await ask(serving, '/app/main/rpc/ebr', { body: { ebrList } })
  await pdnc('remove')
  await ask(serving, '/app/main/rpc/ebr/remove', { body: { phoneList } })
}

async function readLong(serving: Serving): Promise<void> {
  const phoneList = tenThousand.join(',')
  await ask(serving, '/app/main/rpc/scrub', { body: { phoneList } })
  await ask(serving, '/app/main/rpc/scrub', { body: { phoneList, version: 8, output: 'json' } })
  await ask(serving, '/v1.5/Scrub/litigator', { body: { PhoneList: phoneList } })
  await ask(serving, '/v1.4/reputation/get', { body: tenThousand })
  // The index is made with the first decision.
  if (firstId === undefined) return
  await ask(serving, '/v1/decisions?limit=200&key=none')
  await ask(serving, '/v1/decisions?output=csv')
}

async function askShort(serving: Serving): Promise<void> {
  const { keys } = serving
  const clients = `grant_type=client_credentials&client_id=sandbox&client_secret=${keys.sandbox}`
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  await fetch(`${serving.url}/oauth/token`, { method: 'POST', headers: form, body: clients })
  const project = { ProjectCode: `P${decided}`, ProjectName: 'a project' }
  await ask(serving, '/v1.5/projects', { body: project })
  const { port } = receiver.address() as AddressInfo
  const scan = { PhoneNumbers: ['2125550100'], ScanType: 'carrierandapps' }
  const NotificationURL = `http://127.0.0.1:${port}/`
  await ask(serving, '/v1.5/Reputation/OneTimeScan', { body: { ...scan, NotificationURL } })
  await ask(serving, `/v1.5/projects/${project.ProjectCode}`)
  await ask(serving, '/app/main/rpc/pdnc?phoneList=2125550101&actionType=add')
  await ask(serving, '/app/main/rpc/scrub?phoneList=2125550101')
  await ask(serving, '/v1.4/reputation/add', { body: [{ Phone: '2125550101', Label: 'x' }] })
  const decideOne = async (callKind: string): Promise<string> => {
    const body = { number: '2125550106', callKind }
    return JSON.parse(await ask(serving, '/v1/decisions', { body })).id
  }
  // The record of a call that may be under way is in memory; that of one that a person dials is not.
  firstId ??= await decideOne('manual')
  await ask(serving, `/v1/decisions/${await decideOne('ai')}`)
  await askUntilIndexed(serving, `/v1/decisions/${firstId}`)
  await ask(serving, '/metrics')
  // Not ready while a long write takes longer than five seconds, as on a slow machine.
  await (await fetch(`${serving.url}/readyz`)).text()
}

/** While the index is behind, what is no longer in memory is not found yet, and the answer is 503. */
async function askUntilIndexed({ url, keys }: Serving, path: string): Promise<void> {
  await until('the record is in the index', async () => {
    return (await fetch(`${url}${path}`, { headers: { loginId: keys.sandbox } })).status === 200
  })
}

/** What other processes do to the files of a running server. */
async function changeFiles(): Promise<void> {
  await importList('us-dnc', 200_000)
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'), { timeout: 5_000 })
  database.pragma('wal_checkpoint(truncate)')
  database.exec("update accounts set name = 'changed' where id = 'main'")
  database.close()
}

it('had a load that was answered', () => {
  const failed = [...statuses].filter(([what]) => !/ 20\d$/.test(what))
  expect(failed).toEqual([])
  expect(decided).toBeGreaterThan(100)
})

it('waits for no disk, except for the rows that a decision needs', () => {
  expect(report.calls.some(isRecordRead)).toBe(true)
  const found = report.calls
    .filter(({ name }) => !allowedReads.some((read) => read.test(name)))
    .filter((call) => !isRecordRead(call))
  const describe = ({ name, count, frames }: Call) =>
    `${count} x ${name}\n${frames.map((frame) => `    ${frame}`).join('\n')}`
  expect(found.map(describe).join('\n')).toBe('')
})

it('does nothing for longer than 10 ms', () => {
  const longest = report.longestStretchMsOfRounds
  console.log(
    `longest stretch of each round: ${longest.map((ms) => `${ms.toFixed(1)} ms`).join(', ')}`,
  )
  expect(Math.min(...longest)).toBeLessThan(maxStretchMs)
})

/**
 * A thread that is interrupted while it posts a message holds a lock of Node.js that the main thread then
 * waits for, and one with a lower priority gets the processor back late.
 */
it('gets no messages from threads with a lower priority, except for those of long requests', () => {
  const ownNiceness = getPriority()
  const serviceThreads = Math.max(10, ownNiceness)
  expect(new Set(report.niceness)).toEqual(new Set([ownNiceness, serviceThreads]))
})
