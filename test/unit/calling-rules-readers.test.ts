/**
 * Two readers of the calling rules, which have no code in common, agree on whether a call may be placed: the one that
 * decides, and `SlowRulesReader`. By default one instant of each day, for every kind of sales call and of calls for another
 * purpose; with `npm test -- --long` each quarter of an hour, and the second before it, in every region and each of its
 * zones: of three years for sales calls, of one year for all other purposes.
 */
import { readFileSync } from 'node:fs'
import moment from 'moment-timezone'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import {
  type CallKind,
  type CallPurpose,
  callKinds,
  callPurposes,
  type PurposeRules,
} from '../../src/domain/decision.js'
import { msPerDay } from '../../src/domain/time/dates.js'
import { callingHoursRule } from '../../src/judge/rules/calling-hours.js'
import { findRegionZones } from '../../src/law/area-codes.js'
import type { WindowOptions } from '../../src/law/hours/legal-window.js'
import { OperatorClosures } from '../../src/law/hours/operator-closures.js'
import { WindowEvaluator } from '../../src/law/hours/window-evaluator.js'
import { useTempFolder } from '../data/temp-folder.js'
import { shortOrLong } from '../support/long.js'
import { aJudged, alwaysOpen } from '../support/own-facts.js'
import { SlowRulesReader } from '../support/slow-rules-reader.js'
import { aCall } from '../support/test-gate.js'
import { seed } from './properties-support.js'

const folder = useTempFolder()
const shipped = readFileSync('config/calling-rules.yaml', 'utf8')
const quarterMs = 15 * 60_000

/** What the rule asks the windows for; the settings are those that are shipped. */
function findOptions(callKind: CallKind, purpose: PurposeRules): WindowOptions {
  const asked: WindowOptions[] = []
  const windows = {
    ...alwaysOpen,
    evaluate(...question: Parameters<typeof alwaysOpen.evaluate>) {
      asked.push(question[2])
      return alwaysOpen.evaluate(...question)
    },
  }
  const stated = purpose.purpose
  callingHoursRule.judge(aJudged({ call: aCall({ callKind }), stated, purpose, windows }))
  const [options] = asked
  if (!options) throw new Error('the rule did not ask')
  return options
}

function openReaders(text: string) {
  const slow = new SlowRulesReader(text)
  const rules = loadCallingRules(folder.write('rules.yaml', text))
  const closures = new OperatorClosures({ proclaimedDays: [], emergencies: [] })
  const hours = new WindowEvaluator(rules, closures)
  const calls = callPurposes.flatMap((purpose) => {
    const optionsOf = (kind: CallKind) => findOptions(kind, rules.purposes.find(purpose))
    return [false, true].flatMap((recordedVoice) => {
      const kinds = callKinds.filter((kind) => optionsOf(kind).recordedVoice === recordedVoice)
      const [first] = kinds
      return first ? [{ purpose, kinds, options: optionsOf(first) }] : []
    })
  })
  const places = slow.regions.flatMap((region) =>
    findRegionZones(region).map((zone) => ({ region, zone })),
  )
  const counts = { compared: 0, allowed: 0, differences: 0 }
  const differences: string[] = []
  const compare = (
    place: { readonly region: string; readonly zone: string },
    at: number,
    [date = '', time = '']: readonly string[],
    isCompared: (purpose: CallPurpose) => boolean = () => true,
  ) => {
    for (const { purpose, kinds, options } of calls) {
      if (!isCompared(purpose)) continue
      const decided = hours.evaluate([place], at, options).permitted
      for (const kind of kinds) {
        const expected = slow.mayCall({ region: place.region, kind, purpose }, date, time)
        counts.compared += 1
        if (expected) counts.allowed += 1
        if (decided === expected) continue
        counts.differences += 1
        const where = `${place.region} ${place.zone}, ${date} ${time}, ${kind} ${purpose}`
        if (differences.length < 10) differences.push(`${where}: ${decided}, should be ${expected}`)
      }
    }
  }
  return { places, compare, counts, differences, purposes: slow.purposes }
}

function readClock(zone: string, at: number): readonly string[] {
  return moment.tz(at, zone).format('YYYY-MM-DD HH:mm:ss').split(' ')
}

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
function createRandom(from: number): () => number {
  let state = from
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** The shipped rules with rows that they do not have: a window until midnight, spans, other defaults. */
function changeRules(): string {
  const file = parse(shipped)
  const { FL, KY, NE, CA, RI } = file.regions
  file.defaults = { disputedHolidays: 'allow', limitedHolidays: 'allow' }
  FL.hours = { monFri: '00:00-24:00', sat: '12:15-24:00', sun: 'none' }
  const later = { ...KY.automated, from: '2026-07-01', hours: FL.hours }
  KY.automated = [{ ...KY.automated, from: '2024-02-29', until: '2026-06-30' }, later]
  KY.ebr = [
    { S: 5, I: 0, until: '2025-12-31' },
    { S: 4, I: 1, from: '2026-02-01', until: '2026-12-31' },
  ]
  const history = [{ until: '2026-06-30', hours: FL.hours }]
  Object.assign(file.baselines.US, { history, effectiveFrom: '2026-07-01' })
  Object.assign(file.baselines.CA.ebr, { from: '2026-01-01' })
  Object.assign(NE.automated, { until: '2026-07-04', observedPolicy: 'sat-both-sun-mon' })
  Object.assign(CA.automated, { from: '2025-12-31', hours: later.hours })
  const { charity, emergency, 'debt-collection': debt } = file.purposes
  charity.hours = { monFri: '10:00-24:00', sat: 'none', sun: '12:15-13:30' }
  emergency.machines = 'permission'
  Object.assign(charity, { from: '2025-07-01', until: '2026-06-30' })
  Object.assign(debt.regions.ON, { from: '2026-01-01', until: '2027-05-31' })
  debt.regions.CA = {
    hours: { monFri: 'none', sat: '10:00-11:00', sun: 'none' },
    citation: 'x',
    confidence: 'baseline',
  }
  RI.holidays = RI.holidays.map((key: string) => ({ key, from: '2024-01-01', until: '2028-12-25' }))
  return JSON.stringify(file)
}

/** Three years, with the turns of 2025-06-01, 2026-01-01 and 2026-10-18. */
const sampled = { from: Date.UTC(2025, 4, 15), until: Date.UTC(2028, 4, 15) }

describe('two readers of the calling rules agree', () => {
  it.each([
    ['the shipped rules', 1, () => shipped],
    ['rules with other rows', 3, changeRules],
  ])('at instants of %s, days apart: %i', (name, stepDays, read) => {
    const { places, compare, counts, differences, purposes } = openReaders(read())
    expect(purposes).toEqual(callPurposes)
    const random = createRandom(seed)
    const pick = (count: number) => Math.floor(random() * count)
    for (const region of new Set(places.map((place) => place.region))) {
      const zones = findRegionZones(region)
      for (let day = sampled.from; day < sampled.until; day += stepDays * msPerDay) {
        const zone = zones[pick(zones.length)] ?? ''
        // A quarter of an hour, or the second before or after it.
        const at = day + pick(96) * quarterMs + (pick(3) - 1) * 1_000
        const other = callPurposes[1 + pick(callPurposes.length - 1)]
        const isCompared = (purpose: CallPurpose) =>
          purpose === 'telemarketing' || purpose === other
        compare({ region, zone }, at, readClock(zone, at), isCompared)
      }
    }
    console.log(`two readers, ${name}, seed ${seed}:`, JSON.stringify(counts))
    expect(differences).toEqual([])
    expect(counts.allowed).toBeGreaterThan(counts.compared / 4)
  })

  it.each([
    ['the shipped rules', () => shipped],
    ['rules with other rows', changeRules],
  ])('on the months of relationships by %s, each day', (_name, read) => {
    const text = read()
    const slow = new SlowRulesReader(text)
    const rules = loadCallingRules(folder.write('rules.yaml', text))
    const differences: string[] = []
    for (let at = sampled.from; at < sampled.until; at += msPerDay) {
      const date = new Date(at).toISOString().slice(0, 10)
      for (const region of slow.regions) {
        const rule = rules.findEbrRule(region, at / msPerDay)
        const [decided, expected] = [`${rule?.S},${rule?.I}`, `${slow.ebrMonths(region, date)}`]
        if (decided !== expected) differences.push(`${region} ${date}: ${decided}, ${expected}`)
      }
    }
    expect(differences).toEqual([])
  })

  // Half an hour of a processor for all purposes of three years: those besides sales calls have no days of their own.
  it.runIf(shortOrLong(0, 1) === 1).each([
    ['of three years, for sales calls', 2025, 2028, ['telemarketing']],
    ['of one year, for calls for other purposes', 2026, 2027, callPurposes.slice(1)],
  ] as const)(
    'on each quarter of an hour %s',
    (name, fromYear, untilYear, purposes) => {
      const { places, compare, counts, differences } = openReaders(shipped)
      const [start, end] = [Date.UTC(fromYear, 0, 1), Date.UTC(untilYear, 0, 1)]
      const isCompared = (purpose: CallPurpose) => purposes.some((one) => one === purpose)
      for (const zone of new Set(places.map((place) => place.zone))) {
        const inZone = places.filter((place) => place.zone === zone)
        for (let quarter = start; quarter < end; quarter += quarterMs) {
          for (const at of [quarter - 1_000, quarter]) {
            const clock = readClock(zone, at)
            for (const place of inZone) compare(place, at, clock, isCompared)
          }
        }
      }
      console.log(`two readers, ${places.length} places, ${name}:`, JSON.stringify(counts))
      expect(differences).toEqual([])
      const instants = places.length * ((end - start) / quarterMs) * 2
      expect(counts.compared).toBe(instants * callKinds.length * purposes.length)
    },
    7_200_000,
  )
})
