/** Public TypeScript clients and the vendor's own samples. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RawReply } from '../fake-vendor/raw-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { exchange } from './wire.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const scrubPath = '/app/main/rpc/scrub'
const keyLine = () => `loginId: ${running.keys.sandbox}`
const get = (address: string) => exchange(running.url, [`GET ${address} HTTP/1.1`, keyLine()])
const postJson = (body: unknown) =>
  exchange(
    running.url,
    [`POST ${scrubPath} HTTP/1.1`, keyLine(), 'Content-Type: application/json'],
    JSON.stringify(body),
  )

function rowsOf({ status, body }: RawReply): readonly Readonly<Record<string, string>>[] {
  if (status < 200 || status > 299) throw new Error(`${status}: ${body}`)
  return JSON.parse(body.toString())
}

describe('one number a call', () => {
  const clean = new Set('CWXEOHVFG')
  const check = async (phone: string) => {
    const rows = rowsOf(await get(`${scrubPath}?phoneList=${phone}&version=5&output=json`))
    const row = rows.find(({ Phone }) => Phone === phone) ?? rows[0]
    const isClean = clean.has(row?.ResultCode ?? '') && !/litigator/i.test(row?.Reason ?? '')
    return [isClean, row?.LineType?.toLowerCase()]
  }

  it.each([
    ['2125550100', true, 'allother'],
    ['2125550101', true, 'wireless'],
    ['2125550103', false, 'allother'],
    ['2125550105', false, 'wireless'],
  ])('%s', async (phone, isClean, lineType) => {
    expect(await check(phone)).toEqual([isClean, lineType])
  })
})

describe('a JSON body', () => {
  const clear = new Set('CEOX')

  it.each<[string, Record<string, unknown>]>([
    ['texts', { version: '5' }],
    ['the version as a number', { version: 5 }],
    ['project and campaign', { version: '5', projId: '', campaignId: null }],
    ['an id as a number and what we do not know', { version: '5', source: { crm: [1] } }],
  ])('with %s', async (_what, more) => {
    const phoneList = '2125550100,2125550103'
    const rows = rowsOf(await postJson({ phoneList, output: 'json', ...more }))
    expect(rows.map(({ ResultCode = '' }) => clear.has(ResultCode))).toEqual([true, false])
    for (const row of rows) {
      for (const name of ['Reason', 'LineType', 'IsWirelessOrVoIP', 'RegionAbbrev', 'Locale']) {
        expect(row).toHaveProperty(name, expect.any(String))
      }
    }
  })

  it('with one number as a JSON number', async () => {
    expect(rowsOf(await postJson({ phoneList: 2125550103, output: 'json' }))).toMatchObject([
      { Phone: '2125550103', ResultCode: 'D' },
    ])
  })
})

describe('a client of another API must not read our rows as "not listed"', () => {
  it('objects as phone list are refused', async () => {
    const PhoneList = [{ Significant: '2125550103' }]
    const { status, body } = await postJson({ PhoneList, output: 'json', version: 5 })
    expect([status, body.toString()]).toEqual([
      400,
      expect.stringContaining('a JSON list is not supported'),
    ])
  })

  it('output=xml is refused', async () => {
    const address = `${scrubPath}?phoneList=0000000000,2125550103&output=xml`
    expect((await get(address)).status).toBe(400)
  })

  it('numbers under another name are refused', async () => {
    expect((await postJson({ numbers: ['2125550103'], output: 'json' })).status).toBe(400)
  })
})

describe("the vendor's samples", () => {
  const post = (address: string) =>
    exchange(running.url, [`POST ${address} HTTP/1.1`, keyLine()], '')

  it('POST with everything in the address and no body', async () => {
    const { status, body } = await post(`${scrubPath}?phoneList=2125550100&version=5`)
    expect([status, body.toString().split(',', 2)]).toEqual([200, ['2125550100', 'C']])
  })

  it('pdnc with a lower-case actiontype', async () => {
    const address = '/app/main/rpc/pdnc?phoneList=2125550104&actiontype=add'
    const { status, body } = await get(address)
    expect([status, body.toString()]).toEqual([200, ''])
  })

  it('litigator with a text body on GET', async () => {
    const head = ['GET /v1.4/scrub/litigator?phoneList=2125550105 HTTP/1.1', keyLine()]
    const reply = await exchange(running.url, [...head, 'Content-Type: text/plain'], 'x')
    expect(rowsOf(reply)).toEqual([{ Phone: 2125550105, IsLitigator: true }])
  })
})
