/**
 * Whether the number that a call shows may be shown: 47 CFR 64.1601(e) has telemarketers transmit a number that can be called back,
 * 47 U.S.C. 227(e) and 47 CFR 64.1604 forbid a misleading one, as 16 CFR 310.4(a)(8) does for sales.
 */
import type { CallRequest, Finding } from '../domain/decision.js'
import { isPossibleNumber, type PhoneNumber, parseDialString } from '../domain/phone-number.js'
import type { Instant } from '../domain/time/clock.js'

const noCodes: ReadonlySet<string> = new Set()

/** The number of the North American plan that a caller ID is; `undefined` for anything else, and for a number that nobody can have. */
export function parseCallerId(text: string): PhoneNumber | undefined {
  const parsed = parseDialString(text, noCodes)
  return parsed.kind === 'nanp' && isPossibleNumber(parsed.number) ? parsed.number : undefined
}

/** What telephone systems give in place of a number that is withheld. */
const withheld = /^(?:sips?:)?(?:anonymous|restricted|private|unavailable|unknown)(?:@[\w.-]*)?$/i

/** Reserved for an expansion of the plan (N9X, 37X, 96X), so that no area code has them yet. */
const reservedAreaCode = /^(?:.9|37|96)/

/** Premium services, for which the person who calls back would pay. */
const premium = /^(?:900|\d{3}976)/

/**
 * The finding on what a call shows; `undefined` if there is nothing to object to. A call that shows no number is judged by
 * the register alone.
 */
export function judgeCallerId({ callerId }: CallRequest, at: Instant): Finding | undefined {
  if (callerId === undefined || isWithheld(callerId)) return undefined
  const number = parseCallerId(callerId)
  if (number === undefined || reservedAreaCode.test(number)) {
    return deny('is not a telephone number of the North American plan', at)
  }
  return premium.test(number) ? deny('is a premium number', at) : undefined
}

function isWithheld(callerId: string): boolean {
  const text = callerId.trim()
  return text === '' || withheld.test(text)
}

function deny(problem: string, at: Instant): Finding {
  return {
    check: 'caller-id',
    verdict: 'deny',
    reason: 'caller-id-invalid',
    detail: `what the call shows ${problem}; show a number of your own that can be called back`,
    source: 'caller-id',
    asOf: at,
    holdsUntil: Number.POSITIVE_INFINITY,
  }
}
