/** `callgate evidence new-origin`: gives a journal another name, after it was rolled back. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { DataFileError } from '../../errors.js'
import { verifyJournal } from '../../evidence/verify/verify-journal.js'
import type { FormerOrigin } from '../../gate/journal/journal-beginning.js'
import { originPath } from '../../gate/journal/journal-origin.js'
import { beginNewOrigin, findOldHead } from '../../gate/journal/recovery/new-origin.js'
import { isPresent } from '../../runtime/folders.js'
import { systemClock } from '../../runtime/runtime.js'
import { lockServing } from '../../storage/sqlite.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'

export const registerNewOrigin: RegisterCommand = (group, terminal) => {
  group
    .command('new-origin')
    .description(
      'give the journal a new name and key, after it was rolled back or its key was lost. All its records are compared with what ' +
        'was signed before. The server must not be running',
    )
    .requiredOption('--because <text>', 'what happened; it is recorded')
    .action(({ because }: { readonly because: string }, command: Command) => {
      if (because.trim() === '') throw new CommandFailure("--because '': must say what happened", 2)
      const { dataDir, journal } = loadCommandSettings(command)
      const folder = join(dataDir, 'journal')
      if (!isPresent(originPath(folder))) {
        throw new CommandFailure(`dataDir '${dataDir}': there is no journal in it`, 2)
      }
      const lock = lockServing(dataDir)
      try {
        const keyPath = journal.signingKeyFile ?? join(dataDir, 'journal.key')
        const { origin, next, size } = renameJournal(folder, keyPath, because)
        terminal.out(`${origin} ends with record ${size}; it goes on as ${next}\n`)
        terminal.note(describeNewOrigin(folder))
      } finally {
        lock.close()
      }
    })
}

/**
 * The new key signs what the old one has signed, so all of it is compared with the old head before. Throws
 * {@link DataFileError} if anything is not as it was signed, and has changed nothing then.
 */
export function renameJournal(folder: string, keyPath: string, because: string): FormerOrigin {
  const now = systemClock.now()
  const { findings } = verifyJournal({ folder, headFolder: findOldHead(folder), now })
  const wrong = findings.filter(({ level }) => level === 'false')
  const [first] = wrong
  if (first) {
    const more = wrong.length === 1 ? '' : ` (and ${wrong.length - 1} more)`
    const rule = `the new key would sign records that are not as they were signed: ${first.message}${more}`
    const advice = 'Put back a copy that `callgate evidence verify` does not find FALSE'
    throw new DataFileError(folder, `${rule}. ${advice}`)
  }
  return beginNewOrigin(folder, { keyPath, because, now })
}

/** What to do about the new name of a journal. */
export const describeNewOrigin = (journalFolder: string): string =>
  'The journal has a new name and key. Keep the old verifier key too: only it proves the records of the old name ' +
  `(evidence verify --key NEW --key OLD). If witnesses keep its heads, have them trust the key in ${join(journalFolder, 'tree/key')}.\n`
