/** `callgate evidence new-origin`: gives a journal another name, after it was rolled back. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { originPath } from '../../gate/journal/journal-origin.js'
import { beginNewOrigin } from '../../gate/journal/recovery/new-origin.js'
import { systemClock } from '../../runtime/runtime.js'
import { lockServing } from '../../storage/sqlite.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'

export const registerNewOrigin: RegisterCommand = (group, terminal) => {
  group
    .command('new-origin')
    .description(
      'go on with another name and key, after the journal was rolled back or its key was lost; the server must not run',
    )
    .requiredOption('--because <text>', 'what happened; it is recorded')
    .action(({ because }: { readonly because: string }, command: Command) => {
      if (because.trim() === '') throw new CommandFailure("--because '': must say what happened", 2)
      const { dataDir, journal } = loadCommandSettings(command)
      const folder = join(dataDir, 'journal')
      if (!existsSync(originPath(folder))) {
        throw new CommandFailure(`dataDir '${dataDir}': there is no journal in it`, 2)
      }
      const lock = lockServing(dataDir)
      try {
        const keyPath = journal.signingKeyFile ?? join(dataDir, 'journal.key')
        const now = systemClock.now()
        const { origin, next, size } = beginNewOrigin(folder, { keyPath, because, now })
        terminal.out(`${origin} had signed ${size} records and ends; it goes on as ${next}\n`)
        terminal.note(describeNewOrigin(folder))
      } finally {
        lock.close()
      }
    })
}

/** What to do about the new name of a journal. */
export const describeNewOrigin = (journalFolder: string): string =>
  'The journal goes on with a new name and key. If witnesses keep its heads, have them trust the key in ' +
  `${join(journalFolder, 'tree/key')}.\n`
