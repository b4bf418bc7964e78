/** The newest head that a witness has signed, with all cosignatures of it, in the file `cosigned` of the tree. */
import { readFileSync, writeFileSync } from 'node:fs'
import { cosignedPath, treeFolder } from '../../gate/journal/tree/tree-files.js'
import { isPresent, moveIntoPlace } from '../../runtime/folders.js'
import { parseCheckpoint } from '../../transparency/checkpoint.js'
import {
  formatNote,
  NoteError,
  type NoteSignature,
  parseNote,
  type SignedNote,
} from '../../transparency/signed-note.js'
import type { Head } from './head.js'

export class CosignedHead {
  readonly #path: string
  #note: SignedNote | undefined

  constructor(journalFolder: string) {
    this.#path = cosignedPath(treeFolder(journalFolder))
    this.#note = readNote(this.#path)
  }

  /** Throws if it cannot be written. */
  add({ note, origin, size }: Head, cosignature: NoteSignature): void {
    const known = this.#note && parseCheckpoint(this.#note.text)
    if (known?.origin === origin && known.size > size) return
    const signatures =
      known && this.#note?.text === note.text ? this.#note.signatures : note.signatures
    const others = signatures.filter(({ keyId }) => keyId !== cosignature.keyId)
    this.#note = { text: note.text, signatures: [...others, cosignature] }
    writeFileSync(`${this.#path}.tmp`, formatNote(this.#note), { mode: 0o600, flush: true })
    moveIntoPlace(`${this.#path}.tmp`, this.#path)
  }
}

/** A damaged file is written again with the next cosignature. */
function readNote(path: string): SignedNote | undefined {
  try {
    if (!isPresent(path)) return undefined
    const note = parseNote(readFileSync(path, 'utf8'))
    parseCheckpoint(note.text)
    return note
  } catch (cause) {
    if (cause instanceof NoteError) return undefined
    throw cause
  }
}
