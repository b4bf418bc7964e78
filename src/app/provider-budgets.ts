/** The budgets of the accounts at a provider, from the settings and the database. */

import { listProviders, type Settings } from '../config/settings.js'
import {
  type AccountLimit,
  type BudgetSettings,
  listAccountLimits,
  toMillionths,
} from '../config/source.js'
import type { Runtime } from '../runtime/runtime.js'
import { AccountBudgets, type BudgetTerms } from '../sources/remote/batching/account-budgets.js'
import type { QuestionBudget } from '../sources/remote/provider-options.js'
import { BudgetStore } from '../storage/cluster/budget-store.js'
import type { OpenDatabase } from '../storage/open-database.js'

export interface ProviderBudgetDeps {
  /** Those in use, which a reload replaces. */
  readonly getSettings: () => Settings
  readonly storage: Pick<OpenDatabase, 'db' | 'retryWhileLocked'>
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'log'>
}

/** `path`: of the settings of the provider, such as `source.provider`. */
export function createProviderBudget(
  { path, name }: { readonly path: string; readonly name: string },
  { getSettings, storage, runtime: { clock, timers, log } }: ProviderBudgetDeps,
): QuestionBudget {
  let inUse: Settings | undefined
  let terms: BudgetTerms | undefined
  return new AccountBudgets({
    name,
    getTerms: () => {
      const settings = getSettings()
      if (terms && inUse === settings) return terms
      const provider = listProviders(settings).find((one) => one.path.join('.') === path)
      if (!provider) throw new TypeError(`there is no provider '${path}'`)
      terms = createTerms(path, provider.budget)
      inUse = settings
      return terms
    },
    shared: new BudgetStore(storage, path),
    clock,
    timers,
    log,
  })
}

function createTerms(path: string, budget: BudgetSettings): BudgetTerms {
  const known = new Map<string, readonly AccountLimit[]>()
  const prices = new Map(
    Object.entries(budget.costPerNumber).map(([question, cost]) => [
      toQuestionName(question),
      toMillionths(cost ?? 0),
    ]),
  )
  return {
    warnAtPercent: budget.warnAtPercent,
    warnSetting: `${path}.budget.warnAtPercent`,
    findPrice: (question) => prices.get(question) ?? 0,
    listLimits(accountId) {
      const limits = known.get(accountId) ?? listAccountLimits(path, budget, accountId)
      known.set(accountId, limits)
      return limits
    },
  }
}

/** `internalDnc` of the settings is `internal-dnc`. */
function toQuestionName(setting: string): string {
  return setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
