/** Reads the rows of a small CSV file with a header for a command. */
import { describeBadLine } from '../../data/feeds/bad-lines.js'
import { type KnownRow, type KnownTable, readKnownTable } from '../../data/feeds/known-table.js'
import { openSourceFile, tablePattern } from '../../data/files/source-file.js'
import { DataFileError, describeProblem, type FieldProblem } from '../../errors.js'
import { CommandFailure } from '../command.js'

/** Columns may be in any order. Throws {@link DataFileError} for the first line that is not understood. */
export async function readCsvFile<Column extends string>(
  path: string,
  table: KnownTable<Column>,
): Promise<readonly KnownRow<Column>[]> {
  const source = await openSourceFile(path, { entryPattern: tablePattern })
  const { rows, bad } = await readKnownTable(source, table)
  const [first] = bad
  if (first) throw new DataFileError(path, describeBadLine(first))
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
