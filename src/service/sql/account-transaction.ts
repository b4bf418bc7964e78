/** Write transactions of one account, one after the other even across processes. */
import type { Transaction } from 'kysely'
import { monotonicSeconds } from '../../runtime/runtime.js'
import { waitForNextTurn } from '../../runtime/yield-to-event-loop.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db, Tables } from '../../storage/tables.js'

/**
 * Runs `work` in one transaction that starts by taking the account's row for writing. SQLite
 * refuses to turn a transaction that has read into a writing one when another process wrote in
 * between; and what `work` reads must still be true when it writes. While another process holds the
 * lock the whole is tried again, so `work` must do nothing but read and write the transaction.
 */
export async function runAccountTransaction<Result>(
  { db, retryWhileLocked }: Pick<OpenDatabase, 'db' | 'retryWhileLocked'>,
  accountId: string,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  const once = () =>
    queueWrite(db, () =>
      db.transaction().execute(async (transaction) => {
        const startedAt = monotonicSeconds()
        const locked = await transaction
          .updateTable('accounts')
          .set((row) => ({ name: row.ref('name') }))
          .where('id', '=', accountId)
          .executeTakeFirst()
        if (locked.numUpdatedRows === 0n) throw new Error(`account '${accountId}' does not exist`)
        const result = await work(transaction)
        // The commit of many rows takes milliseconds.
        if (monotonicSeconds() - startedAt > slowWriteSeconds) await waitForNextTurn()
        return result
      }),
    )
  return await retryWhileLocked(once)
}

const slowWriteSeconds = 0.003
const latestWrites = new WeakMap<Db, Promise<unknown>>()

/**
 * At most one of these transactions waits for the connection or has it, so a decision that reads or
 * is recorded meanwhile waits for one long write at most, and not for all that were asked for before.
 */
function queueWrite<Result>(db: Db, write: () => Promise<Result>): Promise<Result> {
  const earlier = latestWrites.get(db)
  const own = earlier === undefined ? write() : earlier.then(write)
  const ended = own.then(
    () => undefined,
    () => undefined,
  )
  latestWrites.set(db, ended)
  return own
}
