/** Compares the records of a journal with the entries of its tree. */
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorCode, getErrorMessage } from '../../errors.js'
import {
  type FormerOrigin,
  type JournalBeginning,
  readBeginning,
} from '../../gate/journal/journal-beginning.js'
import { chunkBytes, listSegments, type Segment } from '../../gate/journal/journal-reader.js'
import {
  type ErasureNotice,
  listChangedRecords,
  type SeqRange,
} from '../../gate/journal/removal/changed-records.js'
import { SegmentFile } from '../../gate/journal/segment-file.js'
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
  type LogEntry,
  recordKinds,
  unknownKind,
} from '../../transparency/log-entry.js'
import type { TimeCheck } from './check-times.js'
import type { Findings } from './findings.js'
import type { FormerNames } from './former-names.js'

export interface RecordCounts {
  /** Records that are as they were signed. */
  readonly proven: number
  /** Without a number that was erased, as a notice says. */
  readonly erased: number
  /** Removed after their time, as a notice says; their entries are in the tree. */
  readonly removed: number
  /** On disk after the newest checkpoint. */
  readonly unsigned: number
}

export interface CheckedRecords {
  readonly counts: RecordCounts
  /** The names that the journal had before. */
  readonly names: FormerNames
}

interface JournalToCheck {
  readonly folder: string
  /** Of the newest checkpoint. */
  readonly reader: TreeReader
  readonly beginning: JournalBeginning
  readonly times: TimeCheck
  /** When the checkpoint was read. */
  readonly now: Instant
}

/** What a signed notice, and the record of a start, says about other records. */
type Note = Partial<ErasureNotice & JournalBeginning> & {
  readonly formerOrigins?: readonly FormerOrigin[]
}

/** A checkpoint follows within ten seconds. */
const longestUnsignedMs = 60_000

/** What is known of a notice: which records it is about, and its own number. Only a signed one proves anything. */
interface NotedRange {
  readonly seq: number
  readonly range: SeqRange
  readonly isSigned: boolean
}

class RecordCheck {
  readonly #reader: TreeReader
  readonly #times: TimeCheck
  readonly #now: Instant
  readonly #findings: Findings
  readonly #notes: NotedRange[] = []
  /** What erasures were changing while the records were read. */
  readonly #pending: SeqRange[] = []
  /** Records up to these, excluded, were removed, as the journal says in a record that is signed, or in any. */
  #signedBeginning = 1
  #notedBeginning = 1
  /** Not as they were signed, until a notice says why. */
  readonly #changed: { readonly seq: number; readonly place: string; readonly why: string }[] = []
  #names: FormerNames = { signed: [], recorded: [] }
  #proven = 0
  #unsigned = 0
  /** The first and the last one that should have been signed. */
  #late: SeqRange | undefined
  #nextSeq: number

  constructor({ reader, beginning, times, now }: JournalToCheck, findings: Findings) {
    this.#reader = reader
    this.#times = times
    this.#now = now
    this.#findings = findings
    this.#nextSeq = beginning.firstSeq
  }

  get nextSeq(): number {
    return this.#nextSeq
  }

  /** What the journal does not have is one finding; goes on after it. */
  skipTo(seq: number, why: string): void {
    if (seq <= this.#nextSeq) return
    this.#findings.add('false', why, [this.#nextSeq, seq - 1])
    this.#nextSeq = seq
  }

  passRemoved(seq: number): void {
    this.#nextSeq = Math.max(this.#nextSeq, seq)
  }

  add(record: StoredRecord, place: string): void {
    this.#nextSeq = record.seq + 1
    if (record.seq > this.#reader.size) {
      this.#addUnsigned(record)
      return
    }
    const wrong = this.#compareEntry(record)
    if (wrong !== undefined) {
      this.#findings.add('false', `record ${record.seq}, ${place}: ${wrong}`, [
        record.seq,
        record.seq,
      ])
      return
    }
    this.#times.add(record)
    const why = this.#compareBody(record)
    if (why !== undefined) {
      this.#changed.push({ seq: record.seq, place, why })
      return
    }
    this.#proven += 1
    this.#readNote(record, true)
  }

  /** Whether a record that was there before is there once more, byte for byte. */
  isCopy(record: StoredRecord): boolean {
    if (record.seq >= this.#nextSeq || record.seq > this.#reader.size) return false
    return this.#compareEntry(record) === undefined && this.#compareBody(record) === undefined
  }

  #addUnsigned(record: StoredRecord): void {
    const { seq, at } = record
    this.#unsigned += 1
    this.#times.add(record)
    if (at < this.#now - longestUnsignedMs) this.#late = [this.#late?.[0] ?? seq, seq]
    this.#readNote(record, false)
  }

  #readEntry(seq: number): LogEntry | 'unreadable' | undefined {
    try {
      return decodeEntry(this.#reader.readEntry(seq - 1))
    } catch {
      // It is a finding of the tiles.
      return 'unreadable'
    }
  }

  /** What no erasure changes. */
  #compareEntry({ seq, kind, at }: StoredRecord): string | undefined {
    const entry = this.#readEntry(seq)
    if (entry === 'unreadable') return undefined
    if (entry === undefined || entry.kind === unknownKind)
      return 'its entry in the tree says nothing'
    if (entry.seq !== seq) return `its entry in the tree is that of record ${entry.seq}`
    if (entry.kind !== recordKinds[kind]) return `it was signed as another kind than ${kind}`
    return entry.at === at ? undefined : 'it was signed with another time'
  }

  #compareBody({ seq, salt, body }: StoredRecord): string | undefined {
    const entry = this.#readEntry(seq)
    if (entry === undefined || entry === 'unreadable') return undefined
    return commitTo(salt, body).equals(entry.commitment)
      ? undefined
      : 'its body is not the one that was signed'
  }

  #readNote({ seq, kind, body }: StoredRecord, isSigned: boolean): void {
    if (kind !== 'notice' && kind !== 'opened') return
    const note = parseNote(body)
    if (note === undefined) {
      this.#findings.add('false', `record ${seq} is no ${kind}`, [seq, seq])
      return
    }
    const { changed = [], firstSeq = 1, formerOrigins = [] } = note
    for (const range of changed) this.#notes.push({ seq, range, isSigned })
    if (isSigned) {
      this.#signedBeginning = Math.max(this.#signedBeginning, firstSeq)
    }
    if (kind === 'opened') {
      this.#names = {
        signed: isSigned ? formerOrigins : this.#names.signed,
        recorded: formerOrigins,
      }
    }
    this.#notedBeginning = Math.max(this.#notedBeginning, firstSeq)
  }

  /** A record may only be found changed while this has it, or its notice is in the journal. */
  addPending(notices: readonly ErasureNotice[]): void {
    for (const { changed } of notices) this.#pending.push(...changed)
  }

  finish(beginning: JournalBeginning): CheckedRecords {
    this.#times.finish()
    if (this.#nextSeq <= this.#reader.size) {
      const rule = `the journal ends with record ${this.#nextSeq - 1}, but ${this.#reader.size} were signed`
      this.#findings.add('false', rule, [this.#nextSeq, this.#reader.size])
    }
    const removed = beginning.firstSeq - 1
    this.#checkBeginning(beginning)
    let erased = 0
    for (const { seq, place, why } of this.#changed) {
      const notes = this.#notes.filter((note) => note.seq > seq && includes(note.range, seq))
      if (notes.some(({ isSigned }) => isSigned)) erased += 1
      else if (notes.length > 0 || this.#pending.some((range) => includes(range, seq))) {
        const rule = `an erasure may have changed it, but no notice of that is signed. ${later}`
        this.#findings.add('unchecked', `record ${seq}, ${place}: ${why}; ${rule}`, [seq, seq])
      } else this.#findings.add('false', `record ${seq}, ${place}: ${why}`, [seq, seq])
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
    const counts = { proven: this.#proven, erased, removed, unsigned: this.#unsigned }
    return { counts, names: this.#names }
  }

  #checkBeginning({ firstSeq }: JournalBeginning): void {
    if (this.#signedBeginning >= firstSeq) return
    const missing = `records 1 to ${firstSeq - 1} are missing, and no`
    if (this.#notedBeginning < firstSeq) {
      this.#findings.add('false', `${missing} record says that they were removed`, [
        1,
        firstSeq - 1,
      ])
      return
    }
    const rule = `notice of their removal is signed. ${later}`
    this.#findings.add('unchecked', `${missing} ${rule}`, [1, firstSeq - 1])
  }
}

/** A checkpoint follows within ten seconds while a server runs. */
const later = 'Verify again in a minute'

const includes = ([first, last]: SeqRange, seq: number): boolean => first <= seq && seq <= last

/** `undefined` if it is none. */
function parseNote(body: Buffer): Note | undefined {
  try {
    const note: Note | number | null = JSON.parse(body.toString())
    if (typeof note !== 'object' || note === null) return undefined
    const { changed = [], firstSeq = 1, formerOrigins = [] } = note
    const isRange = (range: unknown) =>
      Array.isArray(range) && range.length === 2 && range.every(Number.isSafeInteger)
    const isValid =
      changed.every(isRange) && Number.isSafeInteger(firstSeq) && Array.isArray(formerOrigins)
    return isValid ? note : undefined
  } catch {
    return undefined
  }
}

export function checkRecords(journal: JournalToCheck, findings: Findings): CheckedRecords {
  const { folder, beginning } = journal
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
  return check.finish(readLatestBeginning(folder, beginning))
}

/** Retention may have moved it on; what it removed meanwhile was checked. */
function readLatestBeginning(folder: string, before: JournalBeginning): JournalBeginning {
  try {
    const latest = readBeginning(folder)
    return latest.firstSeq > before.firstSeq ? before : latest
  } catch {
    return before
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
    // What is read is what was there now: until its notice is on disk, each of its changes is in this list.
    check.addPending(listChangedRecords(folder))
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

/** It may have been compressed since it was listed, or removed after its time: `undefined` then. */
function openSegment(folder: string, { path, firstSeq }: Segment): SegmentFile | undefined {
  for (const one of [path, `${path}.gz`]) {
    try {
      return new SegmentFile(one)
    } catch (cause) {
      if (getErrorCode(cause) !== 'ENOENT') throw cause
    }
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
  let offset = headerBytes
  let expected = firstSeq
  /** The records of a chunk; gives the bytes that they take. */
  const addChunk = (bytes: Buffer): number => {
    let used = 0
    while (expected < end) {
      const seal = decodeSeal(bytes, used, checksumSeed)
      const frame = seal ? undefined : decodeFrame(bytes, used, checksumSeed)
      if (frame?.record.seq === expected) {
        // A journal may begin within a segment that retention has not removed yet.
        if (expected >= check.nextSeq) check.add(frame.record, `${path} at byte ${offset + used}`)
        expected += 1
      } else if (!seal && !(frame && check.isCopy(frame.record))) break
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
