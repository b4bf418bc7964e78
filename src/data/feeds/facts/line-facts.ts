/** Reads tables with one row per line: its current carrier, its status, or its kind of subscriber. */
import {
  type LineStatus,
  lineStatuses,
  type PhoneType,
  type ResOrBusiness,
} from '../../../domain/lookups.js'
import { type FieldProblem, isFieldProblem } from '../../../errors.js'
import { createFactReader, readPastDay } from '../fact-table.js'
import { numberColumnNames } from '../number-cells.js'

export type CurrentCarrierFact = {
  readonly phoneType: PhoneType
  readonly ocn: string
  readonly telcoName: string
  readonly lookedUpOn: number | null
}

const phoneTypeByWord: ReadonlyMap<string, PhoneType> = new Map([
  ...['n', '', 'unknown', 'not available', 'none'].map((word) => [word, 'N'] as const),
  ...['l', 'landline', 'wireline', 'fixed'].map((word) => [word, 'L'] as const),
  ...['v', 'voip'].map((word) => [word, 'V'] as const),
  ...['w', 'wireless', 'mobile', 'cellular', 'cell'].map((word) => [word, 'W'] as const),
  ...['o', 'other'].map((word) => [word, 'O'] as const),
])

/** Maximum length of `TelcoName` in the spec; longer names are truncated. */
const maxNameLength = 50

export const readCurrentCarrier = createFactReader(
  {
    description: 'a table of current carriers (number, type, ocn, name, date)',
    columns: {
      number: numberColumnNames,
      type: ['type', 'phonetype', 'linetype'],
      ocn: ['ocn'],
      name: ['name', 'telconame', 'telco', 'carrier', 'carriername', 'company'],
      on: ['date', 'odate', 'on', 'lookedupon', 'checkedon'],
    },
    optional: ['ocn', 'name', 'on'],
    columnsWithoutHeader: () => ['number', 'type', 'ocn', 'name', 'on'],
  },
  (row, today, days): CurrentCarrierFact | FieldProblem => {
    const phoneType = phoneTypeByWord.get(row.type.toLowerCase())
    if (phoneType === undefined) {
      const rule = 'must be N, L, V, W or O, or landline, voip, wireless or other'
      return { field: 'type', value: row.type, rule }
    }
    const ocn = row.ocn.toUpperCase()
    if (!/^(?:[0-9A-Z]{4})?$/.test(ocn)) {
      return { field: 'ocn', value: row.ocn, rule: 'must be four letters or digits, or blank' }
    }
    const on = readPastDay('date', row.on, { today, days })
    if (isFieldProblem(on)) return on
    const telcoName = row.name.slice(0, maxNameLength).trimEnd()
    return { phoneType, ocn, telcoName, lookedUpOn: on ?? null }
  },
)

export type LineStatusFact = {
  readonly status: LineStatus
  readonly errorText: string
  readonly checkedOn: number | null
}

/** The statuses are those of the spec ("Disconnect result"), in any letter case. */
export const readLineStatus = createFactReader(
  {
    description: 'a table of line statuses (number, status, checked-on, error-text)',
    columns: {
      number: numberColumnNames,
      status: ['status', 'linestatus'],
      checkedOn: ['checkedon', 'checked', 'date', 'lastchecked'],
      errorText: ['errortext', 'error', 'text', 'message'],
    },
    optional: ['checkedOn', 'errorText'],
    columnsWithoutHeader: () => ['number', 'status', 'checkedOn', 'errorText'],
  },
  (row, today, days): LineStatusFact | FieldProblem => {
    const text = row.status.toLowerCase()
    const status = lineStatuses.find((one) => one.toLowerCase() === text)
    if (status === undefined) {
      const rule = `must be one of: ${lineStatuses.join(', ')}`
      return { field: 'status', value: row.status, rule }
    }
    const checkedOn = readPastDay('checked-on', row.checkedOn, { today, days })
    if (isFieldProblem(checkedOn)) return checkedOn
    return { status, errorText: row.errorText, checkedOn: checkedOn ?? null }
  },
)

export type ResOrBusinessFact = { readonly kind: ResOrBusiness }

const kindByWord: ReadonlyMap<string, ResOrBusiness> = new Map([
  ...['r', 'res', 'residential', 'residence'].map((word) => [word, 'R'] as const),
  ...['b', 'bus', 'business'].map((word) => [word, 'B'] as const),
  ...['u', 'unknown'].map((word) => [word, 'U'] as const),
])

export const readResOrBusiness = createFactReader(
  {
    description: 'a table of residential and business numbers (number, R, B or U)',
    columns: {
      number: numberColumnNames,
      kind: ['resorbusiness', 'resbus', 'resorbus', 'kind', 'type', 'recordtype', 'class'],
    },
    columnsWithoutHeader: () => ['number', 'kind'],
  },
  (row): ResOrBusinessFact | FieldProblem => {
    const kind = kindByWord.get(row.kind.toLowerCase())
    if (kind !== undefined) return { kind }
    const rule = 'must be R, B or U, or residential, business or unknown'
    return { field: 'kind', value: row.kind, rule }
  },
)
