/**
 * One kept answer and the instants that bound its use. Pure rules of time: what is kept where, and
 * who is asked, is left to `answer-shelf.ts`.
 */
import type { Instant } from '../domain/clock.js'
import type { Answered } from '../domain/compliance.js'
import { wholeHoldsUntil } from './whole-answer.js'

export interface CacheSettings {
  /** Numbers kept per question; 0 keeps nothing. */
  readonly maxEntries: number
  readonly allowMs: number
  readonly blockMs: number
  /** An answer used so shortly before its end is asked anew in the background; 0 means never. */
  readonly refreshAheadMs: number
}

export interface KeptAnswer<T> {
  readonly answer: Answered<T>
  /** When the question was put: ages count from here, so a slow answer is no younger for it. */
  readonly from: Instant
  /** Fresh before this instant. */
  readonly until: Instant
  readonly holdsUntil: Instant
  /** When it was kept, on the clock that never jumps: set back, the other one makes nothing young. */
  readonly keptMs: number
  /** A use from then on asks anew; moves on with each asking. */
  refreshFrom: Instant
}

/** Now on both clocks. */
export interface Moment {
  /** By the account's clock. */
  readonly now: Instant
  readonly monotonicMs: number
}

/** An answer that is used all the time is asked anew no more often than that. */
const refreshGapMs = 10_000

/** `forbids` says whether nobody who answered permits any kind of call. */
export function keptAnswer<T>(
  answer: Answered<T>,
  made: {
    readonly from: Instant
    readonly keptMs: number
    readonly forbids: boolean
    readonly settings: CacheSettings
  },
): KeptAnswer<T> {
  const { from, keptMs, forbids, settings } = made
  const holdsUntil = wholeHoldsUntil(answer)
  const until = Math.min(from + (forbids ? settings.blockMs : settings.allowMs), holdsUntil)
  const refreshFrom = refreshStart({ from, until, holdsUntil }, settings.refreshAheadMs)
  return { answer, from, until, holdsUntil, keptMs, refreshFrom }
}

type Span = Pick<KeptAnswer<unknown>, 'from' | 'until' | 'holdsUntil'>
type Aged = Span & Pick<KeptAnswer<unknown>, 'keptMs'>

/** A clock that was set back makes an answer one of the future. */
export function isFresh({ from, until, keptMs }: Aged, { now, monotonicMs }: Moment): boolean {
  return now >= from && now < until && monotonicMs - keptMs < until - from
}

/**
 * An answer whose own end comes before its age does not live longer for being asked again, since
 * the source would name the same end; nothing needs to be fresh for more than half its life.
 */
export function staysFresh(aged: Aged, moment: Moment, freshForMs: number): boolean {
  const { from, until, holdsUntil } = aged
  if (!isFresh(aged, moment)) return false
  return until === holdsUntil || until - moment.now >= Math.min(freshForMs, (until - from) / 2)
}

/** Never for an answer whose own end comes first, as in {@link staysFresh}. */
function refreshStart({ from, until, holdsUntil }: Span, aheadMs: number): Instant {
  if (aheadMs === 0 || until === holdsUntil) return Number.POSITIVE_INFINITY
  const lifeMs = until - from
  const start = lifeMs < 2 * aheadMs ? until - lifeMs / 4 : until - aheadMs
  return Math.max(start, from + refreshGapMs)
}

/** To be said when it is being asked anew, so that it is not again with every use. */
export function putOffRefresh(kept: KeptAnswer<unknown>, now: Instant): void {
  kept.refreshFrom = now + refreshGapMs
}

/**
 * Whether an answer that permits may be given while its source is silent: for a while, and never to
 * a clock that was set back. One that forbids is kept apart (`known-noes.ts`).
 */
export function mayStandIn(
  { from, until, holdsUntil, keptMs }: Aged,
  { now, monotonicMs }: Moment,
  staleForMs: number,
): boolean {
  const lastsMs = until - from + staleForMs
  const isYoung = now < until + staleForMs && monotonicMs - keptMs < lastsMs
  return now >= from && now < holdsUntil && isYoung
}
