/** Stores what people said when they opted out. */
import { createHash } from 'node:crypto'
import type { OptOutStatement } from '../../domain/consent-records.js'
import type { Db } from '../../storage/tables.js'
import type { RowWrite } from '../sql/rows-by-number.js'

/**
 * False if the statement is stored already, so that it is no new opt-out: a platform repeats its events,
 * and one that is repeated after a later consent must not end it.
 */
export async function insertStatement(
  db: Db,
  { owner, at, seq, keyId }: RowWrite,
  number: string,
  { decisionId, reference, said, source }: OptOutStatement,
): Promise<boolean> {
  const isRepeatable = decisionId !== undefined || reference !== undefined
  const content = JSON.stringify([number, decisionId, reference, source, said])
  const hash = createHash('sha256').update(content).digest('hex')
  const id = isRepeatable ? hash : `change-${seq}`
  const inserted = await db
    .insertInto('opt_out_statements')
    .values({
      account_id: owner.accountId,
      id,
      list: owner.projectCode,
      number,
      decision_id: decisionId ?? null,
      source,
      said: said ?? null,
      heard_at: at,
      key_id: keyId,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'id']).doNothing())
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}
