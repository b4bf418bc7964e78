/** Write transactions of one account, serialized even across processes. */
import type { Transaction } from 'kysely'
import { AppError } from '../../errors.js'
import { monotonicSeconds } from '../../runtime/runtime.js'
import type { EngineTraits, OpenDatabase } from '../../storage/open-database.js'
import type { Db, Tables } from '../../storage/tables.js'

type AccountStorage = Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>

/** As {@link runOptOutTransaction}, for all other writes. An edge refuses them with `not-available`. */
export async function runAccountTransaction<Result>(
  storage: AccountStorage,
  accountId: string,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  refuseAtEdge(storage)
  return await runOptOutTransaction(storage, accountId, work)
}

/** Throws `not-available` at an edge, whose rows are replaced by those of its center. */
export function refuseAtEdge({ traits }: Pick<AccountStorage, 'traits'>): void {
  if (!traits.isCopy) return
  throw new AppError(
    'not-available',
    'This server is an edge, which stores nothing but opt-outs; send it to one of edge.centers',
  )
}

/**
 * Runs `work` in a transaction that starts by locking the account's row, since what `work` reads must still
 * be true when it writes. In SQLite that is a write, which takes the lock of the whole database: a read
 * transaction could not be upgraded if another process has written since. The whole transaction is retried while another
 * process holds the lock, so `work` must have no side effects outside the transaction.
 */
export async function runOptOutTransaction<Result>(
  { db, traits, retryWhileLocked }: AccountStorage,
  accountId: string,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  const once = () =>
    queueWrite({ db, traits }, () =>
      db.transaction().execute(async (transaction) => {
        if (!(await lockAccount(transaction, accountId, traits))) {
          throw new Error(`account '${accountId}' does not exist`)
        }
        return await work(transaction)
      }),
    )
  return await retryWhileLocked(once)
}

/** Whether it exists. */
async function lockAccount(
  transaction: Transaction<Tables>,
  id: string,
  { isShared }: EngineTraits,
): Promise<boolean> {
  if (isShared) {
    const account = transaction.selectFrom('accounts').select('id').where('id', '=', id)
    return (await account.forNoKeyUpdate().executeTakeFirst()) !== undefined
  }
  const { numUpdatedRows } = await transaction
    .updateTable('accounts')
    .set((row) => ({ name: row.ref('name') }))
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Of rows that several accounts have, or that no other write depends on. Is retried as the others are. */
export function runTransaction<Result>(
  { db, retryWhileLocked }: Pick<OpenDatabase, 'db' | 'retryWhileLocked'>,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  return retryWhileLocked(() => db.transaction().execute(work))
}

const latestWrites = new WeakMap<Db, Promise<unknown>>()

/** In a database that others lock as well, each write before it may wait for them, one after the other. */
const maxQueuedMs = 10_000

/**
 * At most one of these transactions holds or waits for the connection, so another query waits for at most
 * one long write and not for all that are queued.
 */
function queueWrite<Result>(
  { db, traits }: Pick<OpenDatabase, 'db' | 'traits'>,
  write: () => Promise<Result>,
): Promise<Result> {
  const earlier = latestWrites.get(db)
  const queuedSeconds = monotonicSeconds()
  const writeInTime = async () => {
    const isLate = (monotonicSeconds() - queuedSeconds) * 1000 > maxQueuedMs
    if (isLate && traits.isShared) throw queuedTooLong()
    return await write()
  }
  const own = earlier === undefined ? write() : earlier.then(writeInTime)
  const ended = own.then(
    () => undefined,
    () => undefined,
  )
  latestWrites.set(db, ended)
  return own
}

function queuedTooLong(): AppError {
  const message = 'Other writes to the database are waiting; nothing was changed'
  return new AppError('not-available', message, { retryAfterSeconds: 1 })
}
