/**
 * Facts an account has without anyone having written them: the sandbox's fixed numbers. A stored
 * row, even one that says "removed", wins over them.
 */
import type { Instant } from '../domain/clock.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import type { EbrRecord } from './consent/consent.js'

/** Nothing is said of accounts and numbers it does not know. */
export interface FactsOverlay {
  internalDncEntry(
    accountId: string,
    number: PhoneNumber,
  ): { readonly addedAt: Instant } | undefined
  internalDncNumbers(accountId: string): Iterable<PhoneNumber>
  ebrRecord(accountId: string, number: PhoneNumber): EbrRecord | undefined
}

/** The overlay of a service without a sandbox. */
export const noOverlay: FactsOverlay = {
  internalDncEntry: () => undefined,
  internalDncNumbers: () => [],
  ebrRecord: () => undefined,
}
