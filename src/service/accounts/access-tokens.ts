/**
 * Access tokens (spec, "Authentication"; RFC 6749, section 4.4): issued for an API key, with its rights,
 * valid for an hour. They are stored in the database, so every process accepts them, even after a
 * restart; like keys, only their SHA-256 is stored or cached.
 */

import { hash } from 'node:crypto'
import type { Caller, TokenRequest, TokenResponse } from '../../domain/caller.js'
import type { MaybePromise } from '../../domain/compliance.js'
import type { TokenGrant } from '../../domain/mandate.js'
import type { Clock, Instant, Timers } from '../../domain/time/clock.js'
import { AppError } from '../../errors.js'
import { TtlCache } from '../../runtime/ttl-cache.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import type { KeyUses } from '../keys/key-uses.js'
import { deleteOldRows } from '../sql/delete-old-rows.js'
import { readCacheLimits } from '../sql/read-cache-limits.js'
import { type ApiKeys, tokenPrefix } from './api-keys.js'
import { findBeyond, narrow } from './call-limits.js'
import { callerColumns, readCaller, readTokenGrant } from './key-rows.js'

/** 33 random bytes are exactly 44 URL-safe characters. */
const tokenBytes = 33

/** Spec, "Limits". */
const lifetimeSeconds = 3600
const lifetimeMs = lifetimeSeconds * 1000
/** Allowed difference between the clocks of two processes. */
const clockSkewMs = 60_000

/** Enough to keep up with new tokens, and few enough for a short transaction. */
const maxDeletedAtOnce = 100

export interface AccessTokensOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'reads' | 'traits' | 'retryWhileLocked'>
  /** Must be monotonic, so that an expired token stays expired when the machine's clock is set back. */
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
  /** Returns `size` cryptographically random bytes. */
  readonly randomBytes: (size: number) => Buffer
  readonly keys: Pick<ApiKeys, 'authenticate'>
  /** Where uses of keys are stored; absent if they are not. */
  readonly uses?: Pick<KeyUses, 'note'>
  /** Maximum valid tokens of one key; a new one beyond it revokes the oldest. */
  readonly maxPerKey: number
}

interface CachedToken {
  readonly caller: Caller
  readonly expiresAt: Instant
}

export class AccessTokens {
  readonly #options: AccessTokensOptions
  readonly #cache: TtlCache<CachedToken>

  constructor(options: AccessTokensOptions) {
    this.#options = options
    this.#cache = new TtlCache({ timers: options.timers, ...readCacheLimits })
  }

  /**
   * Issues a token for an account id and one of its keys. Throws `unsupported-grant` for any grant other
   * than client credentials, `invalid-grant-details` if it is to permit more than the key, `unauthenticated` for a key of another account; the errors do not repeat
   * the input. When a key has reached its maximum, its oldest token is revoked, so that a client that
   * requests a token before each call neither locks itself out nor fills the database.
   */
  async issue({ grantType, clientId, clientSecret, grant }: TokenRequest): Promise<TokenResponse> {
    if (grantType !== 'client_credentials') {
      throw new AppError('unsupported-grant', 'grant_type: must be client_credentials')
    }
    const caller = await this.#options.keys.authenticate(clientSecret)
    if (caller?.accountId !== clientId) {
      throw new AppError('unauthenticated', 'client_id or client_secret is not valid')
    }
    const beyond = grant && findBeyond(caller, grant)
    if (beyond !== undefined) throw new AppError('invalid-grant-details', beyond)
    const token = tokenPrefix + this.#options.randomBytes(tokenBytes).toString('base64url')
    const now = this.#options.clock.now()
    // A token expires with its key at the latest.
    const expiresAt = Math.min(now + lifetimeMs, caller.limits.expiresAt)
    await this.#store(hash('sha256', token), { keyId: caller.keyId, now, expiresAt, grant })
    const expiresInSeconds = Math.max(1, Math.floor((expiresAt - now) / 1000))
    return { token, expiresInSeconds, grant }
  }

  /** Also deletes tokens issued while the clock was ahead, so that they take no place of the valid ones. */
  async #store(
    tokenHash: string,
    {
      keyId,
      now,
      expiresAt,
      grant,
    }: {
      readonly keyId: string
      readonly now: Instant
      readonly expiresAt: Instant
      readonly grant: TokenGrant | undefined
    },
  ): Promise<void> {
    const { storage } = this.#options
    const write = () =>
      storage.db.transaction().execute(async (transaction) => {
        await transaction
          .deleteFrom('access_tokens')
          .where('token_hash', 'in', (ahead) =>
            ahead
              .selectFrom('access_tokens')
              .select('token_hash')
              .where('expires_at', '>', now + lifetimeMs + clockSkewMs)
              .limit(maxDeletedAtOnce),
          )
          .execute()
        await this.#deleteOldest(transaction, keyId)
        await transaction
          .insertInto('access_tokens')
          .values({
            token_hash: tokenHash,
            key_id: keyId,
            expires_at: expiresAt,
            call_limits: grant ? JSON.stringify(grant) : null,
          })
          .execute()
      })
    await storage.retryWhileLocked(write)
  }

  /** Makes room for one more token of the key. */
  async #deleteOldest(db: Db, keyId: string): Promise<void> {
    await db
      .deleteFrom('access_tokens')
      .where('token_hash', 'in', (oldest) =>
        oldest
          .selectFrom('access_tokens')
          .select('token_hash')
          .where('key_id', '=', keyId)
          .orderBy('expires_at', 'desc')
          .limit(maxDeletedAtOnce)
          .offset(this.#options.maxPerKey - 1),
      )
      .execute()
  }

  /** The caller of this token; `undefined` when it is unknown or expired, or its key is revoked. */
  authenticate(token: string): MaybePromise<Caller | undefined> {
    const tokenHash = hash('sha256', token)
    const known = this.#cache.get(tokenHash)
    return known ? this.#validCaller(known) : this.#lookUp(tokenHash)
  }

  async #lookUp(tokenHash: string): Promise<Caller | undefined> {
    const cached = await this.#cache.fetch(tokenHash, () => this.#read(tokenHash))
    const caller = cached && this.#validCaller(cached)
    if (cached && !caller) await this.#deleteRefused(tokenHash)
    if (caller) this.#options.uses?.note(caller.keyId)
    return caller
  }

  /**
   * So that a token that was refused once stays so, whatever the clock shows after a restart. It is refused even if this
   * fails. The others are deleted by age, in the background.
   */
  async #deleteRefused(tokenHash: string): Promise<void> {
    const { db } = this.#options.storage
    const deleting = db.deleteFrom('access_tokens').where('token_hash', '=', tokenHash).execute()
    await deleting.catch(() => undefined)
  }

  /**
   * Checks the expiry again, since a cached token may have expired after it was read. A token with more
   * than its lifetime left was issued while the clock was ahead, and is refused.
   */
  #validCaller({ caller, expiresAt }: CachedToken): Caller | undefined {
    const leftMs = expiresAt - this.#options.clock.now()
    return leftMs > 0 && leftMs <= lifetimeMs + clockSkewMs ? caller : undefined
  }

  async #read(tokenHash: string): Promise<CachedToken | undefined> {
    const { reads } = this.#options.storage
    const row = await reads
      .selectFrom('access_tokens')
      .innerJoin('api_keys', 'api_keys.id', 'access_tokens.key_id')
      .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
      .select([
        ...callerColumns,
        'access_tokens.expires_at as token_expires_at',
        'access_tokens.call_limits as token_limits',
      ])
      .where('access_tokens.token_hash', '=', tokenHash)
      .where('api_keys.revoked_at', 'is', null)
      .executeTakeFirst()
    if (!row) return undefined
    const ofKey = await readCaller(reads, row)
    const expiresAt = Math.min(row.token_expires_at, ofKey.limits.expiresAt)
    if (row.token_limits === null) return { caller: ofKey, expiresAt }
    const grant = readTokenGrant(row.token_limits, row.id)
    const inAll = grant.attempts
      ? { limit: grant.attempts, token: tokenHash, expiresAt: row.token_expires_at }
      : undefined
    return { caller: narrow(ofKey, grant, inAll), expiresAt }
  }
}

/** Returns whether there may be more to delete. */
export function deleteExpiredTokens(db: Db, now: Instant): Promise<boolean> {
  // A token is not valid in the millisecond in which it expires.
  const before = now + 1
  return deleteOldRows(db, 'access_tokens', { key: ['token_hash'], at: 'expires_at', before })
}
