/**
 * Sends to addresses that strangers chose. Each request looks its name up anew, goes over a
 * connection of its own to an address that was checked, follows no redirect, uses no proxy, and
 * reads no more of the answer than it takes to see its end. The second door to undici.
 */
import type { connect as openTcp, Socket } from 'node:net'
import { Client } from 'undici'
import type { Timers } from '../domain/clock.js'
import {
  SendError,
  type SendReply,
  type SendRequest,
  type WebhookSender,
} from '../service/webhooks/sender.js'
import { type AllowList, createAllowList } from './allow-list.js'
import { blockedAddress, openChecked } from './checked-connection.js'
import { createLookUp, type LookUp } from './name-lookup.js'
import { sendError } from './send-failure.js'
import { parseTarget, type Target } from './target.js'
import { limitOf, unlessAborted } from './time-limit.js'

export interface GuardedSenderOptions {
  /** Hosts and networks that may have private addresses, as in the settings. */
  readonly allow: readonly string[]
  readonly timers: Timers
  readonly lookUp?: LookUp
  readonly openSocket?: typeof openTcp
  /** Certificates to be trusted beside the usual ones. */
  readonly ca?: string
}

const mostHeadBytes = 16 * 1024
/** What comes after is dropped with the connection; the status counts. */
const mostBodyBytes = 64 * 1024

export class GuardedSender implements WebhookSender {
  readonly #options: GuardedSenderOptions
  readonly #allow: AllowList
  readonly #lookUp: LookUp

  /** Throws an Error naming `webhooks.allow` for an entry that cannot be read. */
  constructor(options: GuardedSenderOptions) {
    this.#options = options
    this.#allow = createAllowList(options.allow)
    this.#lookUp = options.lookUp ?? createLookUp({ isTrusted: (host) => this.#allow.names(host) })
  }

  problemOf(url: string): string | undefined {
    try {
      const { host, addresses = [] } = parseTarget(url)
      return this.#permitsAll(host, addresses) ? undefined : 'must have a public address'
    } catch (cause) {
      if (cause instanceof SendError) return cause.message
      throw cause
    }
  }

  async post(request: SendRequest): Promise<SendReply> {
    const limit = limitOf(request, this.#options.timers)
    try {
      return await this.#exchange(request, limit.signal)
    } catch (cause) {
      throw limit.passed() ?? sendError(cause)
    } finally {
      limit.end()
    }
  }

  async #exchange(request: SendRequest, signal: AbortSignal): Promise<SendReply> {
    const target = parseTarget(request.url)
    const addresses = await this.#addressesOf(target, signal)
    const options = { ...this.#options, allow: this.#allow }
    const socket = await openChecked(target, { addresses, signal }, options)
    try {
      return await exchangeOver(socket, { target, request, signal })
    } finally {
      socket.destroy()
    }
  }

  async #addressesOf({ host, addresses }: Target, signal: AbortSignal): Promise<readonly string[]> {
    const found = addresses ?? (await unlessAborted(this.#lookUp(host, signal), signal))
    if (found.length === 0) throw new SendError('unreachable', 'the name has no address')
    if (!this.#permitsAll(host, found)) throw blockedAddress()
    return found
  }

  /** One address that is not public spoils the rest: no honest name has both. */
  #permitsAll(host: string, addresses: readonly string[]): boolean {
    return addresses.every((address) => this.#allow.permits(host, address))
  }
}

interface Exchange {
  readonly target: Target
  readonly request: SendRequest
  readonly signal: AbortSignal
}

async function exchangeOver(
  socket: Socket,
  { target, request, signal }: Exchange,
): Promise<SendReply> {
  const sockets = [socket]
  const client = new Client(target.origin, {
    connect: (_, done) => {
      const one = sockets.pop()
      const ended = new SendError('cut-off', 'the connection ended before the answer did')
      // The client does not notice a connection that is there at once.
      queueMicrotask(() => (one ? done(null, one) : done(ended, null)))
    },
    maxHeaderSize: mostHeadBytes,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  })
  try {
    const { statusCode, headers, body } = await client.request({
      method: 'POST',
      path: target.path,
      headers: { 'accept-encoding': 'identity', ...request.headers },
      body: request.body,
      reset: true,
      signal,
    })
    body.on('error', () => undefined)
    await readToEnd(body)
    const retryAfter = headers['retry-after']
    return {
      status: statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
    }
  } finally {
    await client.destroy()
  }
}

async function readToEnd(body: AsyncIterable<Uint8Array>): Promise<void> {
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > mostBodyBytes) return
  }
}
