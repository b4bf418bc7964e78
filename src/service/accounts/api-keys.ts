/**
 * API keys (the spec's LoginId): made, listed, revoked, recognised. A key is shown once, to whoever
 * made it; only its SHA-256 is stored or kept in memory.
 */
import { createHash } from 'node:crypto'
import type { Caller, Right, Role } from '../../domain/caller.js'
import type { Clock, Instant, Timers } from '../../domain/clock.js'
import type { Eventually } from '../../domain/compliance.js'
import { invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import { BriefMemory } from './brief-memory.js'
import { checkGrant } from './key-grant.js'
import { callerColumns, grantColumns, type KeyGrant, readCaller, readGrant } from './key-rows.js'

/** 33 random bytes are exactly 44 URL-safe characters. */
const keyBytes = 33
const keyLength = 44
const longestLabel = 100

export interface NewApiKey extends KeyGrant {
  readonly accountId: string
  readonly role: Role
  /** What the key is for, such as `dialer-1`. */
  readonly label: string
}

export interface CreatedApiKey {
  readonly id: string
  readonly key: string
  readonly grant: KeyGrant
}

export interface ApiKeyInfo extends NewApiKey {
  readonly rights: readonly Right[]
  /** A short handle that tells nothing about the key. */
  readonly id: string
  readonly createdAt: Instant
  readonly revokedAt: Instant | undefined
}

export interface ApiKeysOptions {
  readonly db: Db
  /** Never goes back: a key that has expired stays so when the machine's clock is set back. */
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
  /** Cryptographic randomness: that many bytes. */
  readonly randomBytes: (size: number) => Buffer
}

export class ApiKeys {
  readonly #db: Db
  readonly #clock: Clock
  readonly #randomBytes: (size: number) => Buffer
  readonly #callers: BriefMemory<Caller>

  constructor({ db, clock, timers, randomBytes }: ApiKeysOptions) {
    this.#db = db
    this.#clock = clock
    this.#randomBytes = randomBytes
    this.#callers = new BriefMemory(timers)
  }

  /**
   * The key is in the answer and nowhere else; the grant has its projects as stored. Throws
   * `invalid-request` naming `account`, `label`, `can`, `projects`, `kinds` or `expires`: account and
   * projects must exist, lists must not be empty, and the key must not have expired already.
   */
  async create(wanted: NewApiKey): Promise<CreatedApiKey> {
    const grant = await this.#check(wanted)
    const key = this.#randomBytes(keyBytes).toString('base64url')
    const id = `key-${this.#randomBytes(5).toString('hex')}`
    await this.#db
      .insertInto('api_keys')
      .values({
        id,
        account_id: wanted.accountId,
        key_hash: hashOf(key),
        label: wanted.label,
        role: wanted.role,
        created_at: this.#clock.now(),
        revoked_at: null,
        ...grantColumns(grant),
      })
      .execute()
    return { id, key, grant }
  }

  /** The grant with its projects as they are stored. */
  async #check({ accountId, label, ...grant }: NewApiKey): Promise<KeyGrant> {
    if (label.length > longestLabel) {
      const rule = `must not be longer than ${longestLabel} characters`
      throw invalidRequest([{ field: 'label', value: label, rule }])
    }
    const account = await this.#db
      .selectFrom('accounts')
      .select('id')
      .where('id', '=', accountId)
      .executeTakeFirst()
    if (!account) {
      throw invalidRequest([{ field: 'account', value: accountId, rule: 'is no account here' }])
    }
    return await checkGrant(this.#db, accountId, { grant, now: this.#clock.now() })
  }

  /** Keys of one account or of all, oldest first, revoked ones included. */
  async list(accountId?: string): Promise<readonly ApiKeyInfo[]> {
    let query = this.#db.selectFrom('api_keys').selectAll().orderBy('created_at').orderBy('id')
    if (accountId !== undefined) query = query.where('account_id', '=', accountId)
    return (await query.execute()).map((row) => ({
      id: row.id,
      accountId: row.account_id,
      role: row.role,
      label: row.label,
      createdAt: row.created_at,
      revokedAt: row.revoked_at ?? undefined,
      ...readGrant(row),
    }))
  }

  /**
   * Takes effect at once in this process and within a second in others. Gives `false` when there
   * is no such key or it is revoked already.
   */
  async revoke(id: string): Promise<boolean> {
    const changed = await this.#db
      .updateTable('api_keys')
      .set({ revoked_at: this.#clock.now() })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    this.#callers.forget()
    return changed.numUpdatedRows > 0n
  }

  /** Who holds this key; `undefined` for one that is unknown, revoked, expired or no key at all. */
  authenticate(key: string): Eventually<Caller | undefined> {
    if (key.length !== keyLength) return undefined
    // Finding the row by hash tells nothing about the key through timing.
    const hash = hashOf(key)
    const known = this.#callers.get(hash)
    return known ? this.#inForce(known) : this.#lookUp(hash)
  }

  async #lookUp(hash: string): Promise<Caller | undefined> {
    const found = await this.#callers.fill(hash, () => this.#findCaller(hash))
    return found && this.#inForce(found)
  }

  /** A key that is remembered may have expired since it was read. */
  #inForce(caller: Caller): Caller | undefined {
    return this.#clock.now() < caller.limits.expiresAt ? caller : undefined
  }

  async #findCaller(hash: string): Promise<Caller | undefined> {
    const row = await this.#db
      .selectFrom('api_keys')
      .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
      .select(callerColumns)
      .where('key_hash', '=', hash)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    return row && (await readCaller(this.#db, row))
  }
}

/** SHA-256 of a key or token, in hex. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
