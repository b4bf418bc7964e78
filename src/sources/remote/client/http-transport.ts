/**
 * Sends requests over HTTP with undici: persistent connections, no redirects, bodies of limited size,
 * and abortable requests. The caller sets timeouts.
 */

import { Socket } from 'node:net'
import { Agent, buildConnector, errors } from 'undici'
import { getErrorCode } from '../../../errors.js'
import { unknownHostCode, unreachableCode } from '../../../runtime/connection-errors.js'
import {
  type ProviderReply,
  type ProviderRequest,
  type Transport,
  TransportError,
} from './transport.js'

export interface HttpTransportOptions {
  /** Maximum connections to one origin; further requests wait for one. */
  readonly connections: number
  /** Maximum bytes of a body. */
  readonly maxBodyBytes?: number
}

const defaultMaxBodyBytes = 32 * 1024 * 1024
const connectTimeoutMs = 10_000
/** Many servers close idle connections after 5 s, some without notice, so ours are closed earlier. */
const idleTimeoutMs = 4_000

type HeaderValue = string | readonly string[] | undefined

export class HttpTransport implements Transport {
  readonly #agent: Agent
  readonly #maxBodyBytes: number
  readonly #sockets = new Set<Socket>()

  constructor({ connections, maxBodyBytes = defaultMaxBodyBytes }: HttpTransportOptions) {
    this.#maxBodyBytes = maxBodyBytes
    this.#agent = new Agent({
      connections,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: idleTimeoutMs,
      // The caller has its own timeout and aborts the request.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.#createConnector(),
    })
  }

  async send(request: ProviderRequest, signal: AbortSignal): Promise<ProviderReply> {
    try {
      signal.throwIfAborted()
      return await this.#request(request, signal)
    } catch (cause) {
      throw cause instanceof TransportError ? cause : toTransportError(cause, signal)
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
    // The agent does not close sockets that are still connecting.
    for (const socket of this.#sockets) socket.destroy()
  }

  async #request(request: ProviderRequest, signal: AbortSignal): Promise<ProviderReply> {
    const { origin, pathname, search } = new URL(request.url)
    const { statusCode, headers, body } = await this.#agent.request({
      origin,
      path: pathname + search,
      method: request.method,
      headers: { 'accept-encoding': 'identity', ...request.headers },
      body: request.body ?? null,
      signal,
    })
    // Without a listener, an error after the body is abandoned would be uncaught.
    body.on('error', () => undefined)
    const coding = getFirstValue(headers['content-encoding'])?.trim().toLowerCase() ?? 'identity'
    if (coding !== 'identity' && coding !== '') {
      body.destroy()
      throw new TransportError(
        'unreadable',
        'the reply is compressed, although compression was not requested',
      )
    }
    return {
      status: statusCode,
      contentType: parseMediaType(getFirstValue(headers['content-type'])),
      retryAfter: getFirstValue(headers['retry-after']),
      body: await readText(body, request.maxReplyBytes ?? this.#maxBodyBytes),
    }
  }

  #createConnector(): buildConnector.connector {
    const connect = buildConnector({ timeout: connectTimeoutMs, minVersion: 'TLSv1.2' })
    return (options, callback) => {
      const socket: unknown = connect(options, callback)
      if (!(socket instanceof Socket)) return
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    }
  }
}

async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
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

function getFirstValue(value: HeaderValue): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}

function parseMediaType(header: string | undefined): string {
  return header?.split(';')[0]?.trim().toLowerCase() ?? ''
}

/** Codes of undici and of invalid URLs that mean the same as {@link unreachableCode}. */
const notConnectedCode =
  /^(UND_ERR_CONNECT_TIMEOUT|UND_ERR_DESTROYED|UND_ERR_CLOSED|UND_ERR_INVALID_ARG|ERR_INVALID_URL)$/
const unreachableCodes = [unreachableCode, unknownHostCode, notConnectedCode]

/** Uses only the error code, since messages may contain parts of the request. */
function toTransportError(cause: unknown, signal: AbortSignal): TransportError {
  if (signal.aborted) return new TransportError('aborted', 'given up')
  const code = getErrorCode(cause) ?? 'no code'
  if (cause instanceof errors.HTTPParserError || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new TransportError('unreadable', `the reply is not HTTP (${code})`)
  }
  if (unreachableCodes.some((pattern) => pattern.test(code)))
    return new TransportError('unreachable', `no connection (${code})`)
  return new TransportError(
    'cut-off',
    `the connection ended before the reply was complete (${code})`,
  )
}
