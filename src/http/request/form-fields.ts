/** The fields of an address or an urlencoded form as they come in. */
import { columnField } from '../../api/records/ebr-record.js'
import { mergeRepeatedValues } from '../../api/unknown-fields.js'
import { invalidRequest, truncate } from '../../errors.js'

/** Far above what any call of the contract has, records in columns aside. */
export const maxFields = 100
const maxRecords = 10_000
/** Of one record; the specification has seven. */
const maxColumns = 20

const columnName = /^(\d{1,9})!ColValue\.(.+)$/is
/** Passed over, the record would be lost. */
const misspelledColumnPattern = /^\d+!|!?ColValue/i

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
    if (misspelledColumnPattern.test(name))
      throw createFieldError(name, 'is not of the form 1!ColValue.phoneNumber')
    this.#plain.push([name, value])
    if (this.#plain.length > maxFields)
      throw createFieldError('', `has more than ${maxFields} fields`)
  }

  pairs(): readonly (readonly [string, unknown])[] {
    if (this.#records.size === 0) return this.#plain
    const ordered = [...this.#records].sort(([one], [other]) => one - other)
    return [...this.#plain, [columnField, ordered.map(([, { fields }]) => fields)]]
  }

  #addColumn(number: number, column: string, value: string): void {
    const record = this.#records.get(number) ?? this.#addRecord(number)
    const { fields } = record
    const counted = mergeRepeatedValues(fields[column], value)
    if (!counted) throw createFieldError(`${number}!ColValue.${column}`, 'is given twice')
    if (fields[column] === undefined) record.size += 1
    if (record.size > maxColumns) {
      throw createFieldError(`${number}!ColValue`, `has more than ${maxColumns} fields`)
    }
    fields[column] = String(counted.value ?? '')
  }

  #addRecord(number: number): ColumnRecord {
    if (this.#records.size >= maxRecords) {
      throw createFieldError('ColValue', `has more than ${maxRecords} records`)
    }
    // Without the members of every object, which are names like any other here.
    const record = { fields: Object.create(null) as Record<string, string>, size: 0 }
    this.#records.set(number, record)
    return record
  }
}

/** Of the same records in an address and a form; an address is short, so comparing costs little. */
export function joinedRecords(one: unknown, other: unknown) {
  const areAlike =
    Array.isArray(one) &&
    Array.isArray(other) &&
    one.length === other.length &&
    JSON.stringify(one) === JSON.stringify(other)
  return areAlike ? { value: one } : undefined
}

function createFieldError(field: string, rule: string) {
  return invalidRequest([{ field: truncate(field), rule }])
}
