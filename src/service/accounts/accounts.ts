/** Accounts: who has one, and what each allows its agents. Keys and projects have their own files. */
import type { Clock, Instant } from '../../domain/clock.js'
import { invalidRequest } from '../../errors.js'
import type { AccountRow, Db } from '../../storage/tables.js'
import { insertProject } from './project-rows.js'

export interface Account {
  readonly id: string
  readonly kind: 'real' | 'sandbox'
  readonly name: string
  /** Whether role Agent may take numbers off the internal list (spec, "Authentication"). */
  readonly agentsMayRemove: boolean
  readonly createdAt: Instant
}

export type NewAccount = Pick<Account, 'id' | 'kind' | 'name'>

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/

export class Accounts {
  readonly #db: Db
  readonly #clock: Clock

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Makes the account with its Master Project and that project's default campaign, unless it is
   * there. Gives whether it was made; an account that is there stays as it is.
   */
  async ensure(account: NewAccount): Promise<boolean> {
    if (!idPattern.test(account.id)) {
      const rule = 'must be 1 to 40 letters, digits, - or _, starting with a letter or digit'
      throw invalidRequest([{ field: 'accountId', value: account.id, rule }])
    }
    // Looked for first: nearly every start finds it, and reading takes no lock.
    if (await this.find(account.id)) return false
    const createdAt = this.#clock.now()
    return await this.#db.transaction().execute(async (transaction) => {
      const made = await transaction
        .insertInto('accounts')
        .values({ ...account, agents_may_remove: 0, created_at: createdAt })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .executeTakeFirst()
      if (made.numInsertedOrUpdatedRows === 0n) return false
      await insertProject(transaction, {
        accountId: account.id,
        code: account.id,
        name: 'Master Project',
        createdAt,
      })
      return true
    })
  }

  async find(id: string): Promise<Account | undefined> {
    const row = await this.#db
      .selectFrom('accounts')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst()
    return row && accountOf(row)
  }

  /** All accounts, oldest first. */
  async list(): Promise<readonly Account[]> {
    const rows = await this.#db
      .selectFrom('accounts')
      .selectAll()
      .orderBy('created_at')
      .orderBy('id')
      .execute()
    return rows.map(accountOf)
  }

  /** False for an unknown account. */
  async agentsMayRemove(id: string): Promise<boolean> {
    return (await this.find(id))?.agentsMayRemove ?? false
  }

  /** Gives whether there is such an account. */
  async setAgentsMayRemove(id: string, allowed: boolean): Promise<boolean> {
    const changed = await this.#db
      .updateTable('accounts')
      .set({ agents_may_remove: allowed ? 1 : 0 })
      .where('id', '=', id)
      .executeTakeFirst()
    return changed.numUpdatedRows > 0n
  }
}

function accountOf(row: AccountRow): Account {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    agentsMayRemove: row.agents_may_remove === 1,
    createdAt: row.created_at,
  }
}
