/** The SQL of call outcomes; `outcome-journal.ts` decides when they are written. */
import type { CompiledQuery } from 'kysely'
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { CallOutcomeRow, Db } from '../../storage/tables.js'
import { mergeOutcome } from './merge-outcome.js'

/** Notes about one decision since it was last written, merged. */
export interface PendingOutcome {
  readonly outcome: Partial<CallOutcome>
  /** Whether this process made the decision. */
  readonly isOwn: boolean
}

/**
 * Merges the notes into the rows; `db` is a transaction. A note about another process's decision is
 * dropped if there is neither a record nor a row of it.
 */
export async function storeOutcomes(
  db: Db,
  pending: readonly (readonly [string, PendingOutcome])[],
  upsert: CompiledQuery,
): Promise<void> {
  const ids = pending.map(([id]) => id)
  const known = await readOutcomes(db, ids)
  const doubtful = pending.flatMap(([id, { isOwn }]) => (isOwn || known.has(id) ? [] : [id]))
  const recorded = await findRecordedIds(db, doubtful)
  for (const [id, { outcome, isOwn }] of pending) {
    const before = known.get(id)
    if (!isOwn && !before && !recorded.has(id)) continue
    const row = toOutcomeRow(id, mergeOutcome(before ?? {}, outcome))
    if (row) await db.executeQuery({ ...upsert, parameters: Object.values(row) })
  }
}

/** Inserts or replaces a whole row, with its values in the order of {@link toOutcomeRow}. */
export function compileUpsertOutcome(db: Db): CompiledQuery {
  const { decision_id: _, ...columns } = emptyRow
  return db
    .insertInto('call_outcomes')
    .values(emptyRow)
    .onConflict((again) =>
      again
        .column('decision_id')
        .doUpdateSet((row) =>
          Object.fromEntries(
            Object.keys(columns).map((name) => [name, row.ref(`excluded.${name as ColumnName}`)]),
          ),
        ),
    )
    .compile()
}

type ColumnName = keyof CallOutcomeRow

const emptyRow: CallOutcomeRow = {
  decision_id: '',
  state: 'handed-over',
  handed_over_at: null,
  not_carried_out_at: null,
  not_carried_out: null,
  leg: null,
  dialled_at: null,
  answered_at: null,
  failed_at: null,
  ended_at: null,
  dial_status: null,
  cause: null,
}

/** `undefined` while no state is known. */
function toOutcomeRow(id: string, outcome: Partial<CallOutcome>): CallOutcomeRow | undefined {
  if (outcome.state === undefined) return undefined
  return {
    decision_id: id,
    state: outcome.state,
    handed_over_at: outcome.handedOverAt ?? null,
    not_carried_out_at: outcome.notCarriedOutAt ?? null,
    not_carried_out: outcome.notCarriedOut ?? null,
    leg: outcome.leg ?? null,
    dialled_at: outcome.dialledAt ?? null,
    answered_at: outcome.answeredAt ?? null,
    failed_at: outcome.failedAt ?? null,
    ended_at: outcome.endedAt ?? null,
    dial_status: outcome.dialStatus ?? null,
    cause: outcome.cause ?? null,
  }
}

/** `undefined` for a left join without a row. */
export function parseOutcome(
  row: {
    readonly [Name in Exclude<ColumnName, 'decision_id'>]: CallOutcomeRow[Name] | null
  },
): CallOutcome | undefined {
  if (row.state === null) return undefined
  return {
    state: row.state,
    handedOverAt: row.handed_over_at ?? undefined,
    notCarriedOutAt: row.not_carried_out_at ?? undefined,
    notCarriedOut: row.not_carried_out ?? undefined,
    leg: row.leg ?? undefined,
    dialledAt: row.dialled_at ?? undefined,
    answeredAt: row.answered_at ?? undefined,
    failedAt: row.failed_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    dialStatus: row.dial_status ?? undefined,
    cause: row.cause ?? undefined,
  }
}

async function readOutcomes(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, CallOutcome>> {
  const rows = await db
    .selectFrom('call_outcomes')
    .selectAll()
    .where('decision_id', 'in', padToPowerOfTwo(ids))
    .execute()
  const found = new Map<string, CallOutcome>()
  for (const row of rows) {
    const outcome = parseOutcome(row)
    if (outcome) found.set(row.decision_id, outcome)
  }
  return found
}

async function findRecordedIds(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('decisions')
    .select('id')
    .where('id', 'in', padToPowerOfTwo(ids))
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** Repeats the last id up to a power of two, so that all batches share a few prepared statements. */
function padToPowerOfTwo(ids: readonly string[]): readonly string[] {
  const length = 2 ** Math.ceil(Math.log2(ids.length))
  return Array.from({ length }, (_, index) => ids[Math.min(index, ids.length - 1)] ?? '')
}
