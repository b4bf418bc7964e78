/**
 * One connection to one Asterisk, from the first request to its end; it never reconnects.
 * `ari-connection.ts` opens the next one and handles the events.
 */

import { getErrorMessage } from '../../errors.js'
import { type AriClient, type AriSocket, openAriClient, requireAri } from './ari-client.js'
import { subscribedEventTypes } from './ari-events.js'
import { AriHttpClient, AriHttpError, type AriServer } from './ari-http-client.js'
import { answerEventType } from './ari-socket-requests.js'

export interface AriTimeouts {
  /** From the first request to the list of channels. */
  readonly connectTimeoutMs: number
  /** One action. */
  readonly actionTimeoutMs: number
  /** Silence on the event socket. */
  readonly pongTimeoutMs: number
}

/** The channels at the start of a connection. */
export interface AriChannelList {
  /** Every channel, in the JSON form of Asterisk. */
  readonly channels: unknown
  /** Why there is no list: Asterisk fails the whole list if one channel cannot be written as JSON. */
  readonly problem?: string
}

export interface AriSessionOptions {
  readonly server: AriServer
  readonly timeouts: AriTimeouts
  /** Called in order; possibly before `open` resolves, never after the end. */
  onEvent(raw: unknown): void
  onUnreadable(error: unknown): void
}

/** `operator`: someone must act, for example on a wrong password; `waiting`: recovers by itself. */
export class AriSessionError extends Error {
  readonly remedy: 'operator' | 'waiting'

  constructor(why: string, remedy: 'operator' | 'waiting' = 'waiting') {
    super(why)
    this.name = 'AriSessionEnd'
    this.remedy = remedy
  }
}

const maxPingIntervalMs = 1_000
const minPingsPerTimeout = 3

export class AriSession {
  /** Resolves when the session has ended, with the reason. */
  readonly ended: Promise<AriSessionError>
  readonly #options: AriSessionOptions
  readonly #http: AriHttpClient
  #resolveEnded: (why: AriSessionError) => void = () => undefined
  #hasEnded = false
  #client: AriClient | undefined
  #socket: AriSocket | undefined
  #pinging: NodeJS.Timeout | undefined
  #unansweredPings = 0

  constructor(options: AriSessionOptions) {
    this.#options = options
    this.#http = new AriHttpClient(options.server)
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
  }

  /** The client, while the event socket is open. */
  get client(): AriClient | undefined {
    return this.#hasEnded ? undefined : this.#client
  }

  /**
   * Registers the application, subscribes to its events and lists all channels. Rejects with an
   * {@link AriSessionError} after releasing all resources.
   */
  async open(): Promise<AriChannelList> {
    const { connectTimeoutMs } = this.#options.timeouts
    const late = setTimeout(
      () => this.end(new AriSessionError(`did not connect within ${connectTimeoutMs} ms`)),
      connectTimeoutMs,
    )
    const ended = this.ended.then((why) => Promise.reject(why))
    try {
      return await Promise.race([this.#connect(), ended])
    } catch (error) {
      this.end(error instanceof AriSessionError ? error : this.#explain(error))
      // Reports the first reason, since later failures are consequences of it.
      throw await this.ended
    } finally {
      clearTimeout(late)
    }
  }

  /** Ends the session immediately: closes everything and fails pending requests. */
  end(why: AriSessionError): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#resolveEnded(why)
    clearInterval(this.#pinging)
    this.#socket?.terminate()
    this.#http.destroy()
  }

  async #connect(): Promise<AriChannelList> {
    const { server } = this.#options
    const features = await requireAri(this.#http)
    const client = await openAriClient(server, this.#http, features)
    await this.#openSocket(client)
    // A new registration has no filter. Changes before the list is created are either in the list or
    // arrive as events.
    await client.call('applications.filter', {
      applicationName: server.app,
      filter: { allowed: [...subscribedEventTypes, answerEventType].map((type) => ({ type })) },
    })
    return listChannels(client)
  }

  async #openSocket(client: AriClient): Promise<void> {
    // A description that arrives after the end must not register the application again.
    if (this.#hasEnded) throw await this.ended
    await new Promise<void>((resolve) => {
      this.#socket = client.openSocket(this.#options.server.app, {
        onOpen: () => {
          this.#client = client
          this.#watchPongs()
          resolve()
        },
        onEvent: (raw) => {
          if (!this.#hasEnded) this.#options.onEvent(raw)
        },
        onUnreadable: (error) => this.#options.onUnreadable(error),
        onPong: () => {
          this.#unansweredPings = 0
        },
        onClose: (why) => this.end(new AriSessionError(why)),
      })
    })
  }

  /** Counts unanswered pings instead of time, so that a pause of this process does not count as silence. */
  #watchPongs(): void {
    const { pongTimeoutMs } = this.#options.timeouts
    const everyMs = Math.min(maxPingIntervalMs, pongTimeoutMs / minPingsPerTimeout)
    const maxUnanswered = Math.ceil(pongTimeoutMs / everyMs)
    this.#pinging = setInterval(() => {
      if (this.#unansweredPings >= maxUnanswered) {
        this.end(new AriSessionError(`event socket has been silent for ${pongTimeoutMs} ms`))
        return
      }
      this.#unansweredPings += 1
      this.#socket?.ping()
    }, everyMs)
  }

  #explain(error: unknown): AriSessionError {
    const { username, password } = this.#options.server
    const status = error instanceof AriHttpError ? error.status : undefined
    if (status === 401) {
      const rule = 'both must match ari.conf'
      const why = `refuses the user '${username}' or its password (HTTP 401): ${rule}`
      return new AriSessionError(why, 'operator')
    }
    if (status === 403) {
      const why = `allows the user '${username}' only to read (HTTP 403): set read_only = no in ari.conf`
      return new AriSessionError(why, 'operator')
    }
    const detail = getErrorMessage(error)
    const text = status === undefined ? detail : `answers with HTTP ${status}: ${detail}`
    // The library's error may contain the event socket's address, which includes the password.
    const secrets = [password, encodeURIComponent(password)]
    return new AriSessionError(
      secrets.some((secret) => text.includes(secret)) ? 'cannot be reached' : text,
    )
  }
}

/** Resolves without a list when Asterisk answers 500; rejects on any other error. */
async function listChannels(client: AriClient): Promise<AriChannelList> {
  try {
    return { channels: await client.call('channels.list', {}) }
  } catch (error) {
    if (!(error instanceof AriHttpError && error.status === 500)) throw error
    return { channels: undefined, problem: `answers with HTTP 500: ${error.message}` }
  }
}
