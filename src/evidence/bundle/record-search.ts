/** Finds the records of a journal that answer a question, and what they rest on, in one reading from its first record. */
import { AppError } from '../../errors.js'
import {
  isOfDecision,
  type JournalRecord,
  type RecordKind,
  type StoredRecord,
} from '../../gate/journal/segment-format.js'
import type { DecisionDocument } from '../../gate/record/decision-document.js'
import { type NoticeContent, type OutcomeNote, readRecord } from '../../gate/record/read-record.js'
import type { SeqRange } from '../../transparency/range-proof.js'
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
  /** Versions of the calling rules that the decisions name, in order. */
  readonly rules: readonly string[]
}

interface NoticedErasure {
  readonly seq: number
  readonly erasure: string
  readonly changed: readonly number[]
}

/** Is given all records in their order. */
export class RecordSearch {
  readonly basis: Basis
  readonly #question: Question
  readonly #ids = new Set<string>()
  readonly #seqs: number[] = []
  readonly #named = new Set<number>()
  /** About erasures: numbers of requests by their id, and the notices. */
  readonly #requests = new Map<string, number[]>()
  readonly #notices: NoticedErasure[] = []
  readonly #reported = new Map<string, DecisionDocument>()
  readonly #counts: Record<string, number> = {}
  readonly #rules = new Set<string>()
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
    if (kind === 'notice') this.#addNotice(seq, readRecord(kind, { seq, body }))
    else if (kind === 'erasure') this.#addRequest(seq, readRecord(kind, { seq, body }))
    else if (kind === 'audit') this.basis.addAudit(seq, body)
    else if (isOfDecision(kind)) {
      this.#addOfDecision({ seq, kind }, readRecord(kind, { seq, body }), isInTime)
    }
  }

  #addNotice(seq: number, { erasure, changed = [] }: NoticeContent): void {
    if (erasure !== undefined && changed.length > 0) {
      this.#notices.push({ seq, erasure, changed: changed.map(([of]) => of) })
    }
  }

  #addRequest(seq: number, { id }: { readonly id: string }): void {
    const known = this.#requests.get(id)
    if (known) known.push(seq)
    else this.#requests.set(id, [seq])
  }

  /** What was erased from records is shown by the notices of that, with the requests. */
  #takeErasures(): void {
    const taken = new Set(this.#seqs)
    const requested = new Set<string>()
    for (const { seq, erasure, changed } of this.#notices) {
      if (!changed.some((of) => taken.has(of))) continue
      this.take(seq, 'notice')
      requested.add(erasure)
    }
    for (const id of requested) {
      for (const seq of this.#requests.get(id) ?? []) this.take(seq, 'erasure')
    }
  }

  /** Outcomes follow their decision, whenever they were recorded. */
  #addOfDecision(
    { seq, kind }: Pick<JournalRecord, 'seq' | 'kind'>,
    content: DecisionDocument | OutcomeNote,
    isInTime: boolean,
  ): void {
    const { id } = content
    if ('findings' in content && isInTime && isAsked(content, this.#question)) {
      this.#ids.add(id)
      this.basis.addDecision(content)
      if (this.#reported.size < maxReported || this.#reported.has(id))
        this.#reported.set(id, content)
    }
    if (!this.#ids.has(id)) return
    this.take(seq, kind)
    if (!('findings' in content)) return
    this.#rules.add(content.rules)
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
    const taken = new Set(this.#seqs)
    for (const seq of this.#named) if (!taken.has(seq)) this.take(seq, 'audit')
    this.#takeErasures()
    const reported = [...this.#reported.values()]
    const isWhole = this.#question.without !== 'others'
    const shown = isWhole ? span : undefined
    const rules = [...this.#rules].sort()
    return { seqs: this.listSeqs(), span: shown, counts: this.#counts, reported, rules }
  }
}
