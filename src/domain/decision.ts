/**
 * A call to decide on, the findings of the checks, and the pure function from findings to ruling.
 */

import {
  type CheckName,
  checkNames,
  type FindingName,
  type ReasonCode,
  reasonCodes,
  reasons,
} from './checks.js'
import type { CallKind, CallPurpose, CountedCall, Mandate, Relationship } from './mandate.js'
import type { ListVersion } from './number-set.js'
import type { CandidatePlace } from './place.js'
import type { Instant } from './time/clock.js'
import type { TraceContext } from './trace/trace-context.js'
import type { Said } from './words/words.js'

export {
  type CheckName,
  checkNames,
  type FindingName,
  type ReasonCode,
  undecidedReasons,
} from './checks.js'
export { type CallKind, type CallPurpose, callKinds, callPurposes } from './mandate.js'

/** What is asked of calls of a purpose. Do-not-call lists and bans on calls to mobile numbers are of telemarketing alone. */
export interface PurposeRules {
  readonly purpose: CallPurpose
  /**
   * Whether calls of a machine need a permission record and keep to the windows for recorded voices: `permission`, as the
   * letter says; `permission-or-landline`, autodialed calls to what is known to be a landline need no record; `unlimited`,
   * neither.
   */
  readonly machines: 'permission' | 'permission-or-landline' | 'unlimited'
}

export const telemarketing: PurposeRules = {
  purpose: 'telemarketing',
  machines: 'permission',
}

/** What a call is for, if somebody said so: the request, or a person by the settings. */
export interface StatedPurpose {
  readonly purpose: CallPurpose
  readonly setBy: string
}

/** What a caller may have to say, in the order in which it is said. The caller chooses the words. */
export const disclosureKeys = [
  'natural-voice-first',
  'ai-voice',
  'identity',
  'opt-out',
  'sales-purpose',
  'goods',
  'agent-name',
  'dnc-offer',
  'debt-collector',
  'recording',
  'callback-number',
] as const
export type DisclosureKey = (typeof disclosureKeys)[number]

/** What must be said in an allowed call, and the citations of the rules that ask for it. */
export interface Disclosure {
  readonly key: DisclosureKey
  readonly rules: readonly string[]
}

const reasonRank: ReadonlyMap<ReasonCode, number> = new Map(
  reasonCodes.map((code, rank) => [code, rank]),
)

/** A channel of one of the configured Asterisk servers. */
export interface CallChannel {
  readonly server: string
  readonly id: string
}

export interface CallRequest {
  readonly accountId: string
  /** Id of the API key; absent when none was used, as for calls from Asterisk. */
  readonly keyId?: string | undefined
  /** The limits of that key, if it has any on calls. */
  readonly mandate?: Mandate | undefined
  /** The number as received. */
  readonly dialed: string
  readonly callKind: CallKind
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly postalCode?: string | undefined
  readonly callerId?: string | undefined
  readonly reference?: string | undefined
  /** What the call is about, in a word of the account: calls on other subjects do not count towards some limits. */
  readonly subject?: string | undefined
  /** The caller's name for the person called, whose numbers count together. */
  readonly personId?: string | undefined
  /** Absent if the request does not say it. */
  readonly purpose?: CallPurpose | undefined
  /** The approval of a person that the call is to use. */
  readonly approvalId?: string | undefined
  /** A what-if: decided as of this instant, never counted as an attempt. */
  readonly at?: Instant | undefined
  /** Name of the trunk in the settings, if a dialplan said on which the call is to be placed. */
  readonly trunk?: string | undefined
  /** The channel that waits for the decision, for calls from Asterisk. */
  readonly channel?: CallChannel | undefined
  /** The trace that the call is part of. */
  readonly trace?: TraceContext | undefined
  /** How the call reached callgate. */
  readonly via: 'http' | 'predial' | 'asterisk' | 'check'
}

export type Verdict = 'pass' | 'deny' | 'unknown'

/** The result of one check. */
export interface Finding {
  readonly check: FindingName
  readonly verdict: Verdict
  readonly reason: ReasonCode
  /** The rule and its citation, the letter, the list: what {@link describeSaid} explains to people. */
  readonly says: readonly Said[]
  readonly source: string
  /** When the fact was established. */
  readonly asOf: Instant
  /** The finding must not be relied on at or after this instant. */
  readonly holdsUntil: Instant
  /** When this finding would pass, if time is the cause; infinity when that is not soon. */
  readonly opensAt?: Instant | undefined
  /**
   * Set on an unknown that the request itself caused, for example with an unknown campaign. Policy on
   * unknowns does not allow it.
   */
  readonly isRequestError?: boolean | undefined
  /** Set when the answer exceeded its maximum age: why its source does not give a newer one. */
  readonly notRenewed?: readonly Said[] | undefined
  /** The imported lists that were checked; absent when the source does not report them. */
  readonly lists?: readonly ListVersion[] | undefined
  /** Of the check of calling hours: where the number and the postal code may be; absent if its source does not say. */
  readonly places?: readonly CandidatePlace[] | undefined
  /** Of the permission check: a permission record on file that is current allows the call. */
  readonly hasPermission?: true | undefined
  /** On the permission check: the record on file satisfies a state consent law. */
  readonly restsOnRecord?: true | undefined
  /** On the permission check: why frequency limits still apply despite its record. */
  readonly reassigned?: Finding | undefined
  /** On the permission check: the ids of the state consent laws that no record on file satisfies. */
  readonly unmetLaws?: readonly string[] | undefined
  /** This finding as it is while the check of reassigned numbers is in shadow, if that differs. */
  readonly inShadow?: Finding | undefined
  /** Of the permission check: what exceptions of the law may rest on. */
  readonly relationship?: Relationship | undefined
  /** What each source alone gave, if several did. */
  readonly parts?: readonly Finding[] | undefined
  /** Its JSON around its age, in records and in replies; a copy does not have it. */
  text?:
    | {
        readonly of: unknown
        readonly record?: TextAroundAge | undefined
        readonly reply?: TextAroundAge | undefined
      }
    | undefined
}

/** The age alone differs from call to call. */
export interface TextAroundAge {
  readonly beforeAge: string
  readonly afterAge: string
}

/** The policy for one check. By default, anything but a pass blocks. */
export interface CheckPolicy {
  /** In `shadow` the finding is recorded and counted but blocks nothing. */
  readonly mode: 'enforce' | 'shadow'
  /** Allows an `unknown` until an instant, for the stated reason. */
  readonly allowUnknown?: { readonly reason: string; readonly until: Instant } | undefined
}

export type Policy = Readonly<Record<CheckName, CheckPolicy>>

/** The same policy with these checks in shadow mode; every check, if none is named. */
export function toShadowPolicy(policy: Policy, checks: readonly CheckName[] = checkNames): Policy {
  const entries = checks.map((check) => [check, { ...policy[check], mode: 'shadow' }])
  return { ...policy, ...(Object.fromEntries(entries) as Partial<Policy>) }
}

/**
 * How policy overrode a finding:
 * - `unknown-allowed`: the check could not be answered, and policy allows that;
 * - `stale-allowed`: the check passed with an answer older than its maximum age, since its source does
 *   not answer;
 * - `shadowed`: the check would have blocked the call but is not enforced.
 */
export const policyEffects = ['unknown-allowed', 'stale-allowed', 'shadowed'] as const

export interface PolicyEffect {
  readonly check: FindingName
  readonly effect: (typeof policyEffects)[number]
  /** For `unknown-allowed`: the reason set in policy. */
  readonly because?: string | undefined
  /** For `unknown-allowed`: when unknown blocks again. */
  readonly until?: Instant | undefined
}

const enforced: CheckPolicy = { mode: 'enforce' }

export interface Ruling {
  readonly decision: 'allow' | 'block'
  readonly reason: ReasonCode
  /** Findings that policy overrode, also on blocks. Usually empty. */
  readonly effects: readonly PolicyEffect[]
  /**
   * The earliest end of the findings and policy exceptions that it depends on; infinity when there is
   * none.
   */
  readonly holdsUntil: Instant
  readonly nextAllowedAt: Instant | undefined
}

/** A decision as returned to the caller and stored as evidence. */
export interface Decision extends Ruling {
  readonly id: string
  readonly accountId: string
  readonly request: CallRequest
  /**
   * The number that was checked, and on an allow exactly what may be dialed: ten digits, a service
   * code, an extension, or a foreign number with its `+`, `011` or `00`. Empty when the input is not a
   * number.
   */
  readonly number: string
  readonly findings: readonly Finding[]
  /** The `Facts` that the rules judged. Absent if nothing was looked up. */
  readonly facts?: object | undefined
  /** What the cache keeps with these facts, such as their JSON text. */
  readonly memo?: { ownText?: string | undefined } | undefined
  readonly decidedAt: Instant
  /** The instant the rules were applied for: `decidedAt`, or the request's `at`. */
  readonly judgedAt: Instant
  /** Current time of the account's clock; the age of findings is measured to it, also in a what-if. */
  readonly accountTime: Instant
  /** Absent if it was judged as telemarketing because nobody said what the call is for. */
  readonly purpose?: StatedPurpose | undefined
  /** Of a key with limits on attempts. */
  readonly counted?: CountedCall | undefined
  /** Absent unless the call is permitted. */
  readonly disclosures?: readonly Disclosure[] | undefined
  /** Why a call was refused without checks, or by which exception an allow leaves. */
  readonly says?: readonly Said[] | undefined
  /** Id of an earlier allow of the same request that is no longer one: it must not be acted on. */
  readonly withdraws?: string | undefined
  /** Version of the calling rules that it was judged by. */
  readonly rules: string
  /** An allow may be acted on before this instant; a block remains valid until then. */
  readonly validUntil: Instant
  /** The text of its record, once that was needed. In a changed copy of the decision, `of` still names the original. */
  encoded?:
    | { readonly of: Decision; readonly json: string; readonly parts: DecisionText }
    | undefined
  /** Of its record in the journal; absent until there is one. */
  seq?: number | undefined
}

/** JSON shared by a record and its reply, without the outer braces. `number` and `person` are about the person called. */
export interface DecisionText {
  readonly head: string
  readonly number: string
  /** Everything before policy and findings. */
  readonly middle: string
  readonly tail: string
  readonly person: string
}

/**
 * The last step of a decision, to be called once, right before the answer is sent: it turns an allow
 * that is late or has expired by then into a block. `isDelayed`: the answer must wait for another one
 * to be sent first, so its sending time is unknown.
 */
export type DecisionFinalizer = (isDelayed?: boolean) => Decision

/**
 * Allows only when there are findings and each one passes, is an `unknown` that policy allows at that
 * instant, or is in shadow. A finding in shadow neither blocks nor limits the validity of the ruling.
 * Pure: the same arguments always give the same ruling.
 */
export function decide(findings: readonly Finding[], policy: Policy, at: Instant): Ruling {
  const effects: PolicyEffect[] = []
  const denials: Finding[] = []
  let holdsUntil = Number.POSITIVE_INFINITY
  let exceptionUntil = Number.POSITIVE_INFINITY
  for (const finding of findings) {
    const checkPolicy = finding.check === 'mandate' ? enforced : policy[finding.check]
    const isFreshPass = finding.verdict === 'pass' && finding.notRenewed === undefined
    const effect = isFreshPass ? undefined : findPolicyEffect(finding, checkPolicy, at)
    if (effect) effects.push(effect)
    if (checkPolicy.mode === 'shadow') continue
    if (effect?.until !== undefined) {
      exceptionUntil = Math.min(exceptionUntil, effect.until)
      continue
    }
    holdsUntil = Math.min(holdsUntil, finding.holdsUntil)
    if (finding.verdict !== 'pass') denials.push(finding)
  }
  const allowed = findings.length > 0 && denials.length === 0
  return {
    decision: allowed ? 'allow' : 'block',
    reason: allowed ? 'permitted' : pickReason(denials),
    effects,
    holdsUntil: Math.min(holdsUntil, exceptionUntil),
    nextAllowedAt: allowed ? undefined : findNextAllowedAt(denials, exceptionUntil),
  }
}

/**
 * `undefined` when policy does not change the finding. In shadow mode only findings that would have
 * blocked are reported, so that their count equals the calls that enforcing would block.
 */
function findPolicyEffect(
  finding: Finding,
  { mode, allowUnknown }: CheckPolicy,
  at: Instant,
): PolicyEffect | undefined {
  const { check, verdict, notRenewed } = finding
  if (verdict === 'pass') {
    const isFresh = notRenewed === undefined
    return mode === 'shadow' || isFresh ? undefined : { check, effect: 'stale-allowed' }
  }
  const isOutage = verdict === 'unknown' && finding.isRequestError !== true
  const isExempt = isOutage && allowUnknown !== undefined && at < allowUnknown.until
  if (mode === 'shadow') return isExempt ? undefined : { check, effect: 'shadowed' }
  if (!isExempt) return undefined
  const { reason, until } = allowUnknown
  return { check, effect: 'unknown-allowed', because: reason, until }
}

/** Checks of an allow without a fresh answer that policy allowed; empty for a block. */
export function listDegradedChecks({
  decision,
  effects,
}: Pick<Ruling, 'decision' | 'effects'>): readonly FindingName[] {
  if (effects.length === 0 || decision === 'block') return noChecks
  return effects.filter(({ effect }) => effect !== 'shadowed').map(({ check }) => check)
}

const noChecks: readonly FindingName[] = []

/** The reason with the highest rank; without findings, no check was answered. */
function pickReason(denials: readonly Finding[]): ReasonCode {
  return denials.map((finding) => finding.reason).reduce(pickHigherRankedReason, 'check-unanswered')
}

/** The reason that a decision with both reasons gets. */
export function pickHigherRankedReason(a: ReasonCode, b: ReasonCode): ReasonCode {
  return (reasonRank.get(b) ?? 0) < (reasonRank.get(a) ?? 0) ? b : a
}

/**
 * The latest opening of the denying findings, if each of them ends soon with time and no policy
 * exception for an unknown ends before it.
 */
function findNextAllowedAt(
  denials: readonly Finding[],
  exceptionUntil: Instant,
): Instant | undefined {
  if (!denials.every(({ reason }) => reasons[reason].kind === 'time')) return undefined
  const openings = denials.flatMap((finding) => finding.opensAt ?? [])
  const opening = Math.max(...openings)
  return Number.isFinite(opening) && opening < exceptionUntil ? opening : undefined
}

/** The limits of a call's facts, the same for HTTP, Asterisk and the command line. */

export const maxDialedLength = 128

/** Maximum length of a project or campaign id. */
export const maxIdLength = 64

export const maxCallerIdLength = 100

export const maxReferenceLength = 200
