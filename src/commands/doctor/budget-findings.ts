/** What `callgate doctor` says of the budgets of providers. */

import { listProviders, type Settings } from '../../config/settings.js'
import { hasBudget } from '../../config/source.js'
import type { Clock } from '../../domain/time/clock.js'
import { formatInstant, msPerDay, toUtcDay } from '../../domain/time/dates.js'
import type { Db } from '../../storage/tables.js'
import { readBudgetStates } from '../serve/budget-states.js'
import type { HealthFinding } from './finding.js'

/** Budgets that are used up or soon will be, those of unknown accounts, and providers without any. */
export async function findBudgetFindings(
  settings: Settings,
  db: Db,
  clock: Clock,
): Promise<readonly HealthFinding[]> {
  const day = toUtcDay(clock.now())
  const renewal = formatInstant((day + 1) * msPerDay)
  const states = await readBudgetStates(settings, db, day)
  const used = states.flatMap((one): HealthFinding[] => {
    const { source, account, unit, limit, setting, currency, state } = one
    if (state === 'open') return []
    const what = `${one.used} of ${limit} ${unit === 'money' ? currency : unit}`
    const verb = state === 'spent' ? 'has used up its budget' : 'has used much of its budget'
    const rest = state === 'spent' ? `, and ${source} is not asked for it until ${renewal}` : ''
    const problem = `account ${account} ${verb} of ${source} for today: ${what}${rest}`
    const fix = `raise ${setting} and reload, or wait until ${renewal}; callgate report budgets`
    return [{ level: state === 'spent' ? 'now' : 'soon', subject: 'budget', account, problem, fix }]
  })
  const unlimited = listProviders(settings)
    .filter(({ budget }) => !hasBudget(budget))
    .map(({ path, name }): HealthFinding => {
      const problem = `accounts may ask ${name} without a limit a day, whatever it costs`
      const fix = `set ${path.join('.')}.budget (docs/remote-source.md#budgets)`
      return { level: 'note', subject: 'budget', problem, fix }
    })
  return [...used, ...(await findUnknownAccounts(settings, db)), ...unlimited]
}

/** Budgets and logins of accounts that do not exist, such as a name with a typo: the real account then has others. */
export async function findUnknownAccounts(
  settings: Settings,
  db: Db,
): Promise<readonly HealthFinding[]> {
  const named = listProviders(settings).flatMap(({ path, budget, accounts }) => [
    ...Object.keys(budget.accounts).map((id) => ({
      id,
      what: 'budget',
      setting: [...path, 'budget'],
    })),
    ...Object.keys(accounts).map((id) => ({ id, what: 'login', setting: path })),
  ])
  if (named.length === 0) return []
  const rows = await db.selectFrom('accounts').select('id').execute()
  const known = new Set(rows.map(({ id }) => id))
  return named.flatMap(({ id, what, setting }): readonly HealthFinding[] => {
    if (known.has(id)) return []
    const problem = `${setting.join('.')}.accounts has a ${what} for account '${id}', which does not exist`
    const fix = `correct the name or remove it, and reload; the accounts: callgate accounts list`
    return [{ level: 'soon', subject: what, problem, fix }]
  })
}
