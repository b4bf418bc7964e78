/** Pauses that a person has ordered. They end only when a person ends them. */
import { type Caller, mainAccountId, nameCaller } from '../../domain/caller.js'
import type { MaybePromise } from '../../domain/compliance.js'
import type { Pause, PauseSubject, Pauses } from '../../domain/mandate.js'
import type { Clock, Timers } from '../../domain/time/clock.js'
import { AppError, invalidRequest } from '../../errors.js'
import { TtlCache } from '../../runtime/ttl-cache.js'
import { findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import {
  type HeldNumber,
  nameHeldNumber,
  readHeldNumbers,
} from '../../storage/platform-events/held-numbers.js'
import { runTransaction } from '../sql/account-transaction.js'
import { readCacheLimits } from '../sql/read-cache-limits.js'

export interface PausesOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'reads' | 'author' | 'retryWhileLocked'>
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
}

export interface PauseOrder extends Omit<Pause, 'pausedAt'> {
  readonly subject: PauseSubject
  /** Of a request; the operator at the command line has none, and may pause everything. */
  readonly caller?: Caller | undefined
}

export interface PauseEnd extends Pick<PauseOrder, 'caller'> {
  readonly reason?: string | undefined
}

export interface PauseInfo extends Pause {
  readonly subject: PauseSubject
}

const maxTextLength = 200

export class PauseStore {
  readonly #options: PausesOptions
  readonly #cache: TtlCache<Pauses>

  constructor(options: PausesOptions) {
    this.#options = options
    this.#cache = new TtlCache({ ...readCacheLimits, timers: options.timers })
  }

  /** The pauses in force and the held numbers, including those that another process stored a second ago. */
  read(): MaybePromise<Pauses> {
    return this.#cache.get('all') ?? this.#readAll()
  }

  /** Called when the held numbers have changed. */
  forget(): void {
    this.#cache.clear()
  }

  async #readAll(): Promise<Pauses> {
    const pauses = await this.#cache.fetch('all', async () => {
      const { reads } = this.#options.storage
      const rows = await reads.selectFrom('pauses').selectAll().execute()
      const held = await readHeldNumbers(reads)
      return new Map([
        ...held.map(toPause),
        ...rows.map(
          ({ subject, paused_at: pausedAt, paused_by: pausedBy, reason: because }) =>
            [subject, { pausedAt, pausedBy, because }] as const,
        ),
      ])
    })
    if (pauses === undefined) throw new Error('the pauses could not be read')
    return pauses
  }

  /**
   * Takes effect at once in this process, and within a second in others. Returns `false` if it is paused already, which
   * stays as it is. Throws `invalid-request` naming `because`, `key` or `account`, and as {@link requirePausable} does.
   */
  async pause({ subject, pausedBy, because, caller }: PauseOrder): Promise<boolean> {
    if (because.trim() === '' || because.length > maxTextLength) {
      const rule = `is required and must have at most ${maxTextLength} characters`
      throw invalidRequest([{ field: 'because', value: because, rule }])
    }
    const { storage, clock } = this.#options
    const accountId = await this.#findAccount(subject)
    if (caller) requirePausable(caller, subject, accountId)
    const at = clock.now()
    const reason = because.trim()
    const isNew = await runTransaction(storage, async (db) => {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('pauses')
        .values({ subject, account_id: accountId, paused_at: at, paused_by: pausedBy, reason })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow()
      if (numInsertedOrUpdatedRows === 0n) return false
      await recordAudit(db, {
        by: caller ? findAuthor(storage, caller) : storage.author,
        accountId: accountId || mainAccountId,
        action: 'pause.ordered',
        subject: { kind: 'pause', id: subject },
        reason,
        at,
      })
      return true
    })
    this.#cache.clear()
    return isNew
  }

  /** Returns `false` if it is not paused. Throws as {@link requirePausable} does. */
  async resume(subject: PauseSubject, { caller, reason }: PauseEnd = {}): Promise<boolean> {
    const { storage, clock } = this.#options
    if (caller) requirePausable(caller, subject, await this.#findAccount(subject))
    const wasPaused = await runTransaction(storage, async (db) => {
      const deleted = await db
        .deleteFrom('pauses')
        .where('subject', '=', subject)
        .returningAll()
        .executeTakeFirst()
      if (!deleted) return false
      await recordAudit(db, {
        by: caller ? findAuthor(storage, caller) : storage.author,
        accountId: deleted.account_id || mainAccountId,
        action: 'pause.ended',
        subject: { kind: 'pause', id: subject },
        before: { pausedBy: deleted.paused_by, because: deleted.reason },
        reason,
        at: clock.now(),
      })
      return true
    })
    this.#cache.clear()
    return wasPaused
  }

  /** What of an account is paused, or of all accounts; without its checks. The newest first. */
  async list(accountId: string): Promise<readonly PauseInfo[]> {
    const rows = await this.#options.storage.db
      .selectFrom('pauses')
      .selectAll()
      .where('account_id', 'in', [accountId, ''])
      .where('subject', 'not like', 'check:%')
      .where('subject', 'not like', 'held:%')
      .orderBy('paused_at', 'desc')
      .orderBy('subject')
      .execute()
    return rows.map(({ subject, paused_at: pausedAt, paused_by: pausedBy, reason: because }) => ({
      subject: subject as PauseSubject,
      ...{ pausedAt, pausedBy, because },
    }))
  }

  /** The account that a pause is about; empty for all accounts. */
  async #findAccount(subject: PauseSubject): Promise<string> {
    if (subject === 'ai') return ''
    const { db } = this.#options.storage
    const [kind, id] = splitSubject(subject)
    const account =
      kind === 'key'
        ? db.selectFrom('api_keys').select('account_id').where('id', '=', id)
        : db.selectFrom('accounts').select('id as account_id').where('id', '=', id)
    const found = await account.executeTakeFirst()
    if (found) return found.account_id
    throw createUnknownError(subject)
  }
}

function toPause({ accountId, number, platform, heardAt }: HeldNumber) {
  const because = `the person at this number may have asked not to be called again, in a call through ${platform}`
  return [
    nameHeldNumber(accountId, number),
    { pausedAt: heardAt, pausedBy: platform, because },
  ] as const
}

/** All that follows is the id of the key or account: a subject of which a part was passed over would pause nothing. */
function splitSubject(subject: PauseSubject): readonly [kind: string, id: string] {
  const [, kind = '', id = ''] = /^((?:check|country):[^:]*|[^:]*):(.*)$/.exec(subject) ?? []
  return [kind, id]
}

function createUnknownError(subject: PauseSubject): AppError {
  const [kind, id] = splitSubject(subject)
  const field = kind === 'key' ? 'key' : 'account'
  return invalidRequest([{ field, value: id, rule: 'not found' }])
}

/**
 * Throws `invalid-request` for what is of another account, as if it did not exist, and `forbidden` for all accounts unless the caller's
 * is the operator's.
 */
function requirePausable(caller: Caller, subject: PauseSubject, accountId: string): void {
  if (accountId === caller.accountId) return
  if (accountId !== '') throw createUnknownError(subject)
  if (caller.accountId === mainAccountId) return
  const rule = `only keys of account ${mainAccountId} may pause all AI calls of the installation`
  throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
}
