/** Checks what somebody asks to limit a key and its calls to. */

import { type Caller, type KeyLimits, parseProjectCode, type Right } from '../../domain/caller.js'
import type { AttemptLimits, CallLimits, Mandate, TokenGrant } from '../../domain/mandate.js'
import { parseCallerId } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, isWithinYears } from '../../domain/time/dates.js'
import { callerIdProblems } from '../../domain/words/caller-id.js'
import { type AppError, type FieldProblem, invalidRequest } from '../../errors.js'
import { findRegionCountry } from '../../law/area-codes.js'
import type { Db } from '../../storage/tables.js'
import { maxCoolDownSeconds } from './attempts.js'
import type { KeyGrant } from './key-rows.js'

const maxListed = 100
const maxCount = 1_000_000

const counts = {
  attemptsPerHour: maxCount,
  attemptsPerDay: maxCount,
  attemptsPerNumberPerDay: maxCount,
  coolDownSeconds: maxCoolDownSeconds,
  concurrent: maxCount,
} as const

/** A right beyond these would let it store the consent that its calls need, or approve them. */
const tokenRights: readonly Right[] = ['decide', 'records']

/**
 * A caller limited further by a token: an Agent, with those of the rights `decide` and `records` that the key has. What a token was
 * given is what both permit, so it is no more than the key is given now.
 */
export function narrow(
  caller: Caller,
  { kinds, campaigns, callerIds, regions }: TokenGrant,
  inAll: AttemptLimits['inAll'],
): Caller {
  const { limits } = caller
  const before = limits.mandate ?? anyCall(limits)
  const attempts = inAll ? { ...before.attempts, inAll } : before.attempts
  const callKinds = intersect(before.callKinds, kinds)
  const mandate: Mandate = Object.freeze({
    ...before,
    callKinds,
    campaigns: intersect(before.campaigns, campaigns),
    callerIds: narrowCallerIds(before.callerIds, callerIds),
    regions: intersect(before.regions, regions),
    ...(attempts && { attempts }),
  })
  const rights = new Set(tokenRights.filter((right) => limits.rights.has(right)))
  return Object.freeze({
    ...caller,
    role: 'Agent',
    limits: Object.freeze({ ...limits, rights, callKinds, mandate }),
  })
}

/** What a key without limits may ask for. */
const anyCall = ({ projects, callKinds }: KeyLimits): Mandate => {
  return { version: 1, projects, callKinds, campaigns: 'any', callerIds: 'any', regions: 'any' }
}

function intersect<Value>(
  before: readonly Value[] | 'any',
  wanted: readonly Value[] | undefined,
): readonly Value[] | 'any' {
  if (wanted === undefined) return before
  return before === 'any' ? wanted : wanted.filter((value) => before.includes(value))
}

function narrowCallerIds(
  before: Mandate['callerIds'],
  wanted: TokenGrant['callerIds'],
): Mandate['callerIds'] {
  if (wanted === 'valid') return before === 'any' ? wanted : before
  return before === 'valid' ? intersect('any', wanted) : intersect(before, wanted)
}

/** What a token is asked to permit and its key does not, for people; `undefined` if there is nothing. */
export function findBeyond({ limits }: Caller, grant: TokenGrant): string | undefined {
  const mandate = limits.mandate ?? anyCall(limits)
  const { kinds, campaigns, callerIds, regions } = grant
  const lists: readonly (readonly [
    string,
    readonly unknown[] | undefined,
    readonly unknown[] | 'any',
  ])[] = [
    ['kinds', kinds, mandate.callKinds],
    ['campaigns', campaigns, mandate.campaigns],
    [
      'callerIds',
      callerIds === 'valid' ? [] : callerIds,
      mandate.callerIds === 'valid' ? 'any' : mandate.callerIds,
    ],
    ['regions', regions, mandate.regions],
  ]
  for (const [name, wanted, permitted] of lists) {
    if (permitted === 'any') continue
    const beyond = wanted?.find((value) => !permitted.includes(value))
    if (beyond !== undefined) return `${name} '${beyond}': the key may not ask for that`
  }
  return undefined
}

/** Without those that are `undefined`; `undefined` if none is left. */
export function toCallLimits(limits: CallLimits): CallLimits | undefined {
  const set = Object.entries(limits).filter(([, value]) => value !== undefined)
  return set.length === 0 ? undefined : Object.fromEntries(set)
}

/**
 * Returns the limits with numbers of ten digits and codes in upper case. Throws `invalid-request` naming the limit, the value and
 * the rule.
 */
async function validateCallLimits(
  db: Db,
  accountId: string,
  limits: CallLimits,
): Promise<CallLimits | undefined> {
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) {
    const value = limits[name]
    if (value === undefined) continue
    if (Number.isSafeInteger(value) && value >= 1 && value <= counts[name]) continue
    throw invalid(name, value, `must be a whole number from 1 to ${counts[name]}`)
  }
  const { campaigns, callerIds, regions } = limits
  for (const [field, list] of Object.entries({ campaigns, callerIds, regions })) {
    if (!Array.isArray(list) || (list.length > 0 && list.length <= maxListed)) continue
    throw invalid(field, list.length, `must name 1 to ${maxListed}`)
  }
  await requireCampaigns(db, accountId, campaigns ?? [])
  return toCallLimits({
    ...limits,
    callerIds: Array.isArray(callerIds) ? callerIds.map(requireCallerId) : callerIds,
    regions: regions?.map(parseRegion),
  })
}

async function requireCampaigns(
  db: Db,
  accountId: string,
  campaigns: readonly number[],
): Promise<void> {
  if (campaigns.length === 0) return
  const rows = await db
    .selectFrom('campaigns')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', 'in', campaigns)
    .execute()
  const known = new Set(rows.map(({ id }) => id))
  const other = campaigns.find((id) => !known.has(id))
  if (other !== undefined) {
    throw invalid('campaigns', other, `is not a campaign of account ${accountId}`)
  }
}

function requireCallerId(text: string): string {
  const parsed = parseCallerId(text)
  if ('number' in parsed) return parsed.number
  throw invalid('callerIds', text, callerIdProblems[parsed.problem])
}

function parseRegion(text: string): string {
  const region = text.trim().toUpperCase()
  if (findRegionCountry(region) !== undefined) return region
  throw invalid('regions', text, 'is not the code of a state or province, such as NY')
}

function invalid(field: string, value: unknown, rule: string): AppError {
  return invalidRequest([{ field, value: String(value), rule }])
}

const maxProjects = 100

const maxExpiryYears = 50

/**
 * Returns the grant with project codes in their stored form, without duplicates. Throws
 * `invalid-request` naming `can`, `projects`, `kinds` or `expires`, the value and the rule.
 */
export async function validateGrant(
  db: Db,
  accountId: string,
  { grant, now }: { readonly grant: KeyGrant; readonly now: Instant },
): Promise<KeyGrant> {
  const { rights, projects, callKinds, calls, notBefore, expiresAt } = grant
  if (rights?.length === 0)
    throw invalidGrant({ field: 'can', rule: 'must name at least one right' })
  if (callKinds?.length === 0) {
    throw invalidGrant({ field: 'kinds', rule: 'must name at least one kind of call' })
  }
  if (
    expiresAt !== undefined &&
    !(expiresAt > now && isWithinYears(expiresAt, now, maxExpiryYears))
  ) {
    const rule = `must be in the future, at most ${maxExpiryYears} years from now`
    throw invalidGrant({ field: 'expires', value: formatInstant(expiresAt), rule })
  }
  if (notBefore !== undefined && notBefore >= (expiresAt ?? Number.POSITIVE_INFINITY)) {
    const rule = 'must be before the key expires'
    throw invalidGrant({ field: 'notBefore', value: formatInstant(notBefore), rule })
  }
  return {
    ...grant,
    projects: projects && (await findProjectCodes(db, accountId, projects)),
    calls: calls && (await validateCallLimits(db, accountId, calls)),
  }
}

/** Inactive projects are accepted, since they may be reactivated. */
async function findProjectCodes(
  db: Db,
  accountId: string,
  projects: readonly string[],
): Promise<readonly string[]> {
  if (projects.length === 0 || projects.length > maxProjects) {
    throw invalidGrant({ field: 'projects', rule: `must name 1 to ${maxProjects} projects` })
  }
  const rows = await db
    .selectFrom('projects')
    .select('code')
    .where('account_id', '=', accountId)
    .execute()
  const known = new Set(rows.map(({ code }) => code))
  const codes = projects.map((text) => {
    const code = parseProjectCode(accountId, text)
    if (code !== undefined && known.has(code)) return code
    const rule = `is not a project of account ${accountId}`
    throw invalidGrant({ field: 'projects', value: text, rule })
  })
  return [...new Set(codes)]
}

function invalidGrant(problem: FieldProblem): AppError {
  return invalidRequest([problem])
}
