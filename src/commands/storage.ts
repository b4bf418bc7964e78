/** `callgate storage move`: from the SQLite database of the data folder to PostgreSQL. */
import type { Command } from 'commander'
import { readStorageSettings } from '../app/storage-settings.js'
import { openDatabase } from '../storage/engine.js'
import { migrateSchema } from '../storage/migrate.js'
import { copyTables } from '../storage/postgres/table-copy.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from './command.js'

export const registerStorage: RegisterCommand = (program, terminal) => {
  program
    .command('storage')
    .description('where the database is')
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
