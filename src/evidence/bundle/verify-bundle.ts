/** Checks a bundle with nothing but its files, and the key that somebody trusts. Uses Node alone: it is the verifier in it, too. */
import { createHash } from 'node:crypto'
import { openCheckpoint, type SignedCheckpoint } from '../../transparency/checkpoint.js'
import { commitTo, decodeEntry, entryBytes, saltBytes } from '../../transparency/log-entry.js'
import { hashBytes, hashLeaf, verifyConsistency } from '../../transparency/merkle-tree.js'
import { verifyRecordProof } from '../../transparency/record-proof.js'
import {
  formatVerifierKey,
  parseVerifierKey,
  type VerifierKey,
} from '../../transparency/signed-note.js'
import { type ByteSource, chunksOf, linesOf, windowOf } from './byte-source.js'
import { findRange, type LeafRange, rootOfRanges } from './range-proof.js'
import { type CheckedStamp, checkStamp, UncheckedStampError } from './timestamp.js'

export interface Manifest {
  readonly format: 'callgate-evidence-bundle/1'
  readonly program: string
  readonly origin: string
  readonly treeSize: number
  readonly question: Readonly<Record<string, unknown>>
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

export interface BundleVerification {
  readonly failures: readonly string[]
  readonly unchecked: readonly string[]
  /** Those that are right, as far as they are checked: of which head, when and by whom. */
  readonly timestamps: readonly BundleStamp[]
  readonly origin: string | undefined
  readonly records: number
  /** Records without an erased number, each with the record that is the notice of it. */
  readonly erased: readonly { readonly seq: number; readonly notice: number }[]
  readonly cosigners: number
  /** Rows of `state/`, and how many of them a signed record says to have been stored. */
  readonly state: { readonly rows: number; readonly stored: number }
}

export const digest = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex')

function digestFile(file: ByteSource): string {
  const hash = createHash('sha256')
  for (const chunk of chunksOf(file)) hash.update(chunk)
  return hash.digest('hex')
}

export function formatManifestHash(manifest: Uint8Array): string {
  return `${digest(manifest)}  manifest.json\n`
}

/** Of records, in their entries. */
const auditKind = 9
const noticeKind = 10

/** An entry of the audit table: what was changed. */
interface ProvenChange {
  readonly accountId?: string | undefined
  readonly subject?: { readonly kind: string; readonly id: string } | undefined
  readonly after?: { readonly wordingSha256?: string } | null
}

interface StateLine {
  readonly storedBy: number | null
  readonly records: readonly number[]
  readonly row: {
    readonly accountId?: string
    readonly number?: string
    readonly wording?: string
  }
}

type Files = ReadonlyMap<string, ByteSource>

class BundleCheck {
  readonly #files: Files
  readonly failures: string[] = []
  readonly unchecked: string[] = []
  readonly erased: { seq: number; notice: number }[] = []
  origin: string | undefined
  records = 0
  cosigners = 0
  readonly timestamps: BundleStamp[] = []
  readonly state = { rows: 0, stored: 0 }
  /** By number of the record. */
  readonly #changes = new Map<number, ProvenChange>()

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
    this.cosigners = head.signatures.length - 1
    for (const witness of witnesses) {
      if (!head.signatures.some((one) => one.key === witness)) {
        this.unchecked.push(`${witness.name} has not cosigned the checkpoint`)
      }
    }
    return head
  }

  /** The entries by number of the record, once they are proven. */
  readEntries(manifest: Manifest, head: SignedCheckpoint): (seq: number) => Buffer | undefined {
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
      if (entry === undefined || decodeEntry(entry)?.seq !== index + 1) {
        throw new Error(`the entry at place ${index} is not that of record ${index + 1}`)
      }
      return hashLeaf(entry)
    }
    if (rootOfRanges(ranges, head.size, leafOf, splitHashes(proof))?.equals(head.root) !== true) {
      throw new Error('they are not in the tree that was signed')
    }
    return (seq) => entryOf(seq - 1)
  }

  checkRecords(entryOf: (seq: number) => Buffer | undefined): ReadonlySet<number> {
    const notes: { seq: number; range: LeafRange }[] = []
    const changed: number[] = []
    const proven = new Set<number>()
    let before = 0
    for (const { seq, salt, body } of readRecords(this.file('records.txt'))) {
      if (seq <= before) throw new Error(`record ${seq} is not in its place`)
      before = seq
      this.records += 1
      const entry = decodeEntry(entryOf(seq) ?? Buffer.alloc(0))
      if (entry === undefined) throw new Error(`record ${seq} has no entry`)
      if (!entry.commitment.equals(commitTo(salt, body))) changed.push(seq)
      else {
        proven.add(seq)
        if (entry.kind === auditKind) {
          this.#addChange(seq, JSON.parse(body.toString()))
        } else if (entry.kind === noticeKind) {
          const notice: { changed?: LeafRange[] } = JSON.parse(body.toString())
          for (const range of notice.changed ?? []) notes.push({ seq, range })
        }
      }
    }
    this.checkChanged(changed, notes)
    return proven
  }

  checkChanged(changed: readonly number[], notes: readonly { seq: number; range: LeafRange }[]) {
    for (const seq of changed) {
      const note = notes.find(
        ({ seq: at, range }) => at > seq && range[0] <= seq && seq <= range[1],
      )
      if (note === undefined) this.failures.push(`record ${seq}: it is not the one that was signed`)
      else this.erased.push({ seq, notice: note.seq })
    }
  }

  #addChange(seq: number, { accountId, subject, after }: ProvenChange): void {
    const { wordingSha256 = '' } = after ?? {}
    this.#changes.set(seq, { accountId, subject, after: { wordingSha256 } })
  }

  checkState(proven: ReadonlySet<number>): void {
    for (const [name, file] of this.#files) {
      if (!name.startsWith('state/')) continue
      this.run(name, () => {
        let number = 0
        for (const line of linesOf(file)) {
          number += 1
          const problem = this.#findStateProblem(JSON.parse(line.toString()), proven)
          if (problem !== undefined) throw new Error(`line ${number} ${problem}`)
        }
      })
    }
  }

  /** Why a row does not follow from the records that it names. */
  #findStateProblem({ storedBy, records, row }: StateLine, proven: ReadonlySet<number>) {
    this.state.rows += 1
    if (storedBy !== null) this.state.stored += 1
    if (storedBy !== null && !records.includes(storedBy)) return `does not name record ${storedBy}`
    for (const seq of records) {
      if (!proven.has(seq)) return `names record ${seq}, which is not proven`
      const { accountId, subject, after } = this.#changes.get(seq) ?? {}
      const isOfOther =
        row.accountId !== undefined && accountId !== undefined && row.accountId !== accountId
      if (isOfOther) return `names record ${seq}, which is of another account`
      if (subject?.kind === 'number' && subject.id !== row.number) {
        return `names record ${seq}, which is about another number`
      }
      const signed = seq === storedBy && row.wording !== undefined && after?.wordingSha256
      if (signed && signed !== digest(Buffer.from(row.wording ?? ''))) {
        return `has another wording than record ${seq} says`
      }
    }
    return undefined
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
        if (name !== `proofs/${entry.seq}.tlog-proof` || !proven.has(entry.seq)) {
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

/** Without a key, that of the bundle is used, which is not proof enough: it is a finding in `unchecked`. */
export function verifyBundle(
  files: Files,
  given: VerifierKey | undefined,
  witnesses: readonly VerifierKey[] = [],
): BundleVerification {
  const check = new BundleCheck(files)
  if (given === undefined) {
    check.unchecked.push('NO KEY WAS GIVEN: THE BUNDLE ONLY AGREES WITH ITSELF')
  }
  check.run('manifest.json', () => {
    const manifest = check.readManifest()
    check.checkFiles(manifest)
    check.run('checkpoint', () => {
      const head = check.openHead(manifest, given, witnesses)
      check.origin = head.origin
      const [own] = head.signatures
      if (own) check.checkStamps(head, own.key)
      check.run('entries.bin', () => {
        const entryOf = check.readEntries(manifest, head)
        check.run('records.txt', () => {
          const proven = check.checkRecords(entryOf)
          if (own) check.checkProofs(own.key, head.root, proven)
          check.checkState(proven)
        })
      })
    })
  })
  const { failures, unchecked, timestamps, origin, records, erased, cosigners, state } = check
  return { failures, unchecked, timestamps, origin, records, erased, cosigners, state }
}
