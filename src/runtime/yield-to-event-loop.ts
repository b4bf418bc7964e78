/**
 * Runs long work in slices. Lists of numbers are processed on the thread that decides calls, so a list
 * must not block the event loop from its first number to its last.
 */
import { monotonicSeconds } from './runtime.js'

/** Below the 10 ms that a call may be delayed, since pieces of work and garbage collection take time too. */
const maxSliceSeconds = 0.003

let sliceStartedAt = Number.NEGATIVE_INFINITY
const waitingTurns: (() => void)[] = []

/**
 * Call it between pieces of long work, and await the promise if it returns one: the callers together
 * have then used the event loop for 3 ms, and other work must run. `undefined` means that the work may
 * go on. Only one caller resumes in each turn of the event loop, so that several together block it no
 * longer than one does.
 */
export function yieldToEventLoop(): Promise<void> | undefined {
  return monotonicSeconds() - sliceStartedAt < maxSliceSeconds ? undefined : waitForNextTurn()
}

/** Await it before a piece of work that takes milliseconds and cannot be divided; it starts a slice. */
export function waitForNextTurn(): Promise<void> {
  return new Promise((resume) => {
    if (waitingTurns.push(resume) === 1) setImmediate(resumeNext)
  })
}

function resumeNext(): void {
  const resume = waitingTurns.shift()
  sliceStartedAt = monotonicSeconds()
  resume?.()
  if (waitingTurns.length > 0) setImmediate(resumeNext)
}

/** Items that are processed without a pause; they take well below a millisecond. */
const maxUnslicedItems = 1_000

/** `items.map(map)`; in slices if the list is long. */
export function mapLongListInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): readonly Result[] | Promise<readonly Result[]> {
  return items.length > maxUnslicedItems ? mapInSlices(items, map) : items.map((item) => map(item))
}

/** `items.map(map)`, in slices. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  await forEachInSlices(items, (item, index) => results.push(map(item, index)))
  return results
}

/** Calls `use` with each item in order, in slices. */
export async function forEachInSlices<Item>(
  items: Iterable<Item>,
  use: (item: Item, index: number) => void,
): Promise<void> {
  let index = 0
  for (const item of items) {
    const turn = index > 0 ? yieldToEventLoop() : undefined
    if (turn) await turn
    use(item, index)
    index += 1
  }
}

/**
 * Starts `map` for one item after the other, in slices, with at most `maxPending` results outstanding,
 * and yields the results in the order of the items.
 */
export async function* mapConcurrently<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  maxPending: number,
  map: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const pending: Promise<Result>[] = []
  for await (const item of items) {
    const turn = yieldToEventLoop()
    if (turn) await turn
    pending.push(map(item))
    const first = pending.length === maxPending ? pending.shift() : undefined
    if (first) yield await first
  }
  for (const left of pending) yield await left
}
