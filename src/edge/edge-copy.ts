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
import type { OpenDatabase } from '../storage/open-database.js'
import type { Db, Tables } from '../storage/tables.js'

type OptOutRow = Tables['edge_opt_outs']

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
  readonly #columns = new Map<string, ReadonlySet<string>>()

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
    return await this.#change({ ...state, cursor, missing: everything }, async () => undefined)
  }

  async storeCurrentAt(currentAt: Instant, state: CopyState): Promise<CopyState> {
    return await this.#change({ ...state, currentAt }, async () => undefined)
  }

  async applyChanges(changes: ChangesCopy, state: CopyState): Promise<CopyState> {
    const { cursor, ofAccount, ofAllNumbers, numbers, rows } = changes
    const missing = ofAccount
      ? { account: true, records: ofAllNumbers ? allRecords : [] }
      : undefined
    const next = { ...state, cursor, missing }
    return await this.#change(next, async (transaction) => {
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
    if (state.accountId !== '' && state.accountId !== accountId) {
      const copied = `the data folder has a copy of account '${state.accountId}'`
      throw new Error(`the key is of account '${accountId}', but ${copied}; use a new folder`)
    }
    const next = { ...state, accountId, missing: toMissing({ account: false }, state.missing) }
    return await this.#change(next, async (transaction) => {
      await sql`pragma defer_foreign_keys = on`.execute(transaction)
      for (const table of accountTables) {
        const column = findAccountColumn(table)
        const isOwn = column === undefined ? sql`true` : sql`${sql.ref(column)} = ${accountId}`
        await sql`delete from ${sql.table(table)} where ${isOwn}`.execute(transaction)
        await this.#insert(transaction, table, tables[table])
      }
    })
  }

  /** Replaces the rows after the last key of the page before, up to that of this page. */
  async replacePage(page: RecordPage, state: CopyState): Promise<CopyState> {
    const [first, ...others] = state.missing?.records ?? []
    if (!first) return state
    const rest = page.next === null ? [] : [{ table: first.table, after: page.next }]
    const missing = toMissing({ records: [...rest, ...others] }, state.missing)
    return await this.#change({ ...state, missing }, async (transaction) => {
      const range = keyRange(first.table, first.after, page.next)
      await sql`delete from ${sql.table(first.table)}
        where account_id = ${state.accountId} and ${range}`.execute(transaction)
      await this.#insert(transaction, first.table, page.rows)
    })
  }

  /** Opt-outs that the center may not know. */
  async readOptOuts(limit: number): Promise<readonly OptOutRow[]> {
    return await this.#storage.db
      .selectFrom('edge_opt_outs')
      .selectAll()
      .orderBy('added_at')
      .limit(limit)
      .execute()
  }

  /** They are in what the center has sent, unless they were added again since. */
  async forgetOptOuts(optOuts: readonly OptOutRow[]): Promise<void> {
    await this.#storage.retryWhileLocked(() =>
      this.#storage.db.transaction().execute(async (transaction) => {
        for (const { account_id, list, number, added_at } of optOuts) {
          await transaction
            .deleteFrom('edge_opt_outs')
            .where('account_id', '=', account_id)
            .where('list', '=', list)
            .where('number', '=', number)
            .where('added_at', '=', added_at)
            .execute()
        }
      }),
    )
  }

  async #change(next: CopyState, work: (transaction: Db) => Promise<void>): Promise<CopyState> {
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
        // An opt-out that is given to this edge is then later than all that it knows.
        const seq = Number(next.cursor.split('-', 1)[0] ?? 0)
        await transaction
          .updateTable('change_head')
          .set({ seq: sql`max(seq, ${seq})` })
          .execute()
        const kept = await readKeptOptOuts(transaction)
        await work(transaction)
        for (const optOut of kept) await keepOptOut(transaction, optOut)
      }),
    )
    return next
  }

  async #insert(transaction: Db, table: keyof Tables, rows: readonly CopiedRow[]): Promise<void> {
    if (rows.length === 0) return
    const known = await this.#readColumns(transaction, table)
    // A center of another version may have other columns.
    const own = rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([column]) => known.has(column))),
    )
    const columns = Object.keys(own[0] ?? {})
    const perStatement = Math.floor(this.#storage.traits.maxParameters / columns.length)
    for (let from = 0; from < own.length; from += perStatement) {
      const values = own.slice(from, from + perStatement)
      await transaction
        .insertInto(table)
        .values(values as never)
        .execute()
    }
  }

  async #readColumns(db: Db, table: keyof Tables): Promise<ReadonlySet<string>> {
    const cached = this.#columns.get(table)
    if (cached) return cached
    const query = sql<{ name: string }>`select name from pragma_table_info(${table})`
    const columns = new Set((await query.execute(db)).rows.map(({ name }) => name))
    this.#columns.set(table, columns)
    return columns
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
function keyRange(table: NumberTable, after: string, last: string | null): RawBuilder<unknown> {
  if (table === 'ebr_records') {
    const isAfter = sql`id > ${Number(after)}`
    return last === null ? isAfter : sql`${isAfter} and id <= ${Number(last)}`
  }
  const isAfter = sql`(list, number) > (${after.slice(11)}, ${after.slice(0, 10)})`
  return last === null
    ? isAfter
    : sql`${isAfter} and (list, number) <= (${last.slice(11)}, ${last.slice(0, 10)})`
}

/** Rows of opt-outs that the center may not have. */
async function readKeptOptOuts(transaction: Db): Promise<readonly Tables['internal_dnc'][]> {
  return await transaction
    .selectFrom('edge_opt_outs')
    .innerJoin('internal_dnc', (join) =>
      join
        .onRef('internal_dnc.account_id', '=', 'edge_opt_outs.account_id')
        .onRef('internal_dnc.list', '=', 'edge_opt_outs.list')
        .onRef('internal_dnc.number', '=', 'edge_opt_outs.number'),
    )
    .selectAll('internal_dnc')
    .execute()
}

/** It counts as later than any consent that the center has sent. */
async function keepOptOut(transaction: Db, row: Tables['internal_dnc']): Promise<void> {
  const { seq } = await transaction
    .selectFrom('change_head')
    .select('seq')
    .executeTakeFirstOrThrow()
  await transaction
    .replaceInto('internal_dnc')
    .values({ ...row, opted_out_seq: seq + 1 })
    .execute()
}
