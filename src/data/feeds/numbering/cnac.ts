/**
 * Reads the CNAC report "CO code status, all NPAs": the assigned prefixes of Canada.
 * `prefix-zones.ts` finds the time zones of an exchange area.
 */
import type { Instant } from '../../../domain/time/clock.js'
import { msPerDay, parseDay } from '../../../domain/time/dates.js'
import { type FieldProblem, isFieldProblem } from '../../../errors.js'
import { findRegionCountry } from '../../../law/area-codes.js'
import type { Row } from '../table-layout.js'
import {
  type PrefixFeedOptions,
  type PrefixFeedReport,
  PrefixFeedTally,
  readCarrier,
  readPrefix,
  readReport,
} from './prefix-feed.js'

const columns = {
  areaCode: ['npa'],
  exchange: ['cocodenxx', 'cocode', 'nxx'],
  status: ['status'],
  exchangeArea: ['exchangearea'],
  province: ['province'],
  company: ['company'],
  ocn: ['ocn'],
} as const

const assignedStatuses: ReadonlySet<string> = new Set(['In Service', 'Assigned'])

const unassignedStatuses: ReadonlySet<string> = new Set([
  'Available',
  'New NPA',
  'New NPA Testing',
  'For Special Use',
  'Not Available',
  'Moratorium on Assignment',
  'Plant Test',
  'Being Recovered',
  'Recovered/Aging',
  'Stranded Code',
  'Protected',
  'Temporarily Unavailable',
])

/** Passes every assigned prefix to `onPrefix`. Throws `DataFileError` for another kind of file. */
export async function readCnac(options: PrefixFeedOptions): Promise<PrefixFeedReport> {
  const tally = new PrefixFeedTally()
  let asOf: Instant | undefined
  let dateRows = 0
  const description = 'the CNAC report of central office code status'
  const table = await readReport(options, { columns, description }, (row, { line, cells }) => {
    const day = row.areaCode === '' ? parseFileDay(cells) : undefined
    if (day === undefined) return readRow(row, line, options, tally)
    asOf = day * msPerDay
    dateRows += 1
    return undefined
  })
  return tally.report(options.path, { ...table, rows: table.rows - dateRows }, asOf)
}

/** Parses the line below the header, which has only the date of the file, in its last cell. */
function parseFileDay(cells: readonly string[]): number | undefined {
  return cells.slice(0, -1).every((cell) => cell === '') ? parseDay(cells.at(-1) ?? '') : undefined
}

function readRow(
  row: Row<keyof typeof columns>,
  line: number,
  { onPrefix }: PrefixFeedOptions,
  tally: PrefixFeedTally,
): FieldProblem | undefined {
  const prefix = readPrefix(row.areaCode, row.exchange)
  if (isFieldProblem(prefix)) return prefix
  const repeated = tally.findRepeated(prefix, line)
  if (repeated) return repeated
  if (unassignedStatuses.has(row.status)) return void tally.skip('not assigned')
  if (!assignedStatuses.has(row.status)) {
    const rule = 'is not a known status, so the code is treated as not assigned'
    return { field: 'Status', value: row.status, rule }
  }
  // The seven-digit 310 service and routing codes have no place.
  if (row.province === '') return void tally.skip('without a province')
  if (findRegionCountry(row.province) !== 'CA') {
    return { field: 'Province', value: row.province, rule: 'must be a province of Canada' }
  }
  const carrier = readCarrier(row.ocn, row.company)
  if (isFieldProblem(carrier)) return carrier
  onPrefix({ prefix, region: row.province, locality: row.exchangeArea, carrier })
  return undefined
}
