/** What is stored about the calls of an account. */
import { nameCampaign } from '../domain/call-outcome.js'
import type { MaybePromise } from '../domain/compliance.js'
import { type CallRequest, checkNames } from '../domain/decision.js'
import type { PauseInForce, Pauses } from '../domain/mandate.js'
import { countries } from '../domain/place.js'
import type { Instant, Timers } from '../domain/time/clock.js'
import type { StoredFacts } from '../judge/facts.js'
import { findShown, needsRegister, selectCallerIds } from '../judge/rules/caller-id.js'
import { withTimeout } from '../runtime/runtime.js'
import type { GateDeps } from './gate-deps.js'
import type { Way } from './way.js'

interface StoredQuestion {
  readonly request: CallRequest
  readonly way: Way
  /** Ten digits. */
  readonly number: string
  /** Machine clock. */
  readonly now: Instant
}

interface Deadline {
  readonly ms: number
  readonly timers: Timers
}

/** At once if all of it is known; never rejects. */
export function readStored(
  question: StoredQuestion,
  deps: GateDeps,
  deadline: Deadline,
): MaybePromise<StoredFacts> {
  const { request, way, number, now } = question
  const { accountId, callKind } = request
  const pauses = readPauses(question, deps, deadline)
  const callerIds =
    way.hasCallerId && needsRegister(request)
      ? select(deps.callerIds.read(accountId, findShown(request)), deadline, (register) =>
          selectCallerIds(register, { call: request, number, now }),
        )
      : undefined
  const abandoned =
    callKind === 'manual'
      ? undefined
      : select(deps.abandonment.read(accountId), deadline, (counts) =>
          counts.get(nameCampaign(request)),
        )
  const isKnown = !(
    pauses instanceof Promise ||
    callerIds instanceof Promise ||
    abandoned instanceof Promise
  )
  if (isKnown) return { pauses, callerIds, abandoned }
  return Promise.all([pauses, callerIds, abandoned]).then(([first, second, third]) => ({
    pauses: first,
    callerIds: second,
    abandoned: third,
  }))
}

/** The pauses that can apply to the call; never rejects. */
export function readPauses(
  { request, number }: Pick<StoredQuestion, 'request' | 'number'>,
  { pauses }: Pick<GateDeps, 'pauses'>,
  deadline: Deadline,
): MaybePromise<StoredFacts['pauses']> {
  return select(pauses.read(), deadline, (inForce) => selectPauses(inForce, request, number))
}

function selectPauses(
  pauses: Pauses,
  { accountId, keyId }: CallRequest,
  number: string,
): readonly PauseInForce[] | undefined {
  if (pauses.size === 0) return undefined
  const subjects = [
    ...['ai', `ai:${accountId}`, `agents:${accountId}`, `held:${accountId}:${number}`],
    ...(keyId === undefined ? [] : [`key:${keyId}`]),
    ...countries.map((country) => `country:${country}:${accountId}`),
    ...checkNames.map((check) => `check:${check}:${accountId}`),
  ]
  const found = subjects.flatMap((subject) => {
    const pause = pauses.get(subject)
    return pause ? [{ subject, ...pause }] : []
  })
  return found.length === 0 ? undefined : found
}

/** `unread`, which blocks the call, if the read fails or is late. */
function select<Stored extends object, Selected>(
  stored: MaybePromise<Stored>,
  { ms, timers }: Deadline,
  choose: (stored: Stored) => Selected,
): MaybePromise<Selected | 'unread'> {
  if (!(stored instanceof Promise)) return choose(stored)
  const unread = () => 'unread' as const
  return withTimeout(stored.then(choose), ms, unread, { timers }).catch(unread)
}
