/**
 * Reads the NANPA report of thousands blocks, which assigns each thousand numbers of a pooled prefix to
 * a company. `prefix-blocks.ts` applies the blocks to their prefix.
 */

import type { LocalDay } from '../../../domain/time/clock.js'
import { parseDay } from '../../../domain/time/dates.js'
import { type FieldProblem, isFieldProblem } from '../../../errors.js'
import { BadLines } from '../bad-lines.js'
import type { Row } from '../table-layout.js'
import {
  type AssignedRow,
  type PrefixFeedReport,
  PrefixFeedTally,
  type ReportOptions,
  readNanpaRow,
  readPrefix,
  readReport,
} from './prefix-feed.js'

const columns = {
  state: ['state'],
  areaCode: ['npa'],
  exchange: ['nxx', 'cocode', 'cocodenxx'],
  block: ['x', 'block', 'thousandsblock'],
  status: ['status', 'blockstatus'],
  rateCenter: ['ratecenter', 'ratecentre'],
  company: ['assignedto', 'blockholder', 'company'],
  ocn: ['ocn', 'blockholderocn'],
  effectiveDate: ['blockeffectivedate', 'effectivedate'],
} as const

/** An assigned block of a thousand numbers, as listed by the pooling administrator. */
export interface AssignedBlock extends AssignedRow {
  /** Area code, exchange and the first digit of the line, as a number of seven digits. */
  readonly block: number
}

export interface BlocksOptions extends ReportOptions {
  /** Blocks that take effect after this day are skipped, since they still belong to their old holder. */
  readonly today: LocalDay
  /** Maximum bad rows; none by default, since each may be a wireless line. */
  readonly badLinesAllowed?: number | undefined
  readonly onBlock: (block: AssignedBlock) => void
}

/**
 * Passes every block with status `AS` to `onBlock`. Throws `DataFileError` for another kind of file and
 * for too many bad rows.
 */
export async function readBlocks(options: BlocksOptions): Promise<PrefixFeedReport> {
  const { path, rejects, onProgress } = options
  const tally = new PrefixFeedTally()
  const seen = new BlockBitmap()
  const days = new Map<string, LocalDay | undefined>()
  const badLines = new BadLines(options.badLinesAllowed, rejects)
  const state = { tally, seen, days }
  const table = await readReport(
    { path, onProgress, rejects: (bad) => badLines.add(bad) },
    { columns, optional: ['effectiveDate'], description: 'the NANPA report of thousands blocks' },
    (row) => readRow(row, options, state),
  )
  badLines.requireWithinLimit()
  return tally.report(path, table, undefined)
}

type BlockRow = Row<keyof typeof columns>

interface BlockReadState {
  readonly tally: PrefixFeedTally
  readonly seen: BlockBitmap
  /** Cache of parsed dates, since a report repeats each date a few thousand times. */
  readonly days: Map<string, LocalDay | undefined>
}

function readRow(
  row: BlockRow,
  { today, onBlock }: BlocksOptions,
  { tally, seen, days }: BlockReadState,
): FieldProblem | undefined {
  const block = readBlock(row)
  if (typeof block !== 'number') return block
  if (seen.testAndSet(block)) {
    return { field: 'block', value: String(block), rule: 'is a duplicate; the first row is used' }
  }
  const { status } = row
  if (status !== 'AS') {
    if (/^[A-Z]{2}$/.test(status)) return void tally.skip(`status ${status}`)
    return { field: 'STATUS', value: status, rule: 'must be two letters, such as AS or AV' }
  }
  const effective = row.effectiveDate === '' ? today : dayOf(row.effectiveDate, days)
  if (effective === undefined) {
    const rule = 'must be MM/DD/YYYY or blank'
    return { field: 'Block Effective Date', value: row.effectiveDate, rule }
  }
  if (effective > today) return void tally.skip('not yet in effect')
  const assigned = readNanpaRow(row)
  if (isFieldProblem(assigned)) return assigned
  onBlock({ block, ...assigned })
  return undefined
}

function dayOf(text: string, days: BlockReadState['days']): LocalDay | undefined {
  if (!days.has(text)) days.set(text, parseDay(text))
  return days.get(text)
}

function readBlock(row: BlockRow): number | FieldProblem {
  const prefix = readPrefix(row.areaCode, row.exchange)
  if (typeof prefix !== 'string') return prefix
  if (!/^\d$/.test(row.block)) return { field: 'X', value: row.block, rule: 'must be one digit' }
  return Number(prefix + row.block)
}

/** One bit for each possible block. */
class BlockBitmap {
  readonly #bits = new Uint8Array(10_000_000 / 8)

  /** Adds a block. Returns whether it was already present. */
  testAndSet(block: number): boolean {
    const at = block >> 3
    const bit = 1 << (block & 7)
    const bits = this.#bits[at] ?? 0
    this.#bits[at] = bits | bit
    return (bits & bit) !== 0
  }
}
