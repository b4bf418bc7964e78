/**
 * Requests over real sockets: connections that are kept, no redirects, bodies up to a bound, and an
 * end for every request that is aborted. The one door to undici. How long a request may take is
 * left to its caller.
 */
import { Socket } from 'node:net'
import { Agent, buildConnector, errors } from 'undici'
import {
  type ProviderReply,
  type ProviderRequest,
  type Transport,
  TransportError,
} from './transport.js'

export interface HttpTransportOptions {
  /** Most connections to one origin; further requests wait for one. */
  readonly connections: number
  /** Most bytes of a body. */
  readonly maxBodyBytes?: number
}

const usualBodyBytes = 32 * 1024 * 1024
const connectMs = 10_000
/** Servers close idle connections after 5 s and more, and say so or not; ours close before. */
const idleMs = 4_000

type HeaderValue = string | readonly string[] | undefined

export class HttpTransport implements Transport {
  readonly #agent: Agent
  readonly #maxBodyBytes: number
  readonly #sockets = new Set<Socket>()

  constructor({ connections, maxBodyBytes = usualBodyBytes }: HttpTransportOptions) {
    this.#maxBodyBytes = maxBodyBytes
    this.#agent = new Agent({
      connections,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: idleMs,
      // Whoever asks has a limit of its own and aborts.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.#connector(),
    })
  }

  async send(request: ProviderRequest, signal: AbortSignal): Promise<ProviderReply> {
    try {
      signal.throwIfAborted()
      return await this.#exchange(request, signal)
    } catch (cause) {
      throw cause instanceof TransportError ? cause : transportError(cause, signal)
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
    // One that still connects belongs to nobody, and would live until it has.
    for (const socket of this.#sockets) socket.destroy()
  }

  async #exchange(request: ProviderRequest, signal: AbortSignal): Promise<ProviderReply> {
    const { origin, pathname, search } = new URL(request.url)
    const { statusCode, headers, body } = await this.#agent.request({
      origin,
      path: pathname + search,
      method: request.method,
      headers: { 'accept-encoding': 'identity', ...request.headers },
      body: request.body ?? null,
      signal,
    })
    // An error that comes after the reading was given up would otherwise be thrown at the process.
    body.on('error', () => undefined)
    const coding = firstOf(headers['content-encoding'])?.trim().toLowerCase() ?? 'identity'
    if (coding !== 'identity' && coding !== '') {
      body.destroy()
      throw new TransportError('unreadable', 'the reply is compressed, which was not asked for')
    }
    return {
      status: statusCode,
      contentType: mediaType(firstOf(headers['content-type'])),
      retryAfter: firstOf(headers['retry-after']),
      body: await textOf(body, request.maxReplyBytes ?? this.#maxBodyBytes),
    }
  }

  #connector(): buildConnector.connector {
    const connect = buildConnector({ timeout: connectMs, minVersion: 'TLSv1.2' })
    return (options, callback) => {
      const socket: unknown = connect(options, callback)
      if (!(socket instanceof Socket)) return
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    }
  }
}

async function textOf(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > maxBytes) {
      throw new TransportError('too-large', `the reply is longer than ${maxBytes} bytes`)
    }
    parts.push(part)
  }
  return new TextDecoder().decode(Buffer.concat(parts))
}

function firstOf(value: HeaderValue): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}

function mediaType(header: string | undefined): string {
  return header?.split(';')[0]?.trim().toLowerCase() ?? ''
}

/** System and TLS errors of a connection that was never there; OpenSSL's own are all of this kind. */
const unreachableCode =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOST\w+|ENET\w+|ETIMEDOUT|EADDR\w+|EACCES|UND_ERR_CONNECT_TIMEOUT|UND_ERR_DESTROYED|UND_ERR_CLOSED|UND_ERR_INVALID_ARG|ERR_INVALID_URL|ERR_TLS_\w+|ERR_SSL_\w+|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|EPROTO)$/

/** By the code alone: messages may hold parts of what was sent. */
function transportError(cause: unknown, signal: AbortSignal): TransportError {
  if (signal.aborted) return new TransportError('aborted', 'given up')
  const code = codeOf(cause)
  if (cause instanceof errors.HTTPParserError || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new TransportError('unreadable', `the reply is no HTTP (${code})`)
  }
  if (unreachableCode.test(code))
    return new TransportError('unreachable', `no connection (${code})`)
  return new TransportError('cut-off', `the connection ended before the reply did (${code})`)
}

function codeOf(cause: unknown): string {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return typeof code === 'string' && code !== '' ? code : 'no code'
}
