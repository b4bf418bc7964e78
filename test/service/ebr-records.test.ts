import { describe, expect, test } from 'vitest'
import { formatDay, formatInstant, parseDay } from '../../src/domain/time/dates.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import type { FixedFacts } from '../../src/service/account-view.js'
import type { EbrInput } from '../../src/service/consent/ebr-input.js'
import { chooseByAccount } from '../../src/service/sandbox/sandbox.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects, caller, n } from '../support/service-subjects.js'
import { testClock } from '../support/test-clock.js'

const database = useDatabase()
const build = (fixedFacts?: FixedFacts) => {
  const clock = testClock()
  const viewOf = chooseByAccount({
    real: { clock, fixedFacts: undefined },
    sandbox: { clock, fixedFacts },
  })
  return buildSubjects(database.storage, { clock, viewOf })
}
const me = caller('main')

const ny = '2125550100'
const ct = '2035550100'
const good: EbrInput = { phoneNumber: ny, type: 'S', dateOfLastContact: '11/01/2026' }

/** `S 2026-11-01` for the record in force, or `none`. */
function shown(record: EbrRecord | undefined): string {
  if (!record) return 'none'
  const { type, contactOn, contactAt } = record
  return `${type} ${contactAt === undefined ? formatDay(contactOn) : formatInstant(contactAt)}`
}

async function recorded(records: readonly EbrInput[], keepBetterEbr: boolean, number = ny) {
  const { ebrRecords } = await build()
  await ebrRecords.record(me, { keepBetterEbr, records })
  return shown((await ebrRecords.findRecords('main', 'main', [n(number)])).get(number))
}

describe('what is kept of a record', () => {
  test.each([
    ['S', '11/01/2026', 'S 2026-11-01'],
    ['I', '1/5/2026', 'I 2026-01-05'],
    ['P', '2026-11-20', 'P 2026-11-20'],
    ['T', ' 2026-10-31 ', 'T 2026-10-31'],
    ['P', '2026-11-20T09:30:15Z', 'P 2026-11-20T09:30:15Z'],
    ['P', '2026-11-20T09:30:15.999Z', 'P 2026-11-20T09:30:15Z'],
    ['P', '2026-11-19T23:30:00-05:00', 'P 2026-11-20T04:30:00Z'],
  ])('%s of %j', async (type, dateOfLastContact, expected) => {
    expect(await recorded([{ ...good, type, dateOfLastContact }], false)).toBe(expected)
  })

  test('the day of an instant is its UTC day', async () => {
    const { ebrRecords } = await build()
    const dateOfLastContact = '2026-11-19T23:30:00-05:00'
    await ebrRecords.record(me, { keepBetterEbr: false, records: [{ ...good, dateOfLastContact }] })
    const record = (await ebrRecords.findRecords('main', 'main', [n(ny)])).get(ny)
    expect(record?.contactOn).toBe(parseDay('2026-11-20'))
  })

  test('all fields reach the row', async () => {
    const { ebrRecords, clock } = await build()
    await ebrRecords.record(me, {
      keepBetterEbr: false,
      records: [
        {
          ...good,
          dateObligationEnds: '2027-12-31',
          referenceNum: 'ref-7',
          brand: 'Acme',
          email: 'a@example.com',
        },
      ],
    })
    const rows = await database.db.selectFrom('ebr_records').selectAll().execute()
    expect(rows).toMatchObject([
      {
        account_id: 'main',
        project_code: 'main',
        number: ny,
        type: 'S',
        contact_on: '2026-11-01',
        contact_at: null,
        obligation_ends_on: '2027-12-31',
        reference_num: 'ref-7',
        brand: 'Acme',
        email: 'a@example.com',
        recorded_at: clock.now(),
        superseded_at: null,
      },
    ])
    const record = (await ebrRecords.findRecords('main', 'main', [n(ny)])).get(ny)
    expect(record?.obligationEndsOn).toBe(parseDay('2027-12-31'))
  })

  test.each([
    ['2026-12-31T22:00:00-05:00', '2026-12-31'],
    ['2027-01-01T03:00:00Z', '2026-12-31'],
    ['2027-01-01T02:00:00+09:00', '2026-12-31'],
    ['2026-12-31T00:00:00', '2026-12-31'],
    ['2026-12-31', '2026-12-31'],
  ])('an obligation until %s ends on the earliest day that it may be: %s', async (ends, day) => {
    const { ebrRecords } = await build()
    await ebrRecords.record(me, {
      keepBetterEbr: false,
      records: [{ ...good, dateObligationEnds: ends }],
    })
    const record = (await ebrRecords.findRecords('main', 'main', [n(ny)])).get(ny)
    expect(record?.obligationEndsOn).toBe(parseDay(day))
  })

  test('several numbers in one string each get the record', async () => {
    const { ebrRecords, changes } = await build()
    const records = [{ ...good, phoneNumber: `${ny}, ${ct},2125550101` }]
    expect(await ebrRecords.record(me, { keepBetterEbr: false, records })).toEqual({
      stored: 3,
      warnings: [],
    })
    const inForce = await ebrRecords.findRecords('main', 'main', [
      n(ny),
      n(ct),
      n('2125550101'),
      n('2125550102'),
    ])
    expect([...inForce.keys()].sort()).toEqual([ct, ny, '2125550101'].sort())
    expect(changes.heard).toEqual([`main:${ny}`, `main:${ct}`, 'main:2125550101'])
  })

  test('a contact dated tomorrow counts from its report', async () => {
    const { ebrRecords, clock } = await build()
    const records = [
      { ...good, type: 'P', dateOfLastContact: '11/21/2026' },
      { ...good, phoneNumber: ct, type: 'P', dateOfLastContact: '2026-11-21T06:00:00Z' },
    ]
    await ebrRecords.record(me, { keepBetterEbr: false, records })
    const inForce = await ebrRecords.findRecords('main', 'main', [n(ny), n(ct)])
    expect(inForce.get(ny)?.contactOn).toBe(parseDay('2026-11-20'))
    expect(inForce.get(ct)?.contactAt).toBe(clock.now())
  })
})

describe('which record is in force', () => {
  const record = (type: string, date: string, phoneNumber = ny): EbrInput => ({
    phoneNumber,
    type,
    dateOfLastContact: date,
  })
  type Row = [string, EbrInput, EbrInput, string, string]
  /** First record, second record, in force afterwards without and with keepBetterEBR. */
  const rows: readonly Row[] = [
    [
      'a newer sale',
      record('S', '2026-01-01'),
      record('S', '2026-02-01'),
      'S 2026-02-01',
      'S 2026-02-01',
    ],
    [
      'an older sale',
      record('S', '2026-02-01'),
      record('S', '2026-01-01'),
      'S 2026-01-01',
      'S 2026-02-01',
    ],
    [
      'a sale after a permission',
      record('P', '2020-01-01'),
      record('S', '2026-11-01'),
      'S 2026-11-01',
      'P 2020-01-01',
    ],
    [
      'a permission after a sale',
      record('S', '2026-11-01'),
      record('P', '2020-01-01'),
      'P 2020-01-01',
      'P 2020-01-01',
    ],
    [
      'a permission after a permission',
      record('P', '2026-11-01'),
      record('P', '2020-01-01'),
      'P 2020-01-01',
      'P 2020-01-01',
    ],
    [
      'an inquiry after a sale',
      record('S', '2026-01-01'),
      record('I', '2026-11-01'),
      'I 2026-11-01',
      'S 2026-01-01',
    ],
    [
      'an inquiry after an expired sale',
      record('S', '2024-01-01'),
      record('I', '2026-11-01'),
      'I 2026-11-01',
      'I 2026-11-01',
    ],
    [
      'a trial after an inquiry',
      record('I', '2020-01-01'),
      record('T', '2026-11-01'),
      'T 2026-11-01',
      'I 2020-01-01',
    ],
    [
      'federal tie and state tie',
      record('I', '2026-04-01'),
      record('S', '2025-01-01'),
      'S 2025-01-01',
      'S 2025-01-01',
    ],
    [
      'federal tie, kept one better by state',
      record('I', '2026-04-01', ct),
      record('S', '2025-01-01', ct),
      'S 2025-01-01',
      'I 2026-04-01',
    ],
    [
      'federal tie, new one better by state',
      record('S', '2025-01-01', ct),
      record('I', '2026-04-01', ct),
      'I 2026-04-01',
      'I 2026-04-01',
    ],
    [
      'federal tie, place unknown',
      record('I', '2026-04-01', '9995550100'),
      record('S', '2025-01-01', '9995550100'),
      'S 2025-01-01',
      'S 2025-01-01',
    ],
  ]

  test.each(rows)('%s, in two requests', async (_name, first, second, replaced, ranked) => {
    const number = n(String(first.phoneNumber))
    for (const [keepBetterEbr, expected] of [
      [false, replaced],
      [true, ranked],
    ] as const) {
      const { ebrRecords } = await build()
      await database.db.deleteFrom('ebr_records').execute()
      await ebrRecords.record(me, { keepBetterEbr, records: [first] })
      await ebrRecords.record(me, { keepBetterEbr, records: [second] })
      const inForce = await ebrRecords.findRecords('main', 'main', [number])
      expect(shown(inForce.get(number))).toBe(expected)
    }
  })

  test.each(rows)('%s, in one request', async (_name, first, second, replaced, ranked) => {
    const number = String(first.phoneNumber)
    expect(await recorded([first, second], false, number)).toBe(replaced)
    await database.db.deleteFrom('ebr_records').execute()
    expect(await recorded([first, second], true, number)).toBe(ranked)
  })

  test('every record reported is kept as evidence, one of them in force', async () => {
    const { ebrRecords, clock } = await build()
    await ebrRecords.record(me, { keepBetterEbr: false, records: [record('P', '2026-01-01')] })
    const first = clock.now()
    clock.advance(60_000)
    const records = [record('S', '2026-01-01'), record('I', '2026-11-01')]
    await ebrRecords.record(me, { keepBetterEbr: true, records })
    clock.advance(60_000)
    await ebrRecords.record(me, { keepBetterEbr: false, records: [record('S', '2026-02-02')] })
    const kept = await database.db
      .selectFrom('ebr_records')
      .select(['type', 'contact_on', 'recorded_at', 'superseded_at'])
      .orderBy('id')
      .execute()
    expect(kept.map((row) => Object.values(row))).toEqual([
      ['P', '2026-01-01', first, first + 120_000],
      ['S', '2026-01-01', first + 60_000, first + 60_000],
      ['I', '2026-11-01', first + 60_000, first + 60_000],
      ['S', '2026-02-02', first + 120_000, null],
    ])
  })

  test('facts of one day are told apart by their time', async () => {
    const { ebrRecords } = await build()
    const records = [record('P', '2026-11-20T08:00:00Z'), record('P', '2026-11-20T09:00:01Z')]
    await ebrRecords.record(me, { keepBetterEbr: false, records })
    expect(shown((await ebrRecords.findRecords('main', 'main', [n(ny)])).get(ny))).toBe(
      'P 2026-11-20T09:00:01Z',
    )
    const rows = await database.db.selectFrom('ebr_records').select('contact_at').execute()
    expect(rows).toHaveLength(2)
  })
})

describe('bad records', () => {
  type Row = [string, EbrInput, string, string | undefined]
  test.each<Row>([
    ['no number', { ...good, phoneNumber: undefined }, 'phoneNumber', undefined],
    ['an empty number', { ...good, phoneNumber: '' }, 'phoneNumber', ''],
    ['a number as a number', { ...good, phoneNumber: 2_125_550_100 }, 'phoneNumber', '2125550100'],
    ['nine digits', { ...good, phoneNumber: '212555010' }, 'phoneNumber', '212555010'],
    ['one bad number of several', { ...good, phoneNumber: `${ny},12,${ct}` }, 'phoneNumber', '12'],
    ['a comma too many', { ...good, phoneNumber: `${ny},` }, 'phoneNumber', ''],
    ['no type', { ...good, type: undefined }, 'type', undefined],
    ['an unknown type', { ...good, type: 'X' }, 'type', 'X'],
    ['a type that is no text', { ...good, type: { S: 1 } }, 'type', '{"S":1}'],
    ['no date', { ...good, dateOfLastContact: undefined }, 'dateOfLastContact', undefined],
    ['a date that is no text', { ...good, dateOfLastContact: 1 }, 'dateOfLastContact', '1'],
    [
      'a day that is not',
      { ...good, dateOfLastContact: '02/30/2026' },
      'dateOfLastContact',
      '02/30/2026',
    ],
    [
      'day before month',
      { ...good, dateOfLastContact: '31/01/2026' },
      'dateOfLastContact',
      '31/01/2026',
    ],
    [
      'a year of two digits',
      { ...good, dateOfLastContact: '01/01/26' },
      'dateOfLastContact',
      '01/01/26',
    ],
    [
      'the day after tomorrow',
      { ...good, dateOfLastContact: '11/22/2026' },
      'dateOfLastContact',
      '11/22/2026',
    ],
    [
      'an instant after tomorrow',
      { ...good, dateOfLastContact: '2026-11-22T00:00:00Z' },
      'dateOfLastContact',
      '2026-11-22T00:00:00Z',
    ],
    ['a bad end', { ...good, dateObligationEnds: 'soon' }, 'dateObligationEnds', 'soon'],
    ['a long email', { ...good, email: `${'x'.repeat(101)}` }, 'email', `${'x'.repeat(60)}...`],
    [
      'an email that is no text',
      { ...good, email: ['a@example.com'] },
      'email',
      '["a@example.com"]',
    ],
    ['a brand that is no text', { ...good, brand: 7 }, 'brand', '7'],
    ['a reference that is no text', { ...good, referenceNum: true }, 'referenceNum', 'true'],
  ])('%s refuses the whole request by field path and value', async (_name, bad, field, value) => {
    const { ebrRecords, changes } = await build()
    const refusal = ebrRecords.record(me, { keepBetterEbr: false, records: [good, good, bad] })
    await expect(refusal).rejects.toMatchObject({ kind: 'invalid-request' })
    const problems = await refusal.catch((error: { problems: unknown }) => error.problems)
    expect(problems).toHaveLength(1)
    expect(problems).toMatchObject([
      { field: `ebrList[2].${field}`, ...(value === undefined ? {} : { value }) },
    ])
    expect(await ebrRecords.findRecords('main', 'main', [n(ny), n(ct)])).toEqual(new Map())
    expect(changes.heard).toEqual([])
  })

  test.each([
    ['tomorrow, as it may be there already', { dateOfLastContact: '11/21/2026' }],
    ['an email of 100 characters', { email: 'x'.repeat(100) }],
    [
      'empty and null texts',
      { email: '', brand: null, referenceNum: '', dateObligationEnds: null },
    ],
    ['an obligation that ends years ahead', { dateObligationEnds: '12/31/2040' }],
  ])('%s is no mistake', async (_name, change) => {
    const { ebrRecords } = await build()
    await ebrRecords.record(me, { keepBetterEbr: false, records: [{ ...good, ...change }] })
    expect((await ebrRecords.findRecords('main', 'main', [n(ny)])).size).toBe(1)
  })

  test('every problem is listed, up to a limit', async () => {
    const { ebrRecords } = await build()
    const bad = { phoneNumber: '1', type: 'X', dateOfLastContact: 'never' }
    const few = ebrRecords.record(me, { keepBetterEbr: false, records: [good, bad] })
    await expect(few).rejects.toMatchObject({
      problems: [
        { field: 'ebrList[1].phoneNumber' },
        { field: 'ebrList[1].type' },
        { field: 'ebrList[1].dateOfLastContact' },
      ],
    })
    const records = Array.from({ length: 100 }, () => bad)
    const problems = await ebrRecords
      .record(me, { keepBetterEbr: false, records })
      .catch((error: { problems: readonly { rule: string }[] }) => error.problems)
    expect(problems).toHaveLength(21)
    expect(JSON.stringify(problems)).toContain('has 280 more problems')
  })

  test('an unknown project is refused by name and value', async () => {
    const { ebrRecords } = await build()
    await expect(
      ebrRecords.record(me, { keepBetterEbr: false, records: [good], projectId: 'NOPE' }),
    ).rejects.toMatchObject({ problems: [{ field: 'projId', value: 'NOPE' }] })
  })
})

describe('whose records', () => {
  test('accounts do not see or replace each other’s', async () => {
    const { ebrRecords } = await build()
    await ebrRecords.record(me, { keepBetterEbr: false, records: [good] })
    expect((await ebrRecords.findRecords('other', 'other', [n(ny)])).size).toBe(0)
    expect((await ebrRecords.findRecords('other', 'main', [n(ny)])).size).toBe(0)
    const theirs = { ...good, type: 'I' }
    await ebrRecords.record(caller('other'), { keepBetterEbr: false, records: [theirs] })
    expect((await ebrRecords.findRecords('main', 'main', [n(ny)])).get(ny)?.type).toBe('S')
    expect((await ebrRecords.findRecords('other', 'other', [n(ny)])).get(ny)?.type).toBe('I')
  })

  test('a project has its own records unless it inherits the Master Project’s', async () => {
    const { ebrRecords, projects } = await build()
    await projects.create({ accountId: 'main', code: 'OWN', name: 'x' })
    await projects.create({ accountId: 'main', code: 'SHARED', name: 'x', inheritsEbr: true })
    await ebrRecords.record(me, { keepBetterEbr: false, records: [good], projectId: 'own' })
    const records = [{ ...good, type: 'P' }]
    await ebrRecords.record(me, { keepBetterEbr: false, records, projectId: 'shared' })
    expect((await ebrRecords.findRecords('main', 'OWN', [n(ny)])).get(ny)?.type).toBe('S')
    expect((await ebrRecords.findRecords('main', 'main', [n(ny)])).get(ny)?.type).toBe('P')
    expect((await ebrRecords.findRecords('main', 'SHARED', [n(ny)])).size).toBe(0)
  })
})

test('a restart keeps the records', async () => {
  const { ebrRecords } = await build()
  const records = [{ ...good, type: 'P', dateOfLastContact: '2026-11-20T09:30:15Z' }]
  await ebrRecords.record(me, { keepBetterEbr: false, records })
  const before = await ebrRecords.findRecords('main', 'main', [n(ny)])
  await database.reopen()
  const again = await build()
  expect(await again.ebrRecords.findRecords('main', 'main', [n(ny)])).toEqual(before)
  expect(before.size).toBe(1)
})

test('ten thousand records go in with one call, and replace each other in the next', async () => {
  const { ebrRecords } = await build()
  const numbers = Array.from({ length: 10_000 }, (_, index) => n(`212${5_550_000 + index}`))
  const records = numbers.map((phoneNumber) => ({ ...good, phoneNumber }))
  await ebrRecords.record(me, { keepBetterEbr: false, records })
  await ebrRecords.record(me, {
    keepBetterEbr: true,
    records: records.map((record) => ({ ...record, type: 'P' })),
  })
  const inForce = await ebrRecords.findRecords('main', 'main', numbers)
  expect(inForce.size).toBe(10_000)
  expect(new Set([...inForce.values()].map((record) => record.type))).toEqual(new Set(['P']))
})

describe('fixed records of the sandbox', () => {
  const fixed: EbrRecord = {
    type: 'P',
    contactOn: parseDay('2026-10-21') ?? Number.NaN,
    contactAt: undefined,
    obligationEndsOn: undefined,
    storedSeq: 0,
    liftsOptOut: true,
  }
  const fixedFacts: FixedFacts = {
    internalDncEntry: () => undefined,
    internalDncNumbers: () => [],
    ebrRecord: (number) => (number === ny ? fixed : undefined),
  }
  const visitor = caller('sandbox')

  test('they are in force for the sandbox alone', async () => {
    const { ebrRecords } = await build(fixedFacts)
    expect((await ebrRecords.findRecords('sandbox', 'sandbox', [n(ny), n(ct)])).get(ny)).toBe(fixed)
    expect((await ebrRecords.findRecords('main', 'main', [n(ny)])).size).toBe(0)
  })

  test.each([
    [false, 'S 2026-11-01'],
    [true, 'P 2026-10-21'],
  ])(
    'a stored record replaces one, ranked like any other (keepBetterEBR %s)',
    async (keepBetterEbr, expected) => {
      const { ebrRecords } = await build(fixedFacts)
      await ebrRecords.record(visitor, { keepBetterEbr, records: [good] })
      const record = (await ebrRecords.findRecords('sandbox', 'sandbox', [n(ny)])).get(ny)
      expect(shown(record)).toBe(expected)
    },
  )
})

describe('a call in which the person confirms the identity', () => {
  const at = Date.parse('2026-11-20T18:00:00Z')
  const confirmedOn = async () => {
    const rows = await database.db.selectFrom('ebr_records').selectAll().orderBy('id').execute()
    return rows.map(({ confirmed_on }) => confirmed_on)
  }
  const setUp = async () => {
    const { clock, ebrRecords, ebrRecordList } = await build()
    clock.set('2026-11-20T12:00:00Z')
    const store = (more: Partial<EbrInput> = {}) =>
      ebrRecords.record(me, { keepBetterEbr: false, records: [{ ...good, type: 'P', ...more }] })
    await store()
    const confirm = (calledAt = at, more: object = {}) =>
      ebrRecordList.confirmIdentity(me, { number: n(ny), calledAt, ...more })
    const read = async () => {
      const record = (await ebrRecords.findRecords('main', 'main', [n(ny)])).get(ny)
      const one = await ebrRecords.findRecord('main', 'main', n(ny), undefined)
      expect(one?.confirmedOn).toBe(record?.confirmedOn)
      return record?.confirmedOn === undefined ? undefined : formatDay(record.confirmedOn)
    }
    return { clock, store, confirm, read }
  }

  test('is kept with the record in force, by the earliest local day, and survives a restart', async () => {
    const { confirm, read } = await setUp()
    expect(await read()).toBeUndefined()
    await confirm()
    expect(await read()).toBe('2026-11-20')
    // At 10:59 UTC it is the day before in American Samoa.
    await confirm(Date.parse('2026-11-22T10:59:59Z'))
    expect(await read()).toBe('2026-11-21')
    await confirm(Date.parse('2026-11-22T11:00:00Z'))
    expect(await read()).toBe('2026-11-22')
    await database.reopen()
    const { ebrRecords } = await build()
    expect((await ebrRecords.findRecord('main', 'main', n(ny), undefined))?.confirmedOn).toBe(
      parseDay('2026-11-22'),
    )
  })

  test('never moves the day back, whichever report comes first', async () => {
    const { confirm, read } = await setUp()
    const days = [4, 1, 3, 2].map((day) => at + day * 86_400_000)
    await Promise.all(days.map((calledAt) => confirm(calledAt)))
    expect(await read()).toBe('2026-11-24')
  })

  test('is not about a record that was stored after it, nor about another number or project', async () => {
    const { clock, store, confirm, read } = await setUp()
    clock.set('2026-11-20T19:00:00Z')
    await store()
    await confirm()
    expect(await read()).toBeUndefined()
    await confirm(Date.parse('2026-11-20T19:30:00Z'))
    expect(await read()).toBe('2026-11-20')
    expect(await confirmedOn()).toEqual([null, '2026-11-20'])
    // A new record has a day of its own.
    clock.set('2026-11-23T19:00:00Z')
    await store({ dateOfLastContact: '11/22/2026' })
    expect(await read()).toBeUndefined()
    await expect(confirm(at, { projectId: 'nobody' })).rejects.toThrow('nobody')
    await confirm(at, { number: n(ct) })
    expect(await confirmedOn()).toEqual([null, '2026-11-20', null])
  })

  test('is announced, once, so that nobody uses the day before', async () => {
    const { confirm } = await setUp()
    const readHead = async () =>
      (await database.db.selectFrom('change_head').select('seq').executeTakeFirstOrThrow()).seq
    const before = Number(await readHead())
    await confirm()
    expect(Number(await readHead())).toBe(before + 1)
    await confirm()
    expect(Number(await readHead())).toBe(before + 1)
  })
})
