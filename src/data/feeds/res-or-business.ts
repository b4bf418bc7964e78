/** Reads a table of who lives behind a number: number and R, B or U, or the words for them. */
import type { ResOrBusiness } from '../../domain/lookups.js'
import type { FieldProblem } from '../../errors.js'
import {
  type FactTable,
  type FeedFile,
  type FileRead,
  isFieldProblem,
  numberNames,
  readFactTable,
  readNumber,
} from './fact-table.js'
import type { Row } from './table.js'

export type ResOrBusinessFact = { readonly kind: ResOrBusiness }

type Column = 'number' | 'kind'

const table: FactTable<Column> = {
  what: 'a table of residential and business numbers (number, R, B or U)',
  columns: {
    number: numberNames,
    kind: ['resorbusiness', 'resbus', 'resorbus', 'kind', 'type', 'recordtype', 'class'],
  },
  unnamed: () => ['number', 'kind'],
}

const kinds: ReadonlyMap<string, ResOrBusiness> = new Map([
  ...['r', 'res', 'residential', 'residence'].map((word) => [word, 'R'] as const),
  ...['b', 'bus', 'business'].map((word) => [word, 'B'] as const),
  ...['u', 'unknown'].map((word) => [word, 'U'] as const),
])

export function readResOrBusiness(file: FeedFile<ResOrBusinessFact>): Promise<FileRead> {
  return readFactTable(file, table, (row) => readRow(row, file))
}

function readRow(row: Row<Column>, file: FeedFile<ResOrBusinessFact>): FieldProblem | undefined {
  const number = readNumber(row.number)
  if (isFieldProblem(number)) return number
  const kind = kinds.get(row.kind.toLowerCase())
  if (kind === undefined) {
    const rule = 'must be R, B or U, or residential, business or unknown'
    return { field: 'kind', value: row.kind, rule }
  }
  file.keep(number, { kind })
  return undefined
}
