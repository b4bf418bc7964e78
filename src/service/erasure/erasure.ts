/**
 * Takes a number out of the rows of the database, as far as the law allows, and records that it was done,
 * without the number. The records of the journal follow: until they are done, the request has the number.
 */
import { sql } from 'kysely'
import { mainAccountId } from '../../domain/caller.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { recordAudit } from '../../storage/audit/audit-log.js'
import { edgeOriginMark } from '../../storage/cluster/edge-origins.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db, ErasureRow } from '../../storage/tables.js'
import { runTransaction } from '../sql/account-transaction.js'
import { eraseRows } from './erased-rows.js'
import type { ErasedRows, RowErasure } from './row-erasure.js'

export interface ErasureRequest extends Omit<RowErasure, 'at'> {
  readonly number: PhoneNumber
  /** Also in decisions that allowed a call. */
  readonly includesAllowed: boolean
  /** Who asks, for the record: a user of this machine. */
  readonly requestedBy: string
  readonly reason: string | undefined
}

export interface Erasure {
  readonly id: string
  readonly accountId: string | undefined
  readonly includesAllowed: boolean
  readonly requestedBy: string
  readonly reason: string | undefined
  readonly requestedAt: Instant
  readonly rows: readonly ErasedRows[]
  /** `undefined` while decisions are being erased. */
  readonly decisions: DecisionCounts | undefined
}

interface UnfinishedErasure extends Pick<ErasureRequest, 'accountId' | 'includesAllowed'> {
  readonly id: string
  readonly number: string
}

interface DecisionCounts {
  readonly erased: number
  readonly kept: number
}

interface ErasureDeps {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'author' | 'retryWhileLocked' | 'emptyLog'>
  readonly clock: Clock
  readonly randomBytes: (count: number) => Uint8Array
}

/** An edge that was cut off for longer may send decisions with the number. */
const keptForEdgesMs = 30 * msPerDay

export class Erasures {
  readonly #deps: ErasureDeps

  constructor(deps: ErasureDeps) {
    this.#deps = deps
  }

  /** What {@link Erasures.request} would do with the rows. Changes nothing. */
  async preview(request: ErasureRequest): Promise<readonly ErasedRows[]> {
    const { storage, clock } = this.#deps
    const undo = new Undo()
    const work = async (db: Db) => {
      undo.rows = await eraseRows(db, { ...request, at: clock.now() })
      throw undo
    }
    try {
      return await storage.retryWhileLocked(() => storage.db.transaction().execute(work))
    } catch (cause) {
      if (cause === undo) return undo.rows
      throw cause
    }
  }

  /** Erases the rows, and stores the request for the decisions in the same transaction. Returns its id. */
  async request(request: ErasureRequest): Promise<string> {
    const { storage, clock, randomBytes } = this.#deps
    const id = `e${Buffer.from(randomBytes(8)).toString('hex')}`
    await storage.retryWhileLocked(() =>
      storage.db.transaction().execute(async (db) => {
        const at = clock.now()
        const rows = await eraseRows(db, { ...request, at })
        await db
          .insertInto('erasures')
          .values({
            id,
            number: request.number,
            account_id: request.accountId ?? null,
            includes_allowed: request.includesAllowed ? 1 : 0,
            requested_by: request.requestedBy,
            reason: request.reason ?? null,
            requested_at: at,
            rows: JSON.stringify(rows),
            decisions_erased: null,
            decisions_kept: null,
            finished_at: null,
          })
          .execute()
        const { includesAllowed } = request
        await recordAudit(db, {
          by: storage.author,
          accountId: request.accountId ?? mainAccountId,
          action: 'erasure.requested',
          subject: { kind: 'erasure', id },
          after: {
            includesAllowed,
            rows: rows.map(({ what, count, result }) => [what, count, result]),
          },
          reason: request.reason,
          at,
        })
      }),
    )
    return id
  }

  /**
   * Those whose decisions are not erased yet, oldest first; without those that a journal is done with, if there are
   * several.
   */
  async findUnfinished(origin: string): Promise<readonly UnfinishedErasure[]> {
    const { db, traits } = this.#deps.storage
    const done = db
      .selectFrom('erased_journals')
      .select('erasure_id')
      .where('origin', '=', origin)
      .where('erased', 'is not', null)
    const rows = await db
      .selectFrom('erasures')
      .select(['id', 'number', 'account_id', 'includes_allowed'])
      .where('finished_at', 'is', null)
      .$if(traits.isShared, (query) => query.where('id', 'not in', done))
      .orderBy('requested_at')
      .execute()
    return rows.map(({ id, number, account_id, includes_allowed }) => ({
      id,
      number: number ?? '',
      accountId: account_id ?? undefined,
      includesAllowed: includes_allowed === 1,
    }))
  }

  /** One journal no longer has the number. */
  async finishJournal(id: string, origin: string, { erased, kept }: DecisionCounts): Promise<void> {
    const counts = { erased, kept }
    if (!this.#deps.storage.traits.isShared) return await this.#finish(id, counts)
    const row = { erasure_id: id, origin, ...counts }
    await this.#deps.storage.db
      .insertInto('erased_journals')
      .values({ ...row, rows_done: 0 })
      .onConflict((conflict) => conflict.columns(['erasure_id', 'origin']).doUpdateSet(counts))
      .execute()
    await this.finishShared(id)
  }

  /**
   * Finishes one of several journals if all of them no longer have the number, nor what is copied of them. The journals of
   * edges know nothing of it.
   */
  async finishShared(id: string): Promise<void> {
    const { db } = this.#deps.storage
    const { rows } = await sql<DecisionCounts>`
      select coalesce(sum(erased), 0)::int as erased, coalesce(sum(kept), 0)::int as kept
      from (select 1) as always left join erased_journals on erasure_id = ${id} where not exists (
        select 1 from journals where origin not like ${`%${edgeOriginMark}%`} and not exists (
          select 1 from erased_journals as done
          where done.erasure_id = ${id} and done.origin = journals.origin
          and rows_done = 1 and (erased is not null or shipped = 1)))
      having count(*) > 0 and exists (
        select 1 from journals where origin not like ${`%${edgeOriginMark}%`})`.execute(db)
    const [counts] = rows
    if (counts && (await this.find(id))?.decisions === undefined) await this.#finish(id, counts)
  }

  /**
   * The decisions no longer have the number, and neither has the request from now on, unless an edge may still send
   * decisions with it.
   */
  async #finish(id: string, { erased, kept }: DecisionCounts): Promise<void> {
    const { storage, clock } = this.#deps
    const hasEdges = storage.traits.isShared && (await this.#hasEdges())
    await runTransaction(storage, async (db) => {
      const finished = await db
        .updateTable('erasures')
        .set({
          ...(!hasEdges && { number: null }),
          decisions_erased: erased,
          decisions_kept: kept,
          finished_at: clock.now(),
        })
        .where('id', '=', id)
        .returning('account_id')
        .executeTakeFirst()
      if (!finished) return
      await recordAudit(db, {
        by: storage.author,
        accountId: finished.account_id ?? mainAccountId,
        action: 'erasure.finished',
        subject: { kind: 'erasure', id },
        after: { decisions: { erased, kept } },
        at: clock.now(),
      })
    })
    await storage.emptyLog()
  }

  async #hasEdges(): Promise<boolean> {
    const edge = await this.#deps.storage.db
      .selectFrom('journals')
      .select('origin')
      .where('origin', 'like', `%${edgeOriginMark}%`)
      .limit(1)
      .executeTakeFirst()
    return edge !== undefined
  }

  async find(id: string): Promise<Erasure | undefined> {
    const row = await this.#deps.storage.db
      .selectFrom('erasures')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst()
    return row && toErasure(row)
  }

  /** All of them, oldest first. */
  async list(): Promise<readonly Erasure[]> {
    const rows = await this.#deps.storage.db
      .selectFrom('erasures')
      .selectAll()
      .orderBy('requested_at')
      .execute()
    return rows.map(toErasure)
  }

  /** Deletes the records about erased numbers that need not be kept any longer, and numbers kept for edges. */
  async deleteExpired(now: Instant): Promise<void> {
    const { storage } = this.#deps
    await storage.db.deleteFrom('ebr_records').where('erase_at', '<=', now).execute()
    await storage.db.deleteFrom('consents').where('erase_at', '<=', now).execute()
    await storage.db
      .updateTable('erasures')
      .set({ number: null })
      .where('number', 'is not', null)
      .where('finished_at', '<=', now - keptForEdgesMs)
      .execute()
  }
}

/** Undoes a transaction. */
class Undo extends Error {
  rows: readonly ErasedRows[] = []
}

function toErasure(row: ErasureRow): Erasure {
  const { decisions_erased: erased, decisions_kept: kept } = row
  return {
    id: row.id,
    accountId: row.account_id ?? undefined,
    includesAllowed: row.includes_allowed === 1,
    requestedBy: row.requested_by,
    reason: row.reason ?? undefined,
    requestedAt: row.requested_at,
    rows: JSON.parse(row.rows),
    decisions: erased === null || kept === null ? undefined : { erased, kept },
  }
}
