/**
 * When keys were last used. Uses are gathered in memory, from where a key is read for its first request in a second, and stored once a
 * minute, so that a call neither waits nor writes for it.
 */
import type { Clock, Instant } from '../../domain/time/clock.js'
import { msPerMinute } from '../../domain/time/dates.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import { splitIntoChunks } from '../sql/chunks.js'

export class KeyUses {
  readonly #storage: Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>
  readonly #clock: Clock
  #used = new Set<string>()

  constructor(storage: Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>, clock: Clock) {
    this.#storage = storage
    this.#clock = clock
  }

  note(keyId: string): void {
    this.#used.add(keyId)
  }

  /** What was noted since the last time, as of this minute; a later time that is stored stays. */
  async store(): Promise<void> {
    // In one order, so that two servers cannot wait for each other.
    const used = [...this.#used].sort()
    this.#used = new Set()
    const now = this.#clock.now()
    const usedAt = now - (now % msPerMinute)
    const { db, traits, retryWhileLocked } = this.#storage
    try {
      for (const ids of splitIntoChunks(used, traits, 2)) {
        const query = db
          .insertInto('key_uses')
          .values(ids.map((id) => ({ key_id: id, used_at: usedAt })))
          .onConflict((conflict) =>
            conflict
              .column('key_id')
              .doUpdateSet((row) => ({ used_at: row.ref('excluded.used_at') }))
              .whereRef('key_uses.used_at', '<', 'excluded.used_at'),
          )
        await retryWhileLocked(() => query.execute())
      }
    } catch (cause) {
      for (const id of used) this.#used.add(id)
      throw cause
    }
  }
}

/** By key, to the minute after the use; of the keys of an account, or of all. */
export async function readKeyUses(
  { db }: Pick<OpenDatabase, 'db'>,
  accountId?: string,
): Promise<ReadonlyMap<string, Instant>> {
  const rows = await db
    .selectFrom('key_uses')
    .innerJoin('api_keys', 'api_keys.id', 'key_uses.key_id')
    .select(['key_id', 'used_at'])
    .$if(accountId !== undefined, (use) => use.where('account_id', '=', accountId ?? ''))
    .execute()
  return new Map(rows.map(({ key_id, used_at }) => [key_id, Number(used_at)]))
}
