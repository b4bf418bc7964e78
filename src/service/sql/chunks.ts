/** Splits long lists into chunks that fit into one SQL statement. */
import type { EngineTraits } from '../../storage/open-database.js'

/** A statement with this many rows takes a millisecond or two, after which other work can run. */
const maxChunk = 256
const maxValues = 1024
const reservedParameters = 8

/**
 * Chunks in order, whose sizes are powers of two, so that batches of any length share a dozen distinct
 * statements and the engine's cache of prepared statements stays small.
 */
export function* splitIntoChunks<Item>(
  items: readonly Item[],
  traits: Pick<EngineTraits, 'maxParameters'>,
  parametersPerItem = 1,
): Generator<readonly Item[]> {
  const values = Math.min(maxValues, traits.maxParameters - reservedParameters)
  const most = Math.floor(values / parametersPerItem)
  let size = largestPowerOfTwo(Math.max(1, Math.min(maxChunk, most)))
  let from = 0
  while (from < items.length) {
    while (size > items.length - from) size /= 2
    yield items.slice(from, from + size)
    from += size
  }
}

/** Runs a query for each chunk and concatenates the rows. */
export async function queryInChunks<Item, Row>(
  items: readonly Item[],
  traits: Pick<EngineTraits, 'maxParameters'>,
  query: (chunk: readonly Item[]) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (const chunk of splitIntoChunks(items, traits)) rows.push(...(await query(chunk)))
  return rows
}

function largestPowerOfTwo(limit: number): number {
  return 2 ** Math.floor(Math.log2(limit))
}
