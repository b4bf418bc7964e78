/** The SQL of decision records; when they are written is the business of `journal.ts`. */
import type { CompiledQuery } from 'kysely'
import type { Decision } from '../domain/decision.js'
import type { Db, DecisionRow } from '../storage/tables.js'
import { type DecisionDocument, decisionDocument, outcomeDocument } from './decision-document.js'
import { outcomeOf } from './outcome-rows.js'

/** With the outcome of the call, where one is known. */
export async function findDecision(
  db: Db,
  accountId: string,
  id: string,
): Promise<DecisionDocument | undefined> {
  const row = await db
    .selectFrom('decisions')
    .leftJoin('call_outcomes', 'call_outcomes.decision_id', 'decisions.id')
    .selectAll('call_outcomes')
    .select('decisions.body')
    .where('decisions.id', '=', id)
    .where('decisions.account_id', '=', accountId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const document = JSON.parse(row.body) as DecisionDocument
  const outcome = outcomeOf(row)
  return outcome === undefined ? document : { ...document, outcome: outcomeDocument(outcome) }
}

const recordsPerPage = 1_000

/** Records of an account decided at or after an instant, a page at a time; what-ifs are left out. */
export async function* decisionsSince(
  db: Db,
  accountId: string,
  since: number,
): AsyncGenerator<readonly DecisionDocument[]> {
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('decisions')
      .select(['id', 'body'])
      .where('id', '>', after)
      .where('account_id', '=', accountId)
      .where('decided_at', '>=', since)
      .where('what_if', '=', 0)
      .orderBy('id')
      .limit(recordsPerPage)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map(({ body }) => JSON.parse(body) as DecisionDocument)
    after = last.id
  }
}

/** The same id again replaces the record: that of an allow that was withheld. */
export function insertDecision(db: Db): CompiledQuery {
  return db
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

export function rowOf(decision: Decision): DecisionRow {
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

/** The values of a row, in the order of the statement's columns. */
export function valuesOf(row: DecisionRow): readonly unknown[] {
  return Object.values(row)
}
