/** A decision in words, from its codes: of one that was just made, and of one that is read from its record. */
import { type ReasonCode, reasons } from '../../domain/checks.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { describeSaid, type RecordedSaid } from '../../domain/words/words.js'
import type {
  DecisionDocument,
  DecisionReply,
  FindingDocument,
  FindingReply,
  PolicyDocument,
  PolicyReply,
} from './decision-document.js'
import { showFacts } from './shown-facts.js'

/** What is described of a finding; the rest of it differs between a record and a decision. */
interface Described {
  readonly check: string
  readonly verdict: string
  readonly reason: string
  readonly says: readonly RecordedSaid[]
  readonly source: string
  readonly notRenewed?: readonly RecordedSaid[] | undefined
  readonly parts?: readonly Described[] | undefined
}

interface DescribedPolicy {
  readonly check: string
  readonly effect: PolicyReply['effect']
  readonly because?: string | undefined
  readonly until?: string | Instant | undefined
}

export function describeFinding(finding: Described): string {
  if (finding.notRenewed === undefined) return describeSaid(finding.says)
  // A pass of several sources names those alone whose answer is old; an erased record does not say which.
  const old = finding.verdict === 'pass' ? (finding.parts ?? []).filter(isOld) : []
  const reasons = (old.length === 0 ? [finding] : old).map(({ source, notRenewed = [] }) => ({
    ...{ code: 'not-renewed', params: { by: source } },
    quote: describeSaid(notRenewed),
  }))
  return describeSaid([...finding.says, ...reasons])
}

const isOld = ({ notRenewed }: Described) => notRenewed !== undefined

/** The reason in words, with what the finding says that it comes from, or what policy overrode. */
export function describeDecision({
  decision,
  reason,
  says,
  findings,
  policy,
}: {
  readonly decision: string
  readonly reason: string
  readonly says: readonly RecordedSaid[] | undefined
  readonly findings: readonly Described[]
  readonly policy: readonly DescribedPolicy[]
}): string {
  // A newer version of callgate may have written the record.
  const text = reasons[reason as ReasonCode]?.text ?? reason
  if (says !== undefined) return joinWords(text, describeSaid(says))
  if (decision === 'allow') return policy.length === 0 ? text : describeAllow(policy, findings)
  const decisive = findings.find(
    (finding) =>
      finding.reason === reason &&
      finding.verdict !== 'pass' &&
      !policy.some(({ check }) => check === finding.check),
  )
  return decisive ? joinWords(text, describeFinding(decisive)) : text
}

/** What was only a quotation has no words once it is erased. */
const joinWords = (text: string, more: string): string => (more === '' ? text : `${text}: ${more}`)

/** Why a call is allowed although not every check passed with a fresh answer. */
function describeAllow(policy: readonly DescribedPolicy[], findings: readonly Described[]): string {
  const isStaleOnly = policy.every(({ effect }) => effect === 'stale-allowed')
  const passed = isStaleOnly ? 'every check passed, some by stale answers' : 'policy let it pass'
  return `${passed}: ${policy.map((one) => describePolicy(one, findings)).join('; ')}`
}

/** How policy overrode one finding. */
export function describePolicy(policy: DescribedPolicy, findings: readonly Described[]): string {
  const { check, effect, until } = policy
  const because = describeWhy(policy, findings)
  switch (effect) {
    case 'unknown-allowed':
      return `${check} unknown, allowed${formatUntil(until)} (${because})`
    case 'stale-allowed':
      return `${check} by a stale answer (${because})`
    case 'shadowed':
      return `${check} in shadow, would have blocked (${because})`
  }
}

/** The reason set in policy, why the source does not answer, or what the finding says. */
export function describeWhy(
  { check, effect, because }: DescribedPolicy,
  findings: readonly Described[],
): string {
  if (because !== undefined) return because
  const finding = findings.find((one) => one.check === check)
  if (finding === undefined) return ''
  return effect === 'stale-allowed'
    ? describeSaid(finding.notRenewed ?? [])
    : describeFinding(finding)
}

function formatUntil(until: string | Instant | undefined): string {
  if (typeof until === 'string') return ` until ${until}`
  return until !== undefined && Number.isFinite(until) ? ` until ${formatInstant(until)}` : ''
}

/** The reply about a decision that is read from its record, with its members in the order of the first reply: both are the same text. */
export function toReply(document: DecisionDocument): DecisionReply {
  const { facts, ...recorded } = document
  const { id, decision, reason, says, policy } = recorded
  const findings = document.findings.map((finding) => toFindingReply(finding, document))
  return {
    ...{ id, decision, reason },
    message: describeDecision({ ...document, says, policy: policy ?? [] }),
    ...(says && { detail: describeSaid(says) }),
    ...(recorded as Omit<typeof recorded, 'policy'>),
    ...(policy && { policy: policy.map((one) => toPolicyReply(one, findings)) }),
    findings,
  }
}

function toPolicyReply(
  { until, ...policy }: PolicyDocument,
  findings: readonly FindingReply[],
): PolicyReply {
  const because = describeWhy(policy, findings)
  return until === undefined ? { ...policy, because } : { ...policy, because, until }
}

function toFindingReply(finding: FindingDocument, document: DecisionDocument): FindingReply {
  const { check, verdict, reason, says, source, ageMs, reassigned, parts, ...more } = finding
  const { notRenewed } = more
  const facts = parts ? undefined : showFacts(finding, document.facts, document.number)
  return {
    check,
    verdict,
    reason,
    detail: describeFinding(finding),
    says,
    source,
    ageMs,
    ...(notRenewed && { stale: true, staleReason: describeSaid(notRenewed) }),
    ...more,
    ...(reassigned && { reassigned: toFindingReply(reassigned, document) }),
    ...(facts && { facts }),
    ...(parts && { parts: parts.map((part) => toFindingReply(part, document)) }),
  }
}
