/** The newest signed head of a journal, and what those that keep heads say about it. */
import { readFileSync } from 'node:fs'
import { getErrorCode } from '../../errors.js'
import {
  checkpointPath,
  TreeReader,
  treeFolder,
  verifierKeyPath,
} from '../../gate/journal/tree/tree-files.js'
import { missingFileStamp, readFileStamp } from '../../runtime/folders.js'
import { openCheckpoint, type SignedCheckpoint } from '../../transparency/checkpoint.js'
import { computeRoot, proveConsistency, verifyConsistency } from '../../transparency/merkle-tree.js'
import { parseVerifierKey, type VerifierKey } from '../../transparency/signed-note.js'

export interface Head extends SignedCheckpoint {
  /** As it is in its file. */
  readonly signed: string
  readonly key: VerifierKey
  /** Throws `DataFileError` if the tree cannot be read. */
  rootAt(size: number): Buffer
  /** That the tree of `size` is the beginning of this one. Throws `DataFileError` if the tree cannot be read. */
  prove(size: number): readonly Buffer[]
}

/** Reads the head again when it has changed. */
export class HeadReader {
  readonly #folder: string
  #stamp = missingFileStamp
  #head: Head | undefined

  constructor(journalFolder: string) {
    this.#folder = treeFolder(journalFolder)
  }

  /** `undefined` before the first one is signed. Throws if it is not signed by the key beside it. */
  read(): Head | undefined {
    const path = checkpointPath(this.#folder)
    const stamp = readFileStamp(path)
    if (stamp === this.#stamp) return this.#head
    this.#head = stamp === missingFileStamp ? undefined : this.#open(path)
    this.#stamp = stamp
    return this.#head
  }

  #open(path: string): Head | undefined {
    try {
      const signed = readFileSync(path, 'utf8')
      const key = parseVerifierKey(readFileSync(verifierKeyPath(this.#folder), 'utf8').trim())
      const checkpoint = openCheckpoint(signed, key)
      const { node } = new TreeReader(this.#folder, checkpoint.size)
      return {
        ...checkpoint,
        signed,
        key,
        rootAt: (size) => computeRoot(size, node),
        prove: (size) => {
          const proof = proveConsistency(size, checkpoint.size, node)
          const old = { size, root: computeRoot(size, node) }
          if (verifyConsistency(old, checkpoint, proof)) return proof
          throw new Error(`the tiles in ${this.#folder} do not have the root that was signed`)
        },
      }
    } catch (cause) {
      if (getErrorCode(cause) === 'ENOENT') return undefined
      throw cause
    }
  }
}

/** Somebody has a head that the journal does not go on from: the journal was rolled back, or its past was changed. */
export class HeadConflict extends Error {
  /** Of the head that is there. */
  readonly size: number

  constructor(size: number, head: Head) {
    super(
      size > head.size
        ? `has a head of ${size} records, but the journal has signed ${head.size}: it was rolled back, as by an old copy of its folder`
        : `has another past of the journal at ${size} records: the journal was rolled back and went on, or was changed`,
    )
    this.size = size
  }
}
