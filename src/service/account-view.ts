/**
 * One account as a request sees it: its time, its lists, its numbering plan and its calling hours.
 * A request looks its view up once and hands it down. There are two, one of every real account and
 * one of the sandbox, and nothing below a view asks again which account it is.
 */
import type { PhoneNumber } from '../domain/phone-number.js'
import type { NumberingPlan } from '../domain/place.js'
import type { Clock, Instant } from '../domain/time/clock.js'
import type { CallingHours } from './calling-hours/calling-hours.js'
import type { EbrRecord } from './consent/ebr-record.js'
import type { AccountLists } from './lists/list-facts.js'

export interface AccountView {
  /** Now as the account sees it; the sandbox may stand at an instant of its own. */
  readonly clock: Clock
  readonly numberingPlan: NumberingPlan
  readonly hours: CallingHours
  /** The do-not-call and litigator lists that speak for its numbers. */
  readonly lists: AccountLists
  /** Fixed facts that no request stored; only the sandbox has any. */
  readonly fixedFacts: FixedFacts | undefined
}

/** A stored row, even one that says "removed", wins over them. */
export interface FixedFacts {
  /** When a number was put on the internal list; `undefined` when it was not. */
  internalDncEntry(number: PhoneNumber): { readonly addedAt: Instant } | undefined
  /** Every number on the internal list. */
  internalDncNumbers(): Iterable<PhoneNumber>
  ebrRecord(number: PhoneNumber): EbrRecord | undefined
}

/** The views, for a subject that needs some of their parts. */
export type ViewOf<Part extends keyof AccountView> = (accountId: string) => Pick<AccountView, Part>
