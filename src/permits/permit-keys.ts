/** The key pairs that sign permits, one for each SIP edge, the same on all servers of a database. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
} from 'node:crypto'
import { type Author, mainAccountId } from '../domain/caller.js'
import type { Clock, Instant, Timers } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import { AppError } from '../errors.js'
import { TtlCache } from '../runtime/ttl-cache.js'
import { recordAudit } from '../storage/audit/audit-log.js'
import type { ThreadDatabase } from '../storage/open-database.js'
import type { Db, PermitKeyRow } from '../storage/tables.js'

export interface PermitKey {
  /** From 1. */
  readonly serial: number
  /** Thumbprint (RFC 7638). */
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** The public key (SPKI). */
  readonly pem: string
  readonly jwk: Readonly<Record<string, unknown>>
  /** It signs from then on, until the next key does. */
  readonly signsFrom: Instant
}

export interface PermitKeysDeps {
  readonly storage: Pick<ThreadDatabase, 'db' | 'reads' | 'traits' | 'author' | 'retryWhileLocked'>
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
}

/** How long receivers may keep the public keys. */
export const keyMaxAgeSeconds = 300

/** Before a new key signs, its edge is given it, and cached answers without it expire. */
const untilSigningMs = 2 * keyMaxAgeSeconds * 1_000

/** No permit lives longer: the greatest freshness of an edge, and the skew of its clock. */
const maxPermitLifeMs = 310_000

/** As in `read-cache-limits.ts`: other servers follow within a second. */
const cacheTtlMs = 1_000
const maxCachedEdges = 1_000

interface EdgeKeys {
  readonly keys: readonly PermitKey[]
}

export class PermitKeys {
  readonly #deps: PermitKeysDeps
  readonly #cache: TtlCache<EdgeKeys>

  constructor(deps: PermitKeysDeps) {
    this.#deps = deps
    const { timers } = deps
    this.#cache = new TtlCache({ timers, ttlMs: cacheTtlMs, maxEntries: maxCachedEdges })
  }

  /** Those that may have signed a permit in force, and those that will sign, oldest first. Creates the first key. */
  async listPublished(edge: string): Promise<readonly PermitKey[]> {
    const now = this.#deps.clock.now()
    const all = await this.#read(edge)
    return all.filter((_, index) => {
      const next = all[index + 1]
      return next === undefined || now < next.signsFrom + maxPermitLifeMs
    })
  }

  /** The one that signs now. */
  async getSigning(edge: string): Promise<PermitKey> {
    const now = this.#deps.clock.now()
    const all = await this.#read(edge)
    const signing = all.findLast(({ signsFrom }) => signsFrom <= now)
    if (signing !== undefined) return signing
    throw new AppError('not-available', `No permit key of edge '${edge}' signs yet`)
  }

  /** The one that will sign next; `undefined` unless a rotation is under way. */
  async findNext(edge: string): Promise<PermitKey | undefined> {
    const now = this.#deps.clock.now()
    return (await this.#read(edge)).find(({ signsFrom }) => signsFrom > now)
  }

  /**
   * Creates the next key, which signs in some minutes, or at once: then permits that the others have signed are not valid
   * any more. Throws `conflict` while the last rotation is not over.
   */
  async rotate(edge: string, { atOnce }: { readonly atOnce: boolean }): Promise<PermitKey> {
    const { storage, clock } = this.#deps
    const now = clock.now()
    const all = await this.#read(edge)
    if (!atOnce && all.some(({ signsFrom }) => signsFrom > now)) {
      throw new AppError('conflict', `A new permit key of edge '${edge}' waits to sign already`)
    }
    const serial = (all.at(-1)?.serial ?? 0) + 1
    const row = createKeyRow(edge, serial, atOnce ? now : now + untilSigningMs)
    await storage.retryWhileLocked(() =>
      storage.db.transaction().execute(async (transaction) => {
        await transaction.insertInto('permit_keys').values(row).execute()
        if (atOnce) {
          await transaction
            .deleteFrom('permit_keys')
            .where('edge', '=', edge)
            .where('serial', '<', serial)
            .execute()
        }
        await recordCreated(transaction, row, { by: storage.author, at: now })
      }),
    )
    this.#cache.clear()
    return toPermitKey(row)
  }

  async #read(edge: string): Promise<readonly PermitKey[]> {
    const found = await this.#cache.fetch(edge, async () => {
      const keys = await this.#select(edge)
      if (keys.length > 0) return { keys }
      await this.#createFirst(edge)
      return { keys: await this.#select(edge) }
    })
    return found?.keys ?? []
  }

  async #select(edge: string): Promise<readonly PermitKey[]> {
    const rows = await this.#deps.storage.reads
      .selectFrom('permit_keys')
      .selectAll()
      .where('edge', '=', edge)
      .orderBy('serial')
      .execute()
    return rows.map(toPermitKey)
  }

  /** Servers that do this at the same time all use the key of the first. */
  async #createFirst(edge: string): Promise<void> {
    const { storage, clock } = this.#deps
    if (storage.traits.isCopy) {
      throw new AppError(
        'not-available',
        'This server is an edge of edge.centers and gives no permits',
      )
    }
    const row = createKeyRow(edge, 1, 0)
    await storage.retryWhileLocked(() =>
      storage.db.transaction().execute(async (transaction) => {
        const { numInsertedOrUpdatedRows } = await transaction
          .insertInto('permit_keys')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirstOrThrow()
        if (numInsertedOrUpdatedRows === 0n) return
        await recordCreated(transaction, row, { by: storage.author, at: clock.now() })
      }),
    )
  }
}

/** Deletes keys whose permits have all expired by `now`. */
export async function deleteOldPermitKeys(db: Db, now: Instant): Promise<void> {
  await db
    .deleteFrom('permit_keys')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('permit_keys as next')
          .select('next.serial')
          .whereRef('next.edge', '=', 'permit_keys.edge')
          .whereRef('next.serial', '>', 'permit_keys.serial')
          .where('next.signs_from', '<=', now - maxPermitLifeMs),
      ),
    )
    .execute()
}

function recordCreated(
  db: Db,
  { edge, serial, signs_from: signsFrom }: PermitKeyRow,
  { by, at }: { readonly by: Author; readonly at: Instant },
): Promise<void> {
  return recordAudit(db, {
    by,
    accountId: mainAccountId,
    action: 'permit-key.created',
    subject: { kind: 'permit-edge', id: edge },
    after: { serial, signsFrom: formatInstant(Math.max(signsFrom, 0)) },
    at,
  })
}

function createKeyRow(edge: string, serial: number, signsFrom: Instant): PermitKeyRow {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { edge, serial, private_key: pem, signs_from: signsFrom }
}

function toPermitKey({ serial, private_key, signs_from }: PermitKeyRow): PermitKey {
  const privateKey = createPrivateKey(private_key)
  const publicKey = createPublicKey(privateKey)
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
  const kid = hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url')
  return {
    serial,
    kid,
    privateKey,
    publicKey,
    pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    jwk: { kty, crv, x, y, alg: 'ES256', use: 'sig', kid },
    signsFrom: signs_from,
  }
}
