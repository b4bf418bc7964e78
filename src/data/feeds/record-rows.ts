/**
 * Reads the rows of opt-outs and of consents that another system has exported. Which column holds
 * what is told by its header or by the operator; every date is the row's own.
 */
import {
  formatDay,
  type Instant,
  type LocalDay,
  parseDay,
  parseInstant,
} from '../../domain/clock.js'
import { type EbrType, ebrTypes } from '../../domain/compliance.js'
import { asPhoneNumber, type PhoneNumber } from '../../domain/phone-number.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import {
  type FactTable,
  type FeedFile,
  type FileRead,
  isFieldProblem,
  numberNames,
  plain,
  readFactTable,
  readNumber,
} from './fact-table.js'
import type { Columns, Row } from './table.js'

/** When something was said: a day, and to the second where the row has a time with its zone. */
export interface Moment {
  readonly day: LocalDay
  readonly at: Instant | undefined
}

export interface OptOutRow {
  readonly number: PhoneNumber
  /** Absent for a row without a date. */
  readonly saidOn: Moment | undefined
}

export interface ConsentRow {
  readonly number: PhoneNumber
  readonly type: EbrType
  readonly contact: Moment
  readonly obligationEndsOn: LocalDay | undefined
  readonly referenceNum: string | undefined
  readonly brand: string | undefined
  readonly email: string | undefined
}

/** Column -> header as the operator names it, in any case and spelling of blanks and hyphens. */
export type AskedColumns = Readonly<Record<string, string>>

export interface RecordFile<Fact>
  extends Pick<FeedFile<never>, 'source' | 'badLines' | 'today' | 'onRow'> {
  readonly asked: AskedColumns
  keep(row: Fact): void
}

export interface OptOutFile extends RecordFile<OptOutRow> {
  /** Take rows without a date. */
  readonly undated: boolean
}

const optOutColumns = {
  number: [...numberNames, 'phonenum', 'mobile', 'cell'],
  date: [
    ...['date', 'optedouton', 'optoutdate', 'optedout', 'optout', 'dncdate', 'requestedon'],
    ...['addedon', 'dateadded', 'addeddate', 'added', 'createdon', 'createdat', 'timestamp'],
  ],
} as const

/** Throws {@link DataFileError} for another kind of file and for too many bad lines. */
export function readOptOuts(file: OptOutFile): Promise<FileRead> {
  const table: FactTable<keyof typeof optOutColumns> = {
    what: 'a table of opt-outs (number, date)',
    ...askedOf(optOutColumns, ['date'], file.asked),
    ...(Object.keys(file.asked).length === 0 && { unnamed: () => ['number', 'date'] }),
    noDoubles: true,
    headerProblem: (found) => {
      if (file.undated || found.has('date')) return undefined
      return 'no column of dates; name it with --column date=<header>, or give --undated'
    },
  }
  return readFactTable(file, table, (row) => {
    const number = numberIn(row.number)
    if (isFieldProblem(number)) return number
    if (row.date === '') {
      if (file.undated) return void file.keep({ number, saidOn: undefined })
      return { field: 'date', rule: 'is missing; --undated takes such rows as opt-outs of now' }
    }
    const saidOn = readMoment('date', row.date, file.today)
    if (isFieldProblem(saidOn)) return saidOn
    file.keep({ number, saidOn })
    return undefined
  })
}

const consentColumns = {
  number: optOutColumns.number,
  type: ['type', 'ebrtype', 'recordtype', 'kind'],
  date: [
    ...[
      'date',
      'dateoflastcontact',
      'lastcontact',
      'lastcontactdate',
      'contactdate',
      'contactedon',
    ],
    ...['consentdate', 'consenton', 'consentedon', 'dateofconsent', 'optindate', 'optedinon'],
  ],
  obligationEnds: ['obligationends', 'dateobligationends', 'obligationendson', 'obligationend'],
  reference: ['reference', 'referencenum', 'referencenumber', 'ref'],
  brand: ['brand'],
  email: ['email', 'emailaddress'],
} as const

export interface ConsentFile extends RecordFile<ConsentRow> {
  /** Of rows in a file without a column of types. */
  readonly type: EbrType | undefined
}

/** Throws {@link DataFileError} for another kind of file and for too many bad lines. */
export function readConsents(file: ConsentFile): Promise<FileRead> {
  const optional = ['type', 'obligationEnds', 'reference', 'brand', 'email'] as const
  const table: FactTable<keyof typeof consentColumns> = {
    what: 'a table of consents (number, type, date)',
    ...askedOf(consentColumns, optional, file.asked),
    noDoubles: true,
    headerProblem: (found) => {
      if (found.has('type') === (file.type === undefined)) return undefined
      return found.has('type')
        ? 'has a column of types, and --type is given too; give one of both'
        : 'no column of types; name it with --column type=<header>, or give --type for all rows'
    },
  }
  return readFactTable(file, table, (row) => {
    const fact = readConsent(row, file)
    if (isFieldProblem(fact)) return fact
    file.keep(fact)
    return undefined
  })
}

function readConsent(
  row: Row<keyof typeof consentColumns>,
  { type: typeOfAll, today }: ConsentFile,
): ConsentRow | FieldProblem {
  const number = numberIn(row.number)
  if (isFieldProblem(number)) return number
  const type = typeOfAll ?? ebrTypeOf(row.type)
  if (type === undefined) return { field: 'type', value: row.type, rule: 'must be S, I, P or T' }
  const contact = readMoment('date', row.date, today)
  if (isFieldProblem(contact)) return contact
  const ends =
    row.obligationEnds === '' ? undefined : readMoment('obligationEnds', row.obligationEnds)
  if (isFieldProblem(ends)) return ends
  if (row.email.length > longestEmail) {
    const rule = `must not be longer than ${longestEmail} characters`
    return { field: 'email', value: row.email, rule }
  }
  return {
    ...{ number, type, contact, obligationEndsOn: ends?.day },
    ...{ referenceNum: textOf(row.reference), brand: textOf(row.brand), email: textOf(row.email) },
  }
}

/** Any ten digits, as the calls take them; also one that is no number in service may be on a list. */
function numberIn(text: string): PhoneNumber | FieldProblem {
  return asPhoneNumber(text) ?? readNumber(text)
}

/** Spec, "EBR record". */
const longestEmail = 100

const words: Readonly<Record<string, EbrType>> = {
  sale: 'S',
  inquiry: 'I',
  permission: 'P',
  consent: 'P',
  trial: 'T',
}

/** A letter of the specification or its word, in any case; `undefined` for anything else. */
export function ebrTypeOf(text: string): EbrType | undefined {
  const letter = text.trim().toUpperCase()
  return ebrTypes.find((type) => type === letter) ?? words[letter.toLowerCase()]
}

function textOf(cell: string): string | undefined {
  return cell === '' ? undefined : cell
}

/**
 * A time counts only with its zone (`2026-06-14T14:05:00Z`, `+02:00`): of any other the day is taken,
 * since where its clock stood is not known. Guam is a day ahead of UTC for most of it, hence one day
 * of grace; without `today` any day will do.
 */
function readMoment(field: string, text: string, today?: LocalDay): Moment | FieldProblem {
  const at = /(?:Z|[+-]\d\d:?\d\d)$/i.test(text) ? parseInstant(text) : undefined
  const day = at === undefined ? dayIn(text) : Math.floor(at / dayMs)
  if (day === undefined) return { field, value: text, rule: dateRule }
  if (today !== undefined && day > today + 1) {
    const rule = `must not lie in the future; today is ${formatDay(today)} (UTC)`
    return { field, value: text, rule }
  }
  return { day, at: at === undefined ? undefined : Math.floor(at / 1000) * 1000 }
}

const dayMs = 86_400_000
const dateRule =
  'must be a date, YYYY-MM-DD, MM/DD/YYYY or YYYYMMDD, or an ISO 8601 date-time with its zone'
const clockTime = /[T ]\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AP]M)?$/i

function dayIn(text: string): LocalDay | undefined {
  return parseDay(text) ?? parseDay(text.replace(clockTime, ''))
}

/** The columns of a table with the headers the operator names; such a column must then be there. */
function askedOf<Name extends string>(
  columns: Columns<Name>,
  optional: readonly NoInfer<Name>[],
  asked: AskedColumns,
): { readonly columns: Columns<Name>; readonly optional: readonly Name[] } {
  const names = Object.keys(columns) as Name[]
  const wrong = Object.keys(asked).find((name) => !names.some((known) => known === name))
  if (wrong !== undefined) {
    const rule = `must be ${names.join(', ')}, each with =<header>`
    throw invalidRequest([{ field: '--column', value: wrong, rule }])
  }
  const header = (name: Name) => asked[name]
  const named = names.map((name) => {
    const own = header(name)
    return [name, own === undefined ? columns[name] : [plain(own)]] as const
  })
  return {
    columns: Object.fromEntries(named) as Record<Name, readonly string[]>,
    optional: optional.filter((name) => header(name) === undefined),
  }
}
