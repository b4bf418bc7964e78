/** `callgate caller-ids do-not-originate ...`: numbers that no call may show. */
import type { Command } from 'commander'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError } from '../../errors.js'
import { systemClock } from '../../runtime/runtime.js'
import { DoNotOriginate } from '../../service/accounts/do-not-originate.js'
import { withAppContext } from '../account-command.js'
import { formatTable, type Terminal } from '../command.js'
import { formatNumber } from '../format.js'
import { findUser } from '../option-values.js'
import { createLineFailure, readCsvFile } from './csv-file.js'

/** The lists are for all accounts. An edge has its own, since it copies what is of an account. */
export function registerDoNotOriginate(parent: Command, terminal: Terminal): void {
  const group = parent
    .command('do-not-originate')
    .description('lists of numbers that no call may show, whoever places it')
  const open = <Result>(command: Command, work: (lists: DoNotOriginate) => Promise<Result>) =>
    withAppContext(command, ({ storage }) =>
      work(new DoNotOriginate({ storage, clock: systemClock })),
    )
  const by = () => `${findUser()} at the command line`

  group
    .command('import')
    .description(
      'replace a list by a CSV file with the header prefix: numbers, or what they begin with',
    )
    .argument('<file>', 'CSV, gzip or zip')
    .requiredOption('--source <name>', 'name of the list')
    .action(async (file: string, { source }: { readonly source: string }, command: Command) => {
      const rows = await readCsvFile(file, { columns: ['prefix'], required: ['prefix'] })
      const texts = rows.map(({ read }) => read('prefix') ?? '')
      const count = await open(command, (lists) => lists.replace(source, texts, by())).catch(
        (cause: unknown) => {
          if (!(cause instanceof AppError) || cause.problems.length === 0) throw cause
          const { problems } = cause
          const columnOf = { '': 'prefix' }
          throw createLineFailure('nothing was imported', { file, rows, problems, columnOf })
        },
      )
      terminal.note(`entries of ${source}: ${formatNumber(count)}\n`)
    })

  group
    .command('remove')
    .description('let calls show the numbers of a list again, unless another list has them')
    .argument('<source>', 'name of the list')
    .action((source: string, _: object, command: Command) =>
      open(command, async (lists) => {
        await lists.replace(source, [], by())
        terminal.note(`${source} was removed\n`)
      }),
    )

  group
    .command('list')
    .description('show the lists')
    .action((_: object, command: Command) =>
      open(command, async (lists) => {
        const rows = (await lists.list()).map(({ source, entries, importedAt }) => {
          return [source, formatNumber(entries), formatInstant(importedAt)]
        })
        terminal.out(formatTable(['list', 'entries', 'imported'], rows))
      }),
    )
}
