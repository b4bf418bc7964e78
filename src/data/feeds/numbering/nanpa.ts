/**
 * Reads the NANPA report "central office codes, utilized": the assigned prefixes of the US and its
 * territories. `prefix-zones.ts` finds the time zones of a rate center.
 */
import type { LocalDay } from '../../../domain/time/clock.js'
import { msPerDay, parseDay } from '../../../domain/time/dates.js'
import { type FieldProblem, isFieldProblem } from '../../../errors.js'
import type { Row } from '../table-layout.js'
import {
  type PrefixFeedOptions,
  type PrefixFeedReport,
  PrefixFeedTally,
  readNanpaRow,
  readPrefix,
  readReport,
} from './prefix-feed.js'

const columns = {
  state: ['state'],
  prefix: ['npanxx'],
  ocn: ['ocn'],
  company: ['company'],
  rateCenter: ['ratecenter', 'ratecentre'],
  effectiveDate: ['effectivedate'],
  use: ['use'],
} as const

/** Unassigned, reserved, protected and vacant codes have no numbers in use. */
const unassignedUses: ReadonlySet<string> = new Set(['UA', 'RV', 'PR', 'VC'])

export interface NanpaOptions extends PrefixFeedOptions {
  /** Codes that take effect after this day are skipped. */
  readonly today: LocalDay
}

/** Passes every assigned prefix to `onPrefix`. Throws `DataFileError` for another kind of file. */
export async function readNanpa(options: NanpaOptions): Promise<PrefixFeedReport> {
  const tally = new PrefixFeedTally()
  const description = 'the NANPA report of utilized central office codes'
  const table = await readReport(options, { columns, description }, (row, { line }) =>
    readRow(row, line, options, tally),
  )
  const day = parseDay(/\d\d\/\d\d\/\d{4}/.exec(table.header.at(-1) ?? '')?.[0] ?? '')
  return tally.report(options.path, table, day === undefined ? undefined : day * msPerDay)
}

function readRow(
  row: Row<keyof typeof columns>,
  line: number,
  { today, onPrefix }: NanpaOptions,
  tally: PrefixFeedTally,
): FieldProblem | undefined {
  const [, areaCode = '', exchange = ''] = /^(\d{3})-?(\d{3})$/.exec(row.prefix) ?? []
  if (areaCode === '')
    return { field: 'NPA-NXX', value: row.prefix, rule: 'must be a prefix such as 850-550' }
  const prefix = readPrefix(areaCode, exchange)
  if (isFieldProblem(prefix)) return prefix
  const effective = row.effectiveDate === '' ? today : parseDay(row.effectiveDate)
  if (effective === undefined) {
    return { field: 'EffectiveDate', value: row.effectiveDate, rule: 'must be MM/DD/YYYY or blank' }
  }
  const repeated = tally.findRepeated(prefix, line)
  if (repeated) return repeated
  if (unassignedUses.has(row.use)) return void tally.skip('not assigned')
  if (row.use !== 'AS') {
    return { field: 'Use', value: row.use, rule: 'must be AS, UA, RV, PR or VC' }
  }
  if (effective > today) return void tally.skip('not yet in effect')
  const assigned = readNanpaRow(row)
  if (isFieldProblem(assigned)) return assigned
  onPrefix({ prefix, ...assigned })
  return undefined
}
