/** Records a reported opt-out, for each number that the report may mean. */
import type { OptOutRequest } from '../../../api/gate/opt-out-fields.js'
import { type Caller, canUseScope, type ScopeChoice } from '../../../domain/caller.js'
import type {
  OptOutReport,
  OptOutTerms,
  RecordedOptOut,
} from '../../../domain/consent/consent-records.js'
import { AppError, type FieldProblem, invalidRequest } from '../../../errors.js'

/** The number and the project of a decision. */
export interface DecidedCall extends ScopeChoice {
  readonly number: string
}

export interface OptOutReportDeps {
  /** Rejects with a refusal if the caller has no such decision, or if it is not about a ten-digit number. */
  readonly findCall: (caller: Caller, decisionId: string) => Promise<DecidedCall>
  readonly optOuts: {
    record(caller: Caller, report: OptOutReport): Promise<RecordedOptOut & OptOutTerms>
  }
}

export interface AppliedOptOut extends ScopeChoice {
  readonly recorded: RecordedOptOut & OptOutTerms
  readonly numbers: readonly string[]
  readonly ignored: readonly FieldProblem[]
}

/** Rejects, with nothing recorded, only if neither the number nor the decision says who the person is. */
export async function applyOptOut(
  request: OptOutRequest,
  caller: Caller,
  { findCall, optOuts }: OptOutReportDeps,
): Promise<AppliedOptOut> {
  const { receipt: _, ignored: ignoredFields, number, decisionId, ...statement } = request
  const ignored = [...ignoredFields]
  const call = await findCallUnlessNumber(request, (id) => findCall(caller, id), ignored)
  const numbers = [...new Set([call?.number, number].filter((one) => one !== undefined))]
  const [first] = numbers
  if (first === undefined) throw createUnknownPersonError(request)
  if (numbers.length > 1) {
    const rule = 'differs from the number of the decision; both numbers were opted out'
    ignored.push({ field: 'number', value: number ?? '', rule })
  }
  const wanted = { ...call, ...definedScope(request) }
  const isAllowed = canUseScope(caller, wanted)
  const choice = isAllowed ? wanted : chooseOwnProject(caller, wanted, ignored)
  const { channel, source, scope } = statement
  const report = (one: string): OptOutReport => ({
    ...statement,
    projectId: choice.projectId,
    campaignId: choice.campaignId,
    scope: isAllowed ? scope : 'everything',
    channel: channel ?? (source === 'transcript' ? 'call-voice' : 'agent'),
    number: one,
    decisionId: one === call?.number ? decisionId : undefined,
  })
  let recorded = await optOuts.record(caller, report(first))
  for (const one of numbers.slice(1)) recorded = await optOuts.record(caller, report(one))
  if (recorded.scope !== scope) {
    const rule =
      'must be everything unless optOuts.sellers names the project as calling for another legal entity; everything is used'
    ignored.push({ field: 'scope', value: scope, rule })
  }
  if (!recorded.isProjectKnown) {
    const [field, value = ''] =
      choice.campaignId === undefined
        ? (['projectId', choice.projectId] as const)
        : (['campaignId', choice.campaignId] as const)
    ignored.push({
      field,
      value,
      rule: 'must be one of this account; the opt-out applies to every project',
    })
  }
  return { projectId: choice.projectId, recorded, numbers, ignored }
}

async function findCallUnlessNumber(
  { decisionId, number }: OptOutRequest,
  find: (id: string) => Promise<DecidedCall>,
  ignored: FieldProblem[],
): Promise<DecidedCall | undefined> {
  if (decisionId === undefined) return undefined
  try {
    return await find(decisionId)
  } catch (cause) {
    if (number === undefined || !(cause instanceof AppError)) throw cause
    ignored.push({ field: 'decisionId', value: decisionId, rule: cause.message })
    return undefined
  }
}

const definedScope = ({ projectId, campaignId }: OptOutRequest): ScopeChoice => ({
  ...(projectId !== undefined && { projectId, campaignId: undefined }),
  ...(campaignId !== undefined && { campaignId }),
})

/** An opt-out of everything applies to all projects, so a key with any project may report it. */
function chooseOwnProject(
  caller: Caller,
  { projectId, campaignId }: ScopeChoice,
  ignored: FieldProblem[],
): ScopeChoice {
  const { projects } = caller.limits
  const rule = 'must be one that this key may use; the opt-out applies to every project'
  if (projectId !== undefined) ignored.push({ field: 'projectId', value: projectId, rule })
  if (campaignId !== undefined) ignored.push({ field: 'campaignId', value: campaignId, rule })
  const [code] = projects === 'any' ? [] : projects.codes
  return { projectId: code }
}

function createUnknownPersonError({ ignored }: OptOutRequest): AppError {
  const advice =
    'nothing was recorded: send the number of the person, or the decisionId of the call'
  const found = ignored.filter(({ field }) => /^(?:number|decisionid)$/i.test(field))
  const problems = found.map((one) => ({ ...one, rule: `${one.rule}; ${advice}` }))
  return invalidRequest(problems.length > 0 ? problems : [{ field: 'number', rule: advice }])
}
