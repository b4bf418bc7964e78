/** Finds what was changed about the numbers of a bundle, by whom, and what their persons were told. */
import type { RecordKind, StoredRecord } from '../../gate/journal/segment-format.js'
import { readRecord } from '../../gate/record/read-record.js'
import type { Basis, Change } from './basis.js'

export class SubjectSearch {
  readonly #basis: Basis
  readonly #take: (seq: number, kind: RecordKind) => void
  readonly #changes = new Map<string, Change[]>()

  constructor(basis: Basis, take: (seq: number, kind: RecordKind) => void) {
    this.#basis = basis
    this.#take = take
  }

  /** Is given all records in their order, once the decisions are known. */
  add({ seq, kind, body }: StoredRecord): void {
    if (kind === 'receipt') {
      const { accountId = '', number = '' } = readRecord(kind, { seq, body })
      if (this.#basis.isSubject(accountId, number)) this.#take(seq, kind)
    } else if (kind === 'audit') {
      const { at, action, accountId, subject, after } = readRecord(kind, { seq, body })
      if (subject.kind !== 'number' || !this.#basis.isSubject(accountId, subject.id)) return
      this.#take(seq, kind)
      const { consentId } = Object(after)
      const change = { record: seq, at, action, consentId }
      const key = `${accountId} ${subject.id}`
      const known = this.#changes.get(key)
      if (known) known.push(change)
      else this.#changes.set(key, [change])
    }
  }

  /**
   * Of opt-outs (`opt-out`) or consents (`consent`) of a number. One of several numbers at once has none of them: it is found by its
   * instant.
   */
  findChanges(accountId: string, number: string, what: string, at?: number): readonly Change[] {
    const own = (this.#changes.get(`${accountId} ${number}`) ?? []).filter(({ action }) =>
      action.startsWith(what),
    )
    if (at === undefined || own.some((one) => one.at === at)) return own
    return [...this.#basis.findBatches(accountId, what, at), ...own]
  }
}
