/**
 * What differs between real accounts and the sandbox: clock, lists, numbering plan, calling hours and
 * fixed facts. There are two views, one shared by all real accounts and one for the sandbox. A request
 * looks up its view once and passes it down, so nothing below checks the account again, and a reload,
 * which replaces the views, does not change the rules under a request in progress.
 */
import type { PhoneNumber } from '../domain/phone-number.js'
import type { NumberingPlan } from '../domain/place.js'
import type { Clock, Instant } from '../domain/time/clock.js'
import type { CallingRules } from '../law/calling-rules.js'
import type { EbrRecord } from '../law/records/ebr-record.js'
import type { CallingHours } from './calling-hours/calling-hours.js'
import type { AccountLists } from './lists/list-facts.js'

export interface AccountView {
  /** The account's current time; the sandbox may be set to a fixed instant. */
  readonly clock: Clock
  readonly numberingPlan: NumberingPlan
  readonly hours: CallingHours
  readonly law: CallingRules
  /** The do-not-call and litigator lists that its numbers are checked against. */
  readonly lists: AccountLists
  /** Built-in facts that were never stored by a request; only the sandbox has any. */
  readonly fixedFacts: FixedFacts | undefined
}

/** The sandbox's built-in facts. A stored row overrides them, even one marked as removed. */
export interface FixedFacts {
  /** When a number was put on the internal list; `undefined` when it was not. */
  internalDncEntry(number: PhoneNumber): { readonly addedAt: Instant } | undefined
  /** Every number on the internal list. */
  internalDncNumbers(): Iterable<PhoneNumber>
  ebrRecord(number: PhoneNumber): EbrRecord | undefined
}

/** Looks up the account's view, restricted to the parts that a service needs. */
export type ViewOf<Part extends keyof AccountView> = (accountId: string) => Pick<AccountView, Part>
