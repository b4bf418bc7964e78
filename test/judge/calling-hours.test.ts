/** The rule about calling hours, by our own facts: which places and which windows must permit the call. */
import { describe, expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { AnswerFailure } from '../../src/domain/compliance.js'
import type { Finding } from '../../src/domain/decision.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { callingHoursRule } from '../../src/judge/rules/calling-hours.js'
import {
  CallingHours,
  type CallingHoursDeps,
} from '../../src/service/calling-hours/calling-hours.js'
import { fakeNumberingPlan, fakePostalCodes } from '../support/fake-numbering.js'
import { aJudged, type KnownFacts, knownFacts } from '../support/own-facts.js'
import { instant } from '../support/test-clock.js'
import { aCall, gateSettings } from '../support/test-gate.js'

const rules = loadCallingRules('config/calling-rules.yaml')
const numberingPlan = fakeNumberingPlan({
  '205': ['AL America/Chicago'],
  '212': ['NY America/New_York'],
  '270': ['KY America/New_York'],
})
const postalCodes = fakePostalCodes({
  '10001': ['NY America/New_York'],
  '94105': ['CA America/Los_Angeles'],
})
const now = instant('2026-11-24T17:00:00Z')

interface Asked extends KnownFacts {
  readonly dialed?: string
  readonly at?: string
  readonly callKind?: 'manual' | 'autodialed' | 'ai'
  readonly settings?: Partial<typeof gateSettings>
  readonly closures?: Partial<CallingHoursDeps>
}

function judge(asked: Asked): Finding {
  const { dialed = '2125550100', at, callKind = 'manual', settings, closures, ...facts } = asked
  const { postalCode } = facts
  const entered = { proclaimedDays: [], emergencies: [], ...closures }
  const hours = new CallingHours({ rules, numberingPlan, postalCodes, ...entered })
  const call = aCall({ dialed, callKind, postalCode })
  const number = numberingPlan.lookup(aJudged({ call }).number)
  return callingHoursRule.judge(
    aJudged({
      call,
      windows: hours.windows,
      settings: { ...gateSettings, ...settings },
      own: knownFacts({
        ...{ number, postal: postalCode ? postalCodes.locate(postalCode) : undefined },
        ...facts,
      }),
      now,
      at: at === undefined ? now : instant(at),
    }),
  )
}

const verdictOf = (asked: Asked) => judge(asked).verdict
const strictest = { strictestPlace: { manual: true, autodialed: true, ai: true } }
const byPostalCode = { strictestPlace: { manual: false, autodialed: false, ai: false } }

describe('a postal code', () => {
  it.each([
    ['10:59 New York, 07:59 San Francisco', '2026-11-24T10:59:59-05:00', 'pass', 'deny', 'deny'],
    ['11:00 New York, 08:00 San Francisco', '2026-11-24T11:00:00-05:00', 'pass', 'pass', 'pass'],
    ['21:00 New York, 18:00 San Francisco', '2026-11-24T21:00:00-05:00', 'deny', 'pass', 'deny'],
  ])('alone decides, or with the strictest place both: %s', (_name, at, number, postal, both) => {
    const postalCode = '94105'
    expect(verdictOf({ at })).toBe(number)
    expect(verdictOf({ at, postalCode, settings: byPostalCode })).toBe(postal)
    expect(verdictOf({ at, postalCode, settings: strictest })).toBe(both)
  })

  it('counts by the strictest place for the kinds of call that the settings name', () => {
    const at = '2026-11-24T21:00:00-05:00'
    const ask = (callKind: 'manual' | 'autodialed' | 'ai') =>
      verdictOf({ at, postalCode: '94105', callKind })
    expect([ask('manual'), ask('autodialed'), ask('ai')]).toEqual(['pass', 'deny', 'deny'])
  })

  it('of unknown place leaves the call unjudged with the strictest place, and else counts for nothing', () => {
    const unplaced = { postalCode: '99999', settings: strictest }
    expect(judge(unplaced)).toMatchObject({
      verdict: 'unknown',
      reason: 'check-unanswered',
      isRequestError: true,
      says: [{ code: 'postal-code-without-hours' }],
    })
    const usual = judge({ postalCode: '99999', settings: byPostalCode })
    expect(usual.verdict).toBe('pass')
    expect(usual.says).toContainEqual({ code: 'postal-code-unplaced' })
    expect(verdictOf({ settings: strictest })).toBe('pass')
  })

  it('of unknown place changes nothing for a number that has none either', () => {
    expect(judge({ dialed: '9995550100', postalCode: '99999', settings: strictest })).toMatchObject(
      {
        verdict: 'deny',
        reason: 'unknown-prefix',
      },
    )
  })

  it('frees from an emergency elsewhere in the state, but not with the strictest place', () => {
    const emergencies = [{ region: 'NY', from: 0, postalPrefixes: ['142'], name: 'Snow' }]
    const ask = (more: Asked) => verdictOf({ closures: { emergencies }, ...more })
    expect(ask({})).toBe('deny')
    expect(ask({ postalCode: '10001', settings: byPostalCode })).toBe('pass')
    expect(ask({ postalCode: '10001', settings: strictest })).toBe('deny')
  })

  it('is a place where the person may be, besides that of the number', () => {
    const places = [
      { region: 'NY', zone: 'America/New_York' },
      { region: 'CA', zone: 'America/Los_Angeles' },
    ]
    for (const settings of [byPostalCode, strictest]) {
      expect(judge({ postalCode: '94105', settings }).places).toEqual(places)
    }
  })
})

describe('the windows', () => {
  // Kentucky has other hours for a recorded voice: from 10:00 to 21:00.
  const early = { dialed: '2705550100', at: '2026-11-24T08:30:00-05:00' }
  const earlyHours = { start: 8 * 3_600, end: 22 * 3_600 }

  it('for recorded voices are those of machines, if the settings say so', () => {
    const recorded = { ...early, at: '2026-11-24T09:59:59-05:00' }
    const hours = [{ region: 'KY', monFri: earlyHours, sat: earlyHours, sun: earlyHours }]
    const ask = (more: Asked) => verdictOf({ ...recorded, hours, ...more })
    const off = { recordedVoiceWindows: false, projectMayWiden: true }
    expect(ask({ callKind: 'ai', settings: { projectMayWiden: true } })).toBe('deny')
    expect(ask({ callKind: 'ai', settings: off })).toBe('pass')
    expect(ask({ callKind: 'manual', settings: { projectMayWiden: true } })).toBe('pass')
  })

  it('of a project narrow those of the law, and widen them if the settings say so', () => {
    const hours = [{ region: 'KY', monFri: earlyHours, sat: earlyHours, sun: earlyHours }]
    expect(verdictOf({ ...early, hours })).toBe('deny')
    expect(verdictOf({ ...early, hours, settings: { projectMayWiden: true } })).toBe('pass')
    const late = { start: 13 * 3_600, end: 14 * 3_600 }
    const narrow = [{ region: 'NY', monFri: late, sat: late, sun: late }]
    expect(verdictOf({ hours: narrow })).toBe('deny')
  })
})

describe('a call that has no hours', () => {
  it.each([
    ['2076-11-24T23:59:59Z', 'pass'],
    ['2076-11-25T00:00:00Z', 'deny'],
    ['1976-11-23T23:59:59Z', 'deny'],
  ])('is one of more than fifty years away: %s, %s', (at, expected) => {
    const alwaysOpen = [{ start: 0, end: 86_400 }].flatMap((day) => [
      { region: 'NY', monFri: day, sat: day, sun: day },
    ])
    const settings = { projectMayWiden: true }
    const finding = judge({ at, hours: alwaysOpen, settings })
    expect(finding.verdict).toBe(expected)
    if (expected === 'pass') return
    expect(finding).toMatchObject({
      reason: 'check-unanswered',
      says: [{ code: 'hours-status', params: { status: 'INVALID_DATE' } }],
      // Of the next day.
      holdsUntil: instant('2026-11-25T00:00:00Z'),
    })
  })

  it('is one to a toll-free number, which nobody is called at', () => {
    const number = { status: 'toll-free' } as const
    expect(judge({ number })).toMatchObject({ verdict: 'deny', reason: 'toll-free' })
  })

  it('is one of a project that is not known', () => {
    const says = [{ code: 'bad-question', quote: "projectId 'X': is unknown" }] as const
    const why: AnswerFailure = { ok: false, reason: 'bad-question', says, source: 'embedded' }
    const own = { ...knownFacts(), hours: { why } }
    const finding = callingHoursRule.judge(aJudged({ own }))
    expect(finding).toMatchObject({ verdict: 'deny', reason: 'unknown-project' })
    expect(describeSaid(finding.says)).toContain("projectId 'X': is unknown")
  })

  it('is unknown where its project cannot be read, unless what was known before forbids it', () => {
    const says = [{ code: 'source-failed', quote: 'no disk' }] as const
    const why: AnswerFailure = { ok: false, reason: 'source-failed', says, source: 'embedded' }
    const late = { start: 20 * 3_600, end: 21 * 3_600 }
    const closed = [{ region: 'NY', monFri: late, sat: late, sun: late }]
    const judgeLast = (value: typeof closed) => {
      const hours = new CallingHours({
        ...{ rules, numberingPlan, postalCodes, proclaimedDays: [], emergencies: [] },
      })
      const own = { ...knownFacts(), hours: { why, last: { value, asOf: 0 } } }
      return callingHoursRule.judge(aJudged({ own, windows: hours.windows }))
    }
    expect(judgeLast([])).toMatchObject({ verdict: 'unknown', says })
    expect(judgeLast(closed)).toMatchObject({
      verdict: 'deny',
      reason: 'outside-calling-hours',
      notRenewed: says,
    })
  })
})
