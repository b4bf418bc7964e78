/** The request `add-checkpoint` of C2SP `tlog-witness`. */
import { hashBytes } from '../../transparency/merkle-tree.js'
import { decodeBase64, NoteError } from '../../transparency/signed-note.js'

export interface AddCheckpointRequest {
  /** Of the head that the witness has; 0 if it has none. */
  readonly oldSize: number
  /** The proof that the old tree is the beginning of the new one. */
  readonly path: readonly Buffer[]
  /** Signed. */
  readonly checkpoint: string
}

/** Of the answer that says which size the witness has. */
export const sizeContentType = 'text/x.tlog.size'

/** A tree of 2^63 leaves needs no more. */
const maxPathLength = 63

export function formatAddCheckpoint({ oldSize, path, checkpoint }: AddCheckpointRequest): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('')
  return `old ${oldSize}\n${hashes}\n${checkpoint}`
}

/** Throws {@link NoteError} if it is none. The checkpoint is not looked at. */
export function parseAddCheckpoint(body: string): AddCheckpointRequest {
  const end = body.indexOf('\n\n')
  const [first = '', ...hashes] = body.slice(0, Math.max(0, end)).split('\n')
  const size = /^old (0|[1-9]\d{0,14})$/.exec(first)?.[1]
  if (size === undefined) {
    throw new NoteError(
      "the body begins with a line 'old <size>', and hashes and an empty line follow",
    )
  }
  if (hashes.length > maxPathLength) {
    throw new NoteError(`the proof has ${hashes.length} hashes; it may have ${maxPathLength}`)
  }
  const path = hashes.map((line) => {
    const hash = decodeBase64(line)
    if (hash?.length === hashBytes) return hash
    throw new NoteError(`'${line.slice(0, 100)}' is no hash of a proof`)
  })
  return { oldSize: Number(size), path, checkpoint: body.slice(end + 2) }
}
