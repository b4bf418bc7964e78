import { describe, expect, it } from 'vitest'
import type { EbrType } from '../../src/domain/compliance.js'
import type { LineClass } from '../../src/domain/place.js'
import type { ScrubItem } from '../../src/domain/scrub-row.js'
import { parseDay } from '../../src/domain/time/dates.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import type { EvaluatedRow } from '../../src/service/scrub/scrub-row.js'
import {
  agesWith,
  areaCodePlan,
  cleanLists,
  fakeLists,
  fakeProjects,
  hoursOver,
  planWith,
  type TestScrubOptions,
  testScrub,
} from '../support/scrub-parts.js'
import { instant, testClock } from '../support/test-clock.js'

/** Monday, noon in New York. */
const noon = '2026-11-23T17:00:00Z'

function record(type: EbrType, on: string): EbrRecord {
  return {
    type,
    contactOn: parseDay(on) ?? Number.NaN,
    contactAt: undefined,
    obligationEndsOn: undefined,
    storedSeq: instant(on),
    liftsOptOut: true,
  }
}

const entry = (added: string) => ({
  addedAt: instant(added),
  removedAt: null,
  optedOutAt: instant(added),
  optedOutSeq: instant(added),
})

type Asked = Partial<TestScrubOptions> & {
  readonly at?: string
  readonly version?: Parameters<ReturnType<typeof testScrub>['scrub']['listRows']>[1]['version']
  readonly projectId?: string
  readonly campaignId?: string
}

async function rowsOf(items: readonly ScrubItem[], asked: Asked = {}) {
  const { at = noon, version = 8, projectId, campaignId, ...options } = asked
  const { scrub } = testScrub({ clock: testClock(), ...options })
  return await scrub.listRows('main', { items, version, projectId, campaignId, at: instant(at) })
}

async function rowOf(phone: string, asked: Asked & { postalCode?: string } = {}) {
  const [row] = await rowsOf([{ phone, postalCode: asked.postalCode }], asked)
  if (!row) throw new Error('no row')
  return row
}

const knownAs = (lineClass: LineClass, ...phones: readonly string[]) =>
  planWith(Object.fromEntries(phones.map((phone) => [phone, { lineClass }])))

const ny = '2127361000'

describe('rows of a request', () => {
  it('come in request order, duplicates kept, ids echoed, bad numbers in their place', async () => {
    const items = [
      { phone: ny, reserved: 'a' },
      { phone: '212736100', reserved: 'b' },
      { phone: '3057361000' },
      { phone: ny, reserved: 'a,2' },
      { phone: '9997361000' },
      { phone: '+12127361000' },
      { phone: '8007361000' },
      { phone: '' },
    ]
    const rows = await rowsOf(items, { plan: knownAs('wireline', ny, '3057361000') })
    expect(rows.map(({ phone, letter, reserved }) => [phone, letter, reserved])).toEqual([
      [ny, 'C', 'a'],
      ['212736100', 'M', 'b'],
      ['3057361000', 'C', ''],
      [ny, 'C', 'a,2'],
      ['9997361000', 'I', ''],
      ['+12127361000', 'M', ''],
      ['8007361000', 'I', ''],
      ['', 'M', ''],
    ])
  })

  it('are read from file in one go, whatever their number', async () => {
    const { scrub, asked } = testScrub({ clock: testClock() })
    const items = Array.from({ length: 2000 }, (_, at) => ({
      phone: String(2_127_360_000 + (at % 1500)),
    }))
    const rows = await scrub.listRows('main', { items, version: 8 })
    expect(rows.map((row) => row.phone)).toEqual(items.map((item) => item.phone))
    expect(asked).toEqual({ entries: 1, records: 1 })
  })

  it('are judged now when no instant is given', async () => {
    const clock = testClock('2026-11-24T01:59:59Z')
    const { scrub } = testScrub({ clock, plan: knownAs('wireline', ny) })
    const ask = () => scrub.listRows('main', { items: [{ phone: ny }], version: 8 })
    expect((await ask())[0]?.allowed.manual).toBe(true)
    clock.advance(1000)
    expect((await ask())[0]?.allowed.manual).toBe(false)
  })
})

describe('project and campaign', () => {
  it.each([
    { projectId: 'NONE', problem: "projId 'NONE'" },
    { campaignId: '77', problem: "campaignId '77'" },
    { projectId: 'P1', campaignId: '77', problem: "campaignId '77'" },
  ])('an unknown one is refused by name: $problem', async ({ problem, ...choice }) => {
    const asked = rowsOf([{ phone: ny }], { ...choice, projects: fakeProjects({ P1: {} }) })
    await expect(asked).rejects.toThrow(problem)
    await expect(asked).rejects.toMatchObject({ kind: 'invalid-request' })
  })

  it('decide whose internal list and records count', async () => {
    const options = {
      plan: knownAs('wireline', ny),
      projects: fakeProjects({
        own: { internalDncList: 'own', ebrProject: 'own' },
        inherits: { internalDncList: 'main', ebrProject: 'main' },
      }),
      entries: { [`own ${ny}`]: entry('2026-10-01') },
      records: { [`main ${ny}`]: record('P', '2026-09-01') },
    }
    const letters = await Promise.all(
      [undefined, 'own', 'inherits'].map(async (projectId) => {
        const row = await rowOf(ny, { ...options, ...(projectId && { projectId }) })
        return row.letter
      }),
    )
    expect(letters).toEqual(['E', 'P', 'E'])
  })

  it('an industry exemption lifts list matches, never the internal list', async () => {
    const options = {
      projectId: 'x',
      projects: fakeProjects({ x: { industryExemption: true } }),
      plan: knownAs('wireline', ny, '2127361001'),
      lists: fakeLists({ ...cleanLists, 'us-dnc': { numbers: [ny, '2127361001'] } }),
      entries: { 'main 2127361001': entry('2026-10-01') },
    }
    expect((await rowOf(ny, options)).letter).toBe('X')
    expect((await rowOf('2127361001', options)).letter).toBe('P')
  })

  it.each([
    { voipRestricted: false, letter: 'Y' },
    { voipRestricted: true, letter: 'L' },
  ])('VoIP in a wireless state, voipRestricted $voipRestricted: $letter', async (test) => {
    const { voipRestricted, letter } = test
    const options = {
      projectId: 'v',
      projects: fakeProjects({ v: { voipRestricted } }),
      plan: knownAs('voip', '6027361000'),
    }
    expect((await rowOf('6027361000', options)).letter).toBe(letter)
  })

  it('own calling hours of the project are the window of the row', async () => {
    const window = { start: 12 * 3600, end: 13 * 3600 }
    const options = {
      projectId: 'h',
      plan: knownAs('wireline', ny),
      projects: fakeProjects({
        h: { hours: [{ region: 'NY', monFri: window, sat: undefined, sun: undefined }] },
      }),
    }
    const inside = await rowOf(ny, options)
    expect(inside.callingWindow).toBe('12:00-13:00;0:00-0:00;0:00-0:00')
    expect(inside.allowed.manual).toBe(true)
    expect(inside.holdsUntil).toBe(instant('2026-11-23T18:00:00Z'))
    const after = await rowOf(ny, { ...options, at: '2026-11-23T18:00:00Z' })
    expect(after.allowed.manual).toBe(false)
  })
})

describe('lists', () => {
  const plan = knownAs('wireline', ny, '2147361000', '4167361000', '7877361000')
  const listed = { numbers: [ny, '2147361000', '4167361000', '7877361000'] }
  const national = { 'us-dnc': listed, 'canada-dnc': listed, litigators: {} }
  const cases = [
    { phone: ny, lists: national, letter: 'D', reason: 'National (USA) 2026-11-01;;;' },
    { phone: '7877361000', lists: national, letter: 'D', reason: 'National (USA) 2026-11-01;;;' },
    { phone: '4167361000', lists: national, letter: 'D', reason: 'National (CAN) 2026-11-01;;;' },
    {
      phone: '2147361000',
      letter: 'D',
      reason: ';State (TX) 2026-11-01;;',
      lists: { ...cleanLists, 'state-dnc-tx': listed },
    },
    {
      phone: '2147361000',
      lists: { ...national, 'state-dnc-tx': { ...listed, asOf: '2026-10-05' } },
      letter: 'D',
      reason: 'National (USA) 2026-11-01;State (TX) 2026-10-05;;',
    },
    // The list of another state says nothing of this number.
    { phone: ny, lists: { ...cleanLists, 'state-dnc-tx': listed }, letter: 'C', reason: ';;;' },
    { phone: ny, lists: { ...cleanLists, litigators: listed }, letter: 'D', reason: 'Litigator' },
    { phone: ny, lists: {}, letter: 'B', reason: '' },
    { phone: ny, lists: { ...cleanLists, 'us-dnc': { covers: ['305'] } }, letter: 'B', reason: '' },
    { phone: '4167361000', lists: { 'us-dnc': {} }, letter: 'B', reason: '' },
    {
      phone: '2147361000',
      letter: 'B',
      reason: '',
      lists: { ...cleanLists, 'state-dnc-tx': { covers: ['713'] } },
    },
    // Without a list of litigators the row says nothing of them; that check is a question of its own.
    { phone: ny, lists: { 'us-dnc': {} }, letter: 'C', reason: ';;;' },
  ]
  it.each(cases)('$phone: $letter $reason', async ({ phone, lists, letter, reason }) => {
    const row = await rowOf(phone, { plan, lists: fakeLists(lists) })
    expect([row.letter, row.reason]).toEqual([letter, reason])
  })

  it.each([
    { phone: ny, command: 'callgate import us-dnc' },
    { phone: '4167361000', command: 'callgate import canada-dnc' },
  ])('a B row says which import is missing: $command', async ({ phone, command }) => {
    expect((await rowOf(phone, { plan, lists: fakeLists({}) })).detail).toContain(command)
  })

  const covers = (status: 'validated' | 'failed' | 'expired', areaCodes: 'all' | string[]) => ({
    subscription: { status, areaCodes: areaCodes === 'all' ? areaCodes : new Set(areaCodes) },
  })
  it.each([
    ['everything', covers('validated', 'all'), ny, 'C', undefined],
    ['its area code', covers('validated', ['305', '212']), ny, 'C', undefined],
    ['others', covers('validated', ['305', '646']), ny, 'B', 'does not cover area code 212'],
    ['nothing, failed', covers('failed', []), ny, 'B', 'is failed'],
    ['nothing, expired', covers('expired', []), ny, 'B', 'is expired'],
    ['no Canadian number', covers('expired', []), '4167361000', 'C', undefined],
  ])('a federal subscription that covers %s', async (_name, scope, phone, letter, detail) => {
    const projects = fakeProjects({ P1: scope })
    const row = await rowOf(phone, { plan, projects, projectId: 'P1' })
    expect(row.letter).toBe(letter)
    if (detail === undefined) expect(row.detail).toBeUndefined()
    else expect(row.detail).toContain(`subscription of project 'P1' ${detail}; once`)
    expect((await rowOf(phone, { plan, projects })).letter).toBe('C')
  })

  it('a litigator with a permission record stays D', async () => {
    const row = await rowOf(ny, {
      plan,
      lists: fakeLists({ ...cleanLists, litigators: listed }),
      records: { [`main ${ny}`]: record('P', '2026-09-01') },
    })
    expect([row.letter, row.reason, row.ebrType]).toEqual(['D', 'Litigator', 'P'])
    expect(row.allowed).toEqual({ manual: false, autodialed: false, ai: false })
  })
})

describe('relationship records', () => {
  const cases = [
    { type: 'P', on: '2020-01-01', letter: 'E', ebrExpiresOn: '', flags: [true, true, true] },
    {
      type: 'S',
      on: '2026-11-01',
      letter: 'E',
      ebrExpiresOn: '2028-05-01',
      flags: [true, true, false],
    },
    {
      type: 'I',
      on: '2026-11-01',
      letter: 'E',
      ebrExpiresOn: '2027-02-01',
      flags: [true, true, false],
    },
    {
      type: 'I',
      on: '2026-01-01',
      letter: 'R',
      ebrExpiresOn: '2026-04-01',
      flags: [true, true, false],
    },
    { type: 'T', on: '2026-11-01', letter: 'R', ebrExpiresOn: '', flags: [true, true, false] },
  ] as const
  it.each(cases)('$type of $on: $letter', async ({ type, on, letter, ebrExpiresOn, flags }) => {
    const row = await rowOf(ny, {
      plan: knownAs('wireline', ny),
      records: { [`main ${ny}`]: record(type, on) },
    })
    const { manual, autodialed, ai } = row.allowed
    expect([row.letter, row.ebrType, row.ebrExpiresOn]).toEqual([letter, type, ebrExpiresOn])
    expect([manual, autodialed, ai]).toEqual(flags)
  })

  it('a permission older than the list entry shows as P with the record on file', async () => {
    const row = await rowOf(ny, {
      plan: knownAs('wireline', ny),
      entries: { [`main ${ny}`]: entry('2026-10-01') },
      records: { [`main ${ny}`]: record('P', '2026-09-01') },
    })
    expect([row.letter, row.reason, row.ebrType]).toEqual(['P', '', 'P'])
  })

  it('the strictest of the places of number and postal code decides the expiry', async () => {
    const row = await rowOf(ny, {
      postalCode: '06103',
      plan: knownAs('wireline', ny),
      records: { [`main ${ny}`]: record('S', '2025-10-01') },
    })
    expect([row.letter, row.ebrExpiresOn]).toEqual(['R', '2026-10-01'])
  })
})

describe('wireless states', () => {
  it.each([
    { phone: '6027361000', postalCode: undefined, lineClass: 'wireless', letter: 'L' },
    { phone: '6027361000', postalCode: undefined, lineClass: 'unknown', letter: 'L' },
    { phone: '6027361000', postalCode: undefined, lineClass: 'wireline', letter: 'C' },
    // A postal code elsewhere lifts no ban, and one inside brings it.
    { phone: '6027361000', postalCode: '10001', lineClass: 'wireless', letter: 'L' },
    { phone: ny, postalCode: '75201', lineClass: 'wireless', letter: 'L' },
    { phone: ny, postalCode: '10001', lineClass: 'wireless', letter: 'W' },
  ] as const)('$phone $lineClass, postal code $postalCode: $letter', async (test) => {
    const { phone, postalCode, lineClass, letter } = test
    const row = await rowOf(phone, {
      plan: knownAs(lineClass, phone),
      ...(postalCode && { postalCode }),
    })
    expect(row.letter).toBe(letter)
  })
})

describe('fields of a row', () => {
  const plan = planWith({
    [ny]: {
      lineClass: 'wireless',
      locality: 'NWYRCYZN01',
      carrier: { ocn: '6006', company: 'ACME' },
    },
    '2147361000': { lineClass: 'wireline' },
  })

  it('of a wireless number with a postal code in another zone', async () => {
    const row = await rowOf(ny, { plan, postalCode: '90001' })
    expect(row).toEqual({
      phone: ny,
      letter: 'W',
      reserved: '',
      reason: ';;;W',
      region: 'NY',
      country: 'US',
      locale: 'NEW YORK',
      carrierInfo: '6006;WIRELESS;"ACME:ACME"',
      timeZoneCode: '4',
      callingWindow: '8:00-21:00;8:00-21:00;8:00-21:00',
      utcOffsetMinutes: -480,
      doNotCallToday: false,
      callingTimeRestrictions: '4',
      ebrType: '',
      isWirelessOrVoip: true,
      lineType: 'Wireless',
      ebrExpiresOn: '',
      wirelessPortDate: '',
      postalCode: '90001',
      timeZoneSource: 'PostalCode',
      allowed: { manual: true, autodialed: false, ai: false },
      holdsUntil: instant('2026-11-24T05:00:00Z'),
      detail: undefined,
      lists: [
        { name: 'us-dnc', version: 'test', asOf: instant('2026-11-01') },
        { name: 'litigators', version: 'test', asOf: instant('2026-11-01') },
      ],
    } satisfies EvaluatedRow)
  })

  it.each([
    { postalCode: undefined, code: '35', offset: -300, source: 'NPANXX', used: '' },
    { postalCode: 'K1A 0B1', code: '35', offset: -300, source: 'PostalCode', used: 'K1A 0B1' },
    { postalCode: '96813', code: '2', offset: -600, source: 'PostalCode', used: '96813' },
    // Well formed but unknown, and no postal code at all.
    { postalCode: '00001', code: '35', offset: -300, source: 'NPANXX', used: '' },
    { postalCode: 'nowhere', code: '35', offset: -300, source: 'NPANXX', used: '' },
  ])('zone by postal code $postalCode', async ({ postalCode, code, offset, source, used }) => {
    const row = await rowOf(ny, { plan, ...(postalCode && { postalCode }) })
    const { timeZoneCode, utcOffsetMinutes, timeZoneSource } = row
    expect([timeZoneCode, utcOffsetMinutes, timeZoneSource, row.postalCode]).toEqual([
      code,
      offset,
      source,
      used,
    ])
  })

  it('the offset is that of the judged instant, daylight saving included', async () => {
    expect((await rowOf(ny, { plan, at: '2026-07-01T17:00:00Z' })).utcOffsetMinutes).toBe(-240)
  })

  it('an area code in two zones gives no zone, and the hours common to both', async () => {
    // Florida: Eastern and Central, 8 to 20.
    const options = { plan: knownAs('wireline', '8507361000') }
    const ask = (at: string) => rowOf('8507361000', { ...options, at })
    const row = await ask('2026-11-23T17:00:00Z')
    const { region, timeZoneCode, utcOffsetMinutes, timeZoneSource } = row
    expect([region, timeZoneCode, utcOffsetMinutes, timeZoneSource]).toEqual([
      'FL',
      '',
      undefined,
      '',
    ])
    expect(row.callingTimeRestrictions).toBe('0')
    expect(row.callingWindow).toBe('8:00-20:00;8:00-20:00;8:00-20:00')
    const opening = [
      { at: '2026-11-23T13:59:59Z', manual: false, why: 'Central still before eight' },
      { at: '2026-11-23T14:00:00Z', manual: true, why: 'both inside' },
      { at: '2026-11-24T00:59:59Z', manual: true, why: 'Eastern still inside' },
      { at: '2026-11-24T01:00:00Z', manual: false, why: 'Eastern at twenty' },
    ]
    const given = await Promise.all(opening.map(async ({ at }) => (await ask(at)).allowed.manual))
    expect(given).toEqual(opening.map(({ manual }) => manual))
  })

  it('an area code in several regions names none', async () => {
    const row = await rowOf('8677361000', { plan: knownAs('wireline', '8677361000') })
    expect([row.region, row.country]).toEqual(['', 'CA'])
  })

  it.each([
    { phone: '212', letter: 'M', reason: 'not a valid number' },
    { phone: '9997361000', letter: 'I', reason: '', why: 'area code 999 is not in service' },
    { phone: '8007361000', letter: 'I', reason: '', why: 'toll-free number' },
  ])('a $letter row has no others', async ({ phone, letter, reason, why }) => {
    const { detail, ...row } = await rowOf(phone, { plan, postalCode: '10001' })
    expect(detail).toBe(why)
    expect(row).toEqual({
      phone,
      letter,
      reserved: '',
      reason,
      region: '',
      country: '',
      locale: '',
      carrierInfo: '',
      timeZoneCode: '',
      callingWindow: '',
      utcOffsetMinutes: undefined,
      doNotCallToday: undefined,
      callingTimeRestrictions: '',
      ebrType: '',
      lineType: '',
      isWirelessOrVoip: undefined,
      ebrExpiresOn: '',
      postalCode: '',
      timeZoneSource: '',
      wirelessPortDate: '',
      allowed: { manual: false, autodialed: false, ai: false },
      holdsUntil: Number.POSITIVE_INFINITY,
    })
  })

  it('rows that may not be called at any hour carry no window', async () => {
    const phones = ['2127361000', '2127361001', '2127361002', '2127361003', '6027361000']
    const rows = await rowsOf(
      phones.map((phone) => ({ phone })),
      {
        plan: planWith(
          Object.fromEntries(phones.map((phone) => [phone, { lineClass: 'wireless' }])),
        ),
        lists: fakeLists({ ...cleanLists, 'us-dnc': { numbers: ['2127361001', '2127361003'] } }),
        entries: { 'main 2127361002': entry('2026-10-01') },
        records: { 'main 2127361003': record('P', '2026-09-01') },
      },
    )
    expect(rows.map((row) => [row.letter, row.callingWindow !== '', row.doNotCallToday])).toEqual([
      ['W', true, false],
      ['D', false, undefined],
      ['P', false, false],
      ['H', true, false],
      ['L', false, false],
    ])
  })
})

describe('what a reason tells', () => {
  const plan = knownAs('wireline', ny, '3057361000')
  const both = { numbers: [ny, '3057361000'] }

  it('the day a number was put on its lists, or else the day of the list', async () => {
    const lists = fakeLists({
      ...cleanLists,
      'us-dnc': { ...both, days: { '3057361000': '2019-05-06' } },
      'state-dnc-fl': { ...both, days: { '3057361000': '2021-07-08' } },
    })
    const reasons = await rowsOf([{ phone: ny }, { phone: '3057361000' }], { plan, lists })
    expect(reasons.map(({ reason }) => reason)).toEqual([
      'National (USA) 2026-11-01;;;',
      'National (USA) 2019-05-06;State (FL) 2021-07-08;;',
    ])
  })

  it('a litigator, also where the national list is too old to answer', async () => {
    const lists = fakeLists({
      litigators: both,
      'us-dnc': { asOf: '2026-01-01' },
      'canada-dnc': {},
    })
    const row = await rowOf(ny, { plan, lists, ages: agesWith({ usDnc: 31 }) })
    expect([row.letter, row.reason]).toEqual(['B', 'Litigator'])
    expect(row.allowed).toEqual({ manual: false, autodialed: false, ai: false })
  })
})

describe('the hours of recorded voices', () => {
  // Maine lets recorded voices call on working days from 9:00 to 17:00.
  const maine = '2077361000'
  const asked = {
    plan: knownAs('wireline', maine),
    records: { [`main ${maine}`]: record('P', '2026-09-01') },
  }
  const flagsAt = async (at: string, aiKeepsVoiceWindows?: boolean) => {
    const { scrub } = testScrub({ clock: testClock(), ...asked })
    const terms = { items: [{ phone: maine }], version: 8 as const, at: instant(at) }
    return (await scrub.listRows('main', { ...terms, aiKeepsVoiceWindows }))[0]?.allowed
  }
  const all = { manual: true, autodialed: true, ai: true }

  it('close the AI flag where the account says so, and no other', async () => {
    const evening = '2026-11-23T23:00:00Z'
    expect(await flagsAt(evening)).toEqual(all)
    expect(await flagsAt(evening, true)).toEqual({ ...all, ai: false })
    expect(await flagsAt(noon, true)).toEqual(all)
  })
})

describe('time', () => {
  const plan = knownAs('wireline', ny, '2057361000', '8017361000')

  it.each([
    { at: '2026-11-23T12:59:59Z', manual: false, until: '2026-11-23T13:00:00Z' },
    { at: '2026-11-23T13:00:00Z', manual: true, until: '2026-11-24T02:00:00Z' },
    { at: '2026-11-24T01:59:59Z', manual: true, until: '2026-11-24T02:00:00Z' },
    { at: '2026-11-24T02:00:00Z', manual: false, until: '2026-11-24T05:00:00Z' },
    { at: '2026-11-24T05:00:00Z', manual: false, until: '2026-11-24T13:00:00Z' },
  ])('in New York at $at: $manual, holds until $until', async ({ at, manual, until }) => {
    const row = await rowOf(ny, { plan, at })
    expect([row.allowed.manual, row.holdsUntil]).toEqual([manual, instant(until)])
  })

  it('all batches of a long scrub are judged for the instant of its request', async () => {
    const clock = testClock('2026-11-24T01:59:59Z')
    const { scrub } = testScrub({ clock, plan })
    const items = Array.from({ length: 513 }, () => ({ phone: ny }))
    const batches = scrub.streamRows('main', { items, version: 8 })
    const manual = async () => (await batches.next()).value?.at(-1)?.allowed.manual
    expect(await manual()).toBe(true)
    clock.advance(1_000)
    expect(await manual()).toBe(true)
    expect(await batches.next()).toMatchObject({ done: true })
  })

  it('a Sunday without calls', async () => {
    const row = await rowOf('2057361000', { plan, at: '2026-11-22T18:00:00Z' })
    expect([row.allowed.manual, row.doNotCallToday]).toEqual([false, false])
    expect(row.callingWindow).toBe('8:00-20:00;8:00-20:00;0:00-0:00')
  })

  it('a restricted day: the flags are 0 and the row says why', async () => {
    const row = await rowOf('8017361000', { plan, at: '2026-11-26T18:00:00Z' })
    expect([row.letter, row.doNotCallToday]).toEqual(['C', true])
    expect(row.allowed).toEqual({ manual: false, autodialed: false, ai: false })
  })

  it('a declared emergency', async () => {
    const emergencies = [{ region: 'NY', from: instant('2026-11-20'), name: 'flood' }]
    const hours = hoursOver(areaCodePlan, { emergencies })
    const row = await rowOf(ny, { plan, hours })
    expect([row.doNotCallToday, row.allowed.manual]).toEqual([true, false])
  })
})

describe('versions', () => {
  const wirelessOfArizona = '6027361000'
  const voip = '2127361001'
  const plan = planWith({
    [wirelessOfArizona]: { lineClass: 'wireless' },
    [ny]: { lineClass: 'wireless' },
    [voip]: { lineClass: 'voip' },
  })
  const records = { [`main ${ny}`]: record('P', '2026-09-01') }
  it.each([
    { version: 1, letters: ['D', 'E', 'W'] },
    { version: 2, letters: ['L', 'G', 'W'] },
    { version: 3, letters: ['L', 'G', 'Y'] },
    { version: 5, letters: ['L', 'G', 'Y'] },
    { version: 8, letters: ['L', 'G', 'Y'] },
  ] as const)('version $version: $letters', async ({ version, letters }) => {
    const items = [wirelessOfArizona, ny, voip].map((phone) => ({ phone }))
    const rows = await rowsOf(items, { version, plan, records })
    expect(rows.map((row) => row.letter)).toEqual(letters)
  })
})
