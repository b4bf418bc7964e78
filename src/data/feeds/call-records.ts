/**
 * Reads the call detail records of a carrier, a table with a header, or of Asterisk: `Master.csv` of cdr_csv, which has none. A
 * time without a zone is one of the zone that the operator names.
 */
import { parseDialString } from '../../domain/phone-number.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { formatDay, parseInstant } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import { describeSaid } from '../../domain/words/words.js'
import { type FieldProblem, isFieldProblem } from '../../errors.js'
import type { SourceFile } from '../files/source-file.js'
import type { BadLine } from './bad-lines.js'
import type { TableDays } from './days.js'
import { isTelephone, readAnyNumber } from './number-cells.js'
import { readTable, type TableSummary } from './table.js'
import type { Row, TableFormat, TableOptions } from './table-layout.js'

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
  readonly table?: TableOptions | undefined
  /** IANA name; times must have their zones if it is absent. */
  readonly zone: string | undefined
  readonly serviceCodes: ReadonlySet<string>
  /** Reads the number in what Asterisk dialed on a channel; `undefined` if the channel is none of a carrier. */
  readonly readDialed: (channel: string, dialString: string) => string | undefined
  readonly onLeg: (leg: BilledLeg) => void
  /** Called for a row of Asterisk that dialed on no trunk. */
  readonly onOther: () => void
  /** Called for an inbound call. */
  readonly onInbound: () => void
  readonly onBadRow: (bad: BadLine) => void
}

/** Headers as lower-case letters and digits. Those from `channel` on are Asterisk's. */
export const callRecordColumns = {
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
    ...['phone', 'phonenumber', 'callee', 'calldestination', 'dnis', 'calleeid', 'calledno'],
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
    ...['connecttime', 'setuptime', 'begin', 'begintime', 'initiated', 'callstartdatetime'],
    ...['datecreated', 'startdate'],
  ],
  date: ['date', 'calldate', 'day'],
  billed: [
    'billsec',
    'billtimerounded',
    'billedseconds',
    'billableseconds',
    'billedduration',
    'billduration',
  ],
  duration: [
    'duration',
    'durationseconds',
    'durationsec',
    'callduration',
    'seconds',
    'secs',
    'talking',
    'talktime',
  ],
  id: [
    ...['id', 'callid', 'uniqueid', 'calluniqueid', 'uuid', 'calluuid', 'cdrid', 'recordid'],
    ...['sid', 'callsid', 'sessionid'],
  ],
  decision: ['decision', 'decisionid', 'callgateid', 'xcallgateid'],
  direction: ['direction', 'calldirection', 'calltype', 'type'],
  channel: ['dstchannel'],
  application: ['lastapp'],
  dialString: ['lastdata'],
  account: ['accountcode'],
  userField: ['userfield'],
} as const
type Column = keyof typeof callRecordColumns

const optional = [
  ...(['time', 'date', 'billed', 'duration', 'id', 'decision', 'direction', 'channel'] as const),
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
  const { source, onLeg, onOther, onInbound, onBadRow } = file
  return await readTable<Column>({
    source,
    table,
    options: file.table,
    readRow: (row, { line, days }) => {
      if (isInbound(row.direction)) return void onInbound()
      const leg = readLeg(row, { line, days, file })
      if (leg === undefined) onOther()
      else if (isFieldProblem(leg)) return leg
      else onLeg(leg)
      return undefined
    },
    onBadRow,
    onRow: () => undefined,
  })
}

/** Carriers and dialers write "Inbound", "incoming" or "in". Anything else may be an outbound call. */
const isInbound = (text: string) => /^(?:in|inbound|incoming|in-bound)\b/i.test(text)

const table: TableFormat<Column> = {
  description: 'call detail records (number, time), or Master.csv of Asterisk',
  columns: callRecordColumns,
  optional,
  columnsWithoutHeader: {
    isRow: isAsteriskRow,
    // A column that is not read has no name.
    order: ({ length }) => asteriskColumns.slice(0, length),
  },
  option: '--columns',
  firstOf: optional.filter((name) => name !== 'time'),
  // "Call time" is a duration in some, and a time of day in others.
  cellTests: {
    time: (cell) => /\d{4}.*\d:\d\d|\d:\d\d.*\d{4}|^\d{10,13}$/.test(cell),
    number: isTelephone,
  },
  findHeaderProblem: (found) =>
    found.has('time') || found.has('date')
      ? undefined
      : "no column of call times, such as 'start', 'time' or 'date'; name it with --columns time=<header>",
  commentsOnlyBefore: 'number',
  hasLooseWidth: 'more',
  mayBeCutOff: () => false,
}

interface LegContext {
  readonly line: number
  readonly days: TableDays
  readonly file: CallRecordsFile
}

/** `undefined` for a row of Asterisk that dialed on no trunk. */
function readLeg(
  row: Row<Column>,
  { line, days, file }: LegContext,
): BilledLeg | FieldProblem | undefined {
  const isOfAsterisk = row.application !== '' || row.channel !== ''
  const dialed = isOfAsterisk ? findDialed(row, file) : row.number
  if (dialed === undefined) return undefined
  const number = readNumber(dialed, file.serviceCodes)
  if (isFieldProblem(number)) return number
  const startsAt = readStart(row, days, file.zone)
  if (isFieldProblem(startsAt)) return startsAt
  const isNamed = file.table?.columns?.duration !== undefined
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
  const clean = readAnyNumber(dialed)
  const parsed = parseDialString(typeof clean === 'string' ? clean : dialed, serviceCodes)
  if (parsed.kind === 'invalid')
    return { field: 'number', value: dialed, rule: describeSaid(parsed.says) }
  if (parsed.kind === 'service-code') return { number: parsed.code, isServiceCode: true }
  const text = parsed.kind === 'nanp' ? parsed.number : parsed.digits
  return { number: toNumberKey(text), isServiceCode: false }
}

/** Of the number of a decision: a number of another country may have any prefix. */
export function toNumberKey(number: string): string {
  return copyText(number.replace(/^(?:\+|011|00)(?=\d{5})/, '+'))
}

const zonelessTime = /^(.*\d)[T ]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*([AaPp]\.?[Mm]\.?)?$/
/** With a zone after the time, as Twilio and Five9 write it. */
const zonedTime =
  /^(.*\d:\d\d(?::\d\d)?(?: ?[AP]M)?) (EST|EDT|CST|CDT|MST|MDT|PST|PDT|UTC|GMT|[+-]\d\d:?\d\d)$/i

const offsetOfAbbreviation: Readonly<Record<string, string>> = {
  ...{ EST: '-05:00', EDT: '-04:00', CST: '-06:00', CDT: '-05:00', MST: '-07:00', MDT: '-06:00' },
  ...{ PST: '-08:00', PDT: '-07:00', UTC: 'Z', GMT: 'Z' },
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** `Fri, 20 Nov 2026` and `Nov 20, 2026` as `2026-11-20`. */
function toIsoDay(text: string): string {
  const bare = text.replace(/^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +/i, '')
  const [, day, name, year] = /^(\d{1,2}) ([a-z]{3})[a-z]*,? (\d{4})$/i.exec(bare) ?? []
  const [, otherName, otherDay, otherYear] =
    /^([a-z]{3})[a-z]* (\d{1,2}),? (\d{4})$/i.exec(bare) ?? []
  const month = months.indexOf((name ?? otherName ?? '').toLowerCase()) + 1
  if (month === 0) return bare
  return [
    year ?? otherYear,
    String(month).padStart(2, '0'),
    (day ?? otherDay ?? '').padStart(2, '0'),
  ].join('-')
}

/** One instant, or two for a local time that occurs twice. */
function readStart(
  { date, time }: Row<Column>,
  days: TableDays,
  zone: string | undefined,
): readonly [Instant, Instant?] | FieldProblem {
  const written = [date, time].filter((cell) => cell !== '').join(' ')
  const invalid = (rule: string) => ({ field: 'time', value: written, rule })
  // The console of Twilio writes 08:30:45 PST 2026-11-20.
  const text = written.replace(/^([\d:]+) ([A-Z]{3,4}) (\d{4}-\d\d-\d\d)$/, '$3 $1 $2')
  // Since 2001, in seconds or milliseconds of the epoch.
  if (/^\d{10}(?:\.\d+)?$/.test(text)) return [Math.floor(Number(text) * 1000)]
  if (/^\d{13}$/.test(text)) return [Number(text)]
  const iso = /^\d{4}-/.test(text) && /\d:\d/.test(text) && /(?:Z|[+-]\d\d:?\d\d)$/i.test(text)
  const at = iso ? parseInstant(text) : undefined
  if (at !== undefined) return [at]
  const [, zoneless, mark = ''] = zonedTime.exec(text) ?? []
  const local = zonelessTime.exec(zoneless ?? text)
  if (!local) return invalid(timeRule)
  const day = days.read(toIsoDay((local[1] ?? '').replace(/,$/, '')))
  if (day === undefined) {
    const isDay = /^\d+[/.-]\d+[/.-]\d+$/.test(local[1] ?? '')
    return invalid(isDay ? 'is not a time that exists' : timeRule)
  }
  if (mark !== '') {
    const offset = offsetOfAbbreviation[mark.toUpperCase()] ?? mark
    const [clock] = readClock(local)
    const inUtc =
      clock === undefined ? undefined : parseInstant(`${formatDay(day)}T00:00:00${offset}`)
    return inUtc === undefined ? invalid(timeRule) : [inUtc + (clock ?? 0) * 1000]
  }
  return readLocalTime(local, { day, zone, invalid })
}

const timeRule =
  'must be a date with a time, such as 2026-11-23 17:00:00, 11/23/2026 5:00 PM or 2026-11-23T17:00:00Z, or seconds of the epoch'

/** The second of the day; empty for a time that does not exist. */
function readClock([, , hourText = '', minute = '', second = '0', half]: readonly (
  | string
  | undefined
)[]): readonly number[] {
  const [hour, maxHour] = half ? [Number(hourText) % 12, 12] : [Number(hourText), 23]
  const isPossible = Number(hourText) <= maxHour && Number(minute) < 60 && Number(second) < 60
  if (!isPossible) return []
  const isAfternoon = half?.toLowerCase().startsWith('p')
  return [((hour + (isAfternoon ? 12 : 0)) * 60 + Number(minute)) * 60 + Number(second)]
}

function readLocalTime(
  local: readonly (string | undefined)[],
  {
    day,
    zone,
    invalid,
  }: {
    readonly day: LocalDay
    readonly zone: string | undefined
    readonly invalid: (rule: string) => FieldProblem
  },
): readonly [Instant, Instant?] | FieldProblem {
  if (zone === undefined) {
    return invalid(
      'has no zone; name it with --zone, such as --zone America/New_York or --zone UTC',
    )
  }
  const [secondOfDay] = readClock(local)
  if (secondOfDay === undefined) return invalid('is not a time that exists')
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
