/**
 * Packs what a journal has about a question into one zip file that anybody can check: the records, their entries in the
 * signed tree, and what connects these with one signed checkpoint. Only reads the journal, whose server may be running.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, DataFileError } from '../../errors.js'
import type { DecisionDocument } from '../../gate/decision-document.js'
import { readBeginning } from '../../gate/journal/journal-beginning.js'
import { JournalReader } from '../../gate/journal/journal-reader.js'
import type { SeqRange } from '../../gate/journal/removal/changed-records.js'
import {
  isOfDecision,
  type JournalRecord,
  type RecordKind,
  type StoredRecord,
} from '../../gate/journal/segment-format.js'
import {
  checkpointPath,
  cosignedPath,
  TreeReader,
  treeFolder,
  verifierKeyPath,
} from '../../gate/journal/tree/tree-files.js'
import { openCheckpoint } from '../../transparency/checkpoint.js'
import { commitTo, decodeEntry } from '../../transparency/log-entry.js'
import { proveInclusion } from '../../transparency/merkle-tree.js'
import { formatRecordProof } from '../../transparency/record-proof.js'
import { parseVerifierKey } from '../../transparency/signed-note.js'
import {
  formatCertificate,
  formatReadme,
  formatReport,
  formatSafeHarbor,
  type Question,
} from './documents.js'
import { hashSubtree, proveRanges } from './range-proof.js'
import { digest, formatManifestHash, type Manifest } from './verify-bundle.js'
import { ZipWriter } from './zip.js'

export interface BundleToPack {
  readonly journalFolder: string
  readonly question: Question
  readonly out: string
  readonly program: string
  /** The bytes of `verify.mjs`. */
  readonly verifier: Buffer
}

/** Of a span: the entries of more would not fit into a bundle. */
const maxEntries = 5_000_000
/** With more records, only the common proof of all entries is packed. */
const maxProofs = 1_000
const maxReported = 500

interface Selection {
  readonly seqs: readonly number[]
  readonly span: SeqRange
  readonly counts: Record<string, number>
  readonly reported: readonly DecisionDocument[]
}

/** Throws `not-found` if no record answers the question, and `RangeError` if they are too many. */
export function packBundle(bundle: BundleToPack): Manifest {
  const folder = treeFolder(bundle.journalFolder)
  if (!existsSync(checkpointPath(folder))) {
    throw new DataFileError(bundle.journalFolder, 'no journal is there that has signed records')
  }
  const keyText = readFileSync(verifierKeyPath(folder), 'utf8')
  const key = parseVerifierKey(keyText.trimEnd())
  const cosigned = cosignedPath(folder)
  const checkpoint = readFileSync(existsSync(cosigned) ? cosigned : checkpointPath(folder), 'utf8')
  const { size, origin } = openCheckpoint(checkpoint, key)
  const reader = new TreeReader(folder, size)
  const selection = select(bundle, size)
  const ranges = toRanges(selection)
  const temporary = `${bundle.out}.tmp`
  rmSync(temporary, { force: true })
  const zip = new ZipWriter(temporary)
  const files: Record<string, { sha256: string; bytes: number }> = {}
  const add = (name: string, content: Buffer | string) => {
    const bytes = Buffer.from(content)
    files[name] = { sha256: digest(bytes), bytes: bytes.length }
    zip.add(name, [bytes])
  }
  try {
    const { question, program } = bundle
    const about = { question, program, origin, size, ...selection }
    add('README.txt', formatReadme(about))
    add('certificate.html', formatCertificate(about))
    add('checkpoint', checkpoint)
    add('entries.bin', Buffer.concat([...listEntries(ranges, reader)]))
    const leaves = ranges.map(([first, last]) => [first - 1, last - 1] as const)
    const subtree = (start: number, end: number) => hashSubtree(start, end, reader.node)
    add('entries.proof', Buffer.concat(proveRanges(leaves, size, subtree)))
    add('keys/journal', keyText)
    const records = Buffer.concat([...listRecords(bundle, selection, reader)])
    if (selection.seqs.length <= maxProofs) {
      for (const record of readRecords(bundle.journalFolder, selection.seqs)) {
        const entry = reader.readEntry(record.seq - 1)
        if (decodeEntry(entry)?.commitment.equals(commitTo(record.salt, record.body)) !== true)
          continue
        const path = proveInclusion(record.seq - 1, size, reader.node)
        add(
          `proofs/${record.seq}.tlog-proof`,
          formatRecordProof({ ...record, entry, path, checkpoint }),
        )
      }
    }
    add('records.txt', records)
    add('report.html', formatReport(about))
    add('safe-harbor.html', formatSafeHarbor(about))
    const stamps = join(folder, 'timestamps')
    for (const name of existsSync(stamps) ? readdirSync(stamps).sort() : []) {
      add(`timestamps/${name}`, readFileSync(join(stamps, name)))
    }
    add('verify.mjs', bundle.verifier)
    const manifest: Manifest = {
      format: 'callgate-evidence-bundle/1',
      program,
      origin,
      treeSize: size,
      question: { ...question },
      span: selection.span,
      ranges,
      counts: selection.counts,
      completeness:
        'entries.bin has every entry of the span, so nobody can add a record to it or take one away later. It does not ' +
        'show by itself that none of the other records of the span is about the question: that is a statement of the packer.',
      files,
    }
    const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
    zip.add('manifest.json', [text])
    zip.add('manifest.sha256', [Buffer.from(formatManifestHash(text))])
    zip.finish()
    renameSync(temporary, bundle.out)
    return manifest
  } finally {
    zip.close()
    rmSync(temporary, { force: true })
  }
}

/** Of a whole journal up to record `size`, in its order. */
function* scan(folder: string, first: number, size: number): Generator<StoredRecord> {
  const reader = new JournalReader(folder, first)
  try {
    for (let records = reader.read(size); records.length > 0; records = reader.read(size)) {
      yield* records
    }
  } finally {
    reader.close()
  }
}

function select({ journalFolder, question }: BundleToPack, size: number): Selection {
  const search = new RecordSearch(question)
  const { firstSeq } = readBeginning(journalFolder)
  for (const record of scan(journalFolder, firstSeq, size)) search.add(record)
  return search.finish()
}

/** Is given all records in their order. */
class RecordSearch {
  readonly #question: Question
  readonly #ids = new Set<string>()
  readonly #seqs: number[] = []
  readonly #notices: { readonly seq: number; readonly changed: readonly SeqRange[] }[] = []
  readonly #reported = new Map<string, DecisionDocument>()
  readonly #counts: Record<string, number> = {}
  /** The first and the last record of the time that was asked for. */
  #inTime: SeqRange | undefined
  #ofDecisions: SeqRange | undefined

  constructor(question: Question) {
    this.#question = question
  }

  add({ seq, kind, at, body }: StoredRecord): void {
    const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = this.#question
    const isInTime = at >= from && at < to
    if (isInTime) this.#inTime = [this.#inTime?.[0] ?? seq, seq]
    if (kind === 'notice') {
      const { changed = [] }: { changed?: readonly SeqRange[] } = JSON.parse(body.toString())
      this.#notices.push({ seq, changed })
    } else if (isOfDecision(kind)) this.#addOfDecision({ seq, kind, body }, isInTime)
    else if (isInTime && (kind === 'audit' || kind === 'receipt')) {
      if (namesNumber(JSON.parse(body.toString()), this.#question)) this.#take(seq, kind)
    }
  }

  /** Outcomes follow their decision, whenever they were recorded. */
  #addOfDecision({ seq, kind, body }: Omit<JournalRecord, 'at'>, isInTime: boolean): void {
    const document: DecisionDocument = JSON.parse(body.toString())
    const { id } = document
    if (kind !== 'outcome' && isInTime && isAsked(document, this.#question)) {
      this.#ids.add(id)
      if (this.#reported.size < maxReported || this.#reported.has(id))
        this.#reported.set(id, document)
    }
    if (!this.#ids.has(id)) return
    this.#take(seq, kind)
    if (kind !== 'outcome') this.#ofDecisions = [this.#ofDecisions?.[0] ?? seq, seq]
  }

  #take(seq: number, kind: RecordKind): void {
    this.#seqs.push(seq)
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1
  }

  finish(): Selection {
    const span = this.#question.ids === undefined ? this.#inTime : this.#ofDecisions
    if (span === undefined || this.#seqs.length === 0) {
      throw new AppError('not-found', 'no signed record answers the question')
    }
    // What was erased from a record is shown by its notice.
    const isTaken = ([first, last]: SeqRange) =>
      this.#seqs.some((seq) => first <= seq && seq <= last)
    const notices = this.#notices.filter(({ changed }) => changed.some(isTaken))
    for (const { seq } of notices) this.#take(seq, 'notice')
    const seqs = this.#seqs.sort((a, b) => a - b)
    return { seqs, span, counts: this.#counts, reported: [...this.#reported.values()] }
  }
}

/** Who changed what about the number, and what its person was told. A batch about several numbers names none of them. */
function namesNumber(
  content: {
    readonly accountId?: string
    readonly number?: string
    readonly subject?: { readonly kind: string; readonly id: string }
  },
  { number, accountId, ids }: Question,
): boolean {
  if (number === undefined || ids !== undefined) return false
  if (accountId !== undefined && content.accountId !== accountId) return false
  const { subject } = content
  return content.number === number || (subject?.kind === 'number' && subject.id === number)
}

function isAsked(document: DecisionDocument, { accountId, number, ids }: Question): boolean {
  if (accountId !== undefined && document.accountId !== accountId) return false
  if (number !== undefined && document.number !== number) return false
  return ids === undefined || ids.includes(document.id)
}

/** The span, and each record that is not in it. */
function toRanges({ span, seqs }: Selection): readonly SeqRange[] {
  if (span[1] - span[0] >= maxEntries) {
    const rule = `${span[1] - span[0] + 1} records are in that time, and a bundle may have ${maxEntries}`
    throw new RangeError(`--from and --to: ${rule}. Ask for a shorter time`)
  }
  const outside = seqs.filter((seq) => seq < span[0] || seq > span[1])
  return [span, ...outside.map((seq) => [seq, seq] as const)].sort((a, b) => a[0] - b[0])
}

function* listEntries(ranges: readonly SeqRange[], reader: TreeReader): Generator<Buffer> {
  for (const [first, last] of ranges) {
    for (let seq = first; seq <= last; seq += 1) yield reader.readEntry(seq - 1)
  }
}

function* readRecords(folder: string, seqs: readonly number[]): Generator<StoredRecord> {
  const wanted = new Set(seqs)
  for (const record of scan(folder, seqs[0] ?? 1, seqs.at(-1) ?? 0)) {
    if (wanted.has(record.seq)) yield record
  }
}

/** A record that is not as it was signed must have a notice; one of an erasure that goes on has none yet. */
function* listRecords(
  { journalFolder }: BundleToPack,
  { seqs }: Selection,
  reader: TreeReader,
): Generator<Buffer> {
  const changed: number[] = []
  const noted: SeqRange[] = []
  for (const { seq, kind, salt, body } of readRecords(journalFolder, seqs)) {
    const isAsSigned = decodeEntry(reader.readEntry(seq - 1))?.commitment.equals(
      commitTo(salt, body),
    )
    if (isAsSigned !== true) changed.push(seq)
    if (kind === 'notice') noted.push(...(JSON.parse(body.toString()).changed ?? []))
    yield Buffer.concat([Buffer.from(`${seq} ${salt.toString('hex')} `), body, Buffer.from('\n')])
  }
  const wrong = changed.find((seq) => !noted.some(([first, last]) => first <= seq && seq <= last))
  if (wrong === undefined) return
  const rule = `record ${wrong} is not as it was signed, and no signed notice says that a number was erased from it`
  throw new DataFileError(
    journalFolder,
    `${rule}. If an erasure is going on, try again in a minute; else see callgate evidence verify`,
  )
}
