/** Reads a decision by its row in the index of a journal. */
import { DataFileError } from '../../../errors.js'
import type { DecisionDocument } from '../../decision-document.js'
import { type RecordReader, segmentPath } from '../journal-reader.js'

/** Where a decision is; one of a version before the journal is in the row. */
export type DecisionRow = { readonly id: string } & (
  | { readonly segment: number; readonly byte_offset: number }
  | { readonly segment: null; readonly body: string }
)

export interface DecisionFiles {
  readonly reader: RecordReader
  /** Of the journal. */
  readonly folder: string
  readonly indexPath: string
}

/**
 * `undefined` if the segment with its record was removed. Throws {@link DataFileError} with the place if the record cannot be
 * read.
 */
export function readDecision(
  row: DecisionRow,
  { reader, folder, indexPath }: DecisionFiles,
): DecisionDocument | undefined {
  if (row.segment === null) return JSON.parse(row.body)
  const { id, segment, byte_offset: offset } = row
  const record = reader.read({ segment, offset })
  if (record === undefined) return undefined
  const isDecision = record.kind === 'decision' || record.kind === 'amendment'
  const document = isDecision ? (JSON.parse(record.body.toString()) as DecisionDocument) : undefined
  if (document?.id === id) return document
  const rule = `the record at byte ${offset} is not that of decision ${id}, as the index says`
  const advice = `Stop the server and delete ${indexPath}`
  throw new DataFileError(segmentPath(folder, segment), `${rule}. ${advice}`)
}
