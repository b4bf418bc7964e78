/** `callgate caller-ids ...`: the own numbers of an account, which its calls may show. */
import { type Command, Option } from 'commander'
import type { KnownRow } from '../../data/feeds/known-table.js'
import { samples } from '../../data/feeds/samples.js'
import { createOperatorCaller } from '../../domain/caller.js'
import {
  type Attestation,
  attestations,
  type CallerIdEntry,
  type CallerIdInput,
  callerIdColumns,
} from '../../domain/mandate.js'
import { formatInstant, parseInstant } from '../../domain/time/dates.js'
import { AppError, DataFileError } from '../../errors.js'
import { requireAccount, requireOwnAccounts, withAppContext } from '../account-command.js'
import { formatTable, type RegisterCommand, type Terminal } from '../command.js'
import { addSampleOption } from '../import/table-options.js'
import { findUser, parseInstantOption } from '../option-values.js'
import { createLineFailure, readCsvFile } from './csv-file.js'
import { registerDoNotOriginate } from './do-not-originate.js'

interface AccountOption {
  readonly account: string
}

interface AddOptions extends AccountOption {
  readonly project?: string
  readonly owner: string
  readonly proof: string
  readonly carrier?: string
  readonly attestation?: Attestation
  readonly from?: string
  readonly until?: string
  readonly tested?: string
  readonly presence?: string
}

export const registerCallerIds: RegisterCommand = (program, terminal) => {
  const group = program
    .command('caller-ids')
    .description('own numbers, which are the only ones that calls may show once there are any')

  group
    .command('list')
    .description('list those in force')
    .option('--account <id>', 'of this account', 'main')
    .option('--ended', 'also what has ended or was replaced')
    .action((options: AccountOption & { ended?: boolean }, command: Command) =>
      withAppContext(command, async (context) => {
        await requireAccount(context, options.account)
        const caller = createOperatorCaller(options.account)
        terminal.out(describe(await context.callerIds.list(caller, { ended: options.ended })))
      }),
    )
  registerAdd(group, terminal)
  registerImport(group, terminal)
  registerDoNotOriginate(group, terminal)

  group
    .command('end')
    .description('let no call show a number any longer; what is known of it is kept')
    .argument('<number>', 'as it was added')
    .option('--account <id>', 'of this account', 'main')
    .option('--project <code>', 'for the calls of this project, if it was added for one')
    .action((number: string, options: AccountOption & { project?: string }, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        await requireAccount(context, options.account)
        const caller = createOperatorCaller(options.account)
        const ended = { number, projectId: options.project }
        await context.callerIds.end(caller, ended, { by: describeUser() })
        terminal.note(`${number} has ended\n`)
      }),
    )
}

function registerAdd(group: Command, terminal: Terminal): void {
  group
    .command('add')
    .description('add numbers, or replace what is said of them')
    .argument('<numbers...>', 'telephone numbers')
    .option('--account <id>', 'of this account', 'main')
    .option('--project <code>', 'only for calls of this project')
    .requiredOption('--owner <name>', 'to whom the numbers were given')
    .requiredOption('--proof <text>', 'what proves it, such as a contract or an invoice')
    .option('--carrier <name>', 'that signs the calls')
    .addOption(
      new Option('--attestation <level>', 'what it is expected to sign').choices(attestations),
    )
    .option('--from <instant>', 'from when calls may show them')
    .option('--until <instant>', 'until when calls may show them')
    .option('--tested <instant>', 'when somebody called them back and was answered')
    .option('--presence <text>', 'what proves presence where the numbers are, such as an address')
    .action((numbers: readonly string[], options: AddOptions, command: Command) => {
      const { account, project, tested, ...rest } = options
      const shared = {
        ...rest,
        projectId: project,
        from: parseInstantOption('--from', options.from),
        until: parseInstantOption('--until', options.until),
        callbackTestedAt: parseInstantOption('--tested', tested),
      }
      const inputs = numbers.map((number) => ({ ...shared, number }))
      return addAll(command, account, inputs).then(() =>
        terminal.note(`${numbers.length} own numbers were added to ${account}\n`),
      )
    })
}

function registerImport(group: Command, terminal: Terminal): void {
  const command = group
    .command('import')
    .description(
      `add the numbers of a CSV file with a header: ${callerIdColumns.join(', ')}; all or none`,
    )
    .argument('<file>', 'CSV, gzip or zip')
    .option('--account <id>', 'of this account', 'main')
    .action(async (file: string, { account }: AccountOption, command: Command) => {
      const rows = await readRows(file)
      await addAll(command, account, rows, file)
      terminal.note(`${rows.length} own numbers were added to ${account}\n`)
    })
  addSampleOption(command, samples['caller-ids'], terminal)
}

async function addAll(
  command: Command,
  account: string,
  inputs: readonly (CallerIdInput & { readonly line?: number })[],
  file = '',
): Promise<void> {
  await withAppContext(command, async (context) => {
    requireOwnAccounts(context)
    await requireAccount(context, account)
    try {
      await context.callerIds.add(createOperatorCaller(account), inputs, { by: describeUser() })
    } catch (cause) {
      if (!(cause instanceof AppError) || cause.problems.length === 0) throw cause
      throw createLineFailure('nothing was added', { file, rows: inputs, problems: cause.problems })
    }
  })
}

const describeUser = () => `${findUser()} at the command line`

/** Throws {@link DataFileError} for the first line that is not understood. */
async function readRows(path: string): Promise<(CallerIdInput & { readonly line: number })[]> {
  const rows = await readCsvFile(path, { columns: callerIdColumns, required: ['number'] })
  return rows.map((row) => ({ ...toInput(path, row), line: row.line }))
}

function toInput(
  path: string,
  { line, read }: KnownRow<(typeof callerIdColumns)[number]>,
): CallerIdInput {
  const fail = (rule: string) => new DataFileError(path, `line ${line}: ${rule}`)
  const readAt = (column: 'from' | 'until' | 'tested') => {
    const text = read(column)
    const at = text === undefined ? undefined : parseInstant(text)
    if (text !== undefined && at === undefined) {
      throw fail(`${column} '${text}': must be an instant such as 2026-11-23T17:00:00Z`)
    }
    return at
  }
  const level = read('attestation')
  const attestation = attestations.find((known) => known === level)
  if (attestation !== level) throw fail(`attestation '${level}': must be A, B or C`)
  return {
    number: read('number') ?? '',
    projectId: read('project'),
    owner: read('owner') ?? '',
    proof: read('proof') ?? '',
    carrier: read('carrier'),
    attestation,
    from: readAt('from'),
    until: readAt('until'),
    callbackTestedAt: readAt('tested'),
    presence: read('presence'),
  }
}

function describe(entries: readonly CallerIdEntry[]): string {
  const at = (instant: number | undefined) => (instant === undefined ? '-' : formatInstant(instant))
  return formatTable(
    [...callerIdColumns, 'added', 'ended'],
    entries.map((entry) => [
      entry.number,
      entry.projectId ?? '-',
      entry.owner,
      entry.proof,
      entry.carrier ?? '-',
      entry.attestation ?? '-',
      at(entry.from),
      at(entry.until),
      at(entry.callbackTestedAt),
      entry.presence ?? '-',
      `${at(entry.addedAt)} by ${entry.addedBy}`,
      entry.endedAt === undefined ? '-' : `${at(entry.endedAt)} by ${entry.endedBy}`,
    ]),
  )
}
