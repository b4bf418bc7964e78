/**
 * Reads a table of spam labels, in long form (number, source, `flagged` or `clean`, day of the
 * observation) or in wide form (number and a column per source, blank if unknown).
 */
import { type LabelIssuer, labelIssuers } from '../../../domain/spam-labels.js'
import { type FieldProblem, isFieldProblem } from '../../../errors.js'
import type { TableDays } from '../days.js'
import {
  type FactTable,
  type FeedFile,
  type FeedFileSummary,
  numberTable,
  readFactTable,
  readPastDay,
} from '../fact-table.js'
import { numberColumnNames, readNumber } from '../number-cells.js'
import type { Row } from '../table-layout.js'

export type SpamLabelFact = {
  readonly source: LabelIssuer
  /** 1 if the source labels the number as spam, 0 if it does not. */
  readonly flagged: number
  readonly observedOn: number | null
}

type Column = 'number' | 'source' | 'status' | 'observedOn' | LabelIssuer

const table: FactTable<Column> = {
  ...numberTable,
  description:
    'a table of spam labels (number, source, status, observed, or a column for each source)',
  columns: {
    number: numberColumnNames,
    source: ['source', 'carrier', 'app', 'labelsource'],
    status: ['status', 'label', 'score'],
    observedOn: ['observed', 'observedon', 'observeddate', 'date', 'seen'],
    CarrierA: ['carriera', 'carrierascore'],
    CarrierB: ['carrierb', 'carrierbscore'],
    CarrierC: ['carrierc', 'carriercscore'],
    CarrierD: ['carrierd', 'carrierdscore'],
    AppA: ['appa', 'appastatus'],
    AppB: ['appb', 'appbstatus'],
  },
  optional: ['source', 'status', 'observedOn', ...labelIssuers],
  columnsWithoutHeader: () => ['number', 'source', 'status', 'observedOn'],
  findHeaderProblem: (found) => {
    if (found.has('source') || found.has('status')) {
      return found.has('source') && found.has('status') ? undefined : "no 'source' and 'status'"
    }
    return labelIssuers.some((source) => found.has(source)) ? undefined : 'no column of a source'
  },
}

const sources: ReadonlyMap<string, LabelIssuer> = new Map(
  labelIssuers.map((source) => [source.toLowerCase(), source]),
)

/** `CarrierA`, `carrier_a` and `Carrier A` are the same; `undefined` for an unknown source. */
export function parseLabelSource(text: string): LabelIssuer | undefined {
  return sources.get(text.toLowerCase().replace(/[\s_-]/g, ''))
}

export function readSpamLabels(file: FeedFile<SpamLabelFact>): Promise<FeedFileSummary> {
  return readFactTable(file, table, (row, { days }) => readRow(row, file, days))
}

function readRow(
  row: Row<Column>,
  file: FeedFile<SpamLabelFact>,
  days: TableDays,
): FieldProblem | undefined {
  const number = readNumber(row.number)
  if (isFieldProblem(number)) return number
  const observed = readPastDay('observed', row.observedOn, { today: file.today, days })
  if (isFieldProblem(observed)) return observed
  const said = readLabels(row)
  if (isFieldProblem(said)) return said
  if (said.length === 0) file.skip('without a status')
  for (const [source, flagged] of said) {
    file.keep(number, { source, flagged: flagged ? 1 : 0, observedOn: observed ?? null })
  }
  return undefined
}

type SourceLabels = readonly (readonly [LabelIssuer, boolean])[]

function readLabels(row: Row<Column>): SourceLabels | FieldProblem {
  if (row.source === '' && row.status === '') return readLabelColumns(row)
  const source = parseLabelSource(row.source)
  if (source === undefined) {
    const rule = `must be one of: ${labelIssuers.join(', ')}`
    return { field: 'source', value: row.source, rule }
  }
  const flagged = parseFlag(row.status)
  return isFieldProblem(flagged) ? flagged : [[source, flagged]]
}

function readLabelColumns(row: Row<Column>): SourceLabels | FieldProblem {
  const said: (readonly [LabelIssuer, boolean])[] = []
  for (const source of labelIssuers) {
    if (row[source] === '') continue
    const flagged = parseFlag(row[source])
    if (isFieldProblem(flagged)) return flagged
    said.push([source, flagged])
  }
  return said
}

function parseFlag(text: string): boolean | FieldProblem {
  const word = text.toLowerCase()
  if (word === 'flagged' || word === 'clean') return word === 'flagged'
  return { field: 'status', value: text, rule: 'must be flagged or clean' }
}
