/** Splits long lists into pieces one SQL statement can carry. */
import type { EngineTraits } from '../../storage/engine.js'

/** A statement of so many rows or values takes a millisecond or two, after which others get their turn. */
const maxChunk = 256
const maxValues = 1024
const otherParameters = 8

/**
 * Pieces in order whose sizes are powers of two, so that batches of any length share a dozen
 * distinct statements and the engine's cache of prepared statements stays small.
 */
export function* chunksOf<Item>(
  items: readonly Item[],
  traits: Pick<EngineTraits, 'maxParameters'>,
  parametersPerItem = 1,
): Generator<readonly Item[]> {
  const values = Math.min(maxValues, traits.maxParameters - otherParameters)
  const most = Math.floor(values / parametersPerItem)
  let size = powerOfTwoWithin(Math.max(1, Math.min(maxChunk, most)))
  let from = 0
  while (from < items.length) {
    while (size > items.length - from) size /= 2
    yield items.slice(from, from + size)
    from += size
  }
}

function powerOfTwoWithin(limit: number): number {
  return 2 ** Math.floor(Math.log2(limit))
}
