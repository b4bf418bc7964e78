import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
  await running.callgate.projects.create({ accountId: 'sandbox', code: 'SALES', name: 'x' })
  await running.callgate.projects.setHours({ accountId: 'sandbox', code: 'SALES' }, 'NY', {
    monFri: '10:00-11:00',
    sat: 'none',
    sun: 'none',
  })
})
afterAll(() => running.end())

const path = '/v1.5/GeoScrub/LegalCallTimesForDate'
const zonesPath = '/v1.5/GeoScrub/GetTimeZoneInfo'

async function callTimes(items: readonly unknown[]) {
  const response = await running.postJson(path, { LegalCallTimesForDate: items })
  expect(response.status).toBe(200)
  const [wrapper] = (await response.json()) as [{ LegalCallTimes: Record<string, unknown>[] }]
  return wrapper.LegalCallTimes
}

const good = { PhoneNumber: '2125550100', Date: '2026-11-24' }

describe('LegalCallTimesForDate', () => {
  it('gives the lawful stretches of a day in UTC', async () => {
    expect(await callTimes([good])).toEqual([
      {
        PhoneNumber: '2125550100',
        ValidTimesInUTC: [{ StartInUTC: '2026-11-24T13:00:00Z', EndInUTC: '2026-11-25T02:00:00Z' }],
        Status: 'OK',
        StatusMessage: null,
      },
    ])
  })

  it('takes today in the called party’s place when no date is given', async () => {
    const [row] = await callTimes([{ PhoneNumber: '2125550100' }])
    expect(row).toMatchObject({
      ValidTimesInUTC: [{ StartInUTC: '2026-11-23T13:00:00Z', EndInUTC: '2026-11-24T02:00:00Z' }],
    })
  })

  it('uses the hours of the project', async () => {
    const [row] = await callTimes([{ ...good, DNCProjId: 'sales', NumberOfDays: 1 }])
    expect(row).toMatchObject({
      ValidTimesInUTC: [{ StartInUTC: '2026-11-24T15:00:00Z', EndInUTC: '2026-11-24T16:00:00Z' }],
    })
  })

  it.each([
    ['no number', {}, 'INVALID_PHONE'],
    ['null for an item', null, 'INVALID_PHONE'],
    ['a number that is short', { ...good, PhoneNumber: '212' }, 'INVALID_PHONE'],
    ['a project of nobody', { ...good, DNCProjId: 'NONE' }, 'INVALID_PROJECT'],
    ['no date', { ...good, Date: 'tomorrow' }, 'INVALID_DATE'],
    ['a day that is not', { ...good, Date: '2026-02-30' }, 'INVALID_DATE'],
    ['a number for a date', { ...good, Date: 20261124 }, 'INVALID_DATE'],
    ['far away', { ...good, Date: '2099-01-01' }, 'INVALID_DATE'],
    ['no days', { ...good, NumberOfDays: 0 }, 'INVALID_DATE'],
    ['too many days', { ...good, NumberOfDays: 32 }, 'INVALID_DATE'],
    ['half a day', { ...good, NumberOfDays: 1.5 }, 'INVALID_DATE'],
    ['toll-free', { ...good, PhoneNumber: '8005550100' }, 'TOLL_FREE'],
    ['not in use', { ...good, PhoneNumber: '2125550199' }, 'UNKNOWN_NXX'],
    ['not in use, today', { PhoneNumber: '2125550199' }, 'UNKNOWN_NXX'],
    ['an American date', { ...good, Date: '11/24/2026' }, 'OK'],
    ['a date with a time', { ...good, Date: '2026-11-24T00:00:00' }, 'OK'],
    ['days as text', { ...good, NumberOfDays: '2' }, 'OK'],
  ])('one bad row does not fail the batch: %s', async (_what, item, status) => {
    const [first, second] = await callTimes([item, good])
    expect(first?.Status).toBe(status)
    expect(first?.StatusMessage === null).toBe(status === 'OK')
    if (status !== 'OK') expect(first?.ValidTimesInUTC).toEqual([])
    expect(second?.Status).toBe('OK')
  })

  it.each([
    ['no body', '', 400],
    ['no list', {}, 400],
    ['null', { LegalCallTimesForDate: null }, 400],
    ['an empty list', { LegalCallTimesForDate: [] }, 400],
    ['1001 items', { LegalCallTimesForDate: Array(1001).fill(good) }, 400],
    ['1000 items', { LegalCallTimesForDate: Array(1000).fill(good) }, 200],
    ['a slip', { LegalCallTimesForDate: [good], LegalCallTimeForDate: 1 }, 400],
  ])('the batch: %s', async (_what, body, status) => {
    const response = await running.postJson(path, body)
    expect(response.status).toBe(status)
    if (status === 400)
      expect(Object.keys((await response.json()) as object)).toEqual(['ReasonPhrase'])
  })
})

async function zones(PhoneList: readonly unknown[], more: object = {}) {
  const response = await running.postJson(zonesPath, { PhoneList, ...more })
  expect(response.status).toBe(200)
  return (await response.json()) as Record<string, unknown>[]
}

describe('GetTimeZoneInfo', () => {
  it('tells zone, state, offset and the next changes of the clock', async () => {
    expect(await zones(['2125550100'])).toEqual([
      {
        PhoneNumber: '2125550100',
        TZName: 'America/New_York',
        StateProvince: 'NY',
        UTCOffset: '-05:00',
        UTCOffsetInMinutes: -300,
        HasDST: true,
        NextStartDateDST: '2027-03-14T07:00:00Z',
        EndStartDateDST: '2027-11-07T06:00:00Z',
        LATA: null,
        RateCenterLIR: null,
        Status: 'OK',
        StatusMessage: null,
      },
    ])
  })

  it.each([
    ['in summer', '2125550100', '2026-07-01T12:00:00Z', 'America/New_York -04:00 true'],
    ['Arizona saves none', '6025550100', '2026-07-01T12:00:00Z', 'America/Phoenix -07:00 false'],
    [
      'Newfoundland and Labrador have two zones',
      '7095550100',
      '2026-12-01T12:00:00Z',
      'null null null',
    ],
    [
      'British Columbia stopped changing its clocks',
      '6045550100',
      '2026-12-15T12:00:00Z',
      'America/Vancouver -07:00 false',
    ],
  ])('%s', async (_what, number, OverwriteTodaysTime, expected) => {
    const [row] = await zones([number], { OverwriteTodaysTime })
    expect(`${row?.TZName} ${row?.UTCOffset} ${row?.HasDST}`).toBe(expected)
  })

  it('guesses no zone for a number that may lie in several', async () => {
    const [row] = await zones(['8505550100'])
    expect(row).toMatchObject({ TZName: null, StateProvince: 'FL', UTCOffset: null, Status: 'OK' })
    expect(row?.StatusMessage).toMatch(/America\/Chicago.*America\/New_York|New_York.*Chicago/)
  })

  it('gives a status to each bad number', async () => {
    const rows = await zones(['212', 2125550100, '8005550100', '2125550199', '2125550100'])
    expect(rows.map(({ Status }) => Status)).toEqual([
      'INVALID_PHONE',
      'OK',
      'TOLL_FREE',
      'UNKNOWN_NXX',
      'OK',
    ])
  })

  it.each([
    ['no list', {}],
    ['an empty list', { PhoneList: [] }],
    ['1001 numbers', { PhoneList: Array(1001).fill('2125550100') }],
    ['a time that is none', { PhoneList: ['2125550100'], OverwriteTodaysTime: 'noon' }],
  ])('the batch: %s', async (_what, body) => {
    const response = await running.postJson(zonesPath, body)
    expect(response.status).toBe(400)
    expect(Object.keys((await response.json()) as object)).toEqual(['ReasonPhrase'])
  })
})
