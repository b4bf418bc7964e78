/**
 * Changes that need two people: one asks, and what was asked is stored exactly; another one approves it, and exactly that is done,
 * once. Which kinds need it is the operator's choice (`twoPeople.for`).
 */
import { hash, randomBytes } from 'node:crypto'
import { type Caller, nameCaller, type Requester } from '../../domain/caller.js'
import { type ChangeKind, type ChangeState, maxNoteLength } from '../../domain/mandate.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerDay, msPerHour } from '../../domain/time/dates.js'
import { AppError, invalidRequest, truncate } from '../../errors.js'
import { findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { ChangeRequestRow } from '../../storage/change-request-row.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { findWhyNotSecond, identifyActor } from '../people/second-person.js'
import { runTransaction } from '../sql/account-transaction.js'

/** More would hide the urgent ones. */
const maxWaitingPerAsker = 20
const maxListed = 100
/** Of those that are over; their audit rows stay longer. */
const keptMs = 90 * msPerDay
/** Nothing that is carried out takes so long, so its server has ended. */
const maxRunningMs = msPerHour

export interface ChangeToMake {
  readonly kind: ChangeKind
  /** In words, without numbers of persons. */
  readonly what: string
  /** The endpoint that carries it out once it is approved; absent if who asks does it again then. */
  readonly endpoint?: string | undefined
  /** Exactly what is to be done, as the endpoint takes it; the same for the same change. */
  readonly request: object
  readonly reason?: string | undefined
}

export interface ChangeRequest {
  readonly id: string
  readonly kind: ChangeKind
  readonly what: string
  readonly endpoint: string | undefined
  /** As JSON; absent once it is over. */
  readonly request: string | undefined
  /** To be sent with the verdict, so that it is about what was shown. */
  readonly requestHash: string
  readonly reason: string | undefined
  readonly state: ChangeState
  readonly askedBy: string
  readonly askedAt: Instant
  /** Of the newest change of an opt-out or consent at that time. */
  readonly askedSeq: number
  readonly expiresAt: Instant
  readonly decidedBy: string | undefined
  readonly decidedAt: Instant | undefined
  readonly note: string | undefined
  readonly problem: string | undefined
}

export interface ChangeVerdict {
  readonly id: string
  readonly requestHash: string
  readonly note?: string | undefined
}

export interface ChangeRequestsOptions {
  readonly storage: Pick<ThreadDatabase, 'db' | 'author' | 'retryWhileLocked'>
  readonly clock: Clock
  readonly settings: { readonly for: readonly ChangeKind[]; readonly endsAfterHours: number }
}

type Decided = Pick<ChangeRequestRow, 'state'> &
  Partial<Pick<ChangeRequestRow, 'request' | 'decided_by' | 'decided_at' | 'problem'>> & {
    readonly note?: string | null | undefined
  }

interface Decision extends ChangeVerdict {
  readonly action: string
  readonly state: ChangeRequestRow['state']
  /** Given if it is emptied. */
  readonly request?: null
}

export class ChangeRequests {
  readonly #storage: ChangeRequestsOptions['storage']
  readonly #clock: Clock
  readonly #settings: ChangeRequestsOptions['settings']

  constructor({ storage, clock, settings }: ChangeRequestsOptions) {
    this.#storage = storage
    this.#clock = clock
    this.#settings = settings
  }

  isNeededFor(kind: ChangeKind): boolean {
    const { for: kinds } = this.#settings
    return kinds.includes(kind) || (kind === 'remove-opt-outs' && kinds.includes('lift-opt-out'))
  }

  /**
   * To be called before a change is made, when all is known to be valid. Throws `approval-needed` if it is to be approved first, and
   * stores it; the same change that is asked for again is the same request.
   */
  async require(caller: Requester, change: ChangeToMake): Promise<void> {
    const request = JSON.stringify(change.request)
    const requestHash = hashOf(change.endpoint, request, change.reason)
    if (caller.change) {
      if (caller.change.requestHash === requestHash) return
      throw new AppError('conflict', `change ${caller.change.id} is another one than was approved`)
    }
    if (!this.isNeededFor(change.kind)) return
    const found = await this.#store(caller, change)
    if (found === 'approved') return
    const { id, expires_at } = found
    const until = formatInstant(expires_at)
    const rule = `${change.what} is stored as change ${id} and waits for a second person until ${until}; nothing was changed`
    const problems = [{ field: 'change', value: id, rule }]
    throw new AppError('approval-needed', `approval-needed: ${rule}`, { problems })
  }

  /** Stores a change of an endpoint, for a second person to approve. Throws `conflict` if too many of the caller wait. */
  async ask(
    caller: Requester,
    change: ChangeToMake & { readonly endpoint: string },
  ): Promise<Pick<ChangeRequest, 'id'>> {
    const found = await this.#store(caller, change)
    // One with an endpoint is carried out when it is approved.
    if (found === 'approved')
      throw new Error(`change ${change.what} was approved and not carried out`)
    return found
  }

  #store(caller: Requester, change: ChangeToMake) {
    const text = JSON.stringify(change.request)
    const requestHash = hashOf(change.endpoint, text, change.reason)
    return runTransaction(this.#storage, (db) =>
      this.#useOrAsk(db, caller, { ...change, text, requestHash }),
    )
  }

  /** An approved one that the same person does again is used up by it. */
  async #useOrAsk(
    db: Db,
    caller: Requester,
    change: ChangeToMake & { readonly text: string; readonly requestHash: string },
  ): Promise<'approved' | Pick<ChangeRequestRow, 'id' | 'expires_at'>> {
    const { accountId } = caller
    const { kind, what, endpoint = null, text, requestHash, reason } = change
    const now = this.#clock.now()
    const by = findAuthor(this.#storage, caller)
    const askedId = identifyActor(this.#storage, caller)
    const open = await db
      .selectFrom('change_requests')
      .select(['id', 'expires_at', 'state', 'request_hash', 'decided_by'])
      .where('account_id', '=', accountId)
      .where('asked_id', '=', askedId)
      .where('state', 'in', ['waiting', 'approved'])
      .where('expires_at', '>', now)
      .execute()
    const same = open.find((row) => row.request_hash === requestHash)
    const subject = (id: string) => ({ kind: 'change', id })
    if (same?.state === 'approved') {
      if (!(await updateIf(db, same.id, ['approved'], { state: 'done', request: null }))) {
        throw new AppError(
          'conflict',
          `change ${same.id} was used at this moment; nothing was changed`,
        )
      }
      await recordAudit(db, {
        ...{ by, accountId, action: 'change.used', subject: subject(same.id), at: now },
        after: { kind, what, approvedBy: same.decided_by },
      })
      return 'approved'
    }
    if (same) return same
    if (open.length >= maxWaitingPerAsker) {
      const message = `${open.length} changes that you have asked for are waiting; nothing was changed`
      throw new AppError('conflict', message)
    }
    const { seq: askedSeq } = await db
      .selectFrom('change_head')
      .select('seq')
      .where('id', '=', 1)
      .executeTakeFirstOrThrow()
    const row = {
      ...{
        id: `ch-${randomBytes(10).toString('hex')}`,
        account_id: accountId,
        kind,
        what,
        endpoint,
      },
      ...{ request: text, request_hash: requestHash, reason: reason ?? null },
      ...{ asked_by: by.who, asked_id: askedId, asked_at: now, asked_seq: askedSeq },
      expires_at: now + this.#settings.endsAfterHours * msPerHour,
      state: 'waiting' as const,
    }
    await db.insertInto('change_requests').values(row).execute()
    await recordAudit(db, {
      ...{ by, accountId, action: 'change.asked', subject: subject(row.id), at: now, reason },
      after: { kind, what, requestHash, expiresAt: formatInstant(row.expires_at) },
    })
    return row
  }

  /** The newest 100 of the account, without what exactly is asked for. Throws `forbidden`. */
  async list(caller: Caller, state?: ChangeState): Promise<readonly ChangeRequest[]> {
    requireDecider(caller)
    const now = this.#clock.now()
    let query = this.#storage.db
      .selectFrom('change_requests')
      .selectAll()
      .where('account_id', '=', caller.accountId)
      .orderBy('asked_at', 'desc')
      .orderBy('id', 'desc')
      .limit(maxListed)
    if (state === 'expired') {
      query = query.where('state', 'in', ['waiting', 'approved']).where('expires_at', '<=', now)
    } else if (state !== undefined) {
      query = query.where('state', '=', state)
      if (state === 'waiting' || state === 'approved') query = query.where('expires_at', '>', now)
    }
    return (await query.execute()).map((row) => toChange({ ...row, request: null }, now))
  }

  /** Throws `forbidden`, and `not-found` if the account has no such request. */
  async find(caller: Caller, id: string): Promise<ChangeRequest> {
    requireDecider(caller)
    return toChange(await this.#findRow(caller, id), this.#clock.now())
  }

  /** Why the caller may not decide about it, not being a second person; `undefined` if they may. */
  async findWhyNot(caller: Caller, id: string): Promise<string | undefined> {
    return await this.#findWhyNot(caller, await this.#findRow(caller, id))
  }

  #findWhyNot(caller: Caller, { asked_id: by, asked_at: at }: ChangeRequestRow) {
    return findWhyNotSecond(this.#storage, caller, { by, at })
  }

  async #findRow({ accountId }: Caller, id: string): Promise<ChangeRequestRow> {
    const row = await this.#storage.db
      .selectFrom('change_requests')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    if (row) return row
    throw new AppError('not-found', `there is no change '${truncate(id)}'`)
  }

  /**
   * Approves it. One with an endpoint is then `running` and the caller's to carry out, with the result to {@link ChangeRequests.finish};
   * of two who approve it at once, one gets it. Throws `forbidden`, `not-found`, and `conflict` if it is not waiting any more or is
   * another one than was shown.
   */
  async approve(caller: Caller, verdict: ChangeVerdict): Promise<ChangeRequest> {
    const row = await this.#requireOpen(caller, verdict)
    if (hashOf(row.endpoint, row.request ?? '', row.reason) !== row.request_hash) {
      throw new AppError(
        'conflict',
        `change ${row.id} is not what was asked for; nothing was changed`,
      )
    }
    // An exception is in force for as long as it is in the settings, and nobody uses it up.
    const isSetting = row.kind === 'allow-unknown'
    const state = isSetting ? 'done' : row.endpoint === null ? 'approved' : 'running'
    return await this.#decide(caller, row, { ...verdict, action: 'change.approved', state })
  }

  async refuse(caller: Caller, verdict: ChangeVerdict): Promise<ChangeRequest> {
    const row = await this.#requireOpen(caller, verdict)
    const refused = { action: 'change.refused', state: 'refused', request: null } as const
    return await this.#decide(caller, row, { ...verdict, ...refused })
  }

  async #requireOpen(caller: Caller, verdict: ChangeVerdict): Promise<ChangeRequestRow> {
    requireDecider(caller)
    const { id, requestHash, note } = verdict
    if (note !== undefined && note.length > maxNoteLength) {
      const rule = `must not be longer than ${maxNoteLength} characters`
      throw invalidRequest([{ field: 'reason', value: note, rule }])
    }
    const row = await this.#findRow(caller, id)
    const why = await this.#findWhyNot(caller, row)
    if (why !== undefined) throw new AppError('forbidden', why)
    if (row.request_hash !== requestHash) {
      throw new AppError('conflict', 'requestHash is not that of this change; nothing was changed')
    }
    return row
  }

  async #decide(
    caller: Caller,
    row: ChangeRequestRow,
    { note, action, state, ...decided }: Decision,
  ): Promise<ChangeRequest> {
    const now = this.#clock.now()
    const { id, accountId } = { id: row.id, accountId: caller.accountId }
    const by = findAuthor(this.#storage, caller)
    const change = {
      ...{ state, decided_by: by.who, decided_at: now, note: note ?? null },
      ...('request' in decided && { request: null }),
    }
    const isDecided = await runTransaction(this.#storage, async (db) => {
      if (!(await updateIf(db, id, ['waiting'], change, now))) return false
      const { kind, what, asked_by: askedBy, request_hash: requestHash } = row
      await recordAudit(db, {
        ...{ by, accountId, action, subject: { kind: 'change', id }, reason: note, at: now },
        after: { kind, what, askedBy, requestHash },
      })
      return true
    })
    if (!isDecided) {
      const { state: current } = toChange(await this.#findRow(caller, id), now)
      throw new AppError('conflict', `change ${id} is ${current}; nothing was changed`)
    }
    return toChange({ ...row, ...change }, now)
  }

  /**
   * After it was carried out: `problem` is why that failed. With `waits` it was not even tried, so it waits again until its end.
   */
  async finish(
    caller: Caller,
    change: ChangeRequest,
    { problem, waits = false }: { readonly problem?: string; readonly waits?: boolean },
  ): Promise<void> {
    const { id, kind, what, askedBy } = change
    const now = this.#clock.now()
    const undecided = { decided_by: null, decided_at: null, note: null }
    const over = { state: problem === undefined ? 'done' : 'failed', request: null } as const
    const changed: Decided = waits
      ? { state: 'waiting', ...undecided }
      : { ...over, problem: problem ?? null }
    await runTransaction(this.#storage, async (db) => {
      if (!(await updateIf(db, id, ['running'], changed)) || problem === undefined) return
      await recordAudit(db, {
        by: findAuthor(this.#storage, caller),
        accountId: caller.accountId,
        action: 'change.failed',
        subject: { kind: 'change', id },
        after: { kind, what, askedBy, problem, waits },
        at: now,
      })
    })
  }

  /** Empties those that are over, and deletes the old ones. */
  async deleteOld(now: Instant): Promise<void> {
    const { db } = this.#storage
    await db
      .updateTable('change_requests')
      .set({ request: null })
      .where('state', 'in', ['waiting', 'approved'])
      .where('request', 'is not', null)
      .where('expires_at', '<=', now)
      .execute()
    const problem = 'the server ended while it was carried out; the audit table says what was done'
    await db
      .updateTable('change_requests')
      .set({ state: 'failed', request: null, problem })
      .where('state', '=', 'running')
      .where('decided_at', '<=', now - maxRunningMs)
      .execute()
    await db
      .deleteFrom('change_requests')
      .where('expires_at', '<=', now - keptMs)
      // A setting that was approved stays approved.
      .where((row) => row.or([row('kind', '!=', 'allow-unknown'), row('state', '!=', 'done')]))
      .execute()
  }
}

/** Whether a change without an endpoint was approved and is done, exactly like this. */
export async function isChangeMade(
  db: Db,
  accountId: string,
  { kind, endpoint, request, reason }: ChangeToMake,
): Promise<boolean> {
  const row = await db
    .selectFrom('change_requests')
    .select('id')
    .where('account_id', '=', accountId)
    .where('kind', '=', kind)
    .where('state', '=', 'done')
    .where('request_hash', '=', hashOf(endpoint, JSON.stringify(request), reason))
    .executeTakeFirst()
  return row !== undefined
}

/** Of all that is shown to who approves it, so that another reason is another change. */
function hashOf(
  endpoint: string | null | undefined,
  request: string,
  reason: string | null | undefined,
): string {
  return hash('sha256', JSON.stringify([endpoint ?? null, request, reason ?? null]))
}

/** In one statement, so that of two only one does. With `now` not after its end. */
async function updateIf(
  db: Db,
  id: string,
  states: readonly ChangeRequestRow['state'][],
  change: Decided,
  now: Instant = 0,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('change_requests')
    .set(change)
    .where('id', '=', id)
    .where('state', 'in', states)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

function requireDecider(caller: Caller): void {
  if (caller.role !== 'Agent' && caller.limits.projects === 'any') return
  const rule = 'approving changes needs role Supervisor or Administrator and no limit to projects'
  throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
}

function toChange(row: ChangeRequestRow, now: Instant): ChangeRequest {
  const isOpen = row.state === 'waiting' || row.state === 'approved'
  return {
    id: row.id,
    kind: row.kind,
    what: row.what,
    endpoint: row.endpoint ?? undefined,
    request: row.request ?? undefined,
    requestHash: row.request_hash,
    reason: row.reason ?? undefined,
    state: isOpen && now >= row.expires_at ? 'expired' : row.state,
    askedBy: row.asked_by,
    askedAt: row.asked_at,
    askedSeq: row.asked_seq,
    expiresAt: row.expires_at,
    decidedBy: row.decided_by ?? undefined,
    decidedAt: row.decided_at ?? undefined,
    note: row.note ?? undefined,
    problem: row.problem ?? undefined,
  }
}
