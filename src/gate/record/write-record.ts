/** The way into the record for decisions: the text of the record, and that of the reply. */
import {
  type CallKind,
  type Decision,
  type DecisionText,
  type Finding,
  listDegradedChecks,
  type TextAroundAge,
} from '../../domain/decision.js'
import type { ListVersion } from '../../domain/number-set.js'
import { formatFinite, formatInstant, msPerDay } from '../../domain/time/dates.js'
import { describeSaid, type Said } from '../../domain/words/words.js'
import type { Facts } from '../../judge/facts.js'
import { minPersonBytes } from '../../transparency/log-entry.js'
import type {
  DecisionReply,
  FindingReply,
  ListDocument,
  MandateDocument,
  PolicyDocument,
  RecordedFacts,
} from './decision-document.js'
import { describeDecision, describeFinding, describeWhy, toReply } from './describe-decision.js'
import { readRecord } from './read-record.js'
import { narrowKey } from './recorded-facts.js'
import { showFacts } from './shown-facts.js'

/** Of what a record holds. Changes when the rules are applied to something that earlier records do not have. */
export const recordVersion = 1

/** The JSON text of the record: a {@link DecisionDocument}, made once per decision. */
export function writeDecision(decision: Decision): string {
  const { encoded } = decision
  if (encoded?.of === decision) return encoded.json
  const parts = formatParts(decision)
  const json = joinParts(decision, parts, 'record')
  decision.encoded = { of: decision, json, parts }
  return json
}

/** The JSON text of the reply: a {@link DecisionReply}. */
export function encodeReply(decision: Decision): string {
  const { encoded } = decision
  const parts = encoded?.of === decision ? encoded.parts : formatParts(decision)
  return joinParts(decision, parts, 'reply')
}

/** The reply as an object. */
export function replyTo(decision: Decision): DecisionReply {
  return toReply(readRecord('decision', { id: decision.id, body: writeDecision(decision) }))
}

type Form = 'record' | 'reply'

/** In Node.js 20, a text that was once the key of an object makes whatever it is joined to take two bytes a character. */
const callKindMembers: Readonly<Record<CallKind, string>> = {
  manual: ',"callKind":"manual"',
  autodialed: ',"callKind":"autodialed"',
  ai: ',"callKind":"ai"',
}

/** Writes the members in the order of {@link DecisionDocument} and omits absent ones. A record has two parts (`log-entry.ts`). */
function joinParts(decision: Decision, text: DecisionText, form: Form): string {
  const { head, number, middle, tail, person } = text
  let findings = ''
  for (const finding of decision.findings) {
    findings += (findings === '' ? '' : ',') + formatFinding(finding, decision, form)
  }
  const policy = decision.effects.length === 0 ? '' : formatPolicy(decision, form)
  const says = decision.says === undefined ? '' : `,"says":${formatSays(decision.says, form)}`
  const rest = `${middle}${says}${policy},"findings":[${findings}]${tail}`
  if (form === 'reply') return `{${head}${formatMessage(decision)}${number}${rest}${person}}`
  const quotes = listQuotes(decision)
  const quoted = quotes.length === 0 ? '' : `,"quotes":${JSON.stringify(quotes)}`
  const erasable = `{${number.slice(1)}${person}${quoted}${formatFacts(decision)}}`
  return `{${head}${rest}}\t${erasable.padEnd(minPersonBytes)}`
}

/** Verbatim text from others, which may be about the person. The kept part of the record has `true` instead. */
function listQuotes({ says = [], findings }: Decision): readonly string[] {
  const quotes: string[] = []
  const add = (said: readonly Said[]) => {
    for (const { quote } of said) if (quote !== undefined) quotes.push(quote)
  }
  add(says)
  for (const finding of findings) addOf(finding, add)
  return quotes
}

function addOf(finding: Finding, add: (said: readonly Said[]) => void): void {
  const { says, notRenewed, parts, reassigned } = finding
  add(says)
  if (notRenewed) add(notRenewed)
  if (parts) for (const part of parts) addOf(part, add)
  else if (reassigned) addOf(reassigned, add)
}

function formatSays(says: readonly Said[], form: Form): string {
  if (form === 'reply' || says.every(({ quote }) => quote === undefined))
    return JSON.stringify(says)
  return JSON.stringify(
    says.map((said) => (said.quote === undefined ? said : { ...said, quote: true })),
  )
}

/** The JSON of {@link RecordedFacts}. Cached facts of our own have the same text for every call to the number. */
function formatFacts({ facts, memo, request, decidedAt, accountTime }: Decision): string {
  const { own, provider, stored, reassigned, ledger } = (facts ?? {}) as Partial<Facts>
  const key = narrowKey(request)
  let text = ''
  const add = (name: keyof RecordedFacts, json: string | undefined) => {
    if (json !== undefined) text += `${text === '' ? '' : ','}"${name}":${json}`
  }
  if (own) {
    const known = memo?.ownText ?? JSON.stringify(own)
    if (memo) memo.ownText = known
    add('own', known)
  }
  if (provider) add('provider', JSON.stringify(provider, withoutPrimary))
  if (stored && Object.values(stored).some((one) => one !== undefined))
    add('stored', JSON.stringify(stored))
  if (reassigned) add('reassigned', JSON.stringify(reassigned))
  if (ledger !== undefined) add('ledger', JSON.stringify(ledger))
  if (key) add('key', JSON.stringify(key))
  if (request.at !== undefined && accountTime !== decidedAt) add('accountNow', String(accountTime))
  return text === '' ? '' : `,"facts":{${text}}`
}

/** The reason for not waiting for another source affects no decision, so it is left out. */
const withoutPrimary = (name: string, value: unknown) =>
  name === 'unavailablePrimary' ? undefined : value

/** What a record and its reply have in common. Put together from its parts, a text takes a fraction of the time of an object made for JSON. */
function formatParts(decision: Decision): DecisionText {
  const { request, decidedAt, judgedAt, nextAllowedAt } = decision
  const { channel } = request
  const number = quote(decision.number)
  return {
    head: `"id":"${decision.id}","decision":"${decision.decision}","reason":"${decision.reason}"`,
    number: `,"number":${number}${decision.decision === 'allow' ? `,"dial":${number}` : ''}`,
    middle:
      `${callKindMembers[request.callKind]}${formatPurpose(decision)},"decidedAt":"${formatInstant(decidedAt)}"` +
      `,"judgedAt":"${formatInstant(judgedAt)}","validUntil":"${formatInstant(decision.validUntil)}"` +
      (nextAllowedAt === undefined
        ? ''
        : formatMember('nextAllowedAt', formatFinite(nextAllowedAt)) + formatLatest(decision)) +
      formatDisclosures(decision) +
      `,"whatIf":${request.at !== undefined},"degraded":${JSON.stringify(listDegradedChecks(decision))}`,
    tail:
      `,"accountId":${quote(decision.accountId)}${formatMember('keyId', request.keyId)}` +
      formatMandate(decision) +
      `,"via":"${request.via}"` +
      formatMember('trunk', request.trunk) +
      (channel === undefined ? '' : `,"channel":${JSON.stringify(channel)}`) +
      formatMember('projectId', request.projectId) +
      formatMember('campaignId', request.campaignId) +
      formatMember('callerId', request.callerId) +
      formatMember('withdraws', decision.withdraws) +
      `,"rules":"${decision.rules}","recordVersion":${recordVersion}`,
    person:
      `,"dialed":${quote(request.dialed)}` +
      formatMember('postalCode', request.postalCode) +
      formatMember('subject', request.subject) +
      formatMember('personId', request.personId) +
      formatMember('reference', request.reference),
  }
}

function formatMessage({ decision, reason, says, findings, effects: policy }: Decision): string {
  const message = describeDecision({ decision, reason, says, findings, policy })
  const detail = says === undefined ? undefined : describeSaid(says)
  return `,"message":${quote(message)}${formatMember('detail', detail)}`
}

function formatPolicy({ effects, findings }: Decision, form: Form): string {
  const policy = effects.map((effect) => {
    const because = form === 'reply' ? describeWhy(effect, findings) : effect.because
    return {
      check: effect.check,
      effect: effect.effect,
      because,
      until: formatFinite(effect.until),
    }
  })
  return `,"policy":${JSON.stringify(policy satisfies readonly PolicyDocument[])}`
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

function formatFinding(finding: Finding, decision: Decision, form: Form): string {
  const { text } = finding
  const { beforeAge, afterAge } =
    (text?.of === finding ? text[form] : undefined) ?? formatAroundAge(finding, decision, form)
  return beforeAge + Math.max(0, decision.accountTime - finding.asOf) + afterAge
}

function formatAroundAge(finding: Finding, decision: Decision, form: Form): TextAroundAge {
  const { opensAt, lists, parts, holdsUntil, reassigned, notRenewed } = finding
  const facts = showFacts(finding, decision.facts as Facts | undefined, decision.number)
  const detail = form === 'reply' ? formatMember('detail', describeFinding(finding)) : ''
  const text = {
    beforeAge: shareText(
      `{"check":"${finding.check}","verdict":"${finding.verdict}","reason":"${finding.reason}"` +
        `${detail},"says":${formatSays(finding.says, form)},"source":${quote(finding.source)},"ageMs":`,
    ),
    afterAge: shareText(
      (notRenewed === undefined ? '' : formatNotRenewed(notRenewed, form)) +
        (opensAt === undefined ? '' : formatMember('opensAt', formatFinite(opensAt))) +
        (lists?.length ? `,"lists":[${lists.map(formatList).join()}]` : '') +
        (parts === undefined
          ? formatBasis(finding, decision, { form, facts })
          : `,"parts":[${parts.map((part) => formatFinding(part, decision, form)).join()}]`) +
        '}',
    ),
  }
  const isOfCall = parts !== undefined || reassigned !== undefined
  if (!isOfCall && (facts !== undefined || holdsUntil === Number.POSITIVE_INFINITY)) {
    const known = finding.text?.of === finding ? finding.text : undefined
    finding.text = { of: finding, record: known?.record, reply: known?.reply, [form]: text }
  }
  return text
}

function formatNotRenewed(says: readonly Said[], form: Form): string {
  const member = `,"notRenewed":${formatSays(says, form)}`
  if (form === 'record') return member
  return `,"stale":true,"staleReason":${quote(describeSaid(says))}${member}`
}

/** Of the finding of one source. */
function formatBasis(
  finding: Finding,
  decision: Decision,
  { form, facts }: { readonly form: Form; readonly facts: object | undefined },
): string {
  const { isRequestError, holdsUntil, reassigned, unmetLaws } = finding
  const isLimited =
    facts === undefined &&
    holdsUntil < decision.judgedAt + msPerDay &&
    holdsUntil !== Number.NEGATIVE_INFINITY
  return (
    (isRequestError ? ',"requestError":true' : '') +
    (isLimited ? formatMember('holdsUntil', formatInstant(holdsUntil)) : '') +
    (unmetLaws === undefined ? '' : `,"unmetLaws":${JSON.stringify(unmetLaws)}`) +
    (reassigned === undefined ? '' : `,"reassigned":${formatFinding(reassigned, decision, form)}`) +
    (facts === undefined || form === 'record' ? '' : `,"facts":${JSON.stringify(facts)}`)
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

function formatMember(name: keyof DecisionReply | keyof FindingReply, text?: string): string {
  return text === undefined ? '' : `,"${name}":${quote(text)}`
}

function formatList({ name, version, asOf }: ListVersion): string {
  return JSON.stringify({ name, version, asOf: formatInstant(asOf) } satisfies ListDocument)
}
