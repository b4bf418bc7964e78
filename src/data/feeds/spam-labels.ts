/**
 * Reads a table of spam labels, in long form (number, source, `flagged` or `clean`, the day it was
 * seen) or in wide form (number and a column for each source, blank where it has not said).
 */
import { type LabelSource, labelSources } from '../../domain/labels.js'
import type { FieldProblem } from '../../errors.js'
import {
  type FactTable,
  type FeedFile,
  type FileRead,
  isFieldProblem,
  numberNames,
  readFactTable,
  readNumber,
  readPastDay,
} from './fact-table.js'
import type { Row } from './table.js'

export type SpamLabelFact = {
  readonly source: LabelSource
  /** 1 when the source labels the number, 0 when it says that it does not. */
  readonly flagged: number
  readonly observedOn: number | null
}

type Column = 'number' | 'source' | 'status' | 'observedOn' | LabelSource

const table: FactTable<Column> = {
  what: 'a table of spam labels (number, source, status, observed, or a column for each source)',
  columns: {
    number: numberNames,
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
  optional: ['source', 'status', 'observedOn', ...labelSources],
  unnamed: () => ['number', 'source', 'status', 'observedOn'],
  headerProblem: (found) => {
    if (found.has('source') || found.has('status')) {
      return found.has('source') && found.has('status') ? undefined : "no 'source' and 'status'"
    }
    return labelSources.some((source) => found.has(source)) ? undefined : 'no column of a source'
  },
}

const sources: ReadonlyMap<string, LabelSource> = new Map(
  labelSources.map((source) => [source.toLowerCase(), source]),
)

/** `CarrierA`, `carrier_a` and `Carrier A` are one; `undefined` for what is no source. */
export function labelSourceOf(text: string): LabelSource | undefined {
  return sources.get(text.toLowerCase().replace(/[\s_-]/g, ''))
}

export function readSpamLabels(file: FeedFile<SpamLabelFact>): Promise<FileRead> {
  return readFactTable(file, table, (row) => readRow(row, file))
}

function readRow(row: Row<Column>, file: FeedFile<SpamLabelFact>): FieldProblem | undefined {
  const number = readNumber(row.number)
  if (isFieldProblem(number)) return number
  const observed = readPastDay('observed', row.observedOn, file.today)
  if (isFieldProblem(observed)) return observed
  const said = saidIn(row)
  if (isFieldProblem(said)) return said
  if (said.length === 0) file.leaveOut('without a status')
  for (const [source, flagged] of said) {
    file.keep(number, { source, flagged: flagged ? 1 : 0, observedOn: observed ?? null })
  }
  return undefined
}

type Said = readonly (readonly [LabelSource, boolean])[]

function saidIn(row: Row<Column>): Said | FieldProblem {
  if (row.source === '' && row.status === '') return saidInColumns(row)
  const source = labelSourceOf(row.source)
  if (source === undefined) {
    const rule = `must be one of: ${labelSources.join(', ')}`
    return { field: 'source', value: row.source, rule }
  }
  const flagged = isFlagged(row.status)
  return isFieldProblem(flagged) ? flagged : [[source, flagged]]
}

function saidInColumns(row: Row<Column>): Said | FieldProblem {
  const said: (readonly [LabelSource, boolean])[] = []
  for (const source of labelSources) {
    if (row[source] === '') continue
    const flagged = isFlagged(row[source])
    if (isFieldProblem(flagged)) return flagged
    said.push([source, flagged])
  }
  return said
}

function isFlagged(text: string): boolean | FieldProblem {
  const word = text.toLowerCase()
  if (word === 'flagged' || word === 'clean') return word === 'flagged'
  return { field: 'status', value: text, rule: 'must be flagged or clean' }
}
