/** Checks what a key is to be limited to. */
import { parseProjectCode } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, isWithinYears } from '../../domain/time/dates.js'
import { type AppError, type FieldProblem, invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import { validateCallLimits } from '../accounts/call-limits.js'
import type { KeyGrant } from '../accounts/key-rows.js'

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
