/** What is stored about the calls of an account, read beside the checks and judged after them. */
import { noAbandonment } from '../domain/call-outcome.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { CallRequest, Finding } from '../domain/decision.js'
import { noCallerIds } from '../domain/mandate.js'
import type { Timers } from '../domain/time/clock.js'
import { formatDay, toUtcDay } from '../domain/time/dates.js'
import type { Judged, Rule, StoredFacts } from '../judge/judged.js'
import { abandonmentRule } from '../judge/rules/abandonment.js'
import { callerIdRule, findShown, needsRegister } from '../judge/rules/caller-id.js'
import { keyRegionsRule } from '../judge/rules/key.js'
import { pausesRule } from '../judge/rules/pauses.js'
import { subjectRule } from '../judge/rules/subject.js'
import { withTimeout } from '../runtime/runtime.js'
import type { GateDeps } from './gate-deps.js'

/** At once if all of it is known; never rejects. */
export function readStored(
  request: CallRequest,
  { pauses: inForce, callerIds, abandonment }: GateDeps,
  ms: { readonly ms: number; readonly timers: Timers },
): MaybePromise<StoredFacts> {
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

/** Never rejects; what is not read in `ms` is unknown, which blocks. */
export function awaitStored<Stored extends object>(
  stored: MaybePromise<Stored>,
  { ms, timers }: { readonly ms: number; readonly timers: Timers },
): MaybePromise<Stored | undefined> {
  if (!(stored instanceof Promise)) return stored
  const unknown = () => undefined
  return withTimeout(stored, ms, unknown, { timers }).catch(unknown)
}

/** The findings of the checks, after that on the limits of the key and before those on what else is stored. */
export function addStoredFindings(checked: readonly Finding[], about: Judged): readonly Finding[] {
  const { call, stored } = about
  const isUnlimited = call.mandate === undefined && stored.pauses?.size === 0
  const key = isUnlimited ? undefined : (pausesRule.judge(about) ?? keyRegionsRule.judge(about))
  const hold = isUnlimited ? undefined : judgeHold(about)
  const judged = hold ? checked.map((one) => (one.check === hold.check ? hold : one)) : checked
  let findings = key ? [key, ...judged] : judged
  for (const rule of lastRules) {
    const found = rule.judge(about)
    if (found) findings = [...findings, found]
  }
  return findings
}

const lastRules: readonly Rule[] = [subjectRule, callerIdRule, abandonmentRule]

/** Replaces the finding on the internal list, since the number may belong on the list. */
function judgeHold({ call: { accountId }, number, stored, now }: Judged): Finding | undefined {
  const held = stored.pauses?.get(`held:${accountId}:${number}`)
  if (held === undefined) return undefined
  const { pausedAt, pausedBy: platform } = held
  const params = { on: formatDay(toUtcDay(pausedAt)), platform }
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
