/** Whether the times of records can be right: between the heads that others have seen, and in their order. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, parseInstant } from '../../domain/time/dates.js'
import type { StoredRecord } from '../../gate/journal/segment-format.js'
import {
  cosignedPath,
  type TreeReader,
  timestampsPath,
} from '../../gate/journal/tree/tree-files.js'
import { readRecord } from '../../gate/record/read-record.js'
import { isPresent } from '../../runtime/folders.js'
import { openCheckpoint, parseCheckpoint } from '../../transparency/checkpoint.js'
import type { VerifierKey } from '../../transparency/signed-note.js'
import { checkStamp } from '../bundle/timestamp.js'
import { fileSource } from '../byte-source.js'
import { type KeptHeads, listHeads } from '../kept-heads.js'
import { hasRoot } from './compare-heads.js'
import type { FindingLevel, Findings } from './findings.js'

/** When somebody else had seen so many records. */
export interface SeenHead {
  readonly size: number
  readonly at: Instant
  /** The witness, or the authority of a time stamp. */
  readonly by: string
}

interface HeadsToRead {
  readonly reader: TreeReader
  readonly heads: readonly KeptHeads[]
  /** Of the journal, under each of its names. */
  readonly keys: readonly VerifierKey[]
  readonly witnesses: readonly VerifierKey[]
}

/** Those of the tree, from cosignatures and time stamps. What is not right is for the comparison of heads to find. */
export function readSeenHeads(read: HeadsToRead): readonly SeenHead[] {
  const { reader, heads, keys, witnesses } = read
  const tree = reader.folder
  const own = isPresent(cosignedPath(tree)) ? [fileSource(cosignedPath(tree))] : []
  const sources = witnesses.length === 0 ? [] : [...heads.map(({ source }) => source), ...own]
  const cosigned = sources.flatMap((source) =>
    [...listHeads(source)].flatMap(({ origin, signed }) => {
      const key = keys.find(({ name }) => name === origin)
      return key ? readIfRight(() => readCosignatures(signed, key, read)) : []
    }),
  )
  return [...cosigned, ...readStamps(reader)]
}

function readCosignatures(
  signed: string,
  key: VerifierKey,
  { reader, witnesses }: HeadsToRead,
): readonly SeenHead[] {
  const head = openCheckpoint(signed, key, witnesses)
  const { size, signatures } = head
  if (!hasRoot(head, reader)) return []
  return signatures.flatMap(({ key, at }) =>
    at === undefined ? [] : [{ size, at: at * 1_000, by: key.name }],
  )
}

/** Whether the authority is one to trust is not checked; a stamp of another one only makes a time wrong, never right. */
function readStamps(reader: TreeReader): readonly SeenHead[] {
  const folder = timestampsPath(reader.folder)
  const names = isPresent(folder) ? readdirSync(folder) : []
  return names
    .filter((name) => name.endsWith('.tsr'))
    .flatMap((name) =>
      readIfRight(() => {
        const path = join(folder, name)
        const stamped = readFileSync(path.replace(/\.tsr$/, '.checkpoint'))
        const head = parseCheckpoint(stamped.toString())
        const stamp = checkStamp(readFileSync(path), stamped)
        const at = parseInstant(stamp.at)
        return at === undefined || !hasRoot(head, reader)
          ? []
          : [{ size: head.size, at, by: stamp.by }]
      }),
    )
}

function readIfRight(read: () => readonly SeenHead[]): readonly SeenHead[] {
  try {
    return read()
  } catch {
    return []
  }
}

/** Of clocks, and of records that were not signed at once. */
const slackMs = 120_000
/** A clock that is set by NTP does not go back further. */
const maxBackMs = 2_000

type SeqRange = readonly [first: number, last: number]

/** Records that follow each other with the same fault are one finding. */
class FaultyRun {
  readonly #findings: Findings
  readonly #level: FindingLevel
  #seqs: SeqRange | undefined
  /** Of the first of them. */
  #because = ''

  constructor(findings: Findings, level: FindingLevel) {
    this.#findings = findings
    this.#level = level
  }

  add(seq: number, because: string): void {
    if (this.#seqs === undefined) this.#because = because
    this.#seqs = [this.#seqs?.[0] ?? seq, seq]
  }

  end(): void {
    if (this.#seqs === undefined) return
    const message = `the times of records cannot be right: they are ${this.#because}`
    this.#findings.add(this.#level, message, this.#seqs)
    this.#seqs = undefined
  }

  forget(): void {
    this.#seqs = undefined
  }
}

export class TimeCheck {
  /** In the order of their sizes. */
  readonly #heads: readonly SeenHead[]
  /** For each head, the earliest time of those from it on. */
  readonly #notAfter: readonly Instant[]
  /** How many heads the record that is looked at is not in, and the latest time of these. */
  #passed = 0
  #notBefore = Number.NEGATIVE_INFINITY
  #newest = { seq: 0, at: Number.NEGATIVE_INFINITY }
  readonly #tooOld: FaultyRun
  readonly #tooNew: FaultyRun
  readonly #back: FaultyRun

  constructor(heads: readonly SeenHead[], findings: Findings) {
    this.#heads = heads.toSorted((a, b) => a.size - b.size)
    const notAfter = this.#heads.map(({ at }) => at)
    for (let index = notAfter.length - 2; index >= 0; index -= 1) {
      notAfter[index] = Math.min(notAfter[index] ?? 0, notAfter[index + 1] ?? 0)
    }
    this.#notAfter = notAfter
    this.#tooOld = new FaultyRun(findings, 'false')
    this.#tooNew = new FaultyRun(findings, 'false')
    this.#back = new FaultyRun(findings, 'unchecked')
  }

  /** The records in their order. */
  add({ seq, kind, at, body }: StoredRecord): void {
    // It has the time of the decision that it changes.
    if (kind === 'amendment') return
    for (let next = this.#heads[this.#passed]; next && next.size < seq; ) {
      this.#notBefore = Math.max(this.#notBefore, next.at)
      this.#passed += 1
      next = this.#heads[this.#passed]
    }
    const notBefore = this.#notBefore
    const notAfter = this.#notAfter[this.#passed] ?? Number.POSITIVE_INFINITY
    if (at < notBefore - slackMs) {
      this.#tooOld.add(
        seq,
        `older than a head of ${formatInstant(notBefore)} that does not have them`,
      )
    } else this.#tooOld.end()
    if (at > notAfter + slackMs) {
      this.#tooNew.add(seq, `newer than a head of ${formatInstant(notAfter)} that has them`)
    } else this.#tooNew.end()
    const newest = this.#newest
    if (kind === 'audit' && isClockAccepted(body)) {
      this.#back.forget()
      this.#newest = { seq, at }
      return
    }
    if (at < newest.at - maxBackMs) {
      this.#back.add(
        seq,
        `older than record ${newest.seq} before them, of ${formatInstant(newest.at)}`,
      )
    } else this.#back.end()
    if (at > newest.at) this.#newest = { seq, at }
  }

  finish(): void {
    for (const run of [this.#tooOld, this.#tooNew, this.#back]) run.end()
  }
}

/** After it was ahead, the operator says that the clock is right now. */
function isClockAccepted(body: Buffer): boolean {
  if (!body.includes('"clock.accepted"')) return false
  return readRecord('audit', { body }).action === 'clock.accepted'
}
