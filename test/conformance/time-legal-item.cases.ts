import { expect } from 'vitest'
import { run } from './support/run.js'
import { type Row, section, sentence, sentences } from './support/sentence.js'
import { timeLegalRow } from './support/time-legal.js'
import { instantAt, instantInYears, iso } from './support/times.js'

const phone = '2125550100'

section('time-legal-item', () => {
  sentence('PhoneNumber is required', async () => {
    expect(await timeLegalRow({})).toMatchObject({ Status: 'INVALID_PHONE' })
  })

  sentence('PhoneNumber is 10 digits', async (needs) => {
    const place = needs(run.facts.places?.['us-baseline'], 'facts.places.us-baseline')
    expect(await timeLegalRow({ PhoneNumber: place.phone })).toMatchObject({ Status: 'OK' })
  })

  sentence('CallProposedDateTimeInUTC is optional', async () => {
    expect((await timeLegalRow({ PhoneNumber: phone })).Status).not.toBe('INVALID_DATE')
  })

  sentence('CallProposedDateTimeInUTC defaults to the current time when omitted', async (needs) => {
    const { phone: known } = needs(run.facts.places?.['us-baseline'], 'facts.places.us-baseline')
    await expectNow(known, {})
  })

  sentence('CallProposedDateTimeInUTC defaults to the current time when null', async (needs) => {
    const { phone: known } = needs(run.facts.places?.['us-baseline'], 'facts.places.us-baseline')
    await expectNow(known, { CallProposedDateTimeInUTC: null })
  })

  sentence('CallProposedDateTimeInUTC is ISO 8601 in UTC', async (needs) => {
    const place = needs(run.facts.places?.['us-baseline'], 'facts.places.us-baseline')
    const at = instantAt(place.zone, '2026-03-10', '12:00:00')
    for (const text of [at, at.replace('Z', '.000Z'), at.replace('Z', '+00:00')]) {
      const row = await timeLegalRow({ PhoneNumber: place.phone, CallProposedDateTimeInUTC: text })
      expect(row).toMatchObject({ Status: 'OK', SecondsInCallWindow: 9 * 3600 })
    }
  })

  sentences(
    ['next week', 'twelve', '2026-13-01T00:00:00Z', '2026-02-30T00:00:00Z', 12, true, {}],
    (text) => `CallProposedDateTimeInUTC ${JSON.stringify(text)} is no date-time`,
    async (text) => {
      const row = await timeLegalRow({ PhoneNumber: phone, CallProposedDateTimeInUTC: text })
      expect(row.Status).not.toBe('OK')
      expect(row.IsCallPermitted).toBe(false)
    },
  )

  sentences(
    [
      ['within 50 years ahead', instantInYears(50, -2), false],
      ['within 50 years back', instantInYears(-50, 2), false],
      ['beyond 50 years ahead', instantInYears(50, 2), true],
      ['beyond 50 years back', instantInYears(-50, -2), true],
    ] as const,
    ([what, , refused]) =>
      `CallProposedDateTimeInUTC ${what} is ${refused ? 'INVALID_DATE' : 'accepted'}`,
    async ([, at, refused]) => {
      const { Status } = await timeLegalRow({ PhoneNumber: phone, CallProposedDateTimeInUTC: at })
      if (refused) expect(Status).toBe('INVALID_DATE')
      else expect(Status).not.toBe('INVALID_DATE')
    },
  )

  sentence('DNCProjId is optional', async () => {
    const row = await timeLegalRow({ PhoneNumber: phone, DNCProjId: null })
    expect(row.Status).not.toBe('INVALID_PROJECT')
  })

  sentence('DNCProjId may be a project accessible to the account', async (needs) => {
    const { code } = needs(run.facts.project, 'facts.project')
    const row = await timeLegalRow({ PhoneNumber: phone, DNCProjId: code })
    expect(row.Status).not.toBe('INVALID_PROJECT')
  })

  sentence('DNCProjId must be accessible to the account', async () => {
    expect(await timeLegalRow({ PhoneNumber: phone, DNCProjId: 'NO-SUCH-CODE' })).toMatchObject({
      IsCallPermitted: false,
      Status: 'INVALID_PROJECT',
    })
  })

  sentence('DNCProjId of another account is not accessible', async (needs) => {
    const { code } = needs(run.facts.project, 'facts.project')
    const key = needs(run.secondLoginId, '--second-login-id')
    const row = await timeLegalRow({ PhoneNumber: phone, DNCProjId: code }, key)
    expect(row.Status).toBe('INVALID_PROJECT')
  })
})

/** The answer is that of an instant between two that are given, or of either. */
async function expectNow(known: string, item: object): Promise<void> {
  const before = iso(Date.now())
  const row = await timeLegalRow({ PhoneNumber: known, ...item })
  const after = iso(Date.now())
  const answers: Row[] = []
  for (const at of [before, after]) {
    answers.push(await timeLegalRow({ PhoneNumber: known, CallProposedDateTimeInUTC: at }))
  }
  expect(answers.map(({ Status }) => Status)).toEqual([row.Status, row.Status])
  expect(answers.map(({ IsCallPermitted }) => IsCallPermitted)).toContain(row.IsCallPermitted)
  const seconds = answers.map(({ SecondsInCallWindow }) => Number(SecondsInCallWindow))
  const slack = 5
  expect(Number(row.SecondsInCallWindow)).toBeLessThanOrEqual(Math.max(...seconds) + slack)
  expect(Number(row.SecondsInCallWindow)).toBeGreaterThanOrEqual(Math.min(...seconds) - slack)
}
