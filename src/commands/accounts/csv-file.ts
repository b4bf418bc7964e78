/** Reads the rows of a small CSV file with a header for a command. */
import { detectDelimiter, splitCells } from '../../data/feeds/cells.js'
import { openSourceFile, tablePattern } from '../../data/files/source-file.js'
import { readTextLines } from '../../data/files/text-lines.js'
import { DataFileError, describeProblem, type FieldProblem } from '../../errors.js'
import { CommandFailure } from '../command.js'

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

/** More would not be read by a person. */
const maxShown = 20

/** Names each problem by its line and column. The fields of the problems are such as `attempts[3].at`. */
export function createLineFailure(
  what: string,
  {
    file,
    rows,
    problems,
    columnOf = {},
  }: {
    readonly file: string
    /** Those without a line are arguments of the command. */
    readonly rows: readonly { readonly line?: number }[]
    readonly problems: readonly FieldProblem[]
    /** Where they differ from the names of the fields. */
    readonly columnOf?: Readonly<Record<string, string>>
  },
): CommandFailure {
  const lines = problems.slice(0, maxShown).map((problem) => {
    const [, place = '', field = ''] = /^\w+\[(\d+)\](?:\.(.*))?$/.exec(problem.field) ?? []
    const line = rows[Number(place)]?.line
    const where = line === undefined ? '' : `${file} line ${line}: `
    return where + describeProblem({ ...problem, field: columnOf[field] ?? field })
  })
  if (problems.length > maxShown) lines.push(`and ${problems.length - maxShown} more`)
  return new CommandFailure(`${what}\n  ${lines.join('\n  ')}`, 2)
}
