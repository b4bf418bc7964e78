/** The law remembers windows: it answers after a million calls as it does fresh, and by the values of what it is given. */
import { expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { callKinds, callPurposes } from '../../src/domain/decision.js'
import { msPerDay } from '../../src/domain/time/dates.js'
import type { ProjectHours } from '../../src/domain/time/week-windows.js'
import { findAreaCodePlace, listAreaCodes } from '../../src/law/area-codes.js'
import { CallingRules } from '../../src/law/calling-rules.js'
import type { WindowOptions } from '../../src/law/hours/legal-window.js'
import { type Emergency, OperatorClosures } from '../../src/law/hours/operator-closures.js'
import { WindowEvaluator } from '../../src/law/hours/window-evaluator.js'
import { instant } from '../support/test-clock.js'
import { seed } from '../unit/properties-support.js'

const rules = loadCallingRules('config/calling-rules.yaml')
const startsAt = instant('2026-09-01T00:00:00Z')
const emergency: Omit<Emergency, 'region'> = { name: 'flood', from: startsAt + 3.5 * msPerDay }
const entered = {
  proclaimedDays: [{ region: 'RI', date: '2026-09-04', name: 'Victory Day' }],
  emergencies: [
    { ...emergency, region: 'FL', until: startsAt + 5 * msPerDay, postalPrefixes: ['331'] },
    { ...emergency, region: 'LA' },
  ],
}
const window = (start: number, end: number) => ({ start: start * 3_600, end: end * 3_600 })
const ownHours = (region: string, start: number): ProjectHours => ({
  region,
  monFri: window(start, 20),
  sat: window(start, 12),
  sun: undefined,
})

/** What went through JSON is equal, and none of it is the same object. */
function reread<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value
}

function freshEvaluator(law: CallingRules): WindowEvaluator {
  return new WindowEvaluator(law, new OperatorClosures(reread(entered)))
}

const areaCodes = listAreaCodes()
const placesOf = (code: string) => findAreaCodePlace(code)?.candidates ?? []

/** Ten days of windows for each. */
const callsADay = 1_000

/** Call `index` of a sequence: mulberry32 of the seed and the index. */
function draw(index: number) {
  let state = (seed + index * 0x6d2b79f5) | 0
  const next = (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
  const code = areaCodes[next(areaCodes.length)] ?? ''
  const [first] = placesOf(code)
  const region = first?.region ?? ''
  // Days go on as the calls do, so that windows are dropped in between.
  const at = startsAt + Math.floor(index / callsADay) * msPerDay + next(msPerDay)
  const way = next(8)
  const options: WindowOptions = {
    overrides: way === 0 ? [ownHours(region, 7 + next(4))] : [],
    recordedVoice: (way & 1) === 1,
    requireStatutoryWindow: way > 5,
    purpose: way === 1 ? callPurposes[next(callPurposes.length)] : undefined,
    exceptions: way === 2 ? [{ id: 'one', region }] : undefined,
  }
  const postalCode = region === 'FL' && next(2) === 0 ? `33${next(4)}01` : undefined
  const places = placesOf(code).map((place) => ({ ...place, postalCode }))
  return { code, places, at, options, next }
}

it('answers after a million windows as a fresh one does', () => {
  const used = freshEvaluator(rules)
  const law = new CallingRules(reread(rules.document))
  let windows = 0
  for (let index = 0; windows < 1_000_000; index += 1) {
    const { places, at, options } = draw(index)
    const days = { from: Math.floor(at / msPerDay), count: 10 }
    const periods = used.listPeriods(places, days, options)
    windows += places.length * days.count
    if (index % 100 > 0) continue
    const fresh = freshEvaluator(law)
    const [again, like] = [reread(places), reread(options)]
    expect(periods).toEqual(fresh.listPeriods(again, days, like))
    expect(used.evaluate(places, at, options)).toEqual(fresh.evaluate(again, at, like))
    expect(used.findNextOpening(places, at, options)).toBe(fresh.findNextOpening(again, at, like))
  }
})

it('goes by what the hours of a project are, not by which object has them', () => {
  const places = [{ region: 'NY', zone: 'America/New_York' }]
  const at = instant('2026-09-02T13:30:00Z')
  const overrides = [ownHours('NY', 9)]
  const options = { overrides, recordedVoice: false, requireStatutoryWindow: false }
  const used = freshEvaluator(rules)
  expect(used.evaluate(places, at, options).permitted).toBe(true)
  overrides[0] = ownHours('NY', 10)
  expect(used.evaluate(places, at, options).permitted).toBe(false)
})

it('finds the same rules for a call, asked before or not', () => {
  const find = (law: CallingRules, index: number) => {
    const { code, places, at, next } = draw(index)
    const callKind = callKinds[next(callKinds.length)] ?? 'ai'
    const purpose = callPurposes[next(callPurposes.length)] ?? 'telemarketing'
    const number = `${code}5550100`
    const call = { callKind, purpose, number, places, hasPermission: next(2) === 0 }
    const day = Math.floor(at / msPerDay)
    return {
      frequency: law.frequency.find(call, at),
      abandonment: law.abandonment.find(call, at),
      consents: law.requiredConsents.find(call, at),
      presence: law.callerIds.findPresenceLaw(
        `${areaCodes[next(areaCodes.length)]}5550100`,
        call,
        at,
      ),
      disclosures: law.listDisclosures(call, at, () => places.map((place) => ({ ...place, day }))),
      ebr: places.map(({ region }) => law.findEbrRule(region, day)),
      bans: places.map(({ region }) => law.findWirelessBan(region, () => day)),
      closed: places.map(({ region }) => law.findRestrictedDay(region, day)),
      revocation: law.revocation?.find(at, []),
    }
  }
  const indices = Array.from({ length: 500 }, (_, index) => index * 101)
  for (const index of indices) find(rules, index)
  const fresh = new CallingRules(reread(rules.document))
  for (const index of indices.reverse()) expect(find(rules, index)).toEqual(find(fresh, index))
})
