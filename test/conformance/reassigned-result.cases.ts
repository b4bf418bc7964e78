import { expect } from 'vitest'
import { reassigned, reassignedRow } from './support/look-ups.js'
import { isTenDigits, isTrueFalseOrNull, isTrueOrFalse } from './support/rules.js'
import { run } from './support/run.js'
import { asRow, fieldTable, section, sentence, sentences } from './support/sentence.js'
import { dayFromToday } from './support/times.js'

const date = '01/31/2024'

section('reassigned-result', () => {
  fieldTable(
    async () => [await reassignedRow('2125550100', date), await reassignedRow('3055550101', date)],
    [
      ['PhoneNumber', 'the number checked', isTenDigits],
      ['IsReassigned', 'boolean or null', isTrueFalseOrNull],
      ['HasSafeHarbor', 'boolean', isTrueOrFalse],
      ['OwnIsReassigned', 'boolean or null', isTrueFalseOrNull],
      ['IsSandBox', 'boolean', isTrueOrFalse],
    ],
  )

  sentence('PhoneNumber is the number checked', async () => {
    expect((await reassignedRow('2125550100', date)).PhoneNumber).toBe('2125550100')
  })

  sentence('IsSandBox is true when the answer came from sandbox mode', async () => {
    const query = { phoneNumber: '2125550100', date, useSandbox: 'true' }
    expect(asRow((await reassigned(query)).json()).IsSandBox).toBe(true)
  })

  sentences(
    run.facts.reassigned ?? [],
    ({ phone, date: day, about }) =>
      `${phone} since ${typeof day === 'number' ? `${day} days` : day}: ${about}`,
    async ({ phone, date: day, answer }) => {
      const since = typeof day === 'number' ? dayFromToday(-day) : day
      expect(await reassignedRow(phone, since)).toMatchObject(answer)
    },
  )

  sentence('IsReassigned true, false and null are all told', async (needs) => {
    const known = needs(run.facts.reassigned, 'facts.reassigned')
    const answers = new Set(known.map(({ answer }) => answer.IsReassigned))
    expect(answers).toEqual(new Set([true, false, null]))
  })
})
