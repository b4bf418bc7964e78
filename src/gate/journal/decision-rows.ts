import type { Db } from '../../storage/tables.js'
import { type DecisionDocument, toOutcomeDocument } from '../decision-document.js'
import { parseOutcome } from './outcome-rows.js'

/** With the outcome of the call, if one is known. */
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
  const outcome = parseOutcome(row)
  return outcome === undefined ? document : { ...document, outcome: toOutcomeDocument(outcome) }
}

const recordsPerPage = 1_000

/** Records of an account decided at or after an instant, a page at a time; what-ifs are left out. */
export async function* streamDecisionsSince(
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
