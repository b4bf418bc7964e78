/**
 * What a person gets who has opted out: a signed note of three lines, the name of the log, the number of the record in it, and
 * the body of the record. The second line keeps it from being taken for a checkpoint.
 */
import {
  formatNote,
  NoteError,
  parseNote,
  type SigningKey,
  signNote,
  type VerifierKey,
  verifySignatures,
} from './signed-note.js'

export interface Receipt {
  /** Of the record in the log. */
  readonly seq: number
  /** One line of JSON. */
  readonly body: string
}

export function signReceipt({ seq, body }: Receipt, key: SigningKey): string {
  const text = `${key.name}\nrecord ${seq}\n${body}\n`
  return formatNote({ text, signatures: [signNote(text, key)] })
}

/** Throws {@link NoteError} unless it is a receipt signed by the log with this key. */
export function openReceipt(signed: string, key: VerifierKey): Receipt {
  const note = parseNote(signed)
  const [origin, record = '', body = '', ...rest] = note.text.split('\n')
  const seq = /^record ([1-9]\d{0,14})$/.exec(record)?.[1]
  if (seq === undefined || rest.length !== 1) throw new NoteError('the note is no receipt')
  if (origin !== key.name) {
    throw new NoteError(`the receipt is of log '${origin}', not of '${key.name}'`)
  }
  if (verifySignatures(note, [key]).length === 0) {
    throw new NoteError(`the receipt is not signed by ${key.name}`)
  }
  return { seq: Number(seq), body }
}
