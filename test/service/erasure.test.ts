/** What an erasure does with each table, and that no table with a number is forgotten. */
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { openErasures } from '../../src/app/journal/erasures.js'
import { parsePhoneNumber } from '../../src/domain/phone-number.js'
import { systemClock } from '../../src/runtime/runtime.js'
import { createReadLog } from '../../src/service/audit/read-log.js'
import type { ErasureRequest } from '../../src/service/erasure/erasure.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const number = '2125550106'
let running: TestCallgate
let database: Sqlite.Database

beforeAll(async () => {
  running = await openTestCallgate()
  database = new Sqlite(join(running.dataDir, 'callgate.sqlite'), { timeout: 5_000 })
})

afterAll(async () => {
  database.close()
  await running.end()
})

afterEach(() => {
  running.clock.at = mondayNoon
})

const erasures = () => openErasures(running.callgate)

function requestFor(more: Partial<ErasureRequest> = {}): ErasureRequest {
  const parsed = parsePhoneNumber(number)
  if (parsed === undefined) throw new Error('not a number')
  return {
    number: parsed,
    accountId: undefined,
    includesAllowed: false,
    reason: undefined,
    requestedBy: 'tester',
    keepYears: 5,
    ...more,
  }
}

const tables = () =>
  database
    .prepare<[], string>(
      "select name from sqlite_master where type = 'table' and name not like 'kysely%' and name not like 'sqlite%'",
    )
    .pluck()
    .all()

interface Column {
  readonly name: string
  readonly type: string
}

const columnsOf = (table: string) =>
  database.prepare<[], Column>(`select name, type from pragma_table_info('${table}')`).all()

/** Columns of any row that has the number, as `table.column`. */
function findNumber(): readonly string[] {
  return tables().flatMap((table) =>
    columnsOf(table).flatMap(({ name }) => {
      const sql = `select count(*) from ${table} where cast("${name}" as text) like '%${number}%'`
      return database.prepare(sql).pluck().get() === 0 ? [] : [`${table}.${name}`]
    }),
  )
}

/**
 * The columns of text that may have the number after an erasure: ids, names and codes that operators and
 * customers choose, data of the account's own companies, and what the law has kept. Before you add one, make
 * sure that it has no number of a called person, or that `erased-rows.ts` keeps it and says why.
 */
const kept: Readonly<Record<string, string>> = {
  abandonment_counts: 'campaign rule',
  access_tokens: 'token_hash key_id call_limits',
  accounts: 'id kind name country webhook_secret',
  answered_calls: 'decision_id answered_by counted rang',
  api_keys: 'id key_hash label role root rights projects call_kinds call_limits',
  attempts: 'decision_id key_id purpose subject',
  caller_ids: 'number project owner proof carrier attestation added_by ended_by presence',
  // Of those who do not call, and not of those who are called.
  do_not_originate: 'prefix source imported_by',
  audit: 'who door action subject_kind mark',
  campaigns: 'project_code name status',
  // What was shown to the person, and where.
  consents:
    'id project_code number seller channel method wording wording_sha256 page certificate purposes kinds ends_on key_id',
  // Of those who sign in.
  console_sessions: 'hash key_id person role',
  ebr_records:
    'project_code type contact_on confirmed_on obligation_ends_on reference_num brand key_id number consent',
  erasures: 'id requested_by reason rows',
  // Empty except on an edge. An opt-out is kept, and is there only until the center has it.
  edge_copy: 'cursor missing',
  edge_opt_outs: 'project list number',
  internal_dnc: 'list key_id number',
  internal_dnc_lists: 'list',
  journal_positions: 'origin leaf',
  key_uses: 'key_id',
  // Of those who sign in.
  people: 'id email role',
  key_versions: 'key_id limits changed_by',
  legal_entities:
    'legal_name ein street_address city state zip country_code primary_phone_number more',
  list_rights: 'list owner_id because granted_by ended_by',
  list_versions: 'name version sha256 published_by',
  pauses: 'subject paused_by reason',
  opt_out_statements: 'id list number decision_id source key_id scope channel read_by',
  permit_keys: 'edge private_key',
  platform_reports: 'platform',
  project_hours: 'project_code region mon_fri sat sun effective_from effective_until',
  projects:
    'code name status notes san org_id webhook_url ftc_status ftc_message ftc_expires_on ftc_area_codes',
  scan_jobs: 'id status scan_type notification_url notification_key failure',
  // Names an account, and no number.
  shared_limits: 'key',
  state_registrations: 'project_code state status confirmation',
  webhook_attempts: 'event_id error',
  webhook_events: 'id kind subject event url lane api_key state',
}

it('leaves the number in no column but those that are known', async () => {
  database.pragma('foreign_keys = off')
  for (const table of tables()) {
    if (table === 'change_head') continue
    const columns = columnsOf(table)
    const values = columns.map(({ name, type }) => {
      if (name === 'account_id') return 'main'
      if (name === 'superseded_at' || name === 'erase_at') return null
      if (table === 'erasures' && name === 'finished_at') return 1
      return type.toLowerCase() === 'text' ? number : 12_345
    })
    const places = columns.map(() => '?').join()
    database.prepare(`insert into ${table} values (${places})`).run(values)
  }
  const filled = findNumber()
  expect(filled.length).toBeGreaterThan(60)

  const preview = await erasures().preview(requestFor())
  expect(findNumber()).toEqual(filled)
  const id = await erasures().request(requestFor())
  expect((await erasures().find(id))?.rows).toEqual(preview)
  expect(findNumber()).toContain('erasures.number')
  await erasures().finishJournal(id, '', { erased: 3, kept: 1 })
  // That of the other request, which is not finished by this.
  database.prepare('update erasures set number = null where id <> ?').run(id)
  const known = Object.entries(kept).flatMap(([table, columns]) =>
    columns.split(' ').map((column) => `${table}.${column}`),
  )
  expect(findNumber().toSorted()).toEqual(known.toSorted())
  expect(preview.map(({ what, count, result }) => [what, count, result])).toEqual([
    ['opt-outs (internal do-not-call list)', 1, 'kept'],
    ['statements of opt-outs', 1, 'reduced'],
    ['consents', 1, 'reduced'],
    ['relationship and permission records', 1, 'reduced'],
    ['monitored numbers', 1, 'deleted'],
    ['observations of spam labels', 1, 'deleted'],
    ['removed spam labels', 1, 'deleted'],
    ['permits', 1, 'deleted'],
    ['numbers of ended scans', 1, 'deleted'],
    ['attempts', 1, 'reduced'],
    ['approvals of calls', 1, 'deleted'],
    ['changes that two people make', 1, 'deleted'],
    ['events of voice platforms', 1, 'deleted'],
    ['calls at voice platforms', 1, 'deleted'],
    ['resolved unclear opt-outs', 1, 'deleted'],
    ['webhook events', 1, 'reduced'],
    ['legal entities', 1, 'kept'],
    ['audit rows', 1, 'reduced'],
  ])
  for (const { result, why } of preview)
    expect([result, why !== undefined]).toEqual([result, result !== 'deleted'])
  const recorded = await erasures().list()
  expect(recorded.find((erasure) => erasure.id === id)).toMatchObject({
    requestedBy: 'tester',
    decisions: { erased: 3, kept: 1 },
  })
})

it('takes the number from audit rows, also where it is hashed, and from no others', async () => {
  const { storage } = running.callgate
  const recordRead = createReadLog(storage, systemClock)
  const read = async (accountId: string, id: string) =>
    await recordRead(
      { accountId, keyId: '' },
      { what: 'numbers.read', subject: { kind: 'number', id }, rows: 1, purpose: `asked: ${id}` },
    )
  await read('main', number)
  await read('main', '2125550199')
  await read('sandbox', number)
  await erasures().request(requestFor({ accountId: 'main' }))
  const rows = database
    .prepare("select account_id, subject, reason from audit where action = 'numbers.read'")
    .raw()
    .all()
  expect(rows).toEqual([
    ['main', 'erased', 'asked: xxxxxxxxxx'],
    ['main', expect.stringMatching(/-0199$/), 'asked: 2125550199'],
    ['sandbox', expect.stringMatching(/-0106$/), `asked: ${number}`],
  ])
})

it('ends a consent, keeps it as long as the law asks, and deletes it then', async () => {
  database.exec('delete from ebr_records')
  const insert = database.prepare(
    "insert into ebr_records (account_id, project_code, number, type, contact_on, email, recorded_at, stored_at, stored_seq, imported, lifts_opt_out, key_id, superseded_at) values (?, 'main', ?, 'P', '2021-01-01', 'jane@example.com', 1, 1, 0, 0, 1, 'k', ?)",
  )
  const [year, at] = [365.25 * 86_400_000, running.clock.at]
  insert.run('main', number, null)
  insert.run('main', number, at - 4 * year)
  insert.run('main', number, at - 6 * year)
  insert.run('main', '2125550199', null)
  insert.run('sandbox', number, null)
  const rows = await erasures().preview(requestFor({ accountId: 'main' }))
  expect(rows.filter(({ what }) => what.startsWith('relationship'))).toMatchObject([
    { count: 1, result: 'deleted' },
    { count: 2, result: 'reduced' },
  ])
  await erasures().request(requestFor({ accountId: 'main' }))
  const left = () =>
    database
      .prepare(
        'select account_id, number, email, superseded_at is null as current from ebr_records',
      )
      .raw()
      .all()
  const untouched = [
    ['main', '2125550199', 'jane@example.com', 1],
    ['sandbox', number, 'jane@example.com', 1],
  ]
  const reduced = ['main', number, null, 0]
  expect(left()).toEqual([reduced, reduced, ...untouched])
  running.clock.at = at + 1.1 * year
  await erasures().deleteExpired(running.clock.at)
  expect(left()).toEqual([reduced, ...untouched])
  running.clock.at = at + 5.1 * year
  await erasures().deleteExpired(running.clock.at)
  expect(left()).toEqual(untouched)
})

it('takes the name of the person from a stored consent, and deletes it later', async () => {
  database.exec('delete from consents')
  const insert = database.prepare(
    `insert into consents (id, account_id, project_code, number, given_at, seller, channel, method, wording, wording_sha256,
      person, recorded_at, key_id) values (?, ?, 'main', ?, 1, 'Acme', 'web', 'written', 'I agree', 'x', 'Jane', 1, 'k')`,
  )
  insert.run('c1', 'main', number)
  insert.run('c2', 'main', '2125550199')
  insert.run('c3', 'sandbox', number)
  const left = () => database.prepare('select id, person from consents order by id').raw().all()
  await erasures().request(requestFor({ accountId: 'main' }))
  const untouched = [
    ['c2', 'Jane'],
    ['c3', 'Jane'],
  ]
  expect(left()).toEqual([['c1', null], ...untouched])
  running.clock.at += 5.1 * 365.25 * 86_400_000
  await erasures().deleteExpired(running.clock.at)
  expect(left()).toEqual(untouched)
})

it('deletes a stored consent five years after the last call that can have rested on it', async () => {
  database.exec('delete from consents; delete from ebr_records')
  const [year, at] = [365.25 * 86_400_000, running.clock.at]
  const insertConsent = database.prepare(
    `insert into consents (id, account_id, project_code, number, given_at, seller, channel, method, wording, wording_sha256,
      ends_on, recorded_at, key_id) values (?, 'main', 'main', ?, 1, 'Acme', 'web', 'written', 'I agree', 'x', ?, ?, 'k')`,
  )
  const insertRecord = database.prepare(
    `insert into ebr_records (account_id, project_code, number, type, contact_on, recorded_at, stored_at, stored_seq, imported,
      lifts_opt_out, key_id, consent, superseded_at) values ('main', 'main', ?, 'P', '2019-01-01', 1, 1, 0, 0, 1, 'k', json_object('id', ?), ?)`,
  )
  const add = (id: string, ends: string | null, replacedAt: number | null, storedAt: number) => {
    insertConsent.run(id, number, ends, storedAt)
    insertRecord.run(number, id, replacedAt)
  }
  add('in-force', null, null, at - 7 * year)
  add('ended-long-ago', '2020-01-31', at - year, at - 7 * year)
  add('ended', '2022-11-23', at - year, at - 7 * year)
  add('stored-after-its-end', '2020-01-31', at - 2 * year, at - 2 * year)
  add('replaced-long-ago', null, at - 6 * year, at - 7 * year)
  add('replaced', '2030-01-31', at - 3 * year, at - 7 * year)
  const left = () => database.prepare('select id from consents order by id').pluck().all()
  const rows = await erasures().preview(requestFor())
  expect(rows.filter(({ what }) => what === 'consents')).toMatchObject([
    { count: 2, result: 'deleted' },
    { count: 4, result: 'reduced' },
  ])
  await erasures().request(requestFor())
  const kept = ['ended', 'in-force', 'replaced', 'stored-after-its-end']
  expect(left()).toEqual(kept)
  const leftAfter = async (years: number) => {
    running.clock.at = at + years * year
    // Another erasure keeps none of them any longer.
    await erasures().request(requestFor())
    await erasures().deleteExpired(running.clock.at)
    return left()
  }
  expect(await leftAfter(0.9)).toEqual(kept)
  expect(await leftAfter(1.1)).toEqual(['in-force', 'replaced', 'stored-after-its-end'])
  expect(await leftAfter(2.1)).toEqual(['in-force', 'stored-after-its-end'])
  expect(await leftAfter(3.1)).toEqual(['in-force'])
  expect(await leftAfter(4.9)).toEqual(['in-force'])
  expect(await leftAfter(5.1)).toEqual([])
})

it('takes the id of a debt from the attempts of its calls, and no other subject', async () => {
  database.exec('delete from attempts')
  const insert = database.prepare(
    "insert into attempts (decision_id, key_id, account_id, number, at, subject, purpose) values (?, 'k', 'main', ?, 1, ?, ?)",
  )
  insert.run('a1', number, 'debt-77', 'debt-collection')
  insert.run('a2', number, 'solar', 'telemarketing')
  insert.run('a3', '2125550199', 'debt-78', 'debt-collection')
  await erasures().request(requestFor())
  const subjects = database.prepare('select subject from attempts order by decision_id').pluck()
  expect(subjects.all()).toEqual([null, 'solar', 'debt-78'])
})

it('deletes permits that have the number only in what the call is about, or in the name of the person', async () => {
  database.exec('delete from permits')
  const columns = columnsOf('permits')
  const add = (id: string, more: Readonly<Record<string, string>>) => {
    const values = columns.map(({ name, type }) => {
      const usual = type.toLowerCase() === 'text' ? id : 12_345
      return more[name] ?? (name === 'account_id' ? 'main' : usual)
    })
    database.prepare(`insert into permits values (${columns.map(() => '?').join()})`).run(values)
  }
  add('by-subject', { subject: `debt-${number}` })
  add('by-person', { person: `tel:${number}` })
  add('of-another', { subject: 'debt-2125550107', person: 'tel:2125550107' })
  await erasures().request(requestFor())
  expect(findNumber().filter((column) => column.startsWith('permits.'))).toEqual([])
  expect(database.prepare('select subject from permits').pluck().all()).toEqual(['debt-2125550107'])
})

it('keeps the number of a scan in progress, and says so', async () => {
  database.exec('delete from scan_jobs; delete from scan_numbers')
  database.pragma('foreign_keys = off')
  const job = database.prepare(
    "insert into scan_jobs values ('job', 'main', 'Processing', 'carrier', 'https://example.com', null, 1, 0, 0, 0, 1, 1, null, null)",
  )
  job.run()
  database.prepare("insert into scan_numbers values ('job', 0, ?, null)").run(number)
  const rows = await erasures().preview(requestFor())
  expect(rows).toContainEqual({
    what: 'numbers of scans in progress',
    count: 1,
    result: 'kept',
    why: 'until the scan has ended: erase the number again then',
  })
})
