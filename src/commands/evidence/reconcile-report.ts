/** What a comparison with the bill of a carrier found, as text, CSV and JSON. */

import type { BadLine } from '../../data/feeds/bad-lines.js'
import type { BilledLeg } from '../../data/feeds/call-records.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { EvidenceResult } from '../../evidence/result.js'
import type { TimeRange } from '../../gate/journal/recorded-decisions.js'
import { formatCsvCell } from '../../runtime/csv-cell.js'
import { formatTable } from '../command.js'
import { formatCount, formatNumber, joinLines } from '../format.js'
import { type Fault, faults, type Matching, type Mismatch } from './match-legs.js'

export interface ReconcileReport extends Matching {
  readonly file: string
  /** Absent for all but the sandbox. */
  readonly account: string | undefined
  readonly period: TimeRange
  /** Of the file, those that cannot be read included. */
  readonly rows: number
  readonly comments: number
  /** Rows of Asterisk that dialed on no trunk. */
  readonly notDialed: number
  /** Rows of inbound calls. */
  readonly inbound: number
  readonly hasTrunks: boolean
  /** Legs that begin before or after the period. */
  readonly outside: number
  /** Legs, decisions and allows of the period. */
  readonly legs: number
  readonly decisions: number
  readonly allows: number
  readonly erased: number
  readonly serviceCodes: readonly BilledLeg[]
  readonly unreadable: readonly BadLine[]
}

const faultTexts: Readonly<Record<Fault, string>> = {
  'no-decision': 'legs without any decision: they went around the gate',
  blocked: 'legs whose decision was a block',
  expired: 'legs that began after their allow had expired',
  withdrawn: 'legs of calls that were reported as not placed',
  'used-again': 'legs of an allow that has another leg',
  'other-number': 'legs to another number than their decision',
  'other-time': 'legs that began before their decision',
  'no-leg': 'allows without a leg, and without an outcome that says the call was not placed',
}

export function findResult(
  report: Pick<ReconcileReport, 'mismatches' | 'unreadable' | 'legs' | 'allows'>,
): EvidenceResult {
  if (report.mismatches.length > 0) return 'FALSE'
  return report.unreadable.length > 0 || isEmpty(report) ? 'NOT PROVEN' : 'PROVEN'
}

const isEmpty = ({ legs, allows }: Pick<ReconcileReport, 'legs' | 'allows'>) =>
  legs === 0 && allows === 0

const resultTexts: Readonly<Record<EvidenceResult, string>> = {
  PROVEN: 'every leg has its allow, and every allow its leg or a reason for none.',
  'NOT PROVEN': 'what could be read matches, but some rows could not be read.',
  'NOT CHECKED': '',
  FALSE: 'legs and decisions do not match.',
}

export function toText(report: ReconcileReport, maxListed: number): string {
  const { mismatches, unreadable, serviceCodes } = report
  return joinLines([
    ...summarize(report),
    ...faults.flatMap((fault) =>
      formatList(
        faultTexts[fault],
        mismatches.filter((one) => one.fault === fault).map(toCells),
        maxListed,
      ),
    ),
    ...formatList(
      'calls to emergency and service codes, which need no decision',
      serviceCodes.map(toLegCells),
      maxListed,
    ),
    ...formatList('rows that cannot be read', unreadable.map(toBadCells), maxListed),
    `${findResult(report)}: ${isEmpty(report) ? 'there is no leg and no allow to compare.' : resultTexts[findResult(report)]}`,
  ])
}

function summarize(report: ReconcileReport): readonly string[] {
  const { period, account, rows, legs, decisions, allows, ambiguous } = report
  const whose = account === undefined ? '' : ` of account '${account}'`
  const optional = (count: number, text: string) =>
    count > 0 ? [`${formatNumber(count)} ${text}`] : []
  return [
    `${formatInstant(period.since)} to ${formatInstant(period.until)}: ${formatCount(legs, 'leg')} in ${formatCount(rows, 'row')}, ` +
      `${formatCount(decisions, 'decision')}${whose}, ${formatNumber(allows)} of them allows`,
    `${formatNumber(report.byId)} legs have their allow by its id, ${formatNumber(report.byNumber)} by number and time`,
    ...optional(ambiguous, 'of those could be of several allows; the nearest in time was taken'),
    ...optional(report.notPlaced, 'allows were reported as not placed'),
    ...optional(report.notConnected, 'allows were not connected, and have no leg'),
    ...optional(report.outside, 'legs are outside this time'),
    ...optional(report.inbound, 'rows are of inbound calls'),
    ...optional(report.notDialed, 'rows of Asterisk are of calls that it did not dial on a trunk'),
    ...(report.notDialed > 0 && !report.hasTrunks
      ? [
          'asterisk.trunks is empty, so every channel that Asterisk dialed is taken for one of a carrier',
        ]
      : []),
    ...optional(report.comments, 'lines are comments'),
    ...optional(report.erased, 'decisions were erased; their legs are found by id alone'),
    `${formatNumber(report.mismatches.length)} do not match`,
    `${formatNumber(report.unreadable.length)} rows cannot be read`,
  ]
}

const head = [
  'fault',
  'line',
  'call',
  'number',
  'start',
  'seconds',
  'decision',
  'decided',
  'detail',
]

function formatList(
  title: string,
  rows: readonly (readonly string[])[],
  maxListed: number,
): readonly string[] {
  if (rows.length === 0) return []
  const shown = rows.slice(0, maxListed)
  const more = rows.length - shown.length
  const columns = head.map((_, index) => index).filter((index) => shown.some((row) => row[index]))
  const pick = (row: readonly string[]) => columns.slice(1).map((index) => row[index] ?? '')
  return [
    '',
    `${title} (${formatNumber(rows.length)}):`,
    ...(shown.length > 0 ? [formatTable(pick(head), shown.map(pick)).trimEnd()] : []),
    ...(more > 0
      ? [`and ${formatNumber(more)} more; --limit shows more, --csv and --json all`]
      : []),
  ]
}

function toCells({ fault, leg, call, detail }: Mismatch): readonly string[] {
  const [, line, id, number, start, seconds] = leg ? toLegCells(leg) : []
  return [
    fault,
    line ?? '',
    id ?? '',
    number ?? call?.number ?? '',
    start ?? '',
    seconds ?? '',
    call?.id ?? leg?.decisionId ?? '',
    call ? formatInstant(call.decidedAt) : '',
    detail,
  ]
}

function toLegCells({
  line,
  id,
  number,
  startsAt,
  seconds,
  decisionId,
}: BilledLeg): readonly string[] {
  const billed = seconds === undefined ? '' : String(seconds)
  const start = formatInstant(startsAt)
  return ['service-code', String(line), id, number, start, billed, decisionId ?? '', '', '']
}

const toBadCells = ({ line, value, rule }: BadLine): readonly string[] => [
  ...['unreadable', String(line), '', '', '', '', '', ''],
  `'${value}': ${rule}`,
]

export function toCsv(report: ReconcileReport): string {
  const rows = [
    ...report.mismatches.map(toCells),
    ...report.serviceCodes.map(toLegCells),
    ...report.unreadable.map(toBadCells),
  ]
  return joinLines([head, ...rows].map((cells) => cells.map(formatCsvCell).join(',')))
}

export function toJson(report: ReconcileReport): string {
  const { period, mismatches, serviceCodes, unreadable, hasTrunks: _, ...counts } = report
  const document = {
    result: findResult(report),
    from: formatInstant(period.since),
    to: formatInstant(period.until),
    ...counts,
    faults: countFaults(mismatches),
    mismatches: mismatches.map(({ fault, leg, call, detail }) => ({
      fault,
      detail,
      leg: leg && toLegDocument(leg),
      decision: call && {
        id: call.id,
        number: call.number,
        isAllow: call.isAllow,
        reason: call.reason,
        decidedAt: formatInstant(call.decidedAt),
        validUntil: formatInstant(call.validUntil),
        outcome: call.outcome.state,
      },
    })),
    serviceCodes: serviceCodes.map(toLegDocument),
    unreadable: unreadable.map(({ line, value, rule }) => ({ line, value, rule })),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

function countFaults(mismatches: readonly Mismatch[]): Readonly<Record<string, number>> {
  const counted = faults.map(
    (fault) => [fault, mismatches.filter((one) => one.fault === fault).length] as const,
  )
  return Object.fromEntries(counted)
}

function toLegDocument({ line, id, dialed, number, startsAt, seconds, decisionId }: BilledLeg) {
  return { line, id, dialed, number, startsAt: formatInstant(startsAt), seconds, decisionId }
}
