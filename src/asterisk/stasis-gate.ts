/**
 * The channels that wait in our application of one Asterisk, each as a call to decide on. Nothing is
 * dialled here and no blocked call hung up: that is the dialplan's, once it goes on.
 */
import type { AsteriskSettings } from '../config.js'
import { argumentsFor } from './application-data.js'
import { AriError } from './ari-error.js'
import type { AsteriskChannel } from './asterisk-port.js'
import { CallFactsReader } from './call-facts.js'
import { type CallTools, GatedCall } from './gated-call.js'

export interface StasisGateParts extends Omit<CallTools, 'facts' | 'announcement'> {
  /** Our application on this Asterisk. */
  readonly app: string
  readonly settings: Pick<AsteriskSettings, 'defaults' | 'variables' | 'announcement' | 'trunks'>
}

/** More than can leave while a list of channels is on its way to us. */
const mostRemembered = 1_000

export class StasisGate {
  readonly #app: string
  readonly #tools: CallTools
  /** By channel, from its entering until it leaves. */
  readonly #calls = new Map<string, GatedCall>()
  /** Channels that left last, which a list made before may still hold. */
  readonly #lastLeft = new Set<string>()
  #underWay = 0
  #taking = true
  #drained: (() => void)[] = []

  /** Throws for defaults of the settings that break the rules of their facts. */
  constructor({ app, settings, ...tools }: StasisGateParts) {
    const { context, extension, priority } = settings.announcement
    const announcement = context === undefined ? undefined : { context, extension, priority }
    this.#app = app
    this.#tools = { facts: new CallFactsReader(settings), announcement, ...tools }
  }

  /**
   * Told again of a channel whose call is under way, it ignores that: on connecting, a channel may
   * be both listed and announced. One that comes after it left, or after its call ended, is a new
   * call.
   */
  entered(channel: AsteriskChannel, args: readonly string[]): void {
    if (this.#calls.get(channel.id)?.state === 'under-way') return
    const call = new GatedCall(this.#tools, channel, args)
    this.#calls.set(channel.id, call)
    this.#lastLeft.delete(channel.id)
    this.#underWay += 1
    void call.run(this.#taking).then(() => this.#ended())
  }

  left(channelId: string): void {
    this.#remember(channelId)
    this.#calls.get(channelId)?.leave()
    this.#calls.delete(channelId)
  }

  /** Asterisk offers a channel only to the applications it is meant for. */
  offered({ id }: AsteriskChannel): void {
    if (!this.#taking) return
    const { actions, log, server } = this.#tools
    const shown = { server, channelId: id }
    actions.claim(id).then(
      (won) => {
        if (!won) log.debug('another application took the call', shown)
      },
      (cause: unknown) => {
        const gone = cause instanceof AriError && cause.kind === 'gone'
        if (gone) log.debug('an offered call is gone', shown)
        else log.warn('a call could not be claimed', { ...shown, err: cause })
      },
    )
  }

  /**
   * Takes over the channels that wait in our application and that nobody here works for. A call
   * under way whose channel is not listed finds that out by its next action.
   */
  resynchronised(channels: readonly AsteriskChannel[]): void {
    const there = new Set(channels.map(({ id }) => id))
    for (const [id, { state }] of this.#calls) {
      if (state !== 'under-way' && !there.has(id)) this.#calls.delete(id)
    }
    const { server, log } = this.#tools
    for (const channel of channels) {
      const args = this.#argumentsOfOrphan(channel)
      if (!args) continue
      log.info('a waiting call is taken over', { server, channelId: channel.id })
      this.entered(channel, args)
    }
  }

  /** From now on calls are handed back undecided; emergency calls still pass. */
  stopTaking(): void {
    this.#taking = false
  }

  /** Resolves when no call is under way. */
  drain(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#drained.push(resolve)
    })
  }

  #ended(): void {
    this.#underWay -= 1
    if (this.#underWay > 0) return
    for (const resolve of this.#drained.splice(0)) resolve()
  }

  /** Of a call that was known the arguments are, also where Asterisk's list does not tell them. */
  #argumentsOfOrphan(channel: AsteriskChannel): readonly string[] | undefined {
    if (this.#lastLeft.has(channel.id)) return undefined
    const call = this.#calls.get(channel.id)
    if (!call) return argumentsFor(this.#app, channel.application)
    const waits = /^Stasis(?:Broadcast)?$/.test(channel.application?.name ?? '')
    return waits && call.state === 'stranded' ? call.args : undefined
  }

  #remember(channelId: string): void {
    this.#lastLeft.add(channelId)
    if (this.#lastLeft.size <= mostRemembered) return
    const [oldest = ''] = this.#lastLeft
    this.#lastLeft.delete(oldest)
  }
}
