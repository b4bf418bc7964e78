/** The worlds that are frozen, by their file. */
import type { World } from '../script.js'
import { makeAbandonedWorld, makeCountedWorld } from './counted.js'
import { makeAbandonedExactWorld, makePlacesWorld, makeStoredBeforeWorld } from './exact.js'
import { makeMixedWorld } from './mixed.js'
import { makeRealWorld, makeSandboxWorld } from './own.js'
import { makePairsWorld } from './pairs.js'
import {
  makeClockWorld,
  makeCrowdedWorld,
  makeLateWorld,
  makeNarrowWorld,
  makeSilentWorld,
} from './rare.js'
import {
  makeCoolDownWorld,
  makeExpiredWorld,
  makeInvalidWorld,
  makeRestingWorld,
  makeUnprovenWorld,
} from './seldom.js'
import { makeVendorWorld } from './vendors.js'
import { makeWhatIfWorld } from './what-if.js'

interface Row {
  readonly make: (seed: number, calls: number) => World
  readonly calls: number
  /** How many of its worlds are in the sample. */
  readonly inSample: number
}

const rows: readonly Row[] = [
  { make: makeSandboxWorld, calls: 30_000, inSample: 5 },
  { make: makeRealWorld, calls: 29_600, inSample: 4 },
  { make: makeClockWorld, calls: 400, inSample: 0 },
  { make: (seed, calls) => makeVendorWorld('one', seed, calls), calls: 14_400, inSample: 2 },
  { make: makeCrowdedWorld, calls: 300, inSample: 0 },
  { make: makeSilentWorld, calls: 900, inSample: 0 },
  { make: (seed, calls) => makeVendorWorld('fallback', seed, calls), calls: 4_900, inSample: 1 },
  {
    make: (seed, calls) => makeVendorWorld('any-no-blocks', seed, calls),
    calls: 4_900,
    inSample: 1,
  },
  { make: makeCountedWorld, calls: 8_500, inSample: 3 },
  { make: makeAbandonedWorld, calls: 1_500, inSample: 1 },
  { make: makeLateWorld, calls: 900, inSample: 0 },
  { make: makeNarrowWorld, calls: 2_400, inSample: 0 },
  ...(['own', 'one', 'fallback', 'any-no-blocks'] as const).map((mode) => ({
    make: (seed: number, calls: number) => makeMixedWorld(mode, seed, calls),
    calls: 2_400,
    inSample: 0,
  })),
  { make: makeWhatIfWorld, calls: 5_000, inSample: 2 },
]

/** The sample runs with every change, so its worlds are small and many. */
const sampleCalls = 150
const otherCalls = 300

/** The sample, then the others until it is `share` of the calls. */
export function* makeWorlds(share: number): Generator<World> {
  for (const { make, inSample } of rows) {
    for (let seed = 1; seed <= inSample; seed += 1) {
      yield { ...make(seed, sampleCalls), isSample: true }
    }
  }
  for (const { make, calls, inSample } of rows) {
    const others = Math.ceil((calls * share - inSample * sampleCalls) / otherCalls)
    for (let nth = 1; nth <= others; nth += 1) yield make(inSample + nth, otherCalls)
  }
}

interface MoreRow {
  readonly make: Row['make']
  readonly seeds: readonly number[]
  /** Of each world. */
  readonly calls: number
}

/** Small, so that the sample may have one of each edge. */
const exact: readonly MoreRow[] = [
  { make: makeStoredBeforeWorld, seeds: [1], calls: 45 },
  { make: makePlacesWorld, seeds: [1], calls: 45 },
  { make: makeAbandonedExactWorld, seeds: [1], calls: 135 },
]

const more: readonly MoreRow[] = [
  { make: makeStoredBeforeWorld, seeds: [2], calls: 240 },
  { make: makePlacesWorld, seeds: [2], calls: 240 },
  { make: makeAbandonedExactWorld, seeds: [2, 3], calls: 230 },
  { make: makeExpiredWorld, seeds: [1], calls: 130 },
  { make: makeInvalidWorld, seeds: [1], calls: 150 },
  { make: makeUnprovenWorld, seeds: [1, 2], calls: 130 },
  { make: makeCoolDownWorld, seeds: [1], calls: 150 },
  ...(['one', 'fallback', 'any-no-blocks'] as const).map((mode) => ({
    make: (seed: number, calls: number) => makeRestingWorld(mode, seed, calls),
    ...{ seeds: [1], calls: 430 },
  })),
  {
    make: (seed, calls) => makePairsWorld('own', seed, calls),
    ...{ seeds: [0, 1, 2, 3, 4, 5, 6, 7], calls: 420 },
  },
  {
    make: (seed, calls) => makePairsWorld('one', seed, calls),
    ...{ seeds: [0, 1, 2, 3, 4, 5], calls: 420 },
  },
]

export function* makeMoreWorlds(): Generator<World> {
  for (const { make, seeds, calls } of exact) {
    for (const seed of seeds) yield { ...make(seed, calls), isSample: true }
  }
  for (const { make, seeds, calls } of more) {
    for (const seed of seeds) yield make(seed, calls)
  }
}
