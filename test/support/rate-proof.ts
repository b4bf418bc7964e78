/** What proofs of a rate need: chance that can be repeated, and the fullest minute. */

/** The same every time: a test that fails can be run again. */
export function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

/** Most of the times that lie in one stretch of a minute, both ends included. */
export function mostInAMinute(times: readonly number[]): number {
  let first = 0
  let most = 0
  for (const [at, time] of times.entries()) {
    while (time - (times[first] ?? time) > 60_000) first += 1
    most = Math.max(most, at - first + 1)
  }
  return most
}
