/** Opt-outs as they are reported: what they are for, what they end, and what is stored of them. */
import { describe, expect, test } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { loadOptOutReader } from '../../src/data/files/opt-out-phrases.js'
import type { OptOutReport } from '../../src/domain/consent/consent-records.js'
import type { PhoneNumber } from '../../src/domain/phone-number.js'
import { findOptOutEffect } from '../../src/law/records/relationship.js'
import { listStatements } from '../../src/service/internal-dnc/opt-out-statements.js'
import { type OptOutSettings, OptOuts } from '../../src/service/internal-dnc/opt-outs.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects, caller } from '../support/service-subjects.js'
import { instant } from '../support/test-clock.js'
import { isPostgres } from '../support/test-engine.js'

const database = useDatabase()
const rules = loadCallingRules('config/calling-rules.yaml').revocation
const readWords = loadOptOutReader('config/opt-out-phrases.yaml')
const me = caller('main')
const number = '2125550100' as PhoneNumber

async function build(settings: Partial<OptOutSettings> = {}) {
  const subjects = await buildSubjects(database.storage)
  const { projects, internalDnc, ebrRecords, clock } = subjects
  const create = (code: string, inheritsInternalDnc = false) =>
    projects.create({ accountId: 'main', code, name: code, inheritsInternalDnc })
  await create('SALES')
  await create('OTHER')
  await create('SHARED', true)
  const seconds: number[] = []
  const optOuts = new OptOuts({
    internalDnc,
    projects,
    viewOf: () => ({ clock }),
    readWords,
    getSettings: () => ({ sellers: [], ruleDates: [], ...settings }),
    getRules: () => rules,
    onInForce: (measured) => void seconds.push(measured),
  })
  const report = (fields: Partial<OptOutReport> = {}) =>
    optOuts.record(me, {
      number,
      source: 'api',
      channel: 'agent',
      scope: 'everything',
      projectId: 'SALES',
      ...fields,
    })
  const isListed = async (projectId: string | undefined, accountId = 'main') => {
    const status = await internalDnc.readStatus(caller(accountId), { numbers: [number], projectId })
    return status[0]?.onList
  }
  /** Of the projects with a list of their own, which lists have it. */
  const listedIn = async () => {
    const all = [undefined, 'SALES', 'OTHER', 'SHARED']
    const found = await Promise.all(all.map((code) => isListed(code)))
    return all.filter((_, index) => found[index]).map((code) => code ?? 'main')
  }
  const permit = async (projectId: string, at: string) => {
    clock.set(at)
    const records = [{ phoneNumber: number, type: 'P', dateOfLastContact: at }]
    await ebrRecords.record(me, { records, keepBetterEbr: false, projectId })
  }
  /** Whether the permission on file in the project lifts the opt-out. */
  const isLifted = async (projectCode: string) => {
    const entry = (await internalDnc.findEntries('main', projectCode, [number])).get(number)
    const record = await ebrRecords.findRecord('main', projectCode, number, undefined)
    if (!record) throw new Error('there is no record')
    return findOptOutEffect(record, entry, []) === undefined
  }
  return { ...subjects, create, report, isListed, listedIn, permit, isLifted, seconds }
}

const statements = () =>
  listStatements(database.db, { accountId: 'main', isUnread: false, limit: 100 })

describe('an opt-out of everything', () => {
  test('is on the list of every project of the account, and of no other account', async () => {
    const { report, listedIn, isListed, projects } = await build()
    await projects.create({ accountId: 'other', code: 'SALES', name: 'Theirs' })
    await report()
    expect(await listedIn()).toEqual(['main', 'SALES', 'OTHER', 'SHARED'])
    expect(await isListed('SALES', 'other')).toBe(false)
  })

  test('is what one without a project is, too', async () => {
    const { report, listedIn } = await build()
    await report({ projectId: undefined })
    expect(await listedIn()).toEqual(['main', 'SALES', 'OTHER', 'SHARED'])
  })

  test('holds for a project that is made afterwards, unless it was taken off', async () => {
    const { report, create, isListed, internalDnc } = await build()
    await internalDnc.add(me, { numbers: ['2125550101'], ignoreInvalid: false })
    await report()
    await create('LATER')
    expect(await isListed('LATER')).toBe(true)
    expect(await internalDnc.count(me, { projectId: 'LATER' })).toMatchObject({ count: 1 })
    await internalDnc.remove(me, { numbers: [number] })
    await create('LAST')
    expect(await isListed('LAST')).toBe(false)
    expect(await isListed('SALES')).toBe(true)
  })

  test('holds for a project that is not active, once it is', async () => {
    const { report, projects, isListed } = await build()
    await projects.set({ accountId: 'main', code: 'OTHER' }, { status: 'inactive' })
    await report()
    await projects.set({ accountId: 'main', code: 'OTHER' }, { status: 'active' })
    expect(await isListed('OTHER')).toBe(true)
  })

  test('ends the consents of every project, and one that is newer by a second lifts it there alone', async () => {
    const { report, permit, isLifted, clock } = await build()
    for (const code of ['SALES', 'OTHER']) await permit(code, '2026-11-20T12:00:00Z')
    expect([await isLifted('SALES'), await isLifted('OTHER')]).toEqual([true, true])
    clock.set('2026-11-20T13:00:00Z')
    await report()
    expect([await isLifted('SALES'), await isLifted('OTHER')]).toEqual([false, false])
    await permit('OTHER', '2026-11-20T13:00:00Z')
    expect(await isLifted('OTHER'), 'a tie goes to the opt-out').toBe(false)
    await permit('OTHER', '2026-11-20T13:00:01Z')
    expect([await isLifted('SALES'), await isLifted('OTHER')]).toEqual([false, true])
  })

  test('counts again where an account ignores repeated adds, since the person has said it again', async () => {
    const { accounts, report, permit, isLifted, clock } = await build()
    await accounts.set('main', { repeatedAdd: 'ignored' })
    await report()
    await permit('SALES', '2026-11-21T12:00:00Z')
    expect(await isLifted('SALES')).toBe(true)
    clock.set('2026-11-22T12:00:00Z')
    await report()
    expect(await isLifted('SALES')).toBe(false)
  })
})

test('one and a project that is made at the same moment do not miss each other', async () => {
  const { report, create, isListed } = await build()
  const codes = Array.from({ length: 12 }, (_, index) => `AT-ONCE-${index}`)
  await Promise.all([
    ...codes.slice(0, 6).map((code) => create(code)),
    report(),
    ...codes.slice(6).map((code) => create(code)),
  ])
  expect(await Promise.all(codes.map((code) => isListed(code)))).toEqual(codes.map(() => true))
})

test('the other lists keep their dates, and their day of change unless the number is new', async () => {
  const { report, internalDnc, clock } = await build()
  await internalDnc.add(me, { numbers: [number], projectId: 'OTHER', ignoreInvalid: false })
  clock.set('2026-11-24T12:00:00Z')
  await report()
  const dates = async (projectId?: string) => {
    const [item] = await internalDnc.readStatus(me, { numbers: [number], projectId })
    const { lastModifiedOn } = await internalDnc.count(me, { projectId })
    return [item?.addedOn, lastModifiedOn]
  }
  expect(await dates('OTHER')).toEqual(['2026-11-20', '2026-11-20'])
  expect(await dates('SALES')).toEqual(['2026-11-24', '2026-11-24'])
  expect(await dates()).toEqual(['2026-11-24', '2026-11-24'])
})

describe('an opt-out of a project', () => {
  const sellers = [{ account: 'main', project: 'sales' }]

  test.each(['OTHER', undefined, 'NO-SUCH'])(
    'of project %s is of everything, since it does not call for a legal entity of its own',
    async (projectId) => {
      const { report, listedIn } = await build({ sellers })
      const recorded = await report({ scope: 'project', projectId })
      expect(recorded).toMatchObject({
        scope: 'everything',
        isProjectKnown: projectId !== 'NO-SUCH',
      })
      expect(await listedIn()).toEqual(['main', 'SALES', 'OTHER', 'SHARED'])
    },
  )

  test('of another account of that name is of everything', async () => {
    const { report } = await build({ sellers: [{ account: 'other', project: 'SALES' }] })
    expect(await report({ scope: 'project' })).toMatchObject({ scope: 'everything' })
  })

  test('is on its list alone, and does not hide the same words about everything', async () => {
    const { report, listedIn } = await build({ sellers })
    const words = { reference: 'call 7', said: 'stop calling' }
    await report({ ...words, scope: 'project' })
    expect(await listedIn()).toEqual(['SALES'])
    expect(await report(words)).toMatchObject({ isRepeated: false })
    expect(await listedIn()).toEqual(['main', 'SALES', 'OTHER', 'SHARED'])
  })
})

test.runIf(isPostgres())(
  'other servers drop what they know of its number, and nothing else',
  async () => {
    const { report } = await build()
    const before = await database.db.selectFrom('changes').select('seq').execute()
    await report({ said: 'stop calling' })
    const after = await database.db.selectFrom('changes').selectAll().orderBy('seq').execute()
    expect(after.slice(before.length)).toMatchObject([{ account_id: 'main', numbers: number }])
  },
)

describe('one with the reference of an earlier one', () => {
  const words = { reference: 'sms', said: 'STOP', channel: 'text' } as const

  test('ends a consent that was given in between, once', async () => {
    const { report, permit, isLifted, clock, seconds } = await build()
    await report(words)
    await permit('OTHER', '2026-11-21T12:00:00Z')
    expect(await isLifted('OTHER')).toBe(true)
    clock.set('2026-11-22T12:00:00Z')
    expect(await report(words)).toMatchObject({ isRepeated: false, effectiveAt: clock.now() })
    expect(await isLifted('OTHER')).toBe(false)
    expect(await report(words)).toMatchObject({ isRepeated: true })
    expect(await statements()).toHaveLength(2)
    expect(seconds).toEqual([0, 0])
  })

  test('puts a number back that was taken off a list', async () => {
    const { report, internalDnc, listedIn } = await build()
    await report(words)
    await internalDnc.remove(me, { numbers: [number], projectId: 'OTHER' })
    expect(await report(words)).toMatchObject({ isRepeated: false })
    expect(await listedIn()).toContain('OTHER')
  })

  test('is the same event if it came in at the same time or is about a decision, and ends no consent', async () => {
    const { report, permit, isLifted, clock } = await build()
    const events = [
      { ...words, receivedAt: clock.now() },
      { ...words, decisionId: 'd1' },
    ]
    for (const event of events) await report(event)
    await permit('SALES', '2026-11-21T12:00:00Z')
    for (const event of events) expect(await report(event)).toMatchObject({ isRepeated: true })
    expect(await isLifted('SALES')).toBe(true)
  })
})

describe('what is stored and answered', () => {
  test('the words, the channel, when it came in and took effect, and what the law says of it', async () => {
    const { report, seconds } = await build()
    const receivedAt = instant('2026-11-20T11:57:00Z')
    const recorded = await report({ channel: 'text', said: 'STOP', receivedAt, reference: 'sms 1' })
    const effectiveAt = instant('2026-11-20T12:00:00Z')
    expect(recorded).toEqual({
      ...{ scope: 'everything', receivedAt, effectiveAt, isUnderstood: true, isRepeated: false },
      isProjectKnown: true,
      lastDay: '2026-12-07',
      confirmBefore: instant('2026-11-20T12:02:00Z'),
      rules: [{ id: 'tcpa-revocation', citation: expect.stringContaining('64.1200(a)(10)') }],
    })
    expect(await statements()).toMatchObject([
      {
        ...{ number, list: 'SALES', scope: 'everything', channel: 'text', said: 'STOP' },
        ...{ received_at: receivedAt, heard_at: effectiveAt, understood: 1, key_id: me.keyId },
      },
    ])
    expect(seconds).toEqual([180])
  })

  test('one that is repeated says when it came in first, may not be confirmed again, and is not measured', async () => {
    const { report, clock, seconds } = await build()
    const first = await report({ reference: 'sms 1', said: 'stop' })
    clock.advance(60_000)
    expect(await report({ reference: 'sms 1', said: 'stop' })).toEqual({
      ...first,
      isRepeated: true,
      confirmBefore: null,
    })
    expect(seconds).toEqual([0])
  })

  test('no text may confirm one that came in longer ago', async () => {
    const { report } = await build()
    const late = await report({ receivedAt: instant('2026-11-20T11:55:00Z') })
    expect(late.confirmBefore).toBeNull()
  })

  test('a time ahead of the clock is now', async () => {
    const { report, clock } = await build()
    const { receivedAt } = await report({ receivedAt: instant('2030-01-01T00:00:00Z') })
    expect(receivedAt).toBe(clock.now())
  })

  test('words that are not understood are in force, and are listed for a person', async () => {
    const { report, listedIn } = await build()
    const said = 'I am going to talk to my lawyer'
    expect(await report({ said, channel: 'text' })).toMatchObject({ isUnderstood: false })
    expect(await report({ said: '9', channel: 'call-key' })).toMatchObject({ isUnderstood: true })
    expect(await report({})).toMatchObject({ isUnderstood: true })
    expect(await listedIn()).toHaveLength(4)
    const unclear = { accountId: 'main', isUnread: true, limit: 100 }
    expect(await listStatements(database.db, unclear)).toMatchObject([{ said }])
  })
})
