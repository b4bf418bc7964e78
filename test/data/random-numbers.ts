/** Repeatable randomness for model tests. */

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

/** Ten digits. */
export function numberText(prefix: number, line: number): string {
  return String(prefix).padStart(6, '0') + String(line).padStart(4, '0')
}
