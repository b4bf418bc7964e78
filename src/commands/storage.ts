/** `callgate storage accept`: goes on with parts that do not belong together. `move`: from SQLite to PostgreSQL. */
import type { Command } from 'commander'
import { readStorageSettings } from '../app/storage-settings.js'
import { mainAccountId } from '../domain/caller.js'
import { runTransaction } from '../service/sql/account-transaction.js'
import { recordAudit } from '../storage/audit/audit-log.js'
import { acceptedAction } from '../storage/audit/installation.js'
import { openDatabase } from '../storage/engine.js'
import { migrateSchema } from '../storage/migrate.js'
import { copyTables } from '../storage/postgres/table-copy.js'
import { withAppContext } from './account-command.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from './command.js'

export const registerStorage: RegisterCommand = (program, terminal) => {
  const storage = program
    .command('storage')
    .description('move the database, or accept one that does not match the journal')
  storage
    .command('accept')
    .description(
      'go on with the data folder, database and journal that are there, although they do not belong together. Servers that ' +
        'are shut first put opt-outs in force again that only their journals have, and then decide calls',
    )
    .requiredOption('--because <text>', 'what happened; it is recorded')
    .action(async ({ because }: { readonly because: string }, command: Command) => {
      if (because.trim() === '') throw new CommandFailure("--because '': must say what happened", 2)
      await withAppContext(command, ({ storage: database, runtime, installation }) =>
        runTransaction(database, (transaction) =>
          recordAudit(transaction, {
            by: database.author,
            accountId: mainAccountId,
            action: acceptedAction,
            subject: { kind: 'storage', id: installation },
            reason: because.trim(),
            at: runtime.clock.now(),
          }),
        ),
      )
      terminal.note('accepted; /readyz of each server says when it is ready\n')
    })
  storage
    .command('move')
    .description(
      'copy the SQLite database of the data folder into the empty PostgreSQL database of storage.url, and ' +
        'compare every row; no server may be running',
    )
    .action(async (_options, command: Command) => {
      const { postgres, ...folder } = readStorageSettings(loadCommandSettings(command))
      if (!postgres) {
        throw new CommandFailure(
          'storage.engine: is sqlite; set it to postgres, with storage.url, and move the database there',
          2,
        )
      }
      const waits = { blockForLockMs: folder.lockWaitMs }
      const source = await openDatabase({ ...folder, ...waits, createDatabase: false })
      try {
        await source.lockForServing()
        await migrateSchema(source)
        const target = await openDatabase({ ...folder, ...waits, postgres })
        try {
          await migrateSchema(target)
          const moved = await target.db
            .transaction()
            .execute((transaction) => copyTables(source.db, transaction, target))
          for (const { name, rows } of moved) terminal.out(`${name} ${rows}\n`)
          terminal.note(
            `every row is the same in ${target.path}; start callgate serve, then put ${source.path} away: ` +
              'what is stored from now on is not in it\n',
          )
        } finally {
          await target.close()
        }
      } finally {
        await source.close()
      }
    })
}
