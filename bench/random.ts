/** Reproducible random numbers, so that every run measures the same telephone numbers. */

import { type PhoneNumber, toPhoneNumber } from '../src/domain/phone-number.js'
import { listAreaCodes } from '../src/law/area-codes.js'

/** Mulberry32: integers from 0 up to, but not including, the given bound. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** Distinct numbers of area codes in service that pass the test, in random order. */
export function randomNumbers(
  count: number,
  seed: number,
  accepts: (number: PhoneNumber) => boolean,
): readonly PhoneNumber[] {
  const below = seededRandom(seed)
  const areaCodes = listAreaCodes()
  const found = new Set<PhoneNumber>()
  while (found.size < count) {
    const areaCode = areaCodes[below(areaCodes.length)] ?? '212'
    const line = String(below(10_000)).padStart(4, '0')
    const number = toPhoneNumber(`${areaCode}${200 + below(800)}${line}`)
    if (accepts(number)) found.add(number)
  }
  return [...found]
}
