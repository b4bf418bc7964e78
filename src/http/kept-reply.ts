/** An answer that is the same for everybody who asks without a key: kept, so that many requests cost as little as one. */
import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { BytesReply, Page, Reply } from '../api/endpoint.js'
import type { Logger } from '../observability/log.js'
import { createErrorReply } from './error-reply.js'
import { Credit } from './limits/credit.js'
import type { StrangersAllowance } from './limits/strangers-allowance.js'
import { encodeReply, sendReply, sendReplyInSlices } from './send-reply.js'

export interface KeptReplyOptions {
  readonly strangers: StrangersAllowance
  readonly logger: Logger
}

/** Whoever asks seldom has an answer of now; many who ask often share one of the last second. */
const makesPerSecond = 1
const makesAhead = 10

/** Shorter ones fit into one packet. */
const minGzipBytes = 1_400
const acceptsGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i
const compress = promisify(gzip)

interface Kept {
  readonly reply: BytesReply
  readonly etag: string
  zipped?: Promise<Buffer>
}

export class KeptReply {
  readonly #path: string
  readonly #page: Page
  readonly #options: KeptReplyOptions
  readonly #makes = new Credit(makesPerSecond, makesAhead)
  #kept: Kept | undefined
  #making: Promise<Kept> | undefined

  constructor(path: string, page: Page, options: KeptReplyOptions) {
    this.#path = path
    this.#page = page
    this.#options = options
  }

  /** Answers GET and HEAD. Rejects with `overloaded`. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isHead = request.method === 'HEAD'
    if (isHead && this.#page.ignoresHead) return void response.writeHead(200).end()
    const kept = await (this.#making ?? this.#find())
    const { reply, etag } = kept
    if ((reply.status ?? 200) !== 200) return sendReply(response, reply)
    const headers = {
      'Cache-Control': 'no-cache',
      Vary: 'Accept-Encoding',
      ...reply.headers,
      ETag: etag,
    }
    if (isKnown(request.headers['if-none-match'], etag)) {
      return void response.writeHead(304, headers).end()
    }
    const encoded = await encodeFor(request, kept)
    if (!isHead) this.#options.strangers.takeBytes(encoded.bytes.length)
    await sendReplyInSlices(response, {
      ...reply,
      bytes: encoded.bytes,
      headers: { ...headers, ...encoded.headers },
    })
  }

  async #find(): Promise<Kept> {
    const isRight = this.#page.isFixed && (this.#kept?.reply.status ?? 200) < 500
    if (this.#kept && (isRight || this.#makes.left < 1)) return this.#kept
    this.#makes.take(1)
    this.#making = this.#make().finally(() => {
      this.#making = undefined
    })
    this.#kept = await this.#making
    return this.#kept
  }

  async #make(): Promise<Kept> {
    const reply = await encodeReply(await this.#makeOrRefuse())
    return { reply, etag: `W/"${hash('sha256', reply.bytes, 'base64url').slice(0, 22)}"` }
  }

  async #makeOrRefuse(): Promise<Reply | BytesReply> {
    try {
      return await this.#page.make()
    } catch (error) {
      const path = this.#path
      const context = { shape: 'problem', jsonRequested: false, path, endpoint: path } as const
      return createErrorReply(error, context, this.#options.logger)
    }
  }
}

/** RFC 9110, section 13.1.2: compared weakly. */
function isKnown(known: string | undefined, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return known?.split(',').some((tag) => opaque(tag) === opaque(etag)) ?? false
}

async function encodeFor({ headers }: IncomingMessage, kept: Kept) {
  const { bytes } = kept.reply
  const isZipped =
    bytes.length >= minGzipBytes && acceptsGzip.test(String(headers['accept-encoding'] ?? ''))
  if (!isZipped) return { bytes, headers: {} }
  kept.zipped ??= compress(bytes)
  return { bytes: await kept.zipped, headers: { 'Content-Encoding': 'gzip' } }
}
