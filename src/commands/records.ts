/** `callgate records ...`: opt-outs and consents of an account, in bulk. */
import { basename } from 'node:path'
import type { Command } from 'commander'
import type { Foundation } from '../compose-foundation.js'
import { ebrTypeOf } from '../data/feeds/record-rows.js'
import { type EbrType, ebrTypes } from '../domain/compliance.js'
import {
  importConsents,
  importOptOuts,
  type RecordsImported,
  type RecordsImportOptions,
} from '../service/records/records-import.js'
import { type AddCommand, CommandFailure, type Terminal } from './command.js'
import { requireAccount, withFoundation } from './foundation.js'
import {
  addBadLines,
  addDryRun,
  count,
  describeBadLines,
  describeDryRun,
  type ImportOptions,
  lines,
  some,
  wholeNumber,
} from './import-options.js'
import { describeRun, type ImportHooks, runImport } from './import-run.js'
import { addExports } from './records-export.js'

interface RecordsOptions extends ImportOptions {
  readonly account: string
  readonly project?: string
  readonly source?: string
  readonly column: readonly string[]
  readonly undated?: true
  readonly type?: string
}

type Run = (foundation: Foundation, options: RecordsImportOptions) => Promise<RecordsImported>

export const addRecords: AddCommand = (program, terminal) => {
  const group = program
    .command('records')
    .description('opt-outs and consents of an account, in bulk')
  const imports = group.command('import').description('store those of a file, all or none')
  addImport(imports, terminal, {
    name: 'opt-outs',
    description: 'put numbers on the internal do-not-call list, as of the day each row says',
    columns: 'number, date',
    option: ['--undated', 'rows without a date are opt-outs of now'],
    run: (options) => (foundation, wanted) =>
      importOptOuts(partsOf(foundation), { ...wanted, undated: options.undated === true }),
  })
  addImport(imports, terminal, {
    name: 'consents',
    description: 'store relationship and consent records, as of the day each row says',
    columns: 'number, type, date, and if there are obligationEnds, reference, brand, email',
    option: ['--type <letter>', 'of all rows: S sale, I inquiry, P permission, T trial'],
    run: (options) => {
      const type = typeIn(options.type)
      return (foundation, wanted) => importConsents(partsOf(foundation), { ...wanted, type })
    },
  })
  addExports(group, terminal)
}

function partsOf({ storage, projects, changes, changeHead, world: { clock } }: Foundation) {
  return { storage, projects, changes, changeHead, clock }
}

interface RecordsImport {
  readonly name: string
  readonly description: string
  readonly columns: string
  /** Flags and description of an option of its own. */
  readonly option: readonly [string, string]
  readonly run: (options: RecordsOptions) => Run
}

function addImport(group: Command, terminal: Terminal, one: RecordsImport): void {
  const command = group
    .command(one.name)
    .description(one.description)
    .argument('<csv>', 'table with a header; text, .gz or .zip')
    .option(
      '--column <name=header>',
      `header of a column (${one.columns}); may be repeated`,
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option(...one.option)
    .option('--account <id>', 'account', 'main')
    .option('--project <code>', 'project (default: the Master Project)')
    .option(
      '--source <text>',
      'where the rows come from, kept with each (default: name of the file)',
    )
  addBadLines(command, 'usable row')
  addDryRun(command)
    .addHelpText('after', `\nColumns: ${one.columns}.\n${dates}`)
    .action((path: string, options: RecordsOptions, self: Command) =>
      importFile(self, terminal, { one, path, options }),
    )
}

const dates =
  'Dates are YYYY-MM-DD, MM/DD/YYYY or YYYYMMDD; a time counts only with its zone, as in\n' +
  '2026-06-14T14:05:00Z. Whichever of an opt-out and a consent is newer counts, on a tie the\n' +
  'opt-out. Running servers follow within a second.\n'

interface WantedImport {
  readonly one: RecordsImport
  readonly path: string
  readonly options: RecordsOptions
}

async function importFile(
  self: Command,
  terminal: Terminal,
  { one, path, options }: WantedImport,
): Promise<void> {
  const run = one.run(options)
  const wanted = wantedOf(path, options)
  await withFoundation(self, async (foundation) => {
    await requireAccount(foundation, options.account)
    const { settings } = foundation
    const result = await runImport(
      { name: one.name, settings, options, terminal },
      (hooks: ImportHooks) => run(foundation, { ...wanted, ...hooks }),
    )
    const { summary } = result
    const told = describe(summary, { name: one.name, dryRun: options.dryRun })
    terminal.out(lines([...told, ...describeRun(result, summary.rows)]))
  })
}

function wantedOf(path: string, options: RecordsOptions): RecordsImportOptions {
  return {
    ...{ path, accountId: options.account, projectId: options.project },
    source: options.source ?? basename(path),
    columns: columnsIn(options.column),
    badLinesAllowed: wholeNumber('--bad-lines', options.badLines),
    dryRun: options.dryRun,
  }
}

function columnsIn(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name = '', header = ''] = /^([^=]+)=(.+)$/.exec(text) ?? []
      if (name !== '') return [name.trim(), header.trim()]
      throw new CommandFailure(`--column '${text}': must be <name>=<header>`, 2)
    }),
  )
}

function typeIn(text: string | undefined): EbrType | undefined {
  if (text === undefined) return undefined
  const type = ebrTypeOf(text)
  if (type !== undefined) return type
  throw new CommandFailure(`--type '${text}': must be one of ${ebrTypes.join(', ')}`, 2)
}

function describe(
  summary: RecordsImported,
  { name, dryRun }: { readonly name: string; readonly dryRun: boolean | undefined },
): string[] {
  const { project, rows, repeated, outcomes, sha256, badLines } = summary
  return [
    `${name}: project ${project}${describeDryRun(dryRun)}`,
    `  read ${some(rows, 'row')}, SHA-256 ${sha256}`,
    ...(repeated > 0 ? [`  ${some(repeated, 'row')} of a number that has another row`] : []),
    ...outcomes.map(([words, numbers]) => `  ${count(numbers)} ${words}`),
    ...describeBadLines(badLines),
  ]
}
