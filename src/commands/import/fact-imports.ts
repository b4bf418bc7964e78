/** `callgate import ...` for feeds of facts about numbers: labels, disconnects, carriers, complaints. */
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { getFactsFolder } from '../../app/data-folders.js'
import { type FactFeedName, factFeeds } from '../../data/facts/fact-feeds.js'
import {
  type FactImportOptions,
  type FactImportSummary,
  importFacts,
} from '../../data/facts/fact-import.js'
import { agingDays } from '../../data/facts/reassigned-rule.js'
import { findDayInName } from '../../data/feeds/fact-table.js'
import { undatedFileRule } from '../../data/feeds/facts/reassigned.js'
import { parseLabelSource } from '../../data/feeds/facts/spam-labels.js'
import type { TableArguments } from '../../data/feeds/table-options.js'
import { labelIssuers } from '../../domain/spam-labels.js'
import { formatDay, formatInstant, toUtcDay } from '../../domain/time/dates.js'
import { systemClock } from '../../runtime/runtime.js'
import { CommandFailure, type Terminal } from '../command.js'
import { formatCount, formatNumber } from '../format.js'
import { type ImportFeed, type ImportRequest, registerImportFeed } from './import-feed.js'
import {
  allowShrinkOption,
  asOfOption,
  badLinesOptions,
  describeBadLines,
  describeDifference,
  describeDryRun,
  describeLeftOut,
  dryRunOption,
  type ImportOptions,
  parseAsOf,
  parseWholeNumber,
} from './import-options.js'
import { readTableOptions, tableOptions } from './table-options.js'

interface FactOptions extends ImportOptions, TableArguments {
  readonly keepDays?: string
  readonly carrier?: true
  readonly complete?: string
}

interface FactCommand {
  readonly name: string
  readonly description: string
  readonly files: string
  readonly columns: string
  /** Absent for a file with a published format. */
  readonly tableColumns?: readonly string[]
  /** Flags and description of an additional option. */
  readonly option?: readonly [string, string]
  /** The default of `--as-of`. */
  readonly asOf?: string
  /** Whether the day must be given, in the file's name or by `--as-of`. */
  readonly dated?: true
  readonly feed: (options: FactOptions) => FactFeedName
  readonly hint?: (summary: FactImportSummary) => string
}

const factCommands: readonly FactCommand[] = [
  {
    name: 'ftc-complaints',
    description: 'complaints about calls, from the daily files of the FTC; each file adds to them',
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
      'reassigned numbers: permanent disconnects, or answers of the database; each file adds to them',
    files: 'list of disconnects, or answer file of the Reassigned Numbers Database',
    columns:
      'Columns: number, disconnected-on; or number, date, answer (yes, no, no data), where the\n' +
      'date is the consent date of the query. The date of the content is required: --as-of, or a\n' +
      'date in the name of each file.',
    tableColumns: ['number', 'disconnectedOn', 'consentOn', 'date', 'answer'],
    option: ['--carrier', 'your own carrier data, stored separately from the national database'],
    asOf: 'the day in the name of the file',
    dated: true,
    feed: ({ carrier }) => (carrier ? 'carrier-reassigned' : 'reassigned'),
    hint: ({ sources }) =>
      'numbers are answered not to be reassigned until ' +
      `${formatDay(toUtcDay(Math.min(...sources.map(({ asOf }) => asOf))) + agingDays)}, since older data cannot know`,
  },
  {
    name: 'line-status',
    description: 'whether numbers are connected',
    files: 'table of statuses',
    columns: 'Columns: number, status, and optionally checked-on, error-text.',
    tableColumns: ['number', 'status', 'checkedOn', 'errorText'],
    feed: () => 'line-status',
  },
  {
    name: 'res-or-business',
    description: 'whether numbers are residential or business',
    files: 'table',
    columns: 'Columns: number, type (R, B, U, or residential, business, unknown).',
    tableColumns: ['number', 'kind'],
    feed: () => 'res-or-business',
  },
  {
    name: 'current-carrier',
    description: 'the current carriers of numbers, including ported ones',
    files: 'table of carriers',
    columns: 'Columns: number, type (N, L, V, W, O or words), and optionally ocn, name, date.',
    tableColumns: ['number', 'type', 'ocn', 'name', 'on'],
    feed: () => 'current-carrier',
  },
  {
    name: 'spam-labels',
    description: 'spam labels of carriers and call-blocking apps',
    files: 'table of labels',
    columns:
      'Columns: number, source, status (flagged or clean), and optionally observed; or number\n' +
      `and a column for each source. Sources: ${labelIssuers.join(', ')}.`,
    tableColumns: ['number', 'source', 'status', 'observedOn', ...labelIssuers],
    option: [
      '--complete <sources>',
      'sources, such as CarrierA,AppA, for which every number not in the file is clean',
    ],
    feed: () => 'spam-labels',
    hint: (summary) =>
      summary.completeSources.length > 0
        ? `numbers not in it are clean for ${summary.completeSources.join(', ')}`
        : 'numbers not in it are unknown; --complete names sources for which they are clean',
  },
]

export function registerFactImports(group: Command, terminal: Terminal): void {
  for (const one of factCommands) registerImportFeed(group, terminal, toFactFeed(one))
}

function toFactFeed(one: FactCommand): ImportFeed<FactOptions, FactImportSummary> {
  const { name, description, files, columns, tableColumns, option, hint } = one
  const { isCumulative } = factFeeds[one.feed({})]
  return {
    name,
    description,
    arguments: [['<file...>', files]],
    options: [
      ...(option ? [new Option(...option)] : []),
      ...(tableColumns ? tableOptions(tableColumns) : []),
      asOfOption(one.asOf ?? 'modification time of the oldest file'),
      ...badLinesOptions('usable row'),
      ...(isCumulative ? [] : [allowShrinkOption('rows')]),
      dryRunOption,
    ],
    help: `Text, .gz or .zip. ${columns}\n`,
    run: async (request, observer) => {
      const { args, options } = request
      if (one.dated && options.asOf === undefined) refuseUndated(args)
      return await importFacts({ ...toImportOptions(one, request), ...observer })
    },
    countRows: ({ rows }) => rows,
    describe: (summary, { options }) => describeFacts(summary, options.dryRun),
    listNotes: (summary) => (hint ? [hint(summary)] : []),
  }
}

/** Throws for undated files. The modification time is not enough, since a copy gets a new one. */
function refuseUndated(paths: readonly string[]): void {
  const undated = paths.find((path) => typeof findDayInName(basename(path)) !== 'number')
  if (undated === undefined) return
  throw new CommandFailure(`${undated}: ${undatedFileRule}; give the day with --as-of`, 2)
}

function toImportOptions(
  { feed, tableColumns = [] }: FactCommand,
  { settings, args, options }: ImportRequest<FactOptions>,
): FactImportOptions {
  return {
    feed: factFeeds[feed(options)],
    files: args,
    folder: getFactsFolder(settings),
    clock: systemClock,
    table: readTableOptions(options, tableColumns),
    asOf: parseAsOf(options.asOf),
    badLinesAllowed: parseWholeNumber('--bad-lines', options.badLines),
    keepDays: parseWholeNumber('--keep-days', options.keepDays),
    allowShrink: options.allowShrink,
    complete: completeSources(options.complete),
    dryRun: options.dryRun,
  }
}

function completeSources(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((part) => {
    const source = parseLabelSource(part.trim())
    if (source !== undefined) return source
    throw new CommandFailure(`--complete '${part}': must be one of ${labelIssuers.join(', ')}`, 2)
  })
}

function describeFacts(summary: FactImportSummary, dryRun: boolean | undefined): string[] {
  const { feed, entries, numbers, asOf, rows, facts, difference, skipped } = summary
  const left = Object.entries(skipped).map(([reason, value]) => `${formatNumber(value)} ${reason}`)
  const factCount = entries === numbers ? '' : `, ${formatCount(entries, 'fact')}`
  return [
    `${feed}: ${formatCount(numbers, 'number')}${factCount}, as of ${formatInstant(asOf)}` +
      describeDryRun(dryRun),
    `  read ${formatCount(rows, 'row')} with ${formatCount(facts, 'fact')}`,
    ...(difference ? describeDifference(difference) : []),
    ...(summary.comments > 0 ? [`  skipped ${formatCount(summary.comments, 'comment line')}`] : []),
    ...(left.length > 0 ? [`  not kept: ${left.join(', ')}`] : []),
    ...describeLeftOut({ leftOut: 0, notes: summary.notes }),
    ...describeBadLines(summary.badLines),
  ]
}
