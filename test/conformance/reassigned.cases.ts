import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { ask } from './support/client.js'
import { reassigned, reassignedRow, rndPath } from './support/look-ups.js'
import { run } from './support/run.js'
import { type Row, section, sentence, sentences } from './support/sentence.js'
import { american, dayFromToday } from './support/times.js'

const phoneNumber = run.facts.reassigned?.[0]?.phone ?? '2125550100'
const date = '01/31/2024'

async function statusOf(query: Readonly<Record<string, string>>): Promise<number> {
  return (await reassigned(query)).status
}

section('reassigned', () => {
  sentences(
    [
      ['phoneNumber is required', { date }],
      ['date is required', { phoneNumber }],
      ['phoneNumber must not be empty', { phoneNumber: '', date }],
      ['date must not be empty', { phoneNumber, date: '' }],
      ['both are required', {}],
    ] as const,
    ([what]) => `${what}: 400 for missing parameters`,
    async ([, query]) => expect(await statusOf(query)).toBe(400),
  )

  sentences(
    ['12125550100', '+12125550100', '+2125550100', '212555010', '212-555-0100', 'abcdefghij'],
    (phone) => `phoneNumber is 10 digits without leading 1 or +: '${phone}' is 400`,
    async (phone) => expect(await statusOf({ phoneNumber: phone, date })).toBe(400),
  )

  sentences(
    [
      ['MM/DD/YYYY', '01/31/2024'],
      ['YYYY-MM-DD', '2024-01-31'],
      ['MM/DD/YY', '01/31/24'],
      ['YYYYMMDD', '20240131'],
    ] as const,
    ([form]) => `date may be ${form}`,
    async ([, text]) => expect(await statusOf({ phoneNumber, date: text })).toBe(200),
  )

  sentence('the four forms of one date mean the same', async () => {
    for (const day of ['2024-01-31', dayFromToday(-30)]) {
      const slashed = american(day)
      const short = `${slashed.slice(0, 6)}${slashed.slice(8)}`
      const answers: Row[] = []
      for (const form of [day, slashed, short, day.replaceAll('-', '')]) {
        answers.push(await reassignedRow(phoneNumber, form))
      }
      expect(answers).toEqual(answers.map(() => answers[0]))
    }
  })

  sentences(
    ['31/01/2024', '2024-02-30', '02/30/24', '20241301', '2024', 'yesterday', '1/2/3/4'],
    (text) => `400 for the invalid date '${text}'`,
    async (text) => expect(await statusOf({ phoneNumber, date: text })).toBe(400),
  )

  sentence('sandbox mode is off by default', async () => {
    const plain = await reassignedRow(phoneNumber, date)
    expect(await reassignedRow(phoneNumber, date, { useSandbox: 'false' })).toEqual(plain)
  })

  sentences(
    [null, wrongKey],
    (key) => `401 for ${key === null ? 'no key' : 'an unknown key'}`,
    async (key) => {
      expect((await ask({ path: rndPath, query: { phoneNumber, date }, key })).status).toBe(401)
    },
  )
})
