/** The options of every command that reads a table: its columns, which rows count, and the order of its days. */
import { type Command, CommanderError, Option } from 'commander'
import { dayOrders } from '../../data/feeds/days.js'
import type { TableOptions } from '../../data/feeds/table-layout.js'
import { parseTableOptions, type TableArguments } from '../../data/feeds/table-options.js'
import { AppError } from '../../errors.js'
import { CommandFailure, type Terminal } from '../command.js'

const collect = (text: string, before: readonly string[] = []) => [...before, text]

/** `columns` are those of the table. */
export function columnOption(columns: readonly string[]): Option {
  const what = `header of a column: ${columns.join(', ')}`
  return new Option(
    '--column <name=header>',
    `${what}; of numbers just <header>; without a header the place, such as 2; may be repeated`,
  ).argParser(collect)
}

export const datesOption = new Option(
  '--dates <order>',
  'whether days such as 05/11/2026 have the month or the day first',
).choices(dayOrders)

/** Of a table whose other columns may say which rows count. */
export function tableOptions(columns: readonly string[]): readonly Option[] {
  return [
    columnOption(columns),
    new Option(
      '--where <header=values>',
      'only rows with one of these values, separated by commas; may be repeated',
    ).argParser(collect),
    new Option('--all-rows', 'take all rows, whatever a column such as status says'),
    datesOption,
  ]
}

/** Throws {@link CommandFailure} for an option that is not understood. */
export function readTableOptions(given: TableArguments, columns: readonly string[]): TableOptions {
  try {
    return parseTableOptions(given, columns)
  } catch (cause) {
    throw cause instanceof AppError ? new CommandFailure(cause.message, 2) : cause
  }
}

/** Prints a sample file and ends, before arguments are asked for. */
export function addSampleOption(
  command: Command,
  sample: string,
  terminal: Pick<Terminal, 'out'>,
): void {
  command.option('--sample', 'print a sample file')
  command.on('option:sample', () => {
    terminal.out(sample)
    throw new CommanderError(0, 'callgate.sample', '')
  })
}
