/**
 * Counts the calls that were allowed: those of keys with limits, and those to people whom a law or an own rule lets be called only
 * so often. The database counts, so that two questions at the same time, on one server or on several, cannot both take the last one.
 */

import { type SqlBool, sql } from 'kysely'
import {
  type Attempt,
  type AttemptCounter,
  type AttemptLimits,
  type AttemptRefusal,
  type AttemptResult,
  type CountedAttempt,
  type FrequencyCount,
  type FrequencyLimit,
  type LimitsOfAttempt,
  maxFrequencyHours,
  type ReportedAttempt,
} from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay, msPerHour } from '../../domain/time/dates.js'
import { takeShared } from '../../storage/cluster/shared-limits.js'
import type { EngineTraits, OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { deleteOldRows } from '../sql/delete-old-rows.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { useApproval } from './approvals.js'
import { releaseAttempt } from './attempt-outcomes.js'
import { readFrequencyCounts } from './frequency-counts.js'

/** How long a call is taken to be in progress, since nobody reports its end. */
const callMs = 2 * msPerHour

/** For how long a call to a number makes the next one none of first contact. */
const contactMs = 7 * msPerDay

export const maxCoolDownSeconds = contactMs / 1000

/** More than are on their way at a time, from the allow to the end of the call. */
const maxRemembered = 10_000

/** How long attempts are kept at least. */
const keptMs = maxFrequencyHours * msPerHour

export type AttemptStorage = Pick<OpenDatabase, 'db' | 'reads' | 'traits' | 'retryWhileLocked'>

interface WantedAttempt {
  readonly attempt: Attempt
  readonly limits: LimitsOfAttempt
}

interface WaitingAttempt extends WantedAttempt {
  readonly resolve: (result: CountedAttempt) => void
  readonly reject: (cause: unknown) => void
}

/** With more, the first would wait for the last. */
const maxTogether = 100

/** Who counts the calls of an account in place of this database: at an edge, its center. */
type CounterElsewhere = (accountId: string) => AttemptCounter | undefined

export class Attempts implements AttemptCounter {
  readonly #storage: AttemptStorage
  /** For approvals that are asked for. */
  readonly #webhooks: Pick<WebhookQueue, 'add' | 'wake'>

  readonly #counterElsewhere: CounterElsewhere
  readonly #waiting: WaitingAttempt[] = []
  #isTaking = false
  readonly #counted = new Map<string, ReportedAttempt>()

  constructor(
    storage: AttemptStorage,
    webhooks: Pick<WebhookQueue, 'add' | 'wake'>,
    counterElsewhere: CounterElsewhere = () => undefined,
  ) {
    this.#storage = storage
    this.#webhooks = webhooks
    this.#counterElsewhere = counterElsewhere
  }

  async take(attempt: Attempt, limits: LimitsOfAttempt): Promise<CountedAttempt> {
    const elsewhere = this.#counterElsewhere(attempt.accountId)
    if (elsewhere) return await elsewhere.take(attempt, limits)
    const result = this.#storage.traits.isShared
      ? this.#takeTogether([{ attempt, limits }]).then(([one]) => one as CountedAttempt)
      : this.#takeInTurn({ attempt, limits })
    const { refused, approval, isCounted } = await result
    if (refused && approval) this.#webhooks.wake()
    if (isCounted) this.#remember(attempt)
    return await result
  }

  /** SQLite has one writer: what waits for it is counted in one transaction, and synced once. */
  #takeInTurn(wanted: WantedAttempt): Promise<CountedAttempt> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...wanted, resolve, reject })
      if (this.#waiting.length === 1 && !this.#isTaking) void this.#takeWaiting()
    })
  }

  async #takeWaiting(): Promise<void> {
    this.#isTaking = true
    while (this.#waiting.length > 0) {
      const together = this.#waiting.splice(0, maxTogether)
      try {
        const results = await this.#takeTogether(together)
        for (const [index, { resolve }] of together.entries()) {
          resolve(results[index] as CountedAttempt)
        }
      } catch (cause) {
        for (const { reject } of together) reject(cause)
      }
    }
    this.#isTaking = false
  }

  #takeTogether(wanted: readonly WantedAttempt[]): Promise<readonly CountedAttempt[]> {
    const { db, traits, retryWhileLocked } = this.#storage
    return retryWhileLocked(() =>
      db.transaction().execute(async (transaction) => {
        const results: CountedAttempt[] = []
        for (const { attempt, limits } of wanted) {
          await lock(transaction, attempt, { ...traits, hasLimits: limits.key !== undefined })
          results.push(await this.#takeLocked(transaction, attempt, limits))
        }
        return results
      }),
    )
  }

  /** One of the latest that this process has counted. */
  findCounted(decisionId: string): ReportedAttempt | undefined {
    return this.#counted.get(decisionId)
  }

  #remember({ call: { number }, ...rest }: Attempt): void {
    this.#counted.set(rest.decisionId, { ...rest, number })
    if (this.#counted.size <= maxRemembered) return
    for (const oldest of this.#counted.keys()) {
      this.#counted.delete(oldest)
      break
    }
  }

  /** No other attempt of the key, or to the person, is counted meanwhile. */
  async #takeLocked(
    db: Db,
    attempt: Attempt,
    { key, frequency, isShadowed }: LimitsOfAttempt,
  ): Promise<CountedAttempt> {
    const counts = await readFrequencyCounts(db, attempt, frequency)
    if (!isShadowed && counts.some(({ opensAt }) => opensAt !== undefined)) {
      return { counts, isCounted: false }
    }
    const taken = key && (await takeOfKey(db, attempt, { limits: key, webhooks: this.#webhooks }))
    const isCounted = taken?.refused === undefined
    if (isCounted) await insert(db, attempt)
    return { ...taken, counts, isCounted }
  }

  async readCounts(
    attempt: Attempt,
    limits: readonly FrequencyLimit[],
  ): Promise<readonly FrequencyCount[]> {
    const elsewhere = this.#counterElsewhere(attempt.accountId)
    if (elsewhere) return await elsewhere.readCounts(attempt, limits)
    return await readFrequencyCounts(this.#storage.reads, attempt, limits, attempt.at)
  }

  async release(attempt: Pick<Attempt, 'decisionId' | 'accountId'>): Promise<void> {
    const elsewhere = this.#counterElsewhere(attempt.accountId)
    if (elsewhere) return await elsewhere.release(attempt)
    const { db, retryWhileLocked } = this.#storage
    await retryWhileLocked(() =>
      db.transaction().execute((transaction) => releaseAttempt(transaction, attempt)),
    )
  }

  /** Deletes attempts that no limit counts. Returns whether there may be more. */
  async deleteOld(now: Instant): Promise<boolean> {
    const { db } = this.#storage
    // Those that were used are in the records of the decisions. Without one, nothing is approved.
    await db
      .deleteFrom('approvals')
      .where('expires_at', '<', now - contactMs)
      .execute()
    return deleteOldRows(db, 'attempts', { key: ['decision_id'], at: 'at', before: now - keptMs })
  }
}

/**
 * In SQLite a write, since a transaction that begins with a read could not write if another process has written meanwhile; it
 * waits for every other one, whether there is such a key or not.
 */
async function lock(
  db: Db,
  attempt: Attempt,
  { isShared, hasLimits }: EngineTraits & { readonly hasLimits: boolean },
): Promise<void> {
  const { keyId, accountId, personId, call } = attempt
  if (!isShared) {
    const update = db.updateTable('api_keys').set((row) => ({ version: row.ref('version') }))
    await update.where('id', '=', keyId).execute()
    return
  }
  if (hasLimits) {
    const key = db.selectFrom('api_keys').select('id').where('id', '=', keyId)
    await key.forNoKeyUpdate().execute()
  }
  // In one order, so that two cannot wait for each other.
  for (const called of [call.number, ...(personId === undefined ? [] : [personId])].sort()) {
    const name = `attempts ${accountId} ${called}`
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db)
  }
}

async function insert(db: Db, attempt: Attempt): Promise<void> {
  const { decisionId, keyId, accountId, subject = null, personId = null, call, at } = attempt
  const { purpose = 'telemarketing' } = attempt
  await db
    .insertInto('attempts')
    .values({
      decision_id: decisionId,
      key_id: keyId,
      account_id: accountId,
      number: call.number,
      subject,
      person: personId,
      purpose,
      at,
    })
    .execute()
}

async function takeOfKey(
  db: Db,
  attempt: Attempt,
  {
    limits,
    webhooks,
  }: { readonly limits: AttemptLimits; readonly webhooks: Pick<WebhookQueue, 'add'> },
): Promise<AttemptResult> {
  const { at } = attempt
  const counts = await readCounts(db, attempt)
  const refused =
    findCoolDown(counts, at, limits) ??
    findFullNumber(counts, limits) ??
    (await findFullWindow(db, attempt, counts, limits))
  if (refused) return { refused }
  const approved = needsApproval(counts, at, limits)
    ? await useApproval(db, attempt, webhooks)
    : undefined
  if (approved?.refused) return approved
  if (!(await takeOfToken(db, limits))) {
    // An approval must only be used by a call that is placed.
    if (approved) await releaseAttempt(db, attempt)
    return { refused: { reason: 'key-attempts', says: [{ code: 'token-used-up' }] } }
  }
  const { attemptsPerHour, attemptsPerDay } = limits
  const hour = attemptsPerHour && attemptsPerHour - counts.hour - 1
  const day = attemptsPerDay && attemptsPerDay - counts.day - 1
  return { remaining: { hour, day }, ...approved }
}

/** What is released does not come back to the token. */
async function takeOfToken(db: Db, { inAll }: AttemptLimits): Promise<boolean> {
  if (inAll === undefined) return true
  const { token, limit, expiresAt } = inAll
  return (await takeShared(db, { key: `attempts ${token}`, limit, expiresAt }, 1)) > 0
}

interface Counts {
  readonly hour: number
  readonly day: number
  readonly open: number
  readonly ofNumber: number
  /** The oldest to the number in a day, and the newest of all. */
  readonly oldest: Instant | null
  readonly latest: Instant | null
}

async function readCounts(db: Db, { keyId, call: { number }, at }: Attempt): Promise<Counts> {
  const countIf = (condition: ReturnType<typeof sql<SqlBool>>) =>
    sql<number>`coalesce(sum(case when ${condition} then 1 else 0 end), 0)`
  const ofKey = await db
    .selectFrom('attempts')
    .select([
      countIf(sql`at > ${at - msPerHour}`).as('hour'),
      countIf(sql`true`).as('day'),
      countIf(sql`at > ${at - callMs}`).as('open'),
    ])
    .where('key_id', '=', keyId)
    .where('at', '>', at - msPerDay)
    .executeTakeFirstOrThrow()
  const ofNumber = await db
    .selectFrom('attempts')
    .select([
      countIf(sql`at > ${at - msPerDay}`).as('ofNumber'),
      sql<number | null>`min(case when at > ${at - msPerDay} then at end)`.as('oldest'),
      ({ fn }) => fn.max('at').as('latest'),
    ])
    .where('key_id', '=', keyId)
    .where('number', '=', number)
    .executeTakeFirstOrThrow()
  const { oldest, latest } = ofNumber
  return {
    hour: Number(ofKey.hour),
    day: Number(ofKey.day),
    open: Number(ofKey.open),
    ofNumber: Number(ofNumber.ofNumber),
    oldest: oldest === null ? null : Number(oldest),
    latest: latest === null ? null : Number(latest),
  }
}

function findCoolDown(
  { latest }: Counts,
  at: Instant,
  { coolDownSeconds }: AttemptLimits,
): AttemptRefusal | undefined {
  if (coolDownSeconds === undefined || latest === null) return undefined
  const opensAt = latest + coolDownSeconds * 1000
  if (at >= opensAt) return undefined
  const params = { seconds: coolDownSeconds }
  return { reason: 'key-cool-down', says: [{ code: 'key-seconds-between', params }], opensAt }
}

function needsApproval({ latest }: Counts, at: Instant, { approval }: AttemptLimits): boolean {
  if (approval !== 'first-contact') return approval !== undefined
  return latest === null || latest <= at - contactMs
}

function findFullNumber(
  { ofNumber, oldest }: Counts,
  { attemptsPerNumberPerDay: limit }: AttemptLimits,
): AttemptRefusal | undefined {
  if (limit === undefined || ofNumber < limit) return undefined
  const says = [{ code: 'key-calls-of-number', params: { calls: limit } }] as const
  // Exact for the limit that the key had since; after it was lowered, it is asked again then.
  return { reason: 'key-attempts', says, opensAt: (oldest ?? 0) + msPerDay }
}

async function findFullWindow(
  db: Db,
  { keyId }: Attempt,
  counts: Counts,
  { attemptsPerHour, attemptsPerDay, concurrent }: AttemptLimits,
): Promise<AttemptRefusal | undefined> {
  const reason = 'key-attempts' as const
  const windows = [
    { limit: attemptsPerDay, taken: counts.day, ms: msPerDay, reason, within: 'day' },
    { limit: attemptsPerHour, taken: counts.hour, ms: msPerHour, reason, within: 'hour' },
    {
      limit: concurrent,
      taken: counts.open,
      ms: callMs,
      reason: 'key-concurrent' as const,
      within: 'now',
    },
  ] as const
  for (const { limit: calls, taken, ms, reason, within } of windows) {
    if (calls === undefined || taken < calls) continue
    const leaving = await db
      .selectFrom('attempts')
      .select('at')
      .where('key_id', '=', keyId)
      .orderBy('at', 'desc')
      .offset(calls - 1)
      .limit(1)
      .executeTakeFirst()
    const opensAt = (leaving?.at ?? 0) + ms
    return { reason, says: [{ code: 'key-calls', params: { calls, within } }], opensAt }
  }
  return undefined
}
