/** Writes a number list file, whatever its numbers are held in. */
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

/** The numbers of a list, by prefix. They must not change while they are written. */
export interface NumberListContent {
  readonly size: number
  readonly dated: boolean
  /** False for an area code without any entry; saves looking at each of its prefixes. */
  mayHold(areaCode: number): boolean
  /** Length of a prefix's container; 0 when it holds nothing. */
  wordsOf(prefix: number): number
  /** Only good until the next one is asked for. */
  containerOf(prefix: number): Uint16Array
  /** A day for each entry, 0 for none; only asked of a dated list, and good as long. */
  daysOf(prefix: number): Uint16Array
}

export interface NumberListWriteOptions {
  readonly content: NumberListContent
  readonly meta: NumberListMeta
  /** Called when the new file is verified and the old one still in place; may throw to keep it. */
  readonly beforeReplace?: (() => void) | undefined
}

/**
 * Writes the list aside, reads it back, and only then puts it in the place of `path`. Whatever
 * goes wrong, an older file stays as it was. Gives the version of the list.
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
    // Opening the list would prove no more and take its memory a second time.
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
  /** Area codes that hold an entry, rising: the n-th has block n + 1. */
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

/** The containers, rising; fills in how many entries lie before each slot when that is asked. */
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

/** Pieces share one buffer: each must be done with before the next is asked for. */
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
