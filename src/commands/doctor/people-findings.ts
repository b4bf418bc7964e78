/** Accounts in which nobody could approve what their keys ask for; a start logs them too. */
import type { Settings } from '../../config/settings.js'
import { sandboxAccountId } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import type { Db } from '../../storage/tables.js'
import type { HealthFinding } from './finding.js'

const fix =
  'make a key for each person (callgate --person <name> keys create), or let people sign in (docs/sign-in.md); both can approve what ' +
  'is asked for a day later (docs/two-people.md)'

export async function findPeopleFindings(
  { twoPeople }: Pick<Settings, 'twoPeople'>,
  db: Db,
  now: Instant,
): Promise<readonly HealthFinding[]> {
  const keys = await db
    .selectFrom('api_keys')
    .select(['account_id', 'role', 'root', 'is_personal', 'call_limits'])
    .where('revoked_at', 'is', null)
    .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]))
    .where('account_id', '!=', sandboxAccountId)
    .execute()
  const people = await db
    .selectFrom('people')
    .select(['id', 'account_id'])
    .where('role', 'in', ['officer', 'admin'])
    .execute()
  return [...new Set(keys.map(({ account_id }) => account_id))].sort().flatMap((account) => {
    const own = keys.filter(({ account_id }) => account_id === account)
    const needs = [
      ...(twoPeople.for.length > 0 ? ['twoPeople.for'] : []),
      ...(own.some(({ call_limits }) => call_limits?.includes('"approval"'))
        ? ['the limits of its keys']
        : []),
    ]
    const able = people.filter(({ account_id }) => account_id === account)
    const roots = new Set([...own.map(({ root }) => root), ...able.map(({ id }) => id)])
    const isApprover = able.length > 0 || own.some((key) => key.is_personal && key.role !== 'Agent')
    if (needs.length === 0 || (isApprover && roots.size > 1)) return []
    const [root] = roots
    const why =
      roots.size === 1
        ? `all its keys have one root, ${root}, so they are one person's`
        : 'all its keys are those of programs, which approve nothing'
    const problem = `account ${account}: nobody with a key can approve what ${needs.join(' and ')} lets a second person decide: ${why}`
    return [{ level: 'soon' as const, subject: 'keys', account, problem, fix }]
  })
}
