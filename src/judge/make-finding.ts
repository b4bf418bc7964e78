/** Helpers that build findings from our own facts and from providers' answers. */
import type { Answer, AnswerFailure, AnswerFailureReason } from '../domain/compliance.js'
import { isRequestError } from '../domain/compliance.js'
import type { Finding, FindingName, ReasonCode } from '../domain/decision.js'
import type { Instant } from '../domain/time/clock.js'
import type { OwnFinding } from './combine-findings.js'
import { type Fact, type OwnFacts, ownSource, type ProviderAnswers, type Sources } from './facts.js'
import type { Judged } from './judged.js'

export type Judgment = Pick<Finding, 'verdict' | 'reason' | 'says'> & Partial<Finding>

/** What a rule says by our own facts. */
export function findOwn(
  check: FindingName,
  { asOf }: OwnFacts,
  {
    holdsUntil,
    ...judgment
  }: Omit<Judgment, 'holdsUntil'> & { readonly holdsUntil?: Instant | undefined },
): Finding {
  const until = holdsUntil ?? Number.POSITIVE_INFINITY
  return { check, source: ownSource, asOf, holdsUntil: until, ...judgment }
}

/** What a rule says by one of our own facts. What was known before the fact could not be read again may deny, and only that. */
export function judgeFact<Value>(
  check: FindingName,
  fact: Fact<Value> | 'not-asked',
  { now, judge }: { readonly now: Instant; readonly judge: (value: Value) => Finding },
): OwnFinding | undefined {
  if (fact === 'not-asked') return undefined
  if (fact.why === undefined) return { finding: judge(fact.value) }
  const { why, last } = fact
  const before = last && { ...judge(last.value), asOf: last.asOf, notRenewed: why.says }
  if (before?.verdict === 'deny') return { finding: before }
  return { finding: createUnknown(check, now, why), failure: why }
}

/** What a rule says by an answer of a provider. */
export function judgeAnswer<Value>(
  check: FindingName,
  answer: Answer<Value>,
  { now, judge }: { readonly now: Instant; readonly judge: (value: Value) => Judgment },
): Finding {
  if (!answer.ok) return createUnknown(check, now, answer)
  const { value, source, asOf, holdsUntil = Number.POSITIVE_INFINITY, notRenewed } = answer
  return { check, source, asOf, holdsUntil, notRenewed, ...judge(value) }
}

const listFailureReasons: Readonly<Partial<Record<AnswerFailureReason, ReasonCode>>> = {
  'list-missing': 'list-missing',
  'list-unusable': 'list-unreadable',
  'list-stale': 'list-stale',
}

function createUnknown(
  check: FindingName,
  asOf: Instant,
  { reason, says, source }: AnswerFailure,
): Finding {
  return {
    check,
    verdict: 'unknown',
    reason: listFailureReasons[reason] ?? 'check-unanswered',
    says,
    source,
    asOf,
    holdsUntil: Number.NEGATIVE_INFINITY,
    isRequestError: isRequestError(reason),
  }
}

/** Whether a provider answers for lists and consent. */
export function isBesideProvider({ own }: Pick<Sources, 'own'>): boolean {
  return own.permission === 'not-asked'
}

/** What a provider answered to a question; absent if it was not asked. */
export function findAnswer<Name extends keyof ProviderAnswers>(
  sources: Sources,
  name: Name,
): { readonly answer: ProviderAnswers[Name] | undefined; readonly isBesideProvider: boolean } {
  const { provider } = sources
  return { answer: provider?.[name], isBesideProvider: provider !== undefined }
}

/** Turns any exception in a rule into an unknown finding. */
export function createFailed(
  check: FindingName,
  { times }: Pick<Judged, 'times'>,
  cause: unknown,
): Finding {
  const says = [{ code: 'rule-failed', quote: String(cause) }] as const
  const failure = { ok: false, reason: 'source-failed', says, source: 'gate' } as const
  return createUnknown(check, times.accountNow, failure)
}

export function guard(
  check: FindingName,
  about: Pick<Judged, 'times'>,
  judge: () => Finding,
): Finding {
  try {
    return judge()
  } catch (cause) {
    return createFailed(check, about, cause)
  }
}
