/** Which records a bundle shows, of those that it has entries of. Runs in the verifier, with Node alone. */
import { readRecord } from '../../../gate/record/read-record.js'
import { recordKinds } from '../../../transparency/log-entry.js'
import { isAsked, type Question } from '../question.js'

export type KindCounts = Readonly<Record<string, number>>

const kindNames = new Map<number, string>(
  Object.entries(recordKinds).map(([name, code]) => [code, name]),
)

function count(counts: Record<string, number>, kind: number): void {
  const name = kindNames.get(kind) ?? `kind ${kind}`
  counts[name] = (counts[name] ?? 0) + 1
}

export class ShownRecords {
  readonly #question: Question
  /** All entries of the span, and the records that are shown. */
  readonly entries: Record<string, number> = {}
  readonly shown: Record<string, number> = {}
  #hasAnswer = false
  /** Entries outside of the span, whose records must be shown. */
  #single = 0
  #singleShown = 0
  readonly #span: readonly [number, number] | null

  constructor(question: Question, span: readonly [number, number] | null) {
    this.#question = question
    this.#span = span
  }

  addEntry(seq: number, kind: number): void {
    if (this.#isInSpan(seq)) count(this.entries, kind)
    else this.#single += 1
  }

  addRecord(seq: number, kind: number, body: Buffer): void {
    count(this.shown, kind)
    if (!this.#isInSpan(seq)) this.#singleShown += 1
    if (this.#hasAnswer || (kind !== recordKinds.decision && kind !== recordKinds.amendment)) return
    this.#hasAnswer = isAsked(readRecord('decision', { seq, body }), this.#question)
  }

  /** What keeps the bundle from proving anything about its question, although nothing is false. */
  findMissing(): readonly string[] {
    if (!this.#hasAnswer) return ['NO RECORD IS SHOWN THAT ANSWERS THE QUESTION OF THE BUNDLE']
    const missing = this.#single - this.#singleShown
    return missing > 0 ? [`${missing} of ${this.#single} single records are not shown`] : []
  }

  #isInSpan(seq: number): boolean {
    return this.#span !== null && seq >= this.#span[0] && seq <= this.#span[1]
  }
}

/** `decision: 7, outcome: 1`. */
export const formatCounts = (counts: KindCounts): string =>
  Object.entries(counts)
    .map(([kind, count]) => `${kind}: ${count}`)
    .join(', ') || 'none'
