/**
 * Reads the NANPA report of thousands blocks: which company has which thousand numbers of a pooled
 * prefix. What a block changes of its prefix is the business of `prefix-blocks.ts`.
 */
import { type LocalDay, parseDay } from '../../domain/clock.js'
import type { OriginalCarrier } from '../../domain/place.js'
import type { FieldProblem } from '../../errors.js'
import { BadLines } from './bad-lines.js'
import { localityOf, regionOf } from './nanpa.js'
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
  areaCode: ['npa'],
  exchange: ['nxx', 'cocode', 'cocodenxx'],
  block: ['x', 'block', 'thousandsblock'],
  status: ['status', 'blockstatus'],
  rateCentre: ['ratecenter', 'ratecentre'],
  company: ['assignedto', 'blockholder', 'company'],
  ocn: ['ocn', 'blockholderocn'],
  effectiveDate: ['blockeffectivedate', 'effectivedate'],
} as const

/** A thousand numbers, as the pooling administrator lists them. */
export interface AssignedBlock {
  /** Area code, exchange and the first digit of the line, as a number of seven digits. */
  readonly block: number
  /** Two-letter state or territory. */
  readonly region: string
  /** Rate centre; empty when the list names none. */
  readonly locality: string
  /** `undefined` when the list names none. */
  readonly carrier: OriginalCarrier | undefined
}

export interface BlocksOptions extends Pick<FeedOptions, 'path' | 'rejects' | 'onProgress'> {
  /** A block that takes effect after this day is not its new holder's yet. */
  readonly today: LocalDay
  /** Bad rows to put up with; none when left out: each may be a wireless line. */
  readonly badLinesAllowed?: number | undefined
  readonly onBlock: (block: AssignedBlock) => void
}

/**
 * Hands every block with the status `AS` to `onBlock`. Throws `DataFileError` for another kind of
 * file and when more rows are bad than allowed.
 */
export async function readBlocks(options: BlocksOptions): Promise<FeedReport> {
  const { path, rejects, onProgress } = options
  const tally = new Tally()
  const seen = new SeenBlocks()
  const days = new Map<string, LocalDay | undefined>()
  const badLines = new BadLines(options.badLinesAllowed)
  const table = await readTable({
    path,
    columns,
    optional: ['effectiveDate'],
    what: 'the NANPA report of thousands blocks',
    onRow: (row) => readRow(row, options, { tally, seen, days }),
    rejects: (bad) => {
      rejects?.(bad)
      badLines.add(bad)
    },
    onProgress,
  })
  badLines.judge()
  return tally.report(path, table, undefined)
}

type BlockRow = Row<keyof typeof columns>

interface Account {
  readonly tally: Tally
  readonly seen: SeenBlocks
  /** Dates as written, which a report repeats a few thousand times each. */
  readonly days: Map<string, LocalDay | undefined>
}

function readRow(
  row: BlockRow,
  { today, onBlock }: BlocksOptions,
  { tally, seen, days }: Account,
): FieldProblem | undefined {
  const block = readBlock(row)
  if (typeof block !== 'number') return block
  if (seen.hasMet(block)) {
    return { field: 'block', value: String(block), rule: 'appears already; the first counts' }
  }
  const { status } = row
  if (status !== 'AS') {
    if (/^[A-Z]{2}$/.test(status)) return void tally.leaveOut(`status ${status}`)
    return { field: 'STATUS', value: status, rule: 'must be two letters, such as AS or AV' }
  }
  const effective = row.effectiveDate === '' ? today : dayOf(row.effectiveDate, days)
  if (effective === undefined) {
    const rule = 'must be MM/DD/YYYY or blank'
    return { field: 'Block Effective Date', value: row.effectiveDate, rule }
  }
  if (effective > today) return void tally.leaveOut('not yet in effect')
  const region = regionOf(row.state)
  if (region === undefined) {
    return { field: 'State', value: row.state, rule: 'must be a state or territory of the US' }
  }
  const carrier = readCarrier(row.ocn, row.company)
  if (isProblem(carrier)) return carrier
  onBlock({ block, region, locality: localityOf(row.rateCentre), carrier })
  return undefined
}

function dayOf(text: string, days: Account['days']): LocalDay | undefined {
  if (!days.has(text)) days.set(text, parseDay(text))
  return days.get(text)
}

function readBlock(row: BlockRow): number | FieldProblem {
  const prefix = readPrefix(row.areaCode, row.exchange)
  if (typeof prefix !== 'string') return prefix
  if (!/^\d$/.test(row.block)) return { field: 'X', value: row.block, rule: 'must be one digit' }
  return Number(prefix + row.block)
}

/** One bit for each block there can be. */
class SeenBlocks {
  readonly #bits = new Uint8Array(10_000_000 / 8)

  /** Whether the block came before; from now on it has. */
  hasMet(block: number): boolean {
    const at = block >> 3
    const bit = 1 << (block & 7)
    const bits = this.#bits[at] ?? 0
    this.#bits[at] = bits | bit
    return (bits & bit) !== 0
  }
}
