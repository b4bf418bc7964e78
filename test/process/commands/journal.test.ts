/** The journal under kills: every allow that a client received is in it, in order, and can be read. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { DecisionDocument } from '../../../src/gate/decision-document.js'
import { DecisionIndex } from '../../../src/gate/journal/decision-index.js'
import { recordsIn } from '../../support/journal.js'
import { shortOrLong } from '../../support/long.js'
import { type Serving, serve } from '../../support/program.js'

/** `CALLGATE_TEST_KILLS=1000` for a night. */
const kills = Number(process.env.CALLGATE_TEST_KILLS ?? shortOrLong(3, 20))
const clients = 8

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-journal-killed-'))
})

afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const start = () =>
  serve({
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    // What is killed is the writing; how long a slow machine takes to decide is no matter here.
    CALLGATE_GATE_DEADLINE_MS: '10000',
  })

let key = ''

async function decide(url: string): Promise<DecisionDocument> {
  const response = await fetch(`${url}/v1/decisions`, {
    method: 'POST',
    headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ number: '2125550100', callKind: 'manual' }),
  })
  return (await response.json()) as DecisionDocument
}

/** Asks without a pause until the program is gone; notes each allow as soon as it is received. */
async function decideUntilGone({ url }: Serving, received: Set<string>): Promise<void> {
  const endless = async () => {
    for (;;) {
      const { decision, id } = await decide(url)
      expect(decision).toBe('allow')
      received.add(id)
    }
  }
  await Promise.allSettled(Array.from({ length: clients }, endless))
}

it(
  `has every allow that a client received, after ${kills} kills`,
  async () => {
    const received = new Set<string>()
    for (let kill = 0; kill < kills; kill += 1) {
      const serving = await start()
      key ||= serving.keys.sandbox
      const enough = received.size + 20 + ((kill * 7) % 60)
      const deciding = decideUntilGone(serving, received)
      await expect.poll(() => received.size, { interval: 1 }).toBeGreaterThan(enough)
      expect(await serving.end('SIGKILL')).toBe('SIGKILL')
      await deciding
    }
    const last = await start()
    const records = recordsIn(dataDir)
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1))
    expect(records.filter(({ kind }) => kind === 'opened')).toHaveLength(kills + 1)
    const recorded = new Map<string, DecisionDocument>()
    for (const { kind, body } of records) {
      if (kind !== 'decision' && kind !== 'amendment') continue
      const document = JSON.parse(body) as DecisionDocument
      recorded.set(document.id, document)
    }
    const missing = [...received].filter((id) => recorded.get(id)?.decision !== 'allow')
    expect(missing).toEqual([])

    const indexed = () => {
      const index = new DecisionIndex(join(dataDir, 'index.sqlite'), join(dataDir, 'journal'))
      const found = [...recorded.keys()].flatMap((id) => index.find(id)?.document ?? [])
      index.close()
      return new Map(found.map((document) => [document.id, document]))
    }
    await expect.poll(() => indexed().size).toBe(recorded.size)
    expect(indexed()).toEqual(recorded)
    expect(await last.end('SIGTERM')).toBe(0)
    process.stdout.write(
      `journal: ${received.size} allows received in ${kills} kills, none missing\n`,
    )
  },
  120_000 + kills * 10_000,
)

it('takes over the decisions of a version before the journal', async () => {
  const first = await start()
  key = first.keys.sandbox
  const sample = await decide(first.url)
  expect(await first.end('SIGTERM')).toBe(0)
  const count = Number(process.env.CALLGATE_TEST_OLD_DECISIONS ?? shortOrLong(20_000, 50_000))
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'))
  const insert = database.prepare(
    "insert into decisions values (?, 'sandbox', 0, '2125550100', 'manual', 'allow', 'permitted', 'http', 0, ?)",
  )
  const idOf = (index: number) => `0${String(index).padStart(20, '0')}`
  database.transaction(() => {
    for (let index = 0; index < count; index += 1) {
      insert.run(idOf(index), JSON.stringify({ ...sample, id: idOf(index) }))
    }
  })()
  database.close()
  const upgraded = await start()
  const read = async (id: string) => {
    const headers = { loginId: key, connection: 'close' }
    return (await fetch(`${upgraded.url}/v1/decisions/${id}`, { headers })).status
  }
  expect((await decide(upgraded.url)).decision).toBe('allow')
  await expect.poll(() => read(idOf(count - 1)), { interval: 100, timeout: 600_000 }).toBe(200)
  expect(await read(idOf(0))).toBe(200)
  expect(await read(sample.id)).toBe(200)
  expect(await upgraded.end('SIGTERM')).toBe(0)
}, 900_000)
