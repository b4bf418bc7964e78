/** What accounts have used of their budgets of providers, for metrics, reports and `callgate doctor`. */

import { listProviders, type Settings } from '../../config/settings.js'
import { type BudgetSettings, listAccountLimits, toMillionths } from '../../config/source.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { listBudgetUse } from '../../storage/cluster/budget-store.js'
import type { Db } from '../../storage/tables.js'

export interface BudgetState {
  /** The name of the provider, and the path of its settings. */
  readonly source: string
  readonly path: string
  readonly account: string
  readonly unit: 'numbers' | 'money'
  /** Money in units of the currency. Includes what servers have taken and not used yet. */
  readonly used: number
  /** That of the settings in use, also for a past day; absent if there is none any more. */
  readonly limit: number | undefined
  readonly setting: string | undefined
  readonly currency: string
  /** `near`: from the share at which a warning is logged. */
  readonly state: 'open' | 'near' | 'spent'
}

/** Of accounts that have asked on that day and have a limit; nothing else is counted. */
export async function readBudgetStates(
  settings: Settings,
  db: Db,
  day: LocalDay,
): Promise<readonly BudgetState[]> {
  const providers = new Map(listProviders(settings).map((one) => [one.path.join('.'), one]))
  return (await listBudgetUse(db, day)).flatMap(({ provider: path, accountId, unit, taken }) => {
    const provider = providers.get(path)
    if (!provider) return []
    const { budget, name: source } = provider
    const limits = listAccountLimits(path, budget, accountId)
    const about = limits.find((limit) => limit.unit === unit)
    const scale = unit === 'money' ? 1e6 : 1
    return {
      ...{ source, path, account: accountId, unit },
      used: taken / scale,
      limit: about && about.limit / scale,
      setting: about?.setting,
      currency: budget.currency,
      state: about ? judgeUse(taken, about.limit, { unit, budget }) : 'open',
    }
  })
}

/** Money that is left and pays for no question is of no use. */
function judgeUse(
  taken: number,
  limit: number,
  { unit, budget }: { readonly unit: BudgetState['unit']; readonly budget: BudgetSettings },
): BudgetState['state'] {
  const prices = Object.values(budget.costPerNumber).flatMap((cost) =>
    cost ? [toMillionths(cost)] : [],
  )
  const least = unit === 'numbers' ? 1 : Math.min(...prices)
  if (taken + least > limit) return 'spent'
  return taken >= (limit * budget.warnAtPercent) / 100 ? 'near' : 'open'
}
