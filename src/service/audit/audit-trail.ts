/** Reads the audit table. */
import { type Caller, nameCaller } from '../../domain/caller.js'
import { parsePhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { AppError, invalidRequest } from '../../errors.js'
import { waitForNextTurn } from '../../runtime/yield-to-event-loop.js'
import {
  type AuditRecord,
  changeAudit,
  hashNumber,
  type MarkedAuditRecord,
} from '../../storage/audit/audit-log.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import type { AuditRow, Db } from '../../storage/tables.js'
import { runTransaction } from '../sql/account-transaction.js'
import type { RecordRead } from './read-log.js'

export interface AuditQuestion {
  /** Inclusive. */
  readonly from?: Instant | undefined
  /** Exclusive. */
  readonly to?: Instant | undefined
  readonly action?: string | undefined
  readonly who?: string | undefined
  /** An id; ten digits also find the reads of that number, which have its keyed hash. */
  readonly subject?: string | undefined
  /** Of the page before. */
  readonly cursor?: string | undefined
}

export interface AuditPage {
  readonly records: readonly AuditRecord[]
  /** For the next page; null if this is the last. */
  readonly cursor: string | null
}

/** Pages that are read one after the other. */
interface AuditExport {
  readonly pages: AsyncIterable<readonly AuditRecord[]>
  /** Once all have been read, where more begin; `undefined` if these are all. */
  readonly getNextCursor: () => string | undefined
}

const rowsOfPage = 200

export class AuditTrail {
  readonly #db: Db
  readonly #recordRead: RecordRead

  constructor({ db }: Pick<ThreadDatabase, 'db'>, recordRead: RecordRead) {
    this.#db = db
    this.#recordRead = recordRead
  }

  /**
   * The rows of the account, newest first. Throws `forbidden` unless the caller is an Administrator without a limit to projects, and
   * `invalid-request` for a cursor that is of no page.
   */
  async list(caller: Caller, question: AuditQuestion): Promise<AuditPage> {
    requireAdministrator(caller)
    const page = await this.#readPage(caller, question, rowsOfPage)
    await this.#record(caller, question, page.records.length)
    return page
  }

  /** As {@link AuditTrail.list}, page by page, and at most `maxRows`. It is one read, which is recorded before the first page. */
  async export(caller: Caller, question: AuditQuestion, maxRows: number): Promise<AuditExport> {
    requireAdministrator(caller)
    let page = await this.#readPage(caller, question, Math.min(rowsOfPage, maxRows))
    await this.#record(caller, question)
    const readPage = this.#readPage.bind(this)
    async function* readPages() {
      let left = maxRows - page.records.length
      yield page.records
      while (page.cursor !== null && left > 0) {
        // Other requests are answered in between.
        await waitForNextTurn()
        page = await readPage(
          caller,
          { ...question, cursor: page.cursor },
          Math.min(rowsOfPage, left),
        )
        left -= page.records.length
        yield page.records
      }
    }
    return { pages: readPages(), getNextCursor: () => page.cursor ?? undefined }
  }

  async #readPage(
    { accountId }: Caller,
    { from, to, action, who, subject, cursor }: AuditQuestion,
    limit: number,
  ): Promise<AuditPage> {
    const position = cursor === undefined ? undefined : readCursor(cursor)
    const number = parsePhoneNumber(subject ?? '')
    const subjects = [subject ?? '', ...(number ? [await hashNumber(this.#db, number)] : [])]
    const rows = await this.#db
      .selectFrom('audit')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(from !== undefined, (query) => query.where('at', '>=', from ?? 0))
      .$if(to !== undefined, (query) => query.where('at', '<', to ?? 0))
      .$if(action !== undefined, (query) => query.where('action', '=', action ?? ''))
      .$if(who !== undefined, (query) => query.where('who', '=', who ?? ''))
      .$if(subject !== undefined, (query) => query.where('subject', 'in', subjects))
      .$if(position !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('at', 'seq'), '<', tuple(position?.at ?? 0, position?.seq ?? 0)),
        ),
      )
      .orderBy('at', 'desc')
      .orderBy('seq', 'desc')
      .limit(limit + 1)
      .execute()
    const records = rows.slice(0, limit).map(toRecord)
    const last = records.at(-1)
    const hasMore = rows.length > records.length
    return { records, cursor: last && hasMore ? `${last.at}-${last.seq}` : null }
  }

  #record(caller: Caller, { subject = '' }: AuditQuestion, rows?: number): Promise<void> {
    const number = parsePhoneNumber(subject)
    return this.#recordRead(caller, {
      what: 'audit.read',
      subject: number ? { kind: 'number', id: number } : { kind: 'audit', id: '' },
      rows,
    })
  }
}

/**
 * Rows of all accounts after a number, in the order of the commits, which is that of their numbers. It is complete: no row with a smaller
 * number than the last one can appear later, and none is missing in between, except those that retention has deleted.
 */
export async function listAfter(
  db: Db,
  seq: number,
  limit: number,
): Promise<readonly MarkedAuditRecord[]> {
  const query = db.selectFrom('audit').selectAll().where('seq', '>', seq).orderBy('seq')
  const rows = await query.limit(limit).execute()
  return rows.map((row) => ({ ...toRecord(row), mark: row.mark }))
}

/** Other writes wait for one statement. */
const maxDeletedAtOnce = 500

/** Deletes some of the rows from before that instant. Returns whether there may be more. */
export async function deleteOldAudit(
  storage: Pick<ThreadDatabase, 'db' | 'retryWhileLocked'>,
  before: Instant,
): Promise<boolean> {
  const old = await storage.db
    .selectFrom('audit')
    .select('seq')
    .where('at', '<', before)
    .orderBy('seq')
    .limit(maxDeletedAtOnce)
    .execute()
  if (old.length === 0) return false
  const seqs = old.map(({ seq }) => seq)
  await runTransaction(storage, (transaction) =>
    changeAudit(transaction, async () => {
      await transaction.deleteFrom('audit').where('seq', 'in', seqs).execute()
    }),
  )
  return old.length === maxDeletedAtOnce
}

function requireAdministrator(caller: Caller): void {
  if (caller.role === 'Administrator' && caller.limits.projects === 'any') return
  const rule = 'reading who did what needs role Administrator and no limit to projects'
  throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
}

function readCursor(text: string): { readonly at: Instant; readonly seq: number } {
  const [, at, seq] = /^(\d{1,15})-(\d{1,15})$/.exec(text) ?? []
  if (seq !== undefined) return { at: Number(at), seq: Number(seq) }
  const rule = 'must be the cursor of the page before'
  throw invalidRequest([{ field: 'cursor', value: text, rule }])
}

function toRecord({ account_id, subject_kind, subject, before, after, mark, ...row }: AuditRow) {
  return {
    ...row,
    accountId: account_id,
    subject: { kind: subject_kind, id: subject },
    before: before === null ? null : JSON.parse(before),
    after: after === null ? null : JSON.parse(after),
  } satisfies AuditRecord
}
