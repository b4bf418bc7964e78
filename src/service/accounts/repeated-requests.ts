/**
 * Which decision a request with an `Idempotency-Key` has. The database remembers it, so a request that is sent again to another
 * server is not decided twice.
 */

import { hash } from 'node:crypto'
import type { Caller } from '../../domain/caller.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { AppError } from '../../errors.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { deleteOldRows } from '../sql/delete-old-rows.js'

/** A request that has no decision by then has none: its server ended, or its answer was a block that was not remembered. */
const maxDecidingMs = 60_000

/** What was sent with an `Idempotency-Key`. */
interface RepeatableRequest {
  readonly idempotencyKey: string
  /** All that it asks. */
  readonly content: string
}

export class RepeatedRequests {
  readonly #storage: Pick<OpenDatabase, 'db' | 'retryWhileLocked'>
  readonly #clock: Clock

  constructor(
    storage: Pick<OpenDatabase, 'db' | 'retryWhileLocked'>,
    { clock }: { readonly clock: Clock },
  ) {
    this.#storage = storage
    this.#clock = clock
  }

  /**
   * The id of the decision that an earlier request with the key has; `undefined` if this one is to be decided. Throws
   * `conflict` if the API key has used it for another request, or the earlier one is being decided.
   */
  async begin(caller: Caller, request: RepeatableRequest): Promise<string | undefined> {
    const { db, retryWhileLocked } = this.#storage
    const { keyId } = caller
    const { idempotencyKey } = request
    const fingerprint = hash('sha256', request.content)
    const now = this.#clock.now()
    const began = await retryWhileLocked(() =>
      db
        .insertInto('repeated_requests')
        .values({ key_id: keyId, key: idempotencyKey, fingerprint, at: now })
        .onConflict((conflict) =>
          conflict
            .columns(['key_id', 'key'])
            .doUpdateSet({ at: now })
            .where('repeated_requests.fingerprint', '=', fingerprint)
            .where('repeated_requests.decision_id', 'is', null)
            .where('repeated_requests.at', '<', now - maxDecidingMs),
        )
        .returning('at')
        .executeTakeFirst(),
    )
    if (began) return undefined
    const row = await db
      .selectFrom('repeated_requests')
      .select(['fingerprint', 'decision_id'])
      .where('key_id', '=', keyId)
      .where('key', '=', idempotencyKey)
      .executeTakeFirst()
    const name = `Idempotency-Key '${idempotencyKey}'`
    if (row && row.fingerprint !== fingerprint) {
      throw new AppError('conflict', `${name}: was used for another request; use a new one`)
    }
    if (row?.decision_id) return row.decision_id
    const message = `${name}: the first request with it is being decided; send it again in a second`
    throw new AppError('conflict', message, { retryAfterSeconds: 1 })
  }

  /** Rejects unless it is remembered, as after another request has taken over. */
  async finish(
    { keyId }: Caller,
    { idempotencyKey }: RepeatableRequest,
    decisionId: string,
  ): Promise<void> {
    const { db, retryWhileLocked } = this.#storage
    const { numUpdatedRows } = await retryWhileLocked(() =>
      db
        .updateTable('repeated_requests')
        .set({ decision_id: decisionId })
        .where('key_id', '=', keyId)
        .where('key', '=', idempotencyKey)
        .where('decision_id', 'is', null)
        .executeTakeFirstOrThrow(),
    )
    if (numUpdatedRows === 0n) throw new Error('another request has the key by now')
  }

  /** Another decision takes the place of an earlier one, which is withdrawn. */
  async replace(
    { keyId }: Caller,
    { idempotencyKey }: Pick<RepeatableRequest, 'idempotencyKey'>,
    { earlier, decisionId }: { readonly earlier: string; readonly decisionId: string },
  ): Promise<void> {
    const { db, retryWhileLocked } = this.#storage
    await retryWhileLocked(() =>
      db
        .updateTable('repeated_requests')
        .set({ decision_id: decisionId })
        .where('key_id', '=', keyId)
        .where('key', '=', idempotencyKey)
        .where('decision_id', '=', earlier)
        .execute(),
    )
  }

  /** The request is decided anew when it is sent again. */
  async forget(
    { keyId }: Caller,
    { idempotencyKey }: Pick<RepeatableRequest, 'idempotencyKey'>,
  ): Promise<void> {
    const { db, retryWhileLocked } = this.#storage
    await retryWhileLocked(() =>
      db
        .deleteFrom('repeated_requests')
        .where('key_id', '=', keyId)
        .where('key', '=', idempotencyKey)
        .execute(),
    )
  }
}

/** Returns whether there may be more to delete. */
export function deleteOldRequests(db: Db, now: Instant): Promise<boolean> {
  const before = now - msPerDay
  return deleteOldRows(db, 'repeated_requests', { key: ['key_id', 'key'], at: 'at', before })
}
