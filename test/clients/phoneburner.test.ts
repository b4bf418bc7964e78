/**
 * PhoneBurner's PHP client: key in the header, a percent-encoded form, `version` and `projId` in every
 * request; a GET ends with `&` and carries a form as well.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RawReply } from '../fake-vendor/raw-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { exchange } from './wire.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
  const made = await running.postJson('/v1.5/projects', {
    ProjectCode: 'SPRING',
    ProjectName: 'Spring sale',
  })
  expect(made.status).toBe(201)
})
afterAll(() => running.end())

const formType = 'Content-Type: application/x-www-form-urlencoded'
const head = (line: string, key = running.keys.sandbox) => [
  `${line} HTTP/1.1`,
  'User-Agent: GuzzleHttp/6.5.5 curl/7.88.1 PHP/8.2.7',
  `loginId: ${key}`,
  formType,
]

const post = (path: string, form: string, key?: string) =>
  exchange(running.url, head(`POST ${path}`, key), form)
const get = (address: string, form: string) => exchange(running.url, head(`GET ${address}`), form)

/** It throws at 4xx and 5xx, and takes a page with this title for a wrong key. */
function textOf({ status, body }: RawReply): string {
  const text = body.toString()
  if (status >= 400 || text.includes('<title>Login</title>')) throw new Error(`${status}: ${text}`)
  return text
}

const knownLetters = new Set('BCDEFGHILMOPRVWXY')
const neededColumns = 14

/** Splits as PHP's `str_getcsv` does; throws the whole answer away at a letter it does not know. */
function readRows(text: string): ReadonlyMap<string, readonly string[]> {
  const rows = new Map<string, readonly string[]>()
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const columns = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
    )
    const [phone = '', letter = ''] = columns
    if (!knownLetters.has(letter)) throw new Error(`unknown result code ${letter}`)
    if (columns.length < neededColumns) throw new Error(`${columns.length} columns: ${line}`)
    rows.set(phone, columns)
  }
  return rows
}

const sandboxLines = Array.from(
  { length: 20 },
  (_none, line) => `21255501${String(line).padStart(2, '0')}`,
)
const scrub = (phones: readonly string[]) =>
  post('/app/main/rpc/scrub', `version=3&phoneList=${phones.join('%2C')}&projId=SPRING`)
const pdnc = (fields: string) => post('/app/main/rpc/pdnc', `version=3&${fields}&projId=SPRING`)

describe('scrub', () => {
  it('reads every sandbox number', async () => {
    const rows = readRows(textOf(await scrub(sandboxLines)))
    expect([...rows.keys()]).toEqual(sandboxLines)
    expect(rows.get('2125550103')).toMatchObject({ 1: 'D' })
  })

  it('meets no letter it does not know: S and T are for those who asked', async () => {
    for (const start of [100, 110]) {
      const phones = Array.from({ length: 50 }, (_none, area) => `${201 + area}5550${start}`)
      expect(readRows(textOf(await scrub(phones))).size).toBe(50)
    }
  })
})

describe('the internal list', () => {
  it('adds, counts, tells the status, removes', async () => {
    const count = async () => Number(textOf(await pdnc('actionType=count')).split(',')[0])
    const letter = async () => readRows(textOf(await scrub(['2125550100']))).get('2125550100')?.[1]
    const before = await count()
    expect(await letter()).toBe('C')
    expect(textOf(await pdnc('phoneList=2125550100&actionType=add'))).toBe('')
    expect([await count(), await letter()]).toEqual([before + 1, 'P'])
    expect((await pdnc('phoneList=2125550100&actionType=status')).status).toBe(200)
    expect(textOf(await pdnc('phoneList=2125550100&actionType=remove'))).toBe('')
    expect([await count(), await letter()]).toEqual([before, 'C'])
  })
})

it('checks litigators', async () => {
  const address =
    '/apiLatest/scrub/litigator?phoneList=2125550105,2125550100&version=3&projId=SPRING&'
  expect(JSON.parse(textOf(await get(address, 'projId=SPRING')))).toEqual([
    { Phone: 2125550105, IsLitigator: true },
    { Phone: 2125550100, IsLitigator: false },
  ])
})

it('lists its project', async () => {
  const address = '/app/main/rpc/project?version=3&output=xml&projId=SPRING&'
  const reply = await get(address, 'version=3&output=xml&projId=SPRING')
  expect([reply.status, textOf(reply)]).toEqual([200, expect.stringContaining('"SPRING"')])
})

it('takes a GET with the form of its query, on a connection that goes on', async () => {
  const address = '/app/main/rpc/pdnc?version=3&actionType=count&projId=SPRING&'
  expect(textOf(await get(address, 'projId=SPRING'))).toMatch(/^\d+,/)
})

it('sees a wrong key by the status', async () => {
  const answer = await post('/app/main/rpc/scrub', 'version=3&phoneList=2125550100', 'x'.repeat(44))
  expect(() => textOf(answer)).toThrow(/^401: /)
})
