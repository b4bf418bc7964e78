/** Signed heads that were kept elsewhere. Runs in the verifier, with Node alone. */
import { type ListedNote, listNotes } from '../transparency/checkpoint.js'
import { type ByteSource, shortLinesOf } from './byte-source.js'

export interface KeptHeads {
  /** For people. */
  readonly name: string
  readonly source: ByteSource
}

/** A signature and a hash in base64 are shorter. */
const maxLineBytes = 10_000

/** As a file has them to which each was appended. */
export const listHeads = (source: ByteSource): Iterable<ListedNote> =>
  listNotes(shortLinesOf(source, maxLineBytes))
