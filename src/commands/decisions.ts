/** `callgate decisions ship`: the decisions of a server that is gone, for the others over its PostgreSQL. */
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { openAppContext } from '../app/app-context.js'
import { DataFileError } from '../errors.js'
import { readBeginning } from '../gate/journal/journal-beginning.js'
import { JournalReader, readOrigin, recoverJournal } from '../gate/journal/journal-reader.js'
import { DecisionStore, type StoredRecords } from '../gate/journal/projection/decision-store.js'
import { nodeRuntime } from '../runtime/runtime.js'
import { lockServing } from '../storage/sqlite.js'
import type { Db } from '../storage/tables.js'
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
          const { decisions, outcomes, nextSeq } = await shipJournal(folder, context.storage.db)
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

/** Throws {@link DataFileError} with the place if the journal is damaged. Counts what was not stored before. */
async function shipJournal(folder: string, db: Db): Promise<StoredRecords> {
  const name = readOrigin(folder, nodeRuntime.clock.now())
  const { firstSeq } = readBeginning(folder)
  const { nextSeq: endSeq } = recoverJournal(folder, name, firstSeq)
  const store = new DecisionStore(db)
  const origin = name.toString('hex')
  let nextSeq = await store.claim(origin, firstSeq)
  let [decisions, outcomes] = [0, 0]
  // A journal that is restored from a copy may end before what is stored of it.
  const reader = new JournalReader(folder, Math.min(nextSeq, endSeq))
  try {
    for (let records = reader.read(); records.length > 0; records = reader.read()) {
      const stored = await store.store({ origin, records })
      nextSeq = stored.nextSeq
      decisions += stored.decisions
      outcomes += stored.outcomes
    }
  } finally {
    reader.close()
  }
  return { nextSeq, decisions, outcomes }
}
