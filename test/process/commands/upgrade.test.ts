/** What docs/upgrade.md says, from a data folder that a program with an older schema wrote. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { extract } from 'tar'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { BackupManifest } from '../../../src/commands/backup/manifest.js'
import { knownMigrations } from '../../../src/storage/migrate.js'
import { callgate, firstKeysIn, serve } from '../../support/program.js'

/**
 * Written by the last version before the migration 0007 and the journal: opt-outs of 3055550101 and
 * 2125550177, a consent of 3035550101, four decisions, two lists, and the keys of the first start.
 */
const oldFolder = join(import.meta.dirname, 'fixtures/data-folder-before-journal.tgz')
const oldDecisions = {
  main: '0mwujlto5b4e350e4cf5744aea90a',
  sandbox: '0mwujltlm4434eecf12d34d7681da',
}

let root: string
let dataDir: string

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'callgate-upgrade-'))
  dataDir = join(root, 'var')
  mkdirSync(dataDir)
  await extract({ file: oldFolder, cwd: dataDir })
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

const environmentFor = (folder: string) => ({ CALLGATE_DATA_DIR: folder })
const backup = () => join(root, 'before-upgrade')

function readMigrations(folder: string): readonly string[] {
  const database = new Sqlite(join(folder, 'callgate.sqlite'), { readonly: true })
  const names = database
    .prepare<[], string>('select name from kysely_migration order by name')
    .pluck()
    .all()
  database.close()
  return names
}

it('backs an old folder up without changing it', async () => {
  const old = readMigrations(dataDir)
  expect(old.at(-1)).toBe('0006-scrub-terms')
  expect(await callgate(['backup', backup()], environmentFor(dataDir))).toMatchObject({ code: 0 })
  expect(await callgate(['backup', 'verify', backup()], {})).toMatchObject({ code: 0 })
  const manifest = JSON.parse(
    readFileSync(join(backup(), 'manifest.json'), 'utf8'),
  ) as BackupManifest
  expect(manifest.database).toMatchObject({
    migrations: old,
    rows: { internal_dnc: 2, ebr_records: 1, accounts: 2 },
  })
  expect(readMigrations(dataDir)).toEqual(old)
})

it('keeps opt-outs, consents, decisions, keys and lists at the first start', async () => {
  const keys = firstKeysIn(dataDir)
  const serving = await serve(environmentFor(dataDir))
  const get = async (path: string, loginId = keys.main) => {
    const response = await fetch(`${serving.url}${path}`, {
      headers: { loginId, connection: 'close' },
    })
    return { status: response.status, text: await response.text() }
  }
  const optOuts = await get('/app/main/rpc/pdnc?phoneList=3055550101,2125550177&actionType=status')
  expect(optOuts.text).toContain('3055550101,')
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'), { readonly: true })
  const rowsOf = (table: string) =>
    database
      .prepare<[], string>(`select number from ${table} where account_id = 'main' order by 1`)
      .pluck()
      .all()
  expect(rowsOf('internal_dnc')).toEqual(['2125550177', '3055550101'])
  expect(rowsOf('ebr_records')).toEqual(['3035550101'])
  database.close()
  const read = async (account: 'main' | 'sandbox') =>
    (await get(`/v1/decisions/${oldDecisions[account]}`, keys[account])).text
  await expect.poll(() => read('main')).toContain('"reason":"internal-dnc"')
  expect(await read('sandbox')).toContain('"outside-calling-hours"')
  expect((await get(`/v1/decisions/${oldDecisions.sandbox}`, keys.main)).status).toBe(404)
  const call = await fetch(`${serving.url}/v1/decisions`, {
    method: 'POST',
    headers: { loginId: keys.main, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ number: '2125550177', callKind: 'manual' }),
  })
  expect(await call.json()).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
  expect(await serving.end('SIGTERM')).toBe(0)
  expect(readMigrations(dataDir).at(-1)).toBe(knownMigrations.at(-1))
  const { out } = await callgate(['lists'], environmentFor(dataDir))
  expect(out).toContain('custom-vip')
  expect(out).toContain('litigators')
})

it('does not start, back up or restore what a newer version wrote', async () => {
  const newer = join(root, 'newer')
  cpSync(dataDir, newer, { recursive: true })
  const database = new Sqlite(join(newer, 'callgate.sqlite'))
  database.exec("insert into kysely_migration values ('9999-future', '')")
  database.close()
  const environment = { ...environmentFor(newer), CALLGATE_HTTP_PORT: '0' }
  const refusal =
    /has a newer schema than this program knows \(9999-future\)\. Install the callgate version/i
  for (const args of [['serve'], ['backup', join(root, 'of-newer')]]) {
    const { code, err } = await callgate(args, environment)
    expect({ args, code }).toEqual({ args, code: 1 })
    expect(err).toMatch(refusal)
    expect(err).not.toContain('    at ')
  }
})

it('goes back with the backup from before the upgrade, whose schema is still the old one', async () => {
  const back = join(root, 'back')
  expect(await callgate(['restore', backup()], environmentFor(back))).toMatchObject({ code: 0 })
  expect(readMigrations(back).at(-1)).toBe('0006-scrub-terms')
})
