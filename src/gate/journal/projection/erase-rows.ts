/** Takes the number of an erasure out of what a journal has stored in PostgreSQL, as it is taken out of its segments. */
import { type Kysely, sql } from 'kysely'
import { msPerDay } from '../../../domain/time/dates.js'
import { edgeOriginMark, findEdgeAccount } from '../../../storage/cluster/edge-origins.js'
import type { ErasureRow, Tables } from '../../../storage/tables.js'
import { NumberEraser } from '../removal/erase-records.js'
import type { JournalRecord } from '../segment-format.js'
import { type BlockErasure, eraseInBlocks } from './block-rows.js'
import { readIdInstant, toIdPrefix } from './decision-months.js'

/**
 * All records of the journal before the erasure must be stored. Does nothing if the erasure is done, since the number
 * is not known any more then.
 */
export async function eraseStoredRows(
  db: Kysely<Tables>,
  origin: string,
  erasureId: string,
): Promise<void> {
  const erasure = await db
    .selectFrom('erasures')
    .select(['number', 'account_id', 'includes_allowed'])
    .where('id', '=', erasureId)
    .executeTakeFirst()
  if (erasure === undefined || erasure.number === null) return
  const eraser = createEraser(erasure, erasure.number)
  // Finds more than the eraser, which decides.
  const pattern = [...erasure.number].join('[^0-9A-Za-z]{0,4}')
  for (const journal of [origin, ...(await listEdgeOrigins(db))]) {
    await eraseInJournal(db, journal, { pattern, eraser })
  }
  await sql`insert into erased_journals (erasure_id, origin, rows_done) values (${erasureId}, ${origin}, 1)
    on conflict (erasure_id, origin) do update set rows_done = 1`.execute(db)
}

/**
 * Records that come from an edge, without the numbers that were erased after they were made; `undefined` if no number
 * is to be erased. The journal must be locked: what is stored before an erasure is requested is found by that.
 */
export async function eraseArriving(
  db: Kysely<Tables>,
  origin: string,
  records: readonly JournalRecord[],
): Promise<readonly JournalRecord[] | undefined> {
  const accountId = findEdgeAccount(origin)
  if (accountId === undefined) return undefined
  const erasures = await db
    .selectFrom('erasures')
    .select(['number', 'account_id', 'includes_allowed', 'requested_at'])
    .where('number', 'is not', null)
    .where((where) =>
      where.or([where('account_id', 'is', null), where('account_id', '=', accountId)]),
    )
    .execute()
  if (erasures.length === 0) return undefined
  const erasers = erasures.map((erasure) => ({
    requestedAt: erasure.requested_at,
    eraser: createEraser(erasure, erasure.number ?? ''),
  }))
  return records.map((record) => {
    let { body } = record
    for (const { requestedAt, eraser } of erasers) {
      if (record.at <= requestedAt) {
        body = withoutPadding(eraser.eraseRecord({ ...record, body })) ?? body
      }
    }
    return { ...record, body }
  })
}

/** In the journal a record keeps its length. */
function withoutPadding(erased: Buffer | undefined): Buffer | undefined {
  return erased && Buffer.from(erased.toString().trimEnd())
}

function createEraser(
  erasure: Pick<ErasureRow, 'account_id' | 'includes_allowed'>,
  number: string,
): NumberEraser {
  return new NumberEraser({
    number,
    accountId: erasure.account_id ?? undefined,
    includesAllowed: erasure.includes_allowed === 1,
  })
}

/** What edges have sent is erased by each server, since their journals know nothing of it. */
async function listEdgeOrigins(db: Kysely<Tables>): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('journals')
    .select('origin')
    .where('origin', 'like', `%${edgeOriginMark}%`)
    .execute()
  return rows.map((row) => row.origin)
}

async function eraseInJournal(
  db: Kysely<Tables>,
  origin: string,
  { pattern, eraser }: { readonly pattern: string; readonly eraser: NumberEraser },
): Promise<void> {
  const [first, last] = await db.transaction().execute(async (transaction) => {
    await lockJournal(transaction, origin)
    return await findSpan(transaction, origin)
  })
  // A day at a time, so that no statement reads for long.
  for (let day = first; day <= last; day += msPerDay) {
    await db.transaction().execute(async (transaction) => {
      await lockJournal(transaction, origin)
      const span = { from: day, to: day + msPerDay }
      await eraseOutcomes(transaction, origin, { ...span, pattern, eraser })
      const erase = (body: Buffer) => withoutPadding(eraser.eraseDecision(body))
      await eraseInBlocks(transaction, origin, { ...span, erase })
    })
  }
}

/** Whoever copies records of the journal waits. */
async function lockJournal(db: Kysely<Tables>, origin: string): Promise<void> {
  await sql`select from journals where origin = ${origin} for update`.execute(db)
}

/** Instants of the first and last decision; the last one is before the first if there is none. */
async function findSpan(
  db: Kysely<Tables>,
  origin: string,
): Promise<readonly [first: number, last: number]> {
  const { rows } = await sql<{ readonly first: string | null; readonly last: string | null }>`
    select min(first) as first, max(last) as last from (
      select min(id) as first, max(id) as last from recorded_outcomes where origin = ${origin} union all
      select min(first_id), max(last_id) from decision_blocks where origin = ${origin}) as spans`.execute(
    db,
  )
  const [first, last] = [rows[0]?.first, rows[0]?.last].map((id) => readIdInstant(id ?? ''))
  return [first ?? 0, last ?? -1]
}

async function eraseOutcomes(
  db: Kysely<Tables>,
  origin: string,
  {
    from,
    to,
    pattern,
    eraser,
  }: Pick<BlockErasure, 'from' | 'to'> & {
    readonly pattern: string
    readonly eraser: NumberEraser
  },
): Promise<void> {
  const { rows } = await sql<{ readonly id: string; readonly outcome: string }>`
    select id, outcome from recorded_outcomes where origin = ${origin}
    and id >= ${toIdPrefix(from)} and id < ${toIdPrefix(to)} and outcome ~ ${pattern}`.execute(db)
  for (const { id, outcome } of rows) {
    await db
      .updateTable('recorded_outcomes')
      .set({ outcome: eraser.eraseText(Buffer.from(outcome)).toString() })
      .where('origin', '=', origin)
      .where('id', '=', id)
      .execute()
  }
}
