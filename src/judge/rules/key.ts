/** Whether the limits of a key permit its call, as far as nothing is counted. */
import { canUseScope } from '../../domain/caller.js'
import type { CallRequest, Finding, ReasonCode } from '../../domain/decision.js'
import type { Mandate } from '../../domain/mandate.js'
import { readCallerId } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import type { Said } from '../../domain/words/words.js'
import type { Judged, Rule } from '../judged.js'

/** By what the call says. After a denial nothing is looked up: the answers about another project are not for this key. */
export const keyOfCallRule = {
  id: 'key-of-call',
  check: 'mandate',
  judge({ call, times: { now } }: Pick<Judged, 'call' | 'times'>) {
    const { mandate } = call
    if (mandate === undefined) return undefined
    return (
      judgeKind(call, mandate, now) ??
      judgeScope(call, mandate, now) ??
      judgeCallerId(call, mandate, now)
    )
  },
} as const satisfies Rule

/** Every place where the called person may be must be in one of the regions. */
export const keyRegionsRule = {
  id: 'key-regions',
  check: 'mandate',
  judge({ call: { mandate }, derived, times: { now } }: Judged) {
    if (mandate === undefined) return undefined
    const { places } = derived
    const { regions, version } = mandate
    if (regions !== 'any') {
      if (places.length === 0) return deny('key-region', { code: 'key-region-unknown' }, now)
      const other = places.find(({ region }) => !regions.includes(region))
      if (other) {
        const params = { region: other.region, regions }
        return deny('key-region', { code: 'key-region-other', params }, now)
      }
    }
    const says = [{ code: 'within-key-limits', params: { version } }] as const
    return createKeyFinding({ verdict: 'pass', reason: 'permitted', says }, now)
  },
} as const satisfies Rule

/** The key's call limits. No finding unless one is reached, or the counting failed. */
export const keyCountsRule = {
  id: 'key-counts',
  check: 'mandate',
  replaces: true,
  judge({ ledger, limits, times: { now } }: Judged) {
    if (ledger === undefined || ledger === 'not-asked' || limits?.key === undefined)
      return undefined
    if ('failure' in ledger) return createKeyFinding(sayUncounted(ledger.failure), now)
    return ledger.refused && createKeyFinding({ verdict: 'deny', ...ledger.refused }, now)
  },
} as const satisfies Rule

/** The judgment when counting failed. */
export function sayUncounted(quote: string) {
  const says = [{ code: 'attempts-not-counted', quote }] as const
  return { verdict: 'unknown', reason: 'check-unanswered', says } as const
}

export function createKeyFinding(
  judgment: Pick<Finding, 'verdict' | 'reason' | 'says' | 'opensAt'>,
  asOf: Instant,
): Finding {
  const holdsUntil = Number.POSITIVE_INFINITY
  return { check: 'mandate', source: 'keys', asOf, holdsUntil, ...judgment }
}

function judgeKind({ callKind }: CallRequest, { callKinds }: Mandate, now: Instant) {
  if (callKinds === 'any' || callKinds.includes(callKind)) return undefined
  const params = { kinds: callKinds, kind: callKind }
  return deny('key-kind', { code: 'key-kinds', params }, now)
}

function judgeScope(call: CallRequest, mandate: Mandate, now: Instant): Finding | undefined {
  const { accountId, campaignId = '' } = call
  const { projects, campaigns } = mandate
  if (!canUseScope({ accountId, limits: mandate }, call)) {
    const codes = projects === 'any' ? [] : projects.codes
    return deny('key-project', { code: 'key-projects', params: { projects: codes } }, now)
  }
  if (campaigns === 'any' || campaigns.includes(Number(campaignId.trim() || Number.NaN)))
    return undefined
  const params = { campaigns: campaigns.map(String) }
  return deny('key-project', { code: 'key-campaigns', params }, now)
}

function judgeCallerId({ callerId }: CallRequest, { callerIds }: Mandate, now: Instant) {
  if (callerIds === 'any') return undefined
  const parsed = readCallerId(callerId)
  const denyFor = (said: Said) => deny('key-caller-id', said, now)
  if (parsed === undefined) return denyFor({ code: 'key-needs-caller-id' })
  if ('problem' in parsed) {
    return denyFor({ code: 'key-caller-id-problem', params: { problem: parsed.problem } })
  }
  if (callerIds === 'valid' || callerIds.includes(parsed.number)) return undefined
  return denyFor({ code: 'key-caller-id-other' })
}

const deny = (reason: ReasonCode, said: Said, asOf: Instant): Finding =>
  createKeyFinding({ verdict: 'deny', reason, says: [said] }, asOf)
