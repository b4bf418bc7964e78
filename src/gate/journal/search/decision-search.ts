/**
 * The search for decisions, which the index of a journal and PostgreSQL implement. It goes by id, newest first: an id is unique,
 * never changes, and begins with its instant, so pages neither skip nor repeat while decisions are recorded, nor when a clock
 * goes back.
 */
import type { Caller } from '../../../domain/caller.js'
import type { Instant } from '../../../domain/time/clock.js'
import type { DecisionDocument } from '../../record/decision-document.js'

/** All that are present must be met. Texts are as in the {@link DecisionDocument}, and compared as they are. */
export interface DecisionFilter {
  /** Ten digits, or a service code. */
  readonly number?: string | undefined
  /** The id begins with an instant at or after this one. */
  readonly from?: Instant | undefined
  /** The id begins with an instant before this one. */
  readonly to?: Instant | undefined
  readonly decision?: DecisionDocument['decision'] | undefined
  readonly reason?: string | undefined
  readonly callKind?: string | undefined
  /**
   * As `parseProjectCode` gives it; that of a decision is compared in the same form. One without project and campaign is of
   * the Master Project, whose code is the id of the account.
   */
  readonly projectId?: string | undefined
  readonly via?: string | undefined
  readonly reference?: string | undefined
  readonly keyId?: string | undefined
}

export interface SearchRequest {
  /** Only the decisions of its account are found, and only of projects and kinds of call that its key may use. */
  readonly caller: Pick<Caller, 'accountId' | 'keyId' | 'limits'>
  readonly filter: DecisionFilter
  /** Only decisions whose ids are less than this one: {@link SearchPage.next} of the page before. */
  readonly before?: string | undefined
  /** The most decisions in the answer. */
  readonly limit: number
}

export interface SearchPage {
  /**
   * Newest first, with the outcome of the call, without what-ifs. Fewer than the limit, or none, if more would have taken too
   * long; then `next` is present.
   */
  readonly decisions: readonly DecisionDocument[]
  /** Where the next page begins; absent after the last one. */
  readonly next?: string | undefined
  /** Every decision after this instant was searched; present if and only if `next` is. */
  readonly searchedBackTo?: Instant | undefined
  /** Of the decisions recorded before this instant, none is missing; later ones may be. */
  readonly completeUntil: Instant
  /** Decisions from before this instant were removed; absent if none were. */
  readonly removedBefore?: Instant | undefined
}

export interface DecisionSearch {
  /** Examines so few rows that an answer takes some milliseconds. Rejects with `not-available` if it cannot tell. */
  search(request: SearchRequest): Promise<SearchPage>
}
