/** The SQL of relationship and permission records; the rules around it are in `ebr-records.ts`. */
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { Db, EbrRecordRow } from '../../storage/tables.js'
import { splitIntoChunks } from '../sql/chunks.js'
import { insertInChunks } from '../sql/insert-in-chunks.js'
import type { RowOwner, RowWrite } from '../sql/rows-by-number.js'
import type { ParsedEbr } from './ebr-input.js'

export interface StoredEbr
  extends Pick<
    EbrRecordRow,
    | 'number'
    | 'type'
    | 'contact_on'
    | 'contact_at'
    | 'obligation_ends_on'
    | 'recorded_at'
    | 'stored_seq'
    | 'imported'
    | 'lifts_opt_out'
  > {
  /** Absent in an export. */
  readonly confirmed_on?: string | null
  /** As in the table; JSON. */
  readonly consent: string | null
  readonly id: number
}

/** The records in force: at most one per number. */
export function selectCurrentSummaries(db: Db, owner: RowOwner, numbers: readonly string[]) {
  return db
    .selectFrom('ebr_records')
    .select([
      'id',
      'number',
      'type',
      'contact_on',
      'contact_at',
      'confirmed_on',
      'obligation_ends_on',
      'recorded_at',
      'stored_seq',
      'imported',
      'lifts_opt_out',
      'consent',
    ])
    .where('account_id', '=', owner.accountId)
    .where('project_code', '=', owner.projectCode)
    .where('number', 'in', numbers)
    .where('superseded_at', 'is', null)
}

/** All columns of the records in force, oldest first. */
export function selectCurrentRecords(db: Db, owner: RowOwner, numbers: readonly string[]) {
  return db
    .selectFrom('ebr_records')
    .selectAll()
    .where('account_id', '=', owner.accountId)
    .where('project_code', '=', owner.projectCode)
    .where('number', 'in', numbers)
    .where('superseded_at', 'is', null)
    .orderBy('id')
}

/** Marks the records as superseded; they are kept as evidence. */
export async function supersedeRecords(
  db: Db,
  { at, traits }: Pick<RowWrite, 'at' | 'traits'>,
  ids: readonly number[],
): Promise<void> {
  for (const chunk of splitIntoChunks(ids, traits)) {
    await yieldToEventLoop()
    await db
      .updateTable('ebr_records')
      .set({ superseded_at: at })
      .where('id', 'in', chunk)
      .execute()
  }
}

/** False if there is no record from before the call, or the person has confirmed the identity on that day or later. */
export async function storeConfirmation(
  db: Db,
  owner: RowOwner,
  {
    number,
    on,
    calledAt,
  }: { readonly number: string; readonly on: LocalDay; readonly calledAt: Instant },
): Promise<boolean> {
  const day = formatDay(on)
  const { numUpdatedRows } = await db
    .updateTable('ebr_records')
    .set({ confirmed_on: day })
    .where('account_id', '=', owner.accountId)
    .where('project_code', '=', owner.projectCode)
    .where('number', '=', number)
    .where('superseded_at', 'is', null)
    .where('recorded_at', '<=', calledAt)
    .where((row) => row.or([row('confirmed_on', 'is', null), row('confirmed_on', '<', day)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export interface NewRecords {
  readonly winners: readonly ParsedEbr[]
  readonly losers: readonly ParsedEbr[]
  readonly liftsOptOut: boolean
  /** Of the consent that they point to, as JSON. */
  readonly consent?: string | undefined
}

const insertRows = insertInChunks((db, rows: readonly ReturnType<typeof toEbrRow>[]) =>
  db.insertInto('ebr_records').values(rows),
)

/** Inserts winners as in force, and losers as superseded, as evidence that they were reported. */
export async function insertRecords(
  db: Db,
  write: RowWrite,
  { winners, losers, liftsOptOut, consent }: NewRecords,
): Promise<void> {
  const { traits } = write
  const insert = (facts: readonly ParsedEbr[], supersededAt: Instant | null) =>
    insertRows(db, facts, {
      traits,
      toRow: (fact) => toEbrRow(fact, write, { supersededAt, liftsOptOut, consent }),
    })
  await insert(losers, write.at)
  await insert(winners, null)
}

interface RowState extends Pick<NewRecords, 'liftsOptOut' | 'consent'> {
  readonly supersededAt: Instant | null
}

function toEbrRow(
  fact: ParsedEbr,
  write: RowWrite,
  { supersededAt, liftsOptOut, consent }: RowState,
) {
  const { owner, at, storedAt, seq, keyId } = write
  const { obligationEndsOn } = fact
  return {
    account_id: owner.accountId,
    project_code: owner.projectCode,
    number: fact.number,
    type: fact.type,
    contact_on: formatDay(fact.contactOn),
    contact_at: fact.contactAt ?? null,
    obligation_ends_on: obligationEndsOn === undefined ? null : formatDay(obligationEndsOn),
    reference_num: fact.referenceNum ?? null,
    brand: fact.brand ?? null,
    email: fact.email ?? null,
    recorded_at: at,
    stored_at: storedAt,
    stored_seq: seq,
    imported: 0,
    key_id: keyId,
    superseded_at: supersededAt,
    lifts_opt_out: liftsOptOut ? 1 : 0,
    consent: consent ?? null,
  }
}
