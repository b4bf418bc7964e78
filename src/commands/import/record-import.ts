/** Rows of the audit table about imports, which are files: who imported what. Which list a server uses is recorded when it does. */
import type { Command } from 'commander'
import type { Settings } from '../../config/settings.js'
import { splitListName } from '../../data/number-list/list-names.js'
import { AppError, getErrorMessage } from '../../errors.js'
import { isPresent } from '../../runtime/folders.js'
import { monotonicSeconds, systemClock } from '../../runtime/runtime.js'
import { runTransaction } from '../../service/sql/account-transaction.js'
import { recordAudit } from '../../storage/audit/audit-log.js'
import { resolveDatabasePath } from '../../storage/database-files.js'
import { withAppContext } from '../account-command.js'
import { CommandFailure } from '../command.js'

export interface RecordedImport {
  readonly action: 'data.imported' | 'list.rolled-back'
  /** Of a list or a feed. */
  readonly name: string
  readonly after: object
  /** As the person who did it says. */
  readonly reason?: string | undefined
}

/** Imports of millions of records take turns with others for the lock of the database. */
const patienceSeconds = 120

async function patiently(work: () => Promise<void>): Promise<void> {
  const untilSeconds = monotonicSeconds() + patienceSeconds
  for (;;) {
    try {
      return await work()
    } catch (cause) {
      const isBusy = cause instanceof AppError && cause.retryAfterSeconds !== undefined
      if (!isBusy || monotonicSeconds() > untilSeconds) throw cause
    }
  }
}

/**
 * Does nothing before the first start, which makes the database. Throws {@link CommandFailure} if the row cannot be stored: what was
 * imported stays.
 */
export async function recordImport(
  command: Command,
  { storage, dataDir }: Settings,
  { action, name, after, reason }: RecordedImport,
): Promise<void> {
  if (storage.engine === 'sqlite' && !isPresent(resolveDatabasePath(dataDir))) return
  try {
    await withAppContext(command, ({ storage }) =>
      patiently(() =>
        runTransaction(storage, (transaction) =>
          recordAudit(transaction, {
            by: storage.author,
            accountId: splitListName(name).owner,
            action,
            subject: { kind: 'import', id: name },
            after,
            reason,
            at: systemClock.now(),
          }),
        ),
      ),
    )
  } catch (cause) {
    throw new CommandFailure(
      `${name} was imported, but who did it could not be recorded: ${getErrorMessage(cause)}`,
    )
  }
}
