/**
 * A repeated request (same Idempotency-Key) gets the first decision, unless the call is no longer allowed. The decision is stored under that key
 * before an allow is returned.
 */
import type { Caller } from '../domain/caller.js'
import type { MaybePromise } from '../domain/compliance.js'
import {
  type CallRequest,
  type Decision,
  type DecisionFinalizer,
  undecidedReasons,
} from '../domain/decision.js'
import type { Clock, Instant } from '../domain/time/clock.js'
import { parseInstant } from '../domain/time/dates.js'
import { AppError } from '../errors.js'
import type { Logger } from '../observability/log.js'
import type { Journal } from './journal/journal.js'
import type { WithAllow } from './pre-check-ruling.js'
import type { DecisionDocument, DecisionReply } from './record/decision-document.js'
import { toReply } from './record/describe-decision.js'
import { replyTo } from './record/write-record.js'

interface RepeatableCall {
  readonly idempotencyKey: string
  /** The whole content of the request. */
  readonly content: string
  readonly asked: CallRequest
}

/** Stores which decision belongs to which key. */
interface RequestStore {
  begin(caller: Caller, request: RepeatableCall): Promise<string | undefined>
  /** Rejects if it cannot be stored. */
  finish(caller: Caller, request: RepeatableCall, decisionId: string): Promise<void>
  replace(
    caller: Caller,
    request: RepeatableCall,
    ids: { readonly earlier: string; readonly decisionId: string },
  ): Promise<void>
  /** After this, the same request is decided anew. */
  forget(caller: Caller, request: RepeatableCall): Promise<void>
}

export interface RepeatedCallsDeps {
  readonly requests: RequestStore
  readonly gate: { recheck(call: CallRequest): MaybePromise<DecisionFinalizer> }
  readonly find: (accountId: string, id: string) => Promise<DecisionDocument | undefined>
  readonly journal: Pick<Journal, 'append'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
}

export interface RepeatedCall extends WithAllow {
  /**
   * The earlier decision, or the block that withdraws it; `undefined` if this is the first request. Throws `conflict` if the earlier decision
   * expired, was erased, or is still pending.
   */
  begin(): Promise<DecisionReply | undefined>
}

export class RepeatedCalls {
  readonly #deps: RepeatedCallsDeps

  constructor(deps: RepeatedCallsDeps) {
    this.#deps = deps
  }

  of(caller: Caller, call: RepeatableCall): RepeatedCall {
    const { requests } = this.#deps
    let isRemembered = false
    return {
      begin: () => this.#begin(caller, call),
      record: async ({ id }) => {
        await requests.finish(caller, call, id)
        isRemembered = true
        return undefined
      },
      left: ({ decision, reason, id }) => {
        if (decision === 'allow') return
        // The allow became a block, or there was no decision: the next request is decided anew.
        const isDecided = !isRemembered && !undecidedReasons.has(reason)
        const remembering = isDecided
          ? requests.finish(caller, call, id)
          : requests.forget(caller, call)
        remembering.catch(() => undefined)
      },
    }
  }

  async #begin(caller: Caller, call: RepeatableCall): Promise<DecisionReply | undefined> {
    const { requests, find, gate, clock } = this.#deps
    const id = await requests.begin(caller, call)
    if (id === undefined) return undefined
    const found = await find(caller.accountId, id)
    const name = `Idempotency-Key '${call.idempotencyKey}': its decision ${id}`
    if (found === undefined) throw new AppError('conflict', `${name} is not found`)
    // Without the number, the caller could not act on the decision.
    if (found.erased) throw new AppError('conflict', `${name} was erased; use a new key`)
    if (isOver(found, clock.now())) {
      throw new AppError('conflict', `${name} no longer allows the call; use a new key`)
    }
    const { outcome: _, ...answered } = found
    if (found.decision === 'block') return toReply(answered)
    // The facts may have changed since.
    const now = (await gate.recheck(call.asked))()
    if (now.decision === 'allow') return toReply(answered)
    return await this.#withdraw(caller, call, { id, now })
  }

  async #withdraw(
    caller: Caller,
    call: RepeatableCall,
    { id, now }: { readonly id: string; readonly now: Decision },
  ): Promise<DecisionReply> {
    const { requests, journal, log } = this.#deps
    const isDecided = !undecidedReasons.has(now.reason)
    const block = isDecided ? { ...now, withdraws: id, encoded: undefined } : now
    journal.append(block)
    if (isDecided) await requests.replace(caller, call, { earlier: id, decisionId: block.id })
    const { reason } = block
    log.warn('a repeated request is no longer allowed', { id, by: block.id, reason })
    return replyTo(block)
  }
}

/** Whether an allow has expired, or its call was already reported. */
function isOver({ decision, outcome, ...times }: DecisionDocument, now: Instant): boolean {
  if (decision === 'block') return false
  const [decidedAt, judgedAt, validUntil] = [times.decidedAt, times.judgedAt, times.validUntil].map(
    (text) => parseInstant(text) ?? 0,
  ) as [Instant, Instant, Instant]
  return outcome !== undefined || now >= decidedAt + validUntil - judgedAt
}
