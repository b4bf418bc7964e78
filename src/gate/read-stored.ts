/** What is stored about the calls of an account. */
import { noAbandonment } from '../domain/call-outcome.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { CallRequest } from '../domain/decision.js'
import { noCallerIds } from '../domain/mandate.js'
import type { Timers } from '../domain/time/clock.js'
import type { StoredFacts } from '../judge/judged.js'
import { findShown, needsRegister } from '../judge/rules/caller-id.js'
import { withTimeout } from '../runtime/runtime.js'
import type { GateDeps } from './gate-deps.js'
import type { Way } from './way.js'

/** At once if all of it is known; never rejects. */
export function readStored(
  { request, way }: { readonly request: CallRequest; readonly way: Way },
  { pauses: inForce, callerIds, abandonment }: GateDeps,
  ms: { readonly ms: number; readonly timers: Timers },
): MaybePromise<StoredFacts> {
  const { accountId, callKind } = request
  const pauses = inForce.read()
  const isShown = way.hasCallerId && needsRegister(request)
  const own = isShown ? callerIds.read(accountId, findShown(request)) : noCallerIds
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
