/** The program as an operator meets it when its database is removed, damaged or of another version. */
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readRecord } from '../../../src/gate/record/read-record.js'
import { recordsIn } from '../../support/journal.js'
import { callgate, type Serving, serve } from '../../support/program.js'

let dataDir: string
let environment: Readonly<Record<string, string>>
const database = () => join(dataDir, 'callgate.sqlite')

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-lost-'))
  environment = {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    // How long a slow machine takes is tested elsewhere.
    CALLGATE_GATE_DEADLINE_MS: '5000',
  }
})

afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

function removeDatabase(): void {
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith('callgate.sqlite')) rmSync(join(dataDir, name))
  }
}

async function decide({ url, keys }: Serving): Promise<string> {
  const response = await fetch(`${url}/v1/decisions`, {
    method: 'POST',
    headers: { loginId: keys.sandbox, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ number: '2125550100', callKind: 'manual' }),
  })
  return ((await response.json()) as { reason: string }).reason
}

const readiness = async ({ url }: Serving) =>
  (await fetch(`${url}/readyz`, { headers: { connection: 'close' } })).text()

const oneLine = /^callgate: [^\n]+\n$/

describe('a data folder that has lost its database', () => {
  it('allows nothing, keeps its journal, and no command starts over but serve --init', async () => {
    const first = await serve(environment)
    expect(await decide(first)).toBe('permitted')
    removeDatabase()
    for (let call = 0; call < 3; call += 1) expect(await decide(first)).toBe('not-recorded')
    await expect
      .poll(() => first.output())
      .toContain('the database is not reliable; no call is allowed')
    expect(await first.end('SIGTERM')).toBe(0)
    const kept = recordsIn(dataDir).filter(({ kind }) => kind === 'amendment')
    expect(kept).toHaveLength(3)
    for (const { body } of kept)
      expect(readRecord('decision', { body }).reason).toBe('not-recorded')

    for (const args of [['serve'], ['keys', 'list'], ['check', '212-555-0100', '--kind', 'ai']]) {
      const { code, err, out } = await callgate(args, environment)
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(oneLine)
      expect(err).toContain(`${database()}: the database is missing or empty`)
    }
    expect(readdirSync(dataDir)).not.toContain('callgate.sqlite')

    const again = await serve(environment, ['--init'])
    expect(again.keys.main).toHaveLength(44)
    expect(await decide(again)).toBe('permitted')
    expect(await again.end('SIGTERM')).toBe(0)
    const { code, err } = await callgate(['serve', '--init'], environment)
    expect([code, err]).toEqual([1, expect.stringContaining('start without --init')])
  })
})

describe('a database that is damaged', () => {
  it('is found after the start, and then no call is allowed', async () => {
    const first = await serve(environment)
    await first.end('SIGTERM')
    const whole = new Sqlite(database())
    const row = whole.prepare("insert into internal_dnc_lists values ('main', ?, 0)")
    for (let index = 0; index < 100; index += 1) row.run(`list ${index}${'x'.repeat(900)}`)
    whole.close()
    const pageBytes = 4096
    const pages = statSync(database()).size / pageBytes
    const file = openSync(database(), 'r+')
    const junk = Buffer.alloc(10 * pageBytes, 0x5a)
    writeSync(file, junk, 0, junk.length, (pages - 10) * pageBytes)
    closeSync(file)

    const damaged = await serve(environment)
    await expect
      .poll(() => readiness(damaged))
      .toContain(`${database()}: the database is damaged (`)
    expect(await readiness(damaged)).toContain('"ready":false')
    expect(await decideOrRefuse(damaged, first.keys.sandbox)).toMatch(/not-recorded|is damaged/)
    await damaged.end('SIGTERM')
  })

  const decideOrRefuse = async ({ url }: Serving, key: string) => {
    const response = await fetch(`${url}/v1/decisions`, {
      method: 'POST',
      headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ number: '2125550100', callKind: 'manual' }),
    })
    return response.text()
  }
})

describe('a database of another version', () => {
  it.each([
    ["insert into kysely_migration values ('9999-future', '')", 'newer schema'],
    ['drop table kysely_migration', 'table kysely_migration is missing or empty'],
  ])('is refused in one line: %s', async (statement, message) => {
    expect((await callgate(['keys', 'list'], environment)).code).toBe(0)
    const other = new Sqlite(database())
    other.exec(statement)
    other.close()
    const { code, err } = await callgate(['serve'], environment)
    expect(code).toBe(1)
    expect(err).toMatch(oneLine)
    expect(err).toContain(message)
  })
})

describe('a journal that loses a segment while the server runs', () => {
  it('is named in the log, by /readyz and by doctor, until the file is put back', async () => {
    const serving = await serve(environment)
    expect(await decide(serving)).toBe('permitted')
    const journal = join(dataDir, 'journal')
    const name = readdirSync(journal).find((one) => one.endsWith('.seg')) ?? ''
    const [segment, aside] = [join(journal, name), join(dataDir, 'aside')]
    // The first look may be under way.
    await expect.poll(() => readiness(serving)).toContain('"ready":true')
    renameSync(segment, aside)
    const problem = `${segment}: the file was removed while callgate runs`
    await expect.poll(() => readiness(serving)).toContain(problem)
    expect(serving.output()).toContain(problem)
    const doctor = await callgate(['doctor', '--url', serving.url], environment)
    expect(doctor.out).toContain(problem)
    expect(doctor.code).toBe(2)
    renameSync(aside, segment)
    await expect.poll(() => readiness(serving)).not.toContain(problem)
    expect(await serving.end('SIGTERM')).toBe(0)
  })
})
