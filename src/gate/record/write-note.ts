/** The way into the record for all that is no decision. */
import type { RecordKind } from '../journal/segment-format.js'
import type { RecordContents } from './read-record.js'

/** Of the records that are no decisions. */
export type NoteKind = Exclude<RecordKind, 'decision' | 'amendment'>
export type NoteContent<Kind extends NoteKind> = Partial<RecordContents[Kind]>

export function writeRecord<Kind extends NoteKind>(
  _kind: Kind,
  content: NoteContent<Kind>,
): string {
  return JSON.stringify(content)
}
