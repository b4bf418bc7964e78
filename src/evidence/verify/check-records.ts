/** Compares the records of a journal with the entries of its tree. */
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorCode, getErrorMessage } from '../../errors.js'
import { readBeginning } from '../../gate/journal/journal-beginning.js'
import { chunkBytes, listSegments, type Segment } from '../../gate/journal/journal-reader.js'
import { LastGroup } from '../../gate/journal/recovery/sealed-groups.js'
import { openSegmentFile, type SegmentFile } from '../../gate/journal/segment-file.js'
import {
  checksumSeedOf,
  decodeFrame,
  decodeHeader,
  decodeSeal,
  headerBytes,
  type StoredRecord,
} from '../../gate/journal/segment-format.js'
import type { TreeReader } from '../../gate/journal/tree/tree-files.js'
import {
  commitTo,
  decodeEntry,
  isPersonErased,
  type LogEntry,
  recordKinds,
} from '../../transparency/log-entry.js'
import type { SeqRange } from '../../transparency/range-proof.js'
import { ErasureNotices } from '../../transparency/removal-notices.js'
import { later, RemovalCheck } from './check-removals.js'
import type { SeenHead, TimeCheck } from './check-times.js'
import type { Findings } from './findings.js'
import type { FormerNames } from './former-names.js'
import { type Note, parseNote } from './parse-note.js'

export interface RecordCounts {
  /** Records that are as they were signed. */
  readonly proven: number
  /** Without a number that was erased, as a notice says. */
  readonly erased: number
  /** Removed after their time, as a notice says; their entries are in the tree. */
  readonly removed: number
  /** On disk after the newest checkpoint. */
  readonly unsigned: number
  /** There once more, with the same content; each is counted once above. */
  readonly copies: number
}

export interface CheckedRecords {
  readonly counts: RecordCounts
  /** The names that the journal had before. */
  readonly names: FormerNames
  /** Whether an erasure may be going on. */
  readonly isErasing: boolean
}

interface JournalToCheck {
  readonly folder: string
  /** Of the newest checkpoint. */
  readonly reader: TreeReader
  readonly seen: readonly SeenHead[]
  readonly times: TimeCheck
  /** When the checkpoint was read. */
  readonly now: Instant
}

/** A checkpoint follows within ten seconds. */
const longestUnsignedMs = 60_000

interface ChangedRecord {
  readonly seq: number
  readonly commitment: Buffer
  readonly place: string
}

class RecordCheck {
  readonly #journal: JournalToCheck
  readonly #findings: Findings
  readonly #removals: RemovalCheck
  /** What signed records say, and what all say. */
  readonly #signedNotices = new ErasureNotices()
  readonly #allNotices = new ErasureNotices()
  /** Not as they were signed, unless a notice says so. */
  readonly #changed: ChangedRecord[] = []
  #names: FormerNames = { signed: [], recorded: [] }
  /** Whether a signed record of a start was read. */
  #isStarted = false
  #proven = 0
  #unsigned = 0
  #copies = 0
  /** The first and the last one that should have been signed. */
  #late: SeqRange | undefined
  /** Number of the first record that is there; `undefined` before it was read. */
  #firstSeq: number | undefined
  #nextSeq = 1

  constructor(journal: JournalToCheck, findings: Findings) {
    this.#journal = journal
    this.#findings = findings
    this.#removals = new RemovalCheck(journal.reader)
  }

  get nextSeq(): number {
    return this.#nextSeq
  }

  /** What the journal does not have is one finding; goes on after it. What is missing at the beginning may have been removed. */
  skipTo(seq: number, why: string): void {
    if (this.#firstSeq === undefined) this.passRemoved(seq)
    if (seq <= this.#nextSeq) return
    this.#findings.add('false', why, [this.#nextSeq, seq - 1])
    this.#nextSeq = seq
  }

  /** Retention has removed the records up to this one. */
  passRemoved(seq: number): void {
    this.#firstSeq = Math.max(this.#firstSeq ?? 1, seq)
    this.#nextSeq = Math.max(this.#nextSeq, seq)
  }

  add(record: StoredRecord, place: string): void {
    const { seq, at } = record
    // A journal may begin within a segment that retention has not removed yet.
    if (seq < this.#nextSeq) return
    this.#nextSeq = seq + 1
    if (seq > this.#journal.reader.size) {
      this.#addUnsigned(record)
      return
    }
    const entry = this.#readEntry(seq)
    // It is a finding of the tiles.
    if (entry === 'unreadable') return
    const wrong = compareEntry(record, entry)
    if (wrong !== undefined) {
      this.#findings.add('false', `record ${seq}, ${place}: ${wrong}`, [seq, seq])
      return
    }
    this.#journal.times.add(record)
    const commitment = commitTo(record.salt, record.body)
    if (entry?.commitment.equals(commitment) !== true || isPersonErased(record.body)) {
      this.#changed.push({ seq, place, commitment })
      return
    }
    this.#proven += 1
    this.#removals.addTime(seq, at)
    this.#readNote(record, true)
  }

  addCopy(): void {
    this.#copies += 1
  }

  #addUnsigned(record: StoredRecord): void {
    const { seq, at } = record
    this.#unsigned += 1
    this.#journal.times.add(record)
    if (at < this.#journal.now - longestUnsignedMs) this.#late = [this.#late?.[0] ?? seq, seq]
    this.#readNote(record, false)
  }

  #readEntry(seq: number): LogEntry | 'unreadable' | undefined {
    try {
      return decodeEntry(this.#journal.reader.readEntry(seq - 1))
    } catch {
      return 'unreadable'
    }
  }

  #readNote({ seq, kind, at, body }: StoredRecord, isSigned: boolean): void {
    if (kind !== 'notice' && kind !== 'opened' && kind !== 'erasure') return
    const note = parseNote(kind, body)
    if (note === undefined) {
      this.#findings.add('false', `record ${seq} is no ${kind}`, [seq, seq])
      return
    }
    const lists = isSigned ? [this.#signedNotices, this.#allNotices] : [this.#allNotices]
    for (const list of lists) {
      if (kind === 'erasure') list.addRequest(seq, note)
      else if (kind === 'notice') list.addNotice(seq, note)
      else list.addStart()
    }
    if (kind === 'opened') this.#addStart(seq, note, isSigned)
    else if (kind === 'notice' && note.removal) {
      if (isSigned) this.#removals.addSigned(seq, at, note.removal)
      else this.#removals.addUnsigned(note.removal)
    }
  }

  #addStart(seq: number, { formerOrigins, keepYears }: Note, isSigned: boolean): void {
    if (!isSigned) {
      this.#names = { ...this.#names, recorded: formerOrigins }
      return
    }
    const { signed } = this.#names
    const added = formerOrigins.slice(signed.length)
    // Without a record of the start before, that of the first start under the name may have been removed.
    const removed = this.#isStarted ? 0 : (this.#firstSeq ?? 1) - 1
    const isNext =
      JSON.stringify(formerOrigins.slice(0, signed.length)) === JSON.stringify(signed) &&
      added.every(({ size }) => size === seq - 1 || (size > 0 && size <= removed))
    if (!isNext) {
      const rule = 'do not go on from those that the start before it names'
      this.#findings.add('false', `record ${seq}: the former names of the journal ${rule}`, [
        seq,
        seq,
      ])
    }
    this.#isStarted = true
    this.#names = { signed: formerOrigins, recorded: formerOrigins }
    this.#removals.addStart(keepYears)
  }

  finish(copiedBeginning: number): CheckedRecords {
    const { reader, times, seen, now } = this.#journal
    times.finish()
    if (this.#nextSeq <= reader.size) {
      const rule = `the journal ends with record ${this.#nextSeq - 1}, but ${reader.size} were signed`
      this.#findings.add('false', rule, [this.#nextSeq, reader.size])
    }
    const firstSeq = this.#firstSeq ?? 1
    this.#removals.finish({ firstSeq, copied: copiedBeginning, seen, now }, this.#findings)
    let erased = 0
    for (const { seq, place, commitment } of this.#changed) {
      const why = `record ${seq}, ${place}: its body is not the one that was signed`
      if (this.#signedNotices.find(seq, commitment) !== undefined) erased += 1
      else if (this.#allNotices.find(seq, commitment) !== undefined) {
        const rule = `an erasure has changed it, but no notice of that is signed. ${later}`
        this.#findings.add('unchecked', `${why}; ${rule}`, [seq, seq])
      } else this.#findings.add('false', why, [seq, seq])
    }
    if (this.#late) {
      const rule = 'are not signed, though a checkpoint is signed every ten seconds'
      const advice = 'Start the server if it is stopped, and verify again'
      this.#findings.add(
        'unchecked',
        `records of more than a minute ago ${rule}. ${advice}`,
        this.#late,
      )
    }
    const removed = firstSeq - 1
    const counts = {
      proven: this.#proven,
      erased,
      removed,
      unsigned: this.#unsigned,
      copies: this.#copies,
    }
    const { isErasing } = this.#allNotices
    return { counts, names: this.#names, isErasing }
  }
}

/** What no erasure changes. */
function compareEntry(
  { seq, kind, at }: StoredRecord,
  entry: LogEntry | undefined,
): string | undefined {
  if (entry === undefined) return 'its entry in the tree says nothing'
  if (entry.seq !== seq) return `its entry in the tree is that of record ${entry.seq}`
  if (entry.kind !== recordKinds[kind]) return `it was signed as another kind than ${kind}`
  return entry.at === at ? undefined : 'it was signed with another time'
}

export function checkRecords(journal: JournalToCheck, findings: Findings): CheckedRecords {
  const { folder } = journal
  const check = new RecordCheck(journal, findings)
  for (let done: Segment | undefined; ; ) {
    // Another one may have been begun, and the oldest ones removed.
    const segments = listSegments(folder)
    const index = segments.findIndex(({ firstSeq }) => firstSeq > (done?.firstSeq ?? 0))
    const segment = segments[index]
    if (segment === undefined) break
    checkSegment({ folder, segment, next: segments[index + 1] }, check, findings)
    done = segment
  }
  // Retention writes it before it removes anything.
  return check.finish(readCopiedBeginning(folder, findings))
}

function readCopiedBeginning(folder: string, findings: Findings): number {
  try {
    return readBeginning(folder).firstSeq
  } catch (cause) {
    findings.add('false', getErrorMessage(cause))
    return 1
  }
}

interface SegmentToCheck {
  readonly folder: string
  readonly segment: Segment
  readonly next: Segment | undefined
}

function checkSegment(
  { folder, segment, next }: SegmentToCheck,
  check: RecordCheck,
  findings: Findings,
): void {
  const { path, firstSeq } = segment
  if (firstSeq < check.nextSeq && next !== undefined && next.firstSeq <= check.nextSeq) return
  check.skipTo(firstSeq, `records before ${path} are missing`)
  let file: SegmentFile | undefined
  try {
    file = openSegment(folder, segment)
    if (file) readSegment({ segment, file, next }, check)
    else check.passRemoved(next?.firstSeq ?? firstSeq)
  } catch (cause) {
    if (!(cause instanceof DataFileError) && getErrorCode(cause) === undefined) throw cause
    findings.add('false', getErrorMessage(cause), [
      check.nextSeq,
      (next?.firstSeq ?? check.nextSeq + 1) - 1,
    ])
    if (next) check.skipTo(next.firstSeq, `the rest of ${path} cannot be read`)
  } finally {
    file?.close()
  }
}

/** `undefined` if it was removed after its time. */
function openSegment(folder: string, { path, firstSeq }: Segment): SegmentFile | undefined {
  try {
    return openSegmentFile(path).file
  } catch (cause) {
    if (getErrorCode(cause) !== 'ENOENT') throw cause
  }
  if (readBeginning(folder).firstSeq > firstSeq) return undefined
  throw new DataFileError(path, 'the segment is missing')
}

interface OpenSegment {
  readonly segment: Segment
  readonly file: SegmentFile
  readonly next: Segment | undefined
}

/** After a write that failed, what a segment holds from the first record of the next one on is void. */
function readSegment({ segment, file, next }: OpenSegment, check: RecordCheck): void {
  const { path, firstSeq } = segment
  const header = decodeHeader(file.read(0, headerBytes))
  if (header === undefined && next === undefined) return
  if (header?.firstSeq !== firstSeq) {
    throw new DataFileError(path, 'its header is damaged, or that of another segment')
  }
  const checksumSeed = checksumSeedOf(firstSeq)
  const end = next?.firstSeq ?? Number.MAX_SAFE_INTEGER
  const last = new LastGroup()
  let offset = headerBytes
  let expected = firstSeq
  /** The records of a chunk; gives the bytes that they take. */
  const addChunk = (bytes: Buffer): number => {
    let used = 0
    while (expected < end) {
      const seal = decodeSeal(bytes, used, checksumSeed)
      const frame = seal ? undefined : decodeFrame(bytes, used, checksumSeed)
      const taken = frame && last.take(frame.record, expected)
      if (frame && taken === 'next') {
        check.add(frame.record, `${path} at byte ${offset + used}`)
        expected += 1
      } else if (taken === 'copy') check.addCopy()
      else if (seal) last.end()
      else break
      used = seal?.end ?? frame?.end ?? used
    }
    return used
  }
  while (expected < end) {
    const bytes = file.read(offset, chunkBytes)
    let used = addChunk(bytes)
    // What is missing before the next segment is found with that.
    if (bytes.length === 0) return
    if (used === 0 && next === undefined && !hasRecordAfter(file, offset, checksumSeed)) return
    // What was being written may be whole by now.
    if (used === 0) used = addChunk(file.read(offset, chunkBytes))
    if (used === 0)
      throw new DataFileError(path, `record ${expected} cannot be read, at byte ${offset}`)
    offset += used
  }
}

/** Whether whole records follow what cannot be read, so that it is no unfinished write. */
function hasRecordAfter(file: SegmentFile, offset: number, checksumSeed: number): boolean {
  const bytes = file.read(offset, chunkBytes)
  for (let at = 8; at < bytes.length; at += 8) {
    if (decodeFrame(bytes, at, checksumSeed) !== undefined) return true
  }
  return false
}
