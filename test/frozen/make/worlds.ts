/** The worlds that are frozen. */
import type { World } from '../script.js'
import { makeAbandonedWorld, makeCountedWorld } from './counted.js'
import { makeMixedWorld } from './mixed.js'
import { makeRealWorld, makeSandboxWorld } from './own.js'
import {
  makeClockWorld,
  makeCrowdedWorld,
  makeLateWorld,
  makeNarrowWorld,
  makeSilentWorld,
} from './rare.js'
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
