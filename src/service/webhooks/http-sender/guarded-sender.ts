/**
 * Sends to URLs chosen by customers. Each request resolves the name again, opens its own
 * connection to a checked address, follows no redirects, uses no proxy, and reads only a limited part
 * of the response.
 */
import { request as openRequest } from 'node:http'
import type { connect as openTcp, Socket } from 'node:net'
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
const switchingProtocols = 101
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

function postOverSocket(
  socket: Socket,
  { target, request, signal }: PostContext,
): Promise<SendReply> {
  return new Promise((resolve, reject) => {
    const sent = openRequest({
      // Also keeps out the agent of the process, which may use a proxy.
      createConnection: () => socket,
      method: 'POST',
      path: target.path,
      headers: {
        host: target.authority,
        'accept-encoding': 'identity',
        'content-length': Buffer.byteLength(request.body),
        ...request.headers,
      },
      maxHeaderSize: maxHeadBytes,
      signal,
    })
    sent.on('error', reject)
    const rejectUpgrade = () =>
      reject(new SendError('cut-off', 'the answer changes to another protocol'))
    sent.on('upgrade', rejectUpgrade)
    sent.on('response', (response) => {
      const { statusCode: status = 0, headers } = response
      const reply = { status, retryAfter: headers['retry-after'] }
      if (status === switchingProtocols) rejectUpgrade()
      else drainBody(response).then(() => resolve(reply), reject)
    })
    sent.end(request.body)
  })
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
  ['too-large', /^HPE_HEADER_OVERFLOW$/, 'the headers of the answer are too long'],
  ['unreadable', /^HPE_\w+$/, 'the answer is not HTTP'],
  ['bad-header', /^ERR_(INVALID_CHAR|INVALID_HTTP_TOKEN)$/, 'a header cannot be sent'],
]

function toSendError(cause: unknown): SendError {
  if (cause instanceof SendError) return cause
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
