/**
 * The Merkle tree of RFC 6962, section 2.1, with SHA-256, and its proofs, checked as RFC 9162, sections 2.1.3.2
 * and 2.1.4.2, says. A hash has 32 bytes. Leaves are numbered from 0.
 */
import { sha256 } from './log-entry.js'

/** Of a complete subtree: that of the 2^`level` leaves from number `index` * 2^`level` on. */
export type ReadNode = (level: number, index: number) => Buffer

export const hashBytes = 32

const leafPrefix = Buffer.of(0)
const nodePrefix = Buffer.of(1)

export function hashLeaf(entry: Uint8Array): Buffer {
  return sha256(leafPrefix, entry)
}

export function hashNode(left: Uint8Array, right: Uint8Array): Buffer {
  return sha256(nodePrefix, left, right)
}

/** Of the tree with the first `size` leaves. */
export function computeRoot(size: number, node: ReadNode): Buffer {
  return size === 0 ? sha256() : hashRange(0, size, node)
}

/** Of the leaves from `start` on, `end` excluded; `start` is a multiple of the largest power of 2 in the size. */
function hashRange(start: number, end: number, node: ReadNode): Buffer {
  const size = end - start
  const level = findLevel(size)
  if (level !== undefined) return node(level, start / size)
  const middle = start + largestPowerBelow(size)
  return hashNode(hashRange(start, middle, node), hashRange(middle, end, node))
}

/** `undefined` if the size is no power of 2. */
function findLevel(size: number): number | undefined {
  let level = 0
  while (2 ** level < size) level += 1
  return 2 ** level === size ? level : undefined
}

function largestPowerBelow(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}

/** The hashes that prove that leaf `index` is in the tree of a size, from the leaf up; RFC 6962, section 2.1.1. */
export function proveInclusion(index: number, size: number, node: ReadNode): readonly Buffer[] {
  if (!(index >= 0 && index < size)) {
    throw new RangeError(`leaf ${index} is not in a tree of ${size} leaves`)
  }
  return provePath(index, 0, size, node)
}

function provePath(index: number, start: number, end: number, node: ReadNode): Buffer[] {
  if (end - start === 1) return []
  const middle = start + largestPowerBelow(end - start)
  return index < middle
    ? [...provePath(index, start, middle, node), hashRange(middle, end, node)]
    : [...provePath(index, middle, end, node), hashRange(start, middle, node)]
}

/** The hashes that prove that the tree of `oldSize` leaves is the beginning of a larger one; RFC 6962, section 2.1.2. */
export function proveConsistency(oldSize: number, size: number, node: ReadNode): readonly Buffer[] {
  if (!(oldSize >= 0 && oldSize <= size)) {
    throw new RangeError(`a tree of ${oldSize} leaves is not the beginning of one of ${size}`)
  }
  if (oldSize === 0 || oldSize === size) return []
  return provePrefix({ oldSize, isWhole: true }, 0, size, node)
}

interface Prefix {
  readonly oldSize: number
  /** Whether the part that is looked at is the whole old tree, whose root the verifier knows. */
  readonly isWhole: boolean
}

function provePrefix(prefix: Prefix, start: number, end: number, node: ReadNode): Buffer[] {
  const { oldSize, isWhole } = prefix
  if (oldSize === end) return isWhole ? [] : [hashRange(start, end, node)]
  const middle = start + largestPowerBelow(end - start)
  return oldSize <= middle
    ? [...provePrefix(prefix, start, middle, node), hashRange(middle, end, node)]
    : [
        ...provePrefix({ oldSize, isWhole: false }, middle, end, node),
        hashRange(start, middle, node),
      ]
}

export interface InclusionProof {
  readonly index: number
  readonly size: number
  readonly root: Uint8Array
  readonly path: readonly Uint8Array[]
}

/** Whether a proof shows that the entry with this leaf hash is in the tree. */
export function verifyInclusion(
  leafHash: Uint8Array,
  { index, size, root, path }: InclusionProof,
): boolean {
  if (!isPosition(index) || !isPosition(size) || index >= size) return false
  let hash: Buffer = Buffer.from(leafHash)
  const isWhole = climb(index, size - 1, path, (sibling, isLeft) => {
    hash = isLeft ? hashNode(sibling, hash) : hashNode(hash, sibling)
  })
  return isWhole && hash.equals(root)
}

/**
 * Goes from node `first` of a level, whose last one is `last`, up to the root: `step` gets each sibling of the path, and
 * whether it is the left one. False if the path does not end at the root.
 */
function climb(
  first: number,
  last: number,
  path: readonly Uint8Array[],
  step: (sibling: Uint8Array, isLeft: boolean) => void,
): boolean {
  let [node, end] = [first, last]
  const goUp = () => {
    node = Math.floor(node / 2)
    end = Math.floor(end / 2)
  }
  for (const sibling of path) {
    if (end === 0 || sibling.length !== hashBytes) return false
    const isLeft = node % 2 === 1 || node === end
    step(sibling, isLeft)
    // The last node of a level may have no sibling.
    while (isLeft && node % 2 === 0 && node !== 0) goUp()
    goUp()
  }
  return end === 0
}

export interface TreeHead {
  readonly size: number
  readonly root: Uint8Array
}

/** Whether a proof shows that the old tree is the beginning of the new one. */
export function verifyConsistency(
  old: TreeHead,
  head: TreeHead,
  path: readonly Uint8Array[],
): boolean {
  if (!isPosition(old.size) || !isPosition(head.size) || old.size > head.size) return false
  const oldRoot = Buffer.from(old.root)
  if (old.size === 0) return path.length === 0 && oldRoot.equals(computeRoot(0, noNode))
  if (old.size === head.size) return path.length === 0 && oldRoot.equals(head.root)
  // The root of a whole old tree is not in the proof: the verifier has it.
  const [start, ...rest] = findLevel(old.size) === undefined ? path : [oldRoot, ...path]
  if (start === undefined) return false
  let first = old.size - 1
  let last = head.size - 1
  while (first % 2 === 1) {
    first = Math.floor(first / 2)
    last = Math.floor(last / 2)
  }
  let oldHash: Buffer = Buffer.from(start)
  let newHash: Buffer = oldHash
  const isWhole = climb(first, last, rest, (sibling, isLeft) => {
    if (isLeft) oldHash = hashNode(sibling, oldHash)
    newHash = isLeft ? hashNode(sibling, newHash) : hashNode(newHash, sibling)
  })
  return isWhole && oldHash.equals(oldRoot) && newHash.equals(head.root)
}

const isPosition = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

const noNode: ReadNode = () => {
  throw new RangeError('an empty tree has no nodes')
}
