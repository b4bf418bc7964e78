/**
 * `callgate import ...` for lists of telephone numbers: registries and their changes, litigators,
 * ported numbers, and custom lists.
 */
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { getListsFolder } from '../../app/data-folders.js'
import { columns as listColumns } from '../../data/feeds/lists/plain-numbers.js'
import { detectPortedList } from '../../data/feeds/lists/ported-numbers.js'
import { samples } from '../../data/feeds/samples.js'
import type { TableArguments } from '../../data/feeds/table-options.js'
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
  describeNameRule,
  isPortedList,
  isUsedByChecks,
  litigatorListName,
  nationalListNames,
  toAccountListName,
  toStateListName,
} from '../../data/number-list/list-names.js'
import { mainAccountId, sandboxAccountId } from '../../domain/caller.js'
import { systemClock } from '../../runtime/runtime.js'
import { checkAccount } from '../account-command.js'
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
import { publishImport } from './publish-lists.js'
import { datesOption, readTableOptions, tableOptions } from './table-options.js'

const columns = Object.keys(listColumns)

interface ListOptions extends ImportOptions, TableArguments {
  readonly account?: string
  readonly areaCodes?: string
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
  /** Determines the name of the list; if absent, it is the first argument. */
  readonly nameList?: (options: ListOptions) => string
  /** The default of `--area-codes`; if absent, the command has no such option. */
  readonly areaCodes?: string
  readonly state?: true
}

const plainFiles = 'text, .gz or .zip: one number per line, or CSV with a column of numbers'

const wholeLists: readonly WholeList[] = [
  {
    name: 'us-dnc',
    description: 'the full National Do Not Call Registry of the US, as downloaded',
    files: 'text, .gz or .zip from telemarketing.donotcall.gov: one, or one per area code',
    help:
      'A line is AAA,NNNNNNN or ten digits. Name the area codes you have subscribed to with\n' +
      '--area-codes; otherwise those without an entry are not covered, and their calls are blocked.\n' +
      'A list older than 31 days is not used (16 CFR 310.4(b)(3)(iv)). To update the list between\n' +
      'full downloads, use: import us-dnc-changes.',
    nameList: () => nationalListNames.US,
    areaCodes: 'those in the files',
  },
  {
    name: 'canada-dnc',
    description: 'the National Do Not Call List of Canada',
    files: plainFiles,
    help: 'From lnnte-dncl.gc.ca. A list older than 31 days is not used.',
    nameList: () => nationalListNames.CA,
    areaCodes: 'those in the files',
  },
  {
    name: 'state-dnc',
    description: 'the do-not-call list of a state or province',
    files: plainFiles,
    help: 'The list is named state-dnc-<state> and covers all numbers of the state.',
    nameList: requireStateListName,
    areaCodes: 'all',
    state: true,
  },
  {
    name: 'litigators',
    description: 'known litigators, from a vendor of such lists',
    files: 'text, .gz or .zip: CSV with a column of numbers, or one number per line',
    help:
      'The column is found by its name (phone, number, telephone ...); otherwise the first is used.\n' +
      'The list covers all numbers.',
    nameList: () => litigatorListName,
  },
  {
    name: 'list',
    description: 'any list by name, such as custom-vip; replaces an existing one',
    files: plainFiles,
    help:
      'Lists that checks use: us-dnc and canada-dnc (without its list, every number of the country\n' +
      'is blocked), state-dnc-<two letters>, litigators, ported-wireless, ported-wireline. Any other\n' +
      'list must be named custom-<name> and is not used by any check.',
    areaCodes: 'those in the files; all for states, litigators and ported numbers',
  },
]

const emptyLists =
  'A file without numbers is accepted as an empty list only with --area-codes, and only if it\n' +
  'contains nothing but blank lines and # comments.\n'

const accountOption = new Option('--account <id>', 'account whose list it is').default(
  mainAccountId,
)

/** The options of every command that imports a whole list. */
const wholeListOptions: readonly Option[] = [
  asOfOption('modification time of the oldest file'),
  ...badLinesOptions('number'),
  allowShrinkOption('numbers of the list'),
  new Option('--allow-older', 'accept a list older than the one in use that lacks its numbers'),
  dryRunOption,
]

function toListFeed(list: WholeList): ListFeed<ListImportSummary> {
  const { name, description, files, help, nameList, areaCodes, state } = list
  const nameRun = ({ args, options }: ListRequest) =>
    nameOwned(options, nameList?.(options) ?? args[0] ?? '')
  return {
    name,
    description,
    arguments: [
      ...(nameList ? [] : [['<name>', 'name of the list'] as const]),
      ['<file...>', files],
    ],
    options: [
      ...(state ? [stateOption] : []),
      ...tableOptions(columns),
      ...(areaCodes === undefined ? [] : [areaCodesOption(areaCodes)]),
      accountOption,
      ...wholeListOptions,
    ],
    help: `${help}\n${areaCodes === undefined ? '' : emptyLists}`,
    sample: samples.numbers,
    nameRun,
    run: async (request, observer) => {
      await requireOwner(request)
      const files = nameList ? request.args : request.args.slice(1)
      const target = { feed: name, name: nameRun(request), files }
      const options = toListImportOptions(request, target)
      return await publishImport(request, [target.name], {
        change: () => importList({ ...options, ...observer }),
        listVersions: (summary) => [summary],
      })
    },
    countRows: ({ rows }) => rows,
    describe: (summary, { settings }) => describeList(summary, settings.lists),
    listNotes: (summary, { settings }) => describeAge(summary, settings.lists),
  }
}

/** Throws {@link CommandFailure} for a list of ported numbers, which says the same for all accounts, and for a name with an account. */
function nameOwned({ account = mainAccountId }: ListOptions, list: string): string {
  if (list.includes('/')) throw new CommandFailure(`name '${list}': ${describeNameRule(list)}`, 2)
  if (account === mainAccountId || !isPortedList(list)) return toAccountListName(account, list)
  throw new CommandFailure(
    `--account ${account}: ported numbers are the same for all accounts; import them without it`,
    2,
  )
}

async function requireOwner({ command, options }: ListRequest): Promise<void> {
  const { account = mainAccountId } = options
  // The database is opened only where it may say something.
  if (account === sandboxAccountId) {
    throw new CommandFailure(`--account ${account}: its lists are built in`, 2)
  }
  if (account !== mainAccountId) await checkAccount(command, account)
}

const stateOption = new Option(
  '--state <XX>',
  'two letters of the state or province',
).makeOptionMandatory()

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
  const { areaCodes, allowShrink, allowOlder } = request.options
  return {
    ...target,
    ...toCommonOptions(request),
    areaCodes: parseAreaCodes(areaCodes),
    table: readTableOptions(request.options, columns),
    allowShrink,
    allowOlder,
  }
}

function parseAreaCodes(text: string | undefined): 'all' | readonly string[] | undefined {
  if (text === undefined || text === 'all') return text
  return text.split(',').map((code) => code.trim())
}

/** Applies the registry's daily change files to the list in use. */
const changesFeed: ListFeed<ChangesImportSummary> = {
  name: 'us-dnc-changes',
  description: 'changes to the US registry since the list in use; days may be in any order',
  arguments: [['<file...>', 'text, .gz or .zip: number, time, A or D']],
  options: [
    accountOption,
    new Option('--allow-gap', 'accept that days between the list and the changes are missing'),
    asOfOption('the latest time in the files'),
    ...badLinesOptions('change'),
    dryRunOption,
  ],
  help:
    'A line is 8505550123,2026-11-18T08:00:00,A. A adds and D deletes; the latest change to a\n' +
    'number applies. A deletion older than the list is ignored. A number whose area code the list\n' +
    'does not cover is a bad line: import the full list of that area code. If a day is missing\n' +
    'between the list and the changes, nothing is imported: import a full list, or use --allow-gap.\n',
  nameRun: ({ options }) => nameOwned(options, nationalListNames.US),
  run: async (request, observer) => {
    await requireOwner(request)
    const name = nameOwned(request.options, nationalListNames.US)
    return await publishImport(request, [name], {
      change: () =>
        importChanges({
          name,
          files: request.args,
          allowGap: request.options.allowGap,
          ...toCommonOptions(request),
          ...observer,
        }),
      listVersions: (summary) => [summary],
    })
  },
  countRows: ({ rows }) => rows,
  describe: (summary, { settings }) => describeChanges(summary, settings.lists),
  listNotes: (summary, { settings }) => describeAge(summary, settings.lists),
}

/**
 * Numbers ported from wireline to wireless carriers and vice versa. Each direction is a list; files of
 * both are checked before either list is replaced.
 */
const portedFeed: ListFeed<readonly ListImportSummary[]> = {
  name: 'ported',
  description: 'numbers ported from wireline to wireless, and from wireless to wireline',
  arguments: [
    ['<file...>', 'text, .gz or .zip: one number or range such as 8505550100|0123 per line'],
  ],
  options: [
    new Option('--to <kind>', 'the new kind of line, for files whose names do not say it').choices([
      'wireless',
      'wireline',
    ]),
    datesOption,
    ...wholeListOptions,
  ],
  help:
    'Files named WIRELINE-TO-WIRELESS... become the list ported-wireless, those named\n' +
    'WIRELESS-TO-WIRELINE... the list ported-wireline. Files of both are checked before either list\n' +
    'is replaced. They should be of the same day. Callers must know of ports after 15 days\n' +
    '(47 CFR 64.1200(a)(1)(iv)), so an older list is not used.\n',
  run: (request, observer) => {
    const byList = [...groupFilesByList(request.args, request.options.to)]
    const lists = byList.map(([name, files]) =>
      toListImportOptions(request, { feed: 'ported', name, files }),
    )
    return publishImport(
      request,
      byList.map(([name]) => name),
      { change: () => importAll(lists, observer), listVersions: (summaries) => summaries },
    )
  },
  countRows: (summaries) => summaries.reduce((sum, { rows }) => sum + rows, 0),
  describe: (summaries, { settings }) =>
    summaries.flatMap((summary) => describeList(summary, settings.lists)),
  listNotes: (summaries, { settings }) =>
    summaries.flatMap((summary) => describeAge(summary, settings.lists)),
}

type PortedList = 'ported-wireless' | 'ported-wireline'

/** Checks all lists before the first is replaced, so that they are never from different days. */
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

/** Throws {@link CommandFailure} for a file whose list is given neither by its name nor by `to`. */
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
      const rule =
        'its name does not say which list it belongs to; use --to wireless or --to wireline'
      throw new CommandFailure(`${file}: ${rule}`, 2)
    }
    if (stated !== undefined && list !== stated) {
      throw new CommandFailure(`--to ${to}: the name of ${file} says ${list}`, 2)
    }
    byList.set(list, [...(byList.get(list) ?? []), file])
  }
  return byList
}
