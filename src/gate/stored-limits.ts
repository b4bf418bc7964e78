/** What is stored about the calls of an account, read beside the checks and judged after them. */
import type { AbandonmentCounts } from '../domain/call-outcome.js'
import { noAbandonment } from '../domain/call-outcome.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { CallPurpose, CallRequest, Finding } from '../domain/decision.js'
import { type CallerIdRegister, noCallerIds, type Pauses } from '../domain/mandate.js'
import type { Instant, Timers } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import { judgeSubject } from './checks/attempts.js'
import { findShown, judgeCallerId, needsRegister } from './checks/caller-id.js'
import type { GateDeps } from './gate-deps.js'
import { awaitStored, findPlaces, judgeMandate } from './mandate.js'
import { judgeAbandonment } from './outcomes/abandonment.js'

/** Each is `undefined` if it could not be read. */
export interface StoredLimits {
  readonly pauses: Pauses | undefined
  readonly own: CallerIdRegister | undefined
  readonly abandoned: AbandonmentCounts | undefined
}

/** At once if all of it is known; never rejects. */
export function readStored(
  request: CallRequest,
  { pauses: inForce, callerIds, abandonment }: GateDeps,
  ms: { readonly ms: number; readonly timers: Timers },
): MaybePromise<StoredLimits> {
  const { accountId, callKind } = request
  const pauses = inForce.read()
  const own = needsRegister(request) ? callerIds.read(accountId, findShown(request)) : noCallerIds
  const abandoned = callKind === 'manual' ? noAbandonment : abandonment.read(accountId)
  const isKnown = !(
    pauses instanceof Promise ||
    own instanceof Promise ||
    abandoned instanceof Promise
  )
  if (isKnown) return { pauses, own, abandoned }
  return Promise.all([
    awaitStored(pauses, ms),
    awaitStored(own, ms),
    awaitStored(abandoned, ms),
  ]).then(([first, second, third]) => ({ pauses: first, own: second, abandoned: third }))
}

/** What the findings are judged by. */
interface StoredFacts {
  readonly number: string
  readonly purpose: CallPurpose
  readonly stored: StoredLimits
  readonly now: Instant
  readonly rules: GateDeps
}

/** The findings of the checks, after that on the limits of the key and before those on what else is stored. */
export function addStoredFindings(
  request: CallRequest,
  checked: readonly Finding[],
  facts: StoredFacts,
): readonly Finding[] {
  const { number, purpose, stored, now, rules } = facts
  const { pauses, abandoned } = stored
  const isUnlimited = request.mandate === undefined && pauses?.size === 0
  const country = isUnlimited ? undefined : rules.callingRules.findCountry(number)
  const mandate = isUnlimited
    ? undefined
    : judgeMandate(request, checked, { pauses, country, at: now })
  const hold = isUnlimited ? undefined : judgeHold(request, facts)
  const judged = hold ? checked.map((one) => (one.check === hold.check ? hold : one)) : checked
  let findings = mandate ? [mandate, ...judged] : judged
  // The subject of a call about a debt is the debt.
  if (request.subject !== undefined && purpose !== 'debt-collection') {
    findings = [...findings, ...judgeSubject(request, rules.settings, now)]
  }
  const shown = needsRegister(request) ? judgeShown(request, checked, facts) : undefined
  if (shown) findings = [...findings, shown]
  const rate = abandoned?.size === 0 ? undefined : judgeRate(request, checked, facts)
  return rate ? [...findings, rate] : findings
}

/** Replaces the finding on the internal list, since the number may belong on the list. */
function judgeHold(
  { accountId }: CallRequest,
  { number, stored: { pauses }, now }: StoredFacts,
): Finding | undefined {
  const held = pauses?.get(`held:${accountId}:${number}`)
  if (held === undefined) return undefined
  const { pausedAt, pausedBy: platform } = held
  const params = { at: formatInstant(pausedAt), platform }
  return {
    ...{
      check: 'internal-dnc',
      source: 'platform-events',
      verdict: 'deny',
      reason: 'internal-dnc',
    },
    ...{ says: [{ code: 'held-by-event', params }] },
    ...{ asOf: now, holdsUntil: Number.POSITIVE_INFINITY },
  }
}

function judgeShown(
  request: CallRequest,
  checked: readonly Finding[],
  { number, purpose, stored, now, rules }: StoredFacts,
): Finding | undefined {
  const { settings, callingRules } = rules
  return judgeCallerId(request, {
    number,
    own: stored.own,
    settings,
    now,
    findPresenceLaw: (callerId) => {
      const called = { number, purpose, places: findPlaces(checked) }
      return callingRules.callerIds.findPresenceLaw(callerId, called, request.at ?? now)
    },
  })
}

function judgeRate(
  request: CallRequest,
  checked: readonly Finding[],
  { number, purpose, stored, now, rules }: StoredFacts,
): Finding | undefined {
  const called = { number, purpose, places: findPlaces(checked) }
  const findLimits = (at: Instant) => rules.callingRules.abandonment.find(called, at)
  return judgeAbandonment(request, { counts: stored.abandoned, findLimits, now })
}
