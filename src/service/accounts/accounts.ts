/** Accounts: who has one, and what each may do. Keys and projects have their own files. */
import type { Clock, Instant } from '../../domain/clock.js'
import { type AppError, invalidRequest } from '../../errors.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { insertProject } from '../projects/project-rows.js'
import { writeForAccount } from '../sql/account-write.js'
import { accountOf, findAccount, rowOf } from './account-rows.js'

export const repeatedAdds = ['ends-consent', 'ignored'] as const
export type RepeatedAdd = (typeof repeatedAdds)[number]

/** What an operator sets for an account. */
export interface AccountSwitches {
  /** Whether role Agent may take numbers off the internal list (spec, "Authentication"). */
  readonly agentsMayRemove: boolean
  /**
   * Whether adding a number that is on the internal list already ends the consents given since, or
   * changes nothing: for those who push their whole list every night.
   */
  readonly repeatedAdd: RepeatedAdd
  /** Decides which carriers label the account's numbers. */
  readonly country: 'US' | 'CA'
  /** Whether one-time scans are authorized at all. */
  readonly mayScan: boolean
  /** Numbers that may still be scanned once. */
  readonly scanCredits: number | 'unlimited'
  /** Whether the codes of new projects get `<account>_` in front. */
  readonly autoPrefix: boolean
  /** Most numbers of one scrub, 10,000 as published or more. */
  readonly numbersPerScrub: number
  /** Whether `IsCallAllowedAI` of a scrub keeps the windows of recorded voices, as the gate does. */
  readonly aiKeepsVoiceWindows: boolean
}

export interface Account extends AccountSwitches {
  readonly id: string
  readonly kind: 'real' | 'sandbox'
  readonly name: string
  readonly createdAt: Instant
}

export type NewAccount = Pick<Account, 'id' | 'kind' | 'name'>

export interface AccountsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'patiently'>
  readonly clock: Clock
  /** Cryptographic randomness: that many bytes. */
  readonly randomBytes: (size: number) => Buffer
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/
const longestName = 200
const secretBytes = 32

export class Accounts {
  readonly #options: AccountsOptions
  readonly #db: Db

  constructor(options: AccountsOptions) {
    this.#options = options
    this.#db = options.storage.db
  }

  /**
   * Makes the account with its Master Project and that project's default campaign, unless it is
   * there. Gives whether it was made; an account that is there stays as it is.
   */
  async ensure(account: NewAccount): Promise<boolean> {
    refuseBadAccount(account)
    // Looked for first: nearly every start finds it, and reading takes no lock.
    if (await this.find(account.id)) return false
    const createdAt = this.#options.clock.now()
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
    return await findAccount(this.#db, id)
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

  /** Changes what is named and leaves the rest. Gives whether there is such an account. */
  async set(id: string, changes: Partial<AccountSwitches>): Promise<boolean> {
    const row = rowOf(changes)
    if (Object.keys(row).length === 0) return (await this.find(id)) !== undefined
    const write = () =>
      this.#db.updateTable('accounts').set(row).where('id', '=', id).executeTakeFirst()
    return (await this.#options.storage.patiently(write)).numUpdatedRows > 0n
  }

  /**
   * What signs the account's webhooks, `whsec_` and 43 URL-safe characters; made when there is none
   * yet. Throws {@link AppError} for an unknown account.
   */
  async webhookSecret(id: string): Promise<string> {
    return (await this.#secretIn(this.#db, id)) ?? (await this.#newSecret(id, { keep: true }))
  }

  /** Replaces that secret; whoever checks signatures with the old one refuses from now on. */
  async rotateWebhookSecret(id: string): Promise<string> {
    await this.#secretIn(this.#db, id)
    return await this.#newSecret(id, { keep: false })
  }

  async #secretIn(db: Db, id: string): Promise<string | undefined> {
    const row = await db
      .selectFrom('accounts')
      .select('webhook_secret')
      .where('id', '=', id)
      .executeTakeFirst()
    if (!row) throw unknownAccount(id)
    return row.webhook_secret ?? undefined
  }

  /** Another process may have made one in the meantime: `keep` gives that one. */
  #newSecret(id: string, { keep }: { readonly keep: boolean }): Promise<string> {
    return writeForAccount(this.#options.storage, id, async (transaction) => {
      const kept = keep ? await this.#secretIn(transaction, id) : undefined
      if (kept !== undefined) return kept
      const secret = `whsec_${this.#options.randomBytes(secretBytes).toString('base64url')}`
      await transaction
        .updateTable('accounts')
        .set({ webhook_secret: secret })
        .where('id', '=', id)
        .execute()
      return secret
    })
  }
}

/** The refusal for an id that no account has. */
function unknownAccount(id: string): AppError {
  return invalidRequest([{ field: 'account', value: id, rule: 'is no account here' }])
}

function refuseBadAccount({ id, name }: NewAccount): void {
  if (!idPattern.test(id)) {
    const rule = 'must be 1 to 40 letters, digits, - or _, starting with a letter or digit'
    throw invalidRequest([{ field: 'accountId', value: id, rule }])
  }
  if (name.trim() !== '' && name.length <= longestName) return
  throw invalidRequest([
    { field: 'name', value: name, rule: `must be 1 to ${longestName} characters` },
  ])
}
