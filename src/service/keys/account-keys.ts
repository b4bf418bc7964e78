/** The keys of an account, and what is paused of it, for those of its keys that may see and change them. */
import { type Caller, nameCaller, type Role } from '../../domain/caller.js'
import type { Pause, PauseSubject } from '../../domain/mandate.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { AppError, invalidRequest } from '../../errors.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { ApiKeyInfo, ApiKeys, CreatedApiKey } from '../accounts/api-keys.js'
import type { KeyGrant } from '../accounts/key-rows.js'
import type { PauseInfo, PauseStore } from '../accounts/pauses.js'
import { refuseAtEdge } from '../sql/account-transaction.js'
import { grantOf } from './grant-bounds.js'
import { readKeyUses } from './key-uses.js'

/** More than a person can keep in order; the operator can make more at the command line. */
const maxKeys = 500

type KeyState = 'in-force' | 'paused' | 'not-yet' | 'expired' | 'unreadable' | 'revoked'

export interface AccountKey extends ApiKeyInfo {
  readonly state: KeyState
  readonly pause: Pause | undefined
  /** To the minute after it; `undefined` if it was not used since uses are stored. */
  readonly lastUsedAt: Instant | undefined
}

/** A limit that is absent is that of the caller's key, and one that is `undefined` is none. */
export interface KeyToMake extends KeyGrant {
  readonly role: Role
  readonly label: string
  readonly reason?: string | undefined
}

/** A limit that is absent stays, and one that is `undefined` ends. */
export interface KeyToChange extends KeyGrant {
  readonly id: string
  readonly version?: number | undefined
  readonly reason?: string | undefined
}

export interface AccountKeysOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits'>
  readonly keys: ApiKeys
  readonly pauses: PauseStore
  readonly clock: Clock
}

export class AccountKeys {
  readonly #options: AccountKeysOptions

  constructor(options: AccountKeysOptions) {
    this.#options = options
  }

  /** The newest first, at most 500; revoked ones are asked for. Throws `forbidden`. */
  async list(
    caller: Caller,
    { id, revoked }: { readonly id?: string | undefined; readonly revoked: boolean },
  ): Promise<readonly AccountKey[]> {
    requirePerson(caller, ['Administrator', 'Supervisor'], 'seeing keys')
    const { storage, keys, pauses, clock } = this.#options
    const inForce = await pauses.read()
    const uses = await readKeyUses(storage, caller.accountId)
    const now = clock.now()
    const listed = await keys.listNewest(caller.accountId, { id, revoked, limit: maxKeys })
    return listed.map((key) => {
      const pause = inForce.get(`key:${key.id}`)
      const lastUsedAt = uses.get(key.id)
      return { ...key, pause, lastUsedAt, state: findState(key, pause, now) }
    })
  }

  /** Throws as {@link ApiKeys.create} does, and `conflict` if the account has too many. */
  async create(caller: Caller, { reason, ...asked }: KeyToMake): Promise<CreatedApiKey> {
    await this.#requireManager(caller, 'making keys')
    const { keys } = this.#options
    const filter = { revoked: false, limit: maxKeys }
    const inForce = await keys.listNewest(caller.accountId, filter)
    if (inForce.length >= maxKeys) {
      const message = `The account has ${inForce.length} keys; revoke some that are not used any more`
      throw new AppError('conflict', message)
    }
    const own = grantOf(caller)
    const calls = { ...own.calls, ...asked.calls }
    const request = { ...own, ...asked, calls, accountId: caller.accountId }
    return await keys.create(request, { caller, reason })
  }

  /** Returns the new version. Throws `not-found` if the account has no such key, and as {@link ApiKeys.change} does. */
  async change(
    caller: Caller,
    { id, reason, ...changes }: KeyToChange,
  ): Promise<{ readonly version: number; readonly grant: KeyGrant }> {
    await this.#requireManager(caller, 'changing keys')
    const { version: _, calls, ...limits } = changes
    if (Object.keys({ ...limits, ...calls }).length === 0) {
      throw invalidRequest([{ field: '', rule: 'must name a limit to change' }])
    }
    const by = nameCaller(caller)
    const changed = await this.#options.keys.change(id, { ...changes, by }, { caller, reason })
    if (!changed) throw createNotFoundError(id)
    return changed
  }

  /** Throws `not-found` if the account has no such key, or it is revoked. */
  async revoke(caller: Caller, id: string, reason: string | undefined): Promise<void> {
    await this.#requireManager(caller, 'revoking keys')
    if (!(await this.#options.keys.revoke(id, { caller, reason }))) throw createNotFoundError(id)
  }

  /** Throws `forbidden`. */
  async listPauses(caller: Caller): Promise<readonly PauseInfo[]> {
    requirePerson(caller, ['Administrator', 'Supervisor'], 'seeing pauses')
    return await this.#options.pauses.list(caller.accountId)
  }

  /** Throws `conflict` if it is paused already, and as {@link PauseStore.pause} does. */
  async pause(caller: Caller, subject: PauseSubject, because: string): Promise<void> {
    requirePerson(caller, ['Administrator', 'Supervisor'], 'pausing calls')
    refuseAtEdge(this.#options.storage)
    const order = { subject, because, pausedBy: nameCaller(caller), caller }
    if (await this.#options.pauses.pause(order)) return
    throw new AppError('conflict', `${subject} is paused already; nothing was changed`)
  }

  /** Throws `not-found` if it is not paused, and as {@link PauseStore.resume} does. */
  async resume(caller: Caller, subject: PauseSubject, reason: string | undefined): Promise<void> {
    await this.#requireManager(caller, 'ending a pause')
    if (await this.#options.pauses.resume(subject, { caller, reason })) return
    throw new AppError('not-found', `${subject} is not paused`)
  }

  /** A key that is paused could go on under another name. */
  async #requireManager(caller: Caller, what: string): Promise<void> {
    requirePerson(caller, ['Administrator'], what)
    const { storage, pauses } = this.#options
    refuseAtEdge(storage)
    if (!(await pauses.read()).has(`key:${caller.keyId}`)) return
    throw new AppError('forbidden', `${nameCaller(caller)} is paused, so ${what} needs another key`)
  }
}

function requirePerson(caller: Caller, roles: readonly Role[], what: string): void {
  if (roles.includes(caller.role) && caller.limits.projects === 'any') return
  const rule = `${what} needs role ${roles.join(' or ')} and no limit to projects`
  throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
}

function createNotFoundError(id: string): AppError {
  return new AppError('not-found', `there is no key '${id}' in force`)
}

function findState(key: ApiKeyInfo, pause: Pause | undefined, now: Instant): KeyState {
  if (key.revokedAt !== undefined) return 'revoked'
  if (key.unreadable !== undefined) return 'unreadable'
  if (pause) return 'paused'
  if (key.notBefore !== undefined && now < key.notBefore) return 'not-yet'
  return key.expiresAt !== undefined && now >= key.expiresAt ? 'expired' : 'in-force'
}
