/** `callgate projects ftc-validation` and `registration`, as an operator uses them. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerProjects } from '../../src/commands/accounts/projects.js'
import { systemClock, systemTimers } from '../../src/runtime/runtime.js'
import { Projects } from '../../src/service/projects/projects.js'
import { openDatabase } from '../../src/storage/engine.js'
import type { Db } from '../../src/storage/tables.js'
import { noWebhooks } from '../support/no-webhooks.js'
import { runCommand } from '../support/run-command.js'
import { alone, caller, recordChanges } from '../support/service-subjects.js'

let dataDir: string

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-projects-'))
  expect((await run('create', 'sales')).out).toBe('SALES\n')
})

afterAll(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const run = (...args: string[]) => runCommand(registerProjects, ['projects', ...args], { dataDir })

/** Looks into the data of the program as another process does. */
async function withData<Result>(look: (db: Db, projects: Projects) => Promise<Result>) {
  const storage = await openDatabase({
    dataDir,
    lockWaitMs: 1_000,
    blockForLockMs: 1_000,
  })
  try {
    const projects = new Projects({
      storage,
      clock: systemClock,
      timers: systemTimers,
      changes: recordChanges(),
      webhooks: noWebhooks,
      ...alone,
    })
    return await look(storage.db, projects)
  } finally {
    await storage.close()
  }
}

const show = () => withData((_db, projects) => projects.records.get(caller('main'), 'SALES'))

test('what registries say is recorded, and kept to be told', async () => {
  await withData((db) =>
    db
      .updateTable('projects')
      .set({ webhook_url: 'https://hooks.example.com/p' })
      .where('code', '=', 'SALES')
      .execute(),
  )
  const validation = await run(
    'ftc-validation',
    'sales',
    '--status',
    'validated',
    '--san',
    '1122-334455-26',
    '--org-id',
    '7',
    '--message',
    'all well',
    '--expiration',
    '2199-12-31',
    '--area-codes',
    '646, 212',
  )
  expect(validation).toEqual({
    code: 0,
    out: '',
    err: 'SALES: federal validation is validated; scrubs of this project now give letter B for US area codes it does not cover\n',
  })
  const registration = await run(
    'registration',
    'SALES',
    'fl',
    '--status',
    'submitted',
    '--confirmation',
    'A-1',
    '--submitted-on',
    '2026-11-01',
  )
  expect(registration.err).toBe('SALES: registration in FL is submitted\n')
  expect(await show()).toMatchObject({
    FtcValidation: {
      Status: 'validated',
      OrgId: '7',
      San: '1122-334455-26',
      Message: 'all well',
      Expiration: '2199-12-31',
      HasEntireUs: false,
      AreaCodes: ['212', '646'],
    },
    StateRegistrations: {
      FL: { Status: 'submitted', Confirmation: 'A-1', SubmittedOn: '2026-11-01T00:00:00Z' },
    },
  })
  const kept = await withData((db) => db.selectFrom('webhook_events').selectAll().execute())
  expect(kept.map(({ event, state }) => [event, state]).sort()).toEqual([
    ['project.ftcValidation', 'pending'],
    ['project.stateRegistration', 'pending'],
  ])
  await run('ftc-validation', 'SALES', '--status', 'failed', '--entire-us')
  expect((await show()).FtcValidation).toMatchObject({ Status: 'failed', HasEntireUs: true })
})

test('the list shows what opens or closes calls, as it was set', async () => {
  await run('create', 'open', '--inherit-internal-dnc', '--inherit-ebr')
  const set = await run('set', 'open', '--industry-exemption', 'yes', '--voip-restricted', 'yes')
  expect(set).toEqual({ code: 0, out: '', err: 'OPEN: changed\n' })
  const row = async () => {
    const { out } = await run('list')
    return out.split('\n').find((line) => line.startsWith('OPEN'))
  }
  expect(await row()).toMatch(/^OPEN +active +exempt +restricted +internal-dnc, ebr +- +\d+/)
  expect((await run('deactivate', 'open')).err).toBe('OPEN: is inactive\n')
  expect(await row()).toMatch(/^OPEN +inactive +exempt/)
  expect((await run('reactivate', 'OPEN')).err).toBe('OPEN: is active\n')
  await run('set', 'open', '--industry-exemption', 'no')
  expect(await row()).toMatch(/^OPEN +active +- +restricted/)
})

test('a project’s own hours can be taken away again', async () => {
  const week = ['--mon-fri', '09:00-18:00', '--sat', 'none', '--sun', 'none']
  const hours = () => withData((db) => db.selectFrom('project_hours').selectAll().execute())
  expect((await run('hours', 'SALES', 'NY', ...week)).err).toBe('SALES: hours for NY are set\n')
  expect(await hours()).toHaveLength(1)
  const removed = await run('hours', 'SALES', 'NY', '--remove')
  expect(removed).toEqual({ code: 0, out: '', err: 'SALES: hours for NY are removed\n' })
  expect(await hours()).toEqual([])
})

describe('refused, with exit code and reason', () => {
  test.each([
    [['ftc-validation', 'SALES', '--status', 'good'], 2, 'pending, validated, failed, expired'],
    [['deactivate', 'NOPE'], 1, "projectCode 'NOPE': is not"],
    [['deactivate', 'main'], 1, 'is the Master Project, which cannot be deactivated'],
    [['set', 'SALES'], 2, 'nothing to change'],
    [['set', 'SALES', '--voip-restricted', 'maybe'], 2, 'yes, no'],
    [['hours', 'SALES', 'NY', '--sat', 'none'], 2, 'give --mon-fri, --sat and --sun, or --remove'],
    [['hours', 'SALES', 'TX', '--remove'], 1, "region 'TX': is not a region with project hours"],
    [['hours', 'SALES', 'TX', '--remove', '--sat', 'none'], 2, 'cannot be used with'],
    [['ftc-validation', 'NOPE', '--status', 'failed'], 1, "projectCode 'NOPE': is not a project"],
    [
      ['ftc-validation', 'SALES', '--status', 'failed', '--entire-us', '--area-codes', '212'],
      2,
      "'--entire-us' cannot be used with option '--area-codes",
    ],
    [
      ['ftc-validation', 'SALES', '--status', 'failed', '--account', 'nobody'],
      2,
      "account 'nobody' not found",
    ],
    [
      ['registration', 'SALES', 'ON', '--status', 'approved'],
      1,
      "state 'ON': must be a two-letter",
    ],
    [
      ['registration', 'SALES', 'FL', '--status', 'draft', '--submitted-on', 'soon'],
      2,
      'must be an ISO 8601 date',
    ],
  ])('%j', async (args, code, reason) => {
    const ended = await run(...args)
    expect(ended.err).toContain(reason)
    expect(ended.code).toBe(code)
  })
})
