/** The reassigned-number checks over HTTP: both calls, their forms, dates, limits and test data. */
import { describe, expect, test } from 'vitest'
import {
  enhancedRndGet,
  enhancedRndPost,
  rndBasicGet,
  rndBasicPost,
  wireNationalRow,
  wireReassignedRow,
} from '../../src/api/lookups/reassigned.js'
import { createRoute } from '../../src/api/route.js'
import type { LookupSource, ReassignedAnswer, ReassignedRequest } from '../../src/domain/lookups.js'
import { formatDay } from '../../src/domain/time/dates.js'
import { createReassignedAnswer } from '../../src/service/lookups/reassigned-answer.js'
import { ReassignedChecks } from '../../src/service/lookups/reassigned-checks.js'
import { fakeProjects } from '../support/scrub-parts.js'
import { openTestApp } from '../support/test-app.js'
import { testClock } from '../support/test-clock.js'

const clock = testClock('2026-11-20T12:00:00Z')
const asked: { number: string; consentOn: string }[] = []
let answers: Readonly<Record<string, ReassignedAnswer>> = {}

/** Accounts whose book holds test data. */
const sandboxAccounts = new Set<string>()

const book: Pick<LookupSource, 'reassigned'> = {
  async reassigned(items) {
    for (const { number, consentOn } of items) {
      asked.push({ number, consentOn: formatDay(consentOn) })
    }
    return items.map(({ number }) => answers[number])
  },
}

const checks = new ReassignedChecks({
  projects: fakeProjects({ P1: {} }),
  lookupSourceFor: () => book,
  clockOf: () => clock,
  isSandbox: (accountId) => sandboxAccounts.has(accountId),
})

const app = await openTestApp({
  routes: [
    createRoute(enhancedRndGet, (caller, request) => checks.checkEnhancedOne(caller, request)),
    createRoute(enhancedRndPost, (caller, request) => checks.checkEnhanced(caller, request)),
    createRoute(rndBasicGet, (caller, request) => checks.checkBasicOne(caller, request)),
    createRoute(rndBasicPost, (caller, request) => checks.checkBasic(caller, request)),
  ],
})

const enhanced = '/v1.5/Data/EnhancedRND'
const basic = '/v1.5/Data/RNDBasic'
const number = '2127365001'
const plain = { phoneNumber: number, date: '01/31/2024' }
const at = (path: string, query: Readonly<Record<string, string>>) =>
  app.send(`${path}?${new URLSearchParams(query)}`)

describe.each([
  [createReassignedAnswer(true, true), true, false, true],
  [createReassignedAnswer(true, false), true, false, false],
  [createReassignedAnswer(true, null), true, false, null],
  [createReassignedAnswer(false, true), true, false, true],
  [createReassignedAnswer(false, false), false, true, false],
  [createReassignedAnswer(false, null), false, true, null],
  [createReassignedAnswer(null, true), true, false, true],
  [createReassignedAnswer(null, false), false, false, false],
  [undefined, null, false, null],
  [{ national: null, own: null, hasSafeHarbor: true }, null, true, null],
] as const)('%j', (answer, isReassigned, hasSafeHarbor, own) => {
  const both = {
    PhoneNumber: number,
    IsReassigned: isReassigned,
    HasSafeHarbor: hasSafeHarbor,
    OwnIsReassigned: own,
    IsSandBox: false,
  }
  const national = {
    PhoneNumber: number,
    IsReassigned: answer?.national ?? null,
    HasSafeHarbor: hasSafeHarbor,
    IsSandBox: false,
  }

  test('by GET and POST, in the fields of the specification', async () => {
    answers = answer ? { [number]: answer } : {}
    for (const path of [enhanced, '/v1.4/Data/EnhancedRND', '/V1.5/data/enhancedrnd']) {
      const row = (await at(path, plain)).json()
      expect(row).toEqual(both)
      expect(Object.keys(row as object)).toEqual(Object.keys(both))
      expect((await app.post(path, { Data: [plain] })).json()).toEqual([both])
      expect(wireReassignedRow.schema.parse(row)).toMatchObject({
        isReassigned,
        ownIsReassigned: own,
      })
    }
  })

  test('of the national database alone', async () => {
    answers = answer ? { [number]: answer } : {}
    const row = (await at(basic, plain)).json()
    expect(row).toEqual(national)
    expect(Object.keys(row as object)).toEqual(Object.keys(national))
    expect((await app.post(basic, { Data: [plain] })).json()).toEqual([national])
    expect(wireNationalRow.schema.parse(row)).toMatchObject({ hasSafeHarbor })
  })
})

test('a consent older than the national database has no national no', async () => {
  answers = { [number]: createReassignedAnswer(false, false) }
  const old = { ...plain, date: '2021-01-26' }
  expect((await at(basic, old)).json()).toMatchObject({ IsReassigned: null, HasSafeHarbor: false })
  expect((await at(enhanced, old)).json()).toMatchObject({
    IsReassigned: false,
    HasSafeHarbor: false,
    OwnIsReassigned: false,
  })
  expect((await at(basic, { ...plain, date: '2021-01-27' })).json()).toMatchObject({
    IsReassigned: false,
    HasSafeHarbor: true,
  })
})

describe('dates', () => {
  test.each([
    ['01/31/2024', '2024-01-31'],
    ['2024-01-31', '2024-01-31'],
    ['01/31/24', '2024-01-31'],
    ['20240131', '2024-01-31'],
    ['1/5/24', '2024-01-05'],
    ['1/5/2024', '2024-01-05'],
    ['02/29/24', '2024-02-29'],
    ['01/01/00', '2000-01-01'],
    ['12/31/1999', '1999-12-31'],
    [' 2024-01-31 ', '2024-01-31'],
    ['2026-11-21', '2026-11-21'],
  ])("'%s' is %s", async (date, day) => {
    asked.length = 0
    expect((await at(enhanced, { ...plain, date })).status).toBe(200)
    expect((await app.post(enhanced, { Data: [{ ...plain, date }] })).status).toBe(200)
    expect(asked).toEqual([
      { number, consentOn: day },
      { number, consentOn: day },
    ])
  })

  const noDay = 'must be a day as MM/DD/YYYY, YYYY-MM-DD, MM/DD/YY (years 2000 to 2099) or YYYYMMDD'
  const toCome = 'must not be in the future; tomorrow is 2026-11-21 (UTC)'
  test.each([
    ['31/01/2024', noDay],
    ['2024-02-30', noDay],
    ['02/30/24', noDay],
    ['02/29/23', noDay],
    ['20241301', noDay],
    ['2024', noDay],
    ['2024-1-5', noDay],
    ['01-31-2024', noDay],
    ['yesterday', noDay],
    ['1706659200', noDay],
    ['2024-01-31T00:00:00Z', noDay],
    ['', noDay],
    ['0', noDay],
    ['2026-11-22', toCome],
    ['12/31/99', toCome],
    ['9999-12-31', toCome],
  ])("'%s' is 400", async (date, rule) => {
    const got = await at(enhanced, { ...plain, date })
    expect(got.status).toBe(400)
    expect((got.json() as { detail: string }).detail).toMatch(/^date '/)
    expect((got.json() as { detail: string }).detail).toContain(rule)
    const posted = await app.post(enhanced, { Data: [plain, { ...plain, date }] })
    expect(posted.status).toBe(400)
    expect((posted.json() as { detail: string }).detail).toMatch(/^Data\[1\]\.date '/)
    expect((posted.json() as { detail: string }).detail).toContain(rule)
  })

  test('in the future are shown at most ten at a time', async () => {
    const Data = Array.from({ length: 1000 }, () => ({ ...plain, date: '2030-01-01' }))
    const { detail } = (await app.post(enhanced, { Data })).json() as { detail: string }
    expect(detail.split('; tomorrow')).toHaveLength(11)
  })
})

describe('lists', () => {
  const list = ['2127365003', '2127365001', '2127365001', '2127365002'].map(
    (phoneNumber, index) => ({
      phoneNumber,
      date: `2024-01-1${index}`,
    }),
  )
  const numbers = list.map(({ phoneNumber }) => phoneNumber)
  const rowsOf = (rows: unknown) =>
    (rows as { PhoneNumber: string }[]).map(({ PhoneNumber }) => PhoneNumber)

  test.each<[string, unknown, string]>([
    ['an object', { Data: list }, ''],
    ['an object in other letter case', { data: list, projid: 'P1', USESANDBOX: false }, ''],
    ['the bare list', list, ''],
    ['the bare list, flags in the address', list, '?projId=P1&useSandbox=0'],
  ])('as %s are answered in their order, duplicates kept', async (_form, body, query) => {
    for (const path of [enhanced, basic]) {
      const answer = await app.post(`${path}${query}`, body)
      expect(answer.status).toBe(200)
      expect(rowsOf(answer.json())).toEqual(numbers)
    }
  })

  test('may hold a thousand numbers', async () => {
    const Data = Array.from({ length: 1000 }, (_, index) => ({
      phoneNumber: `${2127360000 + index}`,
      date: '20240131',
    }))
    expect(rowsOf((await app.post(enhanced, { Data })).json())).toHaveLength(1000)
  })

  const item = { phoneNumber: number, date: '20240131' }
  test.each<[string, unknown]>([
    ['Data: is required', {}],
    ["Data 'null': is required", { Data: null }],
    ["Data 'x': must be a list", { Data: 'x' }],
    ["Data 'an object': must be a list", { Data: {} }],
    ["Data 'a list of 0': must have at least 1 item", { Data: [] }],
    ["Data 'a list of 0': must have at least 1 item", []],
    [
      "Data 'a list of 1001': must have at most 1000 items",
      { Data: Array.from({ length: 1001 }, () => item) },
    ],
    ["Data[1] '2127365001': must be an object of fields", { Data: [item, number] }],
    ["Data[0] 'null': must be an object of fields", { Data: [null] }],
    ['Data[0].phoneNumber: is required and must be exactly 10 digits', { Data: [{ date: '1' }] }],
    [
      "Data[1].phoneNumber '212': must be exactly 10 digits",
      [item, { ...item, phoneNumber: '212' }],
    ],
    [
      "Data[0].phoneNumber '212736500': must be exactly 10 digits",
      [{ ...item, phoneNumber: 212736500 }],
    ],
    ['Data[0].date: is required', { Data: [{ phoneNumber: number }] }],
    ["Data[0].phone_number '1': is an unknown field", { Data: [{ ...item, phone_number: 1 }] }],
    ["useSandbox 'maybe': must be 0, 1, true or false", { Data: [item], useSandbox: 'maybe' }],
    ["projId 'P2': ", { Data: [item], ProjId: 'P2' }],
    ["usesandbx '1': is an unknown field", { Data: [item], usesandbx: 1 }],
  ])('are refused with 400: %s', async (detail, body) => {
    for (const path of [enhanced, basic]) {
      const answer = await app.post(path, body)
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      const said = (answer.json() as { detail: string }).detail
      expect(said).toContain(detail)
    }
  })

  test.each([
    ['', 'Data: is required'],
    ['{', 'not well-formed JSON'],
    ['"text"', 'the body must be a JSON list or object'],
  ])('are refused with 400: body %s', async (body, detail) => {
    const answer = await app.post(enhanced, body)
    expect(answer.status).toBe(400)
    expect((answer.json() as { detail: string }).detail).toContain(detail)
  })
})

describe('GET is refused with 400', () => {
  test.each<[string, Record<string, string>]>([
    ['phoneNumber: is required', { date: '20240131' }],
    ['date: is required', { phoneNumber: number }],
    ["phoneNumber '': must be exactly 10 digits", { ...plain, phoneNumber: '' }],
    ["phoneNumber '12127365001': must be", { ...plain, phoneNumber: '12127365001' }],
    ["phoneNumber '+2127365001': must be", { ...plain, phoneNumber: '+2127365001' }],
    ["projId 'P2': ", { ...plain, projId: 'P2' }],
    ["sandbox '2': must be 0, 1, true or false", { ...plain, sandbox: '2' }],
    ["Data 'x': is an unknown field", { ...plain, Data: 'x' }],
  ])('%s', async (detail, query) => {
    for (const path of [enhanced, basic]) {
      const answer = await at(path, query)
      expect(answer.status).toBe(400)
      expect((answer.json() as { detail: string }).detail).toContain(detail)
    }
  })
})

describe('sandbox mode', () => {
  const flags = ['useSandbox', 'isSandbox', 'sandbox', 'USESANDBOX']
  test.each(flags)('by %s answers with test data and asks nobody', async (flag) => {
    asked.length = 0
    answers = { [number]: createReassignedAnswer(true, true) }
    const got = (await at(enhanced, { ...plain, [flag]: 'true' })).json()
    expect(got).toMatchObject({ PhoneNumber: number, IsSandBox: true })
    const posted = await app.post(enhanced, { Data: [plain], [flag]: true })
    expect(posted.json()).toEqual([got])
    expect((await at(basic, { ...plain, [flag]: '1' })).json()).toMatchObject({ IsSandBox: true })
    expect(asked).toEqual([])
  })

  test('is told of every row of an account whose facts are test data', async () => {
    answers = { [number]: createReassignedAnswer(true, true) }
    sandboxAccounts.add('main')
    try {
      for (const path of [enhanced, basic]) {
        const got = (await at(path, plain)).json()
        expect(got).toMatchObject({ IsReassigned: true, IsSandBox: true })
        expect((await app.post(path, { Data: [plain] })).json()).toEqual([got])
      }
    } finally {
      sandboxAccounts.clear()
    }
    expect((await at(enhanced, plain)).json()).toMatchObject({ IsSandBox: false })
  })

  test('still wants a number, a day that has been, and a project of the account', async () => {
    for (const query of [
      { ...plain, phoneNumber: '212' },
      { ...plain, date: '2030-01-01' },
      { ...plain, projId: 'P2' },
    ]) {
      expect((await at(enhanced, { ...query, useSandbox: 'true' })).status).toBe(400)
    }
  })

  test('shows every outcome within a few days', async () => {
    const Data = Array.from({ length: 100 }, (_, index) => ({
      phoneNumber: number,
      date: formatDay(19_800 + index),
    }))
    const rows = (await app.post(enhanced, { Data, useSandbox: true })).json() as {
      IsReassigned: unknown
      HasSafeHarbor: unknown
    }[]
    expect(new Set(rows.map(({ IsReassigned }) => IsReassigned))).toEqual(
      new Set([true, false, null]),
    )
    expect(new Set(rows.map(({ HasSafeHarbor }) => HasSafeHarbor))).toEqual(new Set([true, false]))
  })
})

describe.each([enhanced, basic])('%s', (path) => {
  test('needs a key', async () => {
    for (const key of [null, 'wrong']) {
      const query = `?${new URLSearchParams(plain)}`
      expect((await app.send(`${path}${query}`, { key })).status).toBe(401)
      expect((await app.post(path, { Data: [plain] }, { key })).status).toBe(401)
    }
  })
})

test('what a client sends is what the server reads', async () => {
  const request: ReassignedRequest = {
    items: [{ number: '2127365001' as never, consentOn: 19_753 }],
    useSandbox: true,
    projectId: 'P1',
  }
  const wire = enhancedRndPost.encodeRequest?.(request)
  expect(wire?.json).toEqual({
    Data: [{ phoneNumber: number, date: '2024-01-31' }],
    useSandbox: true,
    ProjId: 'P1',
  })
  expect(await enhancedRndPost.request.parseAsync(wire?.json)).toEqual(request)
})
