/** What an operator may set for a new key. */
import { formatInstant, type Instant, isWithinYears } from '../../domain/clock.js'
import { readCode } from '../../domain/project-code.js'
import { type AppError, type FieldProblem, invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import type { KeyGrant } from './key-rows.js'

const maxProjects = 100
const maxYears = 50

/**
 * The grant with its projects as they are stored, each once. Throws `invalid-request` naming `can`,
 * `projects`, `kinds` or `expires`, the value and the rule.
 */
export async function checkGrant(
  db: Db,
  accountId: string,
  { grant, now }: { readonly grant: KeyGrant; readonly now: Instant },
): Promise<KeyGrant> {
  const { rights, projects, callKinds, expiresAt } = grant
  if (rights?.length === 0) throw refusal({ field: 'can', rule: 'must name at least one right' })
  if (callKinds?.length === 0) {
    throw refusal({ field: 'kinds', rule: 'must name at least one kind of call' })
  }
  if (expiresAt !== undefined && !(expiresAt > now && isWithinYears(expiresAt, now, maxYears))) {
    const rule = `must lie in the future, at most ${maxYears} years from now`
    throw refusal({ field: 'expires', value: formatInstant(expiresAt), rule })
  }
  return { ...grant, projects: projects && (await findProjectCodes(db, accountId, projects)) }
}

/** Inactive projects count: they may be switched on again. */
async function findProjectCodes(
  db: Db,
  accountId: string,
  projects: readonly string[],
): Promise<readonly string[]> {
  if (projects.length === 0 || projects.length > maxProjects) {
    throw refusal({ field: 'projects', rule: `must name 1 to ${maxProjects} projects` })
  }
  const rows = await db
    .selectFrom('projects')
    .select('code')
    .where('account_id', '=', accountId)
    .execute()
  const known = new Set(rows.map(({ code }) => code))
  const codes = projects.map((text) => {
    const code = readCode(accountId, text)
    if (code !== undefined && known.has(code)) return code
    const rule = `is not a project of account ${accountId}`
    throw refusal({ field: 'projects', value: text, rule })
  })
  return [...new Set(codes)]
}

function refusal(problem: FieldProblem): AppError {
  return invalidRequest([problem])
}
