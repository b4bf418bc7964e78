/**
 * The vendor's .NET SDK: its requests as bytes, its key as a field, no header but those of HTTP. Names
 * that hold `!` and values of a form are not percent-encoded, as it sends them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toCsvText } from '../../src/api/scrub/scrub-row.js'
import { formatCarrier } from '../../src/service/scrub/scrub-row.js'
import { openRaw, type RawReply } from '../fake-vendor/raw-client.js'
import { scrubRow } from '../support/fake-service.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import {
  readSdkCount,
  readSdkProject,
  readSdkRows,
  readSdkStatus,
  type SdkRow,
} from './sdk-reader.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const rpc = '/app/main/rpc'

async function exchange(head: readonly string[], body = ''): Promise<RawReply> {
  const connection = await openRaw(running.url)
  try {
    connection.send([...head, `Host: ${new URL(running.url).host}`, '', body].join('\r\n'))
    return await connection.reply()
  } finally {
    connection.close()
  }
}

const get = (address: string) =>
  exchange([`GET ${address.replace('KEY', running.keys.sandbox)} HTTP/1.1`])

function post(path: string, fields: string): Promise<RawReply> {
  const body = fields.replace('KEY', running.keys.sandbox)
  const type = 'Content-Type: application/x-www-form-urlencoded'
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  return exchange([`POST ${path} HTTP/1.1`, type, length], body)
}

/** It reads a body at any 2xx and throws at everything else. */
function textOf({ status, body }: RawReply): string {
  if (status >= 400) throw new Error(`${status}: ${body}`)
  return body.toString()
}

/** JSON is read at 200 alone. */
function jsonOf({ status, body }: RawReply): unknown {
  return status === 200 ? (JSON.parse(body.toString()) as unknown) : null
}

async function scrubbed(fields: string): Promise<readonly SdkRow[]> {
  return readSdkRows(textOf(await post(`${rpc}/scrub`, `loginId=KEY&${fields}`)))
}

const lettersOf = async (fields: string) =>
  (await scrubbed(fields)).map(({ letter }) => letter).join(' ')

/** A record as it stands in an address or, with raw blanks, in a form. */
function record(index: number, phone: string, more: Partial<Record<'type' | 'ends', string>> = {}) {
  const { type = 'S', ends = '1/1/0001 12:00:00 AM' } = more
  const field = (name: string, value = '') => `${index}!ColValue.${name}=${value}`
  return [
    field('phoneNumber', phone),
    field('dateOfLastContact', '11/1/2026'),
    field('type', type),
    field('dateObligationEnds', ends),
    field('referenceNum'),
    field('brand'),
    field('email'),
  ].join('&')
}

const addressed = (text: string) => text.replaceAll(' ', '%20')

const project = (more: string) => get(`${rpc}/project?loginId=KEY&version=5&project_code=${more}`)
const spring = 'projId=SPRING'
const listed = (action: string) => `${rpc}/pdnc?loginId=KEY&version=5&${action}`

describe('the operations of the SDK, one after the other', () => {
  it('makes a project', async () => {
    const made = await project('SPRING&project_name=Spring%20%26%20Caf%C3%A9&output=xml')
    expect(made.status).toBe(201)
    const expected = {
      projId: 'SPRING',
      name: 'Spring & Café',
      status: 'active',
      parentAcctId: 'sandbox',
      campaigns: [{ name: 'Default Campaign', status: 'active' }],
    }
    expect(readSdkProject(textOf(made))).toMatchObject(expected)
    expect(readSdkProject(textOf(await project('SPRING&output=xml')))).toMatchObject(expected)
  })

  it('scrubs, adds to the internal list, asks for it, removes', async () => {
    const clean = `version=5&phoneList=2125550100|lead-7,2125550103|lead-8&${spring}&campaignId=`
    expect(await scrubbed(clean)).toMatchObject([
      { phone: '2125550100', letter: 'C', reserved: 'lead-7' },
      { phone: '2125550103', letter: 'D', reserved: 'lead-8', onLists: ['National (USA)'] },
    ])
    const count = async () => readSdkCount(textOf(await get(listed(`${spring}&actionType=count`))))
    const before = await count()
    const change = (action: string) =>
      get(listed(`${spring}&phoneList=2125550100&actionType=${action}`))
    expect(textOf(await change('add'))).toBe('')
    const status = listed(`phoneList=2125550100,2125550103&${spring}&actionType=status`)
    expect(readSdkStatus(textOf(await get(status)))).toEqual([
      { phone: '2125550100', days: ['2026-11-23', '2026-11-23'] },
      { phone: '2125550103', days: [] },
    ])
    expect(await count()).toBe(before + 1)
    const again = `version=5&phoneList=2125550100&${spring}&campaignId=`
    expect(await lettersOf(again)).toBe('P')
    expect(textOf(await change('remove'))).toBe('')
    expect(await lettersOf(again)).toBe('C')
    expect(
      readSdkStatus(textOf(await get(listed('phoneList=2125550103&projId=&actionType=status')))),
    ).toEqual([{ phone: '2125550103', days: [] }])
  })

  it('adds relationships by GET', async () => {
    const phoneList = 'phoneList=2125550101'
    expect(await lettersOf(`version=5&${phoneList}&${spring}&campaignId=`)).toBe('W')
    const ends = '01/01/0001 00:00:00'
    const columns = addressed(record(1, '2125550101', { ends }))
    const head = `loginId=KEY&version=5&${spring}&keepBetterEBR=0`
    const added = await get(`${rpc}/ebr?${head}&${columns}`)
    expect([added.status, textOf(added)]).toEqual([200, ''])
    expect(await lettersOf(`version=5&${phoneList}&${spring}&campaignId=`)).toBe('G')
  })

  it('checks litigators', async () => {
    const address = '/v1.3/scrub/Litigator?phoneList=2125550105,2125550100&loginId=KEY'
    expect(jsonOf(await get(address))).toEqual([
      { Phone: 2125550105, IsLitigator: true },
      { Phone: 2125550100, IsLitigator: false },
    ])
  })

  it('looks numbers up', async () => {
    const data = (call: string, more = '') =>
      get(`/v1.2/data/${call}?loginId=KEY&phone=2125550106${more}`)
    const identity = jsonOf(await data('IDPremium'))
    expect(identity).toMatchObject({ Phone: '2125550106', PhoneType: 'W' })
    for (const name of ['OCN', 'TelcoName', 'ODate']) {
      expect(identity).toHaveProperty(name, expect.any(String))
    }
    expect(jsonOf(await data('ResOrBusiness'))).toEqual({
      Phone: '2125550106',
      ResOrBusiness: expect.stringMatching(/^[RBU]$/),
    })
    const person =
      '&FirstName=Ada&LastName=Example&Address1=1%20Main%20St&Address2=&City=New%20York&State=NY' +
      '&PostalCode=10001&ConsentDate=20261122&ReferenceID=r-1'
    expect(jsonOf(await data('Verification', person))).toEqual({
      Phone: '2125550106',
      ReferenceID: 'r-1',
      VerificationCode: 'U',
      PhoneType: 'W',
      MatchType: '',
      MatchLevel: '',
    })
  })

  it('scrubs and adds relationships in one call, with the version of the data calls', async () => {
    const list = `version=v1.2&phoneList=2125550103&${spring}&campaignId=`
    expect(await lettersOf(list)).toBe('D')
    expect(await lettersOf(`${list}&${record(1, '2125550103')}&keepBetterEBR=0`)).toBe('O')
  })

  it('switches the project off', async () => {
    const off = await project('SPRING&handler=deactivate_project&output=xml')
    expect(readSdkProject(textOf(off))).toMatchObject({ projId: 'SPRING', status: 'inactive' })
  })

  it('tells of uploaded files and is refused, since none are read', async () => {
    const told = (flags: string) => get(`${rpc}/ftpUploadComplete?loginId=KEY&version=5&${flags}`)
    const nothing = await told('upload=0&pdnc=0&ebr=0&sendDoc=0')
    expect([nothing.status, textOf(nothing)]).toEqual([200, ''])
    for (const flags of ['pdncFile=1', 'upload=&pdnc=']) {
      const bare = await told(flags)
      expect([bare.status, bare.body.toString()]).toEqual([404, expect.stringMatching(/no files/)])
    }
    const refused = await told('upload=1&pdnc=1&ebr=0&sendDoc=0')
    expect([refused.status, refused.body.toString()]).toEqual([
      404,
      'This server accepts no files by SFTP; the files of upload, pdnc were not read; ' +
        'send numbers by scrub, opt-outs by pdnc, records by ebr',
    ])
  })
})

describe('its reader gets through every row', () => {
  it.each([
    ['EXAMPLE BELL', 'EXAMPLE BELL'],
    ['EXAMPLE BELL, INC.', 'EXAMPLE BELL, INC.'],
    ['"EXAMPLE"; BELL', 'EXAMPLE   BELL'],
  ])('with the company %s', (company, name) => {
    const carrierInfo = formatCarrier({ ocn: '9740', company }, 'wireline')
    const lines = toCsvText([{ ...scrubRow, letter: 'C', ebrType: '', carrierInfo }], 5)
    const [row] = readSdkRows(lines)
    expect(row?.carrier?.map((part) => part.replaceAll('"', ''))).toEqual([
      '9740',
      'WIRELINE',
      `${name}:${name}`,
    ])
    expect(row?.lineType).toBe(scrubRow.lineType)
  })

  const lines = Array.from({ length: 20 }, (_none, line) => `55501${String(line).padStart(2, '0')}`)
  const numbers = ['212', '305', '416', '800', '850'].flatMap((area) =>
    lines.map((line) => area + line),
  )
  const odd = ['12345', 'abc', '']

  it.each([1, 2, 3, 5, 8])('of version %i', async (version) => {
    const phoneList = [...numbers, ...numbers.slice(0, 3), ...odd, '2125550100'].join(',')
    const rows = await scrubbed(`version=${version}&phoneList=${phoneList}&projId=&campaignId=`)
    expect(rows.map(({ phone }) => phone)).toEqual(phoneList.split(','))
    expect(rows.some(({ windows }) => windows.length === 3)).toBe(true)
  })
})
