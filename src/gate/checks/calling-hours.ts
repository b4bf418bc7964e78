/** Calls are placed only within the lawful hours of every place the called party may be in. */
import type { LegalTime } from '../../domain/compliance.js'
import type { ReasonCode } from '../../domain/decision.js'
import type { PlaceSource } from '../../domain/place.js'
import type { Check } from './check.js'

export const callingHoursCheck: Check<'legalTime'> = {
  name: 'calling-hours',
  question: 'legalTime',
  judge({ value: legalTime }) {
    const { status, message, rule, placeSource, permitted, restrictedDay, opensAt } = legalTime
    if (status !== 'OK') {
      return { verdict: 'deny', reason: statusReasons[status], detail: message ?? status }
    }
    // Shows a reader how reliable the place is.
    const detail = placeSource === undefined ? rule : `${rule} (${placeTexts[placeSource]})`
    if (permitted) return { verdict: 'pass', reason: 'permitted', detail }
    return {
      verdict: 'deny',
      reason: restrictedDay === undefined ? 'outside-calling-hours' : 'restricted-day',
      detail,
      opensAt: opensAt ?? Number.POSITIVE_INFINITY,
    }
  },
}

const placeTexts: Readonly<Record<PlaceSource, string>> = {
  'postal-code': 'place by postal code',
  prefix: 'place by prefix',
  'area-code': 'place by area code alone',
}

const statusReasons: Readonly<Record<Exclude<LegalTime['status'], 'OK'>, ReasonCode>> = {
  INVALID_PHONE: 'invalid-number',
  INVALID_PROJECT: 'unknown-project',
  INVALID_DATE: 'check-unanswered',
  TOLL_FREE: 'toll-free',
  UNKNOWN_NXX: 'unknown-prefix',
}
