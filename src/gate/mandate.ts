/** Whether a key may ask for this call at all, and whether an operator has paused such calls. */
import { canUseScope } from '../domain/caller.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { CallRequest, Finding, ReasonCode, Verdict } from '../domain/decision.js'
import type { Mandate, Pause, Pauses } from '../domain/mandate.js'
import { readCallerId } from '../domain/phone-number.js'
import type { CandidatePlace, Country } from '../domain/place.js'
import type { Instant, LocalDay, Timers } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import { toLocalTime } from '../domain/time/time-zones.js'
import { withTimeout } from '../runtime/runtime.js'

type Judgment = Pick<Finding, 'verdict' | 'reason' | 'detail' | 'opensAt'>

/**
 * The `mandate` finding that refuses a call because of what it says, before anything is looked up: the answers about
 * another project are not for this key.
 */
export function refuseByMandate(request: CallRequest, at: Instant): Finding | undefined {
  const { mandate } = request
  if (mandate === undefined) return undefined
  const judgment =
    judgeKind(request, mandate) ?? judgeScope(request, mandate) ?? judgeCallerId(request, mandate)
  return judgment && createMandateFinding(judgment, at)
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

/**
 * The `mandate` finding of a call that was not refused before; `undefined` if nothing limits the key and nothing of the call
 * is paused. `findings` are those of the checks, which say where the called person may be. `pauses` is `undefined` if they
 * could not be read, and `country` for a number of neither country.
 */
export function judgeMandate(
  request: CallRequest,
  findings: readonly Finding[],
  { pauses, country, at }: PausedCall & { readonly at: Instant },
): Finding | undefined {
  const judgment = judgePauses(request, { pauses, country }) ?? judgeRest(request, findings)
  return judgment && createMandateFinding(judgment, at)
}

export function createMandateFinding(judgment: Judgment, at: Instant): Finding {
  const holdsUntil = Number.POSITIVE_INFINITY
  return { check: 'mandate', source: 'keys', asOf: at, holdsUntil, ...judgment }
}

interface PausedCall {
  readonly pauses: Pauses | undefined
  readonly country: Country | undefined
}

function judgePauses(request: CallRequest, { pauses, country }: PausedCall): Judgment | undefined {
  if (pauses === undefined) {
    const detail = 'whether calls are paused could not be read'
    return { verdict: 'unknown', reason: 'check-unanswered', detail }
  }
  if (pauses.size === 0) return undefined
  const { accountId, keyId, mandate, callKind } = request
  const ai = callKind === 'ai' ? (pauses.get('ai') ?? pauses.get(`ai:${accountId}`)) : undefined
  if (ai) return deny('ai-paused', describePause(ai))
  const key = keyId === undefined ? undefined : pauses.get(`key:${keyId}`)
  if (key) return deny('key-paused', describePause(key))
  const agents = mandate && isAgent(mandate) ? pauses.get(`agents:${accountId}`) : undefined
  if (agents) return deny('key-paused', `all agents of the account are, ${describePause(agents)}`)
  const uncalled = country && pauses.get(`country:${country}:${accountId}`)
  return (
    uncalled &&
    deny('foreign-number', `the account does not call ${country}, ${describePause(uncalled)}`)
  )
}

/** A key for AI calls alone. */
const isAgent = ({ callKinds }: Mandate) =>
  callKinds !== 'any' && callKinds.size === 1 && callKinds.has('ai')

const describePause = ({ pausedAt, pausedBy, because }: Pause) =>
  `since ${formatInstant(pausedAt)} by ${pausedBy}: ${because}`

function judgeRest({ mandate }: CallRequest, findings: readonly Finding[]): Judgment | undefined {
  if (mandate === undefined) return undefined
  const detail = `within version ${mandate.version} of the limits of the key`
  return judgeRegions(findings, mandate) ?? { verdict: 'pass', reason: 'permitted', detail }
}

function judgeKind({ callKind }: CallRequest, { callKinds }: Mandate): Judgment | undefined {
  if (callKinds === 'any' || callKinds.has(callKind)) return undefined
  return deny('key-kind', `it is limited to ${[...callKinds].join(', ')}, not ${callKind}`)
}

function judgeScope(request: CallRequest, mandate: Mandate): Judgment | undefined {
  const { accountId, campaignId = '' } = request
  const { projects, campaigns } = mandate
  if (!canUseScope({ accountId, limits: mandate }, request)) {
    const codes = projects === 'any' ? '' : [...projects.codes].join(', ')
    return deny('key-project', `it is limited to the projects ${codes}; name one of them`)
  }
  if (campaigns === 'any' || campaigns.has(Number(campaignId.trim() || Number.NaN)))
    return undefined
  return deny('key-project', `it is limited to the campaigns ${[...campaigns].join(', ')}`)
}

function judgeCallerId({ callerId }: CallRequest, mandate: Mandate): Judgment | undefined {
  const { callerIds } = mandate
  if (callerIds === 'any') return undefined
  const parsed = readCallerId(callerId)
  if (parsed === undefined) return deny('key-caller-id', 'it must name the caller ID')
  if ('problem' in parsed) return deny('key-caller-id', `the caller ID ${parsed.problem}`)
  if (callerIds === 'valid' || callerIds.has(parsed.number)) return undefined
  return deny('key-caller-id', 'the caller ID is not one of its own')
}

/** Every place where the called person may be must be in one of the regions. */
function judgeRegions(findings: readonly Finding[], { regions }: Mandate): Judgment | undefined {
  if (regions === 'any') return undefined
  const found = findPlaces(findings).map(({ region }) => region)
  if (found.length === 0) return deny('key-region', 'the region of the number is not known')
  const other = found.find((region) => !regions.has(region))
  if (other === undefined) return undefined
  return deny('key-region', `${other} is not one of ${[...regions].join(', ')}`)
}

/** A region where the called person may be, and the local day there. */
export interface RegionDay {
  readonly region: string
  readonly day: LocalDay
}

export function findRegionDays(findings: readonly Finding[], at: Instant): readonly RegionDay[] {
  return findPlaces(findings).map(({ region, zone }) => ({
    region,
    day: toLocalTime(zone, at).day,
  }))
}

/** Where the called person may be, by the finding on calling hours. */
export function findPlaces(findings: readonly Finding[]): readonly CandidatePlace[] {
  const { places = [], parts = [] } = findings.find(({ check }) => check === 'calling-hours') ?? {}
  return parts.length === 0 ? places : parts.flatMap((part) => part.places ?? [])
}

function deny(reason: ReasonCode, detail: string): Judgment & { readonly verdict: Verdict } {
  return { verdict: 'deny', reason, detail }
}
