/**
 * A witness as in C2SP `tlog-witness`: keeps the newest head of each log that it knows, and signs only heads that
 * go on from it.
 */
import type { Clock } from '../../domain/time/clock.js'
import { getErrorMessage } from '../../errors.js'
import { type Checkpoint, parseCheckpoint } from '../../transparency/checkpoint.js'
import { computeRoot, verifyConsistency } from '../../transparency/merkle-tree.js'
import {
  computeKeyId,
  formatNote,
  formatSignature,
  NoteError,
  parseNote,
  type SignedNote,
  type SigningKey,
  signNote,
  verifySignatures,
} from '../../transparency/signed-note.js'
import { type AddCheckpointRequest, parseAddCheckpoint, sizeContentType } from './add-checkpoint.js'
import { type HeadStore, hashOrigin } from './head-store.js'
import type { TrustedLogs } from './trusted-logs.js'

export interface WitnessAnswer {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

interface WitnessDeps {
  /** Of a cosigner. */
  readonly key: SigningKey
  readonly store: HeadStore
  readonly logs: TrustedLogs
  readonly clock: Clock
}

const noNode = (): never => {
  throw new RangeError('an empty tree has no nodes')
}
const emptyTree = { size: 0, root: computeRoot(0, noNode) }

export class Witness {
  readonly #deps: WitnessDeps

  constructor(deps: WitnessDeps) {
    this.#deps = deps
  }

  /** The head of a log, by the SHA-256 of its origin in hex, with the signatures of the log and the witness. */
  find(originHash: string): WitnessAnswer {
    const head = this.#deps.store.read(originHash)
    return head === undefined
      ? answer(404, 'this witness has no checkpoint of such a log')
      : { status: 200, contentType: plainText, text: head }
  }

  /**
   * Nothing here waits for anything but the disk, so that no other request comes between the look at the head that is
   * known and the write of the new one.
   */
  add(body: string): WitnessAnswer {
    try {
      return this.#add(parseAddCheckpoint(body))
    } catch (cause) {
      if (cause instanceof NoteError) return answer(400, cause.message)
      throw cause
    }
  }

  #add(request: AddCheckpointRequest): WitnessAnswer {
    const note = parseNote(request.checkpoint)
    const head = parseCheckpoint(note.text)
    const keys = this.#deps.logs.findKeys(head.origin)
    if (keys.length === 0) return answer(404, `this witness does not know the log '${head.origin}'`)
    const signed = findSigned(note, keys)
    if (signed === undefined) {
      return answer(403, `the checkpoint is not signed by a key of '${head.origin}' that is known`)
    }
    if (request.oldSize > head.size) {
      return answer(400, `the old size ${request.oldSize} is above that of the checkpoint`)
    }
    return this.#replace(head, signed, request)
  }

  #replace(head: Checkpoint, signed: SignedNote, request: AddCheckpointRequest): WitnessAnswer {
    const { key, store, clock } = this.#deps
    const originHash = hashOrigin(head.origin)
    const stored = store.read(originHash)
    const old = stored === undefined ? emptyTree : readStored(stored, head.origin)
    if (request.oldSize !== old.size) {
      return { status: 409, contentType: sizeContentType, text: `${old.size}\n` }
    }
    const isEmpty = head.size === 0
    if (
      !verifyConsistency(old, head, request.path) ||
      (isEmpty && !head.root.equals(emptyTree.root))
    ) {
      return answer(422, `the proof does not show that the tree goes on from that of ${old.size}`)
    }
    const cosignature = signNote(signed.text, key, Math.floor(clock.now() / 1000))
    // A head that is sent again gets a new time and changes nothing.
    if (stored === undefined || head.size > old.size) {
      const signatures = [...signed.signatures, cosignature]
      store.write(originHash, formatNote({ text: signed.text, signatures }))
    }
    return { status: 200, contentType: plainText, text: formatSignature(cosignature) }
  }
}

/** Damage is no fault of who asks, and must not be taken for a log that was never seen. */
function readStored(stored: string, origin: string): Checkpoint {
  try {
    return parseCheckpoint(parseNote(stored).text)
  } catch (cause) {
    const rule = `the head of '${origin}' is damaged. Restore its file`
    throw new Error(`${rule}: ${getErrorMessage(cause)}`, { cause })
  }
}

const plainText = 'text/plain; charset=utf-8'
const answer = (status: number, problem: string): WitnessAnswer => ({
  status,
  contentType: plainText,
  text: `${problem}\n`,
})

/** The note with the signatures of known keys alone; `undefined` if it has none, or a wrong one. */
function findSigned(
  note: SignedNote,
  keys: Parameters<typeof verifySignatures>[1],
): SignedNote | undefined {
  try {
    const verified = verifySignatures(note, keys).map(({ key }) => key)
    const signatures = note.signatures.filter(({ name, keyId }) =>
      verified.some((key) => key.name === name && computeKeyId(key) === keyId),
    )
    return verified.length === 0 ? undefined : { text: note.text, signatures }
  } catch (cause) {
    if (cause instanceof NoteError) return undefined
    throw cause
  }
}
