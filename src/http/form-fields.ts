/** The fields of an address or an urlencoded form as they come in. */
import { columnField } from '../api/column-records.js'
import { invalidRequest, shorten } from '../errors.js'

/** Far above what any call of the contract has, records in columns aside. */
export const mostFields = 100
/** 10,000 records of seven fields each. */
const mostColumns = 70_000

const columnName = /^(\d{1,9})!ColValue\.(.+)$/is

/**
 * Fields called `<n>!ColValue.<name>` become one field, the list of the records they make, in the
 * order of their numbers. All others stay as they are.
 */
export class FormFields {
  readonly #plain: (readonly [string, string])[] = []
  readonly #records = new Map<number, Record<string, string>>()
  #columns = 0

  /** Throws when there are too many, or two values for one field of a record. */
  add(name: string, value: string): void {
    const [, number, column] = columnName.exec(name) ?? []
    if (column !== undefined) return void this.#addColumn(Number(number), column, value)
    this.#plain.push([name, value])
    if (this.#plain.length > mostFields) throw refused('', `holds more than ${mostFields} fields`)
  }

  pairs(): readonly (readonly [string, unknown])[] {
    if (this.#records.size === 0) return this.#plain
    const ordered = [...this.#records].sort(([one], [other]) => one - other)
    return [...this.#plain, [columnField, ordered.map(([, record]) => record)]]
  }

  #addColumn(number: number, column: string, value: string): void {
    this.#columns += 1
    if (this.#columns > mostColumns) {
      throw refused('', `holds more than ${mostColumns} fields of records`)
    }
    // Without the members of every object, which are names like any other here.
    const record = this.#records.get(number) ?? (Object.create(null) as Record<string, string>)
    if (record[column] !== undefined && record[column] !== value) {
      throw refused(`${number}!ColValue.${column}`, 'is given twice')
    }
    record[column] = value
    this.#records.set(number, record)
  }
}

function refused(field: string, rule: string) {
  return invalidRequest([{ field: shorten(field), rule }])
}
