/**
 * Checks a bundle with nothing but its files, the key that somebody trusts, and heads that were kept elsewhere. Uses Node alone:
 * it is the verifier in it, too.
 */
import { createHash } from 'node:crypto'
import { readRecord } from '../../../gate/record/read-record.js'
import {
  type Checkpoint,
  openCheckpoint,
  type SignedCheckpoint,
} from '../../../transparency/checkpoint.js'
import {
  commitTo,
  decodeEntry,
  entryBytes,
  isPersonErased,
  type LogEntry,
  recordKinds,
  saltBytes,
} from '../../../transparency/log-entry.js'
import { hashBytes, hashLeaf, verifyConsistency } from '../../../transparency/merkle-tree.js'
import { findRange, type LeafRange, rootOfRanges } from '../../../transparency/range-proof.js'
import { verifyRecordProof } from '../../../transparency/record-proof.js'
import { ErasureNotices } from '../../../transparency/removal-notices.js'
import {
  formatVerifierKey,
  parseVerifierKey,
  type VerifierKey,
} from '../../../transparency/signed-note.js'
import { type ByteSource, chunksOf, digest, linesOf, windowOf } from '../../byte-source.js'
import { type KeptHeads, listHeads } from '../../kept-heads.js'
import type { EvidenceResult } from '../../result.js'
import type { Question } from '../question.js'
import { type CheckedStamp, checkStamp, UncheckedStampError } from '../timestamp.js'
import { type KindCounts, ShownRecords } from './shown-records.js'
import { StateCheck } from './state-check.js'

export interface Manifest {
  readonly format: 'callgate-evidence-bundle/1'
  readonly program: string
  readonly origin: string
  readonly treeSize: number
  readonly question: Question
  /** Of which all entries are included: first and last record. `null`: only those of the records. */
  readonly span: readonly [number, number] | null
  /** First and last number of the records whose entries are in entries.bin, in order. */
  readonly ranges: readonly (readonly [number, number])[]
  readonly counts: Readonly<Record<string, number>>
  readonly completeness: string
  readonly files: Readonly<Record<string, { readonly sha256: string; readonly bytes: number }>>
}

interface BundleStamp extends CheckedStamp {
  readonly name: string
  /** How many records of the log were signed then. */
  readonly size: number
}

interface ErasedRecord {
  readonly seq: number
  /** Sequence number of the notice. */
  readonly notice: number
  /** The kept part is as it was signed. */
  readonly isKept: boolean
}

export interface BundleVerification {
  readonly result: EvidenceResult
  readonly failures: readonly string[]
  readonly unchecked: readonly string[]
  /** Those that are right, as far as they are checked: of which head, when and by whom. */
  readonly timestamps: readonly BundleStamp[]
  readonly origin: string | undefined
  readonly records: number
  /** By kind: the records that are shown, and all entries of the span, if there is one. */
  readonly shown: KindCounts
  readonly entries: KindCounts
  /** How many records the checkpoint has. */
  readonly size: number
  /** From elsewhere: a witness that has signed the checkpoint, or the file with a head that it goes on from. */
  readonly outside: { readonly name: string; readonly size: number } | undefined
  /** Records from which a number was erased. */
  readonly erased: readonly ErasedRecord[]
  readonly cosigners: number
  /** Rows of `state/`, and how many of them a signed record says to have been stored. */
  readonly state: { readonly rows: number; readonly stored: number }
}

function digestFile(file: ByteSource): string {
  const hash = createHash('sha256')
  for (const chunk of chunksOf(file)) hash.update(chunk)
  return hash.digest('hex')
}

export function formatManifestHash(manifest: Uint8Array): string {
  return `${digest(manifest)}  manifest.json\n`
}

type Files = ReadonlyMap<string, ByteSource>

class BundleCheck {
  readonly #files: Files
  readonly failures: string[] = []
  readonly unchecked: string[] = []
  readonly erased: ErasedRecord[] = []
  origin: string | undefined
  records = 0
  cosigners = 0
  readonly timestamps: BundleStamp[] = []
  readonly state = new StateCheck()
  /** Versions of the calling rules that were checked. */
  readonly #rules = new Set<string | undefined>()
  shown: ShownRecords | undefined
  size = 0
  outside: BundleVerification['outside']

  constructor(files: Files) {
    this.#files = files
  }

  /** All that is wrong with one part is one failure, so that the others are checked too. */
  run(what: string, check: () => void): void {
    try {
      check()
    } catch (cause) {
      this.failures.push(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`)
    }
  }

  file(name: string): ByteSource {
    const file = this.#files.get(name)
    if (file === undefined) throw new Error(`${name} is missing`)
    return file
  }

  /** Of a file that is small in every bundle. */
  bytes(name: string): Buffer {
    const file = this.file(name)
    return file.read(0, file.size)
  }

  readManifest(): Manifest {
    const bytes = this.bytes('manifest.json')
    if (this.bytes('manifest.sha256').toString('latin1') !== formatManifestHash(bytes)) {
      throw new Error('its SHA-256 is not the one in manifest.sha256')
    }
    const manifest: Manifest = JSON.parse(bytes.toString())
    if (manifest.format !== 'callgate-evidence-bundle/1') throw new Error('unknown format')
    return manifest
  }

  checkFiles({ files }: Manifest): void {
    for (const [name, { sha256, bytes }] of Object.entries(files)) {
      this.run(name, () => {
        const content = this.file(name)
        if (content.size !== bytes || digestFile(content) !== sha256) {
          throw new Error('it is not the file that the manifest names')
        }
      })
    }
    for (const name of this.#files.keys()) {
      if (name === 'manifest.json' || name === 'manifest.sha256') continue
      if (!Object.hasOwn(files, name)) this.failures.push(`${name}: it is not in the manifest`)
    }
  }

  openHead(manifest: Manifest, given: VerifierKey | undefined, witnesses: readonly VerifierKey[]) {
    const own = parseVerifierKey(this.bytes('keys/journal').toString().trimEnd())
    const key = given ?? own
    if (formatVerifierKey(own) !== formatVerifierKey(key)) {
      this.failures.push(
        `keys/journal: it is another key than the one of ${key.name} that was given`,
      )
    }
    const head = openCheckpoint(this.bytes('checkpoint').toString(), key, witnesses)
    if (head.size !== manifest.treeSize || head.origin !== manifest.origin) {
      throw new Error('it is not the one that the manifest is about')
    }
    this.size = head.size
    this.cosigners = head.signatures.length - 1
    for (const witness of witnesses) {
      if (head.signatures.some((one) => one.key === witness)) this.#addOutside(witness.name, head)
      else this.unchecked.push(`${witness.name} has not cosigned the checkpoint`)
    }
    return head
  }

  #addOutside(name: string, { size }: Checkpoint): void {
    if (size >= (this.outside?.size ?? 1)) this.outside = { name, size }
  }

  /** All heads of a file. One that the bundle should lead to is not checked without the proof of it, whatever the others show. */
  compareHeads({ name, source }: KeptHeads, head: SignedCheckpoint, key: VerifierKey): void {
    let holds = false
    const unconnected = new Set<number>()
    for (const { origin, signed } of listHeads(source)) {
      if (origin !== key.name) continue
      const kept = openCheckpoint(signed, key)
      const needsProof = kept.size > 0 && kept.size !== head.size
      const proof = needsProof ? this.#findProof(kept.size) : Buffer.alloc(0)
      if (proof === undefined) {
        unconnected.add(kept.size)
      } else if (verifyConsistency(kept, head, splitHashes(proof))) {
        this.#addOutside(name, kept)
        holds = true
      } else {
        const rule = `its head of ${kept.size} records is not the beginning of this log`
        throw new Error(`${rule}: two views of the log were signed`)
      }
    }
    const unchecked = [...unconnected].filter((size) => !holds || size <= head.size)
    const [first] = unchecked
    if (first !== undefined) {
      const others = unchecked.length > 1 ? ` and ${unchecked.length - 1} others` : ''
      const rule = `it has a head of ${first} records${others}, and the bundle of ${head.size}, without what connects them`
      const advice = 'Ask for the bundle with this file: evidence pack --head'
      this.unchecked.push(`${name}: ${rule}. ${advice}`)
    } else if (!holds) this.unchecked.push(`${name}: it has no signed head of ${key.name}`)
  }

  /** That the log of so many records is the beginning of that of the checkpoint. */
  #findProof(size: number): Buffer | undefined {
    const name = `heads/${size}.proof`
    return this.#files.has(name) ? this.bytes(name) : undefined
  }

  /** The entries by number of the record, once they are proven. */
  readEntries(manifest: Manifest, head: SignedCheckpoint): (seq: number) => Buffer | undefined {
    const shown = new ShownRecords(manifest.question, manifest.span)
    this.shown = shown
    const entries = windowOf(this.file('entries.bin'))
    const proof = this.bytes('entries.proof')
    const ranges = readRanges(manifest, head.size)
    const starts: number[] = []
    let count = 0
    for (const [first, last] of ranges) {
      starts.push(count)
      count += last - first + 1
    }
    if (entries.size !== count * entryBytes)
      throw new Error('there are not as many as there must be')
    const entryOf = (index: number): Buffer | undefined => {
      const at = findRange(ranges, index)
      const first = ranges[at]?.[0] ?? Number.POSITIVE_INFINITY
      if (first > index) return undefined
      return entries.read(((starts[at] ?? 0) + index - first) * entryBytes, entryBytes)
    }
    const leafOf = (index: number): Buffer => {
      const entry = entryOf(index)
      const decoded = decodeEntry(entry ?? Buffer.alloc(0))
      if (entry === undefined || decoded?.seq !== index + 1) {
        throw new Error(`the entry at place ${index} is not that of record ${index + 1}`)
      }
      shown.addEntry(decoded.seq, decoded.kind)
      return hashLeaf(entry)
    }
    if (rootOfRanges(ranges, head.size, leafOf, splitHashes(proof))?.equals(head.root) !== true) {
      throw new Error('they are not in the tree that was signed')
    }
    return (seq) => entryOf(seq - 1)
  }

  checkRecords(entryOf: (seq: number) => Buffer | undefined): ReadonlySet<number> {
    const notices = new ErasureNotices()
    const changed: { seq: number; commitment: Buffer; isKept: boolean }[] = []
    const proven = new Set<number>()
    let before = 0
    for (const { seq, salt, body } of readRecords(this.file('records.txt'))) {
      if (seq <= before) throw new Error(`record ${seq} is not in its place`)
      before = seq
      this.records += 1
      const entry = decodeEntry(entryOf(seq) ?? Buffer.alloc(0))
      if (entry === undefined) throw new Error(`record ${seq} has no entry`)
      this.shown?.addRecord(seq, entry.kind, body)
      if (entry.kind === recordKinds.decision || entry.kind === recordKinds.amendment) {
        this.#checkRules(seq, readRecord('decision', { seq, body }).rules)
      }
      const commitment = commitTo(salt, body)
      const isKept = entry.commitment.equals(commitment)
      if (isKept && !isPersonErased(body)) {
        proven.add(seq)
        this.#readProven(entry, body, notices)
      } else changed.push({ seq, commitment, isKept })
    }
    for (const { seq, commitment, isKept } of changed) {
      const notice = notices.find(seq, commitment)
      if (notice === undefined)
        this.failures.push(`record ${seq}: it is not the one that was signed`)
      else this.erased.push({ seq, notice, isKept })
    }
    return proven
  }

  #checkRules(seq: number, version: string | undefined): void {
    if (this.#rules.has(version)) return
    this.#rules.add(version)
    const name = `rules/${version}.json`
    this.run(`record ${seq} was judged by ${name}`, () => {
      if (version?.length !== 12 || !digestFile(this.file(name)).startsWith(version)) {
        throw new Error('that does not hold the calling rules that it is named after')
      }
    })
  }

  #readProven({ seq, kind }: LogEntry, body: Buffer, notices: ErasureNotices): void {
    const record = { seq, body }
    if (kind === recordKinds.audit) this.state.addChange(seq, readRecord('audit', record))
    else if (kind === recordKinds.erasure) notices.addRequest(seq, readRecord('erasure', record))
    else if (kind === recordKinds.notice) notices.addNotice(seq, readRecord('notice', record))
  }

  /** The manifest says how many records of each kind were packed. */
  checkCounts({ counts }: Manifest): void {
    const { shown } = this
    if (shown === undefined) return
    for (const kind of new Set([...Object.keys(counts), ...Object.keys(shown.shown)])) {
      const [packed, found] = [counts[kind] ?? 0, shown.shown[kind] ?? 0]
      if (packed === found) continue
      this.failures.push(
        `records.txt: ${packed} of kind ${kind} were packed, and ${found} are there`,
      )
    }
    this.unchecked.push(...shown.findMissing())
  }

  checkState(proven: ReadonlySet<number>): void {
    for (const [name, file] of this.#files) {
      if (name.startsWith('state/')) this.run(name, () => this.state.check(file, proven))
    }
  }

  /** Of this head, or of an earlier one that is its beginning. */
  checkStamps(head: SignedCheckpoint, key: VerifierKey): void {
    const names = [...this.#files.keys()].filter((name) => /^timestamps\/.*\.tsr$/.test(name))
    for (const name of names) {
      this.run(name, () => {
        const base = name.replace(/\.tsr$/, '')
        const stamped = this.bytes(`${base}.checkpoint`)
        const old = openCheckpoint(stamped.toString(), key)
        const proof = old.size === head.size ? Buffer.alloc(0) : this.bytes(`${base}.proof`)
        if (!verifyConsistency(old, head, splitHashes(proof))) {
          throw new Error('what is stamped is not the beginning of this log')
        }
        try {
          const checked = checkStamp(this.bytes(name), stamped)
          this.timestamps.push({ name, size: old.size, ...checked })
        } catch (cause) {
          if (!(cause instanceof UncheckedStampError)) throw cause
          this.unchecked.push(`${name}: ${cause.message}`)
        }
      })
    }
  }

  checkProofs(key: VerifierKey, root: Buffer, proven: ReadonlySet<number>): void {
    const proofs = [...this.#files].filter(([name]) => name.startsWith('proofs/'))
    for (const [name] of proofs) {
      this.run(name, () => {
        const { entry, checkpoint } = verifyRecordProof(this.bytes(name).toString(), key)
        if (!checkpoint.root.equals(root)) throw new Error('it leads to another checkpoint')
        const isShown = proven.has(entry.seq) || this.erased.some(({ seq }) => seq === entry.seq)
        if (name !== `proofs/${entry.seq}.tlog-proof` || !isShown) {
          throw new Error(`it proves record ${entry.seq}`)
        }
      })
    }
  }
}

function splitHashes(proof: Buffer): readonly Buffer[] {
  if (proof.length % hashBytes !== 0) throw new Error('the proof is cut off')
  return Array.from({ length: proof.length / hashBytes }, (_, at) =>
    proof.subarray(at * hashBytes, (at + 1) * hashBytes),
  )
}

function readRanges({ ranges, span }: Manifest, size: number): readonly LeafRange[] {
  let before = 0
  for (const [first, last] of ranges) {
    const isPlace = Number.isSafeInteger(first) && Number.isSafeInteger(last)
    if (!isPlace || first <= before || last < first || last > size) {
      throw new Error('the ranges of the manifest are not in order')
    }
    before = last
  }
  if (span && !ranges.some(([first, last]) => first <= span[0] && span[1] <= last)) {
    throw new Error('not all entries of the span are there')
  }
  return ranges.map(([first, last]) => [first - 1, last - 1])
}

/** By line: the number of a record, its salt in hexadecimal, and the bytes of its body. */
function* readRecords(file: ByteSource) {
  let number = 0
  for (const line of linesOf(file)) {
    number += 1
    const head = /^([1-9]\d{0,14}) ([0-9a-f]{32}) /.exec(line.toString('latin1', 0, 60))
    if (head === null) throw new Error(`line ${number} is no record`)
    const salt = Buffer.from(head[2] ?? '', 'hex')
    if (salt.length !== saltBytes) throw new Error('a salt is cut off')
    yield { seq: Number(head[1]), salt, body: line.subarray(head[0].length) }
  }
}

export interface Trusted {
  /** Without it, that of the bundle is used, which is not proof enough. */
  readonly key?: VerifierKey | undefined
  readonly witnesses?: readonly VerifierKey[]
  /** Signed heads of the log that were kept elsewhere. */
  readonly heads?: readonly KeptHeads[]
}

export function verifyBundle(
  files: Files,
  { key: given, witnesses = [], heads = [] }: Trusted,
): BundleVerification {
  const check = new BundleCheck(files)
  check.run('manifest.json', () => {
    const manifest = check.readManifest()
    check.checkFiles(manifest)
    check.run('checkpoint', () => {
      const head = check.openHead(manifest, given, witnesses)
      check.origin = head.origin
      const [own] = head.signatures
      if (own) {
        check.checkStamps(head, own.key)
        for (const kept of heads) {
          check.run(kept.name, () => check.compareHeads(kept, head, own.key))
        }
      }
      check.run('entries.bin', () => {
        const entryOf = check.readEntries(manifest, head)
        check.run('records.txt', () => {
          const proven = check.checkRecords(entryOf)
          check.checkCounts(manifest)
          if (own) check.checkProofs(own.key, head.root, proven)
          check.checkState(proven)
        })
      })
    })
  })
  if (given === undefined) {
    check.unchecked.push('NO KEY WAS GIVEN: THE BUNDLE ONLY AGREES WITH ITSELF')
  } else if (check.outside === undefined) {
    const rule = 'ANYONE WITH THE PRIVATE KEY COULD HAVE SIGNED ANOTHER HISTORY'
    check.unchecked.push(`NO HEAD FROM ELSEWHERE (--head, --witness): ${rule}`)
  }
  const { failures, unchecked, timestamps, origin, records, erased } = check
  const { cosigners, size, outside } = check
  const { rows, stored } = check.state
  const { shown = {}, entries = {} } = check.shown ?? {}
  const result = failures.length > 0 ? 'FALSE' : unchecked.length > 0 ? 'NOT PROVEN' : 'PROVEN'
  return {
    ...{ result, failures, unchecked, timestamps, origin, records, erased, cosigners },
    ...{ size, outside, shown, entries, state: { rows, stored } },
  }
}
