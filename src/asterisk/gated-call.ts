/**
 * One call that waits in our application: its facts, its decision, and the decision handed over as
 * channel variables before the dialplan goes on. Each decision ends handed over or not carried out.
 */
import { longestDialed } from '../domain/call-fields.js'
import type { NotCarriedOut, OutcomeRecorder } from '../domain/call-outcome.js'
import type { Clock, Instant } from '../domain/clock.js'
import type { CallRequest, Decision, DeliverDecision } from '../domain/decision.js'
import type { EventLoopWatch } from '../domain/event-loop.js'
import { parseDialed } from '../domain/phone-number.js'
import type { Logger } from '../log.js'
import type { Metrics } from '../metrics.js'
import { AriError } from './ari-error.js'
import type { AsteriskActions, AsteriskChannel, DialplanPlace } from './asterisk-port.js'
import type { CallFacts, CallFactsReader } from './call-facts.js'
import { dialedOf } from './fact-arguments.js'
import type { Permits } from './permit.js'
import { noVerdict, verdictVariables } from './verdict-variables.js'

export interface CallTools {
  /** The Asterisk, by the name the settings give it. */
  readonly server: string
  readonly accountId: string
  readonly actions: AsteriskActions
  readonly gate: {
    judge(request: CallRequest, arrivedAtMs: number): Promise<DeliverDecision>
    refuse(request: CallRequest, detail: string): Decision
  }
  readonly facts: CallFactsReader
  /** Where blocked calls go on; after Stasis() when there is none. */
  readonly announcement: DialplanPlace | undefined
  readonly permits: Permits
  readonly clock: Clock
  /** Finds when the event of a call arrived. */
  readonly eventLoop: Pick<EventLoopWatch, 'earliestArrivalMs'>
  readonly serviceCodes: ReadonlySet<string>
  readonly outcomes: OutcomeRecorder
  readonly metrics: Pick<Metrics, 'callNotCarriedOut'>
  readonly log: Logger
}

/** `let-go`: the dialplan goes on; `stranded`: we are done, and the channel may wait still. */
export type CallState = 'under-way' | 'let-go' | 'stranded'

/** Why a decision did not reach its channel. */
interface Failure {
  readonly why: NotCarriedOut
  readonly error?: unknown
}

const channelLeft: Failure = { why: 'channel-left' }

export class GatedCall {
  readonly args: readonly string[]
  readonly #channel: AsteriskChannel
  readonly #dialed: string
  readonly #tools: CallTools
  readonly #arrivedAtMs: number
  #state: CallState = 'under-way'
  #left = false
  /** When Asterisk was told to go on: before its word that it has, and before any dialling. */
  #resumedAt: Instant | undefined

  constructor(tools: CallTools, channel: AsteriskChannel, args: readonly string[]) {
    this.#tools = tools
    this.#channel = channel
    this.args = args
    this.#dialed = dialedOf(args)
    this.#arrivedAtMs = tools.eventLoop.earliestArrivalMs()
  }

  get state(): CallState {
    return this.#state
  }

  /** The channel is in our application no more: no further action is tried. */
  leave(): void {
    this.#left = true
  }

  /** To the end of it; never rejects. Where calls are not taken, emergency calls alone still are. */
  async run(taking: boolean): Promise<void> {
    try {
      const emergency = this.#isEmergency()
      if (taking || emergency) {
        const deliver = await this.#judge(emergency)
        await this.#carryOut(deliver())
      } else await this.#handBack()
    } catch (cause) {
      this.#tools.log.error('a waiting call failed', { ...this.#shown(), err: cause })
      await this.#hangUp()
    } finally {
      if (this.#state === 'under-way') this.#state = 'stranded'
    }
  }

  #isEmergency(): boolean {
    return parseDialed(this.#dialed, this.#tools.serviceCodes).kind === 'service-code'
  }

  /** An emergency call passes whatever its arguments hold, so they are not looked at. */
  async #judge(emergency: boolean): Promise<DeliverDecision> {
    const { gate, facts, actions } = this.#tools
    const channel = this.#channel
    const judge = (of: CallFacts) => gate.judge(this.#request(of), this.#arrivedAtMs)
    if (emergency) return judge(facts.defaults)
    const reading = facts.read({
      args: this.args,
      channel,
      variable: (name) => actions.variable(channel.id, name),
    })
    const read = reading instanceof Promise ? await reading : reading
    if (read.refusal === undefined && !this.#left) return judge(read.facts)
    const why = read.refusal ?? 'the channel left before its facts were read'
    const refused = gate.refuse(this.#request(facts.defaults), why)
    return () => refused
  }

  #request(facts: CallFacts): CallRequest {
    const { accountId, server } = this.#tools
    return {
      accountId,
      dialed: this.#dialed.slice(0, longestDialed),
      callKind: facts.callKind,
      projectId: facts.projectId,
      campaignId: facts.campaignId,
      postalCode: facts.postalCode,
      callerId: facts.callerId,
      reference: facts.reference,
      channel: { server, id: this.#channel.id },
      via: 'asterisk',
    }
  }

  async #carryOut(decision: Decision): Promise<void> {
    const failure = await this.#handOver(decision)
    if (failure) return this.#notCarriedOut(decision, failure)
    this.#state = 'let-go'
    const handedOverAt = this.#resumedAt
    this.#tools.outcomes.note(decision.id, { state: 'handed-over', handedOverAt }, true)
  }

  async #handOver(decision: Decision): Promise<Failure | undefined> {
    if (this.#left) return channelLeft
    const { actions, announcement, clock } = this.#tools
    const allowed = decision.decision === 'allow'
    let sent = false
    try {
      const permit = allowed ? this.#permitFor(decision) : ''
      await actions.setVariables(this.#channel.id, verdictVariables(decision, permit))
      if (this.#left) return channelLeft
      if (allowed && clock.now() >= expiryOf(decision)) return { why: 'timed-out' }
      sent = true
      this.#resumedAt = clock.now()
      await actions.resume(this.#channel.id, allowed ? undefined : announcement)
      return undefined
    } catch (error) {
      return this.#failureOf(error, sent)
    }
  }

  #permitFor(decision: Decision): string {
    const { id, number } = decision
    const expiresAt = expiryOf(decision)
    const channelId = this.#channel.id
    return this.#tools.permits.issue({ channelId, number, decisionId: id, expiresAt })
  }

  /** A channel that left after it was let go has gone on, also when the answer was lost. */
  #failureOf(error: unknown, sent: boolean): Failure | undefined {
    const kind = error instanceof AriError ? error.kind : 'refused'
    if (sent && this.#left && kind === 'timed-out') return undefined
    if (this.#left || kind === 'gone') return channelLeft
    return { why: kind === 'refused' ? 'action-failed' : kind, error }
  }

  async #notCarriedOut(decision: Decision, { why, error }: Failure): Promise<void> {
    const { outcomes, metrics, clock, log, server } = this.#tools
    const notCarriedOutAt = clock.now()
    outcomes.note(
      decision.id,
      { state: 'not-carried-out', notCarriedOutAt, notCarriedOut: why },
      true,
    )
    metrics.callNotCarriedOut(server, why)
    const fields = { decisionId: decision.id, ...this.#shown(), why, err: error }
    if (why === 'channel-left') log.info('a decision was not carried out', fields)
    else log.warn('a decision was not carried out', fields)
    // While disconnected nothing can be done; the channel is taken over on connecting.
    if (why === 'action-failed' || why === 'timed-out') await this.#hangUp()
  }

  /** Undecided, for the dialplan to refuse or to ask another sidecar. */
  async #handBack(): Promise<void> {
    const { actions, log } = this.#tools
    try {
      await actions.setVariables(this.#channel.id, noVerdict)
      if (!this.#left) await actions.resume(this.#channel.id)
      this.#state = 'let-go'
      log.info('a call was handed back undecided', this.#shown())
    } catch (cause) {
      log.info('a call could not be handed back', { ...this.#shown(), err: cause })
    }
  }

  /** So that the caller need not wait for the time limit of the dialplan. */
  async #hangUp(): Promise<void> {
    if (this.#left) return
    const { actions, log } = this.#tools
    try {
      // What was told to go on may be talking by now, and then takes no variables any more.
      if (this.#resumedAt !== undefined) await actions.setVariables(this.#channel.id, noVerdict)
      if (!this.#left) await actions.hangup(this.#channel.id, 'congestion')
    } catch (cause) {
      log.debug('a waiting call could not be hung up', { ...this.#shown(), err: cause })
    }
  }

  #shown(): { readonly server: string; readonly channelId: string } {
    return { server: this.#tools.server, channelId: this.#channel.id }
  }
}

/** When an allow ends: told on the account's clock, which may be another than ours. */
function expiryOf({ decidedAt, validUntil, judgedAt }: Decision): Instant {
  return decidedAt + (validUntil - judgedAt)
}
