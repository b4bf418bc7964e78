/** The thread that writes the database, as a caller meets it when its disk stalls or it ends. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { recordsIn } from '../../support/journal.js'
import { type Serving, serve } from '../../support/program.js'

let dataDir: string
let serving: Serving
const file = (name: string) => join(dataDir, name)

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-store-'))
  serving = await start()
})

afterEach(async () => {
  rmSync(dataDir, { recursive: true, force: true })
})

function start(): Promise<Serving> {
  const environment = {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    // How long a slow machine takes is tested elsewhere.
    CALLGATE_GATE_DEADLINE_MS: '5000',
    STORE_FAULTS: dataDir,
  }
  const preload = join(import.meta.dirname, '../../support/store-faults.mjs')
  return serve(environment, [], { preload })
}

function ask(path: string, { key = serving.keys.sandbox, body }: { key?: string; body?: object }) {
  return fetch(`${serving.url}${path}`, {
    headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
}

async function decide(number: string, key?: string): Promise<string> {
  const body = { number, callKind: 'manual' }
  const response = await ask('/v1/decisions', { body, ...(key && { key }) })
  const { decision, reason } = (await response.json()) as { decision: string; reason: string }
  return `${decision} ${reason}`
}

const optOut = (number: string) => ask(`/app/main/rpc/pdnc?phoneList=${number}&actionType=add`, {})

it('delays no decision while a commit waits for the disk', async () => {
  writeFileSync(file('stall'), '')
  let isStored = false
  const storing = optOut('2125550111').then(async ({ status }) => {
    isStored = true
    return status
  })
  await until('a commit stalls', () => serving.output().includes('a commit stalls'))
  // The second key has not been used, so neither it nor its project is cached.
  for (let number = 2_125_550_100; number < 2_125_550_103; number += 1) {
    expect(await decide(String(number))).toMatch(/^(allow|block) /)
  }
  expect(await decide('2125550100')).toBe('allow permitted')
  expect(await decide('2125550105')).toMatch(/^block /)
  expect(await decide('2127365000', serving.keys.main)).toBe('block list-not-covering')
  expect(isStored).toBe(false)
  rmSync(file('stall'))
  expect(await storing).toBe(200)
  expect(await decide('2125550111')).toMatch(/^block /)
  expect(await serving.end('SIGTERM')).toBe(0)
})

it('ends the program when it ends, and loses nothing that was acknowledged', async () => {
  expect((await optOut('2125550111')).status).toBe(200)
  const ended = serving.ended()
  writeFileSync(file('crash'), '')
  const cut = await optOut('2125550112').then(
    ({ status }) => status,
    () => 'cut off',
  )
  // The commit may have been answered before the thread ended.
  expect([200, 503, 'cut off']).toContain(cut)
  expect(await ended).toBe(1)
  expect(serving.output()).toContain('callgate stops, since it cannot go on')
  expect(serving.output()).toContain('has ended: thrown for the test. Start callgate again')
  rmSync(file('crash'))
  serving = await start()
  expect(await decide('2125550111')).toMatch(/^block /)
  expect(await decide('2125550100')).toBe('allow permitted')
  expect(await serving.end('SIGTERM')).toBe(0)
  expect(recordsIn(dataDir).filter(({ kind }) => kind === 'decision')).toHaveLength(2)
  expect(existsSync(file('crash'))).toBe(false)
})
