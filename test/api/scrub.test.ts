/** The scrub over HTTP: forms of the request, limits, rows by version as JSON and CSV. */
import { describe, expect, test } from 'vitest'
import { scrubPost } from '../../src/api/scrub/scrub.js'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { fakeService, scrubRow } from '../support/fake-service.js'
import { openTestApp } from '../support/test-app.js'

const path = '/app/main/rpc/scrub'
const service = fakeService()
const app = await openTestApp({ routes: createServiceRoutes(service, { wrappedRows: false }) })

function multipart(fields: Record<string, string>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}

const numbers = (count: number) => Array.from({ length: count }, () => '2125550100').join(',')

const asked = () => service.asked.at(-1)?.with

describe('the same request in every form', () => {
  const sent = {
    phoneList: '2125550106|a1|10001,2125550107',
    version: '8',
    output: 'json',
    projId: 'P1',
    campaignId: '12',
  }
  const read = {
    items: [
      { phone: '2125550106', reserved: 'a1', postalCode: '10001' },
      { phone: '2125550107', reserved: '', postalCode: undefined },
    ],
    version: 8,
    output: 'json',
    projectId: 'P1',
    campaignId: '12',
  }
  const inOtherCase = Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [name.toUpperCase(), value]),
  )
  test.each<[string, string, RequestInit]>([
    ['GET', `${path}?${new URLSearchParams(sent)}`, {}],
    ['GET in other letter case', `${path}?${new URLSearchParams(inOtherCase)}`, {}],
    ['urlencoded', path, { method: 'POST', body: new URLSearchParams(sent) }],
    ['multipart', path, { method: 'POST', body: multipart(sent) }],
    ['JSON', path, json(sent)],
    ['JSON with numbers for ids', path, json({ ...sent, version: 8, campaignId: 12 })],
    [
      'POST with the fields in the address',
      `${path}?${new URLSearchParams(sent)}`,
      { method: 'POST' },
    ],
  ])('%s', async (_form, address, init) => {
    const answer = await app.send(address, init)
    expect(answer.status).toBe(200)
    expect(asked()).toEqual(read)
  })
})

function json(body: unknown): RequestInit {
  const headers = { 'content-type': 'application/json' }
  return { method: 'POST', body: JSON.stringify(body), headers }
}

describe('what is not given has a default', () => {
  test.each([
    ['absent', {}],
    ['empty', { version: '', output: '', projId: '', campaignId: '' }],
    ['null', { version: null, output: null, projId: null, campaignId: null }],
  ])('%s: version 5, csv, no project, no campaign', async (_case, more) => {
    const answer = await app.send(path, json({ phoneList: '2125550100', ...more }))
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const defaults = { version: 5, output: 'csv', projectId: undefined, campaignId: undefined }
    expect(asked()).toMatchObject(defaults)
  })
})

describe('elements of phoneList', () => {
  const plain = (phone: string) => ({ phone, reserved: '', postalCode: undefined })
  test.each([
    [' 2125550100 , 2125550101 ', [plain('2125550100'), plain('2125550101')]],
    ['2125550100,2125550100', [plain('2125550100'), plain('2125550100')]],
    ['2125550100,', [plain('2125550100')]],
    ['2125550100,,x', [plain('2125550100'), plain(''), plain('x')]],
    ['2125550100||K1A0B1', [{ ...plain('2125550100'), postalCode: 'K1A0B1' }]],
    ['2125550100|a b|', [{ ...plain('2125550100'), reserved: 'a b' }]],
    ['2125550100|a|1|2', [{ ...plain('2125550100|a|1|2'), reserved: 'a', postalCode: '1' }]],
  ])('%j', async (phoneList, items) => {
    await app.send(path, json({ phoneList }))
    expect(asked()).toMatchObject({ items })
  })
})

describe('the request is refused with 400 and a text', () => {
  const one = '2125550100'
  test.each<[string, string, RequestInit]>([
    ['phoneList: is required', path, json({})],
    ["phoneList '': has no numbers; at least 1 is required", `${path}?phoneList=`, {}],
    ["phoneList ' , ,': has no numbers", path, json({ phoneList: ' , ,' })],
    ["phoneList '5.5': must be text", path, json({ phoneList: 5.5 })],
    ["phoneList 'a list of 1': must be text", path, json({ phoneList: [one] })],
    [
      'has more than 100 numbers, the maximum with GET; use POST',
      `${path}?phoneList=${numbers(101)}`,
      {},
    ],
    ['has more than 10000 numbers', path, json({ phoneList: numbers(10_001) })],
    ["version '9': must be a whole number from 1 to 8", `${path}?phoneList=${one}&version=9`, {}],
    ["version '0': must be a whole number", path, json({ phoneList: one, version: 0 })],
    ["version '5.5': must be a whole number", path, json({ phoneList: one, version: 5.5 })],
    ["version 'five': must be a whole number", `${path}?phoneList=${one}&version=five`, {}],
    ["version 'true': must be a whole number", path, json({ phoneList: one, version: true })],
    ["output 'xml': must be one of csv, json", `${path}?phoneList=${one}&output=xml`, {}],
    [
      "projId 'an object': must be text or a whole number",
      path,
      json({ phoneList: one, projId: {} }),
    ],
    ["campaignId '1.5': must be text or", path, json({ phoneList: one, campaignId: 1.5 })],
    ['projId', path, json({ phoneList: one, projId: 'x'.repeat(65) })],
    ['phoneList: is given twice', `${path}?phoneList=1&phoneList=2`, {}],
    ['is given twice', `${path}?phoneList=1&PHONELIST=2`, {}],
    ['phoneList: is given twice', `${path}?phoneList=1`, json({ phoneList: one })],
    ["phone_list '1': is an unknown field", `${path}?phoneList=1&phone_list=1`, {}],
    ["projld 'SPRING': is an unknown field", path, json({ phoneList: one, projld: 'SPRING' })],
    ["project 'SPRING': is an unknown field", path, json({ phoneList: one, project: 'SPRING' })],
    [
      'multipart',
      path,
      {
        method: 'POST',
        body: '--x',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
      },
    ],
    [
      'multipart',
      path,
      { method: 'POST', body: '--x', headers: { 'content-type': 'multipart/form-data' } },
    ],
  ])('%s', async (reason, address, init) => {
    const answer = await app.send(address, init)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(reason)
  })

  test('very many tiny parts', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=X' }
    const answer = await app.send(path, { method: 'POST', body: '--X\r\n'.repeat(1e6), headers })
    expect(answer.status).toBe(400)
    expect(answer.text).toBe('request: the body has more than 100 fields')
  })

  test('very many tiny fields', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await app.send(path, { method: 'POST', body: '&a=1'.repeat(1e6), headers })
    expect(answer.status).toBe(400)
    expect(answer.text).toBe('request: has more than 100 fields')
  })

  test('a file among the parts of a form', async () => {
    const body = multipart({ version: '5' })
    body.set('phoneList', new Blob(['2125550100']), 'list.txt')
    const answer = await app.send(path, { method: 'POST', body })
    expect(answer.status).toBe(400)
    expect(answer.text).toBe('phoneList: is a file; fields must be plain text')
  })
})

const fieldsOfAll = [
  'Phone',
  'ResultCode',
  'Reserved',
  'Reason',
  'RegionAbbrev',
  'Country',
  'Locale',
  'CarrierInfo',
  'NewReassignedAreaCode',
  'TZCode',
  'CallingWindow',
  'UTCOffset',
  'DoNotCallToday',
  'CallingTimeRestrictions',
  'EBRType',
  'IsWirelessOrVoIP',
  'LineType',
]
const fieldsOf8 = [
  ...fieldsOfAll,
  'EBRExpiresOn',
  'WirelessPortDate',
  'VoIPDate',
  'PostalCode',
  'TZSource',
  'IsCallAllowedNonATDS',
  'IsCallAllowedATDS',
  'IsCallAllowedAI',
]

describe('rows by version', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('version %i', async (version) => {
    const answer = await app.send(
      path,
      json({ phoneList: '2125550106|a1', version, output: 'json' }),
    )
    const [row] = answer.json() as Record<string, unknown>[]
    expect(Object.keys(row ?? {})).toEqual(version === 8 ? fieldsOf8 : fieldsOfAll)
    expect(Object.values(row ?? {}).every((value) => typeof value === 'string')).toBe(true)
  })

  test('every value of version 8 is text', async () => {
    const sent = { phoneList: '2125550106|a1', version: 8, output: 'json' }
    expect((await app.send(path, json(sent))).json()).toEqual([
      {
        Phone: '2125550106',
        ResultCode: 'G',
        Reserved: 'a1',
        Reason: ';;;W',
        RegionAbbrev: 'NY',
        Country: 'US',
        Locale: 'NEW YORK',
        CarrierInfo: '6010;WIRELESS;"VERIZON WIRELESS:CELLCO, INC"',
        NewReassignedAreaCode: '',
        TZCode: '35',
        CallingWindow: '8:00-21:00;8:00-21:00;8:00-21:00',
        UTCOffset: '-300',
        DoNotCallToday: '0',
        CallingTimeRestrictions: '4',
        EBRType: 'P',
        IsWirelessOrVoIP: '1',
        LineType: 'Wireless',
        EBRExpiresOn: '',
        WirelessPortDate: '',
        VoIPDate: '',
        PostalCode: '10001',
        TZSource: 'PostalCode',
        IsCallAllowedNonATDS: '1',
        IsCallAllowedATDS: '1',
        IsCallAllowedAI: '0',
      },
    ])
  })

  test('CSV has one line per number, no header, and quotes only where a comma, line end or first quote is', async () => {
    const sent = { phoneList: '2125550106|a1,x\ny|"q"', version: 8 }
    const window = '8:00-21:00;8:00-21:00;8:00-21:00'
    const carrier = '"6010;WIRELESS;""VERIZON WIRELESS:CELLCO, INC"""'
    const rest = `;;;W,NY,US,NEW YORK,${carrier},,35,${window},-300,0,4,P,1,Wireless,,,,10001,PostalCode,1,1,0\n`
    const answer = await app.send(path, json(sent))
    expect(answer.text).toBe(`2125550106,G,a1,${rest}"x\ny",G,"""q""",${rest}`)
  })

  test('what a row does not know is empty', async () => {
    const unknown = { ...scrubRow, utcOffsetMinutes: undefined, doNotCallToday: undefined }
    const rows = [{ ...unknown, isWirelessOrVoip: undefined }]
    const other = await openTestApp({
      routes: createServiceRoutes(
        fakeService({
          scrub: {
            async *streamRows() {
              yield rows
            },
          },
        }),
        {
          wrappedRows: false,
        },
      ),
    })
    const answer = await other.send(path, json({ phoneList: '1', output: 'json' }))
    expect(answer.json()).toMatchObject([
      { UTCOffset: '', DoNotCallToday: '', IsWirelessOrVoIP: '' },
    ])
  })
})

describe('the response schema', () => {
  test('reads back what version 8 writes', async () => {
    const sent = { phoneList: '2125550106|a1', version: 8, output: 'json' }
    const wire = (await app.send(path, json(sent))).json()
    const { holdsUntil: _until, detail: _detail, ...row } = scrubRow
    expect(scrubPost.response.parse(wire)).toEqual([row])
  })

  test('refuses a letter nobody has heard of', async () => {
    const sent = { phoneList: '2125550106', version: 8, output: 'json' }
    const [wire] = (await app.send(path, json(sent))).json() as object[]
    expect(scrubPost.response.safeParse([{ ...wire, ResultCode: 'Z' }]).success).toBe(false)
  })
})

test('ten thousand numbers come back in order, in JSON, form and multipart', async () => {
  const list = Array.from({ length: 10_000 }, (_none, index) => `212${5_550_000 + index}|${index}`)
  const sent = { phoneList: list.join(','), version: '2' }
  const forms: RequestInit[] = [
    json(sent),
    { method: 'POST', body: new URLSearchParams(sent) },
    { method: 'POST', body: multipart(sent) },
  ]
  for (const init of forms) {
    const lines = (await app.send(path, init)).text.trimEnd().split('\n')
    const echoed = lines.map((line) =>
      line
        .split(',')
        .filter((_field, index) => index % 2 === 0)
        .slice(0, 2)
        .join('|'),
    )
    expect(echoed).toEqual(list)
  }
})
