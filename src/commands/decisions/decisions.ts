/** `callgate decisions ...`: searches decisions; and those of servers that are gone, for the others over their PostgreSQL. */
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { AppContext } from '../../app/app-context.js'
import { giveUpJournal, shipJournal } from '../../app/journal/ship-journal.js'
import { formatInstant } from '../../domain/time/dates.js'
import { DataFileError } from '../../errors.js'
import { DecisionStore } from '../../gate/journal/projection/decision-store.js'
import { isPresent } from '../../runtime/folders.js'
import { findEdgeAccount } from '../../storage/cluster/edge-origins.js'
import { lockServing } from '../../storage/sqlite.js'
import type { JournalRow } from '../../storage/tables.js'
import { withAppContext } from '../account-command.js'
import {
  CommandFailure,
  formatTable,
  loadCommandSettings,
  type RegisterCommand,
} from '../command.js'
import { registerDecisionSearch } from './search-decisions.js'

export const registerDecisions: RegisterCommand = (program, terminal) => {
  const decisions = program
    .command('decisions')
    .description('search decisions; and the journals of all servers in PostgreSQL')
  registerDecisionSearch(decisions, terminal)
  decisions
    .command('list')
    .description('the journals of all servers: when each was last seen, and how far it is copied')
    .action((_options, command: Command) =>
      withShared(command, async ({ storage: { db } }) => {
        const rows = await new DecisionStore(db).listJournals()
        terminal.out(
          formatTable(
            ['journal', 'kind', 'last seen', 'records', 'blocks erasures'],
            rows.map(toCells),
          ),
        )
      }),
    )
  decisions
    .command('ship')
    .description(
      'copy the decisions of a server that is gone to the PostgreSQL database of storage.url, also while other ' +
        'servers run',
    )
    .argument('<folder>', 'its data folder, or the folder journal of it')
    .action((given: string, _options, command: Command) =>
      withShared(command, async (context) => {
        const folder = findJournal(given)
        // A copy of the folder alone has no server.
        const lock = basename(folder) === 'journal' ? lockServing(dirname(folder)) : undefined
        try {
          const shipped = await shipJournal(folder, context)
          await context.storage.db
            .updateTable('journals')
            .set({ shipped: 1 })
            .where('origin', '=', shipped.origin)
            .execute()
          terminal.out(
            `${shipped.decisions} decisions and ${shipped.outcomes} outcomes of calls were copied; all records up to number ` +
              `${shipped.nextSeq - 1} are there\n`,
          )
        } finally {
          lock?.close()
        }
      }),
    )
  decisions
    .command('give-up')
    .description(
      'let no erasure wait any longer for a server whose data folder no longer exists; its decisions that were not ' +
        'copied are lost',
    )
    .argument('<journal>', 'its name in callgate decisions list')
    .option('--yes', 'do it')
    .action((given: string, { yes }: { readonly yes?: boolean }, command: Command) =>
      withShared(command, async (context) => {
        const journal = await findGone(context, given)
        const seen = formatInstant(journal.seen_at)
        terminal.note(
          `journal ${given}: its server was last seen ${seen}; what it recorded after number ${journal.next_seq - 1} is not ` +
            'copied, and if its folder is found later, what is copied then still has the numbers that are erased now\n',
        )
        if (!yes) {
          terminal.note('nothing was changed; --yes gives it up\n')
          throw new CommandFailure('', 2)
        }
        const erasures = await giveUpJournal(journal.origin, context)
        terminal.out(`given up; erasures that were in progress: ${erasures}\n`)
      }),
    )
}

/** Of the name of a journal; enough to tell a few hundred apart. */
const shownLength = 12

function toCells({ origin, next_seq, seen_at, shipped }: JournalRow): readonly string[] {
  const account = findEdgeAccount(origin)
  return [
    nameOf(origin),
    account === undefined ? 'server' : `edge of account ${account}`,
    formatInstant(seen_at),
    String(next_seq - 1),
    account === undefined && shipped === 0 ? 'yes' : 'no',
  ]
}

/** The origin of an edge's journal begins with its account. */
const nameOf = (origin: string) => origin.slice(-64).slice(0, shownLength)

async function findGone({ storage: { db } }: AppContext, given: string) {
  const rows = await new DecisionStore(db).listJournals()
  const [journal, ...others] = rows.filter(({ origin }) => nameOf(origin) === given)
  if (journal === undefined || others.length > 0) {
    throw new CommandFailure(
      `<journal> '${given}': must be one that callgate decisions list shows`,
      2,
    )
  }
  if (findEdgeAccount(journal.origin) !== undefined) {
    throw new CommandFailure(`<journal> '${given}': is of an edge, for which no erasure waits`, 2)
  }
  if (!journal.isGone) {
    const seen = formatInstant(journal.seen_at)
    throw new CommandFailure(
      `<journal> '${given}': its server was seen at ${seen}; stop it, and try again ten minutes later`,
    )
  }
  return journal
}

/** Refuses SQLite before a data folder is made for it. */
async function withShared(
  command: Command,
  work: (context: AppContext) => Promise<void>,
): Promise<void> {
  if (loadCommandSettings(command).storage.engine !== 'postgres') {
    throw new CommandFailure(
      'storage.engine: is sqlite, which has the decisions of one server; set it to postgres, with storage.url',
      2,
    )
  }
  await withAppContext(command, work)
}

function findJournal(given: string): string {
  const found = [resolve(given), resolve(given, 'journal')].find((folder) =>
    isPresent(join(folder, 'origin')),
  )
  if (found !== undefined) return found
  throw new DataFileError(given, 'there is no journal: neither origin nor journal/origin exists')
}
