/** Reads the rows of a small CSV file with a header for a command. */
import { detectDelimiter, splitCells } from '../../data/feeds/cells.js'
import { openSourceFile, tablePattern } from '../../data/files/source-file.js'
import { readTextLines } from '../../data/files/text-lines.js'
import { DataFileError } from '../../errors.js'

export interface CsvRow<Column extends string> {
  readonly line: number
  /** `undefined` for a cell that is empty or missing. */
  read(column: Column): string | undefined
}

/** Columns may be in any order. Throws {@link DataFileError} for the first line that is not understood. */
export async function readCsvFile<Column extends string>(
  path: string,
  {
    columns,
    required,
  }: { readonly columns: readonly Column[]; readonly required: readonly Column[] },
): Promise<readonly CsvRow<Column>[]> {
  const source = await openSourceFile(path, { entryPattern: tablePattern })
  const rows: CsvRow<Column>[] = []
  let header: { readonly delimiter: string; readonly names: readonly string[] } | undefined
  await readTextLines(source, (text, line) => {
    if (text.trim() === '' || text.startsWith('#')) return
    const fail = (rule: string) => new DataFileError(path, `line ${line}: ${rule}`)
    const delimiter = header?.delimiter ?? detectDelimiter(text)
    const cells = splitCells(text, delimiter)
    if (!cells) throw fail('has a misplaced quote')
    if (header) {
      const { names } = header
      if (cells.length > names.length) throw fail('has more cells than the header')
      const read = (column: Column) => cells[names.indexOf(column)] || undefined
      return void rows.push({ line, read })
    }
    const names = cells.map((cell) => cell.toLowerCase())
    const isKnown = (name: string) => columns.some((column) => column === name)
    if (!names.every(isKnown) || !required.every((column) => names.includes(column))) {
      throw fail(`must be a header with columns of ${columns.join(', ')}`)
    }
    header = { delimiter, names }
  })
  if (rows.length === 0) throw new DataFileError(path, 'contains no rows')
  return rows
}
