/** The logs whose heads a witness keeps, by their verifier keys: some that are given, and those of a file. */
import { readFileSync } from 'node:fs'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { readFileStamp } from '../../runtime/folders.js'
import { parseVerifierKey, type VerifierKey } from '../../transparency/signed-note.js'

interface TrustedLogsOptions {
  readonly keys: readonly VerifierKey[]
  /** With a key on each line; empty lines and those after `#` are passed over. Read again when it changes. */
  readonly file: string | undefined
  /** The file cannot be read anymore; the keys that it had are used. */
  readonly onError: (cause: unknown) => void
}

export class TrustedLogs {
  readonly #options: TrustedLogsOptions
  #stamp: string | undefined
  #fileKeys: readonly VerifierKey[] = []

  /** Throws {@link DataFileError} with the line if the file cannot be read. */
  constructor(options: TrustedLogsOptions) {
    this.#options = options
    const { file } = options
    if (file === undefined) return
    this.#stamp = readFileStamp(file)
    this.#fileKeys = readKeys(file)
  }

  /** Empty if the log is not known. */
  findKeys(origin: string): readonly VerifierKey[] {
    this.#refresh()
    return [...this.#options.keys, ...this.#fileKeys].filter(({ name }) => name === origin)
  }

  #refresh(): void {
    const { file, onError } = this.#options
    if (file === undefined) return
    const stamp = readFileStamp(file)
    if (stamp === this.#stamp) return
    this.#stamp = stamp
    try {
      this.#fileKeys = readKeys(file)
    } catch (cause) {
      onError(cause)
    }
  }
}

function readKeys(file: string): readonly VerifierKey[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new DataFileError(file, `cannot be read: ${getErrorMessage(cause)}`, cause)
  }
  return text.split('\n').flatMap((line, index) => {
    const key = line.trim()
    if (key === '' || key.startsWith('#')) return []
    try {
      return [parseLogKey(key)]
    } catch (cause) {
      throw new DataFileError(file, `line ${index + 1}: ${getErrorMessage(cause)}`, cause)
    }
  })
}

/** Throws an error with the rule if it is not the verifier key of a log. */
export function parseLogKey(text: string): VerifierKey {
  const key = parseVerifierKey(text)
  if (key.type === 'signer') return key
  throw new Error(`'${text}' is the key of a witness, not of a log`)
}
