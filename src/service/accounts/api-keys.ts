/**
 * API keys (the spec's LoginId): made, listed, revoked, recognised. A key is shown once, to whoever
 * made it; only its SHA-256 is stored or kept in memory.
 */
import { createHash } from 'node:crypto'
import type { Caller, Role } from '../../domain/caller.js'
import type { Clock, Instant, Timers } from '../../domain/clock.js'
import type { Eventually } from '../../domain/compliance.js'
import { invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import { BriefMemory } from './brief-memory.js'

/** 33 random bytes are exactly 44 URL-safe characters. */
const keyBytes = 33
const keyLength = 44
const longestLabel = 100

export interface NewApiKey {
  readonly accountId: string
  readonly role: Role
  /** What the key is for, such as `dialer-1`. */
  readonly label: string
}

export interface ApiKeyInfo extends NewApiKey {
  /** A short handle that tells nothing about the key. */
  readonly id: string
  readonly createdAt: Instant
  readonly revokedAt: Instant | undefined
}

export interface ApiKeysOptions {
  readonly db: Db
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

  /** The key is in the answer and nowhere else. The account must exist. */
  async create(wanted: NewApiKey): Promise<{ readonly id: string; readonly key: string }> {
    await this.#refuseBadRequest(wanted)
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
      })
      .execute()
    return { id, key }
  }

  async #refuseBadRequest({ accountId, label }: NewApiKey): Promise<void> {
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
  }

  /** Keys of one account or of all, oldest first, revoked ones included. */
  async list(accountId?: string): Promise<readonly ApiKeyInfo[]> {
    let query = this.#db
      .selectFrom('api_keys')
      .select(['id', 'account_id', 'role', 'label', 'created_at', 'revoked_at'])
      .orderBy('created_at')
      .orderBy('id')
    if (accountId !== undefined) query = query.where('account_id', '=', accountId)
    return (await query.execute()).map((row) => ({
      id: row.id,
      accountId: row.account_id,
      role: row.role,
      label: row.label,
      createdAt: row.created_at,
      revokedAt: row.revoked_at ?? undefined,
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

  /** Who holds this key; `undefined` for a key that is unknown, revoked or no key at all. */
  authenticate(key: string): Eventually<Caller | undefined> {
    if (key.length !== keyLength) return undefined
    // Finding the row by hash tells nothing about the key through timing.
    const hash = hashOf(key)
    return this.#callers.get(hash) ?? this.#callers.fill(hash, () => this.#callerOf(hash))
  }

  async #callerOf(hash: string): Promise<Caller | undefined> {
    const row = await this.#db
      .selectFrom('api_keys')
      .select(['id', 'account_id', 'role'])
      .where('key_hash', '=', hash)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    return row && Object.freeze({ accountId: row.account_id, role: row.role, keyId: row.id })
  }
}

/** SHA-256 of a key or token, in hex. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
