/** Decisions of a version before the journal. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { DecisionDocument } from '../../../src/gate/decision-document.js'
import { shortOrLong } from '../../support/long.js'
import { serve } from '../../support/program.js'

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
