/**
 * Long work in slices. The thread that works on lists of numbers also decides calls, so a list must
 * not hold the event loop from its first number to its last.
 */
import { monotonicSeconds } from './runtime.js'

/** A call may be held up for 10 ms; a piece of work runs over, and garbage is collected now and then. */
const maxSliceSeconds = 0.003

let sliceStartedAt = Number.NEGATIVE_INFINITY
const waitingTurns: (() => void)[] = []

/**
 * To be called between pieces of long work, and awaited when it gives a promise: all work that calls
 * it has then held the event loop for 3 ms, and other work gets its turn. `undefined` means go on. Of
 * several long works one is resumed in each turn of the event loop, so many together hold it no
 * longer than one.
 */
export function yieldToEventLoop(): Promise<void> | undefined {
  return monotonicSeconds() - sliceStartedAt < maxSliceSeconds ? undefined : waitForNextTurn()
}

/** To be awaited before a piece that takes milliseconds and cannot be divided: it begins a slice. */
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

/** Items of a list that are processed in one go: well below a millisecond. */
const maxUnslicedItems = 1_000

/** `items.map(map)`, of a long list in slices. */
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
