/**
 * Detects calls that bypass the gate: every leg that starts dialing is checked against the permit of
 * its calling channel. `ungated-legs.ts` handles legs without a valid permit, `leg-outcomes.ts` tracks
 * the others.
 */
import type { TrunkSettings } from '../../config/settings.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { isUuid } from '../../runtime/uuid.js'
import type { AsteriskActions, AsteriskChannel, DialEvent } from '../asterisk-port.js'
import type { PermitSigner } from '../permit.js'
import type { Trunks } from '../trunks.js'
import { type LegNumber, parseLegNumber } from './leg-number.js'
import type { LegOutcomeTracker } from './leg-outcomes.js'
import {
  type DialedLeg,
  UngatedLegReporter,
  type UngatedLegsDeps,
  type UngatedReason,
} from './ungated-legs.js'

export interface BypassMonitorDeps extends UngatedLegsDeps {
  readonly trunks: Trunks
  readonly actions: Pick<AsteriskActions, 'hangup' | 'getVariable'>
  readonly permits: Pick<PermitSigner, 'verify'>
  readonly claimUsedPermit: ClaimUsedPermit
  readonly legOutcomes: LegOutcomeTracker
  readonly clock: Clock
  /** The operator's own emergency numbers. */
  readonly serviceCodes: ReadonlySet<string>
}

/** A permit that was used over HTTP, for the channel that dials by it. */
interface UsedPermitClaim {
  readonly id: string
  readonly number: string
  readonly server: string
  readonly channelId: string
  /** A use before this instant is of another call. */
  readonly usedAfter: Instant
}

/** The decision that the permit was given for; `undefined` unless it was used, and by no other channel. */
export type ClaimUsedPermit = (claim: UsedPermitClaim) => Promise<string | undefined>

/** From the use of a permit to the start of its leg, also of a second trunk. */
const maxUseAgeMs = 60_000

/** A leg on a watched trunk. */
interface KnownLeg {
  /** Whether its permit was checked; otherwise it is known only from a list. */
  readonly isJudged: boolean
  /** Whether it was missing in the last list of channels. */
  readonly isMissing: boolean
}

const permitVariable = 'CALLGATE_PERMIT'
/** What the recipes give Dial() to run `callgate-leg` with, or as its URL: a permit, or empty without one. */
const permitInDial = /\bcallgate-(?:leg\^\w+\^1|permit)\((|1\.[\w.-]+|[\da-f-]{36})\)/

export class BypassMonitor {
  readonly #deps: BypassMonitorDeps
  readonly #ungated: UngatedLegReporter
  /** Legs on watched trunks, by channel id, until they end. */
  readonly #known = new Map<string, KnownLeg>()
  /** Whether all existing legs are known, from a start event or the list of this connection. */
  #isComplete = false
  /** Events of legs whose permit is being looked up, to be processed afterwards. */
  readonly #pendingPermits = new Map<string, (() => void)[]>()

  constructor(deps: BypassMonitorDeps) {
    this.#deps = deps
    this.#ungated = new UngatedLegReporter(deps)
  }

  /** Checks a leg when it starts dialing. Never throws. */
  onDial(event: DialEvent): void {
    const { id, name } = event.peer
    const trunk = this.#deps.trunks.findByChannel(name)
    const watched = trunk?.watch === true
    const begins = event.status === '' && this.#known.get(id)?.isJudged !== true
    if (!begins && (!watched || this.#known.has(id))) {
      this.#runAfterPermitLookup(id, () => this.#deps.legOutcomes.onLegProgressed(event))
      return
    }
    if (watched) this.#known.set(id, { isJudged: true, isMissing: false })
    // Later events have the dial string only for legs without a caller.
    if (begins || event.dialString !== '') this.#judge(this.#legOf(event, trunk))
    else this.#reportUnseenStart(this.#legOf(event, trunk))
  }

  /** The leg cannot be hung up without its channel. A later event may name the channel and count it again. */
  onUnseenDial(dialString: string): void {
    const trunk = this.#deps.trunks.findByDialString(dialString)
    if (!trunk?.watch || this.#numberOf(dialString, trunk).kind === 'service-code') return
    this.#ungated.reportUnknownLeg(trunk, dialString)
  }

  /** From now on, the start of legs is missed. */
  onDisconnected(): void {
    this.#isComplete = false
  }

  /** Called for every channel that ends, watched or not. */
  onChannelEnded(channelId: string, cause: number, at: Instant): void {
    this.#known.delete(channelId)
    this.#runAfterPermitLookup(channelId, () =>
      this.#deps.legOutcomes.onLegEnded(channelId, cause, at),
    )
  }

  /**
   * Forgets legs that are missing in two consecutive lists; one is not enough, since a leg may be newer
   * than the list. Legs that started while disconnected have an unknown caller, so they are only
   * logged, neither counted nor hung up.
   */
  onResynchronized(channels: readonly AsteriskChannel[]): void {
    const present = new Set(channels.map(({ id }) => id))
    for (const [id, { isJudged, isMissing }] of this.#known) {
      if (isMissing && !present.has(id)) this.#known.delete(id)
      else this.#known.set(id, { isJudged, isMissing: !present.has(id) })
    }
    this.#deps.legOutcomes.onResynchronized(present)
    const unseen = channels.filter(
      (channel) => isDialedLeg(channel) && this.#isWatched(channel) && !this.#known.has(channel.id),
    )
    for (const { id } of unseen) this.#known.set(id, { isJudged: false, isMissing: false })
    this.#isComplete = true
    if (unseen.length > 0) this.#logUnjudged(unseen.length)
  }

  #isWatched(channel: AsteriskChannel): boolean {
    return this.#deps.trunks.findByChannel(channel.name)?.watch === true
  }

  #logUnjudged(count: number): void {
    const { server, log } = this.#deps
    log.warn('legs on watched trunks started while disconnected', { server, count })
  }

  #runAfterPermitLookup(channelId: string, act: () => void): void {
    const waiting = this.#pendingPermits.get(channelId)
    if (waiting) waiting.push(act)
    else act()
  }

  /** Not hung up, since it may be an emergency call. */
  #reportUnseenStart(leg: DialedLeg): void {
    if (!this.#isComplete) this.#logUnjudged(1)
    else this.#ungated.report(leg, 'begin-unseen')
  }

  #numberOf(dialString: string, trunk?: TrunkSettings, technology?: string): LegNumber {
    const { serviceCodes } = this.#deps
    return parseLegNumber(dialString, {
      dialPrefix: trunk?.dialPrefix ?? '',
      serviceCodes,
      technology,
    })
  }

  #legOf({ peer, caller, dialString, at }: DialEvent, trunk: TrunkSettings | undefined): DialedLeg {
    const number = this.#numberOf(dialString, trunk, peer.name.split('/', 1)[0])
    return { peer, caller, trunk, number, at, startedAt: Math.min(at, this.#deps.clock.now()) }
  }

  #judge(leg: DialedLeg): void {
    const { caller, trunk } = leg
    if (!caller) {
      this.#ungated.handle(leg, 'no-caller')
      return
    }
    const permit = readPermit(caller)
    if (permit !== undefined && !isUuid(permit)) this.#judgeWith(leg, permit)
    else if (trunk?.watch) void this.#judgeAfterPermitLookup(leg, caller.id, permit)
  }

  /**
   * For a Dial() that is not of the recipes, which takes one request per leg, and for a permit that was used over HTTP,
   * which is in the database. Delays its check.
   */
  async #judgeAfterPermitLookup(leg: DialedLeg, callerId: string, known?: string): Promise<void> {
    const pendingEvents: (() => void)[] = []
    this.#pendingPermits.set(leg.peer.id, pendingEvents)
    const permit = known ?? (await this.#fetchPermit(callerId))
    if (permit === undefined) this.#ungated.handle(leg, 'permit-unknown')
    else if (isUuid(permit)) await this.#judgeByUsedPermit(leg, callerId, permit)
    else this.#judgeWith(leg, permit)
    this.#pendingPermits.delete(leg.peer.id)
    for (const act of pendingEvents) act()
  }

  /** Empty when the channel has no permit; `undefined` when Asterisk does not answer. */
  async #fetchPermit(callerId: string): Promise<string | undefined> {
    const { server, actions, log } = this.#deps
    try {
      return (await actions.getVariable(callerId, permitVariable)) ?? ''
    } catch (cause) {
      const what = { server, callerChannelId: callerId, err: cause }
      log.warn('the permit of a channel could not be read from Asterisk', what)
      return undefined
    }
  }

  async #judgeByUsedPermit(leg: DialedLeg, channelId: string, id: string): Promise<void> {
    const { number, startedAt } = leg
    if (number.kind !== 'number') return this.#judgeWith(leg, id)
    const { server, claimUsedPermit, log } = this.#deps
    const usedAfter = startedAt - maxUseAgeMs
    try {
      const claim = { id, number: number.number, server, channelId, usedAfter }
      this.#judgeBy(leg, await claimUsedPermit(claim), id)
    } catch (cause) {
      log.warn('a permit could not be looked up', {
        server,
        callerChannelId: channelId,
        err: cause,
      })
      this.#ungated.handle(leg, 'permit-unknown')
    }
  }

  #judgeWith(leg: DialedLeg, permit: string): void {
    this.#judgeBy(leg, this.#decisionOf(leg, permit), permit)
  }

  #judgeBy(leg: DialedLeg, decisionId: string | undefined, permit: string): void {
    if (decisionId !== undefined) this.#deps.legOutcomes.onLegDialed(leg.peer, decisionId, leg.at)
    else this.#ungated.handle(leg, permit === '' ? 'no-permit' : ungatedReasonOf(leg.number))
  }

  #decisionOf({ caller, number, startedAt }: DialedLeg, permit: string): string | undefined {
    if (permit === '' || !caller || number.kind === 'unreadable') return undefined
    const dialed = number.kind === 'number' ? number.number : number.code
    const question = { channelId: caller.id, number: dialed, now: startedAt }
    return this.#deps.permits.verify(permit, question)?.decisionId
  }
}

/** Empty when the channel has no permit; `undefined` when the event does not say. */
function readPermit({ application, variables }: AsteriskChannel): string | undefined {
  return permitInDial.exec(application?.data ?? '')?.[1] ?? variables[permitVariable]
}

function ungatedReasonOf(number: LegNumber): UngatedReason {
  return number.kind === 'unreadable' ? 'number-unreadable' : 'permit-not-valid'
}

/** Dialed by Dial() or originated, as opposed to an incoming call on the trunk. */
function isDialedLeg({ application }: AsteriskChannel): boolean {
  return application?.name === 'AppDial' || application?.name === 'AppDial2'
}
