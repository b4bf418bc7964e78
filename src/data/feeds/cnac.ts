/**
 * Reads the CNAC report "CO code status, all NPAs": the assigned prefixes of Canada. Where an
 * exchange area lies is left to `prefix-zones.ts`.
 */
import { type Instant, parseDay } from '../../domain/clock.js'
import type { FieldProblem } from '../../errors.js'
import { countryOfRegion } from '../numbering/area-codes.js'
import {
  type FeedOptions,
  type FeedReport,
  isProblem,
  readCarrier,
  readPrefix,
  Tally,
} from './prefix-feed.js'
import { type Row, readTable } from './table.js'

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
  ...['Available', 'New NPA', 'New NPA Testing', 'For Special Use', 'Not Available'],
  ...['Moratorium on Assignment', 'Plant Test', 'Being Recovered', 'Recovered/Aging'],
  ...['Stranded Code', 'Protected', 'Temporarily Unavailable'],
])

/** Hands every assigned prefix to `onPrefix`. Throws `DataFileError` for another kind of file. */
export async function readCnac(options: FeedOptions): Promise<FeedReport> {
  const tally = new Tally()
  let asOf: Instant | undefined
  let dateRows = 0
  const table = await readTable({
    path: options.path,
    columns,
    what: 'the CNAC report of central office code status',
    onRow: (row, line, cells) => {
      const day = row.areaCode === '' ? fileDay(cells) : undefined
      if (day === undefined) return readRow(row, line, options, tally)
      asOf = day * 86_400_000
      dateRows += 1
      return undefined
    },
    rejects: options.rejects,
    onProgress: options.onProgress,
  })
  return tally.report(options.path, { ...table, rows: table.rows - dateRows }, asOf)
}

/** The line below the header holds nothing but the file's date, in its last cell. */
function fileDay(cells: readonly string[]): number | undefined {
  return cells.slice(0, -1).every((cell) => cell === '') ? parseDay(cells.at(-1) ?? '') : undefined
}

function readRow(
  row: Row<keyof typeof columns>,
  line: number,
  { onPrefix }: FeedOptions,
  tally: Tally,
): FieldProblem | undefined {
  const prefix = readPrefix(row.areaCode, row.exchange)
  if (isProblem(prefix)) return prefix
  const repeated = tally.repeated(prefix, line)
  if (repeated) return repeated
  if (unassignedStatuses.has(row.status)) return void tally.leaveOut('not assigned')
  if (!assignedStatuses.has(row.status)) {
    const rule = 'is no known status, so the code counts as not assigned'
    return { field: 'Status', value: row.status, rule }
  }
  // The seven-digit 310 service and routing codes serve no place.
  if (row.province === '') return void tally.leaveOut('without a province')
  if (countryOfRegion(row.province) !== 'CA') {
    return { field: 'Province', value: row.province, rule: 'must be a province of Canada' }
  }
  const carrier = readCarrier(row.ocn, row.company)
  if (isProblem(carrier)) return carrier
  onPrefix({ prefix, region: row.province, locality: row.exchangeArea, carrier })
  return undefined
}
