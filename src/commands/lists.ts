/** `callgate lists ...`: what is imported and how old it is, and the way back to an earlier version. */
import { type Command, Option } from 'commander'
import { isListName, listNameRule } from '../data/number-list/list-names.js'
import { type KeptVersion, rollBack, versionsOf } from '../data/number-list/list-versions.js'
import { listsFolder } from '../data-folders.js'
import { formatInstant, systemClock } from '../domain/clock.js'
import { type AddCommand, CommandFailure, settingsFor, type Terminal } from './command.js'
import { count, some } from './import-options.js'
import { noteAge } from './import-summary.js'
import { type DataOverview, type DataRow, dataOverview, needsAction } from './lists-overview.js'
import { table } from './table.js'

interface ListsOptions {
  readonly json?: boolean
  readonly quick?: boolean
}

export const addLists: AddCommand = (program, terminal) => {
  const group = program
    .command('lists')
    .description('what is imported: entries, age, version, and whether it can be used')
    .option('--json', 'as JSON')
    .option('--quick', 'read only how each file begins and ends, which does not find all damage')
    .addOption(
      new Option('--verify', 'read every file whole and check it, as without it').hideHelp(),
    )
    .addHelpText(
      'after',
      '\nThe exit code is 1 when a file is damaged or a list is too old, so that cron tells you.\n',
    )
    .action((options: ListsOptions, command: Command) => showLists(command, terminal, options))
  addVersions(group, terminal)
  addRollback(group, terminal)
}

async function showLists(
  command: Command,
  terminal: Terminal,
  { json = false, quick = false }: ListsOptions,
): Promise<void> {
  const settings = settingsFor(command)
  const overview = await dataOverview({ settings, now: systemClock.now(), verify: !quick })
  terminal.out(json ? `${JSON.stringify(overview, undefined, 2)}\n` : describe(overview))
  if (!json && overview.missing.length > 0) {
    terminal.note(`not imported, so real accounts are blocked: ${overview.missing.join(', ')}\n`)
  }
  if (needsAction(overview)) throw new CommandFailure('')
}

function describe({ lists, numbering, facts }: DataOverview): string {
  const rows = [...lists, ...numbering, ...facts]
  const problems = rows.flatMap(({ name, problem }) => (problem ? [`${name}: ${problem}\n`] : []))
  const parts = [
    table(
      ['list', 'entries', 'as of', 'days', 'version', 'state'],
      lists.map((row) => [...common(row), row.version ?? '-', stateText(row)]),
    ),
    ...[
      { head: 'numbering', part: numbering },
      { head: 'facts', part: facts },
    ].map(({ head, part }) =>
      part.length === 0
        ? ''
        : table(
            [head, 'entries', 'as of', 'days', 'imported', 'state'],
            part.map((row) => [...common(row), row.importedAt ?? '-', stateText(row)]),
          ),
    ),
    problems.join(''),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

function common({ name, entries, asOf, ageDays }: DataRow): string[] {
  return [name, entries === null ? '-' : count(entries), asOf ?? '-', String(ageDays ?? '-')]
}

function stateText({ state, maxAgeDays, usableUntil }: DataRow): string {
  switch (state) {
    case 'fresh':
      return usableUntil === null ? 'fresh' : `fresh, until ${usableUntil}`
    case 'soon-stale':
      return `soon too old, answers until ${usableUntil}`
    case 'stale':
      return `too old: may be ${maxAgeDays} days, answers nothing since ${usableUntil}`
    case 'damaged':
      return 'damaged'
    case 'unread':
      return 'not read by any check'
    case 'in-use':
      return 'in use'
  }
}

function addVersions(group: Command, terminal: Terminal): void {
  group
    .command('versions')
    .description('the versions of a list that are kept, the one in use first')
    .argument('<name>', 'name of the list')
    .action((name: string, _options, command: Command) => {
      const versions = versionsOf(folderOf(name, command), name)
      if (versions.length === 0) {
        throw new CommandFailure(`name '${name}': no such list is imported (see: callgate lists)`)
      }
      const { json } = command.optsWithGlobals<ListsOptions>()
      terminal.out(json ? asJson(versions) : describeVersions(versions))
    })
}

/** The name becomes part of a path, so it has to be the name of a list. */
function folderOf(name: string, command: Command): string {
  if (!isListName(name)) throw new CommandFailure(`name '${name}': ${listNameRule(name)}`, 2)
  return listsFolder(settingsFor(command))
}

function describeVersions(versions: readonly KeptVersion[]): string {
  return table(
    ['version', 'entries', 'as of', 'imported', 'by', 'replaced', 'state'],
    versions.map((one) => [
      ...[one.version, count(one.size), formatInstant(one.asOf), formatInstant(one.importedAt)],
      ...[`import ${one.feed}`, one.previous ?? '-', one.inUse ? 'in use' : 'kept'],
    ]),
  )
}

function asJson(versions: readonly KeptVersion[]): string {
  const shown = versions.map(({ version, size, asOf, importedAt, feed, previous, inUse }) => ({
    ...{ version, entries: size, asOf: formatInstant(asOf) },
    ...{ importedAt: formatInstant(importedAt), feed, previous, inUse },
  }))
  return `${JSON.stringify(shown, undefined, 2)}\n`
}

function addRollback(group: Command, terminal: Terminal): void {
  group
    .command('rollback')
    .description('put a kept version of a list in use again; the one it replaces is kept')
    .argument('<name>', 'name of the list')
    .option(
      '--to <version>',
      'which one, as lists versions shows it (default: the one that this one replaced)',
    )
    .action(async (name: string, { to }: { to?: string }, command: Command) => {
      const { lists: settings } = settingsFor(command)
      const { from, to: now } = await rollBack({
        ...{ folder: folderOf(name, command), name, to, clock: systemClock },
        keep: settings.keepVersions,
      })
      terminal.out(
        `${name}: ${some(now.size, 'number')}, as of ${formatInstant(now.asOf)}, ` +
          `version ${now.version} is in use again\n`,
      )
      if (from) {
        const back = `callgate lists rollback ${name} --to ${from.version}`
        terminal.note(`version ${from.version} is kept; to bring it back: ${back}\n`)
      }
      noteAge(now, settings, terminal)
    })
}
