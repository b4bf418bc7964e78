/** `callgate import ...` for feeds of facts about numbers: labels, disconnects, carriers, complaints. */
import { basename } from 'node:path'
import type { Command } from 'commander'
import { type FactFeedName, factFeeds } from '../data/facts/fact-feeds.js'
import {
  type FactImportOptions,
  type FactImportSummary,
  importFacts,
} from '../data/facts/fact-import.js'
import { agingDays } from '../data/facts/reassigned-rule.js'
import { dayInName } from '../data/feeds/day-in-name.js'
import { undatedReassigned } from '../data/feeds/reassigned.js'
import { labelSourceOf } from '../data/feeds/spam-labels.js'
import { factsFolder } from '../data-folders.js'
import { formatDay, formatInstant, systemClock } from '../domain/clock.js'
import { labelSources } from '../domain/labels.js'
import { CommandFailure, settingsFor, type Terminal } from './command.js'
import {
  addAllowShrink,
  addAsOf,
  addBadLines,
  addDryRun,
  asOfInstant,
  count,
  describeBadLines,
  describeDifference,
  describeDryRun,
  type ImportOptions,
  lines,
  some,
  wholeNumber,
} from './import-options.js'
import { describeRun, runImport } from './import-run.js'

interface FactOptions extends ImportOptions {
  readonly keepDays?: string
  readonly carrier?: true
  readonly complete?: string
}

interface FactCommand {
  readonly name: string
  readonly description: string
  readonly files: string
  readonly columns: string
  /** Flags and description of an option of its own. */
  readonly option?: readonly [string, string]
  /** What the default of `--as-of` is. */
  readonly asOf?: string
  /** Whether the day has to be stated, in the file's name or by `--as-of`. */
  readonly dated?: true
  readonly feed: (options: FactOptions) => FactFeedName
  readonly hint?: (summary: FactImportSummary) => string
}

const commands: readonly FactCommand[] = [
  {
    name: 'ftc-complaints',
    description: 'complaints about calls, from the daily files of the FTC; they add up',
    files: 'DNC_Complaint_Numbers_YYYY-MM-DD.csv as downloaded',
    columns:
      'The day is taken from the name of each file, or --as-of. Importing one again is safe.',
    option: ['--keep-days <n>', 'drop complaints filed more than n days ago (default: keep all)'],
    asOf: 'the day in the name of the file',
    feed: () => 'ftc-complaints',
  },
  {
    name: 'reassigned',
    description:
      'numbers that changed hands: permanent disconnects, answers of the database; they add up',
    files: 'list of disconnects, or answer file of the Reassigned Numbers Database',
    columns:
      'Columns: number, disconnected-on; or number, date, answer (yes, no, no data), where the\n' +
      'date is the consent day that was asked about. The day the content was true must be known:\n' +
      '--as-of, or a day in the name of each file.',
    option: ['--carrier', 'carrier data of your own, kept apart from the national database'],
    asOf: 'the day in the name of the file',
    dated: true,
    feed: ({ carrier }) => (carrier ? 'carrier-reassigned' : 'reassigned'),
    hint: ({ sources }) =>
      'a number is told not to be reassigned until ' +
      `${formatDay(Math.floor(Math.min(...sources.map(({ asOf }) => asOf)) / 86_400_000) + agingDays)}: older data cannot know`,
  },
  {
    name: 'line-status',
    description: 'whether numbers are connected',
    files: 'table of statuses',
    columns: 'Columns: number, status, and if there are checked-on, error-text.',
    feed: () => 'line-status',
  },
  {
    name: 'res-or-business',
    description: 'whether numbers are residential or business',
    files: 'table',
    columns: 'Columns: number, type (R, B, U, or residential, business, unknown).',
    feed: () => 'res-or-business',
  },
  {
    name: 'current-carrier',
    description: 'who carries numbers now, ported ones included',
    files: 'table of carriers',
    columns: 'Columns: number, type (N, L, V, W, O or words), and if there are ocn, name, date.',
    feed: () => 'current-carrier',
  },
  {
    name: 'spam-labels',
    description: 'spam labels of carriers and call-blocking apps',
    files: 'table of labels',
    columns:
      'Columns: number, source, status (flagged or clean), and if there is one observed; or\n' +
      `number and a column for each source. Sources: ${labelSources.join(', ')}.`,
    option: [
      '--complete <sources>',
      'sources, such as CarrierA,AppA, that call every number clean the file does not name',
    ],
    feed: () => 'spam-labels',
    hint: (summary) =>
      summary.complete.length > 0
        ? `numbers not in it are clean for ${summary.complete.join(', ')}`
        : 'of numbers not in it nothing is known; --complete names sources that are clean then',
  },
]

export function addFactImports(group: Command, terminal: Terminal): void {
  for (const one of commands) addFactImport(group, terminal, one)
}

function addFactImport(group: Command, terminal: Terminal, one: FactCommand): void {
  const { name, description, files, columns, option } = one
  const command = group.command(name).description(description).argument('<file...>', files)
  if (option) command.option(...option)
  addAsOf(command, one.asOf ?? 'when the oldest file was last changed')
  addBadLines(command, 'usable row')
  if (!factFeeds[one.feed({})].addsUp) addAllowShrink(command, 'rows')
  addDryRun(command)
    .addHelpText('after', `\nText, .gz or .zip. ${columns}\n`)
    .action((paths: string[], options: FactOptions, self: Command) =>
      importFeed(self, terminal, { one, paths, options }),
    )
}

interface WantedFacts {
  readonly one: FactCommand
  readonly paths: readonly string[]
  readonly options: FactOptions
}

async function importFeed(
  self: Command,
  terminal: Terminal,
  { one, paths, options }: WantedFacts,
): Promise<void> {
  if (one.dated && options.asOf === undefined) refuseUndated(paths)
  const settings = settingsFor(self)
  const feedOptions = {
    ...wanted(one.feed(options), options),
    ...{ files: paths, folder: factsFolder(settings), clock: systemClock },
  }
  const result = await runImport({ name: one.name, settings, options, terminal }, (hooks) =>
    importFacts({ ...feedOptions, ...hooks }),
  )
  const { summary } = result
  terminal.out(lines([...describe(summary, options.dryRun), ...describeRun(result, summary.rows)]))
  const hint = one.hint?.(summary)
  if (hint !== undefined) terminal.note(`${hint}\n`)
}

/** A copy of an old file has a new time stamp, which must not make its content new. */
function refuseUndated(paths: readonly string[]): void {
  const undated = paths.find((path) => typeof dayInName(basename(path)) !== 'number')
  if (undated === undefined) return
  throw new CommandFailure(`${undated}: ${undatedReassigned}; state the day with --as-of`, 2)
}

function wanted(
  feed: FactFeedName,
  options: FactOptions,
): Omit<FactImportOptions, 'files' | 'folder' | 'clock'> {
  return {
    feed: factFeeds[feed],
    asOf: asOfInstant(options.asOf),
    badLinesAllowed: wholeNumber('--bad-lines', options.badLines),
    keepDays: wholeNumber('--keep-days', options.keepDays),
    allowShrink: options.allowShrink,
    complete: completeSources(options.complete),
    dryRun: options.dryRun,
  }
}

function completeSources(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((part) => {
    const source = labelSourceOf(part.trim())
    if (source !== undefined) return source
    throw new CommandFailure(`--complete '${part}': must be of ${labelSources.join(', ')}`, 2)
  })
}

function describe(summary: FactImportSummary, dryRun: boolean | undefined): string[] {
  const { feed, entries, numbers, asOf, rows, facts, difference, notKept } = summary
  const left = Object.entries(notKept).map(([reason, value]) => `${count(value)} ${reason}`)
  const told = entries === numbers ? '' : `, ${some(entries, 'fact')}`
  return [
    `${feed}: ${some(numbers, 'number')}${told}, as of ${formatInstant(asOf)}` +
      describeDryRun(dryRun),
    `  read ${some(rows, 'row')} with ${some(facts, 'fact')}`,
    ...(difference ? describeDifference(difference) : []),
    ...(summary.comments > 0 ? [`  skipped ${some(summary.comments, 'comment line')}`] : []),
    ...(left.length > 0 ? [`  not kept: ${left.join(', ')}`] : []),
    ...describeBadLines(summary.badLines),
  ]
}
