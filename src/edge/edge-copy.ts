/**
 * An edge's copy of its account in the database of its folder. Each part is replaced in one transaction together
 * with the cursor, so a crash leaves a copy that goes on where it was.
 */
import { type RawBuilder, sql } from 'kysely'
import {
  type AccountCopy,
  accountTables,
  type ChangesCopy,
  type CopiedRow,
  findAccountColumn,
  type NumberTable,
  numberTables,
  type RecordPage,
} from '../api/edges.js'
import type { Instant } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import type { EngineTraits, OpenDatabase } from '../storage/open-database.js'
import type { Db, InternalDncRow, Tables } from '../storage/tables.js'
import type { EdgeOptOutReport } from './center-client.js'

export type OptOutRow = Tables['edge_opt_outs']

/** What is still to be fetched; `after` is the key of the last row that was. */
interface MissingPart {
  readonly account: boolean
  readonly records: readonly { readonly table: NumberTable; readonly after: string }[]
}

export interface CopyState {
  /** Empty before anything was copied. */
  readonly cursor: string
  readonly accountId: string
  /** `undefined` if the copy is whole. */
  readonly missing: MissingPart | undefined
  /** What was stored until then is in the copy. */
  readonly currentAt: Instant
}

const allRecords = numberTables.map((table) => ({ table, after: '' }))
const everything: MissingPart = { account: true, records: allRecords }

export class EdgeCopy {
  readonly #storage: Pick<OpenDatabase, 'db' | 'retryWhileLocked' | 'traits'>

  constructor(storage: Pick<OpenDatabase, 'db' | 'retryWhileLocked' | 'traits'>) {
    this.#storage = storage
  }

  async read(): Promise<CopyState> {
    const row = await this.#storage.db
      .selectFrom('edge_copy')
      .selectAll()
      .where('id', '=', 1)
      .executeTakeFirst()
    return {
      cursor: row?.cursor ?? '',
      accountId: row?.account_id ?? '',
      missing: row?.missing ? JSON.parse(row.missing) : undefined,
      currentAt: row?.current_at ?? 0,
    }
  }

  /** Everything will be fetched again. Rows stay until they are replaced. */
  async startAgain(cursor: string, state: CopyState): Promise<CopyState> {
    const next = { ...state, cursor, missing: everything, currentAt: 0 }
    return await this.#change(next, undefined, async () => undefined)
  }

  async storeCurrentAt(currentAt: Instant, state: CopyState): Promise<CopyState> {
    return await this.#change({ ...state, currentAt }, undefined, async () => undefined)
  }

  async applyChanges(changes: ChangesCopy, state: CopyState): Promise<CopyState> {
    const { cursor, ofAccount, ofAllNumbers, numbers, rows } = changes
    const missing = ofAccount
      ? { account: true, records: ofAllNumbers ? allRecords : [] }
      : undefined
    // While some records are missing, the copy is that of no moment.
    const currentAt = ofAllNumbers ? 0 : state.currentAt
    const next = { ...state, cursor, missing, currentAt }
    const isTouched =
      numbers.length === 0 ? undefined : sql<boolean>`number in (${sql.join(numbers)})`
    return await this.#change(next, isTouched, async (transaction) => {
      if (numbers.length === 0) return
      for (const table of numberTables) {
        await transaction
          .deleteFrom(table)
          .where('account_id', '=', state.accountId)
          .where('number', 'in', numbers)
          .execute()
        await this.#insert(transaction, table, rows[table])
      }
    })
  }

  /** Rows of other accounts, such as the sandbox, stay. */
  async replaceAccount({ accountId, tables }: AccountCopy, state: CopyState): Promise<CopyState> {
    const next = { ...state, accountId, missing: toMissing({ account: false }, state.missing) }
    // Projects may read other lists from now on.
    const isTouched = sql<boolean>`true`
    return await this.#change(next, isTouched, async (transaction) => {
      await sql`pragma defer_foreign_keys = on`.execute(transaction)
      // Another account of this folder may have the same ids, which its own database has given.
      const ids = tables.campaigns.map(({ id }) => Number(id))
      if (ids.length > 0) {
        await transaction.deleteFrom('campaigns').where('id', 'in', ids).execute()
      }
      for (const table of accountTables) {
        const column = findAccountColumn(table)
        const isOwn =
          column === undefined ? sql`true` : sql`${sql.ref(column)} in (${accountId}, '')`
        await sql`delete from ${sql.table(table)} where ${isOwn}`.execute(transaction)
        await this.#insert(transaction, table, tables[table])
      }
    })
  }

  /**
   * Replaces the rows after the last key of the page before, up to that of this page. Opt-outs that the center has lost stay, as if they
   * were given to this edge. They are returned, too.
   */
  async replacePage(
    page: RecordPage,
    state: CopyState,
  ): Promise<{ readonly state: CopyState; readonly lost: readonly InternalDncRow[] }> {
    const [first, ...others] = state.missing?.records ?? []
    if (!first) return { state, lost: [] }
    const rest = page.next === null ? [] : [{ table: first.table, after: page.next }]
    const missing = toMissing({ records: [...rest, ...others] }, state.missing)
    const range = keyRange(first.table, first.after, page.next)
    // A page of records may have newer ones of any number.
    const isTouched = first.table === 'internal_dnc' ? range : sql<boolean>`true`
    let lost: readonly InternalDncRow[] = []
    const replace = async (transaction: Db) => {
      await sql`delete from ${sql.table(first.table)}
        where account_id = ${state.accountId} and ${range}`.execute(transaction)
      await this.#insert(transaction, first.table, page.rows)
    }
    const next = await this.#change({ ...state, missing }, isTouched, replace, async (db) => {
      if (first.table !== 'internal_dnc') return
      lost = await findLost(db, { accountId: state.accountId, range, rows: page.rows })
      if (lost.length > 0) await offer(db, lost, this.#storage.traits)
    })
    return { state: next, lost }
  }

  /** With opt-outs that the center may not know. */
  async listOptOutProjects(): Promise<readonly string[]> {
    const rows = await this.#storage.db
      .selectFrom('edge_opt_outs')
      .select('project')
      .distinct()
      .execute()
    return rows.map(({ project }) => project)
  }

  /** The oldest of a project. */
  async readOptOuts(project: string, limit: number): Promise<readonly OptOutRow[]> {
    return await this.#storage.db
      .selectFrom('edge_opt_outs')
      .selectAll()
      .where('project', '=', project)
      .orderBy('added_at')
      .limit(limit)
      .execute()
  }

  /** An opt-out for all lists of the account, with what the person said. */
  async readReport({
    account_id: accountId,
    number,
    added_at: addedAt,
  }: OptOutRow): Promise<EdgeOptOutReport> {
    const statement = await this.#storage.db
      .selectFrom('opt_out_statements')
      .select(['said', 'goods', 'source', 'channel', 'received_at'])
      .where('account_id', '=', accountId)
      .where('number', '=', number)
      .where('scope', '=', 'everything')
      .orderBy('heard_at', 'desc')
      .limit(1)
      .executeTakeFirst()
    return {
      number,
      scope: 'everything',
      reference: `edge ${formatInstant(addedAt)}`,
      said: statement?.said ?? undefined,
      goods: statement?.goods ?? undefined,
      source: statement?.source ?? 'edge',
      channel: statement?.channel ?? undefined,
      receivedAt: statement?.received_at ?? addedAt,
    }
  }

  /** Replaces what was kept for the center by its rows of these numbers, except opt-outs that were added again since. */
  async forgetOptOuts(
    optOuts: readonly OptOutRow[],
    rows: readonly CopiedRow[],
    state: CopyState,
  ): Promise<CopyState> {
    const numbers = optOuts.map(({ number }) => number)
    const isTouched = sql<boolean>`number in (${sql.join(numbers)})`
    const forget = async (transaction: Db) => {
      for (const { account_id, project, number, added_at } of optOuts) {
        await transaction
          .deleteFrom('edge_opt_outs')
          .where('account_id', '=', account_id)
          .where('project', '=', project)
          .where('number', '=', number)
          .where('added_at', '=', added_at)
          .execute()
      }
    }
    return await this.#change(
      state,
      isTouched,
      async (transaction) => {
        await transaction
          .deleteFrom('internal_dnc')
          .where('account_id', '=', state.accountId)
          .where(isTouched)
          .execute()
        await this.#insert(transaction, 'internal_dnc', rows)
      },
      forget,
    )
  }

  /** `isTouched` selects the rows of `internal_dnc` that the work may replace. */
  async #change(
    next: CopyState,
    isTouched: RawBuilder<boolean> | undefined,
    work: (transaction: Db) => Promise<void>,
    prepare?: (transaction: Db) => Promise<void>,
  ): Promise<CopyState> {
    const row = {
      account_id: next.accountId,
      cursor: next.cursor,
      missing: next.missing ? JSON.stringify(next.missing) : null,
      current_at: next.currentAt,
    }
    const { db, retryWhileLocked } = this.#storage
    await retryWhileLocked(() =>
      db.transaction().execute(async (transaction) => {
        await transaction
          .insertInto('edge_copy')
          .values({ id: 1, ...row })
          .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
          .execute()
        await raiseSequence(transaction, Number(next.cursor.split('-', 1)[0] ?? 0))
        await prepare?.(transaction)
        const kept = isTouched ? await readKeptOptOuts(transaction, isTouched) : []
        await work(transaction)
        for (const optOut of kept) await keepOptOut(transaction, optOut)
      }),
    )
    return next
  }

  async #insert(transaction: Db, table: keyof Tables, rows: readonly CopiedRow[]): Promise<void> {
    if (rows.length === 0) return
    const seqs = rows.map((row) => Number(row.stored_seq ?? row.opted_out_seq ?? 0))
    await raiseSequence(transaction, Math.max(...seqs))
    const columns = Object.keys(rows[0] ?? {})
    const perStatement = Math.floor(this.#storage.traits.maxParameters / columns.length)
    for (let from = 0; from < rows.length; from += perStatement) {
      const values = rows.slice(from, from + perStatement)
      await transaction
        .insertInto(table)
        .values(values as never)
        .execute()
    }
  }
}

function toMissing(
  done: Partial<MissingPart>,
  before: MissingPart | undefined,
): MissingPart | undefined {
  const { account, records } = { account: false, records: [], ...before, ...done }
  return account || records.length > 0 ? { account, records } : undefined
}

/** Of a page, whose last row is `last`; null if it is the last page. */
function keyRange(table: NumberTable, after: string, last: string | null): RawBuilder<boolean> {
  if (table === 'ebr_records') {
    const isAfter = sql<boolean>`id > ${Number(after)}`
    return last === null ? isAfter : sql<boolean>`${isAfter} and id <= ${Number(last)}`
  }
  const isAfter = sql<boolean>`(list, number) > (${after.slice(11)}, ${after.slice(0, 10)})`
  return last === null
    ? isAfter
    : sql<boolean>`${isAfter} and (list, number) <= (${last.slice(11)}, ${last.slice(0, 10)})`
}

/** An opt-out that is given to this edge is then later than all that it has been sent. */
async function raiseSequence(transaction: Db, seq: number): Promise<void> {
  await transaction
    .updateTable('change_head')
    .set({ seq: sql`max(seq, ${seq})` })
    .execute()
}

/**
 * Opt-outs of the range that the center has lost, as after the restore of a backup. It keeps the row of an opt-out that has ended, so a
 * row that is missing there, or was stored earlier than the one here, is a lost one.
 */
async function findLost(
  db: Db,
  {
    accountId,
    range,
    rows,
  }: {
    readonly accountId: string
    readonly range: RawBuilder<boolean>
    readonly rows: readonly CopiedRow[]
  },
): Promise<readonly InternalDncRow[]> {
  const own = await db
    .selectFrom('internal_dnc')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('removed_at', 'is', null)
    .where(range)
    // Those that wait for the center may be on the list that their project read before.
    .where(
      sql<boolean>`(number, stored_at) not in (
        select number, added_at from edge_opt_outs where account_id = ${accountId})`,
    )
    .execute()
  const storedAt = new Map(rows.map((row) => [`${row.number} ${row.list}`, Number(row.stored_at)]))
  return own.filter((row) => (storedAt.get(`${row.number} ${row.list}`) ?? 0) < row.stored_at)
}

async function offer(
  db: Db,
  lost: readonly InternalDncRow[],
  { maxParameters }: Pick<EngineTraits, 'maxParameters'>,
): Promise<void> {
  const perStatement = Math.floor(maxParameters / 5)
  for (let from = 0; from < lost.length; from += perStatement) {
    const rows = lost.slice(from, from + perStatement)
    await db
      .insertInto('edge_opt_outs')
      .values(
        rows.map(({ account_id, list, number, stored_at: added_at }) => {
          return { account_id, project: list, list, number, added_at }
        }),
      )
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

interface KeptOptOut extends InternalDncRow {
  readonly project: string
}

/** Opt-outs that the center may not have, with their rows. */
async function readKeptOptOuts(
  transaction: Db,
  isTouched: RawBuilder<boolean>,
): Promise<readonly KeptOptOut[]> {
  const { rows } = await sql<KeptOptOut>`
    select internal_dnc.*, project from internal_dnc join edge_opt_outs using (account_id, list, number)
    where ${isTouched}`.execute(transaction)
  return rows
}

/** On the list that its project reads now. It is later than any consent that the center has sent. */
async function keepOptOut(transaction: Db, { project, ...row }: KeptOptOut): Promise<void> {
  const { account_id: accountId, number } = row
  const read = await transaction
    .selectFrom('projects')
    .select('inherits_internal_dnc')
    .where('account_id', '=', accountId)
    .where('code', '=', project)
    .executeTakeFirst()
  const own = read?.inherits_internal_dnc === 1 ? accountId : project
  const list = read === undefined ? row.list : own
  const { seq } = await transaction
    .selectFrom('change_head')
    .select('seq')
    .executeTakeFirstOrThrow()
  await transaction
    .replaceInto('internal_dnc')
    .values({ ...row, list, opted_out_seq: seq + 1 })
    .execute()
  await transaction
    .updateTable('edge_opt_outs')
    .set({ list })
    .where('account_id', '=', accountId)
    .where('project', '=', project)
    .where('number', '=', number)
    .execute()
}
