/**
 * API keys (the spec's LoginId): creates, lists, revokes and authenticates them. A key is shown once,
 * on creation; only its SHA-256 is stored. A key in use is in memory for the second that its caller is.
 */
import { hash } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { Author, Caller, Role } from '../../domain/caller.js'
import type { MaybePromise } from '../../domain/compliance.js'
import type { CallKind } from '../../domain/decision.js'
import type { Clock, Instant, Timers } from '../../domain/time/clock.js'
import { AppError, invalidRequest } from '../../errors.js'
import { TtlCache } from '../../runtime/ttl-cache.js'
import { type AuditEntry, findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { ApiKeyRow, Db } from '../../storage/tables.js'
import type { KeyUses } from '../keys/key-uses.js'
import { findRoot } from '../people/second-person.js'
import { runTransaction } from '../sql/account-transaction.js'
import { readCacheLimits } from '../sql/read-cache-limits.js'
import { narrow, toCallLimits, validateGrant } from './call-limits.js'
import {
  callerColumns,
  type KeyGrant,
  readCaller,
  readGrant,
  readStoredGrant,
  refuseSameLabel,
  type StoredGrant,
  toGrantColumns,
} from './key-rows.js'

/** 33 random bytes are exactly 44 URL-safe characters. */
const keyBytes = 33
const keyLength = 44
const maxLabelLength = 100

export interface NewApiKey extends KeyGrant {
  readonly accountId: string
  readonly role: Role
  /** What the key is for, such as `dialer-1`. */
  readonly label: string
  /** It is that of the person who makes it; absent for the key of a program, which approves nothing. */
  readonly isPersonal?: boolean | undefined
}

export interface KeyChanges extends KeyGrant {
  /** Who changes it, for people. */
  readonly by: string
  /** The one that was shown; any when absent. */
  readonly version?: number | undefined
}

/** Of a request; the operator at the command line has none, and may do everything. */
export interface KeyOrder {
  readonly caller?: Caller | undefined
  readonly reason?: string | undefined
}

export interface CreatedApiKey {
  readonly id: string
  readonly key: string
  readonly grant: KeyGrant
}

export interface ApiKeyInfo extends Omit<NewApiKey, keyof StoredGrant>, StoredGrant {
  /** A short id that reveals nothing about the key. */
  readonly id: string
  readonly createdAt: Instant
  readonly revokedAt: Instant | undefined
  readonly version: number
  /** Who is behind it: the person who made it, or made the key that did. */
  readonly root: string
}

interface KeyFilter {
  readonly id?: string | undefined
  /** Also those that are revoked. */
  readonly revoked: boolean
  readonly limit: number
}

export interface KeyVersionInfo {
  readonly version: number
  readonly grant: StoredGrant
  readonly changedAt: Instant
  readonly changedBy: string
}

export interface ApiKeysOptions {
  readonly db: Db
  /** For authentication, which a decision waits for. */
  readonly reads: Db
  readonly retryWhileLocked: OpenDatabase['retryWhileLocked']
  /** Who creates, changes and revokes keys. */
  readonly author: Author
  /** Must be monotonic, so that an expired key stays expired when the machine's clock is set back. */
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
  /** Returns `size` cryptographically random bytes. */
  readonly randomBytes: (size: number) => Buffer
  /** Where uses are stored; absent if they are not. */
  readonly uses?: Pick<KeyUses, 'note'>
}

export class ApiKeys {
  readonly #db: Db
  readonly #reads: Db
  readonly #retryWhileLocked: OpenDatabase['retryWhileLocked']
  readonly #author: Author
  readonly #clock: Clock
  readonly #randomBytes: (size: number) => Buffer
  readonly #callers: TtlCache<Caller>
  readonly #uses: ApiKeysOptions['uses']

  constructor(options: ApiKeysOptions) {
    const { db, reads, retryWhileLocked, author, clock, timers, randomBytes } = options
    this.#uses = options.uses
    this.#retryWhileLocked = retryWhileLocked
    this.#author = author
    this.#db = db
    this.#reads = reads
    this.#clock = clock
    this.#randomBytes = randomBytes
    this.#callers = new TtlCache({ timers, ...readCacheLimits })
  }

  /**
   * Creates a key; the result is the only place where the key itself appears. Throws `invalid-request`
   * naming `account`, `label`, `can`, `projects`, `kinds` or `expires`: account and projects must exist,
   * lists must not be empty, and the expiry must be in the future. A caller gets `forbidden` for a key that may do more than its own,
   * and `conflict` if another key in force has the label, since the form that asks for it may have been sent twice.
   */
  async create(request: NewApiKey, order: KeyOrder = {}): Promise<CreatedApiKey> {
    const grant = await this.#validate(request)
    if (order.caller) {
      const { requireWithin } = await import('../keys/grant-bounds.js')
      requireWithin(grant, { caller: order.caller })
    }
    const key = this.#randomBytes(keyBytes).toString('base64url')
    const id = `key-${this.#randomBytes(5).toString('hex')}`
    const { accountId, label, role, isPersonal } = request
    const at = this.#clock.now()
    await this.#write(async (db) => {
      const root = await findRoot(db, { author: this.#author }, order.caller)
      const row = {
        ...{ id, account_id: accountId, key_hash: hash('sha256', key), label, role },
        ...{ created_at: at, revoked_at: null, ...toGrantColumns(grant) },
        ...{ root, is_personal: isPersonal ? 1 : 0 },
      }
      await db.insertInto('api_keys').values(row).execute()
      const after = { label, role, root, personal: isPersonal, ...toGrantColumns(grant) }
      await this.#record(db, { action: 'key.created', id, accountId, after, at }, order)
      if (order.caller) await refuseSameLabel(db, row)
    })
    return { id, key, grant }
  }

  /**
   * Changes limits of a key, which get the next version. A limit that is absent stays, and `undefined` ends it. Takes effect
   * immediately in this process and within a second in others. Returns the new version and all limits, or `undefined` when there is no
   * such key in force, or it is not of the caller's account. Throws `invalid-request` and `forbidden` as {@link ApiKeys.create} does,
   * `conflict` for another version, and `unreadable-key`.
   */
  async change(
    id: string,
    changes: KeyChanges,
    order: KeyOrder = {},
  ): Promise<{ readonly version: number; readonly grant: KeyGrant } | undefined> {
    const at = this.#clock.now()
    const changed = await this.#write(async (db) => {
      const changed = await changeKey(db, id, { ...changes, now: at, caller: order.caller })
      if (!changed) return undefined
      const { accountId, before, ...after } = changed
      const entry = {
        ...{ action: 'key.changed', id, accountId, at },
        before: toGrantColumns(before),
        after: { version: after.version, ...toGrantColumns(after.grant) },
      }
      await this.#record(db, entry, order)
      return after
    })
    this.#callers.clear()
    return changed
  }

  /** Returns the grant with project codes in their stored form. */
  async #validate({
    accountId,
    label,
    role: _,
    isPersonal: __,
    ...grant
  }: NewApiKey): Promise<KeyGrant> {
    if (label.length > maxLabelLength) {
      const rule = `must not be longer than ${maxLabelLength} characters`
      throw invalidRequest([{ field: 'label', value: label, rule }])
    }
    const account = await this.#db
      .selectFrom('accounts')
      .select('id')
      .where('id', '=', accountId)
      .executeTakeFirst()
    if (!account) {
      throw invalidRequest([{ field: 'account', value: accountId, rule: 'not found' }])
    }
    return await validateGrant(this.#db, accountId, { grant, now: this.#clock.now() })
  }

  /** Keys of one account or of all, oldest first, revoked ones included. */
  async list(accountId?: string): Promise<readonly ApiKeyInfo[]> {
    let query = this.#db.selectFrom('api_keys').selectAll().orderBy('created_at').orderBy('id')
    if (accountId !== undefined) query = query.where('account_id', '=', accountId)
    return await this.#readInfo(query)
  }

  /** Keys of one account, or that one alone, newest first. */
  async listNewest(accountId: string, { id, revoked, limit }: KeyFilter) {
    return await this.#readInfo(
      this.#db
        .selectFrom('api_keys')
        .selectAll()
        .where('account_id', '=', accountId)
        .$if(id !== undefined, (key) => key.where('id', '=', id ?? ''))
        .$if(!revoked, (key) => key.where('revoked_at', 'is', null))
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit),
    )
  }

  async #readInfo(query: {
    execute(): Promise<readonly Selectable<ApiKeyRow>[]>
  }): Promise<readonly ApiKeyInfo[]> {
    return (await query.execute()).map((row) => ({
      id: row.id,
      accountId: row.account_id,
      role: row.role,
      label: row.label,
      createdAt: row.created_at,
      revokedAt: row.revoked_at ?? undefined,
      version: row.version,
      root: row.root,
      isPersonal: row.is_personal === 1,
      ...readStoredGrant(row),
    }))
  }

  /** What a key was limited to, oldest first; empty if there is no such key. Who created it is not known. */
  async listVersions(id: string): Promise<readonly KeyVersionInfo[]> {
    const rows = await this.#db
      .selectFrom('key_versions')
      .selectAll()
      .where('key_id', '=', id)
      .orderBy('version')
      .execute()
    if (rows.length > 0) {
      return rows.map(({ version, limits, changed_at: changedAt, changed_by: changedBy }) => {
        return { version, grant: readStoredGrant(JSON.parse(limits)), changedAt, changedBy }
      })
    }
    const key = await this.#db
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst()
    if (!key) return []
    return [{ version: 1, grant: readStoredGrant(key), changedAt: key.created_at, changedBy: '' }]
  }

  /** When the next key in force expires; `undefined` when none does. */
  async findNextExpiry(): Promise<Instant | undefined> {
    const { next } = await this.#db
      .selectFrom('api_keys')
      .select(({ fn }) => fn.min('expires_at').as('next'))
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', this.#clock.now())
      .executeTakeFirstOrThrow()
    return next ?? undefined
  }

  /**
   * Takes effect immediately in this process and within a second in others. Returns `false` when there
   * is no such key, it is not of the caller's account, or it is already revoked.
   */
  async revoke(id: string, order: KeyOrder = {}): Promise<boolean> {
    const { caller } = order
    const at = this.#clock.now()
    const isRevoked = await this.#write(async (db) => {
      const revoked = await db
        .updateTable('api_keys')
        .set({ revoked_at: at })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .$if(caller !== undefined, (key) => key.where('account_id', '=', caller?.accountId ?? ''))
        .returning(['account_id', 'label', 'role'])
        .executeTakeFirst()
      if (!revoked) return false
      const { account_id: accountId, ...before } = revoked
      await this.#record(db, { action: 'key.revoked', id, accountId, before, at }, order)
      return true
    })
    this.#callers.clear()
    return isRevoked
  }

  /** The first start does it in a transaction of its own. */
  #write<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
    if (this.#db.isTransaction) return work(this.#db)
    return runTransaction({ db: this.#db, retryWhileLocked: this.#retryWhileLocked }, work)
  }

  #record(db: Db, { id, ...entry }: KeyAudit, { caller, reason }: KeyOrder): Promise<void> {
    const by = caller ? findAuthor({ author: this.#author }, caller) : this.#author
    return recordAudit(db, { ...entry, by, reason, subject: { kind: 'key', id } })
  }

  /**
   * What the key with this id may do now, if asked for some kinds of call alone, as by a token; `undefined` when it is not in
   * force.
   */
  async find(id: string, kinds?: readonly CallKind[]): Promise<Caller | undefined> {
    const caller = await this.#findCaller({ 'api_keys.id': id })
    if (!caller || !this.#isInForce(caller)) return undefined
    return kinds ? narrow(caller, { kinds }, undefined) : caller
  }

  /**
   * The caller of this key; `undefined` when it is unknown, revoked, expired or malformed. Rejects with `unreadable-key` when its
   * limits cannot be read.
   */
  authenticate(key: string): MaybePromise<Caller | undefined> {
    if (key.length !== keyLength) return undefined
    const caller = this.#callers.get(key)
    if (!caller) return this.#lookUp(key)
    const { expiresAt, notBefore } = caller.limits
    if (expiresAt === Number.POSITIVE_INFINITY && notBefore === undefined) return caller
    // A cached key may have expired after it was read.
    return this.#isInForce(caller) ? caller : undefined
  }

  #isInForce({ limits: { expiresAt, notBefore = 0 } }: Caller): boolean {
    const now = this.#clock.now()
    return notBefore <= now && now < expiresAt
  }

  async #lookUp(key: string): Promise<Caller | undefined> {
    const caller = await this.#callers.fetch(key, () =>
      this.#findCaller({ key_hash: hash('sha256', key) }),
    )
    if (!caller || !this.#isInForce(caller)) return undefined
    this.#uses?.note(caller.keyId)
    return caller
  }

  /** Comparing hashes leaks nothing about a key through timing. */
  async #findCaller(
    by: { readonly 'api_keys.id': string } | { readonly key_hash: string },
  ): Promise<Caller | undefined> {
    const row = await this.#reads
      .selectFrom('api_keys')
      .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
      .select(callerColumns)
      .where((query) => query.and(by))
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    return row && (await readCaller(this.#reads, row))
  }
}

interface KeyAudit extends Omit<AuditEntry, 'by' | 'subject'> {
  readonly id: string
}

interface KeyChange extends KeyChanges {
  readonly now: Instant
  readonly caller: Caller | undefined
}

async function changeKey(db: Db, id: string, { by, now, caller, ...asked }: KeyChange) {
  const { version: shown, ...changes } = asked
  const row = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (!row || (caller && row.account_id !== caller.accountId)) return undefined
  if (shown !== undefined && shown !== row.version) {
    const message = `version ${shown} of ${id} is not the newest, which is ${row.version}; nothing was changed`
    throw new AppError('conflict', message)
  }
  const before = readGrant(row, id)
  await keepVersion(db, { id, version: row.version, grant: before, at: row.created_at, by: '' })
  const calls = toCallLimits({ ...before.calls, ...changes.calls })
  const wanted = { ...before, ...changes, calls }
  const grant = await validateGrant(db, row.account_id, { grant: wanted, now })
  if (caller) {
    // Loaded when a key asks, which a start does not.
    const { requireWithin } = await import('../keys/grant-bounds.js')
    requireWithin(grant, { caller, before })
  }
  const version = row.version + 1
  const { numUpdatedRows } = await db
    .updateTable('api_keys')
    .set({ ...toGrantColumns(grant), version })
    .where('id', '=', id)
    .where('version', '=', row.version)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) {
    const rule = 'was changed by another command meanwhile; nothing was changed, try again'
    throw invalidRequest([{ field: 'key', value: id, rule }])
  }
  await keepVersion(db, { id, version, grant, at: now, by })
  return { accountId: row.account_id, before, version, grant }
}

interface KeyVersion {
  readonly id: string
  readonly version: number
  readonly grant: KeyGrant
  readonly at: Instant
  readonly by: string
}

/** The first version is kept when there is a second. */
async function keepVersion(db: Db, { id, version, grant, at, by }: KeyVersion): Promise<void> {
  await db
    .insertInto('key_versions')
    .values({
      key_id: id,
      version,
      limits: JSON.stringify(toGrantColumns(grant)),
      changed_at: at,
      changed_by: by,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Distinguishes a token from a key, even when one is found in a log or a file. */
export const tokenPrefix = 'cgt_'

const tokenLength = tokenPrefix.length + 44

type CredentialSource = Pick<ApiKeys, 'authenticate'>

/**
 * Finds the caller for a credential. A token is accepted only after `Bearer`; a key also as `loginId`.
 * Tokens are recognized by prefix and length, so only one of the two is looked up.
 */
export function createAuthenticator(keys: CredentialSource, tokens: CredentialSource) {
  return (credential: string, place: 'login-id' | 'bearer'): MaybePromise<Caller | undefined> =>
    place === 'bearer' && credential.length === tokenLength && credential.startsWith(tokenPrefix)
      ? tokens.authenticate(credential)
      : keys.authenticate(credential)
}
