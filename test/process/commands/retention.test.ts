/** A server with decisions of many years removes the oldest, also when it is killed meanwhile. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { callgate, type Serving, serve } from '../../support/program.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

const msPerDay = 86_400_000
/** To be copied. */
let yearsDir: string
let years: Years
let dataDir: string
let key = ''
const environment = () => ({ CALLGATE_DATA_DIR: dataDir })

interface Years {
  readonly old: readonly number[]
  readonly kept: readonly number[]
}

beforeAll(async () => {
  yearsDir = mkdtempSync(join(tmpdir(), 'callgate-retention-'))
  years = await writeYears(yearsDir)
})

afterAll(() => rmSync(yearsDir, { recursive: true, force: true }))

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-retention-'))
  cpSync(yearsDir, dataDir, { recursive: true, preserveTimestamps: true })
})

afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const idAt = (at: number) => `${at.toString(36).padStart(9, '0')}${'0'.repeat(20)}`

/** What a server that has run for six years has, when nothing was removed yet: a decision in each week. */
async function writeYears(folder: string): Promise<Years> {
  const today = Math.floor(Date.now() / msPerDay) * msPerDay
  const weeks = Array.from(
    { length: 6 * 52 },
    (_, index) => today - (6 * 52 - index) * 7 * msPerDay,
  )
  let now = weeks[0] ?? 0
  const { journal, append } = testJournal(folder, () => now, { keepYears: 100 })
  await journal.open()
  for (const at of weeks) {
    now = at
    await append(await makeDecision({ id: idAt(at), decidedAt: at, accountId: 'sandbox' }))
  }
  await journal.drain()
  await journal.close()
  const keeping = { CALLGATE_DATA_DIR: folder, CALLGATE_JOURNAL_KEEP_YEARS: '100' }
  const first = await serve(keeping, ['--init'])
  key = first.keys.sandbox
  expect(await first.end('SIGTERM')).toBe(0)
  // The newest eight weeks say what day it is, so that up to three months more are kept.
  const day = (years: number, days: number) => today - (years * 365 + days) * msPerDay
  return {
    old: weeks.filter((at) => at < day(5, 100)),
    kept: weeks.filter((at) => at > day(5, 0)),
  }
}

async function read({ url }: Serving, at: number) {
  const headers = { loginId: key, connection: 'close' }
  const response = await fetch(`${url}/v1/decisions/${idAt(at)}`, { headers })
  return { status: response.status, body: await response.text() }
}

async function decide({ url }: Serving): Promise<number> {
  const response = await fetch(`${url}/v1/decisions`, {
    method: 'POST',
    headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ number: '2125550100', callKind: 'manual' }),
  })
  return response.status
}

const patient = { timeout: 30_000 }

const beginsFile = () => join(dataDir, 'journal', 'begins.json')
const segments = () => readdirSync(join(dataDir, 'journal')).filter((name) => /\.seg/.test(name))

const oldestSeq = () => Number(segments().sort()[0]?.slice(0, 20))

/** With which the journal begins, as the file says. */
const firstSeq = () => Number(JSON.parse(readFileSync(beginsFile(), 'utf8')).firstSeq)

const removedText = 'were removed after journal.keepYears'

async function expectRemoved(serving: Serving) {
  const { old, kept } = years
  const lastRemoved = async () => (await read(serving, old.at(-1) ?? 0)).body
  await expect.poll(lastRemoved, patient).toContain(removedText)
  for (const { status, body } of await Promise.all(old.map((at) => read(serving, at)))) {
    expect([status, body]).toEqual([404, expect.stringContaining(removedText)])
  }
  const found = await Promise.all(kept.map((at) => read(serving, at)))
  expect(found.filter(({ status }) => status !== 200)).toEqual([])
}

it('removes what is older than five years, and says so', async () => {
  const serving = await serve(environment())
  await expectRemoved(serving)
  await expect.poll(() => serving.output(), patient).toContain(`decisions ${removedText}`)
  const metrics = await (await fetch(`${serving.url}/metrics`)).text()
  expect(metrics).toMatch(/callgate_decisions_removed_total\{by="retention"\} \d\d/)
  expect(await serving.end('SIGTERM')).toBe(0)

  rmSync(join(dataDir, 'index.sqlite'))
  const again = await serve(environment())
  const newest = years.kept.at(-1) ?? 0
  await expect.poll(async () => (await read(again, newest)).status, patient).toBe(200)
  await expectRemoved(again)
  expect(await again.end('SIGTERM')).toBe(0)

  const elsewhere = mkdtempSync(join(tmpdir(), 'callgate-retention-'))
  onTestFinished(() => rmSync(elsewhere, { recursive: true }))
  const backup = join(elsewhere, 'backup')
  const restored = { CALLGATE_DATA_DIR: join(elsewhere, 'restored') }
  for (const [args, env] of [
    [['backup', backup], environment()],
    [['backup', 'verify', backup], environment()],
    [['restore', backup], restored],
  ] as const) {
    const { code, err } = await callgate(args, env)
    expect(code, err).toBe(0)
  }
  expect(await (await serve(restored)).end('SIGTERM')).toBe(0)

  expect(oldestSeq()).toBe(firstSeq())
  const [oldest = ''] = segments().sort()
  renameSync(join(dataDir, 'journal', oldest), join(dataDir, oldest))
  const refused = await callgate(['serve'], { ...environment(), CALLGATE_HTTP_PORT: '0' })
  expect(refused.code).toBe(1)
  expect(refused.out + refused.err).toContain(
    `the segment with record ${firstSeq()}, with which the journal begins, is missing`,
  )
})

it('removes the same when it is killed meanwhile', async () => {
  for (let kill = 0; kill < 3; kill += 1) {
    const before = oldestSeq()
    const serving = await serve(environment())
    // The server before it may have removed all of them.
    const isRemoving = () => oldestSeq() > before || oldestSeq() > years.old.length
    await expect.poll(isRemoving, { interval: 5, ...patient }).toBe(true)
    expect(await decide(serving)).toBe(200)
    expect(await serving.end('SIGKILL')).toBe('SIGKILL')
  }
  const serving = await serve(environment())
  await expectRemoved(serving)
  expect(await decide(serving)).toBe(200)
  expect(oldestSeq()).toBe(firstSeq())
  expect(await serving.end('SIGTERM')).toBe(0)
  const { code, out } = await callgate(['evidence', 'verify'], environment())
  expect(code, out).not.toBe(10)
})
