/**
 * Sends to URLs chosen by customers, using undici. Each request resolves the name again, opens its own
 * connection to a checked address, follows no redirects, uses no proxy, and reads only a limited part
 * of the response.
 */

import type { connect as openTcp, Socket } from 'node:net'
import { Client } from 'undici'
import type { Timers } from '../../../domain/time/clock.js'
import { getErrorCode } from '../../../errors.js'
import { unknownHostCode, unreachableCode } from '../../../runtime/connection-errors.js'
import {
  SendError,
  type SendFailure,
  type SendReply,
  type SendRequest,
  type WebhookSender,
} from '../webhook-sender.js'
import { type AllowList, createAllowList } from './allow-list.js'
import { createBlockedAddressError, openCheckedConnection } from './checked-connection.js'
import { createHostResolver, type HostResolver } from './resolve-host.js'
import { parseWebhookUrl, type WebhookUrl } from './webhook-url.js'

export interface GuardedSenderOptions {
  /** Hosts and networks that may have private addresses: the setting `webhooks.allow`. */
  readonly allow: readonly string[]
  readonly timers: Timers
  readonly resolveHost?: HostResolver
  readonly openSocket?: typeof openTcp
  /** Additional trusted certificates. */
  readonly ca?: string
}

const maxHeadBytes = 16 * 1024
/** The rest of a longer body is not read, since only the status matters. */
const maxBodyBytes = 64 * 1024

export class GuardedSender implements WebhookSender {
  readonly #options: GuardedSenderOptions
  readonly #allow: AllowList
  readonly #resolveHost: HostResolver

  /** Throws an Error naming `webhooks.allow` for an entry that cannot be read. */
  constructor(options: GuardedSenderOptions) {
    this.#options = options
    this.#allow = createAllowList(options.allow)
    this.#resolveHost =
      options.resolveHost ?? createHostResolver({ isTrusted: (host) => this.#allow.hasHost(host) })
  }

  findProblem(url: string): string | undefined {
    try {
      const { host, addresses = [] } = parseWebhookUrl(url)
      return this.#areAllAllowed(host, addresses) ? undefined : 'must have a public address'
    } catch (cause) {
      if (cause instanceof SendError) return cause.message
      throw cause
    }
  }

  async post(request: SendRequest): Promise<SendReply> {
    const limit = startDeadline(request, this.#options.timers)
    try {
      return await this.#post(request, limit.signal)
    } catch (cause) {
      throw limit.getError() ?? toSendError(cause)
    } finally {
      limit.clear()
    }
  }

  async #post(request: SendRequest, signal: AbortSignal): Promise<SendReply> {
    const target = parseWebhookUrl(request.url)
    const addresses = await this.#resolveAddresses(target, signal)
    const options = { ...this.#options, allow: this.#allow }
    const socket = await openCheckedConnection(target, { addresses, signal }, options)
    try {
      return await postOverSocket(socket, { target, request, signal })
    } finally {
      socket.destroy()
    }
  }

  async #resolveAddresses(
    { host, addresses }: WebhookUrl,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const found = addresses ?? (await rejectOnAbort(this.#resolveHost(host, signal), signal))
    if (found.length === 0) throw new SendError('unreachable', 'the host name has no address')
    if (!this.#areAllAllowed(host, found)) throw createBlockedAddressError()
    return found
  }

  /** All addresses must be allowed, since a legitimate name never mixes public and private ones. */
  #areAllAllowed(host: string, addresses: readonly string[]): boolean {
    return addresses.every((address) => this.#allow.isAllowed(host, address))
  }
}

interface PostContext {
  readonly target: WebhookUrl
  readonly request: SendRequest
  readonly signal: AbortSignal
}

async function postOverSocket(
  socket: Socket,
  { target, request, signal }: PostContext,
): Promise<SendReply> {
  const sockets = [socket]
  const client = new Client(target.origin, {
    connect: (_, done) => {
      const one = sockets.pop()
      const ended = new SendError('cut-off', 'the connection ended before the answer was complete')
      // undici misses a connection that is passed to it synchronously.
      queueMicrotask(() => (one ? done(null, one) : done(ended, null)))
    },
    maxHeaderSize: maxHeadBytes,
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
    await drainBody(body)
    const retryAfter = headers['retry-after']
    return {
      status: statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
    }
  } finally {
    await client.destroy()
  }
}

async function drainBody(body: AsyncIterable<Uint8Array>): Promise<void> {
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > maxBodyBytes) return
  }
}

interface RequestDeadline {
  readonly signal: AbortSignal
  /** Why the request was aborted, if it was. */
  getError(): SendError | undefined
  clear(): void
}

/** Avoids `AbortSignal.any`, since the caller's long-lived signal would keep a reference to every request. */
function startDeadline({ timeoutMs, signal }: SendRequest, timers: Timers): RequestDeadline {
  const controller = new AbortController()
  let why: SendError | undefined
  const giveUp = (error: SendError) => {
    why ??= error
    controller.abort()
  }
  const abort = () => giveUp(new SendError('aborted', 'given up'))
  const cancelTimeout = timers.after(timeoutMs, () =>
    giveUp(new SendError('timeout', `no complete answer within ${timeoutMs} ms`)),
  )
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    getError: () => why,
    clear() {
      cancelTimeout()
      signal?.removeEventListener('abort', abort)
    },
  }
}

/** Rejects as soon as the signal is aborted; the work continues, but its result is ignored. */
function rejectOnAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new SendError('aborted', 'given up'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

const failureByCode: readonly (readonly [SendFailure, RegExp, string])[] = [
  ['unreachable', unknownHostCode, 'the host name was not found'],
  ['unreachable', unreachableCode, 'no connection'],
  ['too-large', /^UND_ERR_HEADERS_OVERFLOW$/, 'the headers of the answer are too long'],
  ['unreadable', /^(HPE_\w+|HTTPParserError|UND_ERR_RES_\w+)$/, 'the answer is not HTTP'],
  ['bad-header', /^UND_ERR_INVALID_ARG$/, 'a header cannot be sent'],
]

function toSendError(cause: unknown): SendError {
  if (cause instanceof SendError) return cause
  // Some undici errors have a name but no code.
  const code = getErrorCode(cause) ?? (cause instanceof Error ? cause.name : 'no error')
  const [failure, , text] =
    failureByCode.find(([, pattern]) => pattern.test(code)) ?? defaultFailure
  return new SendError(failure, `${text} (${code})`)
}

const defaultFailure = [
  'cut-off',
  /./,
  'the connection ended before the answer was complete',
] as const
