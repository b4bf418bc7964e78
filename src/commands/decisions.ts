/** `callgate decisions ship`: the decisions of a server that is gone, for the others over its PostgreSQL. */
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { openAppContext } from '../app/app-context.js'
import { shipJournal } from '../app/journal/ship-journal.js'
import { DataFileError } from '../errors.js'
import { nodeRuntime } from '../runtime/runtime.js'
import { lockServing } from '../storage/sqlite.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from './command.js'

export const registerDecisions: RegisterCommand = (program, terminal) => {
  program
    .command('decisions')
    .description('decisions of all servers in PostgreSQL')
    .command('ship')
    .description(
      'copy the decisions of a server that is gone to the PostgreSQL database of storage.url, also while other ' +
        'servers run',
    )
    .argument('<folder>', 'its data folder, or the folder journal of it')
    .action(async (given: string, _options, command: Command) => {
      const settings = loadCommandSettings(command)
      if (settings.storage.engine !== 'postgres') {
        throw new CommandFailure(
          'storage.engine: is sqlite; set it to postgres, with storage.url, where the decisions are to be copied',
          2,
        )
      }
      const folder = findJournal(given)
      // A copy of the folder alone has no server.
      const lock = basename(folder) === 'journal' ? lockServing(dirname(folder)) : undefined
      try {
        const context = await openAppContext(settings, nodeRuntime)
        try {
          const { origin, decisions, outcomes, nextSeq } = await shipJournal(folder, context)
          await context.storage.db
            .updateTable('journals')
            .set({ shipped: 1 })
            .where('origin', '=', origin)
            .execute()
          terminal.out(
            `${decisions} decisions and ${outcomes} outcomes of calls were copied; all records up to number ` +
              `${nextSeq - 1} are there\n`,
          )
        } finally {
          await context.close()
        }
      } finally {
        lock?.close()
      }
    })
}

function findJournal(given: string): string {
  const found = [resolve(given), resolve(given, 'journal')].find((folder) =>
    existsSync(join(folder, 'origin')),
  )
  if (found !== undefined) return found
  throw new DataFileError(given, 'there is no journal: neither origin nor journal/origin exists')
}
