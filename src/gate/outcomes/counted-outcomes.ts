/** Counts attempts by what an Asterisk reports of their calls. */
import { type CallOutcome, findReach, type OutcomeRecorder } from '../../domain/call-outcome.js'
import type { AttemptReports, PlacedCall, ReportedAttempt } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { createSampledLine, type Logger } from '../../observability/log.js'

export interface CountedOutcomesDeps {
  readonly journal: OutcomeRecorder
  readonly reports: AttemptReports
  /** The attempts that this process has counted. */
  /** See {@link findReach}. */
  readonly findMinTalkMs: (at: Instant) => number
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
      message: 'what became of a call is recorded but not counted; its attempt counts as unknown',
      fields: (failure) => failure,
      max: 10,
      per: 'minute',
    })
  }

  record(decisionId: string, outcome: Partial<CallOutcome>, own: boolean): void {
    const { journal, attempts } = this.#deps
    journal.record(decisionId, outcome, own)
    const attempt = attempts.findCounted(decisionId)
    if (attempt === undefined) return
    this.#count(attempt, outcome).catch((err: unknown) => this.#logFailure({ decisionId, err }))
  }

  async #count(attempt: ReportedAttempt, outcome: Partial<CallOutcome>): Promise<void> {
    const { reports } = this.#deps
    if (outcome.state === 'not-carried-out') {
      if (stayed.has(outcome.notCarriedOut)) await reports.noteNotPlaced(attempt)
      return
    }
    const placed = readPlaced(outcome, this.#deps.findMinTalkMs(attempt.at))
    if (placed) await reports.notePlaced(attempt, placed)
  }
}

function readPlaced(outcome: Partial<CallOutcome>, minTalkMs: number): PlacedCall | undefined {
  const { state, dialledAt: dialedAt, failedAt, endedAt } = outcome
  const reach = findReach(outcome, minTalkMs)
  if (reach === undefined && state !== 'dialled') return undefined
  // The end of a leg is recorded with its state once more.
  const isCounted = endedAt !== undefined && failedAt === undefined && (reach === 2 || reach === 0)
  return isCounted ? undefined : { dialedAt, reach }
}
