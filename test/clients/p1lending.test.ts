/**
 * p1lending (Python): litigator by GET, 50 numbers a request, the key in the address. Any error means
 * "no litigator" to it, so what it sends must be answered.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { exchange } from './wire.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const ask = (phones: readonly string[]) =>
  exchange(running.url, [
    `GET /v1.4/scrub/litigator?phoneList=${phones.join('%2C')}&loginId=${running.keys.sandbox} HTTP/1.1`,
    'User-Agent: ETL/1.0',
    'Accept-Encoding: gzip, deflate',
    'Accept: */*',
  ])

/** Looks each number up as text and as number; what is not found is none. */
async function litigators(phones: readonly string[]): Promise<readonly string[]> {
  const { status, body } = await ask(phones)
  if (status >= 400) return []
  const rows = JSON.parse(body.toString()) as readonly { Phone: unknown; IsLitigator: unknown }[]
  const found = new Map(rows.map((row) => [String(row.Phone), row.IsLitigator === true]))
  return phones.filter((phone) => found.get(phone) === true)
}

it('finds the litigator among 50 numbers', async () => {
  const phones = Array.from({ length: 50 }, (_none, area) => `${201 + area}5550100`)
  phones[30] = '2125550105'
  expect(await litigators(phones)).toEqual(['2125550105'])
})

it('is told of a number that is too short by 400, as published', async () => {
  const { status, body } = await ask(['2125550105', '12345'])
  expect(status).toBe(400)
  expect(JSON.parse(body.toString())).toMatchObject({ detail: expect.stringContaining("'12345'") })
})
