/** What is compared of an answer: no text for people, no id, no age. */
import type { RecordedSaid } from '../../src/domain/words/words.js'
import type { DecisionReply, FindingReply } from '../../src/gate/record/decision-document.js'
import type { Answer } from './client.js'
import type { Door, Tuple } from './script.js'

interface FindingBody {
  readonly check: string
  readonly verdict: string
  readonly reason: string
  readonly stale?: true
  readonly opensAt?: string
}

interface DecisionBody {
  readonly decision: string
  readonly reason: string
  readonly judgedAt: string
  readonly validUntil: string
  readonly nextAllowedAt?: string
  readonly nextAllowedAtLatest?: true
  readonly whatIf?: boolean
  readonly degraded: readonly string[]
  readonly policy?: readonly {
    readonly check: string
    readonly effect: string
    readonly until?: string
  }[]
  readonly findings: readonly FindingBody[]
  readonly disclosures?: readonly { readonly key: string; readonly rules: readonly string[] }[]
  readonly dial?: string
  readonly withdraws?: string
  readonly purpose?: string
  readonly permit?: { readonly expiresAt: string }
}

/** Where each member of the tuple of a decision is. */
export const at = { status: 0, decision: 1, reason: 2, findings: 7 } as const

export function readTuple(door: Door, { status, text }: Answer): Tuple {
  if (door === 'predial') return readLine(status, text)
  if (door === 'ari') return readVariables(text)
  if (status !== 200) return [status]
  const body = JSON.parse(text)
  if (door === 'use') return [status, body.state]
  if (door === 'preview') return [status, body.allowed, body.blocked, body.rows.map(readRow)]
  return readDecision(status, body)
}

/** What a decision and its findings say. */
export function listSaid({ says = [], findings }: DecisionReply): readonly RecordedSaid[] {
  return [...says, ...findings.flatMap(listOfFinding)]
}

function listOfFinding(finding: FindingReply): readonly RecordedSaid[] {
  const { says, notRenewed = [], parts = [], reassigned } = finding
  const others = reassigned ? [...parts, reassigned] : parts
  return [...says, ...notRenewed, ...others.flatMap(listOfFinding)]
}

function readDecision(status: number, body: DecisionBody): Tuple {
  const since = (text: string | undefined) =>
    text === undefined ? 0 : Date.parse(text) - Date.parse(body.judgedAt)
  const findings = body.findings.map(({ check, verdict, reason, stale, opensAt }) => {
    const finding = [check, verdict, reason]
    if (opensAt === undefined && !stale) return finding
    return [...finding, since(opensAt), ...(stale ? [1] : [])]
  })
  const effects = (body.policy ?? []).map(({ check, effect, until }) => [
    check,
    effect,
    since(until),
  ])
  const duties = (body.disclosures ?? []).map(({ key, rules }) => [key, ...rules])
  const marks = [
    body.whatIf ? 'what-if' : '',
    body.nextAllowedAtLatest ? 'latest' : '',
    body.withdraws === undefined ? '' : 'withdraws',
    body.permit === undefined ? '' : `permit ${since(body.permit.expiresAt)}`,
    body.purpose ?? '',
  ].filter((mark) => mark !== '')
  return [
    ...[status, body.decision, body.reason],
    ...[since(body.validUntil), since(body.nextAllowedAt)],
    ...[body.degraded, effects, findings, duties],
    ...[body.dial ?? '', marks],
  ]
}

/** `allow:<number>:<id>:end` or `block:<reason>:<id>:end`. */
function readLine(status: number, text: string): Tuple {
  const [decision, subject] = text.trim().split(':')
  return [status, decision, subject]
}

function readVariables(text: string): Tuple {
  const told = JSON.parse(text) as Readonly<Record<string, string>>
  const of = (name: string) => told[`CALLGATE_${name}`] ?? ''
  return [0, of('DECISION'), of('REASON'), of('NUMBER'), of('CAUSE'), of('DEGRADED')]
}

function readRow(row: DecisionBody): Tuple {
  return [row.decision, row.reason, row.nextAllowedAt ?? '', row.nextAllowedAtLatest ? 1 : 0]
}
