/** What the rules about the number of a call judge: lists, opt-outs, consent and hours. */
import type {
  Answer,
  AnswerFailure,
  AnswerFailureReason,
  ConsentEvidence,
} from '../domain/compliance.js'
import { isRequestError } from '../domain/compliance.js'
import type {
  CallKind,
  CallPurpose,
  CallRequest,
  CheckName,
  Finding,
  PurposeRules,
  ReasonCode,
} from '../domain/decision.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import type { Instant } from '../domain/time/clock.js'
import type { OwnFinding } from './combine-findings.js'
import { type Fact, type OwnFacts, ownSource, type ProviderAnswers, type Sources } from './facts.js'
import type { Law } from './law.js'
import type { RowRules } from './row.js'
import type { ExceptionInUse } from './scope.js'

export interface NumberSettings {
  readonly aiConsentEvidence: ConsentEvidence
  readonly exceptions: readonly ExceptionInUse[]
  readonly recordedVoiceWindows: boolean
  readonly projectMayWiden: boolean
  readonly strictestPlace: Readonly<Record<CallKind, boolean>>
}

export interface NumberCall {
  readonly law: Law
  readonly windows: RowRules['windows']
  readonly settings: NumberSettings
  readonly call: CallRequest
  readonly number: PhoneNumber
  /** Absent if nobody said what the call is for. */
  readonly stated: CallPurpose | undefined
  readonly purpose: PurposeRules
  /** The instant that is judged. */
  readonly at: Instant
  /** By the account's clock. */
  readonly now: Instant
  readonly sources: Sources
}

export type Judgment = Pick<Finding, 'verdict' | 'reason' | 'says'> & Partial<Finding>

/** What a rule says by our own facts. */
export function findOwn(
  check: CheckName,
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
  check: CheckName,
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
  check: CheckName,
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
  check: CheckName,
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
