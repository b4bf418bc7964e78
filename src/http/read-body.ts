/** Takes the bytes of a request's body, up to a limit. What they mean is read elsewhere. */
import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.js'
import type { BodyCharge } from './body-budget.js'
import { pacedSocketOf } from './paced-socket.js'

/** What is read of a body before its sender is known, and of one that is refused after that. */
export const anonymousBodyBytes = 65_536

const firstCapacity = 4_096

export interface BodyOptions {
  readonly maxBytes: number
  /** Counts the bytes while they are held; absent where nothing bounds them. */
  readonly charge?: BodyCharge | undefined
  /**
   * For a sender that is not known: handed the body, or the first {@link anonymousBodyBytes} of a
   * longer one, whose rest is read once it resolves. What it rejects with refuses the body.
   */
  readonly identify?: ((start: Buffer, isWhole: boolean) => Promise<void>) | undefined
}

/**
 * The whole body. Throws `too-large` as soon as more than `maxBytes` are announced or sent, and
 * `overloaded` when the charge has no room.
 */
export function readBody(request: IncomingMessage, options: BodyOptions): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    const problem = `Content-Encoding '${encoding}' is not supported; send the body as it is`
    return Promise.reject(new AppError('unsupported-media-type', problem))
  }
  const { maxBytes } = options
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes) return Promise.reject(tooLarge(maxBytes))
  return collect(request, options, announced)
}

/**
 * For a request whose body is refused: reads up to `maxBytes` more without keeping them, so that the
 * sender can still read the answer. Then its connection is read no more, and cut a while later.
 */
export function discardRest(request: IncomingMessage, maxBytes: number): void {
  if (request.complete) return
  let size = 0
  let chunks = 0
  const discard = (chunk: Buffer) => {
    size += chunk.length
    chunks += 1
    if (size <= maxBytes && chunks <= maxChunks(maxBytes)) return
    request.off('data', discard)
    pacedSocketOf(request).holdThenCut()
  }
  request.on('data', discard)
  request.resume()
}

/** Each chunk costs as much as some hundred bytes, however small it is. */
function maxChunks(maxBytes: number): number {
  return 64 + Math.floor(maxBytes / 256)
}

function collect(
  request: IncomingMessage,
  { maxBytes, charge, identify }: BodyOptions,
  announced: number,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer(announced > 0 ? announced : maxBytes, charge)
    let isKnown = identify === undefined
    const refuse = (cause: unknown) => {
      request.off('data', take)
      body.clear()
      request.resume()
      reject(cause)
    }
    const take = (chunk: Buffer) => {
      try {
        body.add(chunk, { maxBytes, maxChunks: maxChunks(isKnown ? maxBytes : anonymousBodyBytes) })
      } catch (cause) {
        return refuse(cause)
      }
      if (!isKnown && body.size > anonymousBodyBytes) askWhoSends()
    }
    const askWhoSends = () => {
      request.pause()
      identify?.(body.bytes().subarray(0, anonymousBodyBytes), false).then(() => {
        isKnown = true
        request.resume()
      }, refuse)
    }
    request.on('data', take)
    let hasEnded = false
    request.once('end', () => {
      hasEnded = true
      const bytes = body.bytes()
      if (isKnown) resolve(bytes)
      else identify?.(bytes, true).then(() => resolve(bytes), refuse)
    })
    request.once('error', (cause) => reject(cutOff(cause)))
    request.once('close', () => {
      if (!hasEnded) reject(cutOff())
    })
  })
}

/** One buffer that doubles: kept as they came, each chunk keeps the 64 KB of its read alive. */
class GrowingBuffer {
  readonly #limit: number
  readonly #charge: BodyCharge | undefined
  #held = Buffer.alloc(0)
  #chunks = 0
  size = 0

  /** `limit`: bytes beyond which it does not grow ahead of what comes. */
  constructor(limit: number, charge: BodyCharge | undefined) {
    this.#limit = limit
    this.#charge = charge
  }

  bytes(): Buffer {
    return this.#held.subarray(0, this.size)
  }

  /** Throws `too-large`, and `overloaded` when the charge has no room. */
  add(chunk: Buffer, limits: { readonly maxBytes: number; readonly maxChunks: number }): void {
    const size = this.size + chunk.length
    if (size > limits.maxBytes) throw tooLarge(limits.maxBytes)
    if (this.#chunks === limits.maxChunks) throw tooManyChunks()
    this.#chunks += 1
    if (size > this.#held.length) this.#grow(size)
    chunk.copy(this.#held, this.size)
    this.size = size
  }

  clear(): void {
    this.#held = Buffer.alloc(0)
    this.size = 0
    this.#charge?.release()
  }

  #grow(size: number): void {
    const doubled = Math.max(this.#held.length * 2, firstCapacity)
    const capacity = Math.max(size, Math.min(doubled, this.#limit))
    this.#charge?.resize(capacity)
    const grown = Buffer.allocUnsafe(capacity)
    this.#held.copy(grown, 0, 0, this.size)
    this.#held = grown
  }
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('too-large', `The request body is larger than ${maxBytes} bytes`)
}

function tooManyChunks(): AppError {
  return new AppError('too-large', 'The request body comes in too many small chunks')
}

function cutOff(cause?: unknown): AppError {
  return new AppError('invalid-request', 'The request body was cut off', { cause })
}
