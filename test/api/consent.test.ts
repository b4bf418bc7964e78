/** Relationship records over HTTP: what reaches the subject, what the edge refuses. */
import { describe, expect, test } from 'vitest'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { fakeService } from '../support/fake-service.js'
import { adminKey, openTestApp } from '../support/test-app.js'

const path = '/app/main/rpc/ebr'
const service = fakeService()
const app = await openTestApp({ routes: createServiceRoutes(service, { wrappedRows: false }) })
const record = { phoneNumber: '2125550100', type: 'P', dateOfLastContact: '11/01/2026' }
const manyNumbers = (count: number) => Array.from({ length: count }, () => '2125550100').join(',')

describe('what reaches the subject', () => {
  test.each([
    [{ ebrList: [record] }, false, undefined, [record]],
    [{ EBRLIST: [record], keepBetterEBR: 1, projId: 7 }, true, '7', [record]],
    [{ ebrList: [record], keepbetterebr: '0', projId: '' }, false, undefined, [record]],
    [
      { ebrList: [{ PHONENUMBER: 5, Type: null }] },
      false,
      undefined,
      [{ phoneNumber: '5', type: null }],
    ],
  ])('%j', async (body, keepBetterEbr, projectId, records) => {
    const answer = await app.post(path, body)
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({ success: true })
    expect(service.asked.at(-1)?.with).toEqual({ keepBetterEbr, projectId, records })
  })
})

describe('the request is refused with 400 and a text', () => {
  test.each([
    [{}, 'ebrList: is required and must not be null'],
    [{ ebrList: null }, "ebrList 'null': is required and must not be null"],
    [{ ebrList: [] }, "ebrList 'a list of 0': must have at least 1 record"],
    [{ ebrList: record }, "ebrList 'an object': must be a list"],
    [{ ebrList: [record, 'x'] }, "ebrList[1] 'x': must be an object of fields"],
    [{ ebrList: [record], keepBetterEBR: 2 }, "keepBetterEBR '2': must be 0, 1, true or false"],
    [
      { ebrList: [{ ...record, phone_number: '1' }] },
      "ebrList[0].phone_number '1': is an unknown field; known fields are phoneNumber,",
    ],
    [{ ebrList: [{ ...record, TYPE: 'S' }] }, "ebrList[0].TYPE 'S': is given twice"],
    [
      { ebrList: [{ ...record, phoneNumber: manyNumbers(10_001) }] },
      "ebrList 'a list of 1': must have at most 10000 numbers in all records together",
    ],
    [
      { ebrList: Array.from({ length: 10_001 }, () => record) },
      "ebrList 'a list of 10001': must have at most 10000 records",
    ],
  ])('%#', async (body, reason) => {
    const answer = await app.post(path, body)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(reason)
  })
})

/** A record as fields of an address or a form. */
function columns(index: number, given: Readonly<Record<string, string>>): Record<string, string> {
  const named = Object.entries(given).map(([name, value]) => [`${index}!ColValue.${name}`, value])
  return Object.fromEntries(named) as Record<string, string>
}

const sent = { phoneNumber: '2125550100', type: 'S', dateOfLastContact: '11/1/2026' }
const asForm = (fields: Readonly<Record<string, string>>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(fields),
})
const ways = [
  ['GET', (fields: Record<string, string>) => app.send(`${path}?${new URLSearchParams(fields)}`)],
  ['a form', (fields: Record<string, string>) => app.send(path, asForm(fields))],
  [
    'POST with all in the address',
    (fields: Record<string, string>) =>
      app.send(`${path}?${new URLSearchParams(fields)}`, { method: 'POST' }),
  ],
] as const

describe.each(ways)('records in columns, by %s', (_way, send) => {
  test.each<[string, Record<string, string>, object]>([
    ['as they are', {}, {}],
    ['with empty fields', { referenceNum: '', brand: '', email: '', dateObligationEnds: '' }, {}],
    ['a day of year 1', { dateObligationEnds: '01/01/0001 00:00:00' }, {}],
    ['the same in American', { dateObligationEnds: '1/1/0001 12:00:00 AM' }, {}],
    ['the same in ISO 8601', { dateObligationEnds: '0001-01-01T00:00:00' }, {}],
    [
      'a day with its midnight',
      { dateObligationEnds: '6/30/2027 12:00:00 AM' },
      { dateObligationEnds: '6/30/2027' },
    ],
    [
      'two digits of a year',
      { dateOfLastContact: '06/14/26' },
      { dateOfLastContact: '06/14/2026' },
    ],
    ['an ISO day', { dateOfLastContact: '2026-06-14' }, { dateOfLastContact: '2026-06-14' }],
    ['day before month', { dateOfLastContact: '30.6.2026' }, { dateOfLastContact: '30.6.2026' }],
    ['a newspaper trial', { type: 'N' }, { type: 'T' }],
    ['a small letter', { type: 'p' }, { type: 'P' }],
    ['a letter of no meaning', { type: 'R' }, { type: 'R' }],
    ['a brand', { brand: 'A & B' }, { brand: 'A & B' }],
  ])('%s', async (_what, more, expected) => {
    const answer = await send({ projId: 'P', ...columns(1, { ...sent, ...more }) })
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(service.asked.at(-1)?.with).toEqual({
      projectId: 'P',
      keepBetterEbr: false,
      records: [{ ...sent, ...expected }],
    })
  })

  test('several, in the order of their numbers', async () => {
    const [first, second] = ['2125550101', '2125550102'].map((phoneNumber) => ({ phoneNumber }))
    const fields = { ...columns(10, { ...sent, ...second }), ...columns(2, { ...sent, ...first }) }
    expect((await send({ keepBetterEBR: '1', ...fields })).status).toBe(200)
    expect(service.asked.at(-1)?.with).toMatchObject({
      keepBetterEbr: true,
      records: [first, second],
    })
  })

  test.each<[string, Record<string, string>, string]>([
    ['no records', { projId: 'P' }, 'is '],
    ['beside a list', { ...columns(1, sent), ebrList: '[]' }, 'ebrList'],
  ])('%s is refused', async (_what, fields, reason) => {
    const asked = service.asked.length
    const answer = await send(fields)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(reason)
    expect(service.asked).toHaveLength(asked)
  })
})

test('a value that stands twice counts once when it is the same', async () => {
  const twice = (value: string) =>
    `${path}?${new URLSearchParams(columns(1, sent))}&1!ColValue.type=${value}`
  expect((await app.send(twice('S'))).status).toBe(200)
  expect((await app.send(twice(''))).status).toBe(200)
  expect(service.asked.at(-1)).toMatchObject({ with: { records: [sent] } })
  const answer = await app.send(twice('P'))
  expect([answer.status, answer.text]).toEqual([400, '1!ColValue.type: is given twice'])
})

test('records in address and form alike count once when they are the same', async () => {
  const query = new URLSearchParams({ version: '5', ...columns(1, sent) })
  const repeated = (fields: Record<string, string>) =>
    app.send(`${path}?${query}`, asForm(columns(1, fields)))
  expect((await repeated(sent)).status).toBe(200)
  expect(service.asked.at(-1)).toMatchObject({ with: { records: [sent] } })
  const answer = await repeated({ ...sent, type: 'P' })
  expect([answer.status, answer.text]).toEqual([400, 'ColValue: is given twice'])
})

test('one address is for storing or for listing', async () => {
  const both = new URLSearchParams({ phoneList: '2125550100', ...columns(1, sent) })
  const answer = await app.send(`${path}?${both}`)
  expect(answer.status).toBe(400)
  expect(answer.text).toContain('to store records, send 1!ColValue.phoneNumber and so on')
})

test('scrub takes records in columns by GET and POST', async () => {
  const fields = new URLSearchParams({ phoneList: '2125550100', ...columns(1, sent) })
  for (const init of [{}, { method: 'POST', body: fields }]) {
    const query = 'body' in init ? '' : `?${fields}`
    const asked = service.asked.length
    expect((await app.send(`/app/main/rpc/scrub${query}`, init)).status).toBe(200)
    expect(service.asked.slice(asked)).toMatchObject([
      { call: 'consent.record', with: { records: [sent] } },
      { call: 'scrub.rows' },
    ])
  }
})

test('two thousand records fit into a form, whoever sends the key in it', async () => {
  const records = Array.from({ length: 2_000 }, (_none, index) => columns(index + 1, sent))
  const body = new URLSearchParams({ loginId: adminKey, ...Object.assign({}, ...records) })
  const answer = await app.send(path, { method: 'POST', body, key: null })
  expect([answer.status, answer.text]).toEqual([200, ''])
  expect(service.asked.at(-1)?.with).toHaveProperty('records.length', 2_000)
})

test.each([
  ['very many records', (index: number) => `${index}!ColValue.a`, 'more than 10000 records'],
  ['very many fields of one', (index: number) => `1!ColValue.a${index}`, 'more than 20 fields'],
  ['a name of nearly that form', () => '2!ColValues.phoneNumber', 'is not of the form'],
  ['a number that is too long', () => '1234567890!ColValue.phoneNumber', 'is not of the form'],
])('records in columns are refused: %s', async (_what, nameOf, rule) => {
  const names = Array.from({ length: 10_001 }, (_none, index) => `${nameOf(index)}=1`)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await app.send(path, { method: 'POST', body: names.join('&'), headers })
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(rule)])
})

test('records in columns may come as multipart', async () => {
  const body = new FormData()
  for (const [name, value] of Object.entries(columns(1, sent))) body.append(name, value)
  expect((await app.send(path, { method: 'POST', body })).status).toBe(200)
  expect(service.asked.at(-1)?.with).toHaveProperty('records.length', 1)
})

test('two digits that mean no year of this century are no year', async () => {
  const ends = { dateObligationEnds: '12/31/99' }
  const body = new URLSearchParams(columns(1, { ...sent, ...ends }))
  await app.send(path, { method: 'POST', body })
  expect(service.asked.at(-1)?.with).toMatchObject({ records: [ends] })
})
