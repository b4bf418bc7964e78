/**
 * Reads the NANPA report "central office codes, utilized": the assigned prefixes of the US and its
 * territories. Where a rate centre lies is left to `prefix-zones.ts`.
 */
import { type LocalDay, parseDay } from '../../domain/clock.js'
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
  state: ['state'],
  prefix: ['npanxx'],
  ocn: ['ocn'],
  company: ['company'],
  rateCentre: ['ratecenter', 'ratecentre'],
  effectiveDate: ['effectivedate'],
  use: ['use'],
} as const

/** Unassigned, reserved, protected, vacant: listed, but no number of theirs is in use. */
const unassignedUses: ReadonlySet<string> = new Set(['UA', 'RV', 'PR', 'VC'])

export interface NanpaOptions extends FeedOptions {
  /** A code that takes effect after this day is not assigned yet. */
  readonly today: LocalDay
}

/** Hands every assigned prefix to `onPrefix`. Throws `DataFileError` for another kind of file. */
export async function readNanpa(options: NanpaOptions): Promise<FeedReport> {
  const tally = new Tally()
  const table = await readTable({
    path: options.path,
    columns,
    what: 'the NANPA report of utilized central office codes',
    onRow: (row, line) => readRow(row, line, options, tally),
    rejects: options.rejects,
    onProgress: options.onProgress,
  })
  const day = parseDay(/\d\d\/\d\d\/\d{4}/.exec(table.header.at(-1) ?? '')?.[0] ?? '')
  return tally.report(options.path, table, day === undefined ? undefined : day * 86_400_000)
}

function readRow(
  row: Row<keyof typeof columns>,
  line: number,
  { today, onPrefix }: NanpaOptions,
  tally: Tally,
): FieldProblem | undefined {
  const [, areaCode = '', exchange = ''] = /^(\d{3})-?(\d{3})$/.exec(row.prefix) ?? []
  if (areaCode === '') return { field: 'NPA-NXX', value: row.prefix, rule: 'must be like 850-550' }
  const prefix = readPrefix(areaCode, exchange)
  if (isProblem(prefix)) return prefix
  const effective = row.effectiveDate === '' ? today : parseDay(row.effectiveDate)
  if (effective === undefined) {
    return { field: 'EffectiveDate', value: row.effectiveDate, rule: 'must be MM/DD/YYYY or blank' }
  }
  const repeated = tally.repeated(prefix, line)
  if (repeated) return repeated
  if (unassignedUses.has(row.use)) return void tally.leaveOut('not assigned')
  if (row.use !== 'AS') {
    return { field: 'Use', value: row.use, rule: 'must be AS, UA, RV, PR or VC' }
  }
  if (effective > today) return void tally.leaveOut('not yet in effect')
  const region = regionOf(row.state)
  if (region === undefined) {
    return { field: 'State', value: row.state, rule: 'must be a state or territory of the US' }
  }
  const carrier = readCarrier(row.ocn, row.company)
  if (isProblem(carrier)) return carrier
  onPrefix({ prefix, region, locality: localityOf(row.rateCentre), carrier })
  return undefined
}

/**
 * Region of a state as NANPA writes it, with `NN` for the Northern Marianas; `undefined` for letters
 * that are no state or territory of the US.
 */
export function regionOf(state: string): string | undefined {
  const region = state === 'NN' ? 'MP' : state
  return countryOfRegion(region) === 'US' ? region : undefined
}

/** `XXXXXXXXXX` and `DIR ASST` stand where a code has no rate centre. */
export function localityOf(rateCentre: string): string {
  return /^X+$/.test(rateCentre) || rateCentre === 'DIR ASST' ? '' : rateCentre
}
