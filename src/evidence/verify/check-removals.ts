/** Whether the first records of a journal were removed as its signed notices say, and not before their time. */
import type { Instant } from '../../domain/time/clock.js'
import { addMonths, formatInstant, toUtcDay } from '../../domain/time/dates.js'
import type { TreeReader } from '../../gate/journal/tree/tree-files.js'
import { decodeEntry } from '../../transparency/log-entry.js'
import type { SeqRange } from '../../transparency/range-proof.js'
import type { RemovalNotice } from '../../transparency/removal-notices.js'
import type { SeenHead } from './check-times.js'
import type { Findings } from './findings.js'

/** A checkpoint follows within ten seconds while a server runs. */
export const later = 'Verify again in a minute'

interface Dated {
  readonly at: Instant
  readonly by: string
}

interface SignedRemoval extends RemovalNotice {
  readonly seq: number
  /** Those that no earlier notice says. */
  readonly range: SeqRange
  /** When the last one of them was written. */
  readonly newest: Instant
  /** Of the notice and the records up to the next notice. */
  earliest: Dated
}

export interface JournalStart {
  /** Number of the first record that is there. */
  readonly firstSeq: number
  /** The same as `begins.json` says. */
  readonly copied: number
  readonly seen: readonly SeenHead[]
  readonly now: Instant
}

export class RemovalCheck {
  readonly #reader: TreeReader
  readonly #signed: SignedRemoval[] = []
  /** Number of the first record that stays, as any notice says. */
  #noted = 1
  #longestKeepYears = 0

  constructor(reader: TreeReader) {
    this.#reader = reader
  }

  /** Of a signed record of a start. */
  addStart(keepYears: number): void {
    this.#longestKeepYears = Math.max(this.#longestKeepYears, keepYears)
  }

  addUnsigned({ firstSeq }: RemovalNotice): void {
    this.#noted = Math.max(this.#noted, firstSeq)
  }

  addSigned(seq: number, at: Instant, notice: RemovalNotice): void {
    this.addUnsigned(notice)
    const first = this.#signed.at(-1)?.firstSeq ?? 1
    if (notice.firstSeq <= first) return
    const range = [first, notice.firstSeq - 1] as const
    // The start that the next notice would have found may be among what this one has removed.
    this.addStart(notice.longestKeepYears)
    const longestKeepYears = this.#longestKeepYears
    const earliest = { at, by: `the notice, record ${seq},` }
    const newest = this.#findNewest(range)
    this.#signed.push({ ...notice, longestKeepYears, seq, range, newest, earliest })
  }

  /** Of every signed record. One that is older than what was removed says that a clock was behind, and no more. */
  addTime(seq: number, at: Instant): void {
    const latest = this.#signed.at(-1)
    if (latest && at < latest.earliest.at && at > latest.newest) {
      latest.earliest = { at, by: `the later record ${seq}` }
    }
  }

  #findNewest([first, last]: SeqRange): Instant {
    let newest = 0
    try {
      for (let seq = first; seq <= last; seq += 1) {
        newest = Math.max(newest, decodeEntry(this.#reader.readEntry(seq - 1))?.at ?? 0)
      }
    } catch {
      // It is a finding of the tiles.
    }
    return newest
  }

  finish(start: JournalStart, findings: Findings): void {
    this.#checkStart(start, findings)
    let earliest: Dated = { at: start.now, by: 'the clock of this check' }
    for (const removal of this.#signed.toReversed()) {
      if (removal.earliest.at < earliest.at) earliest = removal.earliest
      const seen = start.seen.filter(({ size }) => size >= removal.seq)
      const measured = [earliest, ...seen].reduce((a, b) => (b.at < a.at ? b : a))
      if (removal.range[0] < start.firstSeq) checkAge(removal, measured, findings)
    }
  }

  #checkStart({ firstSeq, copied }: JournalStart, findings: Findings): void {
    const signed = this.#signed.at(-1)?.firstSeq ?? 1
    if (firstSeq > this.#noted) {
      const missing = `records ${this.#noted} to ${firstSeq - 1} are missing`
      findings.add('false', `${missing}, and no record says that they were removed`, [
        this.#noted,
        firstSeq - 1,
      ])
    } else if (firstSeq > signed) {
      const missing = `records ${signed} to ${firstSeq - 1} are missing`
      findings.add('unchecked', `${missing}, and no notice of their removal is signed. ${later}`, [
        signed,
        firstSeq - 1,
      ])
    }
    if (copied >= firstSeq && copied <= this.#noted) return
    const rule = `begins.json says that the journal begins with record ${copied}`
    const found = `the last notice of a removal says record ${this.#noted}`
    findings.add('false', `${rule}, but its first record is ${firstSeq}, and ${found}`)
  }
}

function checkAge(removal: SignedRemoval, measured: Dated, findings: Findings): void {
  const { newest, keepYears, longestKeepYears, range, seq } = removal
  const removed = `records ${range[0]} to ${range[1]} were removed, as record ${seq} says`
  const ages = `the last of them is of ${formatInstant(newest)}, and ${measured.by} of ${formatInstant(measured.at)}`
  if (!isOlder(newest, measured.at, keepYears)) {
    const rule = `too early: journal.keepYears was ${keepYears}, ${ages}`
    findings.add('false', `${removed}, ${rule}`, range)
  } else if (!isOlder(newest, measured.at, longestKeepYears)) {
    const rule = `after journal.keepYears was shortened from ${longestKeepYears} to ${keepYears}; ${ages}`
    findings.add('unchecked', `${removed}, ${rule}`, range)
  }
}

function isOlder(at: Instant, now: Instant, years: number): boolean {
  return toUtcDay(at) < addMonths(toUtcDay(now), -12 * years)
}
