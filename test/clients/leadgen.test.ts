/** leadgen (Python): GET with the key in the address, JSON rows; only a status of 200 counts. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { exchange } from './wire.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const scrub = (phones: readonly string[], key = running.keys.sandbox) =>
  exchange(running.url, [
    `GET /app/main/rpc/scrub?loginId=${key}&phoneList=${phones.join('%2C')}&version=5&output=json HTTP/1.1`,
    'Accept: */*',
    'Accept-Encoding: gzip, deflate',
    'User-Agent: python-httpx/0.27.0',
  ])

type Verdict = 'dnc' | 'unknown' | 'callable'

/** Whatever is no verdict of its own is held back: it fails closed. */
async function verdicts(phones: readonly string[], key?: string): Promise<readonly Verdict[]> {
  const { status, body } = await scrub(phones, key)
  if (status !== 200) return phones.map(() => 'unknown')
  const rows = JSON.parse(body.toString()) as readonly Readonly<Record<string, string>>[]
  const byPhone = new Map(rows.map((row) => [row.Phone, row]))
  return phones.map((phone) => verdictOf(byPhone.get(phone)))
}

function verdictOf(row: Readonly<Record<string, string>> | undefined): Verdict {
  if (row === undefined || row.ResultCode === 'I') return 'unknown'
  const reasons = (row.Reason ?? '').split(';').slice(0, 3)
  return row.ResultCode === 'D' || reasons.some((part) => part.trim() !== '') ? 'dnc' : 'callable'
}

it('reads the rows', async () => {
  expect(await verdicts(['2125550100', '2125550101', '2125550103', '2125550105'])).toEqual([
    'callable',
    'callable',
    'dnc',
    'dnc',
  ])
})

it('gets an answer for a chunk of 100', async () => {
  const phones = Array.from({ length: 100 }, (_none, area) => `${201 + area}5550103`)
  expect(new Set(await verdicts(phones)).has('dnc')).toBe(true)
})

it('holds everything back with a wrong key', async () => {
  expect(await verdicts(['2125550100'], 'x'.repeat(44))).toEqual(['unknown'])
})
