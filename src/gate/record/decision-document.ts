/** A decision as it is stored, without a sentence, and as it is replied, in words. */
import type { Answerer, NotCarriedOutReason, OutcomeState } from '../../domain/call-outcome.js'
import type { CallChannel, Disclosure, PolicyEffect, Verdict } from '../../domain/decision.js'
import type { CountedCall, Mandate } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import type { RecordedSaid } from '../../domain/words/words.js'
import type { Facts } from '../../judge/facts.js'

/** The version of an imported list that a finding is based on. */
export interface ListDocument {
  readonly name: string
  readonly version: string
  readonly asOf: string
}

export interface FindingDocument {
  readonly check: string
  readonly verdict: Verdict
  readonly reason: string
  readonly says: readonly RecordedSaid[]
  readonly source: string
  /** Milliseconds from establishing the fact to using it. */
  readonly ageMs: number
  /** Instants are ISO 8601 in UTC. */
  readonly opensAt?: string | undefined
  /** Absent if no imported list was checked, or the source does not report it. */
  readonly lists?: readonly ListDocument[] | undefined
  /** Set on an unknown that the request itself caused. */
  readonly requestError?: true | undefined
  /** The answer is older than its maximum age, and why its source does not give a newer one. */
  readonly notRenewed?: readonly RecordedSaid[] | undefined
  /** The finding must not be relied on from then on; absent if that is more than a day ahead, or follows from `facts`. */
  readonly holdsUntil?: string | undefined
  /** Ids of the state consent laws that no record on file satisfies; only of the permission check. */
  readonly unmetLaws?: readonly string[] | undefined
  /** Only on the permission check: why frequency limits still apply despite the permission record. */
  readonly reassigned?: FindingDocument | undefined
  /** The findings of each source alone, if several were asked. */
  readonly parts?: readonly FindingDocument[] | undefined
}

/** A finding in words. */
export interface FindingReply extends FindingDocument {
  readonly detail: string
  /** The facts that our own rule judged; absent if no rule was applied, or a provider's. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined
  /** Set with `notRenewed`, as is `staleReason`, which has it in words. */
  readonly stale?: true | undefined
  readonly staleReason?: string | undefined
  readonly reassigned?: FindingReply | undefined
  readonly parts?: readonly FindingReply[] | undefined
}

/** How policy overrode a finding. */
export interface PolicyDocument {
  readonly check: string
  readonly effect: PolicyEffect['effect']
  /** The reason set in policy, of an `unknown-allowed`. */
  readonly because?: string | undefined
  readonly until?: string | undefined
}

/** The facts of the call, without what the record has elsewhere. */
export interface RecordedFacts extends Omit<Facts, 'times'> {
  /** The account's clock, in a what-if; absent if equal to the machine's. */
  readonly accountNow?: Instant | undefined
  /** The limits of the key. */
  readonly key?: Mandate | undefined
}

/** What happened to the call, as far as it is known. */
export interface OutcomeDocument {
  readonly state: OutcomeState
  readonly handedOverAt?: string | undefined
  readonly notCarriedOutAt?: string | undefined
  readonly notCarriedOut?: NotCarriedOutReason | undefined
  readonly leg?: string | undefined
  readonly dialledAt?: string | undefined
  readonly answeredAt?: string | undefined
  readonly answeredBy?: Answerer | undefined
  readonly greetingEndedAt?: string | undefined
  readonly connectedAt?: string | undefined
  readonly messagePlayed?: boolean | undefined
  readonly identityConfirmed?: true | undefined
  /** The disclosures that were said, in the order of time. */
  readonly said?: readonly { readonly key: string; readonly at: string }[] | undefined
  readonly failedAt?: string | undefined
  readonly endedAt?: string | undefined
  readonly dialStatus?: string | undefined
  readonly cause?: number | undefined
}

export interface MandateDocument extends CountedCall {
  readonly version: number
}

export interface DecisionDocument {
  readonly id: string
  readonly decision: 'allow' | 'block'
  readonly reason: string
  readonly number: string
  /** The digits that were checked, to be dialed unchanged; on an allow only. */
  readonly dial?: string | undefined
  readonly callKind: string
  /** What the call was judged as being for; telemarketing if absent, because nobody said it. */
  readonly purpose?: string | undefined
  /** `request`, or who set it in the settings. */
  readonly purposeSetBy?: string | undefined
  readonly decidedAt: string
  readonly judgedAt: string
  readonly validUntil: string
  readonly nextAllowedAt?: string | undefined
  /** The call may be placed then at the latest: reports of other calls may open it earlier. */
  readonly nextAllowedAtLatest?: true | undefined
  /** Of an allow, in the order in which it is said; absent if nothing must be. */
  readonly disclosures?: readonly Disclosure[] | undefined
  readonly whatIf: boolean
  /** Checks without a fresh answer that policy allowed; empty for a block. */
  readonly degraded: readonly string[]
  /** What the gate itself adds, as on a call that it refused without checks. */
  readonly says?: readonly RecordedSaid[] | undefined
  /** Absent if policy overrode no finding. */
  readonly policy?: readonly PolicyDocument[] | undefined
  readonly findings: readonly FindingDocument[]
  /** Only in a stored record; absent if nothing was looked up. */
  readonly facts?: RecordedFacts | undefined
  readonly accountId: string
  /** Id of the API key. */
  readonly keyId?: string | undefined
  /** Version of the limits of the key, and what they leave after an allow; absent if nothing limits its calls. */
  readonly mandate?: MandateDocument | undefined
  readonly via: string
  readonly dialed: string
  readonly trunk?: string | undefined
  readonly channel?: CallChannel | undefined
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly postalCode?: string | undefined
  readonly callerId?: string | undefined
  readonly subject?: string | undefined
  readonly personId?: string | undefined
  readonly reference?: string | undefined
  /** Id of an earlier allow of the same request, which must no longer be acted on. */
  readonly withdraws?: string | undefined
  /** Version of the calling rules that the call was judged by: 12 hex digits. See kept-rules.ts. */
  readonly rules: string
  /** See `recordVersion` in write-record.ts. */
  readonly recordVersion: number
  /** The number and what else was said about the person were erased. Only in a stored record. */
  readonly erased?: true | undefined
  /** Only in a stored record, if anything is known. */
  readonly outcome?: OutcomeDocument | undefined
}

/** A decision in words. */
export interface DecisionReply extends Omit<DecisionDocument, 'facts'> {
  readonly message: string
  /** Of `says`. */
  readonly detail?: string | undefined
  readonly findings: readonly FindingReply[]
  readonly policy?: readonly PolicyReply[] | undefined
}

/** How policy overrode a finding, and why in any case. */
export interface PolicyReply extends PolicyDocument {
  readonly because: string
}
