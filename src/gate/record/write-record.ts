/** The way into the record: the text of what is recorded. */
import { reasons } from '../../domain/checks.js'
import {
  type CallKind,
  type Decision,
  type Finding,
  listDegradedChecks,
  type PolicyEffect,
} from '../../domain/decision.js'
import type { ListVersion } from '../../domain/number-set.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../domain/time/dates.js'
import type { RecordKind } from '../journal/segment-format.js'
import type {
  DecisionDocument,
  FindingDocument,
  ListDocument,
  MandateDocument,
  PolicyDocument,
} from './decision-document.js'
import type { RecordContents } from './read-record.js'

/** Of what a record holds. Changes when the rules are applied to something that earlier records do not have. */
export const recordVersion = 1

/** Of the records that are no decisions. */
export type NoteKind = Exclude<RecordKind, 'decision' | 'amendment'>
export type NoteContent<Kind extends NoteKind> = Partial<RecordContents[Kind]>

export function writeRecord<Kind extends NoteKind>(
  _kind: Kind,
  content: NoteContent<Kind>,
): string {
  return JSON.stringify(content)
}

/**
 * The JSON text of a {@link DecisionDocument}, made once per decision. Put together from its parts, it takes a fraction of the
 * time of an object made for JSON.
 */
export function writeDecision(decision: Decision): string {
  const { encoded } = decision
  if (encoded?.of === decision) return encoded.json
  const json = formatDecision(decision)
  decision.encoded = { of: decision, json }
  return json
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
    `,"message":${quote(formatMessage(decision))}${formatMember('detail', decision.detail)},"number":${number}` +
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
    `,"rules":"${decision.rules}","recordVersion":${recordVersion}}`
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
  const { opensAt, lists, staleReason, facts, parts, holdsUntil, reassigned } = finding
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
          ? formatBasis(finding, decision)
          : `,"parts":[${parts.map((part) => formatFinding(part, decision)).join()}]`) +
        '}',
    ),
  }
  const isOfCall = parts !== undefined || reassigned !== undefined
  if (!isOfCall && (facts !== undefined || holdsUntil === Number.POSITIVE_INFINITY)) {
    finding.text = text
  }
  return text
}

/** Of the finding of one source. */
function formatBasis(finding: Finding, decision: Decision): string {
  const { isRequestError, staleReason, facts, holdsUntil, reassigned, unmetLaws } = finding
  const isLimited =
    facts === undefined &&
    holdsUntil < decision.judgedAt + msPerDay &&
    holdsUntil !== Number.NEGATIVE_INFINITY
  return (
    (isRequestError ? ',"requestError":true' : '') +
    (staleReason === undefined ? '' : `,"staleReason":${quote(staleReason)}`) +
    (isLimited ? formatMember('holdsUntil', formatInstant(holdsUntil)) : '') +
    (unmetLaws === undefined ? '' : `,"unmetLaws":${JSON.stringify(unmetLaws)}`) +
    (reassigned === undefined ? '' : `,"reassigned":${formatFinding(reassigned, decision)}`) +
    (facts === undefined ? '' : `,"facts":${facts}`)
  )
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

/** The reason in words, with the detail of the finding it comes from, or what policy overrode. */
function formatMessage({ decision, reason, findings, effects, detail }: Decision): string {
  const { text } = reasons[reason]
  if (detail !== undefined) return `${text}: ${detail}`
  if (decision === 'allow') return effects.length === 0 ? text : formatPolicyAllow(effects)
  const decisive = findings.find(
    (finding) =>
      finding.reason === reason &&
      finding.verdict !== 'pass' &&
      !effects.some(({ check }) => check === finding.check),
  )
  return decisive ? `${text}: ${decisive.detail}` : text
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
export function formatFinite(at: Instant | undefined): string | undefined {
  return at === undefined || !Number.isFinite(at) ? undefined : formatInstant(at)
}
