/** `callgate import ...`: downloaded files become prepared data. */
import { type Command, Option } from 'commander'
import { importList, type ListImportSummary } from '../data/number-list/list-import.js'
import { isReadByChecks } from '../data/number-list/list-names.js'
import {
  importNumbering,
  importOcnClasses,
  type PrefixImportSummary,
} from '../data/numbering/numbering-import.js'
import { listsFolder, numberingFolder } from '../data-folders.js'
import { formatInstant, systemClock } from '../domain/clock.js'
import { type AddCommand, settingsFor, type Terminal } from './command.js'
import { addFactImports } from './import-facts.js'
import {
  addAllowShrink,
  addAsOf,
  addBadLines,
  asOfInstant,
  count,
  describeBadLines,
  type ImportOptions,
  lines,
  some,
  wholeNumber,
} from './import-options.js'
import { showProgress } from './progress.js'

export const addImport: AddCommand = (program, terminal) => {
  const group = program
    .command('import')
    .description('turn downloaded files into the data calls are judged by')
  addNumbering(group, terminal)
  addOcn(group, terminal)
  addList(group, terminal)
  addFactImports(group, terminal)
}

function addNumbering(group: Command, terminal: Terminal): void {
  group
    .command('numbering')
    .description('prefixes of the US and Canada, from the reports of the numbering administrators')
    .argument('<nanpa>', 'NANPA "utilized codes, all states" report, zip or text')
    .argument('[cnac]', 'CNAC "CO code status, all NPAs" report, zip or CSV')
    .addHelpText(
      'after',
      '\nBoth are public and free: nanpa.com (reports, CO code assignment records) and cnac.ca.\n' +
        'From then on an unknown prefix is known to be unknown.\n',
    )
    .action(async (nanpa: string, cnac: string | undefined, _options, command: Command) => {
      const settings = settingsFor(command)
      const progress = showProgress('prefixes', terminal)
      const summary = await importNumbering({
        nanpa,
        cnac,
        folder: numberingFolder(settings),
        clock: systemClock,
        onProgress: (_path, done, total) => progress.update(done, total),
      }).finally(() => progress.stop())
      for (const country of [summary.US, summary.CA]) {
        if (country) terminal.out(describePrefixes(country))
      }
    })
}

function describePrefixes(summary: PrefixImportSummary): string {
  const asOf = summary.asOf === undefined ? 'undated' : `as of ${formatInstant(summary.asOf)}`
  const skipped = Object.entries(summary.notKept).map(
    ([reason, rows]) => `${count(rows)} ${reason}`,
  )
  return lines([
    `${summary.country}: ${count(summary.kept)} prefixes, ${asOf}`,
    `  read ${count(summary.read)} rows of ${summary.path} (sha256 ${summary.sha256.slice(0, 16)})`,
    `  ${count(summary.undecidedZones)} prefixes could lie in several time zones: each must permit`,
    ...(skipped.length > 0 ? [`  not kept: ${skipped.join(', ')}`] : []),
    ...summary.bad.slice(0, 20).map(({ line, reason }) => `  bad line ${line}: ${reason}`),
  ])
}

function addOcn(group: Command, terminal: Terminal): void {
  group
    .command('ocn')
    .description('line classes of operating companies (wireless, wireline, voip)')
    .argument('<csv>', 'CSV with the columns ocn and class')
    .action(async (file: string, _options, command: Command) => {
      const progress = showProgress('companies', terminal)
      const summary = await importOcnClasses({
        file,
        folder: numberingFolder(settingsFor(command)),
        onProgress: (done, total) => progress.update(done, total),
      }).finally(() => progress.stop())
      terminal.out(
        lines([
          `${count(summary.kept)} operating companies from ${summary.path}`,
          ...summary.bad.slice(0, 20).map(({ line, reason }) => `  bad line ${line}: ${reason}`),
        ]),
      )
    })
}

interface ListOptions extends ImportOptions {
  readonly areaCodes?: string
}

function addList(group: Command, terminal: Terminal): void {
  const list = group
    .command('list')
    .description('a list of telephone numbers: us-dnc, canada-dnc, state-dnc-tx, litigators ...')
    .argument('<name>', 'name of the list; an existing one is replaced')
    .argument('<file...>', 'text, .gz or .zip: a number a line or in the first CSV column')
    .addOption(
      new Option(
        '--area-codes <codes>',
        'area codes the list speaks for: all, or 212,646 (default: those that occur)',
      ),
    )
  addAsOf(list, 'when the file was last changed')
  addBadLines(list, 'number')
  addAllowShrink(list, 'numbers of the list')
  list
    .addHelpText(
      'after',
      '\nLists with a meaning: us-dnc and canada-dnc (without them every number of the country is\n' +
        'blocked: no list is not a clean list), state-dnc-<two letters>, litigators. A list of any\n' +
        'other kind is called custom-<name>, and no check reads it.\n' +
        'A file without numbers is an empty list only with --area-codes, and only when it holds\n' +
        'nothing but blank lines and # comments.\n',
    )
    .action(async (name: string, files: string[], options: ListOptions, command: Command) => {
      const settings = settingsFor(command)
      const progress = showProgress(name, terminal)
      const summary = await importList({
        name,
        files,
        folder: listsFolder(settings),
        asOf: asOfInstant(options.asOf),
        areaCodes: areaCodesOf(options.areaCodes),
        badLinesAllowed: wholeNumber('--bad-lines', options.badLines),
        allowShrink: options.allowShrink,
        clock: systemClock,
        onProgress: ({ bytesDone, bytesTotal, rows }) =>
          progress.update(bytesDone, bytesTotal, rows),
      }).finally(() => progress.stop())
      terminal.out(describeList(summary))
    })
}

function areaCodesOf(text: string | undefined): 'all' | readonly string[] | undefined {
  if (text === undefined || text === 'all') return text
  return text.split(',').map((code) => code.trim())
}

function describeList(summary: ListImportSummary): string {
  const { coverage, badLines, uncovered } = summary
  const covered = coverage === 'all' ? 'every area code' : some(coverage.length, 'area code')
  return lines([
    `${summary.name}: ${some(summary.size, 'number')}, speaks for ${covered}, ` +
      `as of ${formatInstant(summary.asOf)}, version ${summary.version}`,
    `  read ${some(summary.rows, 'row')}, ${count(summary.rows - summary.size)} of them repeated`,
    ...(uncovered.length > 0
      ? [`  it holds numbers of area codes it does not speak for: ${uncovered.join(', ')}`]
      : []),
    ...(isReadByChecks(summary.name) ? [] : ['  no check reads a list called custom-...']),
    ...describeBadLines(badLines),
  ])
}
