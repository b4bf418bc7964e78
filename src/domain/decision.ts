/**
 * A call to be judged, the findings of the checks, and the pure function from findings to verdict.
 */
import type { Instant } from './clock.js'
import type { ListVersion } from './number-set.js'

/** A person dials; a machine dials (ATDS, predictive, prerecorded); an AI agent speaks. */
export const callKinds = ['manual', 'autodialed', 'ai'] as const
export type CallKind = (typeof callKinds)[number]

export const checkNames = ['litigator', 'internal-dnc', 'permission', 'calling-hours'] as const
export type CheckName = (typeof checkNames)[number]

/**
 * Why a call was allowed or blocked. The order is the rank: of several denying findings the first
 * one here is the decision's reason. Also the metric label and the word in a pre-dial reply.
 */
export const reasonTexts = {
  'not-recorded': 'the decision could not be written to disk, so it was not given',
  'clock-behind': 'the clock runs behind the newest stored record, so no time can be relied on',
  expired: 'the facts ceased to hold before the decision could be given',
  'invalid-request': 'the facts of the call cannot be read, so it was not judged',
  'invalid-number': 'the dialled text is no telephone number',
  'foreign-number': 'the number belongs to another country; policy blocks those',
  extension: 'the digits are an internal extension; policy blocks those',
  litigator: 'the number is linked to a known TCPA litigator; consent does not lift this',
  'consent-revoked': 'an opt-out is newer than the permission on file',
  'internal-dnc': 'the number is on the internal do-not-call list',
  'national-dnc': 'the number is on a national do-not-call list and no exemption applies',
  'state-dnc': 'the number is on a state do-not-call list and no exemption applies',
  'wireless-state': 'the state bars sales calls to wireless numbers',
  'list-not-covering':
    'no imported national list covers this area code; no list is not a clean list',
  'list-stale': 'an imported list is too old to answer; an old list is not a clean list',
  'toll-free': 'toll-free numbers are not called',
  'unknown-prefix': 'the area code or exchange is not in service',
  'no-consent': 'this kind of call needs a permission record, and none is current',
  'not-permitted': 'the scrub result does not permit this kind of call',
  'unknown-project': 'the project or campaign is not one of the account',
  'restricted-day': 'calls are barred on this local date',
  'outside-calling-hours': 'the local time is outside the lawful calling hours',
  'list-missing': 'a list this check needs has not been imported',
  'check-unanswered': 'a check could not be answered, and unknown blocks',
  overloaded: 'the gate is overloaded',
  'policy-allows': 'policy lets extensions and numbers of other countries pass unchecked',
  'service-code': 'emergency and service codes always pass',
  permitted: 'every check passed',
} as const
export type ReasonCode = keyof typeof reasonTexts

const reasonRank: ReadonlyMap<ReasonCode, number> = new Map(
  (Object.keys(reasonTexts) as ReasonCode[]).map((code, rank) => [code, rank]),
)

/** Reasons that time alone will lift. */
const passingReasons: ReadonlySet<ReasonCode> = new Set(['restricted-day', 'outside-calling-hours'])

/** A channel of one of the configured Asterisk servers. */
export interface CallChannel {
  readonly server: string
  readonly id: string
}

export interface CallRequest {
  readonly accountId: string
  /** Id of the key that asked; absent where none was used, as over Asterisk. */
  readonly keyId?: string | undefined
  /** The number as handed in. */
  readonly dialed: string
  readonly callKind: CallKind
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly postalCode?: string | undefined
  readonly callerId?: string | undefined
  readonly reference?: string | undefined
  /** A what-if: judged as of this instant, never counted as an attempt. */
  readonly at?: Instant | undefined
  /** The channel that waits for the decision, of a call that came through an Asterisk. */
  readonly channel?: CallChannel | undefined
  /** The door the call came through. */
  readonly via: 'http' | 'predial' | 'asterisk' | 'check'
}

export type Verdict = 'pass' | 'deny' | 'unknown'

/** What one check found. */
export interface Finding {
  readonly check: CheckName
  readonly verdict: Verdict
  readonly reason: ReasonCode
  /** For people: the rule and its citation, the letter, the list. */
  readonly detail: string
  readonly source: string
  /** When the fact was established. */
  readonly asOf: Instant
  /** The finding must not be relied on at or after this instant. */
  readonly holdsUntil: Instant
  /** When this finding would pass, where time is the cause; infinity when no time is near. */
  readonly opensAt?: Instant | undefined
  /**
   * Of an unknown: whoever asked is the cause, such as by a campaign that does not exist. Policy on
   * outages does not let it pass.
   */
  readonly isOfTheQuestion?: boolean | undefined
  /** Set when the answer was past its age: why its source does not give a newer one. */
  readonly staleBecause?: string | undefined
  /** The imported lists that were looked at; absent where the source cannot tell. */
  readonly lists?: readonly ListVersion[] | undefined
}

/** What policy makes of one check. Unless it says otherwise, anything but a pass blocks. */
export interface CheckPolicy {
  /** In `shadow` the finding is recorded and counted, and blocks nothing. */
  readonly mode: 'enforce' | 'shadow'
  /** Lets an `unknown` pass, for a reason somebody answers for and before an instant. */
  readonly allowUnknown?: { readonly reason: string; readonly until: Instant } | undefined
}

export type Policy = Readonly<Record<CheckName, CheckPolicy>>

/** Everything blocks that does not pass. */
export const strictPolicy: Policy = {
  litigator: { mode: 'enforce' },
  'internal-dnc': { mode: 'enforce' },
  permission: { mode: 'enforce' },
  'calling-hours': { mode: 'enforce' },
}

/**
 * What policy set aside of the findings:
 * - `unknown-allowed`: the check could not be answered, and policy lets that pass;
 * - `stale-allowed`: it passes by an answer past its age, as its source does not answer;
 * - `shadowed`: it would have blocked the call, and is not enforced.
 */
export const policyEffects = ['unknown-allowed', 'stale-allowed', 'shadowed'] as const

export interface PolicyEffect {
  readonly check: CheckName
  readonly effect: (typeof policyEffects)[number]
  /** The reason policy gives; why the source is silent; the detail of the finding. */
  readonly because: string
  /** Of `unknown-allowed`: from when on it blocks. */
  readonly until?: Instant | undefined
}

export interface Ruling {
  readonly decision: 'allow' | 'block'
  readonly reason: ReasonCode
  /** What policy set aside, of a block as well; empty on almost every call. */
  readonly effects: readonly PolicyEffect[]
  /**
   * Bound by the findings it rests on, and by the end of what policy lets pass; infinity when
   * nothing bounds it.
   */
  readonly holdsUntil: Instant
  readonly nextAllowedAt: Instant | undefined
}

/** A decision as given to the caller and kept as evidence. */
export interface Decision extends Ruling {
  readonly id: string
  readonly accountId: string
  readonly request: CallRequest
  /**
   * What was judged, and on an allow all that may be dialed: ten digits, a service code, an extension,
   * or a foreign number with its `+`, `011` or `00`. Empty where nothing could be judged.
   */
  readonly number: string
  readonly findings: readonly Finding[]
  readonly decidedAt: Instant
  /** The instant the rules were applied to: `decidedAt`, or the request's `at`. */
  readonly judgedAt: Instant
  /** Now by the account's clock: the age of the findings counts to here, also in a what-if. */
  readonly usedAt: Instant
  /** What the reason's own text cannot tell, of a call that was refused unjudged. */
  readonly detail?: string | undefined
  /** An allow may be acted on before this instant; a block need not be asked again before it. */
  readonly validUntil: Instant
}

/**
 * The last step of a decision, to be called once, right before the answer is sent: an allow that has
 * become late or has expired by then is given as a block. `isDelayed`: the answer must wait for
 * another one to be sent first, so when it would leave is unknown.
 */
export type DeliverDecision = (isDelayed?: boolean) => Decision

/**
 * Allows only when there are findings and each one passes, is an `unknown` that policy lets pass at
 * that instant, or is in shadow. A finding in shadow neither blocks nor bounds the ruling. Pure: the
 * same arguments always give the same ruling.
 */
export function decide(findings: readonly Finding[], policy: Policy, at: Instant): Ruling {
  const effects: PolicyEffect[] = []
  const against: Finding[] = []
  let holdsUntil = Number.POSITIVE_INFINITY
  let letPassUntil = Number.POSITIVE_INFINITY
  for (const finding of findings) {
    const checkPolicy = policy[finding.check]
    const effect = effectOf(finding, checkPolicy, at)
    if (effect) effects.push(effect)
    if (checkPolicy.mode === 'shadow') continue
    if (effect?.until !== undefined) {
      letPassUntil = Math.min(letPassUntil, effect.until)
      continue
    }
    holdsUntil = Math.min(holdsUntil, finding.holdsUntil)
    if (finding.verdict !== 'pass') against.push(finding)
  }
  const allowed = findings.length > 0 && against.length === 0
  return {
    decision: allowed ? 'allow' : 'block',
    reason: allowed ? 'permitted' : reasonOf(against),
    effects,
    holdsUntil: Math.min(holdsUntil, letPassUntil),
    nextAllowedAt: nextAllowedAt(against, letPassUntil),
  }
}

/**
 * There is none where the finding counts as it is. In shadow only what would have blocked the call
 * is told, so that its count is that of the calls that enforcing would cost.
 */
function effectOf(
  finding: Finding,
  { mode, allowUnknown }: CheckPolicy,
  at: Instant,
): PolicyEffect | undefined {
  const { check, verdict, staleBecause } = finding
  if (verdict === 'pass') {
    if (staleBecause === undefined || mode === 'shadow') return undefined
    return { check, effect: 'stale-allowed', because: staleBecause }
  }
  const isOutage = verdict === 'unknown' && finding.isOfTheQuestion !== true
  const isLetPass = isOutage && allowUnknown !== undefined && at < allowUnknown.until
  if (mode === 'shadow') {
    return isLetPass ? undefined : { check, effect: 'shadowed', because: finding.detail }
  }
  if (!isLetPass) return undefined
  const { reason, until } = allowUnknown
  return { check, effect: 'unknown-allowed', because: reason, until }
}

/** Checks without a fresh answer on which an allow rests all the same; of a block there are none. */
export function degradedBy({
  decision,
  effects,
}: Pick<Ruling, 'decision' | 'effects'>): readonly CheckName[] {
  if (effects.length === 0 || decision === 'block') return noChecks
  return effects.filter(({ effect }) => effect !== 'shadowed').map(({ check }) => check)
}

const noChecks: readonly CheckName[] = []

/** That of the highest rank; a decision without findings was not answered by any check. */
function reasonOf(against: readonly Finding[]): ReasonCode {
  return against.map((finding) => finding.reason).reduce(higherRanking, 'check-unanswered')
}

/** Of two reasons the one a decision with both gives. */
export function higherRanking(one: ReasonCode, other: ReasonCode): ReasonCode {
  return (reasonRank.get(other) ?? 0) < (reasonRank.get(one) ?? 0) ? other : one
}

/**
 * The latest opening of the denying findings, when each of them is one that time lifts soon. Not one
 * at which an unknown that policy lets pass now will block again.
 */
function nextAllowedAt(against: readonly Finding[], letPassUntil: Instant): Instant | undefined {
  if (against.length === 0) return undefined
  if (!against.every((finding) => passingReasons.has(finding.reason))) return undefined
  const openings = against.flatMap((finding) => finding.opensAt ?? [])
  const opening = Math.max(...openings)
  return Number.isFinite(opening) && opening < letPassUntil ? opening : undefined
}
