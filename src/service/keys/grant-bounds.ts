/** Whether a key may do no more than another: what may make keys must not make itself a stronger one. */
import { type Caller, nameCaller, rights } from '../../domain/caller.js'
import { approvalRules, type CallLimits } from '../../domain/mandate.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError, describeProblem, type FieldProblem, truncate } from '../../errors.js'
import type { KeyGrant } from '../accounts/key-rows.js'

/** What the key of a caller may do, without the limits on how many calls it is given, which are counted for it alone. */
export function grantOf({ limits }: Caller): KeyGrant {
  const { rights: can, projects, callKinds, expiresAt, mandate } = limits
  const listed = <Value>(values: readonly Value[] | 'any' | undefined) =>
    values === 'any' ? undefined : values
  const callerIds = mandate?.callerIds
  const calls: CallLimits = {
    campaigns: listed(mandate?.campaigns),
    callerIds: callerIds === 'valid' ? callerIds : listed(callerIds),
    regions: listed(mandate?.regions),
  }
  return {
    rights: [...can],
    projects: projects === 'any' ? undefined : projects.codes,
    callKinds: listed(callKinds),
    calls,
    expiresAt: Number.isFinite(expiresAt) ? expiresAt : undefined,
  }
}

/**
 * Throws `forbidden` naming the limit, unless the key may then do no more than it did before, or no more than that of the caller. Limit
 * by limit would not do: two keys could be made into one that may do what neither could.
 */
export function requireWithin(
  grant: KeyGrant,
  { caller, before }: { readonly caller: Caller; readonly before?: KeyGrant },
): void {
  if (before && findExcess(grant, before) === undefined) return
  const excess = caller.limits.mandate?.attempts ? counted : findExcess(grant, grantOf(caller))
  if (excess === undefined) return
  const message = `${nameCaller(caller)} may give no more than it may do itself: ${describeProblem(excess)}`
  throw new AppError('forbidden', message, { problems: [excess] })
}

/** It could have its calls approved by a key that it has made, or be given as many calls again. */
const counted: FieldProblem = {
  field: '',
  rule: 'its calls are counted or need approval, which another key would evade; use a key without such limits',
}

function findExcess(grant: KeyGrant, bound: KeyGrant): FieldProblem | undefined {
  const calls = grant.calls ?? {}
  const most = bound.calls ?? {}
  const numbers = [
    'attemptsPerHour',
    'attemptsPerDay',
    'attemptsPerNumberPerDay',
    'concurrent',
  ] as const
  return (
    findOther('rights', grant.rights ?? rights, bound.rights) ??
    findOther('projects', grant.projects, bound.projects) ??
    findOther('kinds', grant.callKinds, bound.callKinds) ??
    findOther('campaigns', calls.campaigns, most.campaigns) ??
    findOtherCallerId(calls.callerIds, most.callerIds) ??
    findOther('regions', calls.regions, most.regions) ??
    numbers
      .map((name) => findOver(name, calls[name], most[name]))
      .find((problem) => problem !== undefined) ??
    findUnder('coolDownSeconds', calls.coolDownSeconds, most.coolDownSeconds) ??
    findLess(calls.approval, most.approval) ??
    findUnder('notBefore', grant.notBefore, bound.notBefore, formatInstant) ??
    findOver('expires', grant.expiresAt, bound.expiresAt, formatInstant)
  )
}

function findOther<Value>(
  field: string,
  wanted: readonly Value[] | undefined,
  permitted: readonly Value[] | undefined,
): FieldProblem | undefined {
  if (permitted === undefined) return undefined
  const rule = `must be among ${truncate(permitted.join(', '))}`
  if (wanted === undefined) return { field, rule }
  const other = wanted.find((value) => !permitted.includes(value))
  return other === undefined ? undefined : { field, value: String(other), rule }
}

function findOtherCallerId(
  wanted: CallLimits['callerIds'],
  permitted: CallLimits['callerIds'],
): FieldProblem | undefined {
  const field = 'callerIds'
  if (permitted !== 'valid') {
    return findOther(field, wanted === 'valid' ? [wanted] : wanted, permitted)
  }
  return wanted === undefined ? { field, rule: 'must be valid, or some numbers' } : undefined
}

function findOver(
  field: string,
  wanted: number | undefined,
  most: number | undefined,
  format: (value: number) => string = String,
): FieldProblem | undefined {
  if (most === undefined || (wanted !== undefined && wanted <= most)) return undefined
  const value = wanted === undefined ? undefined : format(wanted)
  return { field, value, rule: `must be at most ${format(most)}` }
}

function findUnder(
  field: string,
  wanted: number | undefined,
  least: number | undefined,
  format: (value: number) => string = String,
): FieldProblem | undefined {
  if (least === undefined || (wanted !== undefined && wanted >= least)) return undefined
  const value = wanted === undefined ? undefined : format(wanted)
  return { field, value, rule: `must be at least ${format(least)}` }
}

function findLess(
  wanted: CallLimits['approval'],
  least: CallLimits['approval'],
): FieldProblem | undefined {
  if (least === undefined || wanted === least || wanted === approvalRules[0]) return undefined
  return { field: 'approval', value: wanted, rule: `must be ${least}` }
}
