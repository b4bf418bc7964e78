/** What the accounts have asked providers on each UTC day: limits that all servers of a database take from in parts. */
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay, msPerDay, parseDay } from '../../domain/time/dates.js'
import type { OpenDatabase } from '../open-database.js'
import type { Db } from '../tables.js'
import { returnShared, type SharedPart, takeShared, takeSharedPart } from './shared-limits.js'

/** Money is counted in millionths. */
const budgetUnits = ['numbers', 'money'] as const
type BudgetUnit = (typeof budgetUnits)[number]

interface BudgetKey {
  readonly day: LocalDay
  readonly accountId: string
  readonly unit: BudgetUnit
}

export interface BudgetUse extends Omit<BudgetKey, 'day'> {
  /** The path of its settings, such as `source.provider`. */
  readonly provider: string
  readonly taken: number
}

/** For reports of a whole year. */
const keepDays = 400

/** All rows of a day have the same, which no others have, so they are found by its index. */
const computeExpiry = (day: LocalDay) => (day + 1 + keepDays) * msPerDay

export class BudgetStore {
  readonly #storage: Pick<OpenDatabase, 'db' | 'retryWhileLocked'>
  readonly #provider: string

  constructor(storage: Pick<OpenDatabase, 'db' | 'retryWhileLocked'>, provider: string) {
    this.#storage = storage
    this.#provider = provider
  }

  /** Takes up to `amount`; the row then has exactly what was granted. */
  async take(of: BudgetKey, limit: number, amount: number): Promise<SharedPart> {
    const key = this.#formatKey('budget', of)
    const expiresAt = computeExpiry(of.day)
    const { db, retryWhileLocked } = this.#storage
    // In one transaction, since a retry after half of it would take a second time.
    const take = async (transaction: Db) => {
      const part = await takeSharedPart(transaction, { key, limit, expiresAt }, amount)
      const excess = part.granted === 0 ? 0 : amount - part.granted
      if (excess > 0) await returnShared(transaction, key, excess)
      return part
    }
    return await retryWhileLocked(() => db.transaction().execute(take))
  }

  async giveBack(of: BudgetKey, amount: number): Promise<void> {
    const key = this.#formatKey('budget', of)
    await this.#storage.retryWhileLocked(() => returnShared(this.#storage.db, key, amount))
  }

  /** True for one caller of all servers and processes a day. */
  async claimNotice(of: BudgetKey, notice: 'warning' | 'end'): Promise<boolean> {
    const key = this.#formatKey(`budget-${notice}`, of)
    const limit = { key, limit: 1, expiresAt: computeExpiry(of.day) }
    const { db, retryWhileLocked } = this.#storage
    return (await retryWhileLocked(() => takeShared(db, limit, 1))) === 1
  }

  #formatKey(kind: string, { day, accountId, unit }: BudgetKey): string {
    return [kind, formatDay(day), this.#provider, accountId, unit].join(' ')
  }
}

/** What accounts with a limit have used on a day, with the parts that servers have taken and not used yet. */
export async function listBudgetUse(db: Db, day: LocalDay): Promise<readonly BudgetUse[]> {
  const rows = await db
    .selectFrom('shared_limits')
    .select(['key', 'taken'])
    .where('expires_at', '=', computeExpiry(day))
    .where('key', 'like', 'budget %')
    .orderBy('key')
    .execute()
  return rows.flatMap(({ key, taken }) => {
    const [, on = '', provider = '', accountId = '', name] = key.split(' ')
    const unit = budgetUnits.find((one) => one === name)
    return unit && parseDay(on) === day ? [{ provider, accountId, unit, taken }] : []
  })
}
