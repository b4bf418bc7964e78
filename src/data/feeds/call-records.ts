/**
 * Reads the call detail records of a carrier, a table with a header, or of Asterisk: `Master.csv` of cdr_csv, which has none. A
 * time without a zone is one of the zone that the operator names.
 */
import { parseDialString } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { parseDay, parseInstant } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import type { FieldProblem } from '../../errors.js'
import type { SourceFile } from '../files/source-file.js'
import type { BadLine } from './bad-lines.js'
import { applyColumnNames, type RecordColumnNames } from './record-files.js'
import {
  isFieldProblem,
  type Row,
  readTable,
  type TableFormat,
  type TableSummary,
} from './table.js'

/** A leg of a call, as its carrier recorded it. */
export interface BilledLeg {
  readonly line: number
  /** As the file has it. */
  readonly dialed: string
  /** The same for all spellings of a number. */
  readonly number: string
  /** Emergency and service codes are dialed without a decision. */
  readonly isServiceCode: boolean
  readonly startsAt: Instant
  /** The later reading of a local time that occurs twice, when clocks are set back. */
  readonly orStartsAt: Instant | undefined
  /** Billed, in seconds; `undefined` if the file does not say it. */
  readonly seconds: number | undefined
  /** The carrier's id of the call; empty if there is none. */
  readonly id: string
  /** Or its beginning, of at least {@link minIdLength} characters. */
  readonly decisionId: string | undefined
}

export interface CallRecordsFile {
  readonly source: Pick<SourceFile, 'name' | 'path' | 'stream'>
  /** Column to the header that the operator named. */
  readonly columnNames: RecordColumnNames
  /** IANA name; times must have their zones if it is absent. */
  readonly zone: string | undefined
  readonly serviceCodes: ReadonlySet<string>
  /** Reads the number in what Asterisk dialed on a channel; `undefined` if the channel is none of a carrier. */
  readonly readDialed: (channel: string, dialString: string) => string | undefined
  readonly onLeg: (leg: BilledLeg) => void
  /** Called for a row of Asterisk that dialed on no trunk. */
  readonly onOther: () => void
  readonly onBadRow: (bad: BadLine) => void
}

/** Headers as lower-case letters and digits. Those from `channel` on are Asterisk's. */
const columns = {
  number: [
    ...['number', 'called', 'callednumber', 'calledparty', 'calledpartynumber', 'calledstationid'],
    ...[
      'dst',
      'dest',
      'destination',
      'destinationnumber',
      'destnumber',
      'to',
      'tonumber',
      'toe164',
    ],
    ...['dialed', 'dialled', 'dialednumber', 'dialedno', 'terminatingnumber', 'bnumber', 'cld'],
    ...['phone', 'phonenumber', 'callee'],
  ],
  time: [
    ...[
      'time',
      'start',
      'starttime',
      'startdatetime',
      'callstart',
      'callstarttime',
      'starttimeutc',
    ],
    ...['calldate', 'calldatetime', 'calltime', 'datetime', 'timestamp', 'startedat', 'startstamp'],
    ...['connecttime', 'setuptime', 'begin', 'begintime', 'initiated'],
  ],
  date: ['date', 'startdate', 'day'],
  billed: ['billsec', 'billedseconds', 'billableseconds', 'billedduration', 'billduration'],
  duration: ['duration', 'durationseconds', 'durationsec', 'callduration', 'seconds', 'secs'],
  id: [
    ...['id', 'callid', 'uniqueid', 'calluniqueid', 'uuid', 'calluuid', 'cdrid', 'recordid'],
    ...['sid', 'callsid', 'sessionid'],
  ],
  decision: ['decision', 'decisionid', 'callgateid', 'xcallgateid'],
  channel: ['dstchannel'],
  application: ['lastapp'],
  dialString: ['lastdata'],
  account: ['accountcode'],
  userField: ['userfield'],
} as const
type Column = keyof typeof columns

const optional = [
  ...(['time', 'date', 'billed', 'duration', 'id', 'decision', 'channel'] as const),
  ...(['application', 'dialString', 'account', 'userField'] as const),
]

/** By cdr_csv.c of Asterisk 16 to 22: `uniqueid` and `userfield` are there if cdr.conf says so, more are of `newcdrcolumns`. */
const asteriskColumns: readonly (Column | undefined)[] = [
  ...(['account', undefined, 'number', undefined, undefined, undefined, 'channel'] as const),
  ...(['application', 'dialString', 'time', undefined, undefined, undefined, 'billed'] as const),
  ...([undefined, undefined, 'id', 'userField'] as const),
]
const [firstTime, lastTime, firstCount, lastCount] = [9, 11, 12, 13]
const asteriskTime = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/

function isAsteriskRow(cells: readonly string[]): boolean {
  const [started = '', ended = ''] = [cells[firstTime], cells[lastTime]]
  const counts = cells.slice(firstCount, lastCount + 1)
  const hasTimes = asteriskTime.test(started) && (ended === '' || asteriskTime.test(ended))
  return cells.length >= 16 && hasTimes && counts.every((cell) => /^\d+$/.test(cell))
}

/** Throws {@link DataFileError} for another kind of file. */
export async function readCallRecords(file: CallRecordsFile): Promise<TableSummary> {
  const { source, columnNames, onLeg, onOther, onBadRow } = file
  const named = applyColumnNames(columns, optional, columnNames, '--columns')
  const table: TableFormat<Column> = {
    description: 'call detail records (number, time), or Master.csv of Asterisk',
    ...named,
    ...(Object.keys(columnNames).length === 0 && {
      columnsWithoutHeader: {
        isRow: isAsteriskRow,
        // A column that is not read has no name.
        order: ({ length }) => asteriskColumns.slice(0, length) as readonly Column[],
      },
    }),
    requireUniqueColumns: { columns: ['number', 'time'], option: '--columns' },
    findHeaderProblem: (found) =>
      found.has('time') || found.has('date')
        ? undefined
        : "no column 'start', 'time' or 'date'; name it with --columns time=<header>",
    commentsOnlyBefore: 'number',
    hasLooseWidth: true,
    completeRowPattern: 'any',
  }
  return await readTable<Column>({
    source,
    table,
    readRow: (row, _found, line) => {
      const leg = readLeg(row, line, file)
      if (leg === undefined) onOther()
      else if (isFieldProblem(leg)) return leg
      else onLeg(leg)
      return undefined
    },
    onBadRow,
    onRow: () => undefined,
  })
}

/** `undefined` for a row of Asterisk that dialed on no trunk. */
function readLeg(
  row: Row<Column>,
  line: number,
  file: CallRecordsFile,
): BilledLeg | FieldProblem | undefined {
  const isOfAsterisk = row.application !== '' || row.channel !== ''
  const dialed = isOfAsterisk ? findDialed(row, file) : row.number
  if (dialed === undefined) return undefined
  const number = readNumber(dialed, file.serviceCodes)
  if (isFieldProblem(number)) return number
  const startsAt = readStart(row, file.zone)
  if (isFieldProblem(startsAt)) return startsAt
  const isNamed = file.columnNames.duration !== undefined
  const seconds = readSeconds((isNamed ? '' : row.billed) || row.duration)
  if (isFieldProblem(seconds)) return seconds
  const [at, orStartsAt] = startsAt
  const [id, shown] = [copyText(row.id), copyText(dialed)]
  return {
    ...{ line, dialed: shown, ...number, startsAt: at, orStartsAt, seconds, id },
    decisionId: findDecisionId(row),
  }
}

/** Asterisk writes a row for each call, also for those that it refused or that went to a telephone. */
function findDialed(row: Row<Column>, { readDialed }: CallRecordsFile): string | undefined {
  if (row.channel === '' || (row.application !== '' && row.application !== 'Dial')) return undefined
  const [dialString = ''] = row.dialString.split(',')
  const read = readDialed(row.channel, dialString)
  return read === '' ? row.number : read
}

function readNumber(
  dialed: string,
  serviceCodes: ReadonlySet<string>,
): Pick<BilledLeg, 'number' | 'isServiceCode'> | FieldProblem {
  const parsed = parseDialString(dialed, serviceCodes)
  if (parsed.kind === 'invalid') return { field: 'number', value: dialed, rule: parsed.detail }
  if (parsed.kind === 'service-code') return { number: parsed.code, isServiceCode: true }
  const text = parsed.kind === 'nanp' ? parsed.number : parsed.digits
  return { number: toNumberKey(text), isServiceCode: false }
}

/** Of the number of a decision: a number of another country may have any prefix. */
export function toNumberKey(number: string): string {
  return copyText(number.replace(/^(?:\+|011|00)(?=\d{5})/, '+'))
}

const zonelessTime =
  /^(\d{4}-\d\d-\d\d|\d{1,2}\/\d{1,2}\/\d{4}|\d{8})[T ]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*([AaPp][Mm])?$/

/** One instant, or two for a local time that occurs twice. */
function readStart(
  { date, time }: Row<Column>,
  zone: string | undefined,
): readonly [Instant, Instant?] | FieldProblem {
  const text = [date, time].filter((cell) => cell !== '').join(' ')
  const invalid = (rule: string) => ({ field: 'time', value: text, rule })
  // Since 2001, in seconds or milliseconds of the epoch.
  if (/^\d{10}(?:\.\d+)?$/.test(text)) return [Math.floor(Number(text) * 1000)]
  if (/^\d{13}$/.test(text)) return [Number(text)]
  const local = zonelessTime.exec(text)
  if (local) return readLocalTime(local, zone, invalid)
  const at = /\d:\d/.test(text) ? parseInstant(text.replace(/ ?(?:UTC|GMT)$/, 'Z')) : undefined
  if (at !== undefined) return [at]
  return invalid(
    'must be a date with a time, such as 2026-11-23 17:00:00, 11/23/2026 5:00 PM or 2026-11-23T17:00:00Z, or seconds of the epoch',
  )
}

function readLocalTime(
  [, date = '', hourText = '', minute = '', second = '0', half]: readonly (string | undefined)[],
  zone: string | undefined,
  invalid: (rule: string) => FieldProblem,
): readonly [Instant, Instant?] | FieldProblem {
  if (zone === undefined) {
    return invalid(
      'has no zone; name it with --zone, such as --zone America/New_York or --zone UTC',
    )
  }
  const day = parseDay(date)
  const [hour, maxHour] = half ? [Number(hourText) % 12, 12] : [Number(hourText), 23]
  const isPossible = Number(hourText) <= maxHour && Number(minute) < 60 && Number(second) < 60
  if (day === undefined || !isPossible) return invalid('is not a time that exists')
  const isAfternoon = half?.toLowerCase() === 'pm'
  const secondOfDay = ((hour + (isAfternoon ? 12 : 0)) * 60 + Number(minute)) * 60 + Number(second)
  const [first, last] = (['earlier', 'later'] as const).map((twice) =>
    toInstant(zone, day, secondOfDay, twice),
  ) as [Instant, Instant]
  const shown = toLocalTime(zone, first)
  if (shown.day !== day || shown.secondOfDay !== secondOfDay) {
    return invalid(`does not exist in ${zone}: the clocks were set forward then`)
  }
  return first === last ? [first] : [first, last]
}

function readSeconds(text: string): number | undefined | FieldProblem {
  if (text === '') return undefined
  if (/^\d{1,7}(?:\.\d+)?$/.test(text)) return Number(text)
  const [, hours = '0', minutes, seconds] = /^(?:(\d{1,3}):)?(\d{1,3}):(\d\d)$/.exec(text) ?? []
  if (minutes === undefined) {
    return { field: 'duration', value: text, rule: 'must be seconds, M:SS or H:MM:SS' }
  }
  return (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
}

const idPattern = /(?<![0-9a-z])[0-9a-z]{9}[0-9a-f]{20}(?![0-9a-z])/
/**
 * The permit that the recipes pass to the leg: version, expiry, decision id and signature. Asterisk keeps 79 characters of what
 * was dialed, so its end may be missing.
 */
const permitPattern = /\(1\.[0-9a-z]{1,11}\.([0-9a-z]{9}[0-9a-f]{4,20})(?:\.[\w-]*\)*)?$/

function findDecisionId(row: Row<Column>): string | undefined {
  const [found] =
    idPattern.exec(
      // Without a unique id in the file of Asterisk, the user field is in its place.
      [row.decision, row.userField, row.account, row.id].join(' '),
    ) ?? []
  const id = found ?? permitPattern.exec(row.dialString)?.[1]
  return id === undefined ? undefined : copyText(id)
}

/** Of the beginning of an id, which nearly always belongs to one decision. */
export const minIdLength = 13

/** A part of a text keeps all of it in memory, here some thousand lines. */
const copyText = (text: string): string => Buffer.from(text).toString()
