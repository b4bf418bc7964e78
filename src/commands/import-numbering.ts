/** `callgate import numbering`, `blocks` and `ocn`: where a number is and what kind of line it has. */
import type { Command } from 'commander'
import type { FeedReport } from '../data/feeds/prefix-feed.js'
import type { Progress } from '../data/feeds/source-lines.js'
import { type BlocksImportSummary, importBlocks } from '../data/numbering/blocks-import.js'
import { usualBadRows } from '../data/numbering/import-limits.js'
import {
  type Changed,
  importNumbering,
  importOcnClasses,
  type OcnImportSummary,
  type PrefixImportSummary,
} from '../data/numbering/numbering-import.js'
import { numberingFolder } from '../data-folders.js'
import { formatInstant, systemClock } from '../domain/clock.js'
import { settingsFor, type Terminal } from './command.js'
import {
  addBadLines,
  addDryRun,
  addRejects,
  count,
  describeDifference,
  describeDryRun,
  type ImportOptions,
  lines,
  some,
  wholeNumber,
} from './import-options.js'
import { describeRun, type ImportHooks, runImport } from './import-run.js'

export function addNumberingImports(group: Command, terminal: Terminal): void {
  addNumbering(group, terminal)
  addBlocks(group, terminal)
  addOcn(group, terminal)
}

function addNumbering(group: Command, terminal: Terminal): void {
  const command = group
    .command('numbering')
    .description('prefixes of the US and Canada, from the reports of the numbering administrators')
    .argument('<nanpa>', 'NANPA "utilized codes, all states" report, zip or text')
    .argument('[cnac]', 'CNAC "CO code status, all NPAs" report, zip or CSV')
  addBadRows(command)
  addDryRun(command)
    .addHelpText(
      'after',
      '\nBoth are public and free: nanpa.com (reports, CO code assignment records) and cnac.ca.\n' +
        'From then on an unknown prefix is known to be unknown.\n',
    )
    .action(
      async (nanpa: string, cnac: string | undefined, options: ImportOptions, self: Command) => {
        const settings = settingsFor(self)
        const { dryRun } = options
        const run = { name: 'numbering', settings, options, terminal }
        const result = await runImport(run, ({ rejects, onProgress }) =>
          importNumbering({
            ...{ nanpa, cnac, folder: numberingFolder(settings), clock: systemClock },
            ...{ dryRun, rejects, badLinesAllowed: badRowsOf(options) },
            onProgress: (_path, ...far) => progressOf(onProgress)(...far),
          }),
        )
        const countries = [result.summary.US, result.summary.CA].filter((one) => one !== undefined)
        const rows = countries.reduce((sum, { read }) => sum + read, 0)
        const described = countries.flatMap(describePrefixes)
        terminal.out(lines([...described, ...describeRun(result, rows)]))
      },
    )
}

function describePrefixes(summary: PrefixImportSummary): string[] {
  const { country, kept, asOf, dryRun } = summary
  const dated = asOf === undefined ? 'undated' : `as of ${formatInstant(asOf)}`
  return [
    `${country}: ${count(kept)} prefixes, ${dated}${describeDryRun(dryRun)}`,
    ...describeRead(summary),
    `  ${count(summary.undecidedZones)} prefixes could lie in several time zones: each must permit`,
  ]
}

const shownBadRows = 20

function describeRead(summary: Omit<FeedReport, 'asOf'> & Changed): string[] {
  const { read, path, sha256, notKept, bad } = summary
  const skipped = Object.entries(notKept).map(([reason, rows]) => `${count(rows)} ${reason}`)
  return [
    `  read ${some(read, 'row')} of ${path} (sha256 ${sha256.slice(0, 16)})`,
    ...describeDifference(summary),
    ...(skipped.length > 0 ? [`  not kept: ${skipped.join(', ')}`] : []),
    ...bad.slice(0, shownBadRows).map(({ line, reason }) => `  bad line ${line}: ${reason}`),
  ]
}

function addBlocks(group: Command, terminal: Terminal): void {
  const command = group
    .command('blocks')
    .description('thousands blocks of the US: which company has which thousand of a pooled prefix')
    .argument('<file>', 'NANPA "thousands block assignment" report, zip or CSV')
  addBadLines(command, 'block')
  addDryRun(command)
    .addHelpText(
      'after',
      '\nPublic and free: nanpa.com. An assigned block goes before its prefix: its company, so its\n' +
        'kind of line, and its rate centre where it names another.\n',
    )
    .action(async (file: string, options: ImportOptions, self: Command) => {
      const settings = settingsFor(self)
      const wanted = {
        ...{ file, folder: numberingFolder(settings), clock: systemClock },
        badLinesAllowed: wholeNumber('--bad-lines', options.badLines),
        dryRun: options.dryRun,
      }
      const run = { name: 'blocks', settings, options, terminal }
      const result = await runImport(run, (hooks) => importBlocks({ ...wanted, ...hooks }))
      const { summary } = result
      const described = describeBlocks(summary)
      terminal.out(lines([...described, ...describeRun(result, summary.read)]))
    })
}

function describeBlocks(summary: BlocksImportSummary): string[] {
  const { kept, dryRun, undecidedZones } = summary
  return [
    `${count(kept)} assigned thousands blocks of the US${describeDryRun(dryRun)}`,
    ...describeRead(summary),
    `  ${count(undecidedZones)} blocks have a rate centre that settles no time zone`,
  ]
}

function addOcn(group: Command, terminal: Terminal): void {
  const command = group
    .command('ocn')
    .description('line classes of operating companies (wireless, wireline, voip)')
    .argument('<csv>', 'CSV with the columns ocn and class')
  addBadRows(command)
  addDryRun(command).action(async (file: string, options: ImportOptions, self: Command) => {
    const settings = settingsFor(self)
    const { dryRun } = options
    const run = { name: 'ocn', settings, options, terminal }
    const result = await runImport(run, ({ rejects, onProgress }) =>
      importOcnClasses({
        ...{ file, folder: numberingFolder(settings), dryRun, rejects },
        badLinesAllowed: badRowsOf(options),
        onProgress: progressOf(onProgress),
      }),
    )
    const { summary } = result
    const described = describeCompanies(summary)
    terminal.out(lines([...described, ...describeRun(result, summary.read)]))
  })
}

/** Reports hold a few odd rows now and then, and leave no number out by them. */
function addBadRows(command: Command): void {
  command.option(
    '--bad-lines <n>',
    `leave out up to n rows of a file that cannot be understood (default: ${usualBadRows})`,
  )
  addRejects(command)
}

function badRowsOf({ badLines }: ImportOptions): number | undefined {
  return wholeNumber('--bad-lines', badLines)
}

function describeCompanies(summary: OcnImportSummary): string[] {
  return [
    `${count(summary.kept)} operating companies${describeDryRun(summary.dryRun)}`,
    ...describeRead(summary),
  ]
}

function progressOf(onProgress: ImportHooks['onProgress']): Progress {
  return (bytesDone, bytesTotal, rows) => onProgress({ bytesDone, bytesTotal, rows })
}
