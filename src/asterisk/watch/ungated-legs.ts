/** Handles legs without a valid permit: counts, logs and, if configured, hangs them up. */
import type { TrunkSettings } from '../../config/settings.js'
import { maskNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import type { AsteriskActions, AsteriskChannel } from '../asterisk-port.js'
import type { LegNumber } from './leg-number.js'

/**
 * Why a leg has no valid permit. `permit-not-valid`: forged, expired, or issued for another channel or
 * number; `permit-unknown`: Asterisk did not return the variable of the channel, or the database not the permit; `begin-unseen`: the
 * start of dialing was missed, so the caller is unknown.
 */
export type UngatedReason =
  | 'no-caller'
  | 'no-permit'
  | 'permit-not-valid'
  | 'permit-unknown'
  | 'number-unreadable'
  | 'begin-unseen'

/** A leg at its first event, with the data needed to check it. */
export interface DialedLeg {
  readonly peer: AsteriskChannel
  readonly caller: AsteriskChannel | undefined
  readonly trunk: TrunkSettings | undefined
  readonly number: LegNumber
  /** Asterisk's time of the event, for the record. */
  readonly at: Instant
  /**
   * The earlier of Asterisk's time and this machine's, for the expiry of permits. After a pause of this
   * process events are read late, and allowed calls must not be hung up for that. The originator of a
   * call cannot influence either time.
   */
  readonly startedAt: Instant
}

export interface UngatedLegsDeps {
  /** Name of the server in the settings. */
  readonly server: string
  /** Whether to hang up, for trunks without their own setting. */
  readonly enforce: boolean
  readonly actions: Pick<AsteriskActions, 'hangup'>
  readonly metrics: Pick<Metrics, 'countUngatedCall'>
  readonly log: Logger
}

export class UngatedLegReporter {
  readonly #deps: UngatedLegsDeps

  constructor(deps: UngatedLegsDeps) {
    this.#deps = deps
  }

  /** Ignores emergency calls, which need no permit, and trunks that are not watched. */
  handle(leg: DialedLeg, why: UngatedReason): void {
    const { trunk, number } = leg
    if (!trunk?.watch || number.kind === 'service-code') return
    if (trunk.enforce ?? this.#deps.enforce) void this.#hangUp(leg, why)
    else this.report(leg, why)
  }

  /** Counts and logs a leg, with the result of hanging it up. */
  report(
    leg: DialedLeg,
    why: UngatedReason,
    result: EnforcementResult = { enforced: false, hungUp: false },
  ): void {
    const { server, metrics, log } = this.#deps
    const { peer, caller, number } = leg
    const trunk = leg.trunk?.name ?? ''
    metrics.countUngatedCall({ server, trunk, hungUp: result.hungUp })
    // Error if the call continues, since someone must act; warning if it was hung up.
    log[result.hungUp ? 'warn' : 'error']('a leg on a watched trunk has no permit', {
      server,
      trunk,
      channelId: peer.id,
      channel: peer.name,
      callerChannelId: caller?.id,
      number: number.kind === 'number' ? maskNumber(number.number) : undefined,
      why,
      ...result,
    })
  }

  /** Counts and logs a leg whose channel is unknown. */
  reportUnknownLeg(trunk: TrunkSettings, dialString: string): void {
    const { server, metrics, log } = this.#deps
    metrics.countUngatedCall({ server, trunk: trunk.name, hungUp: false })
    log.error(
      'a leg on a watched trunk cannot be checked, since Asterisk does not report its channel',
      {
        server,
        trunk: trunk.name,
        dialString,
      },
    )
  }

  async #hangUp(leg: DialedLeg, why: UngatedReason): Promise<void> {
    try {
      await this.#deps.actions.hangup(leg.peer.id, 'rejected')
      this.report(leg, why, { enforced: true, hungUp: true })
    } catch (cause) {
      this.report(leg, why, { enforced: true, hungUp: false, err: cause })
    }
  }
}

interface EnforcementResult {
  readonly enforced: boolean
  readonly hungUp: boolean
  readonly err?: unknown
}
