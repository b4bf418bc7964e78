/** Writes a number list file from any source of containers. */
import { rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { moveIntoPlace } from '../../../runtime/folders.js'
import { verifyCheckedFile, writeCheckedFile } from '../../files/checked-file.js'
import { countEntries } from './containers.js'
import {
  areaCount,
  computeBodyLayout,
  countSlots,
  linesPerPrefix,
  type NumberListHeader,
  type NumberListMeta,
  numberListFile,
  parseNumberListHeader,
  slotsPerBlock,
  toVersion,
} from './number-list-format.js'

/** The file is written in pieces of this many words: 1 MB. */
const pieceWords = 1 << 19

/** The numbers of a list, by prefix. Must not change while being written. */
export interface NumberListContent {
  readonly size: number
  readonly dated: boolean
  /** Returns false for an area code without entries, whose prefixes are then skipped. */
  mayHold(areaCode: number): boolean
  /** Length of a prefix's container; 0 if it is empty. */
  wordsOf(prefix: number): number
  /** The container of a prefix, valid only until the next call. */
  containerOf(prefix: number): Uint16Array
  /** A day per entry, 0 for none; called only for a dated list, and valid only until the next call. */
  daysOf(prefix: number): Uint16Array
}

export interface NumberListWriteOptions {
  readonly content: NumberListContent
  readonly meta: NumberListMeta
  /** Called after the new file is verified, before it replaces the old one; throw to keep the old one. */
  readonly beforeReplace?: (() => void) | undefined
}

/**
 * Writes the list to a temporary file, verifies it, and only then renames it to `path`. If anything
 * fails, an existing file is unchanged. Resolves to the version of the list.
 */
export async function writeNumberList(
  path: string,
  { content, meta, beforeReplace }: NumberListWriteOptions,
): Promise<string> {
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.new`)
  const index = buildIndex(content)
  const { blocks, words } = index
  const { size, dated } = content
  const header = parseNumberListHeader(path, { ...meta, size, dated, blocks, words })
  try {
    const body = writeBody(content, index, header)
    const digest = await writeCheckedFile(aside, numberListFile, { ...header }, body)
    // Opening the list instead would verify no more and need its memory a second time.
    await verifyCheckedFile(aside, digest)
    beforeReplace?.()
    moveIntoPlace(aside, path)
    return toVersion(digest)
  } catch (cause) {
    rmSync(aside, { force: true })
    throw cause
  }
}

interface Index {
  /** Area codes with entries, in ascending order; the n-th has block n + 1. */
  readonly touched: readonly number[]
  readonly areas: Uint16Array
  readonly slots: Uint32Array
  readonly blocks: number
  readonly words: number
}

function buildIndex(content: NumberListContent): Index {
  const touched = Array.from({ length: areaCount }, (_, areaCode) => areaCode).filter((areaCode) =>
    holdsEntries(content, areaCode),
  )
  const areas = new Uint16Array(areaCount)
  const blocks = 1 + touched.length
  const slots = new Uint32Array(countSlots({ blocks }))
  let words = 0
  touched.forEach((areaCode, nth) => {
    areas[areaCode] = nth + 1
    for (let exchange = 0; exchange < slotsPerBlock; exchange += 1) {
      slots[(nth + 1) * slotsPerBlock + exchange] = words
      words += content.wordsOf(areaCode * slotsPerBlock + exchange)
    }
  })
  slots[slots.length - 1] = words
  return { touched, areas, slots, blocks, words }
}

function holdsEntries(content: NumberListContent, areaCode: number): boolean {
  if (!content.mayHold(areaCode)) return false
  const end = (areaCode + 1) * slotsPerBlock
  for (let prefix = areaCode * slotsPerBlock; prefix < end; prefix += 1) {
    if (content.wordsOf(prefix) > 0) return true
  }
  return false
}

function* writeBody(
  content: NumberListContent,
  index: Index,
  header: NumberListHeader,
): Generator<Uint8Array> {
  yield toBytes(index.areas)
  yield toBytes(index.slots)
  const ranks = new Uint32Array(header.dated ? index.slots.length : 0)
  yield* splitIntoPieces(listContainers(content, index, ranks))
  if (!header.dated) return
  if (ranks.at(-1) !== header.size) {
    throw new Error(`${header.name}: ${ranks.at(-1)} entries were written of ${header.size}`)
  }
  yield new Uint8Array(computeBodyLayout(header).padding)
  yield toBytes(ranks)
  yield* splitIntoPieces(listDays(content, index))
}

/** The containers in ascending order; also fills in the count of entries before each slot if requested. */
function* listContainers(
  content: NumberListContent,
  { touched }: Index,
  ranks: Uint32Array,
): Generator<Uint16Array> {
  let entries = 0
  let slot = slotsPerBlock
  for (const prefix of listPrefixes(touched)) {
    if (content.dated) ranks[slot] = entries
    slot += 1
    if (content.wordsOf(prefix) === 0) continue
    const container = content.containerOf(prefix)
    if (content.dated) entries += countEntries(container)
    yield container
  }
  if (content.dated) ranks[slot] = entries
}

function* listDays(content: NumberListContent, { touched }: Index): Generator<Uint16Array> {
  for (const prefix of listPrefixes(touched)) {
    if (content.wordsOf(prefix) > 0) yield content.daysOf(prefix)
  }
}

function* listPrefixes(areaCodes: readonly number[]): Generator<number> {
  for (const areaCode of areaCodes) {
    const end = (areaCode + 1) * slotsPerBlock
    for (let prefix = areaCode * slotsPerBlock; prefix < end; prefix += 1) yield prefix
  }
}

/** Pieces share one buffer, so each must be consumed before the next is requested. */
function* splitIntoPieces(parts: Iterable<Uint16Array>): Generator<Uint8Array> {
  const piece = new Uint16Array(pieceWords + linesPerPrefix)
  let used = 0
  for (const part of parts) {
    piece.set(part, used)
    used += part.length
    if (used >= pieceWords) {
      yield toBytes(piece.subarray(0, used))
      used = 0
    }
  }
  yield toBytes(piece.subarray(0, used))
}

function toBytes(words: Uint16Array | Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}
