/** Checks what an operator asks to limit the calls of a key to. */
import { findRegionCountry } from '../../data/numbering/area-codes.js'
import type { Caller, KeyLimits, Right } from '../../domain/caller.js'
import type { AttemptLimits, CallLimits, Mandate, TokenGrant } from '../../domain/mandate.js'
import { parseCallerId } from '../../domain/phone-number.js'
import { type AppError, invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import { maxCoolDownSeconds } from './attempts.js'

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
  before: ReadonlySet<Value> | 'any',
  wanted: readonly Value[] | undefined,
): ReadonlySet<Value> | 'any' {
  if (wanted === undefined) return before
  return new Set(before === 'any' ? wanted : wanted.filter((value) => before.has(value)))
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
    ReadonlySet<unknown> | 'any',
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
    const beyond = wanted?.find((value) => !permitted.has(value))
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
export async function validateCallLimits(
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
  throw invalid('callerIds', text, parsed.problem)
}

function parseRegion(text: string): string {
  const region = text.trim().toUpperCase()
  if (findRegionCountry(region) !== undefined) return region
  throw invalid('regions', text, 'is not the code of a state or province, such as NY')
}

function invalid(field: string, value: unknown, rule: string): AppError {
  return invalidRequest([{ field, value: String(value), rule }])
}
