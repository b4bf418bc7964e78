/** Reads a table of line statuses: number, status, the day of the check, a text for an error. */
import { type LineStatus, lineStatuses } from '../../domain/lookups.js'
import type { FieldProblem } from '../../errors.js'
import {
  type FactTable,
  type FeedFile,
  type FileRead,
  isFieldProblem,
  numberNames,
  readFactTable,
  readNumber,
  readPastDay,
} from './fact-table.js'
import type { Row } from './table.js'

export type LineStatusFact = {
  readonly status: LineStatus
  readonly errorText: string
  readonly checkedOn: number | null
}

type Column = 'number' | 'status' | 'checkedOn' | 'errorText'

const table: FactTable<Column> = {
  what: 'a table of line statuses (number, status, checked-on, error-text)',
  columns: {
    number: numberNames,
    status: ['status', 'linestatus'],
    checkedOn: ['checkedon', 'checked', 'date', 'lastchecked'],
    errorText: ['errortext', 'error', 'text', 'message'],
  },
  optional: ['checkedOn', 'errorText'],
  unnamed: () => ['number', 'status', 'checkedOn', 'errorText'],
}

const byText: ReadonlyMap<string, LineStatus> = new Map(
  lineStatuses.map((status) => [status.toLowerCase(), status]),
)

/** The statuses are those of the spec ("Disconnect result"), in any case. */
export function readLineStatus(file: FeedFile<LineStatusFact>): Promise<FileRead> {
  return readFactTable(file, table, (row) => readRow(row, file))
}

function readRow(row: Row<Column>, file: FeedFile<LineStatusFact>): FieldProblem | undefined {
  const number = readNumber(row.number)
  if (isFieldProblem(number)) return number
  const status = byText.get(row.status.toLowerCase())
  if (status === undefined) {
    const rule = `must be one of: ${lineStatuses.join(', ')}`
    return { field: 'status', value: row.status, rule }
  }
  const checkedOn = readPastDay('checked-on', row.checkedOn, file.today)
  if (isFieldProblem(checkedOn)) return checkedOn
  file.keep(number, { status, errorText: row.errorText, checkedOn: checkedOn ?? null })
  return undefined
}
