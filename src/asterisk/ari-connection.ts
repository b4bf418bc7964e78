/**
 * Keeps one Asterisk connected for ever: connection after connection, its events in order, and
 * whether calls reach the gate now. What the events mean is left to whoever is handed them.
 */
import type { Clock } from '../domain/clock.js'
import type { Logger } from '../log.js'
import { AriActions } from './ari-actions.js'
import { type AriEvent, readChannel, readEvent } from './ari-events.js'
import type { AriServer } from './ari-http.js'
import { type AriLimits, type AriOpened, AriSession, AriSessionEnd } from './ari-session.js'
import type {
  AsteriskActions,
  AsteriskChannel,
  AsteriskEvents,
  DialplanPlace,
  HangupReason,
} from './asterisk-port.js'

export type { AriServer } from './ari-http.js'
export type { AriLimits } from './ari-session.js'

export interface AriConnectionOptions {
  readonly server: AriServer
  readonly limits: AriLimits
  /** For events that carry no readable time. */
  readonly clock: Clock
  readonly log: Logger
  readonly watch: {
    /** Told when readiness changes; it is false before the first word. */
    connected(up: boolean): void
    /** With every connection after the first. */
    reconnected(): void
  }
}

const firstPauseMs = 200
const longestPauseMs = 5_000

type Readiness = { readonly ready: boolean; readonly detail: string }

export class AriConnection implements AsteriskActions {
  readonly #options: AriConnectionOptions
  readonly #actions: AriActions
  #session: AriSession | undefined
  #readiness: Readiness = { ready: false, detail: 'not started' }
  #replaced = false
  #wasUp = false
  #isClosed = false
  #running: Promise<void> = Promise.resolve()
  #endPause: () => void = () => undefined
  #pauseMs = firstPauseMs
  /** What has been logged since the last connection: each kind of failure once, not each attempt. */
  readonly #toldFailures = new Set<string>()

  constructor(options: AriConnectionOptions) {
    const { server, limits } = options
    this.#options = options
    this.#actions = new AriActions({
      app: server.app,
      actionMs: limits.actionMs,
      client: () => this.#session?.client,
    })
  }

  /** Once. Never throws: what fails is tried again until `close`. */
  start(events: AsteriskEvents): void {
    this.#readiness = { ready: false, detail: 'connecting' }
    this.#running = this.#supervise(events)
  }

  /**
   * Ready while the event socket is open, answers pings, has its events asked for, and no other
   * program has taken the application name; otherwise the detail says what is missing.
   */
  readiness(): Readiness {
    return this.#readiness
  }

  /** Afterwards nothing of it is left: no timer, no socket, no new attempt. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#session?.end(new AriSessionEnd('closed'))
    this.#endPause()
    await this.#running
    this.#setReadiness(false, 'closed')
  }

  setVariables(channelId: string, values: Readonly<Record<string, string>>): Promise<void> {
    return this.#actions.setVariables(channelId, values)
  }

  variable(channelId: string, name: string): Promise<string | undefined> {
    return this.#actions.variable(channelId, name)
  }

  resume(channelId: string, place?: DialplanPlace): Promise<void> {
    return this.#actions.resume(channelId, place)
  }

  hangup(channelId: string, reason: HangupReason): Promise<void> {
    return this.#actions.hangup(channelId, reason)
  }

  claim(channelId: string): Promise<boolean> {
    return this.#actions.claim(channelId)
  }

  async #supervise(events: AsteriskEvents): Promise<void> {
    while (!this.#isClosed) {
      const why = await this.#connectOnce(events)
      if (this.#isClosed) return
      this.#tellFailure(why)
      this.#setReadiness(false, why.message)
      await this.#pause()
    }
  }

  /** Resolves when the connection has ended, or was never made; never rejects. */
  async #connectOnce(events: AsteriskEvents): Promise<AriSessionEnd> {
    const { server, limits } = this.#options
    this.#replaced = false
    const session = new AriSession({
      server,
      limits,
      event: (raw) => this.#receive(raw, events),
      unreadable: (error) => this.#dropped(error),
    })
    this.#session = session
    try {
      this.#resynchronise(await session.open(), events)
      this.#up()
    } catch (error) {
      session.end(error instanceof AriSessionEnd ? error : new AriSessionEnd(String(error)))
    }
    const why = await session.ended
    this.#handle('disconnected', () => events.disconnected())
    return why
  }

  /** Without the list the gate still works; what waits is left to the dialplan's own time limit. */
  #resynchronise({ channels: raw, problem }: AriOpened, events: AsteriskEvents): void {
    if (problem === undefined) {
      const channels = this.#readChannels(raw)
      this.#handle('resynchronised', () => events.resynchronised(channels))
      return
    }
    const { log, server } = this.#options
    log.error('Asterisk cannot list its channels: calls that waited are not taken over', {
      server: server.name,
      problem,
      remedy: 'look for a channel with text that is no UTF-8 (core show channels)',
    })
  }

  #up(): void {
    const { log, server, watch } = this.#options
    this.#pauseMs = firstPauseMs
    this.#toldFailures.clear()
    log.info('connected to Asterisk', { server: server.name, app: server.app })
    if (this.#wasUp) watch.reconnected()
    this.#wasUp = true
    if (!this.#replaced) this.#setReadiness(true, 'connected')
  }

  #receive(raw: unknown, events: AsteriskEvents): void {
    const event = this.#read(raw)
    if (!event) return
    if (event.type === 'ApplicationReplaced') this.#replacedBy(event.application)
    else this.#handle(event.type, () => deliver(event, events))
  }

  #read(raw: unknown): AriEvent | undefined {
    try {
      return readEvent(raw, this.#options.clock)
    } catch (error) {
      this.#dropped(error)
      return undefined
    }
  }

  #dropped(error: unknown): void {
    const { log, server } = this.#options
    log.warn('a message of Asterisk is dropped: it cannot be read', {
      server: server.name,
      err: error,
    })
  }

  #handle(event: string, run: () => void): void {
    const { log, server } = this.#options
    try {
      run()
    } catch (error) {
      log.error('an event of Asterisk was not handled', { server: server.name, event, err: error })
    }
  }

  #readChannels(raw: unknown): readonly AsteriskChannel[] {
    if (!Array.isArray(raw)) throw new AriSessionEnd('its list of channels cannot be read')
    return raw.flatMap((channel: unknown) => {
      try {
        return [readChannel(channel, 'channel')]
      } catch (error) {
        this.#dropped(error)
        return []
      }
    })
  }

  /** The socket stays open, but gets nothing any more; taking the name back would begin a fight. */
  #replacedBy(application: string): void {
    const { log, server } = this.#options
    if (application !== server.app) return
    this.#replaced = true
    log.error('another program has taken the Stasis application: no call reaches this gate', {
      server: server.name,
      app: server.app,
      remedy: 'give each sidecar an application name of its own (asterisk.app), then restart',
    })
    this.#setReadiness(false, `another program has taken the application '${server.app}'`)
  }

  #tellFailure({ message, remedy }: AriSessionEnd): void {
    if (this.#toldFailures.has(message)) return
    this.#toldFailures.add(message)
    const { log, server } = this.#options
    const fields = { server: server.name, url: server.url, problem: message }
    if (remedy === 'operator') log.error('not connected to Asterisk', fields)
    else log.warn('not connected to Asterisk, trying again', fields)
  }

  #setReadiness(ready: boolean, detail: string): void {
    const changed = this.#readiness.ready !== ready
    this.#readiness = { ready, detail }
    if (changed) this.#options.watch.connected(ready)
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#pauseMs)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs)
  }
}

function deliver(
  event: Exclude<AriEvent, { readonly type: 'ApplicationReplaced' }>,
  events: AsteriskEvents,
): void {
  switch (event.type) {
    case 'StasisStart':
      events.entered(event.channel, event.args)
      break
    case 'StasisEnd':
      events.left(event.channelId)
      break
    case 'CallBroadcast':
      events.offered(event.channel)
      break
    case 'Dial':
      events.dial(event.dial)
      break
    case 'DialUnseen':
      events.dialUnseen(event.dialString)
      break
    case 'ChannelDestroyed':
      events.ended(event.channelId, event.cause, event.at)
      break
  }
}
