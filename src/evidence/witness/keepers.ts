/** Those that keep heads: C2SP witnesses, files on other volumes, and receivers of webhooks. */
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { missingFileStamp, readFileStampInBackground, syncFolder } from '../../runtime/folders.js'
import { type Checkpoint, openCheckpoint } from '../../transparency/checkpoint.js'
import {
  type NoteSignature,
  parseNote,
  type VerifierKey,
  verifySignatures,
} from '../../transparency/signed-note.js'
import { type ByteSource, bufferSource, fileSource } from '../byte-source.js'
import { listHeads } from '../kept-heads.js'
import { formatAddCheckpoint } from './add-checkpoint.js'
import { type Head, HeadConflict } from './head.js'
import { describeAnswer, post } from './post.js'

/** What came of sending a head. */
export interface Sent {
  /** Whether the keeper was asked at all. */
  readonly isAsked: boolean
  readonly cosignature?: NoteSignature
}

const asked: Sent = { isAsked: true }

export interface HeadKeeper {
  /** Whether it finds out that a journal was rolled back. */
  readonly remembers: boolean
  /** Whether a head that it was sent may be sent again, to see that it still answers. */
  readonly repeats: boolean
  /** Resolves once it has the head. Rejects with {@link HeadConflict} if it has one that the journal does not go on from. */
  send(head: Head): Promise<Sent>
}

export class WitnessKeeper implements HeadKeeper {
  readonly remembers = true
  readonly repeats = true
  readonly #url: string
  readonly #key: VerifierKey
  /** What it has, as far as is known. */
  #size = 0

  constructor(url: string, key: VerifierKey) {
    this.#url = `${url}/add-checkpoint`
    this.#key = key
  }

  async send(head: Head): Promise<Sent> {
    return (await this.#trySend(head)) ?? (await this.#trySend(head)) ?? this.#giveUp()
  }

  #giveUp(): never {
    throw new Error(`it says that it has ${this.#size} records, and refuses a proof from there`)
  }

  /** `undefined` if it has another size than was thought. */
  async #trySend(head: Head): Promise<Sent | undefined> {
    if (this.#size > head.size) throw new HeadConflict(this.#size, head)
    const body = formatAddCheckpoint({
      oldSize: this.#size,
      path: head.prove(this.#size),
      checkpoint: head.signed,
    })
    const answer = await post(this.#url, 'text/plain; charset=utf-8', body)
    const text = answer.body.toString('utf8')
    if (answer.status === 409) {
      const size = /^(0|[1-9]\d{0,14})\n?$/.exec(text)?.[1]
      if (size === undefined) throw new Error(describeAnswer(answer))
      this.#size = Number(size)
      return undefined
    }
    if (answer.status === 422) throw new HeadConflict(this.#size, head)
    if (answer.status !== 200) throw new Error(describeAnswer(answer))
    const cosignature = this.#findCosignature(head, text)
    this.#size = head.size
    return { isAsked: true, cosignature }
  }

  #findCosignature({ note }: Head, lines: string): NoteSignature {
    const { text, signatures } = parseNote(`${note.text}\n${lines}`)
    for (const signature of signatures) {
      const verified = verifySignatures({ text, signatures: [signature] }, [this.#key])
      if (verified.length > 0) return signature
    }
    throw new Error(`its answer is not signed with the key of ${this.#key.name}`)
  }
}

/** Several megabytes a day are appended, of which the last are read. */
const tailBytes = 65_536

/** Appends heads to a file. Its folder must exist, since it may be where another volume is to be mounted. */
export class FileKeeper implements HeadKeeper {
  readonly remembers = true
  readonly repeats = true
  readonly #path: string
  /** Whether all heads of the file have been compared, once in the life of this process. */
  #isCompared = false

  constructor(path: string) {
    this.#path = path
  }

  async send(head: Head): Promise<Sent> {
    const isNew = (await readFileStampInBackground(this.#path)) === missingFileStamp
    const file = await open(this.#path, 'a+', 0o600)
    try {
      const { size } = await file.stat()
      const start = Math.max(0, size - tailBytes)
      const { buffer, bytesRead } = await file.read(Buffer.alloc(tailBytes), 0, tailBytes, start)
      if (!this.#isCompared && size > 0) this.#requireSame(fileSource(this.#path), head)
      this.#isCompared = true
      const last = this.#requireSame(bufferSource(buffer.subarray(0, bytesRead)), head)
      if (last?.size === head.size) return asked
      // After an append that a crash has cut off.
      const separator = bytesRead === 0 || buffer[bytesRead - 1] === 10 ? '' : '\n'
      await file.appendFile(`${separator}${head.signed}\n`)
      await file.datasync()
    } finally {
      await file.close()
    }
    if (isNew) syncFolder(dirname(this.#path))
    return asked
  }

  /** All heads of the journal must lie in its tree, else the one with most records is named. Returns the last one. */
  #requireSame(source: ByteSource, head: Head): Checkpoint | undefined {
    let last: Checkpoint | undefined
    let conflicting = 0
    for (const { origin, signed } of listHeads(source)) {
      if (origin !== head.origin) continue
      const { size, root } = openCheckpoint(signed, head.key)
      const isSame = size <= head.size && head.rootAt(size).equals(root)
      if (!isSame) conflicting = Math.max(conflicting, size)
      last = { origin, size, root }
    }
    if (conflicting > 0) throw new HeadConflict(conflicting, head)
    return last
  }
}

export class WebhookKeeper implements HeadKeeper {
  readonly remembers = false
  readonly repeats = true
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  async send({ signed }: Head): Promise<Sent> {
    const answer = await post(this.#url, 'text/plain; charset=utf-8', signed)
    if (answer.status < 200 || answer.status > 299) throw new Error(describeAnswer(answer))
    return asked
  }
}
