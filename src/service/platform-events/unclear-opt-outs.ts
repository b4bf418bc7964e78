/** Possible opt-outs, which take effect only when a person confirms them. */
import { createHash } from 'node:crypto'
import type { Insertable, Selectable } from 'kysely'
import { type Caller, nameCaller, type Requester } from '../../domain/caller.js'
import type { OptOutReport } from '../../domain/consent/consent-records.js'
import { parseDialString } from '../../domain/phone-number.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { AppError, invalidRequest } from '../../errors.js'
import { findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import { readHeldNumbers } from '../../storage/platform-events/held-numbers.js'
import type { Db, Tables } from '../../storage/tables.js'
import { runAccountTransaction } from '../sql/account-transaction.js'

export type UnclearOptOut = Selectable<Tables['unclear_opt_outs']>

/** Stores an unclear opt-out, unless the call already has the same one. Must run in a transaction that locks the account. */
export async function insertUnclear(
  db: Db,
  found: Omit<Insertable<Tables['unclear_opt_outs']>, 'id'>,
): Promise<void> {
  const { account_id, platform, call, kind, said } = found
  const stored = await db
    .selectFrom('unclear_opt_outs')
    .select('id')
    .where('account_id', '=', account_id)
    .where('platform', '=', platform)
    .where('call', '=', call)
    .where('kind', '=', kind)
    .where('said', said === null || said === undefined ? 'is' : '=', said ?? null)
    .executeTakeFirst()
  if (stored) return
  const hash = createHash('sha256').update(JSON.stringify([platform, call, kind, said]))
  await db
    .insertInto('unclear_opt_outs')
    .values({ ...found, id: hash.digest('hex').slice(0, 32) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await touchAccount(db, account_id)
}

/** Makes edges copy the account again, including its held numbers: they do so when its row was written. */
export async function touchAccount(db: Db, accountId: string): Promise<void> {
  const account = db.updateTable('accounts').set((row) => ({ name: row.ref('name') }))
  await account.where('id', '=', accountId).execute()
}

/** Ends the unclear opt-outs of a call whose person is now known. Returns false if there was none. */
export async function endUnjoined(
  db: Db,
  {
    account_id,
    platform,
    id,
  }: Pick<Selectable<Tables['platform_calls']>, 'account_id' | 'platform' | 'id'>,
  at: Instant,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('unclear_opt_outs')
    .set({ resolved_at: at, resolved_by: 'system', resolution: 'joined' })
    .where('account_id', '=', account_id)
    .where('platform', '=', platform)
    .where('call', '=', id)
    .where('kind', 'in', ['unjoined', 'own-number'])
    .where('resolved_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return false
  await touchAccount(db, account_id)
  return true
}

const maxListed = 200

/** Lists the unresolved ones, oldest first. */
export async function listUnclear(db: Db, accountId: string): Promise<readonly UnclearOptOut[]> {
  return await db
    .selectFrom('unclear_opt_outs')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('resolved_at', 'is', null)
    .orderBy('heard_at')
    .orderBy('id')
    .limit(maxListed)
    .execute()
}

export interface UnclearOptOutsDeps {
  readonly storage: ThreadDatabase
  readonly clock: Pick<Clock, 'now'>
  readonly recordOptOut: (caller: Caller, report: OptOutReport) => Promise<unknown>
  /** Called when the held numbers may have changed. */
  readonly onChange: () => void
}

export interface Resolution {
  readonly id: string
  readonly action: 'confirm' | 'dismiss'
  readonly number?: string | undefined
  readonly reason?: string | undefined
}

export class UnclearOptOuts {
  readonly #deps: UnclearOptOutsDeps

  constructor(deps: UnclearOptOutsDeps) {
    this.#deps = deps
  }

  /** Adds how many numbers each one holds. */
  async list(
    accountId: string,
  ): Promise<readonly (UnclearOptOut & { readonly heldNumbers: number })[]> {
    const { db } = this.#deps.storage
    const rows = await listUnclear(db, accountId)
    const held = await readHeldNumbers(db, accountId)
    return rows.map((row) => ({
      ...row,
      heldNumbers: new Set(
        held.filter(({ heldBy }) => heldBy === row.id).map(({ number }) => number),
      ).size,
    }))
  }

  /** Throws `not-found` if the opt-out is unknown or resolved, and `invalid-request` if a confirmed one has no number. */
  async resolve(caller: Caller, { id, action, number, reason }: Resolution): Promise<void> {
    const { storage, clock } = this.#deps
    const { accountId } = caller
    const row = await storage.db
      .selectFrom('unclear_opt_outs')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('id', '=', id)
      .where('resolved_at', 'is', null)
      .executeTakeFirst()
    const missing = `id '${id}': the account has no unclear opt-out with this id, or a person has already confirmed or dismissed it`
    if (!row) throw new AppError('not-found', missing)
    if (action === 'confirm') await this.#confirm(caller, row, number)
    const at = clock.now()
    await runAccountTransaction(storage, accountId, async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('unclear_opt_outs')
        .set({
          resolved_at: at,
          resolved_by: nameCaller(caller),
          resolution: action === 'confirm' ? 'confirmed' : 'dismissed',
        })
        .where('account_id', '=', accountId)
        .where('id', '=', id)
        .where('resolved_at', 'is', null)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows === 0n) throw new AppError('not-found', missing)
      await touchAccount(transaction, accountId)
      await recordAudit(transaction, {
        by: findAuthor(storage, caller satisfies Requester),
        accountId,
        action: `unclear-opt-out.${action === 'confirm' ? 'confirmed' : 'dismissed'}`,
        subject: { kind: 'unclear-opt-out', id },
        after: { platform: row.platform, kind: row.kind, decisionId: row.decision_id },
        reason,
        at,
      })
    })
    this.#deps.onChange()
  }

  async #confirm(caller: Caller, row: UnclearOptOut, given: string | undefined): Promise<void> {
    const text = given ?? row.number ?? ''
    const parsed = parseDialString(text)
    if (parsed.kind !== 'nanp') {
      const rule =
        'must be a North American telephone number, since the person who said the words is unknown'
      throw invalidRequest([{ field: 'number', value: text, rule }])
    }
    await this.#deps.recordOptOut(caller, {
      number: parsed.number,
      ...(row.decision_id !== null &&
        parsed.number === row.number && { decisionId: row.decision_id }),
      reference: row.id,
      said: row.said ?? undefined,
      source: 'transcript',
      channel: 'call-voice',
      scope: 'everything',
      receivedAt: row.heard_at,
    })
  }
}
