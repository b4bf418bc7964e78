/** The fields of an address or an urlencoded form as they come in. */
import { columnField } from '../api/column-records.js'
import { invalidRequest, shorten } from '../errors.js'

/** Far above what any call of the contract has, records in columns aside. */
export const mostFields = 100
const mostRecords = 10_000
/** Of one record; the specification has seven. */
const mostColumns = 20

const columnName = /^(\d{1,9})!ColValue\.(.+)$/is
/** Passed over, the record would be lost. */
const columnSlip = /^\d+!|!?ColValue/i

interface ColumnRecord {
  readonly fields: Record<string, string>
  size: number
}

/**
 * Fields called `<n>!ColValue.<name>` become one field, the list of the records they make, in the
 * order of their numbers. All others stay as they are.
 */
export class FormFields {
  readonly #plain: (readonly [string, string])[] = []
  readonly #records = new Map<number, ColumnRecord>()

  /** Throws when there are too many, or two values for one field of a record. */
  add(name: string, value: string): void {
    const [, number, column] = columnName.exec(name) ?? []
    if (column !== undefined) return void this.#addColumn(Number(number), column, value)
    if (columnSlip.test(name)) throw refused(name, 'is not of the form 1!ColValue.phoneNumber')
    this.#plain.push([name, value])
    if (this.#plain.length > mostFields) throw refused('', `holds more than ${mostFields} fields`)
  }

  pairs(): readonly (readonly [string, unknown])[] {
    if (this.#records.size === 0) return this.#plain
    const ordered = [...this.#records].sort(([one], [other]) => one - other)
    return [...this.#plain, [columnField, ordered.map(([, { fields }]) => fields)]]
  }

  #addColumn(number: number, column: string, value: string): void {
    const record = this.#records.get(number) ?? this.#addRecord(number)
    const { fields } = record
    if (fields[column] !== undefined && fields[column] !== value) {
      throw refused(`${number}!ColValue.${column}`, 'is given twice')
    }
    if (fields[column] === undefined) record.size += 1
    if (record.size > mostColumns) {
      throw refused(`${number}!ColValue`, `holds more than ${mostColumns} fields`)
    }
    fields[column] = value
  }

  #addRecord(number: number): ColumnRecord {
    if (this.#records.size >= mostRecords) {
      throw refused('ColValue', `holds more than ${mostRecords} records`)
    }
    // Without the members of every object, which are names like any other here.
    const record = { fields: Object.create(null) as Record<string, string>, size: 0 }
    this.#records.set(number, record)
    return record
  }
}

function refused(field: string, rule: string) {
  return invalidRequest([{ field: shorten(field), rule }])
}
