/** Calling hours near zone lines and clock changes, against the wall clock of another reader. */

import fc from 'fast-check'
import moment from 'moment-timezone'
import { describe, expect, test } from 'vitest'
import { type CallKind, callKinds, type Finding } from '../../src/domain/decision.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { CandidatePlace } from '../../src/domain/place.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import { callingHoursRule } from '../../src/judge/rules/calling-hours.js'
import { findAreaCodePlace, listAreaCodes } from '../../src/law/area-codes.js'
import { aJudged, readAll } from '../support/own-facts.js'
import { postalCodes, testScrub } from '../support/scrub-parts.js'
import { aCall, gateSettings } from '../support/test-gate.js'
import { holds } from './properties-support.js'

const clock = fixedClock(Date.UTC(2026, 10, 22))
const { createReader, views } = testScrub({ clock })
const reader = createReader()

const now = clock.now()
const areaCodes = listAreaCodes()
const dayMs = 86_400_000

function placesOfCode(code: string): readonly CandidatePlace[] {
  return findAreaCodePlace(code)?.candidates ?? []
}

/** Every instant from 2026 to 2030 at which a clock of some area code changes. */
const zones = new Set(areaCodes.flatMap(placesOfCode).map(({ zone }) => zone))
const changes = [...zones]
  .flatMap((name) => moment.tz.zone(name)?.untils ?? [])
  .filter((at): at is number => at !== null && at > Date.UTC(2026, 9) && at < Date.UTC(2031, 0))

const located = [
  '10001',
  '90210',
  '57601',
  '36863',
  '86045',
  '86515',
  '42716',
  '47520',
  '99546',
  '96701',
  '00901',
  '96910',
  '96950',
  '96799',
  '96898',
  'A0K 1V0',
  'A1A 1A1',
  'G0G 1A0',
  'G4T 1A1',
  'V0B 1A0',
  'V1G 1A1',
  'S0P 0A0',
  'X0A 0V0',
  'X0C 0C0',
  'P0T 1A1',
  'R3C 1A1',
  'K1A 0B1',
]
const unlocated = ['09001', '34001', '96201', '96940', '96970', 'H0H 0H0', 'K8N 5W6', '00000']

const aroundChanges = fc
  .tuple(fc.constantFrom(...changes), fc.integer({ min: -1.5 * dayMs, max: 1.5 * dayMs }))
  .map(([change, after]) => change + after)
const item = fc.record({
  dialed: fc.constantFrom(...areaCodes).map((code) => `${code}2362345`),
  at: fc.oneof(aroundChanges, fc.integer({ min: now, max: now + 1_500 * dayMs })),
  callKind: fc.constantFrom(...callKinds),
})

interface Asked {
  readonly dialed: string
  readonly at: number
  readonly callKind: CallKind
  readonly postalCode?: string | undefined
}

/** What the rule makes of our own facts, in the strictest place or by the postal code alone. */
function judge({ dialed, at, callKind, postalCode }: Asked, isStrictest: boolean): Finding {
  const own = readAll(reader, { accountId: 'main', number: toPhoneNumber(dialed), postalCode })
  if (own instanceof Promise) throw new Error('nothing has to be waited for')
  const strictestPlace = { manual: isStrictest, autodialed: isStrictest, ai: isStrictest }
  return callingHoursRule.judge(
    aJudged({
      call: aCall({ dialed, callKind, postalCode }),
      windows: views.real.hours.windows,
      settings: { ...gateSettings, strictestPlace },
      own,
      now,
      at,
    }),
  )
}

/** The widest windows of any law: 8 AM to 9 PM in the US, 9 AM to 9:30 PM in Canada. */
function isDaytime({ region, zone }: CandidatePlace, at: number): boolean {
  const local = moment.tz(at, zone)
  const minute = local.hours() * 60 + local.minutes()
  const isCanadian = /^(?:AB|BC|MB|NB|NL|NS|NT|NU|ON|PE|QC|SK|YT)$/.test(region)
  return isCanadian ? minute >= 540 && minute < 1_290 : minute >= 480 && minute < 1_260
}

describe('a call that is permitted', () => {
  test('is by day, to the last millisecond, at every place the person may be', () => {
    let permitted = 0
    holds(
      fc.property(item, fc.constantFrom(undefined, ...located), (asked, postalCode) => {
        const { verdict, holdsUntil } = judge({ ...asked, postalCode }, true)
        if (verdict !== 'pass') return
        permitted += 1
        const ofPostalCode = postalCode ? (postalCodes.locate(postalCode)?.candidates ?? []) : []
        for (const place of [...ofPostalCode, ...placesOfCode(asked.dialed.slice(0, 3))]) {
          expect(isDaytime(place, asked.at), JSON.stringify(place)).toBe(true)
          expect(isDaytime(place, holdsUntil - 1), JSON.stringify(place)).toBe(true)
        }
      }),
      5_000,
    )
    expect(permitted).toBeGreaterThan(500)
  })

  test('with the strictest place is permitted without the postal code, and by it alone', () => {
    holds(
      fc.property(item, fc.constantFrom(...located), (asked, postalCode) => {
        const strictest = judge({ ...asked, postalCode }, true)
        if (strictest.verdict !== 'pass') return
        for (const one of [judge(asked, true), judge({ ...asked, postalCode }, false)]) {
          expect(one.verdict).toBe('pass')
          expect(one.holdsUntil).toBeGreaterThanOrEqual(strictest.holdsUntil)
        }
      }),
      2_000,
    )
  })

  test('never has a postal code of unknown place, with the strictest place', () => {
    holds(
      fc.property(item, fc.constantFrom(...unlocated), (asked, postalCode) => {
        const { isRequestError, ...strictest } = judge({ ...asked, postalCode }, true)
        const { says, ...usual } = judge(asked, false)
        expect(strictest).toMatchObject({ verdict: 'unknown', reason: 'check-unanswered' })
        expect(isRequestError).toBe(true)
        const [place, ...others] = says.toReversed()
        const unplaced = { code: 'postal-code-unplaced' }
        expect(judge({ ...asked, postalCode }, false)).toEqual({
          ...usual,
          says: [...others.toReversed(), unplaced, place],
        })
      }),
    )
  })
})
