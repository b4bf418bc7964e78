/** What a journal says about itself before it is opened: nothing is written. */
import { join } from 'node:path'
import { DataFileError } from '../../../errors.js'
import { isFolder, isPresent, readWholeFile } from '../../../runtime/folders.js'
import type { AuditPosition } from '../../../storage/audit/audit-log.js'
import type { KnownPosition } from '../../../storage/audit/installation.js'
import { parseCheckpoint } from '../../../transparency/checkpoint.js'
import { parseNote } from '../../../transparency/signed-note.js'
import { readRecord } from '../../record/read-record.js'
import { DecisionIndex } from '../decision-index.js'
import { readBeginning, readFormerOrigins } from '../journal-beginning.js'
import { hashOriginName, originPath, readOriginName } from '../journal-origin.js'
import { JournalReader, listSegments } from '../journal-reader.js'
import type { StoredRecord } from '../segment-format.js'
import { checkpointPath, TreeReader, toPosition, treeFolder } from '../tree/tree-files.js'
import { requireNoDamage } from './recover-journal.js'
import type { SealedEnd } from './sealed-groups.js'

export interface JournalState {
  /** SHA-256 of its names in hex, the present one first; empty if there is no journal. */
  readonly origins: readonly string[]
  /** 0 without records. */
  readonly lastSeq: number
  /** Of its last start; `undefined` if it does not say. */
  readonly installation: string | undefined
  /** The last row of the audit table in it; `undefined` if there is none. */
  readonly audited: AuditPosition | undefined
  /** Why the index beside it is not its own, for people. */
  readonly indexProblem: string | undefined
}

/** Throws {@link DataFileError} with the place if the journal cannot be read. */
export function readJournalState(dataDir: string): JournalState {
  const folder = join(dataDir, 'journal')
  const index = readIndex(join(dataDir, 'index.sqlite'), folder)
  const origins = readOrigins(folder)
  const isOwnIndex = index !== undefined && index.origin === origins[0]
  const own = isOwnIndex ? index : undefined
  const state = readRecords(folder, own)
  return { ...state, origins, indexProblem: index && describeIndex(index, state, isOwnIndex) }
}

interface IndexState extends Pick<JournalState, 'audited' | 'installation'> {
  readonly origin: string
  readonly nextSeq: number
}

function readIndex(path: string, folder: string): IndexState | undefined {
  if (!isPresent(path)) return undefined
  const index = new DecisionIndex(path, folder)
  try {
    const { owner, nextSeq } = index
    if (owner === undefined) return undefined
    const { audited_seq: seq, audited_mark: mark, installation } = owner
    return {
      origin: owner.origin.toString('hex'),
      nextSeq,
      audited: seq === 0 ? undefined : { seq, mark },
      installation: installation ?? undefined,
    }
  } finally {
    index.close()
  }
}

function readOrigins(folder: string): readonly string[] {
  if (!isPresent(originPath(folder))) return []
  const former = readFormerOrigins(folder).map(({ origin }) => origin)
  const names = [readOriginName(folder), ...former.reverse()]
  return names.map((name) => hashOriginName(name).toString('hex'))
}

type FoundRecords = Pick<JournalState, 'audited' | 'installation'>

/** From the end on, until all is found: the index has what is before its end, and without one there may be years. */
function readRecords(
  folder: string,
  index: IndexState | undefined,
): Pick<JournalState, 'lastSeq'> & FoundRecords {
  // A link to a disk that is missing is refused.
  const segments = isFolder(folder) ? listSegments(folder) : []
  const { firstSeq } = readBeginning(folder)
  let { audited, installation }: FoundRecords = {
    audited: undefined,
    installation: undefined,
  }
  let lastSeq: number | undefined
  let endSeq = Number.MAX_SAFE_INTEGER
  for (const segment of segments.toReversed()) {
    const found = readSegment(folder, Math.max(firstSeq, segment.firstSeq), endSeq)
    if (lastSeq === undefined && found.offset > 0) requireNoDamage(segment, found)
    lastSeq ??= found.nextSeq - 1
    audited ??= found.audited
    installation ??= found.installation
    endSeq = segment.firstSeq
    const isKnown = endSeq <= Math.max(firstSeq, index?.nextSeq ?? 1)
    if (isKnown || (audited && installation)) break
  }
  return {
    lastSeq: lastSeq ?? 0,
    audited: audited ?? index?.audited,
    installation: installation ?? index?.installation,
  }
}

/** Of the records from `firstSeq` to before `endSeq`. */
function readSegment(folder: string, firstSeq: number, endSeq: number): SealedEnd & FoundRecords {
  let { audited, installation }: FoundRecords = { audited: undefined, installation: undefined }
  const reader = new JournalReader(folder, firstSeq)
  const read = () => reader.read(endSeq - 1)
  try {
    for (let records = read(); records.length > 0; records = read()) {
      for (const { seq: at, kind, body } of records) {
        if (kind === 'audit') {
          const { seq, mark } = readRecord(kind, { seq: at, body })
          audited = { seq, mark }
        }
        if (kind === 'opened') installation = readRecord(kind, { seq: at, body }).installation
      }
    }
    return { nextSeq: reader.nextSeq, offset: reader.offset, audited, installation }
  } finally {
    reader.close()
  }
}

function describeIndex(
  { nextSeq }: IndexState,
  { lastSeq }: Pick<JournalState, 'lastSeq'>,
  isOwn: boolean,
): string | undefined {
  if (!isOwn) return 'index.sqlite belongs to another journal than the one beside it'
  if (nextSeq - 1 <= lastSeq) return undefined
  return `the journal ends with record ${lastSeq}, but index.sqlite has record ${nextSeq - 1}`
}

/** The leaf of a record in the tree, in hex; `undefined` if nothing of it is left. */
export function readLeaf(folder: string, seq: number): string | undefined {
  return readSignedLeaf(treeFolder(folder), seq) ?? readPosition(folder, seq)?.leaf
}

/** Also of a record that was erased or removed; `undefined` if it is not signed, or its tile is missing. */
function readSignedLeaf(tree: string, seq: number): string | undefined {
  const path = checkpointPath(tree)
  if (!isPresent(path)) return undefined
  const { size } = parseCheckpoint(parseNote(readWholeFile(path).toString()).text)
  if (seq > size) return undefined
  try {
    return new TreeReader(tree, size).node(0, seq - 1).toString('hex')
  } catch (cause) {
    if (cause instanceof DataFileError) return undefined
    throw cause
  }
}

export function readPosition(folder: string, seq: number): KnownPosition | undefined {
  const record = readStored(folder, seq)
  return record && toPosition(record)
}

/** `undefined` unless it is in a segment. */
export function readStored(folder: string, seq: number): StoredRecord | undefined {
  const [oldest] = listSegments(folder)
  if (oldest === undefined || seq < oldest.firstSeq) return undefined
  const reader = new JournalReader(folder, seq)
  try {
    return reader.read(seq)[0]
  } finally {
    reader.close()
  }
}
