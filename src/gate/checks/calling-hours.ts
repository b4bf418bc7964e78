/** Calls are placed only inside the lawful hours of every place the called party may be in. */
import { type LegalTime, when } from '../../domain/compliance.js'
import type { ReasonCode } from '../../domain/decision.js'
import type { PlaceSource } from '../../domain/place.js'
import { type Check, findingOf, type Judged } from './check.js'

export const callingHoursCheck: Check = {
  name: 'calling-hours',
  run: ({ askedAt, legalTime }) =>
    when(legalTime(), (asked) =>
      findingOf({ check: 'calling-hours', askedAt }, asked, ({ value }) => judge(value)),
    ),
}

function judge(answer: LegalTime): Judged {
  if (answer.status !== 'OK') {
    const reason = statusReasons[answer.status]
    return { verdict: 'deny', reason, detail: answer.message ?? answer.status }
  }
  const detail = `${answer.rule}${placeText(answer.placeSource)}`
  if (answer.permitted) return { verdict: 'pass', reason: 'permitted', detail }
  const reason = answer.restrictedDay === undefined ? 'outside-calling-hours' : 'restricted-day'
  const opensAt = answer.opensAt ?? Number.POSITIVE_INFINITY
  return { verdict: 'deny', reason, detail, opensAt }
}

const placeTexts: Readonly<Record<PlaceSource, string>> = {
  'postal-code': 'place by postal code',
  prefix: 'place by prefix',
  'area-code': 'place by area code alone',
}

/** Tells a reader how far the place can be trusted. */
function placeText(source: PlaceSource | undefined): string {
  return source === undefined ? '' : ` (${placeTexts[source]})`
}

const statusReasons: Readonly<Record<Exclude<LegalTime['status'], 'OK'>, ReasonCode>> = {
  INVALID_PHONE: 'invalid-number',
  INVALID_PROJECT: 'unknown-project',
  INVALID_DATE: 'check-unanswered',
  TOLL_FREE: 'toll-free',
  UNKNOWN_NXX: 'unknown-prefix',
}
