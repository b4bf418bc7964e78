/**
 * Who is signed in to the console. A session ends with the key that it began with, after half an hour without use, and after twelve
 * hours in any case. One of a person without a key keeps the role that it began with; it ends when people of its account are no longer
 * let in. Its secret is 32 random bytes with a MAC, so that a made-up one costs no look into the database, which has the SHA-256 alone.
 */
import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto'
import {
  type Caller,
  createPersonCaller,
  type PersonRole,
  personRoles,
} from '../../domain/caller.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { type AuditEntry, findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { ConsoleSessionRow } from '../../storage/service-tables.js'
import type { Db } from '../../storage/tables.js'
import type { ApiKeys } from '../accounts/api-keys.js'
import { readScrubTerms } from '../accounts/key-rows.js'
import { runTransaction } from '../sql/account-transaction.js'

const secretBytes = 32
const longestMs = 12 * 3_600_000
const idleMs = 30 * 60_000
/** A session in use is not written for each request. */
const touchEveryMs = 60_000

export interface SessionsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'author' | 'retryWhileLocked'>
  readonly keys: Pick<ApiKeys, 'find'>
  /** Whose people may sign in without a key; absent if none may. */
  readonly accountOfPeople: string | undefined
  /** Must be monotonic, so that an ended session stays ended when the machine's clock is set back. */
  readonly clock: Clock
  readonly randomBytes: (size: number) => Buffer
}

export interface SessionInfo {
  readonly accountId: string
  /** The name of a person, or the id of a key. */
  readonly who: string
  /** Of a person. */
  readonly role: string | undefined
  readonly beganAt: Instant
  readonly usedAt: Instant
}

export class Sessions {
  readonly #options: SessionsOptions
  #macKey: Buffer | undefined

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  /** Begins a session of the caller and returns its secret. */
  async begin(caller: Caller): Promise<string> {
    const { clock, randomBytes } = this.#options
    const secret = await this.#seal(randomBytes(secretBytes))
    const now = clock.now()
    await this.#write(async (db) => {
      const { accountId: account_id, keyId: key_id } = caller
      const { person = null, personRole: role = null } = caller.session ?? {}
      const row = { hash: hash('sha256', secret), account_id, key_id, person, role }
      await db
        .insertInto('console_sessions')
        .values({ ...row, created_at: now, used_at: now })
        .execute()
      await this.#notePerson(db, caller, now)
      await this.#record(db, caller, 'session.began', now)
    })
    return secret
  }

  /** A person who may do more than when they signed in last is able to since now. */
  async #notePerson(db: Db, { accountId, keyId: id, session }: Caller, now: Instant) {
    const role = session?.personRole
    if (role === undefined) return
    const known = await db
      .selectFrom('people')
      .select(['account_id', 'role', 'able_since'])
      .where('id', '=', id)
      .executeTakeFirst()
    const rank = (one: string) => personRoles.indexOf(one as PersonRole)
    const isAble = known?.account_id === accountId && rank(known.role) >= rank(role)
    const row = {
      ...{ account_id: accountId, role, email: session?.email ?? null },
      able_since: isAble ? known.able_since : now,
    }
    await db
      .insertInto('people')
      .values({ id, ...row })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute()
  }

  /**
   * Whose session it is, with what the key or the role may do now; `undefined` if it has ended or never began. What a page asks by
   * itself is no use of the session.
   */
  async find(secret: string, isUse = true): Promise<Caller | undefined> {
    const { storage, clock } = this.#options
    if (!(await this.#isSealed(secret))) return undefined
    const row = await storage.db
      .selectFrom('console_sessions')
      .selectAll()
      .where('hash', '=', hash('sha256', secret))
      .executeTakeFirst()
    const now = clock.now()
    if (!row || now >= row.created_at + longestMs || now >= row.used_at + idleMs) return undefined
    const caller = await this.#findCaller(row)
    if (!caller) return undefined
    if (isUse && now >= row.used_at + touchEveryMs) {
      await this.#write(async (db) => {
        await db
          .updateTable('console_sessions')
          .set({ used_at: now })
          .where('hash', '=', row.hash)
          .execute()
      })
    }
    return caller
  }

  async #seal(bytes: Buffer): Promise<string> {
    this.#macKey ??= await this.readKey('sessions')
    const mac = createHmac('sha256', this.#macKey).update(bytes).digest()
    return Buffer.concat([bytes, mac]).toString('base64url')
  }

  /** Whether {@link Sessions.begin} has given it, on whatever server. */
  async #isSealed(secret: string): Promise<boolean> {
    const bytes = Buffer.from(secret, 'base64url').subarray(0, secretBytes)
    const [given, wanted] = [secret, await this.#seal(bytes)].map((text) => Buffer.from(text))
    return given?.length === wanted?.length && timingSafeEqual(given as Buffer, wanted as Buffer)
  }

  async #findCaller(row: ConsoleSessionRow): Promise<Caller | undefined> {
    const { storage, keys, accountOfPeople } = this.#options
    const { account_id: accountId, key_id: keyId, person: name } = row
    if (row.role === null || name === null) {
      const caller = await keys.find(keyId)
      return caller?.accountId === accountId ? { ...caller, session: {} } : undefined
    }
    const role = personRoles.find((one) => one === row.role)
    if (role === undefined || accountId !== accountOfPeople) return undefined
    const account = await storage.db
      .selectFrom('accounts')
      .select(['numbers_per_scrub', 'ai_keeps_voice_windows'])
      .where('id', '=', accountId)
      .executeTakeFirst()
    if (!account) return undefined
    const caller = createPersonCaller({ accountId, id: keyId, name, role })
    return { ...caller, scrub: readScrubTerms(account) }
  }

  async end(secret: string, caller: Caller): Promise<void> {
    await this.#write(async (db) => {
      const { numDeletedRows } = await db
        .deleteFrom('console_sessions')
        .where('hash', '=', hash('sha256', secret))
        .executeTakeFirst()
      if (numDeletedRows > 0n) {
        await this.#record(db, caller, 'session.ended', this.#options.clock.now())
      }
    })
  }

  /** Those that have not ended, the one used last first. */
  async list(): Promise<readonly SessionInfo[]> {
    const now = this.#options.clock.now()
    const rows = await this.#options.storage.db
      .selectFrom('console_sessions')
      .selectAll()
      .where('created_at', '>', now - longestMs)
      .where('used_at', '>', now - idleMs)
      .orderBy('used_at', 'desc')
      .execute()
    return rows.map((row) => ({
      ...{ accountId: row.account_id, who: row.person ?? row.key_id, role: row.role ?? undefined },
      ...{ beganAt: row.created_at, usedAt: row.used_at },
    }))
  }

  /** Ends all sessions of a person, or of a key by its id, on every server. Returns how many that were. */
  async endAll(who: string, reason: string): Promise<number> {
    let count = 0
    await this.#write(async (db) => {
      const rows = await db
        .deleteFrom('console_sessions')
        .where(({ eb, or }) => or([eb('person', '=', who), eb('key_id', '=', who)]))
        .returning(['account_id', 'key_id'])
        .execute()
      count = rows.length
      const { author: by } = this.#options.storage
      const at = this.#options.clock.now()
      for (const { account_id: accountId, key_id: id } of rows) {
        const subject = { kind: 'session', id }
        await recordAudit(db, { by, accountId, action: 'session.ended', subject, reason, at })
      }
    })
    return count
  }

  /** A key for what the console gives to browsers, of its own for each purpose; the same on all servers of a database. */
  async readKey(purpose: 'addresses' | 'sign-in' | 'sessions'): Promise<Buffer> {
    const { audit_key: secret } = await this.#options.storage.db
      .selectFrom('change_head')
      .select('audit_key')
      .where('id', '=', 1)
      .executeTakeFirstOrThrow()
    return Buffer.from(hkdfSync('sha256', Buffer.from(secret, 'hex'), '', `console ${purpose}`, 32))
  }

  #write(work: (db: Db) => Promise<void>): Promise<void> {
    return runTransaction(this.#options.storage, work)
  }

  #record(
    db: Db,
    caller: Caller,
    action: 'session.began' | 'session.ended',
    at: Instant,
  ): Promise<void> {
    const { storage } = this.#options
    const by = findAuthor(storage, { ...caller, path: undefined, session: caller.session ?? {} })
    const entry: AuditEntry = {
      ...{ by, accountId: caller.accountId, action, at },
      subject: { kind: 'session', id: caller.keyId },
      after: caller.session?.person === undefined ? undefined : { role: caller.session.personRole },
    }
    return recordAudit(db, entry)
  }
}

/** They have ended before; the rows are of no more use. */
export async function deleteEndedSessions(db: Db, now: Instant): Promise<void> {
  await db
    .deleteFrom('console_sessions')
    .where(({ eb, or }) =>
      or([eb('created_at', '<=', now - longestMs), eb('used_at', '<=', now - idleMs)]),
    )
    .execute()
}
