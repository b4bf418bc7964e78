/** One proof for many entries of a tree: the hashes of the largest subtrees without any of them, from left to right. */
import { hashNode, type ReadNode } from './merkle-tree.js'

/** First and last index of consecutive leaves. */
export type LeafRange = readonly [first: number, last: number]

/** First and last number of consecutive records: one more than those of their leaves. */
export type SeqRange = LeafRange

/** The first range that ends at a leaf or after it. Ranges are in order and do not overlap. */
export function findRange(ranges: readonly LeafRange[], leaf: number): number {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ranges[middle]?.[1] ?? 0) < leaf) low = middle + 1
    else high = middle
  }
  return low
}

/** Of the leaves from `start` on and before `end`. */
function firstWithin(
  ranges: readonly LeafRange[],
  start: number,
  end: number,
): LeafRange | undefined {
  const found = ranges[findRange(ranges, start)]
  return found !== undefined && found[0] < end ? found : undefined
}

/** Ranges are in order and do not overlap. */
export function proveRanges(
  ranges: readonly LeafRange[],
  size: number,
  subtree: (start: number, end: number) => Buffer,
): readonly Buffer[] {
  const hashes: Buffer[] = []
  const visit = (start: number, end: number): void => {
    const found = firstWithin(ranges, start, end)
    if (found === undefined) hashes.push(subtree(start, end))
    else if (found[0] > start || found[1] < end - 1) {
      const middle = split(start, end)
      visit(start, middle)
      visit(middle, end)
    }
  }
  visit(0, size)
  return hashes
}

/** The root that follows from the leaves of the ranges and the hashes of a proof; `undefined` if they do not fit. */
export function rootOfRanges(
  ranges: readonly LeafRange[],
  size: number,
  leafHash: (index: number) => Buffer,
  proof: readonly Buffer[],
): Buffer | undefined {
  let used = 0
  const visit = (start: number, end: number): Buffer | undefined => {
    if (firstWithin(ranges, start, end) === undefined) return proof[used++]
    if (end - start === 1) return leafHash(start)
    const middle = split(start, end)
    const left = visit(start, middle)
    const right = visit(middle, end)
    return left && right && hashNode(left, right)
  }
  const root = size > 0 ? visit(0, size) : undefined
  return used === proof.length ? root : undefined
}

/** The root of any subtree that the tree of a size splits into. */
export function hashSubtree(start: number, end: number, node: ReadNode): Buffer {
  const width = end - start
  const level = Math.log2(width)
  if (Number.isInteger(level)) return node(level, start / width)
  const middle = split(start, end)
  return hashNode(hashSubtree(start, middle, node), hashSubtree(middle, end, node))
}

function split(start: number, end: number): number {
  let power = 1
  while (power * 2 < end - start) power *= 2
  return start + power
}
