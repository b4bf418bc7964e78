/** Opt-outs and consents in bulk: all or none, and each as old as its row says. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { exportEbrRecords, exportOptOuts } from '../../../src/service/records/records-export.js'
import {
  importEbrRecords,
  importOptOuts,
  type RecordsImportOptions,
} from '../../../src/service/records/records-import.js'
import { caller } from '../../support/service-subjects.js'
import type { TestCallgate } from '../../support/test-callgate.js'
import { openTwoAccounts } from '../../support/two-accounts.js'

const number = '2127361000'
const hour = 3_600_000

let running: TestCallgate
beforeEach(async () => {
  running = (await openTwoAccounts()).running
})
afterEach(async () => await running.end())

type More = Partial<RecordsImportOptions> & {
  readonly undated?: boolean
  readonly type?: 'P' | 'S'
}

function parts() {
  const { storage, projects, changes, changeHead, changeRequests, runtime, data } = running.callgate
  const { plan: numberingPlan } = data
  const deps = { storage, projects, changes, changeHead, changeRequests, numberingPlan }
  return { ...deps, clock: runtime.clock }
}

function file(text: string): string {
  const path = join(running.dataDir, 'rows.csv')
  writeFileSync(path, text)
  return path
}

async function optOuts(text: string, more: More = {}) {
  const { undated = false, type: _, ...rest } = more
  const wanted = { accountId: 'main', path: file(text), source: 'crm', undated }
  return toldOf(await importOptOuts(parts(), { ...wanted, ...rest }))
}

async function consents(text: string, more: More = {}) {
  const { undated: _, type, ...rest } = more
  const wanted = { accountId: 'main', path: file(text), source: 'crm', type }
  return toldOf(await importEbrRecords(parts(), { ...wanted, ...rest }))
}

function toldOf({ outcomes }: Awaited<ReturnType<typeof importOptOuts>>) {
  return outcomes.map(([words, numbers]) => `${numbers} ${words}`).join('; ')
}

async function decide(dialed = number) {
  const asked = { number: dialed, callKind: 'ai' }
  const answer = await running.postJson('/v1/decisions', asked, running.keys.main)
  const { decision, reason } = (await answer.json()) as Record<string, string>
  return `${decision} ${reason}`
}

async function pdnc(actionType: 'add' | 'remove' | 'count', phoneList = number, projId = '') {
  const body = actionType === 'count' ? { actionType, projId } : { actionType, phoneList }
  const answer = await running.postJson('/app/main/rpc/pdnc', body, running.keys.main)
  expect(answer.status).toBe(200)
  return await answer.json().catch(() => undefined)
}

async function ebr(dateOfLastContact: string, type = 'P') {
  const ebrList = [{ phoneNumber: number, type, dateOfLastContact }]
  await running.postJson('/app/main/rpc/ebr', { ebrList }, running.keys.main)
}

async function onFile() {
  const path = `/app/main/rpc/ebr?phoneList=${number}`
  return (await (await running.get(path, running.keys.main)).json()) as Record<string, unknown>[]
}

const oneOptOut = (date: string, of = number) => `number,date\n${of},${date}\n`
const oneConsent = (date: string, type = 'P', of = number) =>
  `number,type,date\n${of},${type},${date}\n`

describe('whichever is newer counts, whatever was imported first', () => {
  const cases = [
    ['2026-03-05', '2026-03-06', 'allow permitted'],
    ['2026-03-05', '2026-03-05', 'block consent-revoked'],
    ['2026-03-05', '2026-03-04', 'block consent-revoked'],
    ['03/25/2026', '3/26/2026', 'allow permitted'],
    ['2026-03-05T10:00:00Z', '2026-03-05T10:00:01Z', 'allow permitted'],
    ['2026-03-05T10:00:00Z', '2026-03-05T10:00:00Z', 'block consent-revoked'],
    ['2026-03-05T10:00:00-05:00', '2026-03-05T14:59:59Z', 'block consent-revoked'],
    ['2026-03-05 10:00:00', '2026-03-05 18:00:00', 'block consent-revoked'],
  ] as const
  const numberOf = (index: number) => `${Number(number) + index}`

  test('the opt-out first', async () => {
    for (const [index, [optOut, consent, is]] of cases.entries()) {
      const dialed = numberOf(index)
      await optOuts(oneOptOut(optOut, dialed))
      expect(await decide(dialed)).toBe('block internal-dnc')
      await consents(oneConsent(consent, 'P', dialed))
      expect([optOut, consent, await decide(dialed)]).toEqual([optOut, consent, is])
    }
  })

  test('the consent first', async () => {
    for (const [index, [optOut, consent, is]] of cases.entries()) {
      const dialed = numberOf(index)
      await consents(oneConsent(consent, 'P', dialed))
      expect(await decide(dialed)).toBe('allow permitted')
      await optOuts(oneOptOut(optOut, dialed))
      expect([optOut, consent, await decide(dialed)]).toEqual([optOut, consent, is])
    }
  })

  test('records of the API are compared with imported ones by their dates too', async () => {
    await ebr('2026-03-06')
    await optOuts(oneOptOut('2026-03-05'))
    expect(await decide()).toBe('allow permitted')
    await optOuts(oneOptOut('2026-03-06'))
    expect(await decide()).toBe('block consent-revoked')
  })

  test('an opt-out of the API is newer than any consent of a file', async () => {
    await pdnc('add')
    await consents(oneConsent('2026-11-22'))
    expect(await decide()).toBe('block consent-revoked')
    await pdnc('remove')
    expect(await decide()).toMatch(/^block/)
  })

  test('a consent of a file is not newer than an opt-out of its day, also once that is gone', async () => {
    await pdnc('add')
    running.clock.at += hour
    await consents(oneConsent('2026-11-23'))
    await pdnc('remove')
    expect(await decide()).toMatch(/^block/)
    await ebr('2026-11-23')
    expect(await decide()).toBe('allow permitted')
  })

  test('an opt-out of today does not outlast its import', async () => {
    await optOuts(oneOptOut('2026-11-23'))
    running.clock.at += hour
    await ebr('2026-11-23T17:30:00Z')
    expect(await decide()).toBe('allow permitted')
  })
})

describe('opt-outs', () => {
  test('one older than the removal of its number leaves it off, and still ends consents', async () => {
    await pdnc('add')
    await pdnc('remove')
    expect(await optOuts(oneOptOut('2026-11-22'))).toBe('1 left out: removed from the list since')
    expect(await pdnc('count')).toMatchObject({ count: 0 })
    expect(await optOuts(oneOptOut('2026-11-23'))).toBe('1 added to the list again')
    expect(await pdnc('count')).toMatchObject({ count: 1 })
  })

  test('one of a day counts until that day has ended everywhere', async () => {
    await pdnc('add')
    running.clock.at = Date.UTC(2026, 10, 24, 8)
    await pdnc('remove')
    running.clock.at = Date.UTC(2026, 10, 25, 12)
    expect(await optOuts(oneOptOut('2026-11-23'))).toBe('1 added to the list again')
  })

  test('one of a day beside one of its evening, which is the next day in UTC, ends both', async () => {
    const evening = `number,date\n${number},2026-03-06T02:00:00Z\n${number},2026-03-05\n`
    await optOuts(evening)
    await consents(`number,type,date\n${number},P,2026-03-06T03:00:00Z\n`)
    expect(await decide()).toBe('block consent-revoked')
    expect(await optOuts(evening)).toBe('1 already on the list')
  })

  test('one of the day of a consent ends it, also with an older opt-out of the API', async () => {
    await pdnc('add')
    running.clock.at += 24 * hour
    await ebr('2026-11-24', 'S')
    await pdnc('remove')
    running.clock.at += 48 * hour
    await optOuts(oneOptOut('2026-11-24'))
    await pdnc('remove')
    const written = { accountId: 'main', write: () => undefined }
    expect(await exportEbrRecords(parts(), written)).toMatchObject({ rows: 0, omitted: 1 })
  })

  test('one with a time wins a tie too, beside an older opt-out of the API and once it is gone', async () => {
    await pdnc('add')
    running.clock.at += 24 * hour
    await optOuts(oneOptOut('2026-11-24T15:00:00Z'))
    await ebr('2026-11-24')
    await pdnc('remove')
    expect(await decide()).toMatch(/^block/)
    await pdnc('add')
    await ebr('2026-11-24')
    await pdnc('remove')
    expect(await decide()).toBe('allow permitted')
  })

  test('the same beside an older opt-out of the list that its own is carried to', async () => {
    const { projects } = running.callgate
    const code = 'SPRING'
    const inherits = { inheritsInternalDnc: false, inheritsEbr: true }
    const both = { industryExemption: false, voipRestricted: false, name: 'Spring', ...inherits }
    await projects.create({ accountId: 'main', code, ...both })
    await pdnc('add')
    running.clock.at += 24 * hour
    await optOuts(oneOptOut('2026-11-24T15:00:00Z'), { projectId: code })
    await ebr('2026-11-24')
    const input = { inheritsInternalDnc: true }
    await projects.records.update(caller('main'), { code, bodyCode: undefined, input })
    await pdnc('remove')
    expect(await decide()).toMatch(/^block/)
  })

  test('one of a day keeps its evening when its list is joined with one that has a time then', async () => {
    const { projects } = running.callgate
    const code = 'SPRING'
    const inherits = { inheritsInternalDnc: false, inheritsEbr: true }
    const both = { industryExemption: false, voipRestricted: false, name: 'Spring', ...inherits }
    await projects.create({ accountId: 'main', code, ...both })
    await optOuts(oneOptOut('2026-03-05'), { projectId: code })
    await optOuts(oneOptOut('2026-03-06T02:00:00Z'))
    await consents(oneConsent('2026-03-06T03:00:00Z'))
    expect(await decide()).toBe('allow permitted')
    const input = { inheritsInternalDnc: true }
    await projects.records.update(caller('main'), { code, bodyCode: undefined, input })
    expect(await decide()).toBe('block consent-revoked')
  })

  test('one of which the same is on file changes nothing', async () => {
    expect(await optOuts(oneOptOut('2026-03-05'))).toBe('1 added to the list')
    expect(await optOuts(oneOptOut('2026-03-05'))).toBe('1 already on the list')
    expect(await optOuts(oneOptOut('2026-03-06'))).toBe(
      '1 already on the list, with an earlier opt-out',
    )
  })

  test('rows without a date are refused, or with --undated opt-outs of now', async () => {
    await expect(optOuts(`number\n${number}\n`)).rejects.toThrow('no date column')
    await expect(optOuts(`number,date\n${number},\n`)).rejects.toThrow(
      "line 2 '': date is missing; with --undated",
    )
    await consents(oneConsent('2026-11-22'))
    expect(await optOuts(`${number}\n`, { undated: true })).toBe('1 added to the list')
    expect(await decide()).toBe('block consent-revoked')
    running.clock.at += hour
    await ebr('2026-11-23T17:30:00Z')
    expect(await decide()).toBe('allow permitted')
    await running.callgate.accounts.set('main', { repeatedAdd: 'ignored' })
    expect(await optOuts(`${number}\n`, { undated: true })).toBe('1 already on the list')
    expect(await decide()).toBe('allow permitted')
  })

  test('shows the day as the day of the entry', async () => {
    await optOuts(oneOptOut('2026-03-05'))
    const asked = { actionType: 'status', phoneList: number }
    const answer = await running.postJson('/app/main/rpc/pdnc', asked, running.keys.main)
    expect(await answer.text()).toContain('2026-03-05')
  })
})

describe('consents', () => {
  test('the newest is in force, whatever the order of rows and of imports', async () => {
    const rows = [`${number},S,2026-05-01`, `${number},P,2026-06-01`, `${number},I,2026-06-01`]
    expect(await consents(`number,type,date\n${rows.join('\n')}\n`)).toBe('1 stored')
    expect(await onFile()).toMatchObject([{ type: 'P', dateOfLastContact: '2026-06-01' }])
    expect(await consents(oneConsent('2026-05-30', 'S'))).toBe(
      '1 left out: a newer record is on file',
    )
    expect(await consents(oneConsent('2026-06-02', 'S'))).toBe(
      '1 stored in place of an older record',
    )
    expect(await onFile()).toMatchObject([{ type: 'S', recordedBy: 'import:crm' }])
    expect(await consents(oneConsent('2026-06-02', 'S'))).toBe('1 already on file')
  })

  test('one that was ended is not revived', async () => {
    await consents(oneConsent('2026-06-01'))
    const asked = { phoneList: number }
    await running.postJson('/app/main/rpc/ebr/remove', asked, running.keys.main)
    expect(await consents(oneConsent('2026-06-01'))).toBe(
      '1 left out: the record on file has been ended since',
    )
    expect(await consents(oneConsent('2026-11-23'))).toMatch('left out')
    running.clock.at += 24 * hour
    expect(await consents(oneConsent('2026-11-24'))).toBe('1 stored')
  })

  test('nor one of a day that had begun where the number is', async () => {
    const guam = '6715550123'
    const rows = (date: string) => `number,type,date\n${guam},P,${date}\n`
    await consents(rows('2026-06-01'))
    running.clock.at = Date.UTC(2026, 10, 23, 18)
    await running.postJson('/app/main/rpc/ebr/remove', { phoneList: guam }, running.keys.main)
    running.clock.at += 24 * hour
    expect(await consents(rows('2026-11-24'))).toMatch('left out')
    expect(await consents(rows('2026-11-25'))).toBe('1 stored')
  })

  test('one of tomorrow does not come back either', async () => {
    await consents(oneConsent('2026-06-01'))
    running.clock.at = Date.UTC(2026, 10, 23, 18)
    await running.postJson('/app/main/rpc/ebr/remove', { phoneList: number }, running.keys.main)
    expect(await consents(oneConsent('2026-11-24'))).toMatch('left out')
  })

  test('keep what their rows tell', async () => {
    const header = 'Cell;Contacted;Ends;Ref;Brand;E-Mail'
    const row = `(212) 736-1000;6/1/2026 12:00:00 AM;2027-01-31;r;1;"Acme; Inc";a@example.com`
    const columns = {
      number: ['cell'],
      date: ['contacted'],
      obligationEnds: ['ENDS'],
      email: ['E-Mail'],
    }
    const text = `${header}\n${row.replace('r;1', 'r-1')}\n`
    await consents(text, { table: { columns, dates: 'mdy' }, type: 'S' })
    expect(await onFile()).toMatchObject([
      {
        type: 'S',
        dateOfLastContact: '2026-06-01',
        dateObligationEnds: '2027-01-31',
        referenceNum: 'r-1',
        brand: 'Acme; Inc',
        email: 'a@example.com',
      },
    ])
  })

  test('refuses a file or an option that is unclear', async () => {
    const header = 'number,type,date\n'
    for (const [text, more, says] of [
      ['number,date\n', {}, 'no type column'],
      [header, { type: 'P' }, 'has a type column'],
      ['number,phone,type,date\n', {}, "'number' and 'phone' could each be the column number"],
      [header, { table: { columns: { date: ['when'] } } }, "no column 'when'"],
      [header, { projectId: 'NONE' }, "projId 'NONE'"],
      [header, { source: '' }, 'source'],
    ] as const) {
      await expect(consents(text, more)).rejects.toThrow(says)
    }
  })
})

describe('a date that cannot be', () => {
  test.each([
    ['2026-11-23T17:05:01Z', 'must not be in the future'],
    ['2026-11-23T13:00:00-05:00', 'must not be in the future'],
    ['2026-11-25', 'must not be in the future'],
    ['1900-01-01', 'must not be before 1980'],
    ['01/01/1970', 'must not be before 1980'],
    ['1970-01-01T00:00:00Z', 'must not be before 1980'],
  ])('%s %s', async (date, says) => {
    await expect(optOuts(oneOptOut(date))).rejects.toThrow(says)
    await expect(consents(oneConsent(date))).rejects.toThrow(says)
  })

  test('a clock that is a little ahead may have written a time', async () => {
    expect(await optOuts(oneOptOut('2026-11-23T17:04:59Z'))).toBe('1 added to the list')
  })
})

describe('all or none', () => {
  test('a temporary folder that is full is told', async () => {
    const { db } = running.callgate.storage
    await sql`pragma temp.max_page_count = 20`.execute(db)
    const rows = Array.from({ length: 9_000 }, (_, index) => `${2127361000 + index},2026-03-05\n`)
    await expect(optOuts(`number,date\n${rows.join('')}`)).rejects.toThrow(
      'Nothing was stored, since the temporary folder is full',
    )
    await sql`pragma temp.max_page_count = 1000000`.execute(db)
    expect(await optOuts(oneOptOut('2026-03-05'))).toBe('1 added to the list')
  })

  const rows = `number,type,date\n${number},P,2026-06-01\n2127361001,R,2026-06-01\n2127361002,P,2030-01-01\n`

  test('one bad row stores nothing, unless it is allowed', async () => {
    await expect(consents(rows)).rejects.toThrow(/2 lines are bad[\s\S]*line 3 'R': type must be/)
    expect(await onFile()).toEqual([])
    const rejected: number[] = []
    const rejects = ({ line }: { line: number }) => void rejected.push(line)
    expect(await consents(rows, { badLinesAllowed: 2, rejects })).toBe('1 stored')
    expect(rejected).toEqual([3, 4])
  })

  test('a dry run stores nothing and tells the same', async () => {
    expect(await consents(oneConsent('2026-06-01'), { dryRun: true })).toBe('1 stored')
    expect(await onFile()).toEqual([])
    expect(await optOuts(oneOptOut('2026-06-01'), { dryRun: true })).toBe('1 added to the list')
    expect(await pdnc('count')).toMatchObject({ count: 0 })
  })

  test('a write that fails in the middle leaves everything as it was', async () => {
    const { db } = running.callgate.storage
    await consents(oneConsent('2026-05-01'))
    await pdnc('add', '2127361001')
    await sql`create trigger no_more before insert on internal_dnc when new.number = '2127361002'
      begin select raise(abort, 'no more'); end`.execute(db)
    await sql`create trigger no_more_records before insert on ebr_records
      when new.number = '2127361002' begin select raise(abort, 'no more'); end`.execute(db)
    const [first, second] = [oneOptOut('2026-10-01'), '2127361002,2026-10-01\n']
    await expect(optOuts(first + second)).rejects.toThrow('no more')
    await expect(consents(`${oneConsent('2026-06-01')}2127361002,P,2026-06-01\n`)).rejects.toThrow(
      'no more',
    )
    expect(await pdnc('count')).toMatchObject({ count: 1 })
    expect(await onFile()).toMatchObject([{ dateOfLastContact: '2026-05-01' }])
    expect(await optOuts(first)).toBe('1 added to the list')
  })

  test('goes to the list and the records of the project that is named', async () => {
    await running.callgate.projects.create({
      accountId: 'main',
      code: 'SPRING',
      name: 'Spring',
      industryExemption: false,
      voipRestricted: false,
      inheritsInternalDnc: false,
      inheritsEbr: true,
    })
    await optOuts(oneOptOut('2026-03-05'), { projectId: 'spring' })
    expect(await pdnc('count')).toMatchObject({ count: 0 })
    await consents(oneConsent('2026-03-06'), { projectId: 'spring' })
    expect(await onFile()).toHaveLength(1)
    expect(await pdnc('count', '', 'SPRING')).toMatchObject({ count: 1 })
  })
})

describe('an export', () => {
  async function exported(what: typeof exportEbrRecords) {
    let text = ''
    const write = (more: string) => {
      text += more
    }
    const told = await what(parts(), { accountId: 'main', write })
    return { ...told, text }
  }

  test('judges by the days of the place of the number', async () => {
    const evening = '2127361001'
    await optOuts(oneOptOut('2026-03-05', evening))
    await consents(oneConsent('2026-03-06T03:00:00Z', 'P', evening))
    running.clock.at = Date.UTC(2026, 10, 24, 3)
    await pdnc('add')
    running.clock.at += hour
    await ebr('2026-11-23')
    await pdnc('remove', `${number},${evening}`)
    const { text, ...told } = await exported(exportEbrRecords)
    expect(told).toMatchObject({ rows: 1, omitted: 1 })
    expect(text).toContain(`${number},P,2026-11-23,`)
  })

  test('has what is on the list, and is read again as it was', async () => {
    await optOuts(`${oneOptOut('2026-03-05')}2127361001,2026-03-05T10:00:00Z\n`)
    await pdnc('add', '2127361002')
    await pdnc('add', '1112223333')
    await pdnc('add', '2127361003')
    await pdnc('remove', '2127361003')
    const { text, ...told } = await exported(exportOptOuts)
    expect(told).toEqual({ project: 'main', rows: 4, omitted: 0 })
    const lines = text.split('\r\n').filter((line) => !line.startsWith('111'))
    expect(lines.slice(0, 3)).toEqual([
      'number,date,source',
      `${number},2026-03-05,import:crm`,
      '2127361001,2026-03-05T10:00:00Z,import:crm',
    ])
    expect(lines[3]).toMatch(/^2127361002,2026-11-23T17:00:00Z,key-\w+$/)
    expect(await optOuts(text)).toBe('4 already on the list')
  })

  test('has no consent that an opt-out ended, also of a number that is off the list', async () => {
    const header = 'number,type,date,reference,brand'
    const rows = [0, 1, 2].map((index) => `212736100${index},P,2026-03-05,"a ""b"", c",x`)
    await consents(`${header}\n${rows.join('\n')}\n`)
    await optOuts(oneOptOut('2026-03-04', '2127361001'))
    await pdnc('add', '2127361002')
    await pdnc('remove', '2127361002')
    const { text, ...told } = await exported(exportEbrRecords)
    expect(told).toEqual({ project: 'main', rows: 2, omitted: 1 })
    expect(text.split('\r\n').slice(0, 3)).toEqual([
      'number,type,date,obligationEnds,reference,brand,email,source',
      `${number},P,2026-03-05,,"a ""b"", c",x,,import:crm`,
      '2127361001,P,2026-03-05,,"a ""b"", c",x,,import:crm',
    ])
    expect(await consents(text)).toBe('2 already on file')
  })

  test("has no permission that may not lift the opt-out, such as an Agent's", async () => {
    const { key } = await running.callgate.keys.create({
      accountId: 'main',
      role: 'Agent',
      label: 'agent',
    })
    await optOuts(oneOptOut('2026-03-05'))
    const ebrList = [{ phoneNumber: number, type: 'P', dateOfLastContact: '2026-03-06' }]
    await running.postJson('/app/main/rpc/ebr', { ebrList }, key)
    expect(await decide()).toBe('block internal-dnc')
    expect(await exported(exportEbrRecords)).toMatchObject({ rows: 0, omitted: 1 })
  })

  test("has no permission of an Agent's key, which would lift an opt-out where it is imported", async () => {
    const { key } = await running.callgate.keys.create({
      accountId: 'main',
      role: 'Agent',
      label: 'agent',
    })
    const ebrList = [{ phoneNumber: number, type: 'P', dateOfLastContact: '2026-03-06' }]
    await running.postJson('/app/main/rpc/ebr', { ebrList }, key)
    expect(await exported(exportEbrRecords)).toMatchObject({ rows: 0, omitted: 1 })
  })
})
