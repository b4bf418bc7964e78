/**
 * The built program on files that fail, stall, or lose what was not flushed, under load, judged after a restart: nothing that
 * was acknowledged is missing, nothing was allowed wrongly, no record is there twice, and the start is not refused.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type FaultyFiles, faultyFiles } from '../../support/faulty-files.js'
import { FaultyLoad } from '../../support/faulty-load.js'
import { callgate } from '../../support/program.js'

let folder: string
let faulty: FaultyFiles
let load: FaultyLoad

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-faulty-'))
  faulty = faultyFiles(folder)
})

afterEach(async () => {
  faulty.end()
  await load.end()
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe("read errors of the database's disk alone", () => {
  it.each([60, 300])('for %d ms leave each record in the journal once', async (forMs) => {
    load = await FaultyLoad.start(join(folder, `wal-${forMs}`), faulty.environment)
    await until('calls are allowed', () => load.allowed > 20)
    const files = '*/callgate.sqlite-wal'
    faulty.begin({ operations: ['read'], files, effect: { error: 'EIO' }, forMs })
    await until('reads have failed', () => faulty.read().isOver)
    await until('the index has all records', async () => {
      const metrics = await (await fetch(`${load.serving.url}/metrics`)).text()
      return /^callgate_journal_index_lag_records 0$/m.test(metrics)
    })
    await load.judge()
    expect(
      (await callgate(['evidence', 'verify'], { CALLGATE_DATA_DIR: load.dataDir })).out,
    ).toContain('NOT PROVEN')
  })
})

it('a database that cannot be read answers 503 to everybody, and takes the same requests once it can', async () => {
  load = await FaultyLoad.start(join(folder, 'unreadable'), faulty.environment)
  const { url, keys } = load.serving
  const requests: readonly (readonly [string, object | undefined])[] = [
    ['/v1/opt-outs', { number: '7185550112' }],
    ['/v1/keys', undefined],
    ['/app/main/rpc/pdnc', { phoneList: '7185550111', actionType: 'add' }],
    ['/app/main/rpc/pdnc', { phoneList: '7185550111', actionType: 'status' }],
    ['/app/main/rpc/ebr?phoneList=2125550101', undefined],
  ]
  const ask = async () => {
    const statuses = requests.map(async ([path, body]) => {
      const response = await fetch(`${url}${path}`, {
        headers: { loginId: keys.sandbox, 'content-type': 'application/json' },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      })
      await response.arrayBuffer()
      return response.status
    })
    return await Promise.all(statuses)
  }
  await until('all are answered', async () => (await ask()).every((status) => status === 200))
  faulty.begin({ operations: ['read'], files: '*/callgate.sqlite*', effect: { error: 'EIO' } })
  const seen = new Set<number>()
  await until('all are refused', async () => {
    const statuses = await ask()
    for (const status of statuses) seen.add(status)
    return statuses.every((status) => status >= 500)
  })
  for (const status of await ask()) seen.add(status)
  seen.delete(200)
  expect([...seen]).toEqual([503])
  faulty.end()
  await load.judge()
})

it('a power cut that keeps later sectors of what was not flushed, and loses earlier ones, takes nothing that was acknowledged', async () => {
  load = await FaultyLoad.start(join(folder, 'cut'), {
    ...faulty.environment,
    FAULTY_FILES_CUT: '1',
  })
  await until('calls are allowed', () => load.allowed > 20)
  faulty.begin({ operations: ['flush'], files: '*.seg', effect: { keptSectors: 0xaaaaaaaa } })
  expect(await load.serving.ended()).toBe(99)
  await load.judge()
})
