/**
 * One call waiting in callgate's application: reads its facts, decides, and hands the decision over as
 * channel variables before the dialplan continues. Each decision ends handed over or not carried out.
 */

import type { HandoverFailure, OutcomeRecorder } from '../../domain/call-outcome.js'
import type { MaybePromise } from '../../domain/compliance.js'
import type { CallRequest, Decision, DecisionFinalizer } from '../../domain/decision.js'
import { maxDialedLength } from '../../domain/decision.js'
import { parseDialString } from '../../domain/phone-number.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import type { Said } from '../../domain/words/words.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import type { EventLoopMonitor } from '../../runtime/runtime.js'
import type { AsteriskActions, AsteriskChannel, DialplanLocation } from '../asterisk-port.js'
import { AriError } from '../asterisk-port.js'
import type { PermitSigner } from '../permit.js'
import type { CallFacts, CallFactsReader } from './call-facts.js'
import { joinDialedArguments } from './fact-arguments.js'
import { createVerdictVariables, noVerdictVariables } from './verdict-variables.js'

export interface GatedCallDeps {
  /** Name of the Asterisk server in the settings. */
  readonly server: string
  readonly accountId: string
  readonly actions: AsteriskActions
  readonly gate: {
    judge(request: CallRequest, arrivedAtMs: number): MaybePromise<DecisionFinalizer>
    refuse(request: CallRequest, why: Said): Decision
  }
  readonly facts: CallFactsReader
  /** Where blocked calls continue; after Stasis() when undefined. */
  readonly announcementLocation: DialplanLocation | undefined
  readonly permits: PermitSigner
  readonly clock: Clock
  /** Determines when the event of a call arrived. */
  readonly eventLoop: Pick<EventLoopMonitor, 'earliestArrivalMs'>
  readonly serviceCodes: ReadonlySet<string>
  readonly outcomes: OutcomeRecorder
  readonly metrics: Pick<Metrics, 'countHandoverFailure'>
  readonly log: Logger
}

/** `released`: the dialplan continues; `stranded`: processing ended, but the channel may still wait. */
export type GatedCallState = 'in-progress' | 'released' | 'stranded'

/** Why a decision did not reach its channel. */
interface FailedHandover {
  readonly reason: HandoverFailure
  readonly error?: unknown
}

const channelLeft: FailedHandover = { reason: 'channel-left' }

export class GatedCall {
  readonly args: readonly string[]
  readonly #channel: AsteriskChannel
  readonly #dialed: string
  readonly #deps: GatedCallDeps
  readonly #arrivedAtMs: number
  #state: GatedCallState = 'in-progress'
  #hasLeft = false
  /** When the request to continue was sent, which is before any dialing. */
  #resumedAt: Instant | undefined

  constructor(deps: GatedCallDeps, channel: AsteriskChannel, args: readonly string[]) {
    this.#deps = deps
    this.#channel = channel
    this.args = args
    this.#dialed = joinDialedArguments(args)
    this.#arrivedAtMs = deps.eventLoop.earliestArrivalMs()
  }

  get state(): GatedCallState {
    return this.#state
  }

  /** The channel has left the application, so no further action is attempted. */
  markLeft(): void {
    this.#hasLeft = true
  }

  /** Processes the call; never rejects. Without `accepting`, only emergency calls are decided. */
  async run(accepting: boolean): Promise<void> {
    try {
      const emergency = this.#isEmergency()
      if (accepting || emergency) {
        const deliver = await this.#judge(emergency)
        await this.#carryOut(deliver())
      } else await this.#resumeUndecided()
    } catch (cause) {
      this.#deps.log.error('a waiting call failed', { ...this.#logFields(), err: cause })
      await this.#hangUp()
    } finally {
      if (this.#state === 'in-progress') this.#state = 'stranded'
    }
  }

  #isEmergency(): boolean {
    return parseDialString(this.#dialed, this.#deps.serviceCodes).kind === 'service-code'
  }

  /** Emergency calls are always allowed, so their arguments are not read. */
  async #judge(emergency: boolean): Promise<DecisionFinalizer> {
    const { gate, facts, actions } = this.#deps
    const channel = this.#channel
    const judge = (of: CallFacts) => gate.judge(this.#request(of), this.#arrivedAtMs)
    if (emergency) return judge(facts.defaults)
    const reading = facts.read({
      args: this.args,
      channel,
      getVariable: (name) => actions.getVariable(channel.id, name),
    })
    const read = reading instanceof Promise ? await reading : reading
    if (read.refusal === undefined && !this.#hasLeft) return judge(read.facts)
    const why: Said =
      read.refusal === undefined
        ? { code: 'channel-left' }
        : { code: 'invalid-fact', quote: read.refusal }
    const refused = gate.refuse(this.#request(facts.defaults), why)
    return () => refused
  }

  #request(facts: CallFacts): CallRequest {
    const { accountId, server } = this.#deps
    return {
      accountId,
      dialed: this.#dialed.slice(0, maxDialedLength),
      callKind: facts.callKind,
      purpose: facts.purpose,
      projectId: facts.projectId,
      campaignId: facts.campaignId,
      postalCode: facts.postalCode,
      callerId: facts.callerId,
      subject: facts.subject,
      personId: facts.personId,
      reference: facts.reference,
      trunk: facts.trunk,
      trace: facts.trace,
      channel: { server, id: this.#channel.id },
      via: 'asterisk',
    }
  }

  async #carryOut(decision: Decision): Promise<void> {
    const failure = await this.#handOver(decision)
    if (failure) return this.#recordHandoverFailure(decision, failure)
    this.#state = 'released'
    const handedOverAt = this.#resumedAt
    this.#deps.outcomes.record(decision.id, { state: 'handed-over', handedOverAt }, true)
  }

  async #handOver(decision: Decision): Promise<FailedHandover | undefined> {
    if (this.#hasLeft) return channelLeft
    const { actions, announcementLocation, clock } = this.#deps
    const allowed = decision.decision === 'allow'
    let sent = false
    try {
      const permit = allowed ? this.#signPermit(decision) : ''
      await actions.setVariables(this.#channel.id, createVerdictVariables(decision, permit))
      if (this.#hasLeft) return channelLeft
      if (allowed && clock.now() >= getAllowExpiry(decision)) return { reason: 'timed-out' }
      sent = true
      this.#resumedAt = clock.now()
      await actions.resume(this.#channel.id, allowed ? undefined : announcementLocation)
      return undefined
    } catch (error) {
      return this.#failureOf(error, sent)
    }
  }

  #signPermit(decision: Decision): string {
    const { id, number } = decision
    const expiresAt = getAllowExpiry(decision)
    const channelId = this.#channel.id
    return this.#deps.permits.sign({ channelId, number, decisionId: id, expiresAt })
  }

  /** A channel that left after the resume request has continued, even if the answer was lost. */
  #failureOf(error: unknown, sent: boolean): FailedHandover | undefined {
    const kind = error instanceof AriError ? error.kind : 'refused'
    if (sent && this.#hasLeft && kind === 'timed-out') return undefined
    if (this.#hasLeft || kind === 'gone') return channelLeft
    return { reason: kind === 'refused' ? 'action-failed' : kind, error }
  }

  async #recordHandoverFailure(
    decision: Decision,
    { reason, error }: FailedHandover,
  ): Promise<void> {
    const { outcomes, metrics, clock, log, server } = this.#deps
    const notCarriedOutAt = clock.now()
    outcomes.record(
      decision.id,
      { state: 'not-carried-out', notCarriedOutAt, notCarriedOut: reason },
      true,
    )
    metrics.countHandoverFailure(server, reason)
    const fields = { decisionId: decision.id, ...this.#logFields(), why: reason, err: error }
    if (reason === 'channel-left') log.info('a decision was not carried out', fields)
    else log.warn('a decision was not carried out', fields)
    // Nothing can be done while disconnected; the channel is taken over after reconnecting.
    if (reason === 'action-failed' || reason === 'timed-out') await this.#hangUp()
  }

  /** Returns the call undecided; the dialplan may refuse it or ask another sidecar. */
  async #resumeUndecided(): Promise<void> {
    const { actions, log } = this.#deps
    try {
      await actions.setVariables(this.#channel.id, noVerdictVariables)
      if (!this.#hasLeft) await actions.resume(this.#channel.id)
      this.#state = 'released'
      log.info('a call was handed back undecided', this.#logFields())
    } catch (cause) {
      log.info('a call could not be handed back', { ...this.#logFields(), err: cause })
    }
  }

  /** Hangs up, so that the caller does not wait for the time limit of the dialplan. */
  async #hangUp(): Promise<void> {
    if (this.#hasLeft) return
    const { actions, log } = this.#deps
    try {
      // A resumed channel may be in a call; setting variables then fails, so it is not hung up.
      if (this.#resumedAt !== undefined)
        await actions.setVariables(this.#channel.id, noVerdictVariables)
      if (!this.#hasLeft) await actions.hangup(this.#channel.id, 'congestion')
    } catch (cause) {
      log.debug('a waiting call could not be hung up', { ...this.#logFields(), err: cause })
    }
  }

  #logFields(): { readonly server: string; readonly channelId: string } {
    return { server: this.#deps.server, channelId: this.#channel.id }
  }
}

/** When an allow expires, converted from the account's clock to the machine's. */
function getAllowExpiry({ decidedAt, validUntil, judgedAt }: Decision): Instant {
  return decidedAt + (validUntil - judgedAt)
}
