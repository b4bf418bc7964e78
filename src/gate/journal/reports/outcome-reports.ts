/** Reports of what became of a call, from those who asked whether it may be placed. */
import type { OutcomeReport } from '../../../api/gate/call-events.js'
import {
  type AbandonmentLimit,
  type AbandonmentReports,
  type AnswerReport,
  type CallOutcome,
  findReach,
  findRing,
  nameCampaign,
  type SaidDisclosure,
} from '../../../domain/call-outcome.js'
import { type Caller, nameCaller } from '../../../domain/caller.js'
import type { ConfirmedCall } from '../../../domain/consent/consent-records.js'
import {
  type AttemptReports,
  type CallPurpose,
  callKinds,
  callPurposes,
  type ReportedAttempt,
} from '../../../domain/mandate.js'
import type { PhoneNumber } from '../../../domain/phone-number.js'
import type { Instant } from '../../../domain/time/clock.js'
import { formatInstant, parseInstant } from '../../../domain/time/dates.js'
import { AppError, type FieldProblem, invalidRequest } from '../../../errors.js'
import type { GateRules } from '../../gate-deps.js'
import type { DecisionDocument } from '../../record/decision-document.js'
import { listRecordedPlaces } from '../../record/read-record.js'
import { mergeOutcome } from '../merge-outcome.js'

/** Clocks differ by as much. */
const toleranceMs = 60_000

const times = [
  'at',
  'dialledAt',
  'answeredAt',
  'greetingEndedAt',
  'connectedAt',
  'failedAt',
  'endedAt',
] as const

/** What a report counts for. */
export interface ReportCounters {
  readonly attempts: AttemptReports
  readonly abandonment: AbandonmentReports
  readonly identities: { confirmIdentity(caller: Caller, call: ConfirmedCall): Promise<void> }
  readonly getCallingRules: () => Pick<GateRules['callingRules'], 'abandonment'> & {
    /** See {@link findReach}. */
    findMinTalkMs(at: Instant): number
  }
}

interface ReportContext {
  readonly document: DecisionDocument
  readonly caller: Caller
  readonly now: Instant
  readonly counters: ReportCounters
}

/**
 * Counts the attempt of a decision, and its answer, by a report, and returns what goes into its record. Throws `invalid-request` for
 * impossible times, `forbidden` if the key may not take calls back, and `conflict` if there was no call or it has left.
 */
export async function applyReport(
  report: OutcomeReport,
  { document, caller, now, counters }: ReportContext,
): Promise<Partial<CallOutcome>> {
  requirePossibleReport(report, document, now)
  if (document.decision !== 'allow') throw conflict(document, 'the call was blocked')
  if (document.whatIf) throw conflict(document, 'it is a what-if, which no call follows')
  const { state, at, fromPlatform = false, ...rest } = report
  if (state === 'not-placed') {
    await releaseUnplaced(document, caller, counters.attempts)
    const { leg, dialStatus, cause } = rest
    return {
      state: 'not-carried-out',
      notCarriedOut: 'not-placed',
      notCarriedOutAt: at,
      ...{ leg, dialStatus, cause },
    }
  }
  const outcome: Partial<CallOutcome> = { state, ...rest, ...(at && { [`${state}At`]: at }) }
  const merged = mergeOutcome(readRecorded(document), outcome)
  if (isCounted(document)) {
    const dialedAt =
      outcome.dialledAt ?? (state === 'dialled' ? findFirstReport(document, now) : undefined)
    await counters.attempts.notePlaced(toAttempt(document), {
      dialedAt: dialedAt && Math.min(dialedAt, now),
      reach: findReach(merged, counters.getCallingRules().findMinTalkMs(now)),
    })
  }
  if (report.identityConfirmed) await confirmIdentity(merged, { document, caller, now, counters })
  if (state === 'answered') await countAnswer(document, { ...outcome, fromPlatform }, counters)
  else await countRing(document, merged, counters)
  return outcome
}

/** Only a conversation shows who has the number; that it rings, or is answered, does not. */
async function confirmIdentity(
  { state, answeredBy, answeredAt }: Partial<CallOutcome>,
  { document, caller, now, counters }: ReportContext,
): Promise<void> {
  if (state !== 'answered' || answeredBy !== 'person') {
    const rule = 'is only for a call that a person answered; send answeredBy person'
    throw invalidRequest([{ field: 'identityConfirmed', value: 'true', rule }])
  }
  const { number, erased, decidedAt, projectId, campaignId } = document
  if (erased) throw conflict(document, 'its number was erased')
  const calledAt = Math.min(answeredAt ?? parseInstant(decidedAt) ?? 0, now)
  const call = { number: number as PhoneNumber, projectId, campaignId, calledAt }
  await counters.identities.confirmIdentity(caller, call)
}

type CampaignCounters = Pick<ReportCounters, 'abandonment' | 'getCallingRules'>

/** Counts a call that nobody answered; `outcome` is all that is known of it. */
export async function countRing(
  document: DecisionDocument,
  outcome: Partial<CallOutcome>,
  counters: CampaignCounters,
): Promise<void> {
  const ring = findRing(outcome)
  if (ring) await count(document, { ring }, counters)
}

async function countAnswer(
  document: DecisionDocument,
  {
    fromPlatform,
    answeredBy,
    answeredAt,
    greetingEndedAt,
    connectedAt,
  }: AnswerReport & { readonly fromPlatform: boolean },
  counters: CampaignCounters,
): Promise<void> {
  const report = { answeredBy, answeredAt, greetingEndedAt, connectedAt }
  const hasTimes = greetingEndedAt !== undefined || connectedAt !== undefined
  const isOwnReport = !fromPlatform && (answeredBy !== undefined || document.callKind !== 'ai')
  const isCounted = hasTimes || answeredBy === 'machine' || isOwnReport
  if (isCounted) await count(document, report, counters)
  // The call was counted as unanswered before.
  else if (readRecorded(document).state === 'failed')
    await count(document, { ring: 'none' }, counters)
}

/** Of a call that a person dialed, and of one that no check has judged, nothing is counted. */
async function count(
  document: DecisionDocument,
  report: AnswerReport,
  { abandonment, getCallingRules }: CampaignCounters,
): Promise<void> {
  const callKind = callKinds.find((kind) => kind === document.callKind)
  if (callKind === undefined || callKind === 'manual' || document.findings.length === 0) return
  const { id: decisionId, accountId } = document
  const at = parseInstant(document.decidedAt) ?? 0
  const purpose = findPurpose(document)
  const called = { number: document.number, purpose, places: listRecordedPlaces(document) }
  const limits: readonly AbandonmentLimit[] = getCallingRules().abandonment.find(called, at)
  const call = { decisionId, accountId, campaign: nameCampaign(document), callKind, at }
  await abandonment.count(call, report, limits)
}

const findPurpose = ({ purpose }: DecisionDocument): CallPurpose =>
  callPurposes.find((one) => one === purpose) ?? 'telemarketing'

/** What was reported before. */
export function readRecorded({ outcome: recorded }: DecisionDocument): Partial<CallOutcome> {
  if (recorded === undefined) return {}
  const { state, leg, answeredBy, dialStatus, cause } = recorded
  const at = (text: string | undefined) => (text === undefined ? undefined : parseInstant(text))
  return {
    state,
    leg,
    answeredBy,
    dialStatus,
    cause,
    dialledAt: at(recorded.dialledAt),
    answeredAt: at(recorded.answeredAt),
    greetingEndedAt: at(recorded.greetingEndedAt),
    failedAt: at(recorded.failedAt),
    endedAt: at(recorded.endedAt),
  }
}

/** Of two times, the second is not before the first. */
const order = [
  ['dialledAt', 'answeredAt'],
  ['answeredAt', 'greetingEndedAt'],
  ['answeredAt', 'connectedAt'],
  ['answeredAt', 'endedAt'],
] as const

function findDisorder({ state, at, ...rest }: OutcomeReport): readonly FieldProblem[] {
  const named = state === 'not-placed' || at === undefined ? rest : { ...rest, [`${state}At`]: at }
  // What was recorded before may be of another leg, or by another clock.
  return order.flatMap(([first, second]) => {
    const [before, after] = [named[first], named[second]]
    if (before === undefined || after === undefined || before <= after) return []
    const rule = `must not be before ${first}, ${formatInstant(before)}`
    return [{ field: second, value: formatInstant(after), rule }]
  })
}

/** A report without a time that comes again must not move the attempt again. */
function findFirstReport({ outcome }: DecisionDocument, now: Instant): Instant | undefined {
  return isPlaced(outcome?.state) ? undefined : now
}

async function releaseUnplaced(
  document: DecisionDocument,
  caller: Caller,
  attempts: AttemptReports,
): Promise<void> {
  if (caller.limits.mandate?.attempts) {
    const rule = `the attempts of ${nameCaller(caller)} are limited, so it cannot take one back`
    throw new AppError('forbidden', `state 'not-placed': ${rule}; report it with another key`)
  }
  const left = 'the call has left, so it cannot be not-placed'
  if (isPlaced(document.outcome?.state)) throw conflict(document, left)
  if (!isCounted(document)) return
  const result = await attempts.noteNotPlaced(toAttempt(document))
  if (result === 'placed') throw conflict(document, left)
  if (result === 'has-permit')
    throw conflict(document, 'its call has a permit; release that: POST /v1/permits/{id}/release')
}

const isPlaced = (state: string | undefined) =>
  state === 'dialled' || state === 'answered' || state === 'failed'

/** Calls that nothing limits are no attempts, so nothing is written for them. */
function isCounted({ findings, mandate }: DecisionDocument): boolean {
  return mandate?.remaining !== undefined || findings.some(({ check }) => check === 'attempts')
}

function toAttempt(document: DecisionDocument): ReportedAttempt {
  const { id, keyId = '', accountId, subject, personId, number, erased, decidedAt } = document
  const stated = findPurpose(document)
  const purpose = stated === 'telemarketing' ? undefined : stated
  const at = parseInstant(decidedAt) ?? 0
  return {
    ...{ decisionId: id, keyId, accountId, subject, personId, purpose, at },
    number: erased ? undefined : number,
  }
}

function requirePossibleReport(
  report: OutcomeReport,
  document: DecisionDocument,
  now: Instant,
): void {
  const { decidedAt } = document
  const earliest = (parseInstant(decidedAt) ?? 0) - toleranceMs
  const said = report.said ?? []
  const reported: readonly (readonly [string, Instant | undefined])[] = [
    ...times.map((field) => [field, report[field]] as const),
    ...said.map(({ at }, index) => [`said[${index}].at`, at] as const),
  ]
  const problems = reported.flatMap(([field, at]) => {
    if (at === undefined || (at >= earliest && at <= now + toleranceMs)) return []
    const rule =
      at < earliest
        ? `must not be before the decision, at ${decidedAt}`
        : `must not be in the future; it is ${formatInstant(now)}`
    return [{ field, value: formatInstant(at), rule }]
  })
  const all = [...problems, ...findDisorder(report), ...findUnaskedDisclosures(said, document)]
  if (all.length > 0) throw invalidRequest(all)
}

function findUnaskedDisclosures(
  said: readonly SaidDisclosure[],
  { disclosures = [] }: DecisionDocument,
): readonly FieldProblem[] {
  const asked = disclosures.map(({ key }) => key)
  return said.flatMap(({ key }, index) => {
    const field = `said[${index}].key`
    if (!asked.includes(key)) {
      const known = asked.length === 0 ? 'none' : asked.join(', ')
      return [{ field, value: key, rule: `the decision has no such disclosure; it has ${known}` }]
    }
    const isFirst = said.findIndex((one) => one.key === key) === index
    return isFirst ? [] : [{ field, value: key, rule: 'is given twice' }]
  })
}

function conflict({ id }: DecisionDocument, why: string): AppError {
  return new AppError('conflict', `Decision '${id}': ${why}`)
}
