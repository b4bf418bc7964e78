/**
 * Takes a number out of the records of a segment. A record keeps its place, its sequence number and its
 * length, so that the index stays right, and gets another salt. The segment is replaced as a whole.
 */
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { moveIntoPlace } from '../../../runtime/folders.js'
import type { DecisionDocument, FindingDocument } from '../../decision-document.js'
import { chunkBytes, type PlacedRecord } from '../journal-reader.js'
import { compressSegment, isCompressed, SegmentFile, writeAt } from '../segment-file.js'
import {
  checksumSeedOf,
  decodeFrame,
  headerBytes,
  type JournalRecord,
  withBody,
} from '../segment-format.js'

export interface NumberErasure {
  /** Ten digits. */
  readonly number: string
  /** `undefined` for all accounts. */
  readonly accountId: string | undefined
  /** Also in decisions that allowed a call. */
  readonly includesAllowed: boolean
}

/** Erases one number from the bodies of records. */
export class NumberEraser {
  readonly #erasure: NumberErasure
  readonly #pattern: RegExp
  readonly #erased = new Set<string>()
  readonly #kept = new Set<string>()

  constructor(erasure: NumberErasure) {
    this.#erasure = erasure
    this.#pattern = numberPattern(erasure.number)
  }

  get number(): string {
    return this.#erasure.number
  }

  /** Decisions that had the number so far; those already without it are not counted. */
  get counts(): { readonly erased: number; readonly kept: number } {
    return { erased: this.#erased.size, kept: this.#kept.size }
  }

  mayHaveNumber(bytes: Buffer): boolean {
    return this.#pattern.test(bytes.toString('latin1'))
  }

  /** The same bytes, with an `x` for each digit of the number, also where they are no record. */
  eraseText(bytes: Buffer): Buffer {
    const text = bytes.toString('latin1')
    return Buffer.from(
      text.replace(new RegExp(this.#pattern, 'g'), (found) => found.replace(/\d/g, 'x')),
      'latin1',
    )
  }

  /** The body without the number, in as many bytes; `undefined` if it stays as it is. */
  eraseDecision(body: Buffer): Buffer | undefined {
    if (!this.mayHaveNumber(body)) return undefined
    const { number, accountId, includesAllowed } = this.#erasure
    const document: DecisionDocument = JSON.parse(body.toString())
    if (accountId !== undefined && document.accountId !== accountId) return undefined
    // A what-if is no call.
    if (document.decision === 'allow' && !document.whatIf && !includesAllowed) {
      this.#kept.add(document.id)
      return undefined
    }
    this.#erased.add(document.id)
    const isDialed = document.number === number || this.mayHaveNumber(Buffer.from(document.dialed))
    return this.eraseText(isDialed ? withoutCalledPerson(document, body.length) : body)
  }

  /** As {@link NumberEraser.eraseDecision}, for a record of any kind. */
  eraseRecord({ kind, body }: JournalRecord): Buffer | undefined {
    if (kind === 'decision' || kind === 'amendment') return this.eraseDecision(body)
    const isOfAccount = kind === 'audit' || kind === 'receipt'
    if (!isOfAccount && kind !== 'outcome') return undefined
    if (!this.mayHaveNumber(body)) return undefined
    const { accountId } = this.#erasure
    if (isOfAccount && accountId !== undefined && readAccountId(body) !== accountId)
      return undefined
    return this.eraseText(body)
  }
}

function readAccountId(body: Buffer): string {
  const { accountId }: { readonly accountId: string } = JSON.parse(body.toString())
  return accountId
}

/** As it is dialed or written, in UTF-8 read as Latin-1; not within a longer number or an id. */
function numberPattern(number: string): RegExp {
  const separators = '[\\s().+/\\xc2-]{0,4}'
  const digits = [...number].join(separators)
  return new RegExp(`(?<![0-9A-Za-z])(?:1${separators})?${digits}(?![0-9A-Za-z])`)
}

/** What was dialed may have more digits than the number. White space at the end is no part of the JSON. */
function withoutCalledPerson(document: DecisionDocument, length: number): Buffer {
  const { dial, reference, personId, postalCode, subject, ...more } = document
  const kept = { ...more, findings: document.findings.map(withoutFacts) }
  const body = Buffer.alloc(length, ' ')
  const marked = Buffer.from(
    JSON.stringify({ ...kept, number: '', dialed: '', erased: true }, removeLinks),
  )
  // Without room for the mark, as after an unusual number, the record is erased all the same.
  const text =
    marked.length <= length
      ? marked
      : Buffer.from(JSON.stringify({ ...kept, number: '', dialed: '' }, removeLinks))
  text.copy(body)
  return body
}

/** Places, consents and opt-outs of the person. */
function withoutFacts({ facts, parts, ...finding }: FindingDocument): FindingDocument {
  return finding
}

/**
 * A replacer of JSON. Rows that the law has kept, which have the number, could be found by the id of a consent and by the time
 * of an opt-out: takes out the one, and leaves the day of the other.
 */
function removeLinks(name: string, value: unknown): unknown {
  if ((name !== 'detail' && name !== 'message') || typeof value !== 'string') return value
  return value
    .replace(/\bconsent c\d+\b/g, 'consent')
    .replace(/\b(\d{4}-\d\d-\d\d)T[\d:.]+Z/g, '$1')
}

/**
 * Nothing may be written to the segment anymore. Replaces it, in the form that it has, if it has the number; before
 * that, `onChange` gets the records that are changed, as they will be.
 */
export function eraseFromSegment(
  path: string,
  firstSeq: number,
  eraser: NumberEraser,
  onChange: (records: readonly PlacedRecord[]) => void = () => undefined,
): void {
  const source = new SegmentFile(path)
  const aside = `${path.replace(/\.gz$/, '')}.erased`
  let target: number | undefined
  const changed: PlacedRecord[] = []
  try {
    for (let offset = 0, end = 0; ; offset = end) {
      const chunk = source.read(offset, chunkBytes)
      if (chunk.length === 0) break
      const part = eraseFromChunk(chunk, { start: offset, firstSeq, eraser, changed })
      end = offset + part.bytes.length
      if (part.isChanged) target ??= copyStart(source, aside, offset)
      if (target !== undefined) writeAt(target, part.bytes, offset)
    }
    if (target !== undefined) fsyncSync(target)
  } finally {
    source.close()
    if (target !== undefined) closeSync(target)
  }
  if (target === undefined) return
  onChange(changed)
  replaceSegment(path, aside)
}

/** After a crash while it was compressed there may be both forms, and the other one has the number too. */
function replaceSegment(path: string, aside: string): void {
  if (isCompressed(path)) compressSegment(aside, path)
  else {
    rmSync(`${path}.gz`, { force: true })
    moveIntoPlace(aside, path)
  }
}

/** Returns the file, with the bytes up to an offset in it. */
function copyStart(source: SegmentFile, aside: string, end: number): number {
  const target = openSync(aside, 'w', 0o600)
  for (let offset = 0; offset < end; ) {
    offset += writeAt(target, source.read(offset, Math.min(chunkBytes, end - offset)), offset)
  }
  return target
}

interface ChunkContext {
  /** Where it begins in the segment; the first one has the header. */
  readonly start: number
  readonly firstSeq: number
  readonly eraser: NumberEraser
  /** Gets the records that are changed. */
  readonly changed: PlacedRecord[]
}

/**
 * The whole records of a chunk, without the number. Bytes that are no record, as an unfinished write or
 * damage left them, are searched as text.
 */
function eraseFromChunk(
  chunk: Buffer,
  { start, firstSeq, eraser, changed }: ChunkContext,
): { readonly bytes: Buffer; readonly isChanged: boolean } {
  const checksumSeed = checksumSeedOf(firstSeq)
  const mayHaveNumber = eraser.mayHaveNumber(chunk)
  const bytes = mayHaveNumber ? Buffer.from(chunk) : chunk
  let isChanged = false
  const replace = (content: Buffer, offset: number) => {
    if (content.equals(bytes.subarray(offset, offset + content.length))) return
    content.copy(bytes, offset)
    isChanged = true
  }
  let end = start === 0 ? headerBytes : 0
  for (let offset = end; offset < chunk.length; ) {
    const frame = decodeFrame(chunk, offset, checksumSeed)
    if (frame === undefined) {
      offset += 8
      continue
    }
    if (mayHaveNumber) {
      replace(eraser.eraseText(bytes.subarray(end, offset)), end)
      const body = eraser.eraseRecord(frame.record)
      if (body && !body.equals(frame.record.body)) {
        changed.push({ ...frame.record, body, segment: firstSeq, offset: start + offset })
        replace(withBody(chunk.subarray(offset, frame.end), body, checksumSeed), offset)
      }
    }
    end = frame.end
    offset = frame.end
  }
  // A record that ends in the next chunk begins after the last whole one. There is none in half a chunk.
  if (chunk.length === chunkBytes && end > chunkBytes / 2)
    return { bytes: bytes.subarray(0, end), isChanged }
  if (mayHaveNumber) replace(eraser.eraseText(bytes.subarray(end)), end)
  return { bytes, isChanged }
}
