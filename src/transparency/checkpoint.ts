/** The heads of a log, C2SP `tlog-checkpoint`, and proofs of single records, C2SP `tlog-proof`. */
import { hashBytes, type InclusionProof } from './merkle-tree.js'
import {
  decodeBase64,
  formatNote,
  NoteError,
  parseNote,
  type SignedNote,
  type SigningKey,
  signNote,
  type VerifiedSignature,
  type VerifierKey,
  verifySignatures,
} from './signed-note.js'

export interface Checkpoint {
  /** Which log it is. */
  readonly origin: string
  /** Number of its entries. */
  readonly size: number
  readonly root: Buffer
}

function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** Throws {@link NoteError} if the text is none. Lines after the first three are passed over. */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = ''] = text.split('\n')
  const bytes = decodeBase64(root)
  const isSize = /^(?:0|[1-9]\d{0,14})$/.test(size)
  if (origin !== '' && isSize && bytes?.length === hashBytes) {
    return { origin, size: Number(size), root: bytes }
  }
  throw new NoteError(
    'a checkpoint is the name of a log, its size and the hash of its root, by line',
  )
}

export function signCheckpoint(checkpoint: Checkpoint, key: SigningKey): string {
  const text = formatCheckpoint(checkpoint)
  return formatNote({ text, signatures: [signNote(text, key)] })
}

export interface SignedCheckpoint extends Checkpoint {
  readonly note: SignedNote
  /** By the keys that are known; the first one is that of the log. */
  readonly signatures: readonly VerifiedSignature[]
}

/** Throws {@link NoteError} unless it is a checkpoint of the log with this key, with its signature. */
export function openCheckpoint(
  signed: string,
  key: VerifierKey,
  witnesses: readonly VerifierKey[] = [],
): SignedCheckpoint {
  const note = parseNote(signed)
  const checkpoint = parseCheckpoint(note.text)
  if (checkpoint.origin !== key.name) {
    throw new NoteError(`the checkpoint is of log '${checkpoint.origin}', not of '${key.name}'`)
  }
  const [own] = verifySignatures(note, [key])
  if (own === undefined) throw new NoteError(`the checkpoint is not signed by ${key.name}`)
  return { ...checkpoint, note, signatures: [own, ...verifySignatures(note, witnesses)] }
}

export interface ListedNote {
  /** The name of the log. */
  readonly origin: string
  readonly signed: string
}

/** More lines before a signature are no checkpoint. */
const maxTextLines = 20

/**
 * The signed checkpoints in the lines of a text with many, as a file has to which each was appended. Passes over what is
 * none, such as an append that a crash cut off.
 */
export function* listNotes(lines: Iterable<string>): Generator<ListedNote> {
  let text: string[] = []
  let signatures: string[] = []
  const take = (): ListedNote[] => {
    const found = findNote(text, signatures)
    text = []
    signatures = []
    return found
  }
  for (const line of lines) {
    if (line.startsWith('\u2014 ') && text.at(-1) === '') {
      signatures.push(line)
      continue
    }
    if (signatures.length > 0) yield* take()
    text.push(line)
    if (text.length > maxTextLines) text.shift()
  }
  if (signatures.length > 0) yield* take()
}

/**
 * It begins with the last line that ends with the name of one of its signers: a line that was cut off may be before it in the
 * same line. A signature that was cut off is none.
 */
function findNote(text: readonly string[], signatures: readonly string[]): ListedNote[] {
  const whole = signatures.filter((line) => {
    const [, , encoded = ''] = line.split(' ')
    return (decodeBase64(encoded)?.length ?? 0) >= leastSignatureBytes
  })
  for (const line of whole) {
    const [, origin = ''] = line.split(' ')
    const start = text.findLastIndex((one) => one.endsWith(origin))
    if (start === -1) continue
    const lines = [origin, ...text.slice(start + 1), ...whole]
    return [{ origin, signed: `${lines.join('\n')}\n` }]
  }
  return []
}

/** The id of a key, and a signature of Ed25519. */
const leastSignatureBytes = 68

export interface ProofFile {
  /** What is needed to make the entry from: of a record, its salt and body. It proves nothing by itself. */
  readonly extra: Buffer | undefined
  readonly index: number
  readonly path: readonly Buffer[]
  /** A signed checkpoint. */
  readonly checkpoint: string
}

const proofHeader = 'c2sp.org/tlog-proof@v1'

export function formatProofFile({ extra, index, path, checkpoint }: ProofFile): string {
  const extraLine = extra === undefined ? '' : `extra ${extra.toString('base64')}\n`
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('')
  return `${proofHeader}\n${extraLine}index ${index}\n${hashes}\n${checkpoint}`
}

/** Throws {@link NoteError} if it is none. */
export function parseProofFile(file: string): ProofFile {
  const end = file.indexOf('\n\n')
  const [header, ...lines] = file.slice(0, Math.max(0, end)).split('\n')
  if (header !== proofHeader) {
    throw new NoteError(`a proof begins with the line '${proofHeader}' and ends with a checkpoint`)
  }
  const [first = ''] = lines
  const extraText = /^extra (.*)$/.exec(first)?.[1]
  const extra = extraText === undefined ? undefined : decodeBase64(extraText)
  if (extraText !== undefined && extra === undefined) {
    throw new NoteError('the extra data of the proof is not in base64')
  }
  const [indexLine = '', ...hashes] = extra === undefined ? lines : lines.slice(1)
  const index = /^index (0|[1-9]\d{0,14})$/.exec(indexLine)?.[1]
  if (index === undefined) throw new NoteError('the proof has no line with its index')
  const path = hashes.map((line) => {
    const hash = decodeBase64(line)
    if (hash?.length === hashBytes) return hash
    throw new NoteError(`'${line.slice(0, 100)}' is no hash of a proof`)
  })
  return { extra, index: Number(index), path, checkpoint: file.slice(end + 2) }
}

/** What a proof file says to {@link verifyInclusion}. */
export function toInclusionProof(
  { index, path }: ProofFile,
  { size, root }: Checkpoint,
): InclusionProof {
  return { index, path, size, root }
}
