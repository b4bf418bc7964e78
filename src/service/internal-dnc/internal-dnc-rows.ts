/** The SQL of the internal do-not-call lists; the rules around it are in `internal-dnc.ts`. */
import type { Instant } from '../../domain/clock.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { yieldToEventLoop } from '../../domain/slices.js'
import type { Db, InternalDncRow } from '../../storage/tables.js'
import { chunksOf } from '../sql/chunks.js'
import type { Owner, OwnerWrite } from '../sql/rows-by-number.js'

export type ListEntry = Omit<InternalDncRow, 'account_id' | 'list'>

const parametersPerRow = 10

/** Entries that are or were on the list. */
export function entriesOf(db: Db, owner: Owner, numbers: readonly string[]) {
  return db
    .selectFrom('internal_dnc')
    .select(['number', 'added_at', 'modified_at', 'removed_at'])
    .select(['opted_out_at', 'stored_at', 'opted_out_seq', 'key_id'])
    .where('account_id', '=', owner.accountId)
    .where('list', '=', owner.projectCode)
    .where('number', 'in', numbers)
}

/** Adds distinct numbers that are not on the list; gives how many that were. */
export async function putOnList(
  db: Db,
  write: OwnerWrite,
  numbers: readonly PhoneNumber[],
): Promise<number> {
  const { owner, at, traits } = write
  const optedOut = optOutOf(write)
  let changed = 0n
  for (const chunk of chunksOf(numbers, traits, parametersPerRow)) {
    await yieldToEventLoop()
    const rows = chunk.map((number) => ({
      ...rowOf(owner, { number, addedAt: at, removedAt: null }, at),
      ...optedOut,
    }))
    const result = await db
      .insertInto('internal_dnc')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'list', 'number'])
          .doUpdateSet({ added_at: at, modified_at: at, removed_at: null, ...optedOut })
          .where('internal_dnc.removed_at', 'is not', null),
      )
      .executeTakeFirst()
    changed += result.numInsertedOrUpdatedRows ?? 0n
  }
  return Number(changed)
}

/**
 * Notes a further opt-out of numbers that are on the list. What the list shows stays as it is, but
 * a permission given since the first one no longer counts.
 */
export async function repeatOptOut(
  db: Db,
  write: OwnerWrite,
  numbers: readonly PhoneNumber[],
): Promise<void> {
  for (const chunk of chunksOf(numbers, write.traits)) {
    await yieldToEventLoop()
    await db
      .updateTable('internal_dnc')
      .set(optOutOf(write))
      .where('account_id', '=', write.owner.accountId)
      .where('list', '=', write.owner.projectCode)
      .where('number', 'in', chunk)
      .where('removed_at', 'is', null)
      .execute()
  }
}

/** Stores entries that so far stood by fixed facts alone, with the opt-out that came now. */
export async function storeFixed(
  db: Db,
  write: OwnerWrite,
  fixed: readonly FixedEntry[],
): Promise<void> {
  for (const chunk of chunksOf(fixed, write.traits, parametersPerRow)) {
    await yieldToEventLoop()
    const rows = chunk.map((entry) => ({
      ...rowOf(write.owner, { ...entry, removedAt: null }, entry.addedAt),
      ...optOutOf(write),
    }))
    await db.insertInto('internal_dnc').values(rows).execute()
  }
}

/** A number that is on a list without a stored row. */
export interface FixedEntry {
  readonly number: PhoneNumber
  readonly addedAt: Instant
}

export interface Removal {
  readonly numbers: readonly PhoneNumber[]
  /** Those of them that fixed facts put on the list; a stored row, where there is one, wins. */
  readonly fixed: readonly FixedEntry[]
}

/** Marks entries as removed; gives how many were on the list. */
export async function takeOffList(
  db: Db,
  { owner, at, traits }: OwnerWrite,
  { numbers, fixed }: Removal,
): Promise<number> {
  let changed = 0n
  for (const chunk of chunksOf(numbers, traits)) {
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
  for (const chunk of chunksOf(fixed, traits, parametersPerRow)) {
    await yieldToEventLoop()
    const result = await db
      .insertInto('internal_dnc')
      .values(chunk.map((entry) => rowOf(owner, { ...entry, removedAt: at }, at)))
      .onConflict((conflict) => conflict.columns(['account_id', 'list', 'number']).doNothing())
      .executeTakeFirst()
    changed += result.numInsertedOrUpdatedRows ?? 0n
  }
  return Number(changed)
}

/**
 * The columns of an opt-out that is stored now. It is dated after whatever was stored before it, also
 * by a clock that was set back: a consent of the time in between must not seem the newer one.
 */
function optOutOf({ at, storedAt, lateMs, seq, keyId }: OwnerWrite) {
  return { opted_out_at: at + lateMs, stored_at: storedAt, opted_out_seq: seq, key_id: keyId }
}

/** Fixed facts were there before anything was stored: instant and number of such a change. */
export const beforeAllWrites = 0

function rowOf(
  owner: Owner,
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
    stored_at: beforeAllWrites,
    opted_out_seq: beforeAllWrites,
    key_id: null,
  }
}

/** Notes that the list changed. */
export async function touchList(db: Db, { owner, at }: OwnerWrite): Promise<void> {
  await db
    .insertInto('internal_dnc_lists')
    .values({ account_id: owner.accountId, list: owner.projectCode, modified_at: at })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'list']).doUpdateSet({ modified_at: at }),
    )
    .execute()
}

export async function countOnList(db: Db, owner: Owner): Promise<number> {
  const { count } = await db
    .selectFrom('internal_dnc')
    .select((row) => row.fn.countAll().as('count'))
    .where('account_id', '=', owner.accountId)
    .where('list', '=', owner.projectCode)
    .where('removed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Negative infinity for a list never used. */
export async function lastModifiedAt(db: Db, owner: Owner): Promise<Instant> {
  const row = await db
    .selectFrom('internal_dnc_lists')
    .select('modified_at')
    .where('account_id', '=', owner.accountId)
    .where('list', '=', owner.projectCode)
    .executeTakeFirst()
  return row?.modified_at ?? Number.NEGATIVE_INFINITY
}
