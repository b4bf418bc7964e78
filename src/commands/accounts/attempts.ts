/** `callgate attempts import`: counts calls and texts that other systems have placed, as `POST /v1/attempts` does. */
import type { Command } from 'commander'
import { importedAttempt, maxAttempts } from '../../api/gate/attempts.js'
import { createValidationError } from '../../api/validation-error.js'
import type { KnownRow } from '../../data/feeds/known-table.js'
import { samples } from '../../data/feeds/samples.js'
import { createOperatorCaller } from '../../domain/caller.js'
import type { ImportedAttempt } from '../../domain/mandate.js'
import type { FieldProblem } from '../../errors.js'
import { systemClock } from '../../runtime/runtime.js'
import { ImportedAttempts } from '../../service/accounts/imported-attempts.js'
import { requireAccount, requireOwnAccounts, withAppContext } from '../account-command.js'
import type { RegisterCommand } from '../command.js'
import { formatCount } from '../format.js'
import { addSampleOption } from '../import/table-options.js'
import { createLineFailure, readCsvFile } from './csv-file.js'

const columns = [
  'number',
  'at',
  'ref',
  'channel',
  'purpose',
  'subject',
  'person',
  'answered',
] as const
type Column = (typeof columns)[number]

export const registerAttempts: RegisterCommand = (program, terminal) => {
  const command = program
    .command('attempts')
    .description(
      'calls and texts of other systems, which count towards the limits on how often a person is called',
    )
    .command('import')
    .description(
      `count those of a CSV file with a header: ${columns.join(', ')}; all or none, and each ref once`,
    )
    .argument('<file>', 'CSV, gzip or zip')
    .option('--account <id>', 'of this account', 'main')
    .action(async (file: string, { account }: { readonly account: string }, command: Command) => {
      const rows = await readCsvFile(file, {
        columns,
        required: ['number', 'at', 'ref', 'channel'],
      })
      await withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        await requireAccount(context, account)
        const { storage, settings } = context
        const getSubjects = () => settings.gate.subjects
        const imported = new ImportedAttempts({ storage, clock: systemClock, getSubjects })
        const caller = createOperatorCaller(account)
        const attempts = readAttempts(file, rows)
        // Nothing of the file counts before all of it is known to be right.
        requireNone(file, rows, await imported.findProblems(caller, attempts))
        for (let start = 0; start < attempts.length; start += maxAttempts) {
          await imported.add(caller, attempts.slice(start, start + maxAttempts))
        }
      })
      terminal.note(`counted for ${account}: ${formatCount(rows.length, 'attempt')} of ${file}\n`)
    })
  addSampleOption(command, samples.attempts, terminal)
}

function readAttempts(file: string, rows: readonly KnownRow<Column>[]): readonly ImportedAttempt[] {
  const problems: FieldProblem[] = []
  const attempts = rows.flatMap((row, index): readonly ImportedAttempt[] => {
    const parsed = importedAttempt.safeParse(toFields(row), { reportInput: true })
    if (parsed.success) return [parsed.data]
    for (const problem of createValidationError(parsed.error).problems) {
      problems.push({ ...problem, field: `attempts[${index}].${problem.field}` })
    }
    return []
  })
  requireNone(file, rows, problems)
  return attempts
}

function toFields({ read }: KnownRow<Column>) {
  const answered = read('answered')
  const known: Readonly<Record<string, boolean>> = {
    true: true,
    false: false,
    yes: true,
    no: false,
  }
  return {
    number: (read('number') ?? '').replace(/^\+?1(?=\d{10}$)/, ''),
    at: read('at') ?? '',
    ref: read('ref') ?? '',
    channel: read('channel') ?? '',
    purpose: read('purpose'),
    subject: read('subject'),
    personId: read('person'),
    answered: answered === undefined ? undefined : (known[answered.toLowerCase()] ?? answered),
  }
}

const columnOf = { personId: 'person' }

function requireNone(
  file: string,
  rows: readonly KnownRow<Column>[],
  problems: readonly FieldProblem[],
): void {
  if (problems.length === 0) return
  throw createLineFailure('nothing was counted', { file, rows, problems, columnOf })
}
