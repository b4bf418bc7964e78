/**
 * Time stamps of heads by an authority (RFC 3161). The answer is kept as it is, with what it stamps: people check it with
 * `openssl ts -verify`. Here only its status, hash and nonce are looked at.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatInstant, msPerDay, msPerHour, parseInstant } from '../../domain/time/dates.js'
import { ensureFolder, isPresent, syncFolder } from '../../runtime/folders.js'
import { systemClock } from '../../runtime/runtime.js'
import { type DerPart, readDerParts } from '../../transparency/der.js'
import type { Head } from './head.js'
import type { HeadKeeper, Sent } from './keepers.js'
import { describeAnswer, post } from './post.js'

interface TimestampOptions {
  readonly url: string
  readonly every: 'hourly' | 'daily'
  /** Of the stamps; made when missing. */
  readonly folder: string
}

export class TimestampKeeper implements HeadKeeper {
  readonly remembers = false
  readonly repeats = false
  readonly #options: TimestampOptions
  readonly #intervalMs: number
  /** Of the authority, as in the names of its files. */
  readonly #host: string

  constructor(options: TimestampOptions) {
    this.#options = options
    this.#intervalMs = options.every === 'daily' ? msPerDay : msPerHour
    this.#host = new URL(options.url).host.replaceAll(':', '_')
  }

  /** Does nothing if there is a stamp of the last hour or day. */
  async send({ size, signed }: Head): Promise<Sent> {
    const { url, folder } = this.#options
    const now = systemClock.now()
    if (size === 0 || now < this.#findLast() + this.#intervalMs) return { isAsked: false }
    const hash = createHash('sha256').update(signed).digest()
    const nonce = randomBytes(8)
    // A positive number of eight bytes.
    nonce.writeUInt8((nonce.readUInt8(0) & 0x7f) | 0x40, 0)
    const answer = await post(url, 'application/timestamp-query', encodeQuery(hash, nonce))
    if (answer.status !== 200) throw new Error(describeAnswer(answer))
    requireStamp(answer.body, hash, nonce)
    ensureFolder(folder)
    const path = join(folder, `${size}-${formatInstant(now)}-${this.#host}`)
    writeFileSync(`${path}.checkpoint`, signed, { mode: 0o600, flush: true })
    writeFileSync(`${path}.tsr`, answer.body, { mode: 0o600, flush: true })
    syncFolder(folder)
    return { isAsked: true }
  }

  #findLast(): number {
    const { folder } = this.#options
    if (!isPresent(folder)) return Number.NEGATIVE_INFINITY
    const ending = `-${this.#host}.tsr`
    const instants = readdirSync(folder)
      .filter((name) => name.endsWith(ending))
      .map((name) => parseInstant(name.slice(name.indexOf('-') + 1, -ending.length)) ?? 0)
    return Math.max(...instants, Number.NEGATIVE_INFINITY)
  }
}

const sha256Algorithm = Buffer.from('300d06096086480165030402010500', 'hex')

/** RFC 3161, 2.4.1: for SHA-256, with a nonce of eight bytes; the certificate is wanted. */
export function encodeQuery(hash: Buffer, nonce: Buffer): Buffer<ArrayBuffer> {
  const imprint = encode(0x30, sha256Algorithm, encode(0x04, hash))
  const version = encode(0x02, Buffer.of(1))
  return encode(0x30, version, imprint, encode(0x02, nonce), encode(0x01, Buffer.of(0xff)))
}

/** DER of less than 128 bytes. */
function encode(tag: number, ...content: readonly Buffer[]): Buffer<ArrayBuffer> {
  const bytes = Buffer.concat(content)
  return Buffer.concat([Buffer.of(tag, bytes.length), bytes])
}

/** Throws unless the answer grants a stamp of this hash with this nonce. Its signature is not checked. */
export function requireStamp(answer: Buffer, hash: Buffer, nonce: Buffer): void {
  const [status, token] = readParts(readOne(answer).content)
  const granted = status && readParts(status.content)[0]?.content.toString('hex')
  if (granted !== '00' && granted !== '01') {
    throw new Error(`the authority refuses: status ${granted ?? 'unreadable'}`)
  }
  // ContentInfo, SignedData, EncapsulatedContentInfo, TSTInfo.
  const signedData = token && readParts(readParts(token.content)[1]?.content)[0]
  const wrapped = signedData && readParts(signedData.content)[2]
  const octets = wrapped && readParts(readParts(wrapped.content)[1]?.content)[0]
  const info = octets ? readParts(readOne(octets.content).content) : []
  const imprint = readParts(info[2]?.content)[1]?.content
  if (!imprint?.equals(hash)) throw new Error('the time stamp is of something else')
  // After the time, among parts that may be missing, it is the only integer.
  const stamped = info.slice(5).find(({ tag }) => tag === 0x02)?.content
  if (!stamped?.equals(nonce)) throw new Error('the time stamp answers another request')
}

/** Throws as {@link requireStamp} does. */
function readOne(bytes: Buffer): DerPart {
  const [part] = readParts(bytes)
  if (part === undefined) throw new Error(noStamp)
  return part
}

const noStamp = 'the answer of the authority is no time stamp'

function readParts(bytes?: Buffer): readonly DerPart[] {
  try {
    return readDerParts(bytes)
  } catch (cause) {
    throw new Error(noStamp, { cause })
  }
}
