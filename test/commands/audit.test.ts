/** `callgate audit`, and who is named in the rows of other commands. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { registerAccounts } from '../../src/commands/accounts/accounts.js'
import { registerAudit } from '../../src/commands/accounts/audit.js'
import { registerKeys } from '../../src/commands/accounts/keys.js'
import type { RegisterCommand } from '../../src/commands/command.js'
import { registerErase } from '../../src/commands/erase.js'
import { registerImport } from '../../src/commands/import/import.js'
import { findUser } from '../../src/commands/option-values.js'
import { registerOptOuts } from '../../src/commands/records/opt-outs.js'
import { registerRecords } from '../../src/commands/records/records.js'
import type { AuditRecord } from '../../src/storage/audit/audit-log.js'
import { writeMigratedDatabase } from '../support/database.js'
import { runCommand } from '../support/run-command.js'

let dataDir: string
const number = '2125550123'

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-audit-'))
  await writeMigratedDatabase(dataDir)
})

afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const run = (add: RegisterCommand, ...args: string[]) => runCommand(add, args, { dataDir })

async function readRows(...args: string[]): Promise<readonly AuditRecord[]> {
  const { code, out, err } = await run(registerAudit, 'audit', '--json', ...args)
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out).records
}

const by = (words: string) => ({ who: `user:${findUser()}`, door: `command ${words}` })

it('names the user and the command', async () => {
  await run(registerKeys, 'keys', 'create', '--account', 'main')
  await run(
    registerAccounts,
    'accounts',
    'shadow',
    'main',
    '--check',
    'attempts',
    '--because',
    'a complaint',
  )
  const rows = await readRows()
  expect(rows.slice(0, 2)).toMatchObject([
    { action: 'pause.ordered', reason: 'a complaint', ...by('accounts shadow') },
    { action: 'key.created', ...by('keys create') },
  ])
  const { out } = await run(registerAudit, 'audit', '--action', 'pause.ordered')
  expect(out).toMatch(/^no +at +who +through +action/)
  expect(out).toContain('a complaint')
  expect(out.split('\n')).toHaveLength(3)
})

it('has one row for an import, with the count and the checksum of the file', async () => {
  const file = join(dataDir, 'opt-outs.csv')
  writeFileSync(file, `number,date\n${number},2026-11-01\n2125550124,2026-11-01\n`)
  const imported = await run(registerRecords, 'records', 'import', 'opt-outs', file)
  expect([imported.code, imported.err]).toEqual([0, imported.err])
  expect(await readRows('--action', 'opt-outs.imported')).toMatchObject([
    {
      subject: { kind: 'import', id: 'opt-outs.csv' },
      after: { numbers: { added: 2 }, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      ...by('records import opt-outs'),
    },
  ])
  const list = join(dataDir, 'numbers.txt')
  writeFileSync(list, `${number}\n`)
  const lists = ['import', 'list', 'custom-own', list, '--area-codes', 'all']
  expect(await run(registerImport, ...lists, '--dry-run')).toMatchObject({ code: 0 })
  expect(await readRows('--action', 'data.imported')).toEqual([])
  expect(await run(registerImport, ...lists)).toMatchObject({ code: 0 })
  expect(await readRows('--action', 'data.imported')).toMatchObject([
    {
      subject: { kind: 'import', id: 'custom-own' },
      after: [{ size: 1, sources: [{ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }] }],
    },
  ])
})

it('has a row for each read of personal data', async () => {
  await run(registerRecords, 'records', 'export', 'opt-outs')
  await run(registerOptOuts, 'opt-outs', 'list', '--number', number)
  await run(registerErase, 'erase', '--number', number, '--dry-run')
  const rows = await readRows()
  const hashed = { kind: 'number', id: expect.stringMatching(/^[0-9a-f]{32}-0123$/) }
  expect(rows.slice(0, 3)).toMatchObject([
    { action: 'erasure.previewed', subject: hashed },
    { action: 'opt-outs.read', subject: hashed, after: { rows: 0 } },
    { action: 'records.exported', subject: { kind: 'opt-outs', id: 'main' } },
  ])
  const ofNumber = await readRows('--subject', number)
  expect(ofNumber.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['erasure.previewed', 'opt-outs.read']),
  )
})

it('refuses a wrong time, an unknown account and a wrong cursor', async () => {
  expect(await run(registerAudit, 'audit', '--since', 'x')).toMatchObject({ code: 2 })
  expect(await run(registerAudit, 'audit', '--account', 'none')).toMatchObject({ code: 2 })
  const { err } = await run(registerAudit, 'audit', '--cursor', 'x')
  expect(err).toContain("cursor 'x': must be the cursor of the page before")
})
