/**
 * Packs what a journal has about a question into one zip file that anybody can check: the records, their entries in the
 * signed tree, what connects these with one signed checkpoint, and the state that the decisions rest on. Only reads, and the
 * server may be running.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DataFileError } from '../../errors.js'
import { JournalReader } from '../../gate/journal/journal-reader.js'
import { readRules } from '../../gate/journal/recovery/kept-rules.js'
import { readSignedBeginning } from '../../gate/journal/recovery/signed-beginning.js'
import type { StoredRecord } from '../../gate/journal/segment-format.js'
import { SignedTree } from '../../gate/journal/tree/signed-tree.js'
import {
  checkpointPath,
  cosignedPath,
  TreeReader,
  timestampsPath,
  treeFolder,
  verifierKeyPath,
} from '../../gate/journal/tree/tree-files.js'
import { readHead } from '../../gate/journal/tree/tree-head.js'
import { readRecord } from '../../gate/record/read-record.js'
import { isPresent } from '../../runtime/folders.js'
import { openCheckpoint, parseCheckpoint } from '../../transparency/checkpoint.js'
import { commitTo, decodeEntry, isPersonErased } from '../../transparency/log-entry.js'
import { proveConsistency, proveInclusion } from '../../transparency/merkle-tree.js'
import { hashSubtree, proveRanges, type SeqRange } from '../../transparency/range-proof.js'
import { formatRecordProof } from '../../transparency/record-proof.js'
import { ErasureNotices } from '../../transparency/removal-notices.js'
import { parseNote, parseVerifierKey } from '../../transparency/signed-note.js'
import { type KeptHeads, listHeads } from '../kept-heads.js'
import { formatCertificate, formatReadme } from './documents.js'
import type { PackedState, StateLine } from './facts.js'
import type { Question } from './question.js'
import { RecordSearch, type Selection } from './record-search.js'
import { formatReport } from './report.js'
import { formatSafeHarbor } from './safe-harbor.js'
import { listStateFiles, type StateSources } from './state-files.js'
import { SubjectSearch } from './subject-search.js'
import { formatManifestHash, type Manifest } from './verify/verify-bundle.js'
import { ZipWriter } from './zip.js'

export interface BundleToPack {
  readonly journalFolder: string
  readonly question: Question
  readonly out: string
  /** What connects these with the checkpoint of the bundle is packed. */
  readonly heads?: readonly KeptHeads[]
  readonly program: string
  /** The bytes of `verify.mjs`. */
  readonly verifier: Buffer
  readonly sources: StateSources
  /** Told which share of the journal has been searched, up to 1. */
  readonly onSearched?: ((share: number) => void) | undefined
  /** Called for each block before it is written; what it throws ends the packing. */
  readonly beforeWrite?: ((bytes: number) => void) | undefined
}

/** With more records, only the common proof of all entries is packed. */
const maxProofs = 1_000
/** Of each file of `state/`, in the report. */
const maxShownRows = 200

/** A zip file with its manifest. */
class BundleWriter {
  readonly files: Record<string, { sha256: string; bytes: number }> = {}
  readonly #zip: ZipWriter
  readonly #beforeWrite: BundleToPack['beforeWrite']

  constructor(path: string, beforeWrite: BundleToPack['beforeWrite']) {
    this.#zip = new ZipWriter(path)
    this.#beforeWrite = beforeWrite
  }

  async add(
    name: string,
    content: Buffer | string | Iterable<Buffer> | AsyncIterable<Buffer>,
  ): Promise<void> {
    const isWhole = typeof content === 'string' || Buffer.isBuffer(content)
    const hash = createHash('sha256')
    const beforeWrite = this.#beforeWrite
    let bytes = 0
    const pass = async function* () {
      for await (const block of inBlocks(isWhole ? [Buffer.from(content)] : content)) {
        hash.update(block)
        bytes += block.length
        beforeWrite?.(block.length)
        yield block
      }
    }
    await this.#zip.add(name, pass())
    this.files[name] = { sha256: hash.digest('hex'), bytes }
  }

  async finish(manifest: Manifest): Promise<void> {
    const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
    await this.#zip.add('manifest.json', [text])
    await this.#zip.add('manifest.sha256', [Buffer.from(formatManifestHash(text))])
    this.#zip.finish()
  }

  close(): void {
    this.#zip.close()
  }
}

const blockBytes = 262_144

/** Together, so that small parts are not written one by one. */
async function* inBlocks(parts: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let size = 0
  for await (const part of parts) {
    waiting.push(part)
    size += part.length
    if (size < blockBytes) continue
    yield Buffer.concat(waiting)
    waiting = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(waiting)
}

/** Rejects with `not-found` if no record answers the question. */
export async function packBundle(bundle: BundleToPack): Promise<Manifest> {
  const folder = treeFolder(bundle.journalFolder)
  if (!isPresent(checkpointPath(folder))) {
    throw new DataFileError(bundle.journalFolder, 'no journal is there that has signed records')
  }
  const temporary = `${bundle.out}.tmp`
  rmSync(temporary, { force: true })
  const writer = new BundleWriter(temporary, bundle.beforeWrite)
  try {
    const manifest = await writeBundle(bundle, folder, writer)
    renameSync(temporary, bundle.out)
    return manifest
  } finally {
    writer.close()
    rmSync(temporary, { force: true })
  }
}

async function writeBundle(
  bundle: BundleToPack,
  folder: string,
  writer: BundleWriter,
): Promise<Manifest> {
  const { journalFolder, question, program } = bundle
  const keyText = readFileSync(verifierKeyPath(folder), 'utf8')
  const cosigned = cosignedPath(folder)
  const checkpoint = readFileSync(isPresent(cosigned) ? cosigned : checkpointPath(folder), 'utf8')
  const key = parseVerifierKey(keyText.trimEnd())
  const { size, origin } = openCheckpoint(checkpoint, key)
  const reader = new TreeReader(folder, size)
  const { firstSeq } = readSignedBeginning(
    journalFolder,
    new SignedTree(folder, readHead(folder, key)),
  )
  const { search, subjects } = searchRecords(bundle, [firstSeq, size])
  const state = await writeState(bundle, { search, subjects }, writer)
  const selection = search.finish()
  const ranges = toRanges(selection)
  const { span, counts } = selection
  const about = { question, program, origin, size, ...selection, state }
  await writer.add('README.txt', formatReadme(about))
  await writer.add('certificate.html', formatCertificate(about))
  await writer.add('checkpoint', checkpoint)
  await writer.add('entries.bin', listEntries(ranges, reader))
  const leaves = ranges.map(([first, last]) => [first - 1, last - 1] as const)
  const subtree = (start: number, end: number) => hashSubtree(start, end, reader.node)
  await writer.add('entries.proof', Buffer.concat(proveRanges(leaves, size, subtree)))
  await writeHeads(bundle.heads ?? [], { origin, size, node: reader.node }, writer)
  await writer.add('keys/journal', keyText)
  await writeProofs(bundle, { selection, reader, checkpoint }, writer)
  await writer.add('records.txt', listRecords(journalFolder, selection, reader))
  await writer.add('report.html', formatReport(about))
  for (const version of selection.rules) {
    await writer.add(`rules/${version}.json`, readRules(journalFolder, version))
  }
  await writer.add('safe-harbor.html', formatSafeHarbor(about))
  await writeStamps(timestampsPath(folder), { origin, size, node: reader.node }, writer)
  await writer.add('verify.mjs', bundle.verifier)
  const manifest: Manifest = {
    format: 'callgate-evidence-bundle/1',
    ...{ program, origin, treeSize: size, question: { ...question }, ranges, counts },
    span: span ?? null,
    completeness: span ? ofSpan : ofRecords,
    files: writer.files,
  }
  await writer.finish(manifest)
  return manifest
}

const ofSpan =
  'entries.bin has every entry of the span, and the signed head fixes how many there are. It does not show that none of the ' +
  'other records of the span is about the question: only the packer says so.'
const ofRecords =
  'entries.bin has only the entries of these records. It does not show that no other record is about the question: only the ' +
  'packer says so.'

/** Twice over the whole journal, since what was changed about the numbers of calls is mostly older than the calls. */
function searchRecords(
  { journalFolder, question, onSearched }: BundleToPack,
  [firstSeq, size]: SeqRange,
) {
  let searched = 0
  function* scanAll() {
    for (const record of scan(journalFolder, firstSeq, size)) {
      yield record
      searched += 1
      if (searched % recordsOfReport === 0) onSearched?.(searched / (size - firstSeq + 1) / 2)
    }
  }
  const search = new RecordSearch(question)
  for (const record of scanAll()) search.add(record)
  const subjects = new SubjectSearch(search.basis, (seq, kind) => search.take(seq, kind))
  for (const record of scanAll()) subjects.add(record)
  return { search, subjects }
}

const recordsOfReport = 1_000

interface Found {
  readonly search: RecordSearch
  readonly subjects: SubjectSearch
}

/** The records that lines name are taken into the bundle. */
async function writeState(
  { journalFolder, question, sources }: BundleToPack,
  { search, subjects }: Found,
  writer: BundleWriter,
): Promise<PackedState> {
  const state: PackedState = { hasDatabase: sources.db !== undefined, files: {} }
  const readDecisions = () => readRecords(journalFolder, search.listSeqs())
  const files = listStateFiles({
    question,
    ...{ basis: search.basis, subjects, sources, readDecisions },
  })
  for (const [name, lines] of Object.entries(files)) {
    const shown: StateLine[] = []
    const summary = { rows: 0, stored: 0, shown }
    state.files[name] = summary
    const encode = async function* () {
      for await (const line of lines) {
        summary.rows += 1
        if (line.storedBy !== null) summary.stored += 1
        if (shown.length < maxShownRows) shown.push(line)
        for (const record of line.records) search.takeNamed(record)
        yield Buffer.from(`${JSON.stringify(line)}\n`)
      }
    }
    await writer.add(`state/${name}.jsonl`, encode())
  }
  return state
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

/** Whether they are heads of this history is for the recipient to find out. */
async function writeHeads(
  heads: readonly KeptHeads[],
  { origin, size, node }: Pick<TreeReader, 'size' | 'node'> & Pick<Manifest, 'origin'>,
  writer: BundleWriter,
): Promise<void> {
  const sizes = new Set<number>()
  for (const { source } of heads) {
    for (const note of listHeads(source)) {
      const kept = parseCheckpoint(parseNote(note.signed).text)
      if (kept.origin === origin && kept.size > 0 && kept.size < size) sizes.add(kept.size)
    }
  }
  for (const kept of [...sizes].sort((a, b) => a - b)) {
    await writer.add(`heads/${kept}.proof`, Buffer.concat(proveConsistency(kept, size, node)))
  }
}

/** Of heads of this log up to the one in the bundle, each with the proof that it is its beginning. */
async function writeStamps(
  stamps: string,
  { origin, size, node }: Pick<TreeReader, 'size' | 'node'> & Pick<Manifest, 'origin'>,
  writer: BundleWriter,
): Promise<void> {
  const names = isPresent(stamps) ? readdirSync(stamps).sort() : []
  for (const base of names.flatMap((name) => /^(.*)\.tsr$/.exec(name)?.[1] ?? [])) {
    const checkpoint = readFileSync(join(stamps, `${base}.checkpoint`))
    const stamped = parseCheckpoint(parseNote(checkpoint.toString()).text)
    // The journal had another name, or the cosigned head is older.
    if (stamped.origin !== origin || stamped.size > size) continue
    await writer.add(`timestamps/${base}.checkpoint`, checkpoint)
    if (stamped.size < size) {
      const proof = Buffer.concat(proveConsistency(stamped.size, size, node))
      await writer.add(`timestamps/${base}.proof`, proof)
    }
    await writer.add(`timestamps/${base}.tsr`, readFileSync(join(stamps, `${base}.tsr`)))
  }
}

async function writeProofs(
  { journalFolder }: BundleToPack,
  {
    selection: { seqs },
    reader,
    checkpoint,
  }: { readonly selection: Selection; readonly reader: TreeReader; readonly checkpoint: string },
  writer: BundleWriter,
): Promise<void> {
  if (seqs.length > maxProofs) return
  for (const record of readRecords(journalFolder, seqs)) {
    const entry = reader.readEntry(record.seq - 1)
    const { commitment } = decodeEntry(entry) ?? {}
    if (commitment?.equals(commitTo(record.salt, record.body)) !== true) continue
    const path = proveInclusion(record.seq - 1, reader.size, reader.node)
    const proof = formatRecordProof({ ...record, entry, path, checkpoint })
    await writer.add(`proofs/${record.seq}.tlog-proof`, proof)
  }
}

/** The span, if there is one, and the records that are not in it; those that follow one another are one range. */
function toRanges({ span, seqs }: Selection): readonly SeqRange[] {
  const ranges: [number, number][] = []
  for (const seq of seqs) {
    if (span && seq >= span[0] && seq <= span[1]) continue
    const last = ranges.at(-1)
    if (last?.[1] === seq - 1) last[1] = seq
    else ranges.push([seq, seq])
  }
  return span ? [...ranges, span].sort((a, b) => a[0] - b[0]) : ranges
}

function* listEntries(ranges: readonly SeqRange[], reader: TreeReader): Generator<Buffer> {
  for (const [first, last] of ranges) {
    for (let seq = first; seq <= last; seq += 1) yield reader.readEntry(seq - 1)
  }
}

/** Their numbers are in order. */
function* readRecords(folder: string, seqs: readonly number[]): Generator<StoredRecord> {
  let next = 0
  for (const record of scan(folder, seqs[0] ?? 1, seqs.at(-1) ?? 0)) {
    if (record.seq !== seqs[next]) continue
    yield record
    next += 1
  }
}

/** A record that is not as it was signed must have a notice; the one of an erasure that goes on may not be signed yet. */
function* listRecords(
  journalFolder: string,
  { seqs }: Selection,
  reader: TreeReader,
): Generator<Buffer> {
  const changed: { readonly seq: number; readonly commitment: Buffer }[] = []
  const notices = new ErasureNotices()
  for (const { seq, kind, salt, body } of readRecords(journalFolder, seqs)) {
    const commitment = commitTo(salt, body)
    const isSigned = decodeEntry(reader.readEntry(seq - 1))?.commitment.equals(commitment)
    if (isSigned !== true || isPersonErased(body)) changed.push({ seq, commitment })
    else if (kind === 'notice') notices.addNotice(seq, readRecord(kind, { seq, body }))
    else if (kind === 'erasure') notices.addRequest(seq, readRecord(kind, { seq, body }))
    yield Buffer.concat([Buffer.from(`${seq} ${salt.toString('hex')} `), body, Buffer.from('\n')])
  }
  const wrong = changed.find(({ seq, commitment }) => notices.find(seq, commitment) === undefined)
  if (wrong === undefined) return
  const rule = `record ${wrong.seq} is not as it was signed, and no signed notice says that a number was erased from it`
  throw new DataFileError(
    journalFolder,
    `${rule}. If an erasure is going on, try again in a minute; else see callgate evidence verify`,
  )
}
