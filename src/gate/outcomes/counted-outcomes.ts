/** Counts attempts, and how long calls rang that nobody answered, by what an Asterisk reports. */
import {
  type CallOutcome,
  findReach,
  findRing,
  type OutcomeRecorder,
} from '../../domain/call-outcome.js'
import type { PlacedCall, ReportedAttempt } from '../../domain/mandate.js'
import { createSampledLine, type Logger } from '../../observability/log.js'
import { countRing, type ReportCounters, readRecorded } from '../journal/reports/outcome-reports.js'
import type { DecisionDocument } from '../record/decision-document.js'

export interface CountedOutcomesDeps {
  readonly journal: OutcomeRecorder
  readonly counters: ReportCounters
  /** Of this process, with what is recorded of its call. */
  readonly findDecision: (id: string) => DecisionDocument | undefined
  /** The attempts that this process has counted. */
  readonly attempts: { findCounted(decisionId: string): ReportedAttempt | undefined }
  readonly log: Logger
}

/** The call cannot have left by these: it needs the verdict that did not reach its channel. */
const stayed: ReadonlySet<CallOutcome['notCarriedOut']> = new Set(['channel-left', 'action-failed'])

export class CountedOutcomes implements OutcomeRecorder {
  readonly #deps: CountedOutcomesDeps
  readonly #logFailure: (failure: { readonly decisionId: string; readonly err: unknown }) => void

  constructor(deps: CountedOutcomesDeps) {
    this.#deps = deps
    this.#logFailure = createSampledLine(deps.log, {
      level: 'warn',
      message: 'what became of a call is recorded but not counted; an attempt counts as unknown',
      fields: (failure) => failure,
      max: 10,
      per: 'minute',
    })
  }

  record(decisionId: string, outcome: Partial<CallOutcome>, own: boolean): void {
    const { journal, attempts } = this.#deps
    journal.record(decisionId, outcome, own)
    const onFailure = (err: unknown) => this.#logFailure({ decisionId, err })
    // The event of its end has the cause. Most calls did not ring unanswered.
    if (outcome.endedAt !== undefined && findRing(outcome))
      this.#countRing(decisionId).catch(onFailure)
    const attempt = attempts.findCounted(decisionId)
    if (attempt) this.#count(attempt, outcome).catch(onFailure)
  }

  async #countRing(decisionId: string): Promise<void> {
    const { findDecision, counters } = this.#deps
    const document = findDecision(decisionId)
    if (document) await countRing(document, readRecorded(document), counters)
  }

  async #count(attempt: ReportedAttempt, outcome: Partial<CallOutcome>): Promise<void> {
    const { attempts: reports, getCallingRules } = this.#deps.counters
    if (outcome.state === 'not-carried-out') {
      if (stayed.has(outcome.notCarriedOut)) await reports.noteNotPlaced(attempt)
      return
    }
    const placed = readPlaced(outcome, getCallingRules().findMinTalkMs(attempt.at))
    if (placed) await reports.notePlaced(attempt, placed)
  }
}

function readPlaced(outcome: Partial<CallOutcome>, minTalkMs: number): PlacedCall | undefined {
  const { state, dialledAt: dialedAt, failedAt, endedAt } = outcome
  const reach = findReach(outcome, minTalkMs)
  if (reach === undefined && state !== 'dialled') return undefined
  // The end of a leg that had failed or been answered before repeats it.
  const isCounted = endedAt !== undefined && failedAt !== endedAt && (reach === 2 || reach === 0)
  return isCounted ? undefined : { dialedAt, reach }
}
