/** `callgate lists ...`: shows the imported data and its age, and rolls back to earlier versions. */
import { type Command, Option } from 'commander'
import { getListsFolder } from '../../app/data-folders.js'
import {
  type DataOverview,
  type DataRow,
  readDataOverview,
  requiresAction,
} from '../../app/lists/data-overview.js'
import type { Settings } from '../../config/settings.js'
import {
  describeNameRule,
  isAccountListName,
  isListName,
  toAccountListName,
} from '../../data/number-list/list-names.js'
import { rollBackList } from '../../data/number-list/list-rollback.js'
import type { ListInForce } from '../../data/number-list/list-store.js'
import { findVersions, type ListVersionFile } from '../../data/number-list/list-version-files.js'
import { mainAccountId } from '../../domain/caller.js'
import { formatInstant } from '../../domain/time/dates.js'
import { systemClock } from '../../runtime/runtime.js'
import {
  CommandFailure,
  formatTable,
  loadCommandSettings,
  type RegisterCommand,
  type Terminal,
} from '../command.js'
import { formatCount, formatNumber } from '../format.js'
import { describeAge } from '../import/import-summary.js'
import { registerListRights } from './list-rights.js'

interface ListsOptions {
  readonly json?: boolean
  readonly quick?: boolean
}

export const registerLists: RegisterCommand = (program, terminal) => {
  const group = program
    .command('lists')
    .description('show the imported data: entries, age, version, and whether it can be used')
    .option('--json', 'as JSON')
    .option('--quick', 'read only the start and end of each file, which does not find all damage')
    .addOption(
      new Option('--verify', 'read and check every file completely (the default)').hideHelp(),
    )
    .addHelpText(
      'after',
      '\nThe exit code is 1 when a file is damaged or a list is too old, so a cron job fails and mails you.\n',
    )
    .action((options: ListsOptions, command: Command) => showLists(command, terminal, options))
  registerVersions(group, terminal)
  registerRollback(group, terminal)
  registerListRights(group, terminal)
}

async function showLists(
  command: Command,
  terminal: Terminal,
  { json = false, quick = false }: ListsOptions,
): Promise<void> {
  const settings = loadCommandSettings(command)
  const inForce = await readInForce(command, settings)
  const now = systemClock.now()
  const overview = await readDataOverview({ settings, now, verify: !quick, inForce })
  terminal.out(json ? `${JSON.stringify(overview, undefined, 2)}\n` : describeOverview(overview))
  if (!json && overview.missing.length > 0) {
    terminal.note(`not imported, so real accounts are blocked: ${overview.missing.join(', ')}\n`)
  }
  if (requiresAction(overview)) throw new CommandFailure('')
}

async function readInForce(command: Command, settings: Settings): Promise<readonly ListInForce[]> {
  // The database is loaded only where it may say something.
  if (settings.storage.engine === 'sqlite') return []
  const { readPublishedLists } = await import('../../app/lists/list-files.js')
  const { withAppContext } = await import('../account-command.js')
  return await withAppContext(command, ({ storage }) => readPublishedLists(settings, storage.reads))
}

function describeOverview({ lists, numbering, facts }: DataOverview): string {
  const rows = [...lists, ...numbering, ...facts]
  const problems = rows.flatMap(({ name, problem }) => (problem ? [`${name}: ${problem}\n`] : []))
  const parts = [
    formatTable(
      ['list', 'entries', 'as of', 'days', 'version', 'state'],
      lists.map((row) => [...commonCells(row), row.version ?? '-', describeState(row)]),
    ),
    ...[
      { head: 'numbering', part: numbering },
      { head: 'facts', part: facts },
    ].map(({ head, part }) =>
      part.length === 0
        ? ''
        : formatTable(
            [head, 'entries', 'as of', 'days', 'imported', 'state'],
            part.map((row) => [...commonCells(row), row.importedAt ?? '-', describeState(row)]),
          ),
    ),
    problems.join(''),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

function commonCells({ name, entries, asOf, ageDays }: DataRow): string[] {
  return [name, entries === null ? '-' : formatNumber(entries), asOf ?? '-', String(ageDays ?? '-')]
}

function describeState({ inForce, ...row }: DataRow): string {
  const byAge = describeAgeState(row)
  return inForce === null || row.state === 'not-in-force' ? byAge : `in force; ${byAge}`
}

function describeAgeState({
  state,
  maxAgeDays,
  usableUntil,
}: Pick<DataRow, 'state' | 'maxAgeDays' | 'usableUntil'>): string {
  switch (state) {
    case 'fresh':
      return usableUntil === null ? 'fresh' : `fresh, until ${usableUntil}`
    case 'soon-stale':
      return `expires soon, used until ${usableUntil}`
    case 'stale':
      return `too old: may be ${maxAgeDays} days old, not used since ${usableUntil}`
    case 'damaged':
      return 'damaged'
    case 'not-in-force':
      return 'not used, another version is in force'
    case 'unread':
      return 'not used by any check'
    case 'in-use':
      return 'in use'
  }
}

function registerVersions(group: Command, terminal: Terminal): void {
  group
    .command('versions')
    .description('show the kept versions of a list, the one in use first')
    .argument('<name>', 'name of the list')
    .addOption(accountOption)
    .action((list: string, { account }: OwnedListOptions, command: Command) => {
      const name = requireListName(list, account)
      const versions = findVersions(getListsFolder(loadCommandSettings(command)), name)
      if (versions.length === 0) {
        throw new CommandFailure(`list '${name}' not found (see: callgate lists)`)
      }
      const { json } = command.optsWithGlobals<ListsOptions>()
      terminal.out(json ? formatVersionsJson(versions) : describeVersions(versions))
    })
}

interface OwnedListOptions {
  readonly account: string
}

const accountOption = new Option('--account <id>', 'account whose list it is').default(
  mainAccountId,
)

/** Requires valid names, since they become parts of a path. */
function requireListName(list: string, account: string): string {
  if (!isListName(list)) throw new CommandFailure(`name '${list}': ${describeNameRule(list)}`, 2)
  const name = toAccountListName(account, list)
  if (isAccountListName(name)) return name
  throw new CommandFailure(`account '${account}' not found (see: callgate accounts list)`, 2)
}

function describeVersions(versions: readonly ListVersionFile[]): string {
  return formatTable(
    ['version', 'entries', 'as of', 'imported', 'by', 'replaced', 'state'],
    versions.map(({ version, size, asOf, importedAt, feed, previous, inUse }) => [
      version,
      formatNumber(size),
      formatInstant(asOf),
      formatInstant(importedAt),
      `import ${feed}`,
      previous ?? '-',
      inUse ? 'in use' : 'kept',
    ]),
  )
}

function formatVersionsJson(versions: readonly ListVersionFile[]): string {
  const shown = versions.map(({ version, size, asOf, importedAt, feed, previous, inUse }) => ({
    version,
    entries: size,
    asOf: formatInstant(asOf),
    importedAt: formatInstant(importedAt),
    feed,
    previous,
    inUse,
  }))
  return `${JSON.stringify(shown, undefined, 2)}\n`
}

interface RollbackOptions extends OwnedListOptions {
  readonly to?: string
  readonly because?: string
}

function registerRollback(group: Command, terminal: Terminal): void {
  group
    .command('rollback')
    .description('go back to a kept version of a list; the replaced one is kept')
    .argument('<name>', 'name of the list')
    .addOption(accountOption)
    .option(
      '--to <version>',
      'version, as shown by lists versions (default: the one before the current)',
    )
    .option('--because <text>', 'why, for the audit table')
    .action(async (list: string, options: RollbackOptions, command: Command) => {
      const { account, to, because: reason } = options
      const name = requireListName(list, account)
      const all = loadCommandSettings(command)
      const { lists: settings } = all
      const folder = getListsFolder(all)
      const { changeAndPublish } = await import('../import/publish-lists.js')
      const { from, to: now } = await changeAndPublish(command, {
        names: [name],
        allowMissing: to !== undefined,
        stageSeconds: 0,
        change: () =>
          rollBackList({ folder, name, to, clock: systemClock, keep: settings.keepVersions }),
        listVersions: (result) => [{ name, version: result.to.version }],
      })
      terminal.out(
        `${name}: ${formatCount(now.size, 'number')}, as of ${formatInstant(now.asOf)}, ` +
          `version ${now.version} is in use again\n`,
      )
      if (from) {
        const of = account === mainAccountId ? '' : ` --account ${account}`
        const back = `callgate lists rollback ${list}${of} --to ${from.version}`
        terminal.note(`version ${from.version} is kept; to restore it: ${back}\n`)
      }
      for (const note of describeAge({ ...now, name }, settings)) terminal.note(`${note}\n`)
      const { recordImport } = await import('../import/record-import.js')
      const after = { version: now.version, replaced: from?.version }
      await recordImport(command, all, { action: 'list.rolled-back', name, after, reason })
    })
}
