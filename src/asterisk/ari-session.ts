/**
 * One connection to one Asterisk, from the first question to its end; it never comes back. When to
 * make the next one, and what its events mean, is left to `ari-connection.ts`.
 */
import { eventTypes } from './ari-events.js'
import { AriHttp, AriHttpError, type AriServer } from './ari-http.js'
import { type AriClient, type AriSocket, checkAri, openAriClient } from './ari-library.js'

export interface AriLimits {
  /** The whole way from the first question to the list of channels. */
  readonly connectMs: number
  /** One action. */
  readonly actionMs: number
  /** Silence on the event socket. */
  readonly pongMs: number
}

/** A connection as it begins. */
export interface AriOpened {
  /** Every channel, as Asterisk gives them. */
  readonly channels: unknown
  /** Why there is no list: one channel that Asterisk cannot write as JSON spoils all of it. */
  readonly problem?: string
}

export interface AriSessionOptions {
  readonly server: AriServer
  readonly limits: AriLimits
  /** In order; may come before `open` has resolved, and never after the end. */
  event(raw: unknown): void
  unreadable(error: unknown): void
}

/** `operator`: someone must act, such as on a wrong password; `waiting` heals by itself. */
export class AriSessionEnd extends Error {
  readonly remedy: 'operator' | 'waiting'

  constructor(why: string, remedy: 'operator' | 'waiting' = 'waiting') {
    super(why)
    this.name = 'AriSessionEnd'
    this.remedy = remedy
  }
}

const longestPingEveryMs = 1_000
const pingsPerLimit = 3

export class AriSession {
  /** Resolves once, with the reason. */
  readonly ended: Promise<AriSessionEnd>
  readonly #options: AriSessionOptions
  readonly #http: AriHttp
  #tellEnd: (why: AriSessionEnd) => void = () => undefined
  #isOver = false
  #opened: AriClient | undefined
  #socket: AriSocket | undefined
  #pinging: NodeJS.Timeout | undefined
  #unanswered = 0

  constructor(options: AriSessionOptions) {
    this.#options = options
    this.#http = new AriHttp(options.server)
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve
    })
  }

  /** The operations, while the event socket is open. */
  get client(): AriClient | undefined {
    return this.#isOver ? undefined : this.#opened
  }

  /**
   * Registers the application, asks for its events and lists all channels, as Asterisk gives them.
   * Rejects with an {@link AriSessionEnd}, after which nothing of it is left.
   */
  async open(): Promise<AriOpened> {
    const { connectMs } = this.#options.limits
    const late = setTimeout(
      () => this.end(new AriSessionEnd(`is not connected within ${connectMs} ms`)),
      connectMs,
    )
    const ended = this.ended.then((why) => Promise.reject(why))
    try {
      return await Promise.race([this.#connect(), ended])
    } catch (error) {
      this.end(error instanceof AriSessionEnd ? error : this.#explain(error))
      // The first reason: what fails after the end fails because of it.
      throw await this.ended
    } finally {
      clearTimeout(late)
    }
  }

  /** Ends it at once: nothing of it is left running, and what is under way fails. */
  end(why: AriSessionEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#tellEnd(why)
    clearInterval(this.#pinging)
    this.#socket?.terminate()
    this.#http.destroy()
  }

  async #connect(): Promise<AriOpened> {
    const { server } = this.#options
    await checkAri(this.#http)
    const client = await openAriClient(server, this.#http)
    await this.#openSocket(client)
    // A new registration has no filter. What happens before the list is made is either in it or
    // comes as an event.
    await client.call('applications.filter', {
      applicationName: server.app,
      filter: { allowed: eventTypes.map((type) => ({ type })) },
    })
    return listChannels(client)
  }

  async #openSocket(client: AriClient): Promise<void> {
    // A description that arrives after the end must not register the application again.
    if (this.#isOver) throw await this.ended
    await new Promise<void>((resolve) => {
      this.#socket = client.openSocket(this.#options.server.app, {
        opened: () => {
          this.#opened = client
          this.#watchPongs()
          resolve()
        },
        event: (raw) => {
          if (!this.#isOver) this.#options.event(raw)
        },
        unreadable: (error) => this.#options.unreadable(error),
        pong: () => {
          this.#unanswered = 0
        },
        closed: (why) => this.end(new AriSessionEnd(why)),
      })
    })
  }

  /** Counts pings, not time: a pause of this process is no silence of Asterisk. */
  #watchPongs(): void {
    const { pongMs } = this.#options.limits
    const everyMs = Math.min(longestPingEveryMs, pongMs / pingsPerLimit)
    const mostUnanswered = Math.ceil(pongMs / everyMs)
    this.#pinging = setInterval(() => {
      if (this.#unanswered >= mostUnanswered) {
        this.end(new AriSessionEnd(`event socket is silent for ${pongMs} ms`))
        return
      }
      this.#unanswered += 1
      this.#socket?.ping()
    }, everyMs)
  }

  #explain(error: unknown): AriSessionEnd {
    const { username, password } = this.#options.server
    const status = error instanceof AriHttpError ? error.status : undefined
    if (status === 401) {
      const rule = 'ari.conf must hold both as they are set here'
      const why = `refuses the user '${username}' or its password (HTTP 401): ${rule}`
      return new AriSessionEnd(why, 'operator')
    }
    if (status === 403) {
      const why = `lets the user '${username}' only read (HTTP 403): ari.conf must say read_only = no`
      return new AriSessionEnd(why, 'operator')
    }
    const detail = error instanceof Error ? error.message : String(error)
    const text = status === undefined ? detail : `answers with HTTP ${status}: ${detail}`
    // The library's address of the event socket carries the password.
    const secrets = [password, encodeURIComponent(password)]
    return new AriSessionEnd(secrets.some((it) => text.includes(it)) ? 'cannot be reached' : text)
  }
}

/** Only the list is missing when Asterisk says 500; rejects for everything else. */
async function listChannels(client: AriClient): Promise<AriOpened> {
  try {
    return { channels: await client.call('channels.list', {}) }
  } catch (error) {
    if (!(error instanceof AriHttpError && error.status === 500)) throw error
    return { channels: undefined, problem: `answers with HTTP 500: ${error.message}` }
  }
}
