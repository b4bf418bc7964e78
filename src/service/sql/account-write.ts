/** Write transactions of one account, one after the other even across processes. */
import type { Transaction } from 'kysely'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Tables } from '../../storage/tables.js'

/**
 * Runs `work` in one transaction that starts by taking the account's row for writing. SQLite
 * refuses to turn a transaction that has read into a writing one when another process wrote in
 * between; and what `work` reads must still be true when it writes. While another process holds the
 * lock the whole is tried again, so `work` must do nothing but read and write the transaction.
 */
export async function writeForAccount<Result>(
  { db, patiently }: Pick<OpenDatabase, 'db' | 'patiently'>,
  accountId: string,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  const once = () =>
    db.transaction().execute(async (transaction) => {
      const locked = await transaction
        .updateTable('accounts')
        .set((row) => ({ name: row.ref('name') }))
        .where('id', '=', accountId)
        .executeTakeFirst()
      if (locked.numUpdatedRows === 0n) throw new Error(`account '${accountId}' does not exist`)
      return await work(transaction)
    })
  return await patiently(once)
}
