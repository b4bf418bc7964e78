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
import type { Said } from '../domain/words/words.js'
import { withTimeout } from '../runtime/runtime.js'

type Judgment = Pick<Finding, 'verdict' | 'reason' | 'says' | 'opensAt'>

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
    return { verdict: 'unknown', reason: 'check-unanswered', says: [{ code: 'pauses-unread' }] }
  }
  if (pauses.size === 0) return undefined
  const { accountId, keyId, mandate, callKind } = request
  const ai = callKind === 'ai' ? (pauses.get('ai') ?? pauses.get(`ai:${accountId}`)) : undefined
  if (ai) return deny('ai-paused', { code: 'paused', ...toSaid(ai) })
  const key = keyId === undefined ? undefined : pauses.get(`key:${keyId}`)
  if (key) return deny('key-paused', { code: 'paused', ...toSaid(key) })
  const agents = mandate && isAgent(mandate) ? pauses.get(`agents:${accountId}`) : undefined
  if (agents) return deny('key-paused', { code: 'agents-paused', ...toSaid(agents) })
  const uncalled = country && pauses.get(`country:${country}:${accountId}`)
  if (!uncalled) return undefined
  const { params, quote } = toSaid(uncalled)
  return deny('foreign-number', {
    code: 'country-paused',
    params: { country, ...params },
    quote,
  })
}

/** A key for AI calls alone. */
const isAgent = ({ callKinds }: Mandate) =>
  callKinds !== 'any' && callKinds.size === 1 && callKinds.has('ai')

const toSaid = ({ pausedAt, pausedBy: by, because: quote }: Pause) => ({
  params: { at: formatInstant(pausedAt), by },
  quote,
})

function judgeRest({ mandate }: CallRequest, findings: readonly Finding[]): Judgment | undefined {
  if (mandate === undefined) return undefined
  const says = [{ code: 'within-key-limits', params: { version: mandate.version } }] as const
  return judgeRegions(findings, mandate) ?? { verdict: 'pass', reason: 'permitted', says }
}

function judgeKind({ callKind }: CallRequest, { callKinds }: Mandate): Judgment | undefined {
  if (callKinds === 'any' || callKinds.has(callKind)) return undefined
  const params = { kinds: [...callKinds], kind: callKind }
  return deny('key-kind', { code: 'key-kinds', params })
}

function judgeScope(request: CallRequest, mandate: Mandate): Judgment | undefined {
  const { accountId, campaignId = '' } = request
  const { projects, campaigns } = mandate
  if (!canUseScope({ accountId, limits: mandate }, request)) {
    const codes = projects === 'any' ? [] : [...projects.codes]
    return deny('key-project', { code: 'key-projects', params: { projects: codes } })
  }
  if (campaigns === 'any' || campaigns.has(Number(campaignId.trim() || Number.NaN)))
    return undefined
  const params = { campaigns: [...campaigns].map(String) }
  return deny('key-project', { code: 'key-campaigns', params })
}

function judgeCallerId({ callerId }: CallRequest, mandate: Mandate): Judgment | undefined {
  const { callerIds } = mandate
  if (callerIds === 'any') return undefined
  const parsed = readCallerId(callerId)
  if (parsed === undefined) return deny('key-caller-id', { code: 'key-needs-caller-id' })
  if ('problem' in parsed) {
    const { problem } = parsed
    return deny('key-caller-id', { code: 'key-caller-id-problem', params: { problem } })
  }
  if (callerIds === 'valid' || callerIds.has(parsed.number)) return undefined
  return deny('key-caller-id', { code: 'key-caller-id-other' })
}

/** Every place where the called person may be must be in one of the regions. */
function judgeRegions(findings: readonly Finding[], { regions }: Mandate): Judgment | undefined {
  if (regions === 'any') return undefined
  const found = findPlaces(findings).map(({ region }) => region)
  if (found.length === 0) return deny('key-region', { code: 'key-region-unknown' })
  const other = found.find((region) => !regions.has(region))
  if (other === undefined) return undefined
  const params = { region: other, regions: [...regions] }
  return deny('key-region', { code: 'key-region-other', params })
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

function deny(reason: ReasonCode, said: Said): Judgment & { readonly verdict: Verdict } {
  return { verdict: 'deny', reason, says: [said] }
}
