/** A decision as people and programs read it: the reply to the HTTP call, the stored record, the log line. */
import type {
  Answerer,
  CallOutcome,
  NotCarriedOutReason,
  OutcomeState,
} from '../domain/call-outcome.js'
import {
  type CallChannel,
  type CallKind,
  type Decision,
  type Disclosure,
  type Finding,
  listDegradedChecks,
  type PolicyEffect,
  reasonTexts,
  type Verdict,
} from '../domain/decision.js'
import type { CountedCall } from '../domain/mandate.js'
import type { ListVersion } from '../domain/number-set.js'
import { maskNumber } from '../domain/phone-number.js'
import type { Instant } from '../domain/time/clock.js'
import { formatInstant, msPerDay } from '../domain/time/dates.js'
import type { LogFields } from '../observability/log.js'
import type { DecisionVia } from '../observability/metrics.js'

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
  readonly detail: string
  readonly source: string
  /** Milliseconds from establishing the fact to using it. */
  readonly ageMs: number
  /** The answer is older than its maximum age; the detail says why there is no newer one. */
  readonly stale?: true | undefined
  /** Instants are ISO 8601 in UTC. */
  readonly opensAt?: string | undefined
  /** Absent if no imported list was checked, or the source does not report it. */
  readonly lists?: readonly ListDocument[] | undefined
  /** Set on an unknown that the request itself caused. */
  readonly requestError?: true | undefined
  /** Why its source does not give a newer answer; present if and only if `stale` is. */
  readonly staleReason?: string | undefined
  /** The finding must not be relied on from then on; absent if that is more than a day ahead, or follows from `facts`. */
  readonly holdsUntil?: string | undefined
  /** What our own rules were applied to; absent when no rule was, or the rules of a provider. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined
  /** The findings of each source alone, if several were asked. */
  readonly parts?: readonly FindingDocument[] | undefined
}

/** How policy overrode a finding, and why. */
export interface PolicyDocument {
  readonly check: string
  readonly effect: PolicyEffect['effect']
  readonly because: string
  readonly until?: string | undefined
}

/** What happened to the call, as far as it is known. */
interface OutcomeDocument {
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

interface MandateDocument extends CountedCall {
  readonly version: number
}

export interface DecisionDocument {
  readonly id: string
  readonly decision: 'allow' | 'block'
  readonly reason: string
  readonly message: string
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
  /** Absent if policy overrode no finding. */
  readonly policy?: readonly PolicyDocument[] | undefined
  readonly findings: readonly FindingDocument[]
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
  /** Id of an earlier allow of the same request that must not be acted on any more. */
  readonly withdraws?: string | undefined
  /** See {@link recordVersion}. */
  readonly recordVersion: number
  /** The number and what else was said about the person were erased. Only in a stored record. */
  readonly erased?: true | undefined
  /** Only in a stored record, if anything is known. */
  readonly outcome?: OutcomeDocument | undefined
}

/** Of what a record holds. Changes when the rules are applied to something that earlier records do not have. */
export const recordVersion = 1

/**
 * The JSON text of a {@link DecisionDocument}, made once per decision: the record and the reply are the
 * same. Put together from its parts, it takes a fraction of the time of an object made for JSON.
 */
export function encodeDecision(decision: Decision): string {
  const { encoded } = decision
  if (encoded?.of === decision) return encoded.json
  const json = formatDecision(decision)
  decision.encoded = { of: decision, json }
  return json
}

export function toDecisionDocument(decision: Decision): DecisionDocument {
  return JSON.parse(encodeDecision(decision))
}

/** In Node.js 20, a text that was once the key of an object makes whatever it is joined to take two bytes a character. */
const callKindMembers: Readonly<Record<CallKind, string>> = {
  manual: ',"callKind":"manual"',
  autodialed: ',"callKind":"autodialed"',
  ai: ',"callKind":"ai"',
}

/** The members in the order of {@link DecisionDocument}; those without a value are left out. */
function formatDecision(decision: Decision): string {
  const { request, effects, decidedAt, judgedAt, nextAllowedAt } = decision
  const { channel } = request
  const number = quote(decision.number)
  const policy = effects.length === 0 ? undefined : effects.map(toPolicyDocument)
  let findings = ''
  for (const finding of decision.findings) {
    findings += (findings === '' ? '' : ',') + formatFinding(finding, decision)
  }
  return (
    `{"id":"${decision.id}","decision":"${decision.decision}","reason":"${decision.reason}"` +
    `,"message":${quote(formatMessage(decision))},"number":${number}` +
    (decision.decision === 'allow' ? `,"dial":${number}` : '') +
    `${callKindMembers[request.callKind]}${formatPurpose(decision)},"decidedAt":"${formatInstant(decidedAt)}"` +
    `,"judgedAt":"${formatInstant(judgedAt)}","validUntil":"${formatInstant(decision.validUntil)}"` +
    (nextAllowedAt === undefined
      ? ''
      : formatMember('nextAllowedAt', formatFinite(nextAllowedAt)) + formatLatest(decision)) +
    formatDisclosures(decision) +
    `,"whatIf":${request.at !== undefined},"degraded":${JSON.stringify(listDegradedChecks(decision))}` +
    (policy === undefined ? '' : `,"policy":${JSON.stringify(policy)}`) +
    `,"findings":[${findings}]` +
    `,"accountId":${quote(decision.accountId)}${formatMember('keyId', request.keyId)}` +
    formatMandate(decision) +
    `,"via":"${request.via}","dialed":${quote(request.dialed)}` +
    formatMember('trunk', request.trunk) +
    (channel === undefined ? '' : `,"channel":${JSON.stringify(channel)}`) +
    formatMember('projectId', request.projectId) +
    formatMember('campaignId', request.campaignId) +
    formatMember('postalCode', request.postalCode) +
    formatMember('callerId', request.callerId) +
    formatMember('subject', request.subject) +
    formatMember('personId', request.personId) +
    formatMember('reference', request.reference) +
    formatMember('withdraws', decision.withdraws) +
    `,"recordVersion":${recordVersion}}`
  )
}

function formatLatest({ findings, effects }: Decision): string {
  const isShadowed = effects.some(
    ({ check, effect }) => check === 'abandonment' && effect === 'shadowed',
  )
  const mayOpenEarlier = findings.some(({ reason }) => reason === 'abandonment-rate')
  return mayOpenEarlier && !isShadowed ? ',"nextAllowedAtLatest":true' : ''
}

function formatDisclosures({ decision, disclosures }: Decision): string {
  if (decision === 'block' || !disclosures?.length) return ''
  return `,"disclosures":${JSON.stringify(disclosures)}`
}

function formatPurpose({ purpose: stated }: Decision): string {
  if (stated === undefined) return ''
  return formatMember('purpose', stated.purpose) + formatMember('purposeSetBy', stated.setBy)
}

function formatMandate({ request: { mandate }, counted }: Decision): string {
  if (mandate === undefined) return ''
  const document: MandateDocument = { version: mandate.version, ...counted }
  return `,"mandate":${JSON.stringify(document)}`
}

function formatFinding(finding: Finding, decision: Decision): string {
  const { text } = finding
  const { beforeAge, afterAge } = text?.of === finding ? text : formatAroundAge(finding, decision)
  return beforeAge + Math.max(0, decision.accountTime - finding.asOf) + afterAge
}

function formatAroundAge(finding: Finding, decision: Decision): NonNullable<Finding['text']> {
  const { opensAt, lists, staleReason, facts, parts, holdsUntil } = finding
  const isLimited =
    facts === undefined &&
    holdsUntil < decision.judgedAt + msPerDay &&
    holdsUntil !== Number.NEGATIVE_INFINITY
  const text = {
    of: finding,
    beforeAge: shareText(
      `{"check":"${finding.check}","verdict":"${finding.verdict}","reason":"${finding.reason}"` +
        `,"detail":${quote(finding.detail)},"source":${quote(finding.source)},"ageMs":`,
    ),
    afterAge: shareText(
      (staleReason === undefined ? '' : ',"stale":true') +
        (opensAt === undefined ? '' : formatMember('opensAt', formatFinite(opensAt))) +
        (lists?.length ? `,"lists":[${lists.map(formatList).join()}]` : '') +
        (parts === undefined
          ? (finding.isRequestError ? ',"requestError":true' : '') +
            (staleReason === undefined ? '' : `,"staleReason":${quote(staleReason)}`) +
            (isLimited ? formatMember('holdsUntil', formatInstant(holdsUntil)) : '') +
            (facts === undefined ? '' : `,"facts":${facts}`)
          : `,"parts":[${parts.map((part) => formatFinding(part, decision)).join()}]`) +
        '}',
    ),
  }
  // With these, the text also depends on the call.
  if (parts === undefined && (facts !== undefined || holdsUntil === Number.POSITIVE_INFINITY)) {
    finding.text = text
  }
  return text
}

/** Findings of many numbers have the same text, which is in memory once. */
const sharedTexts = new Map<string, string>()
const maxSharedTexts = 1_000

function shareText(text: string): string {
  const known = sharedTexts.get(text)
  if (known !== undefined) return known
  if (sharedTexts.size >= maxSharedTexts) sharedTexts.clear()
  sharedTexts.set(text, text)
  return text
}

const quote: (text: string) => string = JSON.stringify

function formatMember(name: keyof DecisionDocument | keyof FindingDocument, text?: string): string {
  return text === undefined ? '' : `,"${name}":${quote(text)}`
}

/** A stored decision, with what is known of its call. */
export function withOutcome(
  document: DecisionDocument,
  { state, ...more }: Partial<CallOutcome>,
): DecisionDocument {
  return state ? { ...document, outcome: toOutcomeDocument({ state, ...more }) } : document
}

function toOutcomeDocument(outcome: CallOutcome): OutcomeDocument {
  return {
    state: outcome.state,
    handedOverAt: formatFinite(outcome.handedOverAt),
    notCarriedOutAt: formatFinite(outcome.notCarriedOutAt),
    notCarriedOut: outcome.notCarriedOut,
    leg: outcome.leg,
    dialledAt: formatFinite(outcome.dialledAt),
    answeredAt: formatFinite(outcome.answeredAt),
    answeredBy: outcome.answeredBy,
    greetingEndedAt: formatFinite(outcome.greetingEndedAt),
    connectedAt: formatFinite(outcome.connectedAt),
    messagePlayed: outcome.messagePlayed,
    identityConfirmed: outcome.identityConfirmed,
    said: outcome.said
      ?.toSorted((a, b) => a.at - b.at)
      .map(({ key, at }) => ({ key, at: formatInstant(at) })),
    failedAt: formatFinite(outcome.failedAt),
    endedAt: formatFinite(outcome.endedAt),
    dialStatus: outcome.dialStatus,
    cause: outcome.cause,
  }
}

/** The reason in words, with the detail of the finding it comes from, or what policy overrode. */
function formatMessage({ decision, reason, findings, effects, detail }: Decision): string {
  if (detail !== undefined) return `${reasonTexts[reason]}: ${detail}`
  if (decision === 'allow')
    return effects.length === 0 ? reasonTexts[reason] : formatPolicyAllow(effects)
  const decisive = findings.find(
    (finding) =>
      finding.reason === reason &&
      finding.verdict !== 'pass' &&
      !effects.some(({ check }) => check === finding.check),
  )
  return decisive ? `${reasonTexts[reason]}: ${decisive.detail}` : reasonTexts[reason]
}

/** Why a call is allowed although not every check passed with a fresh answer. */
function formatPolicyAllow(effects: readonly PolicyEffect[]): string {
  const isStaleOnly = effects.every(({ effect }) => effect === 'stale-allowed')
  const passed = isStaleOnly ? 'every check passed, some by stale answers' : 'policy let it pass'
  return `${passed}: ${effects.map(formatPolicyEffect).join('; ')}`
}

/** How policy overrode one finding, for people. */
export function formatPolicyEffect({
  check,
  effect,
  because,
  until,
}: PolicyDocument | PolicyEffect): string {
  switch (effect) {
    case 'unknown-allowed':
      return `${check} unknown, allowed${formatUntil(until)} (${because})`
    case 'stale-allowed':
      return `${check} by a stale answer (${because})`
    case 'shadowed':
      return `${check} in shadow, would have blocked (${because})`
  }
}

function formatUntil(until: string | Instant | undefined): string {
  if (typeof until === 'string') return ` until ${until}`
  return until !== undefined && Number.isFinite(until) ? ` until ${formatInstant(until)}` : ''
}

function toPolicyDocument({ check, effect, because, until }: PolicyEffect): PolicyDocument {
  return { check, effect, because, until: formatFinite(until) }
}

const listTexts = new WeakMap<ListVersion, string>()

/** The same few lists are part of every decision. */
function formatList(list: ListVersion): string {
  const known = listTexts.get(list)
  if (known !== undefined) return known
  const { name, version, asOf } = list
  const text = JSON.stringify({ name, version, asOf: formatInstant(asOf) } satisfies ListDocument)
  listTexts.set(list, text)
  return text
}

/** Infinity, for an instant that is not soon, is left out. */
function formatFinite(at: Instant | undefined): string | undefined {
  return at === undefined || !Number.isFinite(at) ? undefined : formatInstant(at)
}

/** A decision that is counted and logged, and how long it took. */
export interface MeasuredDecision {
  readonly final: Decision
  readonly via: DecisionVia
  readonly seconds: number
}

/** The fields of its log line. */
export function toLogFields({ final, via, seconds }: MeasuredDecision): LogFields {
  const { id, accountId, number, decision, reason, request } = final
  const degraded = listDegradedChecks(final)
  return {
    decisionId: id,
    account: accountId,
    // A service code is nobody's number.
    number: reason === 'service-code' ? number : maskNumber(number),
    kind: request.callKind,
    decision,
    reason,
    degraded: degraded.length === 0 ? undefined : degraded,
    via,
    server: request.channel?.server,
    channelId: request.channel?.id,
    traceId: request.trace?.traceId,
    ms: Math.round(seconds * 1e6) / 1e3,
  }
}
