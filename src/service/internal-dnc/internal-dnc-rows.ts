/** The SQL of the internal do-not-call lists; the rules around it are in `internal-dnc.ts`. */

import { sql } from 'kysely'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { Db, InternalDncRow, Tables } from '../../storage/tables.js'
import { splitIntoChunks } from '../sql/chunks.js'
import { insertInChunks } from '../sql/insert-in-chunks.js'
import type { RowOwner, RowWrite } from '../sql/rows-by-number.js'

export type InternalDncListEntry = Omit<InternalDncRow, 'account_id' | 'list'>

/** Selects entries, including removed ones. */
export function selectEntries(db: Db, owner: RowOwner, numbers: readonly string[]) {
  return db
    .selectFrom('internal_dnc')
    .select(['number', 'added_at', 'modified_at', 'removed_at'])
    .select(['opted_out_at', 'stored_at', 'opted_out_seq', 'opted_out_by_date', 'key_id'])
    .where('account_id', '=', owner.accountId)
    .where('list', '=', owner.projectCode)
    .where('number', 'in', numbers)
}

const upsertEntries = insertInChunks((db, rows: readonly InternalDncRow[]) =>
  db
    .insertInto('internal_dnc')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'list', 'number'])
        .doUpdateSet((row) => ({
          added_at: row.ref('excluded.added_at'),
          modified_at: row.ref('excluded.modified_at'),
          removed_at: row.ref('excluded.removed_at'),
          opted_out_at: row.ref('excluded.opted_out_at'),
          stored_at: row.ref('excluded.stored_at'),
          opted_out_seq: row.ref('excluded.opted_out_seq'),
          opted_out_by_date: row.ref('excluded.opted_out_by_date'),
          key_id: row.ref('excluded.key_id'),
        }))
        .where('internal_dnc.removed_at', 'is not', null),
    ),
)

/** Adds those of the distinct numbers that are not on the list; returns how many were added. */
export async function insertEntries(
  db: Db,
  write: RowWrite,
  numbers: readonly PhoneNumber[],
): Promise<number> {
  const { owner, at, traits } = write
  const optedOut = toOptOutColumns(write)
  return await upsertEntries(db, numbers, {
    traits,
    toRow: (number) => ({
      ...toEntryRow(owner, { number, addedAt: at, removedAt: null }, at),
      ...optedOut,
    }),
  })
}

/**
 * Records another opt-out for numbers that are already on the list. Their listed dates do not change,
 * but a permission given since the first opt-out is no longer valid.
 */
export async function updateOptOut(
  db: Db,
  write: RowWrite,
  numbers: readonly PhoneNumber[],
): Promise<void> {
  for (const chunk of splitIntoChunks(numbers, write.traits)) {
    await yieldToEventLoop()
    await db
      .updateTable('internal_dnc')
      .set(toOptOutColumns(write))
      .where('account_id', '=', write.owner.accountId)
      .where('list', '=', write.owner.projectCode)
      .where('number', 'in', chunk)
      .where('removed_at', 'is', null)
      .execute()
  }
}

const insertNewEntries = insertInChunks((db, rows: readonly InternalDncRow[]) =>
  db.insertInto('internal_dnc').values(rows),
)

/** Stores entries that so far existed only as fixed facts, with the new opt-out. */
export async function insertFixedEntries(
  db: Db,
  write: RowWrite,
  fixed: readonly FixedEntry[],
): Promise<void> {
  const { owner, traits } = write
  const optedOut = toOptOutColumns(write)
  await insertNewEntries(db, fixed, {
    traits,
    toRow: (entry) => ({
      ...toEntryRow(owner, { ...entry, removedAt: null }, entry.addedAt),
      ...optedOut,
    }),
  })
}

/** A number that is on a list without a stored row. */
export interface FixedEntry {
  readonly number: PhoneNumber
  readonly addedAt: Instant
}

export interface Removal {
  readonly numbers: readonly PhoneNumber[]
  /** Those of the numbers that fixed facts put on the list; an existing stored row takes precedence. */
  readonly fixed: readonly FixedEntry[]
}

const insertMissingEntries = insertInChunks((db, rows: readonly InternalDncRow[]) =>
  db
    .insertInto('internal_dnc')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['account_id', 'list', 'number']).doNothing()),
)

/** Marks entries as removed; returns how many were on the list. */
export async function markRemoved(
  db: Db,
  { owner, at, traits }: RowWrite,
  { numbers, fixed }: Removal,
): Promise<number> {
  let changed = 0n
  for (const chunk of splitIntoChunks(numbers, traits)) {
    await yieldToEventLoop()
    const result = await db
      .updateTable('internal_dnc')
      .set({ modified_at: at, removed_at: at })
      .where('account_id', '=', owner.accountId)
      .where('list', '=', owner.projectCode)
      .where('number', 'in', chunk)
      .where('removed_at', 'is', null)
      .executeTakeFirst()
    changed += result.numUpdatedRows
  }
  const added = await insertMissingEntries(db, fixed, {
    traits,
    toRow: (entry) => toEntryRow(owner, { ...entry, removedAt: at }, at),
  })
  return Number(changed) + added
}

/**
 * The columns of a new opt-out. Its date is corrected by `clockLagMs` if the clock was set back, so
 * that a consent stored before it cannot appear newer.
 */
function toOptOutColumns({ at, storedAt, clockLagMs, seq, keyId }: RowWrite) {
  return {
    opted_out_at: at + clockLagMs,
    stored_at: storedAt,
    opted_out_seq: seq,
    opted_out_by_date: 0,
    key_id: keyId,
  }
}

/** Instant and change sequence number of fixed facts, which precede every stored change. */
export const beforeFirstWrite = 0

function toEntryRow(
  owner: RowOwner,
  entry: FixedEntry & { readonly removedAt: Instant | null },
  modifiedAt: Instant,
): InternalDncRow {
  return {
    account_id: owner.accountId,
    list: owner.projectCode,
    number: entry.number,
    added_at: entry.addedAt,
    modified_at: modifiedAt,
    removed_at: entry.removedAt,
    opted_out_at: entry.addedAt,
    stored_at: beforeFirstWrite,
    opted_out_seq: beforeFirstWrite,
    opted_out_by_date: 0,
    key_id: null,
  }
}

/** Of an edge: remembers opt-outs of a project of its account until the center has them. */
export async function keepForCenter(
  db: Db,
  { owner, storedAt, traits }: RowWrite,
  { project, numbers }: { readonly project: string; readonly numbers: readonly PhoneNumber[] },
): Promise<void> {
  const copied = await db.selectFrom('edge_copy').select('account_id').executeTakeFirst()
  if (copied?.account_id !== owner.accountId) return
  await insertForCenter(db, numbers, {
    traits,
    toRow: (number) => ({
      account_id: owner.accountId,
      project,
      list: owner.projectCode,
      number,
      added_at: storedAt,
    }),
  })
}

const insertForCenter = insertInChunks((db, rows: readonly Tables['edge_opt_outs'][]) =>
  db
    .insertInto('edge_opt_outs')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'project', 'number']).doUpdateSet((row) => ({
        list: row.ref('excluded.list'),
        added_at: row.ref('excluded.added_at'),
      })),
    ),
)

export const hasOwnList = (accountId: string) =>
  sql<boolean>`account_id = ${accountId} and (inherits_internal_dnc = 0 or code = ${accountId})`

/** Of projects that opt-outs may be sent for. */
export async function selectActiveLists(
  db: Db,
  accountId: string,
): Promise<readonly { readonly code: string }[]> {
  return await db
    .selectFrom('projects')
    .select('code')
    .where(hasOwnList(accountId))
    .where('status', '=', 'active')
    .execute()
}

/**
 * Records an opt-out on every list of the account except that of the write, as {@link insertEntries} and
 * {@link updateOptOut} do on that. `fixedAt` is when fixed facts have put the number on them.
 */
export async function insertElsewhere(
  db: Db,
  write: RowWrite,
  { number, fixedAt }: { readonly number: PhoneNumber; readonly fixedAt: Instant | undefined },
): Promise<void> {
  const { accountId, projectCode } = write.owner
  const { at } = write
  const addedAt = fixedAt ?? at
  const optedOut = toOptOutColumns(write)
  const whenRelisted = (column: 'added_at' | 'modified_at') =>
    sql`case when internal_dnc.removed_at is null then ${sql.ref(`internal_dnc.${column}`)}
      else ${sql.ref(`excluded.${column}`)} end`
  await sql`
    insert into internal_dnc (account_id, list, number, added_at, modified_at, removed_at,
      opted_out_at, stored_at, opted_out_seq, opted_out_by_date, key_id)
    select account_id, code, ${number}, ${addedAt}, ${addedAt}, null,
      ${optedOut.opted_out_at}, ${optedOut.stored_at}, ${optedOut.opted_out_seq}, 0, ${optedOut.key_id}
    from projects where ${hasOwnList(accountId)} and code <> ${projectCode}
    on conflict (account_id, list, number) do update set
      added_at = ${whenRelisted('added_at')},
      modified_at = ${whenRelisted('modified_at')},
      removed_at = null,
      opted_out_at = excluded.opted_out_at,
      stored_at = excluded.stored_at,
      opted_out_seq = excluded.opted_out_seq,
      opted_out_by_date = 0,
      key_id = excluded.key_id`.execute(db)
  await sql`
    insert into internal_dnc_lists (account_id, list, modified_at)
    select account_id, list, ${at} from internal_dnc
    where account_id = ${accountId} and number = ${number} and list <> ${projectCode}
      and modified_at = ${at}
    on conflict (account_id, list) do update set modified_at = excluded.modified_at`.execute(db)
}

/** Updates the list's modification time. */
export async function touchList(db: Db, { owner, at }: RowWrite): Promise<void> {
  await db
    .insertInto('internal_dnc_lists')
    .values({ account_id: owner.accountId, list: owner.projectCode, modified_at: at })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'list']).doUpdateSet({ modified_at: at }),
    )
    .execute()
}

export async function countOnList(db: Db, owner: RowOwner): Promise<number> {
  const { count } = await db
    .selectFrom('internal_dnc')
    .select((row) => row.fn.countAll().as('count'))
    .where('account_id', '=', owner.accountId)
    .where('list', '=', owner.projectCode)
    .where('removed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The list's modification time; negative infinity for a list that was never changed. */
export async function readLastModified(db: Db, owner: RowOwner): Promise<Instant> {
  const row = await db
    .selectFrom('internal_dnc_lists')
    .select('modified_at')
    .where('account_id', '=', owner.accountId)
    .where('list', '=', owner.projectCode)
    .executeTakeFirst()
  return row?.modified_at ?? Number.NEGATIVE_INFINITY
}
