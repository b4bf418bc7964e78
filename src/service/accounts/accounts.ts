/**
 * Accounts and their settings, and the conversion from and to database rows.
 */
import type { Selectable, Updateable } from 'kysely'
import { defaultMaxScrubNumbers, maxScrubNumbers } from '../../domain/caller.js'
import type { Country } from '../../domain/place.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { type AppError, invalidRequest } from '../../errors.js'
import { type AuditEntry, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { AccountRow, Db } from '../../storage/tables.js'
import { insertProject } from '../projects/project-rows.js'
import { runAccountTransaction, runTransaction } from '../sql/account-transaction.js'

export const repeatedAddModes = ['ends-consent', 'ignored'] as const
type RepeatedAddMode = (typeof repeatedAddModes)[number]

/** The settings of an account that an operator can change. */
export interface AccountSettings {
  /** Whether role Agent may remove numbers from the internal list (spec, "Authentication"). */
  readonly agentsMayRemove: boolean
  /**
   * Whether adding a number that is already on the internal list ends newer consents. `ignored` is for
   * clients that upload their whole list every night.
   */
  readonly repeatedAdd: RepeatedAddMode
  /** Determines which carriers label the account's numbers. */
  readonly country: 'US' | 'CA'
  /** Whether one-time scans are authorized at all. */
  readonly mayScan: boolean
  /** How many more numbers the account may scan. */
  readonly scanCredits: number | 'unlimited'
  /** Whether the codes of new projects are prefixed with `<account>_`. */
  readonly autoPrefix: boolean
  /** Maximum numbers of one scrub; at least the published 10,000. */
  readonly numbersPerScrub: number
  /** Whether `IsCallAllowedAI` of a scrub respects the windows for recorded voices, as the gate does. */
  readonly aiKeepsVoiceWindows: boolean
}

export interface Account extends AccountSettings {
  readonly id: string
  readonly kind: 'real' | 'sandbox'
  readonly name: string
  readonly createdAt: Instant
}

export type NewAccount = Pick<Account, 'id' | 'kind' | 'name'>

export interface AccountsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'author' | 'retryWhileLocked'>
  readonly clock: Clock
  /** Returns `size` cryptographically random bytes. */
  readonly randomBytes: (size: number) => Buffer
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/
const maxNameLength = 200
const secretBytes = 32

export class Accounts {
  readonly #options: AccountsOptions
  readonly #db: Db

  constructor(options: AccountsOptions) {
    this.#options = options
    this.#db = options.storage.db
  }

  /**
   * Creates the account with its Master Project and that project's default campaign, unless it exists.
   * Returns whether it was created; an existing account is unchanged.
   */
  async ensure(account: NewAccount): Promise<boolean> {
    requireValidAccount(account)
    // Checked first without a lock, since the account exists at nearly every start.
    if (await this.find(account.id)) return false
    const createdAt = this.#options.clock.now()
    const insert = async (transaction: Db) => {
      const inserted = await transaction
        .insertInto('accounts')
        .values({ ...account, agents_may_remove: 0, created_at: createdAt })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .executeTakeFirst()
      if (inserted.numInsertedOrUpdatedRows === 0n) return false
      await insertProject(transaction, {
        accountId: account.id,
        code: account.id,
        name: 'Master Project',
        createdAt,
      })
      const { id, kind, name } = account
      await this.#record(transaction, id, { action: 'account.created', after: { kind, name } })
      return true
    }
    return await this.#options.storage.retryWhileLocked(() =>
      this.#db.transaction().execute(insert),
    )
  }

  async find(id: string): Promise<Account | undefined> {
    return await findAccount(this.#db, id)
  }

  /** US for a deleted account, which has no data left. */
  async findCountry(id: string): Promise<Country> {
    return (await this.find(id))?.country ?? 'US'
  }

  /** All accounts, oldest first. */
  async list(): Promise<readonly Account[]> {
    const rows = await this.#db
      .selectFrom('accounts')
      .selectAll()
      .orderBy('created_at')
      .orderBy('id')
      .execute()
    return rows.map(toAccount)
  }

  /** False for an unknown account. */
  async agentsMayRemove(id: string): Promise<boolean> {
    return (await this.find(id))?.agentsMayRemove ?? false
  }

  /** Changes only the given settings. Returns whether the account exists. */
  async set(id: string, changes: Partial<AccountSettings>): Promise<boolean> {
    const row = toAccountColumns(changes)
    if (Object.keys(row).length === 0) return (await this.find(id)) !== undefined
    return await runTransaction(this.#options.storage, async (db) => {
      const before = await findAccount(db, id)
      const { numUpdatedRows } = await db
        .updateTable('accounts')
        .set(row)
        .where('id', '=', id)
        .executeTakeFirst()
      if (!before || numUpdatedRows === 0n) return false
      const changed = Object.keys(changes) as (keyof AccountSettings)[]
      const was = Object.fromEntries(changed.map((name) => [name, before[name]]))
      await this.#record(db, id, { action: 'account.changed', before: was, after: changes })
      return true
    })
  }

  #record(
    db: Db,
    accountId: string,
    entry: Pick<AuditEntry, 'action' | 'before' | 'after'>,
  ): Promise<void> {
    const { storage, clock } = this.#options
    const subject = { kind: 'account', id: accountId }
    return recordAudit(db, { ...entry, by: storage.author, accountId, subject, at: clock.now() })
  }

  /**
   * The secret that signs the account's webhooks, `whsec_` and 43 URL-safe characters; created if there
   * is none yet. Throws {@link AppError} for an unknown account.
   */
  async webhookSecret(id: string): Promise<string> {
    return (await this.#readSecret(this.#db, id)) ?? (await this.#createSecret(id, { keep: true }))
  }

  /** Replaces the secret; receivers that still use the old one refuse webhooks from now on. */
  async rotateWebhookSecret(id: string): Promise<string> {
    await this.#readSecret(this.#db, id)
    return await this.#createSecret(id, { keep: false })
  }

  async #readSecret(db: Db, id: string): Promise<string | undefined> {
    const row = await db
      .selectFrom('accounts')
      .select('webhook_secret')
      .where('id', '=', id)
      .executeTakeFirst()
    if (!row) throw accountNotFound(id)
    return row.webhook_secret ?? undefined
  }

  /** With `keep`, returns a secret that another process created in the meantime. */
  #createSecret(id: string, { keep }: { readonly keep: boolean }): Promise<string> {
    return runAccountTransaction(this.#options.storage, id, async (transaction) => {
      const kept = keep ? await this.#readSecret(transaction, id) : undefined
      if (kept !== undefined) return kept
      const secret = `whsec_${this.#options.randomBytes(secretBytes).toString('base64url')}`
      await transaction
        .updateTable('accounts')
        .set({ webhook_secret: secret })
        .where('id', '=', id)
        .execute()
      const action = keep ? 'webhook-secret.created' : 'webhook-secret.rotated'
      await this.#record(transaction, id, { action })
      return secret
    })
  }
}

/** The error for an unknown account id. */
function accountNotFound(id: string): AppError {
  return invalidRequest([{ field: 'account', value: id, rule: 'not found' }])
}

function requireValidAccount({ id, name }: NewAccount): void {
  if (!idPattern.test(id)) {
    const rule = 'must be 1 to 40 letters, digits, - or _, starting with a letter or digit'
    throw invalidRequest([{ field: 'accountId', value: id, rule }])
  }
  if (name.trim() !== '' && name.length <= maxNameLength) return
  throw invalidRequest([
    { field: 'name', value: name, rule: `must be 1 to ${maxNameLength} characters` },
  ])
}

const maxScanCredits = 1_000_000_000

function toAccount(row: Selectable<AccountRow>): Account {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    agentsMayRemove: row.agents_may_remove === 1,
    repeatedAdd: row.ignores_repeated_add === 1 ? 'ignored' : 'ends-consent',
    country: row.country,
    mayScan: row.may_scan === 1,
    scanCredits: row.scan_credits ?? 'unlimited',
    autoPrefix: row.auto_prefix === 1,
    numbersPerScrub: row.numbers_per_scrub ?? defaultMaxScrubNumbers,
    aiKeepsVoiceWindows: row.ai_keeps_voice_windows === 1,
    createdAt: row.created_at,
  }
}

/** Reads the account from `db`, which may be a transaction. */
export async function findAccount(db: Db, id: string): Promise<Account | undefined> {
  const row = await db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toAccount(row)
}

/** The columns of the given settings. Throws `invalid-request` for a number out of range. */
function toAccountColumns(changes: Partial<AccountSettings>): Updateable<AccountRow> {
  const { repeatedAdd, scanCredits, numbersPerScrub } = changes
  const columns: { [Column in keyof AccountRow]?: Updateable<AccountRow>[Column] | undefined } = {
    agents_may_remove: toBit(changes.agentsMayRemove),
    ignores_repeated_add: toBit(repeatedAdd && repeatedAdd === 'ignored'),
    country: changes.country,
    may_scan: toBit(changes.mayScan),
    scan_credits: scanCredits === undefined ? undefined : toCreditsColumn(scanCredits),
    auto_prefix: toBit(changes.autoPrefix),
    numbers_per_scrub:
      numbersPerScrub === undefined ? undefined : toScrubNumbersColumn(numbersPerScrub),
    ai_keeps_voice_windows: toBit(changes.aiKeepsVoiceWindows),
  }
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined))
}

function toBit(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}

function toCreditsColumn(credits: number | 'unlimited'): number | null {
  if (credits === 'unlimited') return null
  if (Number.isInteger(credits) && credits >= 0 && credits <= maxScanCredits) return credits
  const rule = `must be a whole number up to ${maxScanCredits} or unlimited`
  throw invalidRequest([{ field: 'scanCredits', value: String(credits), rule }])
}

/** Never below the published limit, so that clients within it are not refused. */
function toScrubNumbersColumn(numbers: number): number | null {
  if (numbers === defaultMaxScrubNumbers) return null
  const inBounds = numbers > defaultMaxScrubNumbers && numbers <= maxScrubNumbers
  if (Number.isInteger(numbers) && inBounds) return numbers
  const rule = `must be a whole number from ${defaultMaxScrubNumbers} to ${maxScrubNumbers}`
  throw invalidRequest([{ field: 'numbersPerScrub', value: String(numbers), rule }])
}
