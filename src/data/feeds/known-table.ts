/** Reads small tables with a header that have only known columns, such as caller IDs and attempts. */
import type { BadLine } from './bad-lines.js'
import { normalizeColumnName } from './cells.js'
import { readTable, type TableReading } from './table.js'

export interface KnownRow<Column extends string> {
  readonly line: number
  readonly text: string
  /** `undefined` for a cell that is empty or missing. */
  read(column: Column): string | undefined
}

export interface KnownTable<Column extends string> {
  readonly columns: readonly Column[]
  readonly required: readonly Column[]
}

/** Throws {@link DataFileError} for another kind of file, and for a header with another column or without a required one. */
export async function readKnownTable<Column extends string>(
  source: TableReading<Column>['source'],
  { columns, required }: KnownTable<Column>,
  onRow: () => void = () => undefined,
): Promise<{ readonly rows: readonly KnownRow<Column>[]; readonly bad: readonly BadLine[] }> {
  const rows: KnownRow<Column>[] = []
  const bad: BadLine[] = []
  await readTable<Column>({
    source,
    table: {
      description: `a table with columns of ${columns.join(', ')}`,
      columns: Object.fromEntries(
        columns.map((name) => [name, [normalizeColumnName(name)]] as const),
      ) as unknown as Record<Column, readonly string[]>,
      optional: columns.filter((name) => !required.includes(name)),
      hasOnlyKnownColumns: true,
      mayBeCutOff: () => false,
    },
    readRow(row, { line, text }) {
      rows.push({ line, text, read: (column) => row[column] || undefined })
      return undefined
    },
    onBadRow: (one) => bad.push(one),
    onRow,
  })
  return { rows, bad }
}
