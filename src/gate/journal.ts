/**
 * The record of every decision: the evidence that a call was asked about, what was found and why.
 * Records that arrive together are written in one transaction, so that a busy gate pays for one
 * disk flush per batch and not per call.
 */
import type { CompiledQuery } from 'kysely'
import type { Decision } from '../domain/decision.js'
import type { Db, DecisionRow } from '../storage/tables.js'
import { type DecisionDocument, decisionDocument } from './decision-document.js'

/** Told how many records wait, and of each write that failed. */
export interface JournalWatch {
  pending(count: number): void
  failed(cause: unknown): void
}

interface Waiting {
  readonly row: DecisionRow
  readonly written: () => void
  readonly failed: (cause: unknown) => void
}

const largestBatch = 1_000

export class Journal {
  readonly #db: Db
  readonly #watch: JournalWatch
  readonly #insert: CompiledQuery
  #waiting: Waiting[] = []
  #writing: Promise<void> | undefined
  #lastWriteFailed = false

  constructor(db: Db, watch: JournalWatch) {
    this.#db = db
    this.#watch = watch
    this.#insert = db
      .insertInto('decisions')
      .values(emptyRow)
      .onConflict((again) =>
        again.column('id').doUpdateSet((row) => ({
          decision: row.ref('excluded.decision'),
          reason: row.ref('excluded.reason'),
          body: row.ref('excluded.body'),
        })),
      )
      .compile()
  }

  /** False from a failed write until the next one that succeeds; readiness shows it. */
  get healthy(): boolean {
    return !this.#lastWriteFailed
  }

  /**
   * Resolves when the decision is on disk; rejects when it could not be written. The same id again
   * replaces the record: an allow that was withheld because its record came late.
   */
  append(decision: Decision): Promise<void> {
    const row = rowOf(decision)
    return new Promise((written, failed) => {
      this.#waiting.push({ row, written, failed })
      this.#watch.pending(this.#waiting.length)
      this.#writing ??= this.#writeAll()
    })
  }

  /** The record of one decision; `undefined` when the account has none of that id. */
  async find(accountId: string, id: string): Promise<DecisionDocument | undefined> {
    const row = await this.#db
      .selectFrom('decisions')
      .select('body')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    return row === undefined ? undefined : (JSON.parse(row.body) as DecisionDocument)
  }

  /** Waits until everything handed in so far has been tried. */
  async drain(): Promise<void> {
    await this.#writing
  }

  /** The turn of the event loop before each batch lets the requests of one turn share a flush. */
  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise<void>((resume) => setImmediate(resume))
      const batch = this.#waiting.splice(0, largestBatch)
      await this.#writeBatch(batch)
      this.#watch.pending(this.#waiting.length)
    }
    this.#writing = undefined
  }

  async #writeBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#db.transaction().execute(async (transaction) => {
        for (const { row } of batch) {
          await transaction.executeQuery({ ...this.#insert, parameters: Object.values(row) })
        }
      })
      this.#lastWriteFailed = false
      for (const { written } of batch) written()
    } catch (cause) {
      this.#lastWriteFailed = true
      for (const { failed } of batch) {
        this.#watch.failed(cause)
        failed(cause)
      }
    }
  }
}

/** Gives the statement its columns, in the order {@link rowOf} fills them. */
const emptyRow: DecisionRow = {
  id: '',
  account_id: '',
  decided_at: 0,
  number: '',
  call_kind: '',
  decision: 'block',
  reason: '',
  via: '',
  what_if: 0,
  body: '',
}

function rowOf(decision: Decision): DecisionRow {
  const { request } = decision
  return {
    id: decision.id,
    account_id: decision.accountId,
    decided_at: decision.decidedAt,
    number: decision.number,
    call_kind: request.callKind,
    decision: decision.decision,
    reason: decision.reason,
    via: request.via,
    what_if: request.at === undefined ? 0 : 1,
    body: JSON.stringify(decisionDocument(decision)),
  }
}
