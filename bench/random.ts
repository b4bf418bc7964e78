/** Repeatable chance, so that every run measures the same numbers. */
import { inServiceAreaCodes } from '../src/data/numbering/area-codes.js'
import { type PhoneNumber, phoneNumber } from '../src/domain/phone-number.js'

/** Mulberry32: whole numbers from 0 up to, not including, the given bound. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** Different numbers of area codes in service that pass the test, in no order. */
export function randomNumbers(
  count: number,
  seed: number,
  accepts: (number: PhoneNumber) => boolean,
): readonly PhoneNumber[] {
  const below = seededRandom(seed)
  const areaCodes = inServiceAreaCodes()
  const found = new Set<PhoneNumber>()
  while (found.size < count) {
    const areaCode = areaCodes[below(areaCodes.length)] ?? '212'
    const line = String(below(10_000)).padStart(4, '0')
    const number = phoneNumber(`${areaCode}${200 + below(800)}${line}`)
    if (accepts(number)) found.add(number)
  }
  return [...found]
}
