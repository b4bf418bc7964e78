/** OnPoint (Laravel): forms with the key in the header; rows are matched by their own id first. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { exchange } from './wire.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const post = (path: string, form: string) =>
  exchange(
    running.url,
    [
      `POST ${path} HTTP/1.1`,
      `loginId: ${running.keys.sandbox}`,
      'Accept: application/json',
      'Content-Type: application/x-www-form-urlencoded',
      'User-Agent: GuzzleHttp/7',
    ],
    form,
  )

interface Lead {
  readonly phone: string
  readonly reference: string
}

type Verdict = 'internal' | 'invalid' | 'litigator' | 'national' | 'clear'

async function verdicts(leads: readonly Lead[]): Promise<readonly Verdict[]> {
  const items = leads.map(({ phone, reference }) => encodeURIComponent(`${phone}|${reference}`))
  const form = `phoneList=${items.join('%2C')}&version=5&output=json&projId=`
  const { status, body } = await post('/app/main/rpc/scrub', form)
  const rows = JSON.parse(body.toString()) as readonly Readonly<Record<string, string>>[]
  if (status < 200 || status > 299 || rows.length === 0) throw new Error(`${status}: ${body}`)
  return leads.map(({ phone, reference }) => {
    const row =
      rows.find(({ Reserved }) => Reserved === reference) ??
      rows.find(({ Phone }) => Phone === phone)
    if (row === undefined) throw new Error(`no row for ${reference}`)
    return verdictOf(row)
  })
}

function verdictOf({ ResultCode, Reason = '' }: Readonly<Record<string, string>>): Verdict {
  if (ResultCode === 'P') return 'internal'
  if (ResultCode === 'I') return 'invalid'
  if (ResultCode !== 'D') return 'clear'
  if (/litigator/i.test(Reason)) return 'litigator'
  return /^national/i.test(Reason) ? 'national' : 'clear'
}

const leads = [
  { phone: '2125550100', reference: '7:phone' },
  { phone: '2125550103', reference: '8:phone' },
  { phone: '2125550105', reference: '8:mobile' },
]

it('matches rows by its own ids', async () => {
  expect(await verdicts(leads)).toEqual(['clear', 'national', 'litigator'])
})

it('puts a number on the internal list, which the next scrub tells', async () => {
  const form = 'phoneList=2125550100&actionType=add&projId='
  expect((await post('/app/main/rpc/pdnc', form)).status).toBe(200)
  expect(await verdicts(leads.slice(0, 1))).toEqual(['internal'])
})
