/**
 * `callgate import ...` for lists of telephone numbers: registries and their changes, litigators,
 * ported numbers, and custom lists.
 */
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { getListsFolder } from '../../app/data-folders.js'
import { detectPortedList } from '../../data/feeds/lists/ported-numbers.js'
import {
  type ChangesImportSummary,
  importChanges,
} from '../../data/number-list/import/changes-import.js'
import {
  importList,
  type ListImportOptions,
  type ListImportSummary,
} from '../../data/number-list/import/list-import.js'
import {
  isUsedByChecks,
  litigatorListName,
  nationalListNames,
  toStateListName,
} from '../../data/number-list/list-names.js'
import { systemClock } from '../../runtime/runtime.js'
import { CommandFailure, type Terminal } from '../command.js'
import {
  type ImportFeed,
  type ImportObserver,
  type ImportRequest,
  registerImportFeed,
} from './import-feed.js'
import {
  allowShrinkOption,
  asOfOption,
  badLinesOptions,
  dryRunOption,
  type ImportOptions,
  parseAsOf,
  parseWholeNumber,
} from './import-options.js'
import { describeAge, describeChanges, describeList } from './import-summary.js'

interface ListOptions extends ImportOptions {
  readonly areaCodes?: string
  readonly column?: string
  readonly state?: string
  readonly allowGap?: true
  readonly to?: 'wireless' | 'wireline'
}

type ListRequest = ImportRequest<ListOptions>
type ListFeed<Summary> = ImportFeed<ListOptions, Summary>

export function registerListImports(group: Command, terminal: Terminal): void {
  for (const list of wholeLists) registerImportFeed(group, terminal, toListFeed(list))
  registerImportFeed(group, terminal, changesFeed)
  registerImportFeed(group, terminal, portedFeed)
}

interface WholeList {
  readonly name: string
  readonly description: string
  readonly files: string
  readonly help: string
  /** Name of the list; left out, it is the first argument. */
  readonly nameList?: (options: ListOptions) => string
  /** The default of `--area-codes`; left out, there is no such option. */
  readonly areaCodes?: string
  readonly column?: true
  readonly state?: true
}

const plainFiles = 'text, .gz or .zip: a number a line or in the first CSV column'

const wholeLists: readonly WholeList[] = [
  {
    name: 'us-dnc',
    description: 'the National Do Not Call Registry of the US, whole, as downloaded',
    files: 'text, .gz or .zip from telemarketing.donotcall.gov, one or one for each area code',
    help:
      'A line is AAA,NNNNNNN or ten digits. Name the area codes you have subscribed to with\n' +
      '--area-codes: one without an entry would go uncovered, and blocks. A list older than 31\n' +
      'days answers nothing (16 CFR 310.4(b)(3)(iv)). Between full lists: import us-dnc-changes.',
    nameList: () => nationalListNames.US,
    areaCodes: 'those that occur',
  },
  {
    name: 'canada-dnc',
    description: 'the National Do Not Call List of Canada',
    files: plainFiles,
    help: 'From lnnte-dncl.gc.ca. A list older than 31 days answers nothing.',
    nameList: () => nationalListNames.CA,
    areaCodes: 'those that occur',
    column: true,
  },
  {
    name: 'state-dnc',
    description: 'the do-not-call list of a state or province',
    files: plainFiles,
    help: 'Becomes the list state-dnc-<state>. It covers all numbers of the state.',
    nameList: requireStateListName,
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
      'covers all numbers.',
    nameList: () => litigatorListName,
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

const emptyLists =
  'A file without numbers is an empty list only with --area-codes, and only when it holds\n' +
  'nothing but blank lines and # comments.\n'

/** The options of every command that imports a whole list. */
const wholeListOptions: readonly Option[] = [
  asOfOption('when the oldest file was last changed'),
  ...badLinesOptions('number'),
  allowShrinkOption('numbers of the list'),
  new Option('--allow-older', 'accept a list older than the one in use that lacks its numbers'),
  dryRunOption,
]

function toListFeed(list: WholeList): ListFeed<ListImportSummary> {
  const { name, description, files, help, nameList, areaCodes, column, state } = list
  const nameRun = ({ args, options }: ListRequest) => nameList?.(options) ?? args[0] ?? ''
  return {
    name,
    description,
    arguments: [
      ...(nameList ? [] : [['<name>', 'name of the list'] as const]),
      ['<file...>', files],
    ],
    options: [
      ...(state ? [stateOption] : []),
      ...(column ? [columnOption] : []),
      ...(areaCodes === undefined ? [] : [areaCodesOption(areaCodes)]),
      ...wholeListOptions,
    ],
    help: `${help}\n${areaCodes === undefined ? '' : emptyLists}`,
    nameRun,
    run: (request, observer) => {
      const files = nameList ? request.args : request.args.slice(1)
      const target = { feed: name, name: nameRun(request), files }
      return importList({ ...toListImportOptions(request, target), ...observer })
    },
    countRows: ({ rows }) => rows,
    describe: (summary, { settings }) => describeList(summary, settings.lists),
    listNotes: (summary, { settings }) => describeAge(summary, settings.lists),
  }
}

const stateOption = new Option(
  '--state <XX>',
  'two letters of the state or province',
).makeOptionMandatory()

const columnOption = new Option('--column <name>', 'header of the column the numbers are in')

function areaCodesOption(otherwise: string): Option {
  const what = 'area codes the list covers: all, or 212,646'
  return new Option('--area-codes <codes>', `${what} (default: ${otherwise})`)
}

function requireStateListName({ state = '' }: ListOptions): string {
  const name = toStateListName(state)
  if (/^[a-z]{2}$/i.test(state) && isUsedByChecks(name)) return name
  const rule = 'must be the two letters of a state or province, such as FL or ON'
  throw new CommandFailure(`--state '${state}': ${rule}`, 2)
}

/** Throws {@link CommandFailure} for an invalid option. */
function toCommonOptions({ settings, options }: ListRequest) {
  return {
    folder: getListsFolder(settings),
    keepVersions: settings.lists.keepVersions,
    asOf: parseAsOf(options.asOf),
    badLinesAllowed: parseWholeNumber('--bad-lines', options.badLines),
    dryRun: options.dryRun,
    clock: systemClock,
  }
}

function toListImportOptions(
  request: ListRequest,
  target: Pick<ListImportOptions, 'feed' | 'name' | 'files'>,
): ListImportOptions {
  const { areaCodes, column, allowShrink, allowOlder } = request.options
  return {
    ...target,
    ...toCommonOptions(request),
    areaCodes: parseAreaCodes(areaCodes),
    column,
    allowShrink,
    allowOlder,
  }
}

function parseAreaCodes(text: string | undefined): 'all' | readonly string[] | undefined {
  if (text === undefined || text === 'all') return text
  return text.split(',').map((code) => code.trim())
}

/** The registry's daily change files, applied to the list in use. */
const changesFeed: ListFeed<ChangesImportSummary> = {
  name: 'us-dnc-changes',
  description: 'changes of the US registry since the list in use; days may come in any order',
  arguments: [['<file...>', 'text, .gz or .zip: number, time, A or D']],
  options: [
    new Option('--allow-gap', 'accept that days between the list and the changes are missing'),
    asOfOption('the latest time in the files'),
    ...badLinesOptions('change'),
    dryRunOption,
  ],
  help:
    'A line is 8505550123,2026-11-18T08:00:00,A; A adds, D deletes, the later one counts. A\n' +
    'deletion older than the list is left out. A number of an area code the list does not speak\n' +
    'for is a bad line: load the full list of that area code. When a day is missing between the\n' +
    'list and the changes nothing is imported; load a full list, or say --allow-gap.\n',
  run: (request, observer) =>
    importChanges({
      name: nationalListNames.US,
      files: request.args,
      allowGap: request.options.allowGap,
      ...toCommonOptions(request),
      ...observer,
    }),
  countRows: ({ rows }) => rows,
  describe: (summary, { settings }) => describeChanges(summary, settings.lists),
  listNotes: (summary, { settings }) => describeAge(summary, settings.lists),
}

/**
 * Numbers ported from wireline to wireless carriers and the other way. Each direction is a list; files
 * of both are checked before either is replaced.
 */
const portedFeed: ListFeed<readonly ListImportSummary[]> = {
  name: 'ported',
  description: 'numbers ported from wireline to wireless, and from wireless to wireline',
  arguments: [
    ['<file...>', 'text, .gz or .zip: a number or a range such as 8505550100|0123 a line'],
  ],
  options: [
    new Option('--to <kind>', 'where the numbers of files went whose names do not say it').choices([
      'wireless',
      'wireline',
    ]),
    ...wholeListOptions,
  ],
  help:
    'Files called WIRELINE-TO-WIRELESS... become the list ported-wireless, those called\n' +
    'WIRELESS-TO-WIRELINE... the list ported-wireline. Files of both are judged before either\n' +
    'list is replaced. They should be of the same day: a call to a number that was ported more\n' +
    'than 15 days ago must know it (47 CFR 64.1200(a)(1)(iv)), so an older list counts no more.\n',
  run: (request, observer) => {
    const byList = [...groupFilesByList(request.args, request.options.to)]
    const lists = byList.map(([name, files]) =>
      toListImportOptions(request, { feed: 'ported', name, files }),
    )
    return importAll(lists, observer)
  },
  countRows: (summaries) => summaries.reduce((sum, { rows }) => sum + rows, 0),
  describe: (summaries, { settings }) =>
    summaries.flatMap((summary) => describeList(summary, settings.lists)),
  listNotes: (summaries, { settings }) =>
    summaries.flatMap((summary) => describeAge(summary, settings.lists)),
}

type PortedList = 'ported-wireless' | 'ported-wireline'

/** Several lists are all checked before the first is replaced, so that they stay of one day. */
async function importAll(
  wanted: readonly ListImportOptions[],
  { rejects, onProgress }: ImportObserver,
): Promise<readonly ListImportSummary[]> {
  const checkFirst = wanted.length > 1 && wanted.every(({ dryRun }) => dryRun !== true)
  for (const list of checkFirst ? wanted : []) {
    await importList({ ...list, dryRun: true, rejects, onProgress })
  }
  const summaries: ListImportSummary[] = []
  for (const list of wanted) {
    const onBad = checkFirst ? undefined : rejects
    summaries.push(await importList({ ...list, rejects: onBad, onProgress }))
  }
  return summaries
}

/** Throws {@link CommandFailure} for a file whose kind is known neither by its name nor by `to`. */
function groupFilesByList(
  files: readonly string[],
  to: ListOptions['to'],
): ReadonlyMap<PortedList, readonly string[]> {
  const stated = to && (`ported-${to}` as const)
  const byList = new Map<PortedList, string[]>()
  for (const file of files) {
    const named = detectPortedList(basename(file))
    const list = named ?? stated
    if (list === undefined) {
      const rule = 'its name does not say what it holds; say --to wireless or --to wireline'
      throw new CommandFailure(`${file}: ${rule}`, 2)
    }
    if (stated !== undefined && list !== stated) {
      throw new CommandFailure(`--to ${to}: the name of ${file} says ${list}`, 2)
    }
    byList.set(list, [...(byList.get(list) ?? []), file])
  }
  return byList
}
