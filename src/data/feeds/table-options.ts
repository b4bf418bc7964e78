/** Reads the options for a table, from the command line and the console. */
import { invalidRequest } from '../../errors.js'
import { type DayOrder, dayOrders } from './days.js'
import type { TableOptions } from './table-layout.js'

export interface TableArguments {
  readonly column?: readonly string[]
  readonly where?: readonly string[]
  readonly allRows?: boolean
  readonly dates?: string | undefined
}

/** Throws `invalid-request` naming the option. `columns` are those of the table. */
export function parseTableOptions(
  { column = [], where = [], allRows, dates }: TableArguments,
  columns: readonly string[],
): TableOptions {
  const named: Record<string, string[]> = {}
  for (const text of column) {
    const [name, header] = parseColumn(text, columns)
    named[name] = [...(named[name] ?? []), header]
  }
  return {
    columns: column.length > 0 ? named : undefined,
    where: where.length > 0 ? where.map(parseWhere) : undefined,
    allRows,
    dates: parseOrder(dates),
  }
}

function parseColumn(text: string, columns: readonly string[]): readonly [string, string] {
  const [, name = '', header = ''] = /^([A-Za-z]+)\s*=\s*(.+)$/.exec(text) ?? []
  if (columns.includes(name)) return [name, header.trim()]
  if (!text.includes('=') && columns.includes('number') && !columns.includes(text.trim())) {
    return ['number', text.trim()]
  }
  const rule = `must be <name>=<header> with one of the names ${columns.join(', ')}`
  throw invalidRequest([{ field: '--column', value: text, rule }])
}

function parseWhere(text: string) {
  const [, column = '', values = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (column.trim() !== '') return { column: column.trim(), values: values.split(',') }
  const rule = 'must be <header>=<value>,<value>'
  throw invalidRequest([{ field: '--where', value: text, rule }])
}

function parseOrder(text: string | undefined): DayOrder | undefined {
  const order = dayOrders.find((one) => one === text)
  if (text === undefined || order !== undefined) return order
  throw invalidRequest([
    { field: '--dates', value: text, rule: `must be ${dayOrders.join(' or ')}` },
  ])
}

/** Reads the options as they are written at a command line. Throws like {@link parseTableOptions}. */
export function parseTableLine(text: string, columns: readonly string[]): TableOptions {
  const words = [...text.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  )
  const given = {
    column: [] as string[],
    where: [] as string[],
    allRows: false,
    dates: undefined as string | undefined,
  }
  for (let at = 0; at < words.length; at += 1) {
    const [, option = '', inner] = /^(--[a-z-]+)(?:=(.*))?$/s.exec(words[at] ?? '') ?? []
    if (option === '--all-rows') given.allRows = true
    else if (option === '--column') given.column.push(inner ?? words[++at] ?? '')
    else if (option === '--where') given.where.push(inner ?? words[++at] ?? '')
    else if (option === '--dates') given.dates = inner ?? words[++at]
    else {
      const rule = 'must be --column, --where, --dates or --all-rows'
      throw invalidRequest([{ field: 'table', value: words[at], rule }])
    }
  }
  return parseTableOptions(given, columns)
}
