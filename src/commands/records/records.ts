/** `callgate records ...`: imports and exports the opt-outs, and the relationship and permission records, of an account. */
import { basename } from 'node:path'
import { Option } from 'commander'
import { ebrColumns, optOutColumns, parseEbrType } from '../../data/feeds/record-files.js'
import { samples } from '../../data/feeds/samples.js'
import type { TableArguments } from '../../data/feeds/table-options.js'
import { type EbrType, ebrTypes } from '../../domain/compliance.js'
import {
  importEbrRecords,
  importOptOuts,
  type RecordsImportDeps,
  type RecordsImportOptions,
  type RecordsImportSummary,
} from '../../service/records/records-import.js'
import { requireAccount, withAppContext } from '../account-command.js'
import { CommandFailure, type RegisterCommand } from '../command.js'
import { formatCount, formatNumber } from '../format.js'
import { type ImportFeed, registerImportFeed } from '../import/import-feed.js'
import {
  badLinesOptions,
  describeBadLines,
  describeDryRun,
  describeLeftOut,
  dryRunOption,
  type ImportOptions,
  parseWholeNumber,
} from '../import/import-options.js'
import { readTableOptions, tableOptions } from '../import/table-options.js'
import { registerExports } from './records-export.js'

interface RecordsOptions extends ImportOptions, TableArguments {
  readonly account: string
  readonly project?: string
  readonly source?: string
  readonly undated?: true
  readonly type?: string
}

export const registerRecords: RegisterCommand = (program, terminal) => {
  const group = program
    .command('records')
    .description('opt-outs, and relationship and permission records, of an account, in bulk')
  const imports = group.command('import').description('import a file, all rows or none')
  for (const records of [optOuts, ebrRecords]) {
    registerImportFeed(imports, terminal, toRecordsFeed(records))
  }
  registerExports(group, terminal)
}

interface RecordsImport {
  readonly name: 'opt-outs' | 'consents'
  readonly description: string
  readonly columns: string
  readonly tableColumns: readonly string[]
  /** An additional option. */
  readonly option: Option
  readonly run: (
    deps: RecordsImportDeps,
    wanted: RecordsImportOptions,
    options: RecordsOptions,
  ) => Promise<RecordsImportSummary>
}

const optOuts: RecordsImport = {
  name: 'opt-outs',
  description: 'put numbers on the internal do-not-call list, dated by each row',
  columns: 'number, date',
  tableColumns: Object.keys(optOutColumns),
  option: new Option('--undated', 'accept rows without a date as opt-outs as of now'),
  run: (deps, wanted, { undated }) => importOptOuts(deps, { ...wanted, undated: undated === true }),
}

const ebrRecords: RecordsImport = {
  name: 'consents',
  description: 'store relationship and permission records, dated by each row',
  columns: 'number, type, date, and optionally obligationEnds, reference, brand, email',
  tableColumns: Object.keys(ebrColumns),
  option: new Option('--type <letter>', 'for all rows: S sale, I inquiry, P permission, T trial'),
  run: (deps, wanted, { type }) => importEbrRecords(deps, { ...wanted, type: parseType(type) }),
}

function toRecordsFeed(records: RecordsImport): ImportFeed<RecordsOptions, RecordsImportSummary> {
  const { name, description, columns, tableColumns, option, run } = records
  return {
    name,
    description,
    isRecorded: true,
    sample: samples[name],
    arguments: [['<csv>', 'table with a header; text, .gz or .zip']],
    options: [
      ...tableOptions(tableColumns),
      option,
      new Option('--account <id>', 'account').default('main'),
      new Option('--project <code>', 'project (default: the Master Project)'),
      new Option(
        '--source <text>',
        'origin of the rows, stored with each row (default: name of the file)',
      ),
      ...badLinesOptions('usable row'),
      dryRunOption,
    ],
    help: `Columns: ${columns}.\n${dates}`,
    run: ({ command, args, options }, observer) =>
      withAppContext(command, async (context) => {
        const table = readTableOptions(options, tableColumns)
        const wanted = { ...toRecordsOptions(args[0] ?? '', options), table }
        await requireAccount(context, options.account)
        const deps = { ...context, clock: context.runtime.clock }
        return await run(deps, { ...wanted, ...observer }, options)
      }),
    countRows: ({ rows }) => rows,
    describe: (summary, { options }) => describeImport(summary, { name, dryRun: options.dryRun }),
  }
}

const dates =
  'Dates are YYYY-MM-DD, MM/DD/YYYY (or --dates), DD.MM.YYYY or YYYYMMDD; a time is used only with its zone, as in\n' +
  '2026-06-14T14:05:00Z. The newer of an opt-out and a permission applies; on a tie the opt-out\n' +
  'does. Running servers follow within a second.\n'

function toRecordsOptions(path: string, options: RecordsOptions): RecordsImportOptions {
  return {
    path,
    accountId: options.account,
    projectId: options.project,
    source: options.source ?? basename(path),
    badLinesAllowed: parseWholeNumber('--bad-lines', options.badLines),
    dryRun: options.dryRun,
  }
}

function parseType(text: string | undefined): EbrType | undefined {
  if (text === undefined) return undefined
  const type = parseEbrType(text)
  if (type !== undefined) return type
  throw new CommandFailure(`--type '${text}': must be one of ${ebrTypes.join(', ')}`, 2)
}

function describeImport(
  summary: RecordsImportSummary,
  { name, dryRun }: { readonly name: string; readonly dryRun: boolean | undefined },
): string[] {
  const { project, rows, repeated, outcomes, sha256, badLines } = summary
  return [
    `${name}: project ${project}${describeDryRun(dryRun)}`,
    `  read ${formatCount(rows, 'row')}, SHA-256 ${sha256}`,
    ...(repeated > 0
      ? [`  ${formatCount(repeated, 'row')} with a number that another row has too`]
      : []),
    ...describeLeftOut(summary),
    ...outcomes.map(([words, numbers]) => `  ${formatNumber(numbers)} ${words}`),
    ...describeBadLines(badLines),
  ]
}
