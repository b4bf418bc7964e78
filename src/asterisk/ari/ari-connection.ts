/**
 * Keeps one Asterisk connected: reconnects forever, delivers its events in order, and reports whether
 * calls currently reach the gate.
 */

import type { Clock } from '../../domain/time/clock.js'
import type { Logger } from '../../observability/log.js'
import { sleep } from '../../runtime/runtime.js'
import type { AsteriskChannel, AsteriskEvents } from '../asterisk-port.js'
import { AriActions } from './ari-actions.js'
import type { AriClient } from './ari-client.js'
import { type AriEvent, dispatchEvent, readChannel, readEvent } from './ari-events.js'
import type { AriServer } from './ari-http-client.js'
import {
  type AriChannelList,
  AriSession,
  AriSessionError,
  type AriTimeouts,
} from './ari-session.js'

export type { AriServer } from './ari-http-client.js'
export type { AriTimeouts as AriLimits } from './ari-session.js'

export interface AriConnectionOptions {
  readonly server: AriServer
  readonly timeouts: AriTimeouts
  /** For events without a readable time. */
  readonly clock: Clock
  readonly log: Logger
  readonly observer: {
    /** Called when readiness changes; it is initially false. */
    connected(up: boolean): void
    /** Called on every connection after the first. */
    reconnected(): void
  }
}

const initialPauseMs = 200
const maxPauseMs = 5_000

type AriReadiness = { readonly ready: boolean; readonly detail: string }

export class AriConnection extends AriActions {
  readonly #options: AriConnectionOptions
  #session: AriSession | undefined
  #readiness: AriReadiness = { ready: false, detail: 'not started' }
  #isReplaced = false
  #wasUp = false
  #isClosed = false
  #running: Promise<void> = Promise.resolve()
  readonly #closing = new AbortController()
  #pauseMs = initialPauseMs
  /** Failures logged since the last connection, so that each kind is logged once and not per attempt. */
  readonly #loggedFailures = new Set<string>()

  constructor(options: AriConnectionOptions) {
    super(options.server.app, options.timeouts.actionTimeoutMs)
    this.#options = options
  }

  protected override get client(): AriClient | undefined {
    return this.#session?.client
  }

  /** To be called once. Never throws: failures are retried until `close`. */
  start(events: AsteriskEvents): void {
    this.#readiness = { ready: false, detail: 'connecting' }
    this.#running = this.#supervise(events)
  }

  /**
   * Ready while the event socket is open, answers pings and is subscribed to its events, and no other
   * program has taken the application name; otherwise the detail says what is wrong.
   */
  readiness(): AriReadiness {
    return this.#readiness
  }

  /** Stops all timers, sockets and further attempts. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#session?.end(new AriSessionError('closed'))
    this.#closing.abort()
    await this.#running
    this.#setReadiness(false, 'closed')
  }

  async #supervise(events: AsteriskEvents): Promise<void> {
    while (!this.#isClosed) {
      const why = await this.#connectOnce(events)
      if (this.#isClosed) return
      this.#logFailure(why)
      this.#setReadiness(false, why.message)
      await this.#pause()
    }
  }

  /** Resolves when the connection has ended or could not be opened; never rejects. */
  async #connectOnce(events: AsteriskEvents): Promise<AriSessionError> {
    const { server, timeouts } = this.#options
    this.#isReplaced = false
    const session = new AriSession({
      server,
      timeouts,
      onEvent: (raw) => this.#receive(raw, events),
      onUnreadable: (error) => this.#logUnreadable(error),
    })
    this.#session = session
    try {
      this.#resynchronize(await session.open(), events)
      this.#onConnected()
    } catch (error) {
      session.end(error instanceof AriSessionError ? error : new AriSessionError(String(error)))
    }
    const why = await session.ended
    this.#handle('disconnected', () => events.onDisconnected())
    return why
  }

  /** The gate also works without the list; waiting calls then end at the dialplan's own time limit. */
  #resynchronize({ channels: raw, problem }: AriChannelList, events: AsteriskEvents): void {
    if (problem === undefined) {
      const channels = this.#readChannels(raw)
      this.#handle('resynchronized', () => events.onResynchronized(channels))
      return
    }
    const { log, server } = this.#options
    log.error('Asterisk cannot list its channels, so waiting calls are not taken over', {
      server: server.name,
      problem,
      remedy: 'look for a channel with text that is not UTF-8 (core show channels)',
    })
  }

  #onConnected(): void {
    const { log, server, observer } = this.#options
    this.#pauseMs = initialPauseMs
    this.#loggedFailures.clear()
    log.info('connected to Asterisk', { server: server.name, app: server.app })
    if (this.#wasUp) observer.reconnected()
    this.#wasUp = true
    if (!this.#isReplaced) this.#setReadiness(true, 'connected')
  }

  #receive(raw: unknown, events: AsteriskEvents): void {
    const event = this.#read(raw)
    if (!event) return
    if (event.type === 'ApplicationReplaced') this.#onReplaced(event.application)
    else this.#handle(event.type, () => dispatchEvent(event, events, this.#options.clock))
  }

  #read(raw: unknown): AriEvent | undefined {
    try {
      return readEvent(raw)
    } catch (error) {
      this.#logUnreadable(error)
      return undefined
    }
  }

  #logUnreadable(error: unknown): void {
    const { log, server } = this.#options
    log.warn('a message from Asterisk cannot be read and is dropped', {
      server: server.name,
      err: error,
    })
  }

  #handle(event: string, run: () => void): void {
    const { log, server } = this.#options
    try {
      run()
    } catch (error) {
      log.error('an event from Asterisk could not be handled', {
        server: server.name,
        event,
        err: error,
      })
    }
  }

  #readChannels(raw: unknown): readonly AsteriskChannel[] {
    if (!Array.isArray(raw)) throw new AriSessionError('the list of channels cannot be read')
    return raw.flatMap((channel: unknown) => {
      try {
        return [readChannel(channel)]
      } catch (error) {
        this.#logUnreadable(error)
        return []
      }
    })
  }

  /** The socket stays open but receives nothing; taking the name back would make both programs compete. */
  #onReplaced(application: string): void {
    const { log, server } = this.#options
    if (application !== server.app) return
    this.#isReplaced = true
    log.error('another program has taken the Stasis application, so no call reaches this gate', {
      server: server.name,
      app: server.app,
      remedy: 'give each sidecar its own application name (asterisk.app), then restart',
    })
    this.#setReadiness(false, `another program has taken the application '${server.app}'`)
  }

  #logFailure({ message, remedy }: AriSessionError): void {
    if (this.#loggedFailures.has(message)) return
    this.#loggedFailures.add(message)
    const { log, server } = this.#options
    const fields = { server: server.name, url: server.url, problem: message }
    if (remedy === 'operator') log.error('not connected to Asterisk', fields)
    else log.warn('not connected to Asterisk, trying again', fields)
  }

  #setReadiness(ready: boolean, detail: string): void {
    const changed = this.#readiness.ready !== ready
    this.#readiness = { ready, detail }
    if (changed) this.#options.observer.connected(ready)
  }

  async #pause(): Promise<void> {
    await sleep(this.#pauseMs, { signal: this.#closing.signal })
    this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs)
  }
}
