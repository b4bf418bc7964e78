/**
 * Access tokens (spec, "Authentication"; RFC 6749, section 4.4): had for an API key, worth what the
 * key is worth, for an hour. They are rows, so every process over the database knows them, also
 * after a restart; like keys they are stored and remembered as their SHA-256 alone.
 */
import type { AccessGrant, TokenRequest } from '../../domain/access-grant.js'
import type { Caller } from '../../domain/caller.js'
import type { Clock, Instant, Timers } from '../../domain/clock.js'
import type { Eventually } from '../../domain/compliance.js'
import { AppError } from '../../errors.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { type ApiKeys, hashOf } from './api-keys.js'
import { BriefMemory } from './brief-memory.js'
import { callerColumns, readCaller } from './key-rows.js'

/** Tells a token from a key, and whoever finds one somewhere what it is. */
const tokenStart = 'cgt_'
/** 33 random bytes are exactly 44 URL-safe characters. */
const tokenBytes = 33
const tokenLength = tokenStart.length + 44

/** Spec, "Limits". */
const lifeSeconds = 3600
const lifeMs = lifeSeconds * 1000
/** How far the clocks of two processes may differ. */
const clockSkewMs = 60_000

/** More than are made at once, so that expired ones do not pile up; few enough to hold up nobody. */
const mostDeleted = 100

export interface AccessTokensOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'patiently'>
  /** Never goes back: a token that has expired stays so when the machine's clock is set back. */
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
  /** Cryptographic randomness: that many bytes. */
  readonly randomBytes: (size: number) => Buffer
  readonly keys: Pick<ApiKeys, 'authenticate'>
  /** Tokens of one key that may hold at once; a further one ends the oldest. */
  readonly maxPerKey: number
}

interface HeldToken {
  readonly caller: Caller
  readonly expiresAt: Instant
}

export class AccessTokens {
  readonly #options: AccessTokensOptions
  readonly #held: BriefMemory<HeldToken>

  constructor(options: AccessTokensOptions) {
    this.#options = options
    this.#held = new BriefMemory(options.timers)
  }

  /**
   * A new token for an account's id and one of its keys. Throws `unsupported-grant` for any other
   * grant than client credentials, `unauthenticated` for a key that is not that account's; neither
   * repeats what was sent. A key that has as many tokens as it may loses its oldest, so a client that
   * asks for a token before each request neither locks itself out nor fills the database.
   */
  async grant({ grantType, clientId, clientSecret }: TokenRequest): Promise<AccessGrant> {
    if (grantType !== 'client_credentials') {
      throw new AppError('unsupported-grant', 'grant_type: must be client_credentials')
    }
    const caller = await this.#options.keys.authenticate(clientSecret)
    if (caller?.accountId !== clientId) {
      throw new AppError('unauthenticated', 'client_id or client_secret is not valid')
    }
    const token = tokenStart + this.#options.randomBytes(tokenBytes).toString('base64url')
    const now = this.#options.clock.now()
    // A token ends with its key at the latest.
    const expiresAt = Math.min(now + lifeMs, caller.limits.expiresAt)
    await this.#store(hashOf(token), { keyId: caller.keyId, now, expiresAt })
    return { token, expiresInSeconds: Math.max(1, Math.floor((expiresAt - now) / 1000)) }
  }

  /** Also deletes tokens that are refused: they have expired, or a clock that ran ahead granted them. */
  async #store(
    tokenHash: string,
    {
      keyId,
      now,
      expiresAt,
    }: { readonly keyId: string; readonly now: Instant; readonly expiresAt: Instant },
  ): Promise<void> {
    const { storage } = this.#options
    const write = () =>
      storage.db.transaction().execute(async (transaction) => {
        await transaction
          .deleteFrom('access_tokens')
          .where('token_hash', 'in', (expired) =>
            expired
              .selectFrom('access_tokens')
              .select('token_hash')
              .where((token) =>
                token.or([
                  token('expires_at', '<=', now),
                  token('expires_at', '>', now + lifeMs + clockSkewMs),
                ]),
              )
              .orderBy('expires_at')
              .limit(mostDeleted),
          )
          .execute()
        await this.#endOldest(transaction, keyId)
        await transaction
          .insertInto('access_tokens')
          .values({ token_hash: tokenHash, key_id: keyId, expires_at: expiresAt })
          .execute()
      })
    await storage.patiently(write)
  }

  /** Leaves room for one more token of the key. */
  async #endOldest(db: Db, keyId: string): Promise<void> {
    await db
      .deleteFrom('access_tokens')
      .where('token_hash', 'in', (oldest) =>
        oldest
          .selectFrom('access_tokens')
          .select('token_hash')
          .where('key_id', '=', keyId)
          .orderBy('expires_at', 'desc')
          .limit(mostDeleted)
          .offset(this.#options.maxPerKey - 1),
      )
      .execute()
  }

  /** Who holds this token; `undefined` when it is unknown or expired, or its key is revoked. */
  authenticate(token: string): Eventually<Caller | undefined> {
    const hash = hashOf(token)
    const known = this.#held.get(hash)
    return known ? this.#inForce(known) : this.#lookUp(hash)
  }

  async #lookUp(hash: string): Promise<Caller | undefined> {
    const found = await this.#held.fill(hash, () => this.#read(hash))
    const caller = found && this.#inForce(found)
    if (found && !caller) await this.#forget(hash)
    return caller
  }

  /** A token that is shown after its end is gone for good. It is refused also if this fails. */
  async #forget(hash: string): Promise<void> {
    const { db } = this.#options.storage
    const deleting = db.deleteFrom('access_tokens').where('token_hash', '=', hash).execute()
    await deleting.catch(() => undefined)
  }

  /**
   * A token that is remembered may have expired since it was read. One with clearly more than an hour
   * left was granted by a clock that ran ahead.
   */
  #inForce({ caller, expiresAt }: HeldToken): Caller | undefined {
    const leftMs = expiresAt - this.#options.clock.now()
    return leftMs > 0 && leftMs <= lifeMs + clockSkewMs ? caller : undefined
  }

  async #read(hash: string): Promise<HeldToken | undefined> {
    const row = await this.#options.storage.db
      .selectFrom('access_tokens')
      .innerJoin('api_keys', 'api_keys.id', 'access_tokens.key_id')
      .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
      .select([...callerColumns, 'access_tokens.expires_at as token_expires_at'])
      .where('access_tokens.token_hash', '=', hash)
      .where('api_keys.revoked_at', 'is', null)
      .executeTakeFirst()
    if (!row) return undefined
    const caller = await readCaller(this.#options.storage.db, row)
    return { caller, expiresAt: Math.min(row.token_expires_at, caller.limits.expiresAt) }
  }
}

/**
 * Who shows a credential: a token after `Bearer` alone, a key there and under `loginId`. A token's
 * form tells it from a key, so neither is looked for among the other.
 */
export function authenticateBy(
  keys: Pick<ApiKeys, 'authenticate'>,
  tokens: Pick<AccessTokens, 'authenticate'>,
) {
  return (credential: string, place: 'login-id' | 'bearer'): Eventually<Caller | undefined> =>
    place === 'bearer' && hasTokenForm(credential)
      ? tokens.authenticate(credential)
      : keys.authenticate(credential)
}

function hasTokenForm(credential: string): boolean {
  return credential.length === tokenLength && credential.startsWith(tokenStart)
}
