/** `callgate import ...` for lists of telephone numbers: registries, litigators, lists of one's own. */
import type { Command } from 'commander'
import type { Settings } from '../config.js'
import { importList, type ListImportOptions } from '../data/number-list/list-import.js'
import {
  isReadByChecks,
  litigatorListName,
  nationalListNames,
  stateListName,
} from '../data/number-list/list-names.js'
import { listsFolder } from '../data-folders.js'
import { systemClock } from '../domain/clock.js'
import { CommandFailure, settingsFor, type Terminal } from './command.js'
import {
  addAllowShrink,
  addAsOf,
  addBadLines,
  addDryRun,
  asOfInstant,
  type ImportOptions,
  lines,
  wholeNumber,
} from './import-options.js'
import { describeRun, runImport } from './import-run.js'
import { describeList, noteAge } from './import-summary.js'

export interface ListOptions extends ImportOptions {
  readonly areaCodes?: string
  readonly column?: string
  readonly state?: string
}

interface ListCommand {
  readonly name: string
  readonly description: string
  readonly files: string
  readonly help: string
  /** The list it makes; a command without one is told its name as the first argument. */
  readonly listOf?: (options: ListOptions) => string
  /** What the default of `--area-codes` is, where there is the option. */
  readonly areaCodes?: string
  readonly column?: true
  readonly state?: true
}

const plainFiles = 'text, .gz or .zip: a number a line or in the first CSV column'

const commands: readonly ListCommand[] = [
  {
    name: 'us-dnc',
    description: 'the National Do Not Call Registry of the US, whole, as downloaded',
    files: 'text, .gz or .zip from telemarketing.donotcall.gov, one or one for each area code',
    help:
      'A line is AAA,NNNNNNN or ten digits. Name the area codes you have subscribed to with\n' +
      '--area-codes: one without an entry would go uncovered, and blocks. A list older than 31\n' +
      'days answers nothing (16 CFR 310.4(b)(3)(iv)). Between full lists: import us-dnc-changes.',
    listOf: () => nationalListNames.US,
    areaCodes: 'those that occur',
  },
  {
    name: 'canada-dnc',
    description: 'the National Do Not Call List of Canada',
    files: plainFiles,
    help: 'From lnnte-dncl.gc.ca. A list older than 31 days answers nothing.',
    listOf: () => nationalListNames.CA,
    areaCodes: 'those that occur',
    column: true,
  },
  {
    name: 'state-dnc',
    description: 'the do-not-call list of a state or province',
    files: plainFiles,
    help: 'Becomes the list state-dnc-<state>. It speaks for all numbers of the state.',
    listOf: stateList,
    areaCodes: 'all',
    column: true,
    state: true,
  },
  {
    name: 'litigators',
    description: 'known litigators, as bought from a vendor of such lists',
    files: 'text, .gz or .zip: CSV with a column of numbers, or a number a line',
    help:
      'The column is found by its name (phone, number, telephone ...), or is the first. The list\n' +
      'speaks for all numbers.',
    listOf: () => litigatorListName,
    column: true,
  },
  {
    name: 'list',
    description: 'any list by its name, such as custom-vip; an existing one is replaced',
    files: plainFiles,
    help:
      'Lists with a meaning: us-dnc and canada-dnc (without them every number of the country is\n' +
      'blocked: no list is not a clean list), state-dnc-<two letters>, litigators,\n' +
      'ported-wireless, ported-wireline. A list of any other kind is called custom-<name>, and\n' +
      'no check reads it.',
    areaCodes: 'those that occur; all for states, litigators and ported numbers',
    column: true,
  },
]

export function addListImports(group: Command, terminal: Terminal): void {
  for (const one of commands) addListImport(group, terminal, one)
}

const emptyLists =
  'A file without numbers is an empty list only with --area-codes, and only when it holds\n' +
  'nothing but blank lines and # comments.\n'

function addListImport(group: Command, terminal: Terminal, one: ListCommand): void {
  const command = group.command(one.name).description(one.description)
  if (!one.listOf) command.argument('<name>', 'name of the list')
  command.argument('<file...>', one.files)
  if (one.state) command.requiredOption('--state <XX>', 'two letters of the state or province')
  if (one.column) command.option('--column <name>', 'header of the column the numbers are in')
  if (one.areaCodes !== undefined) addAreaCodes(command, one.areaCodes)
  addListOptions(command)
  command
    .addHelpText('after', `\n${one.help}\n${one.areaCodes !== undefined ? emptyLists : ''}`)
    .action(async (...given: unknown[]) => {
      const self = given.at(-1) as Command
      const options = self.opts<ListOptions>()
      const [name = '', files] = one.listOf
        ? [one.listOf(options), self.args]
        : [self.args[0], self.args.slice(1)]
      await importOne(self, terminal, { feed: one.name, name, files, options })
    })
}

async function importOne(self: Command, terminal: Terminal, wanted: WantedList): Promise<void> {
  const settings = settingsFor(self)
  const { name, options } = wanted
  const list = listOptions(settings, wanted)
  const result = await runImport({ name, settings, options, terminal }, (hooks) =>
    importList({ ...list, ...hooks }),
  )
  const { summary } = result
  terminal.out(
    lines([...describeList(summary, settings.lists), ...describeRun(result, summary.rows)]),
  )
  noteAge(summary, settings.lists, terminal)
}

export interface WantedList {
  /** Which command imports it. */
  readonly feed: string
  readonly name: string
  readonly files: readonly string[]
  readonly options: ListOptions
}

/** What the options of a command ask for; throws {@link CommandFailure} for one that breaks a rule. */
export function listOptions(
  settings: Settings,
  { feed, name, files, options }: WantedList,
): ListImportOptions {
  return {
    ...{ feed, name, files },
    folder: listsFolder(settings),
    keepVersions: settings.lists.keepVersions,
    asOf: asOfInstant(options.asOf),
    areaCodes: areaCodesOf(options.areaCodes),
    column: options.column,
    badLinesAllowed: wholeNumber('--bad-lines', options.badLines),
    allowShrink: options.allowShrink,
    allowOlder: options.allowOlder,
    dryRun: options.dryRun,
    clock: systemClock,
  }
}

function areaCodesOf(text: string | undefined): 'all' | readonly string[] | undefined {
  if (text === undefined || text === 'all') return text
  return text.split(',').map((code) => code.trim())
}

/** The options every command that makes a whole list has. */
export function addListOptions(command: Command): void {
  addAsOf(command, 'when the oldest file was last changed')
  addBadLines(command, 'number')
  addAllowShrink(command, 'numbers of the list')
  command.option('--allow-older', 'accept a list older than the one in use that lacks its numbers')
  addDryRun(command)
}

function addAreaCodes(command: Command, otherwise: string): void {
  command.option(
    '--area-codes <codes>',
    `area codes the list speaks for: all, or 212,646 (default: ${otherwise})`,
  )
}

function stateList({ state = '' }: ListOptions): string {
  const name = stateListName(state)
  if (/^[a-z]{2}$/i.test(state) && isReadByChecks(name)) return name
  const rule = 'must be the two letters of a state or province, such as FL or ON'
  throw new CommandFailure(`--state '${state}': ${rule}`, 2)
}
