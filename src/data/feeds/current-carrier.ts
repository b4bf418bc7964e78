/** Reads a table of who carries a number now: number, type, OCN, name, day of the look-up. */
import type { PhoneType } from '../../domain/lookups.js'
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

export type CurrentCarrierFact = {
  readonly phoneType: PhoneType
  readonly ocn: string
  readonly telcoName: string
  readonly lookedUpOn: number | null
}

type Column = 'number' | 'type' | 'ocn' | 'name' | 'on'

const table: FactTable<Column> = {
  what: 'a table of current carriers (number, type, ocn, name, date)',
  columns: {
    number: numberNames,
    type: ['type', 'phonetype', 'linetype'],
    ocn: ['ocn'],
    name: ['name', 'telconame', 'telco', 'carrier', 'carriername', 'company'],
    on: ['date', 'odate', 'on', 'lookedupon', 'checkedon'],
  },
  optional: ['ocn', 'name', 'on'],
  unnamed: () => ['number', 'type', 'ocn', 'name', 'on'],
}

const types: ReadonlyMap<string, PhoneType> = new Map([
  ...['n', '', 'unknown', 'not available', 'none'].map((word) => [word, 'N'] as const),
  ...['l', 'landline', 'wireline', 'fixed'].map((word) => [word, 'L'] as const),
  ...['v', 'voip'].map((word) => [word, 'V'] as const),
  ...['w', 'wireless', 'mobile', 'cellular', 'cell'].map((word) => [word, 'W'] as const),
  ...['o', 'other'].map((word) => [word, 'O'] as const),
])

/** Longest `TelcoName` of the spec; a longer name is cut. */
const longestName = 50

export function readCurrentCarrier(file: FeedFile<CurrentCarrierFact>): Promise<FileRead> {
  return readFactTable(file, table, (row) => readRow(row, file))
}

function readRow(row: Row<Column>, file: FeedFile<CurrentCarrierFact>): FieldProblem | undefined {
  const number = readNumber(row.number)
  if (isFieldProblem(number)) return number
  const phoneType = types.get(row.type.toLowerCase())
  if (phoneType === undefined) {
    const rule = 'must be N, L, V, W or O, or landline, voip, wireless or other'
    return { field: 'type', value: row.type, rule }
  }
  const ocn = row.ocn.toUpperCase()
  if (!/^(?:[0-9A-Z]{4})?$/.test(ocn)) {
    return { field: 'ocn', value: row.ocn, rule: 'must be four letters or digits, or blank' }
  }
  const on = readPastDay('date', row.on, file.today)
  if (isFieldProblem(on)) return on
  const telcoName = row.name.slice(0, longestName).trimEnd()
  file.keep(number, { phoneType, ocn, telcoName, lookedUpOn: on ?? null })
  return undefined
}
