/**
 * The second line behind the gate: every leg that begins to dial is held against the permit of the
 * channel it is dialled for. A leg on a watched trunk that no permit covers is counted, logged and,
 * where that is set, hung up. What becomes of covered legs goes to `leg-outcomes.ts`.
 */
import type { TrunkSettings } from '../config.js'
import type { Clock, Instant } from '../domain/clock.js'
import { maskNumber } from '../domain/phone-number.js'
import type { Logger } from '../log.js'
import type { Metrics } from '../metrics.js'
import type { AsteriskActions, AsteriskChannel, DialEvent } from './asterisk-port.js'
import { type LegNumber, legNumber } from './leg-number.js'
import type { LegOutcomes } from './leg-outcomes.js'
import type { Permits } from './permit.js'
import type { Trunks } from './trunks.js'

export interface BypassWatchParts {
  /** By the name the settings give it. */
  readonly server: string
  readonly trunks: Trunks
  /** Whether to hang up, for trunks that do not say so themselves. */
  readonly enforce: boolean
  readonly actions: Pick<AsteriskActions, 'hangup' | 'variable'>
  readonly permits: Pick<Permits, 'read'>
  readonly legs: LegOutcomes
  readonly clock: Clock
  /** The operator's own emergency numbers. */
  readonly serviceCodes: ReadonlySet<string>
  readonly metrics: Pick<Metrics, 'ungatedCall'>
  readonly log: Logger
}

/**
 * Why no permit covers a leg. `permit-not-valid`: forged, expired, or given for another channel or
 * number; `permit-unknown`: Asterisk did not tell what the channel carries; `begin-unseen`: nor that
 * the leg began to dial, and on whose behalf.
 */
type Uncovered =
  | 'no-caller'
  | 'no-permit'
  | 'permit-not-valid'
  | 'permit-unknown'
  | 'number-unreadable'
  | 'begin-unseen'

/** A leg at its first event, with what is needed to judge it. */
interface Leg {
  readonly peer: AsteriskChannel
  readonly caller: AsteriskChannel | undefined
  readonly trunk: TrunkSettings | undefined
  readonly number: LegNumber
  /** Asterisk's time of the event, for the record. */
  readonly at: Instant
  /**
   * For the expiry of permits: the earlier of Asterisk's time and ours. After a pause of this
   * process events are read late, and a call that was allowed then must not be hung up for it. An
   * originator has no say in either time.
   */
  readonly begunAt: Instant
}

/** A leg on a watched trunk. */
interface KnownLeg {
  /** Whether it was judged; else it is known from a list alone. */
  readonly judged: boolean
  /** Whether the last list of channels lacked it. */
  readonly missing: boolean
}

const permitVariable = 'CALLGATE_PERMIT'

export class BypassWatch {
  readonly #parts: BypassWatchParts
  /** Legs on watched trunks, by channel id, until they end. */
  readonly #known = new Map<string, KnownLeg>()
  /** Whether every leg there is has been seen to begin, or was in the list of this connection. */
  #complete = false
  /** What happened to legs whose permit is being asked for, to be gone through afterwards. */
  readonly #asking = new Map<string, (() => void)[]>()
  #toldOfMissingVariables = false

  constructor(parts: BypassWatchParts) {
    this.#parts = parts
  }

  /** Judges a leg when it begins to dial. Never throws. */
  dial(event: DialEvent): void {
    const { id, name } = event.peer
    const trunk = this.#parts.trunks.of(name)
    const watched = trunk?.watch === true
    const begins = event.status === '' && this.#known.get(id)?.judged !== true
    if (!begins && (!watched || this.#known.has(id))) {
      this.#afterAsking(id, () => this.#parts.legs.progressed(event))
      return
    }
    if (watched) this.#known.set(id, { judged: true, missing: false })
    // Later events say what was dialled only where nobody is the caller.
    if (begins || event.dialString !== '') this.#judge(this.#legOf(event, trunk))
    else this.#beginUnseen(this.#legOf(event, trunk))
  }

  /** Without its channel such a leg cannot be hung up; a later event may tell it, and counts again. */
  dialUnseen(dialString: string): void {
    const { server, metrics, log, trunks } = this.#parts
    const trunk = trunks.named(dialString)
    if (!trunk?.watch || this.#numberOf(dialString, trunk).kind === 'service-code') return
    metrics.ungatedCall({ server, trunk: trunk.name, hungUp: false })
    log.error('a leg on a watched trunk cannot be judged: Asterisk does not tell its channel', {
      server,
      trunk: trunk.name,
      dialString,
    })
  }

  /** Legs that begin from now on are not seen to begin. */
  disconnected(): void {
    this.#complete = false
  }

  /** Every channel that ends is told, watched or not. */
  ended(channelId: string, cause: number, at: Instant): void {
    this.#known.delete(channelId)
    this.#afterAsking(channelId, () => this.#parts.legs.ended(channelId, cause, at))
  }

  /**
   * Forgets the legs that ended meanwhile: that two lists in a row lack, since a leg may be younger
   * than one list. Legs that began meanwhile were not seen to dial, and a leg alone does not tell
   * for whom it is dialled: they are neither counted nor hung up, only told.
   */
  resynchronised(channels: readonly AsteriskChannel[]): void {
    const present = new Set(channels.map(({ id }) => id))
    for (const [id, { judged, missing }] of this.#known) {
      if (missing && !present.has(id)) this.#known.delete(id)
      else this.#known.set(id, { judged, missing: !present.has(id) })
    }
    this.#parts.legs.resynchronised(present)
    const unseen = channels.filter(
      (channel) =>
        isDialledLeg(channel) && this.#isWatched(channel) && !this.#known.has(channel.id),
    )
    for (const { id } of unseen) this.#known.set(id, { judged: false, missing: false })
    this.#complete = true
    if (unseen.length > 0) this.#tellUnjudged(unseen.length)
  }

  #isWatched(channel: AsteriskChannel): boolean {
    return this.#parts.trunks.of(channel.name)?.watch === true
  }

  #tellUnjudged(count: number): void {
    const { server, log } = this.#parts
    log.warn('legs on watched trunks began while not connected', { server, count })
  }

  #afterAsking(channelId: string, act: () => void): void {
    const waiting = this.#asking.get(channelId)
    if (waiting) waiting.push(act)
    else act()
  }

  /** Not hung up: nobody knows whether it is an emergency call. */
  #beginUnseen(leg: Leg): void {
    const { trunk } = leg
    if (!this.#complete) this.#tellUnjudged(1)
    else if (trunk) this.#tell(leg, { trunk, why: 'begin-unseen', enforced: false, hungUp: false })
  }

  #numberOf(dialString: string, trunk?: TrunkSettings, technology?: string): LegNumber {
    const { serviceCodes } = this.#parts
    return legNumber(dialString, {
      dialPrefix: trunk?.dialPrefix ?? '',
      serviceCodes,
      technology,
    })
  }

  #legOf({ peer, caller, dialString, at }: DialEvent, trunk: TrunkSettings | undefined): Leg {
    const number = this.#numberOf(dialString, trunk, peer.name.split('/', 1)[0])
    return { peer, caller, trunk, number, at, begunAt: Math.min(at, this.#parts.clock.now()) }
  }

  #judge(leg: Leg): void {
    const { caller, trunk } = leg
    if (!caller) {
      this.#uncovered(leg, 'no-caller')
      return
    }
    const permit = caller.variables[permitVariable]
    if (permit !== undefined) this.#judgeWith(leg, permit)
    else if (trunk?.watch) void this.#ask(leg, caller.id)
  }

  /** Each leg then costs a request, and is judged that much later. */
  async #ask(leg: Leg, callerId: string): Promise<void> {
    const happened: (() => void)[] = []
    this.#asking.set(leg.peer.id, happened)
    const permit = await this.#permitOn(callerId)
    if (permit === undefined) this.#uncovered(leg, 'permit-unknown')
    else this.#judgeWith(leg, permit)
    this.#asking.delete(leg.peer.id)
    for (const act of happened) act()
  }

  /** Empty when it carries none; `undefined` when Asterisk does not tell. */
  async #permitOn(callerId: string): Promise<string | undefined> {
    const { server, actions, log } = this.#parts
    if (!this.#toldOfMissingVariables) {
      this.#toldOfMissingVariables = true
      const setting = `channelvars=${permitVariable} is missing in the [general] part of ari.conf`
      log.warn('events do not carry the permit of a channel: it is asked for', { server, setting })
    }
    try {
      return (await actions.variable(callerId, permitVariable)) ?? ''
    } catch (cause) {
      const what = { server, callerChannelId: callerId, err: cause }
      log.warn('Asterisk does not tell whether a channel carries a permit', what)
      return undefined
    }
  }

  #judgeWith(leg: Leg, permit: string): void {
    const decisionId = this.#decisionOf(leg, permit)
    if (decisionId !== undefined) this.#parts.legs.dialled(leg.peer, decisionId, leg.at)
    else this.#uncovered(leg, permit === '' ? 'no-permit' : whyNotBy(leg.number))
  }

  #decisionOf({ caller, number, begunAt }: Leg, permit: string): string | undefined {
    if (permit === '' || !caller || number.kind === 'unreadable') return undefined
    const dialled = number.kind === 'number' ? number.number : number.code
    const question = { channelId: caller.id, number: dialled, now: begunAt }
    return this.#parts.permits.read(permit, question)?.decisionId
  }

  /** Emergency calls pass without the gate; trunks that are not watched are nobody's business. */
  #uncovered(leg: Leg, why: Uncovered): void {
    const { trunk, number } = leg
    if (!trunk?.watch || number.kind === 'service-code') return
    if (trunk.enforce ?? this.#parts.enforce) void this.#hangUp(leg, trunk, why)
    else this.#tell(leg, { trunk, why, enforced: false, hungUp: false })
  }

  async #hangUp(leg: Leg, trunk: TrunkSettings, why: Uncovered): Promise<void> {
    const told = { trunk, why, enforced: true }
    try {
      await this.#parts.actions.hangup(leg.peer.id, 'rejected')
      this.#tell(leg, { ...told, hungUp: true })
    } catch (cause) {
      this.#tell(leg, { ...told, hungUp: false, err: cause })
    }
  }

  /** Someone must act on a call that goes on; one that was hung up is healed. */
  #tell(leg: Leg, { trunk, ...more }: Ungated): void {
    const { server, metrics, log } = this.#parts
    metrics.ungatedCall({ server, trunk: trunk.name, hungUp: more.hungUp })
    log[more.hungUp ? 'warn' : 'error']('a leg on a watched trunk has no permit', {
      server,
      trunk: trunk.name,
      channelId: leg.peer.id,
      channel: leg.peer.name,
      callerChannelId: leg.caller?.id,
      number: leg.number.kind === 'number' ? maskNumber(leg.number.number) : undefined,
      ...more,
    })
  }
}

interface Ungated {
  readonly trunk: TrunkSettings
  readonly why: Uncovered
  readonly enforced: boolean
  readonly hungUp: boolean
  readonly err?: unknown
}

function whyNotBy(number: LegNumber): Uncovered {
  return number.kind === 'unreadable' ? 'number-unreadable' : 'permit-not-valid'
}

/** Dialled by Dial() or originated, and not a call that came in over the trunk. */
function isDialledLeg({ application }: AsteriskChannel): boolean {
  return application?.name === 'AppDial' || application?.name === 'AppDial2'
}
