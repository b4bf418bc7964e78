/**
 * The channels waiting in callgate's application on one Asterisk, each a call to decide on. The
 * dialplan itself dials allowed calls and hangs up blocked ones after it continues.
 */
import type { AsteriskSettings } from '../../config/settings.js'
import type { AsteriskChannel } from '../asterisk-port.js'
import { AriError } from '../asterisk-port.js'
import { CallFactsReader } from './call-facts.js'
import { GatedCall, type GatedCallDeps } from './gated-call.js'
import { parseStasisArguments } from './stasis-arguments.js'

export interface StasisGateDeps extends Omit<GatedCallDeps, 'facts' | 'announcementLocation'> {
  /** Name of callgate's application on this Asterisk. */
  readonly app: string
  readonly settings: Pick<AsteriskSettings, 'defaults' | 'variables' | 'announcement' | 'trunks'>
}

/** More channels than can leave while a list of channels is being transferred. */
const maxRememberedChannels = 1_000

export class StasisGate {
  readonly #app: string
  readonly #deps: GatedCallDeps
  /** By channel id, from entering to leaving the application. */
  readonly #calls = new Map<string, GatedCall>()
  /** Channels that left recently, which an older list may still contain. */
  readonly #recentlyLeft = new Set<string>()
  #inFlightCount = 0
  #isAccepting = true
  #drainWaiters: (() => void)[] = []

  /** Throws for invalid defaults in the settings. */
  constructor({ app, settings, ...deps }: StasisGateDeps) {
    const { context, extension, priority } = settings.announcement
    const announcementLocation =
      context === undefined ? undefined : { context, extension, priority }
    this.#app = app
    this.#deps = { facts: new CallFactsReader(settings), announcementLocation, ...deps }
  }

  /**
   * Ignores a channel whose call is already in progress, since on connecting a channel may be both
   * listed and announced. A channel that enters again after it left or its call ended is a new call.
   */
  onChannelEntered(channel: AsteriskChannel, args: readonly string[]): void {
    if (this.#calls.get(channel.id)?.state === 'in-progress') return
    const call = new GatedCall(this.#deps, channel, args)
    this.#calls.set(channel.id, call)
    this.#recentlyLeft.delete(channel.id)
    this.#inFlightCount += 1
    void call.run(this.#isAccepting).then(() => this.#onCallEnded())
  }

  onChannelLeft(channelId: string): void {
    this.#remember(channelId)
    this.#calls.get(channelId)?.markLeft()
    this.#calls.delete(channelId)
  }

  /** Asterisk offers a channel only to the intended applications. */
  onChannelOffered({ id }: AsteriskChannel): void {
    if (!this.#isAccepting) return
    const { actions, log, server } = this.#deps
    const fields = { server, channelId: id }
    actions.claim(id).then(
      (won) => {
        if (!won) log.debug('another application took the call', fields)
      },
      (cause: unknown) => {
        const gone = cause instanceof AriError && cause.kind === 'gone'
        if (gone) log.debug('an offered call is gone', fields)
        else log.warn('a call could not be claimed', { ...fields, err: cause })
      },
    )
  }

  /**
   * Takes over channels that wait in the application without a call in progress here. A call in
   * progress whose channel is not listed fails at its next action.
   */
  onResynchronized(channels: readonly AsteriskChannel[]): void {
    const present = new Set(channels.map(({ id }) => id))
    for (const [id, { state }] of this.#calls) {
      if (state !== 'in-progress' && !present.has(id)) this.#calls.delete(id)
    }
    const { server, log } = this.#deps
    for (const channel of channels) {
      const args = this.#argumentsOfOrphan(channel)
      if (!args) continue
      log.info('a waiting call is taken over', { server, channelId: channel.id })
      this.onChannelEntered(channel, args)
    }
  }

  /** From now on calls are handed back undecided; emergency calls are still allowed. */
  stopAccepting(): void {
    this.#isAccepting = false
  }

  /** Resolves when no call is in progress. */
  drain(): Promise<void> {
    if (this.#inFlightCount === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#drainWaiters.push(resolve)
    })
  }

  #onCallEnded(): void {
    this.#inFlightCount -= 1
    if (this.#inFlightCount > 0) return
    for (const resolve of this.#drainWaiters.splice(0)) resolve()
  }

  /** Uses the arguments of a known call, since Asterisk's list may not contain them. */
  #argumentsOfOrphan(channel: AsteriskChannel): readonly string[] | undefined {
    if (this.#recentlyLeft.has(channel.id)) return undefined
    const call = this.#calls.get(channel.id)
    if (!call) return parseStasisArguments(this.#app, channel.application)
    const waits = /^Stasis(?:Broadcast)?$/.test(channel.application?.name ?? '')
    return waits && call.state === 'stranded' ? call.args : undefined
  }

  #remember(channelId: string): void {
    this.#recentlyLeft.add(channelId)
    if (this.#recentlyLeft.size <= maxRememberedChannels) return
    const [oldest = ''] = this.#recentlyLeft
    this.#recentlyLeft.delete(oldest)
  }
}
