/**
 * The second line behind the gate: every leg that begins to dial is held against the permit of the
 * channel it is dialled for. What is done about a leg that no permit covers is in `ungated-legs.ts`,
 * what becomes of the covered ones in `leg-outcomes.ts`.
 */
import type { TrunkSettings } from '../config.js'
import type { Clock, Instant } from '../domain/clock.js'
import type { AsteriskActions, AsteriskChannel, DialEvent } from './asterisk-port.js'
import { type LegNumber, legNumber } from './leg-number.js'
import type { LegOutcomes } from './leg-outcomes.js'
import type { Permits } from './permit.js'
import type { Trunks } from './trunks.js'
import { type Leg, type Uncovered, UngatedLegs, type UngatedLegsParts } from './ungated-legs.js'

export interface BypassWatchParts extends UngatedLegsParts {
  readonly trunks: Trunks
  readonly actions: Pick<AsteriskActions, 'hangup' | 'variable'>
  readonly permits: Pick<Permits, 'read'>
  readonly legs: LegOutcomes
  readonly clock: Clock
  /** The operator's own emergency numbers. */
  readonly serviceCodes: ReadonlySet<string>
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
  readonly #ungated: UngatedLegs
  /** Legs on watched trunks, by channel id, until they end. */
  readonly #known = new Map<string, KnownLeg>()
  /** Whether every leg there is has been seen to begin, or was in the list of this connection. */
  #complete = false
  /** What happened to legs whose permit is being asked for, to be gone through afterwards. */
  readonly #asking = new Map<string, (() => void)[]>()
  #toldOfMissingVariables = false

  constructor(parts: BypassWatchParts) {
    this.#parts = parts
    this.#ungated = new UngatedLegs(parts)
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
    const trunk = this.#parts.trunks.named(dialString)
    if (!trunk?.watch || this.#numberOf(dialString, trunk).kind === 'service-code') return
    this.#ungated.tellUnknown(trunk, dialString)
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
    if (!this.#complete) this.#tellUnjudged(1)
    else this.#ungated.tell(leg, 'begin-unseen')
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
      this.#ungated.found(leg, 'no-caller')
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
    if (permit === undefined) this.#ungated.found(leg, 'permit-unknown')
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
    else this.#ungated.found(leg, permit === '' ? 'no-permit' : whyNotBy(leg.number))
  }

  #decisionOf({ caller, number, begunAt }: Leg, permit: string): string | undefined {
    if (permit === '' || !caller || number.kind === 'unreadable') return undefined
    const dialled = number.kind === 'number' ? number.number : number.code
    const question = { channelId: caller.id, number: dialled, now: begunAt }
    return this.#parts.permits.read(permit, question)?.decisionId
  }
}

function whyNotBy(number: LegNumber): Uncovered {
  return number.kind === 'unreadable' ? 'number-unreadable' : 'permit-not-valid'
}

/** Dialled by Dial() or originated, and not a call that came in over the trunk. */
function isDialledLeg({ application }: AsteriskChannel): boolean {
  return application?.name === 'AppDial' || application?.name === 'AppDial2'
}
