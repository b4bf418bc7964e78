/** Finds the records of a journal that answer a question, and what they rest on, in one reading from its first record. */
import { AppError } from '../../errors.js'
import type { DecisionDocument } from '../../gate/decision-document.js'
import type { SeqRange } from '../../gate/journal/removal/changed-records.js'
import {
  isOfDecision,
  type JournalRecord,
  type RecordKind,
  type StoredRecord,
} from '../../gate/journal/segment-format.js'
import { Basis } from './basis.js'
import { isAsked, type Question } from './question.js'

const maxReported = 500

export interface Selection {
  /** In order. */
  readonly seqs: readonly number[]
  /** Of which all entries are to be packed; `undefined` if only those of the records. */
  readonly span: SeqRange | undefined
  readonly counts: Readonly<Record<string, number>>
  readonly reported: readonly DecisionDocument[]
}

/** Is given all records in their order. */
export class RecordSearch {
  readonly basis: Basis
  readonly #question: Question
  readonly #ids = new Set<string>()
  readonly #seqs: number[] = []
  readonly #named = new Set<number>()
  readonly #notices: { readonly seq: number; readonly changed: readonly SeqRange[] }[] = []
  readonly #reported = new Map<string, DecisionDocument>()
  readonly #counts: Record<string, number> = {}
  /** The first and the last record of the time that was asked for. */
  #inTime: SeqRange | undefined
  #ofDecisions: SeqRange | undefined

  constructor(question: Question) {
    this.#question = question
    this.basis = new Basis(question)
  }

  add({ seq, kind, at, body }: StoredRecord): void {
    const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = this.#question
    const isInTime = at >= from && at < to
    if (isInTime) this.#inTime = [this.#inTime?.[0] ?? seq, seq]
    if (kind === 'notice') {
      const { changed = [] }: { changed?: readonly SeqRange[] } = JSON.parse(body.toString())
      this.#notices.push({ seq, changed })
    } else if (kind === 'audit') this.basis.addAudit(seq, body)
    else if (isOfDecision(kind)) this.#addOfDecision({ seq, kind, body }, isInTime)
  }

  /** Outcomes follow their decision, whenever they were recorded. */
  #addOfDecision({ seq, kind, body }: Omit<JournalRecord, 'at'>, isInTime: boolean): void {
    const document: DecisionDocument = JSON.parse(body.toString())
    const { id } = document
    if (kind !== 'outcome' && isInTime && isAsked(document, this.#question)) {
      this.#ids.add(id)
      this.basis.addDecision(document)
      if (this.#reported.size < maxReported || this.#reported.has(id))
        this.#reported.set(id, document)
    }
    if (!this.#ids.has(id)) return
    this.take(seq, kind)
    if (kind === 'outcome') return
    this.#ofDecisions = [this.#ofDecisions?.[0] ?? seq, seq]
  }

  /** Each once. */
  take(seq: number, kind: RecordKind): void {
    this.#seqs.push(seq)
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1
  }

  /** Of what a row of the state names: an entry of the audit table, or a decision that is taken anyway. */
  takeNamed(seq: number): void {
    this.#named.add(seq)
  }

  /** Those that are taken so far, in order. */
  listSeqs(): readonly number[] {
    return this.#seqs.sort((a, b) => a - b)
  }

  /** Throws `not-found` if no record answers the question. */
  finish(): Selection {
    const span = this.#question.ids === undefined ? this.#inTime : this.#ofDecisions
    if (span === undefined || this.#seqs.length === 0) {
      throw new AppError('not-found', 'no signed record answers the question')
    }
    const taken = this.listSeqs()
    const others = [...this.#named].filter((seq) => findFrom(taken, seq) !== seq)
    for (const seq of others) this.take(seq, 'audit')
    const all = this.listSeqs()
    // What was erased from a record is shown by its notice.
    const isTaken = ([first, last]: SeqRange) =>
      (findFrom(all, first) ?? Number.POSITIVE_INFINITY) <= last
    const notices = this.#notices.filter(({ changed }) => changed.some(isTaken))
    for (const { seq } of notices) this.take(seq, 'notice')
    const reported = [...this.#reported.values()]
    const isWhole = this.#question.without !== 'others'
    const shown = isWhole ? span : undefined
    return { seqs: this.listSeqs(), span: shown, counts: this.#counts, reported }
  }
}

/** The first number that is not smaller. They are in order. */
function findFrom(numbers: readonly number[], least: number): number | undefined {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] ?? 0) < least) low = middle + 1
    else high = middle
  }
  return numbers[low]
}
