/** Exceptions of the law that an operator has decided to use: a relationship on file lifts hours or the number of calls. */
import { reasons } from '../../domain/checks.js'
import type {
  Answer,
  AnswerSuccess,
  LegalTime,
  LegalTimeQuestion,
  MaybePromise,
  ScrubVerdict,
} from '../../domain/compliance.js'
import type { CallRequest, Finding } from '../../domain/decision.js'
import type { AppliedException, LiftedRule, Relationship } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay, msPerDay } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import { type ExceptionInUse, isInScope } from '../../judge/scope.js'
import type { GateRules } from '../gate-deps.js'

/** Finds the exceptions that a relationship meets in a call at an instant. */
export type FindExceptions = (
  lifted: LiftedRule,
  relationship: Relationship,
) => readonly AppliedException[]

/** `undefined` if none is in use for the call. */
export function prepareExceptions(
  request: CallRequest,
  {
    settings,
    callingRules: { exceptions },
  }: {
    readonly settings: { readonly exceptions: readonly ExceptionInUse[] }
    readonly callingRules: Pick<GateRules['callingRules'], 'exceptions'>
  },
  at: Instant,
): FindExceptions | undefined {
  if (settings.exceptions.length === 0) return undefined
  const inUse = settings.exceptions.filter(
    (row) => row.on * msPerDay <= at && isInScope(request, row) === true,
  )
  if (inUse.length === 0) return undefined
  return (lifted, relationship) =>
    exceptions.find(lifted, relationship, at).flatMap(({ id, region, citation }) => {
      const by = inUse.find((row) => row.id === id)?.decidedBy
      return by === undefined ? [] : [{ id, region, citation, decidedBy: by, relationship }]
    })
}

export function sayExceptions(applied: readonly AppliedException[]): readonly Said[] {
  return applied.map(({ id, citation, decidedBy, relationship: { type: record, contactOn } }) => {
    const params = { id, citation, record, on: formatDay(contactOn), decidedBy }
    return { code: 'exception', params }
  })
}

/** What the lifting of hours needs of a call. */
interface CallToLift {
  readonly findings: readonly Finding[]
  readonly findExceptions: FindExceptions
  readonly scrub: Answer<ScrubVerdict>
  readonly ask: (exceptions: LegalTimeQuestion['exceptions']) => MaybePromise<Answer<LegalTime>>
  readonly judgeHours: (answer: AnswerSuccess<LegalTime>) => Finding
  readonly judgePermission: (answer: AnswerSuccess<ScrubVerdict>) => Finding
}

/**
 * The findings of a sales call whose hours an exception lifts: the hours of the country hold in place of the region's own.
 * Those of one source only, which is our own service: others do not report the relationship.
 */
export function liftHours(call: CallToLift): MaybePromise<readonly Finding[]> {
  const { findings, findExceptions, scrub, ask } = call
  const hours = findings.find(({ check }) => check === 'calling-hours')
  const permission = findings.find(({ check }) => check === 'permission')
  if (!hours || hours.parts || !isOfTime(hours) || !permission?.relationship) return findings
  if (!scrub.ok || scrub.otherAnswers) return findings
  const applied = findExceptions('hours', permission.relationship)
  if (applied.length === 0) return findings
  const row = isOfTime(permission)
    ? call.judgePermission({ ...scrub, value: withoutTime(scrub.value), judged: undefined })
    : permission
  const replace = (answer: Answer<LegalTime>) => {
    if (!answer.ok || answer.value.status !== 'OK') return findings
    const found = call.judgeHours(answer)
    const lifted = { ...found, says: [...found.says, ...sayExceptions(applied)] }
    return findings.map((one) => (one === hours ? lifted : one === permission ? row : one))
  }
  const answer = ask(applied)
  return answer instanceof Promise ? answer.then(replace, () => findings) : replace(answer)
}

function isOfTime({ verdict, reason }: Finding): boolean {
  return verdict === 'deny' && reasons[reason].kind === 'time'
}

/** The row at a time of day at which calls are allowed: its letter and records decide alone. */
function withoutTime(row: ScrubVerdict): ScrubVerdict {
  const allowed = { manual: true, autodialed: true, ai: true }
  return { ...row, doNotCallToday: false, allowed, opensAt: undefined }
}
