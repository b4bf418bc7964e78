/** The options of every command that reads a table: its columns, which rows count, and the order of its days. */
import { type Command, CommanderError, Option } from 'commander'
import { dayOrders } from '../../data/feeds/days.js'
import type { TableOptions } from '../../data/feeds/table-layout.js'
import { parseTableOptions, type TableArguments } from '../../data/feeds/table-options.js'
import { AppError } from '../../errors.js'
import { CommandFailure, type Terminal } from '../command.js'

const collect = (text: string, before: readonly string[] = []) => [...before, text]

/** `columns` are the names of the table's columns. */
export function columnOption(columns: readonly string[]): Option {
  const what = `header of the column for a value (${columns.join(', ')})`
  return new Option(
    '--column <name=header>',
    `${what}; for numbers just <header>; in a table without a header its position, such as 2; can be repeated`,
  ).argParser(collect)
}

export const datesOption = new Option(
  '--dates <order>',
  'order of days such as 05/11/2026: month or day first',
).choices(dayOrders)

/** For a table whose other columns may decide which rows count. */
export function tableOptions(columns: readonly string[]): readonly Option[] {
  return [
    columnOption(columns),
    new Option(
      '--where <header=values>',
      'use only rows with one of these values, separated by commas; can be repeated',
    ).argParser(collect),
    new Option('--all-rows', 'use all rows, whatever a column such as status says'),
    datesOption,
  ]
}

/** Throws {@link CommandFailure} for an invalid option. */
export function readTableOptions(given: TableArguments, columns: readonly string[]): TableOptions {
  try {
    return parseTableOptions(given, columns)
  } catch (cause) {
    throw cause instanceof AppError ? new CommandFailure(cause.message, 2) : cause
  }
}

/** Prints a sample file and exits before arguments are checked. */
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
