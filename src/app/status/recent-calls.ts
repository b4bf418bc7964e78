/** What the latest real calls of each account got: whether they could be allowed, and if not, why. */
import { sandboxAccountId } from '../../domain/caller.js'
import { reasons, undecidedReasons } from '../../domain/checks.js'
import type { CallRequest, Decision } from '../../domain/decision.js'
import type { Timers } from '../../domain/time/clock.js'
import { describeSaid } from '../../domain/words/words.js'
import { maskNumbers } from '../../observability/log.js'

/** Why most of the latest calls of an account were blocked, for people. */
export interface RecentFailure {
  readonly problem: string
  readonly fix: string
}

/** Gives what a call would get now, without a record or a count. */
type JudgeAgain = (request: CallRequest) => Promise<Pick<Decision, 'reason'>>

interface Outcomes {
  /** Calls by what they got. Each counts half as much as one that came a second later. */
  allowed: number
  failed: number
  /** Of the latest call. */
  atMs: number
  /** When the latest call was judged again. */
  judgedAgainAtMs: number
  failure: (RecentFailure & { readonly request: CallRequest | undefined }) | undefined
}

/** For calls that got an error before their account was known. */
const anyAccount = ''

/**
 * A server with too many calls still allows some, and without it the others would have more: it counts as
 * failing only when it allows fewer than one in sixteen.
 */
const overloadedWeight = 1 / 16

const idleMs = 1_000
const forgetErrorsAfterMs = 5_000

export class RecentCalls {
  readonly #timers: Pick<Timers, 'monotonicMs'>
  readonly #byAccount = new Map<string, Outcomes>()
  /** When a call was allowed last. */
  allowedAtMs = Number.NEGATIVE_INFINITY

  constructor(timers: Pick<Timers, 'monotonicMs'>) {
    this.#timers = timers
  }

  /** Takes note of a decision as it leaves. A call that is blocked for what it is says nothing about the server. */
  note(decision: Pick<Decision, 'accountId' | 'request' | 'reason' | 'findings' | 'says'>): void {
    const { accountId, request, reason, findings, says } = decision
    if (accountId === sandboxAccountId || request.at !== undefined) return
    if (reason === 'permitted') {
      this.allowedAtMs = this.#timers.monotonicMs()
      this.#count(accountId).allowed += 1
      if (this.#byAccount.has(anyAccount)) this.#count(anyAccount).allowed += 1
      return
    }
    const unknown = findings.find(({ verdict }) => verdict === 'unknown')
    const entry = reasons[reason]
    if (entry.kind !== 'fault' || unknown?.isRequestError) return
    const why =
      reason === 'check-unanswered' && unknown
        ? `${unknown.check}: ${describeSaid(unknown.says)}`
        : says && describeSaid(says)
    const outcomes = this.#count(accountId)
    outcomes.failed += reason === 'overloaded' ? overloadedWeight : 1
    outcomes.failure = {
      problem: `the latest calls got ${reason}${why === undefined ? '' : ` (${maskNumbers(why)})`}`,
      fix: entry.fix,
      request,
    }
  }

  /** Takes note of a call that got status 500 or 503 in place of a decision; its account, if it is known by then. */
  noteError(accountId: string | undefined): void {
    if (accountId === sandboxAccountId) return
    const outcomes = this.#count(accountId ?? anyAccount)
    outcomes.failed += 1
    const problem = 'the latest calls got an error (status 500 or 503) in place of a decision'
    outcomes.failure = { problem, fix: 'see the log of the server', request: undefined }
  }

  /**
   * Why calls of the account are blocked; `undefined` if most that could be were allowed. While no calls come, the last
   * one that failed is judged again.
   */
  find(accountId: string, judgeAgain: JudgeAgain): RecentFailure | undefined {
    for (const id of [anyAccount, accountId]) {
      const outcomes = this.#byAccount.get(id)
      if (!outcomes?.failure || outcomes.failed <= outcomes.allowed) continue
      this.#review(id, outcomes, judgeAgain)
      const { problem, fix } = outcomes.failure
      return { problem, fix }
    }
    return undefined
  }

  #count(accountId: string): Outcomes {
    const nowMs = this.#timers.monotonicMs()
    let outcomes = this.#byAccount.get(accountId)
    if (!outcomes) {
      outcomes = { allowed: 0, failed: 0, atMs: nowMs, judgedAgainAtMs: nowMs, failure: undefined }
      this.#byAccount.set(accountId, outcomes)
    }
    const kept = 0.5 ** ((nowMs - outcomes.atMs) / 1000)
    outcomes.allowed *= kept
    outcomes.failed *= kept
    outcomes.atMs = nowMs
    return outcomes
  }

  #review(id: string, outcomes: Outcomes, judgeAgain: JudgeAgain): void {
    const nowMs = this.#timers.monotonicMs()
    const { request } = outcomes.failure ?? {}
    if (request === undefined) {
      if (nowMs - outcomes.atMs >= forgetErrorsAfterMs) this.#byAccount.delete(id)
      return
    }
    if (nowMs - Math.max(outcomes.atMs, outcomes.judgedAgainAtMs) < idleMs) return
    outcomes.judgedAgainAtMs = nowMs
    const { atMs } = outcomes
    judgeAgain(request).then(
      ({ reason }) => {
        // It says nothing about a call that has come since it began.
        if (!undecidedReasons.has(reason) && outcomes.atMs === atMs) outcomes.failed = 0
      },
      () => undefined,
    )
  }
}
