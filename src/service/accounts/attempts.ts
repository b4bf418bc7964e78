/**
 * Counts the calls that keys were given. The database counts, so that two questions at the same time, on one server or on
 * several, cannot both take the last one.
 */
import { type SqlBool, sql } from 'kysely'
import type {
  Attempt,
  AttemptCounter,
  AttemptLimits,
  AttemptRefusal,
  AttemptResult,
} from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay, msPerHour, toUtcDay } from '../../domain/time/dates.js'
import { takeShared } from '../../storage/cluster/shared-limits.js'
import type { EngineTraits, OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { useApproval } from './approvals.js'

/** How long a call is taken to be in progress, since nobody reports its end. */
const callMs = 2 * msPerHour

/** How long attempts are kept at least. */
const keptMs = 7 * msPerDay

export const maxCoolDownSeconds = keptMs / 1000

export type AttemptStorage = Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>

export class Attempts implements AttemptCounter {
  readonly #storage: AttemptStorage
  /** For approvals that are asked for. */
  readonly #webhooks: Pick<WebhookQueue, 'add' | 'wake'>

  constructor(storage: AttemptStorage, webhooks: Pick<WebhookQueue, 'add' | 'wake'>) {
    this.#storage = storage
    this.#webhooks = webhooks
  }

  async take(attempt: Attempt, limits: AttemptLimits): Promise<AttemptResult> {
    const { db, traits, retryWhileLocked } = this.#storage
    if (traits.isCopy) throw new Error('an edge does not count attempts; ask one of edge.centers')
    const webhooks = this.#webhooks
    const result = await retryWhileLocked(() =>
      db.transaction().execute(async (transaction) => {
        await lockKey(transaction, attempt.keyId, traits)
        return await takeLocked(transaction, attempt, { limits, webhooks })
      }),
    )
    if (result.refused && result.approval) webhooks.wake()
    return result
  }

  async release(decisionId: string): Promise<void> {
    const { db } = this.#storage
    await db.deleteFrom('attempts').where('decision_id', '=', decisionId).execute()
    await db
      .updateTable('approvals')
      .set({ state: 'approved', decision_id: null })
      .where('decision_id', '=', decisionId)
      .execute()
  }

  /**
   * Deletes those that no limit counts any more. A clock that is ahead must not, so the time is taken from the attempts, as the
   * earliest of the last eight days that have any, if it is before `now`.
   */
  async deleteOld(now: Instant): Promise<void> {
    const { db } = this.#storage
    const today = await findToday(db)
    if (today !== undefined) {
      await db
        .deleteFrom('attempts')
        .where('at', '<', Math.min(today, now) - keptMs)
        .execute()
    }
    // Those that were used are in the records of the decisions. Without one, nothing is approved.
    await db
      .deleteFrom('approvals')
      .where('expires_at', '<', now - keptMs)
      .execute()
  }
}

/** A clock that is ahead for fewer days deletes no attempts. */
const daysOfClock = 8

/** The beginning, in UTC, of the earliest of the last eight days with attempts; `undefined` if there are fewer. */
async function findToday(db: Db): Promise<Instant | undefined> {
  let beginning: Instant = Number.MAX_SAFE_INTEGER
  for (let day = 0; day < daysOfClock; day += 1) {
    const latest = await db
      .selectFrom('attempts')
      .select('at')
      .where('at', '<', beginning)
      .orderBy('at', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (!latest) return undefined
    beginning = toUtcDay(latest.at) * msPerDay
  }
  return beginning
}

/** In SQLite a write, since a transaction that begins with a read could not write if another process has written meanwhile. */
async function lockKey(db: Db, keyId: string, { isShared }: EngineTraits): Promise<void> {
  if (isShared) {
    const key = db.selectFrom('api_keys').select('id').where('id', '=', keyId)
    await key.forNoKeyUpdate().execute()
  } else {
    const update = db.updateTable('api_keys').set((row) => ({ version: row.ref('version') }))
    await update.where('id', '=', keyId).execute()
  }
}

/** No other attempt of the key is counted meanwhile. */
async function takeLocked(
  db: Db,
  attempt: Attempt,
  {
    limits,
    webhooks,
  }: { readonly limits: AttemptLimits; readonly webhooks: Pick<WebhookQueue, 'add'> },
): Promise<AttemptResult> {
  const { decisionId, keyId, accountId, subject, at } = attempt
  const { number } = subject
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
    return { refused: { reason: 'key-attempts', detail: 'all that the access token was given' } }
  }
  await db
    .insertInto('attempts')
    .values({ decision_id: decisionId, key_id: keyId, account_id: accountId, number, at })
    .execute()
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

async function readCounts(db: Db, { keyId, subject: { number }, at }: Attempt): Promise<Counts> {
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
  const detail = `${coolDownSeconds} s must pass between two calls`
  return { reason: 'key-cool-down', detail, opensAt }
}

function needsApproval({ latest }: Counts, at: Instant, { approval }: AttemptLimits): boolean {
  if (approval !== 'first-contact') return approval !== undefined
  return latest === null || latest <= at - keptMs
}

function findFullNumber(
  { ofNumber, oldest }: Counts,
  { attemptsPerNumberPerDay: limit }: AttemptLimits,
): AttemptRefusal | undefined {
  if (limit === undefined || ofNumber < limit) return undefined
  const detail = `${limit} to the same number in 24 hours`
  // Exact for the limit that the key had since; after it was lowered, it is asked again then.
  return { reason: 'key-attempts', detail, opensAt: (oldest ?? 0) + msPerDay }
}

async function findFullWindow(
  db: Db,
  { keyId }: Attempt,
  counts: Counts,
  { attemptsPerHour, attemptsPerDay, concurrent }: AttemptLimits,
): Promise<AttemptRefusal | undefined> {
  const reason = 'key-attempts' as const
  const windows = [
    { limit: attemptsPerDay, taken: counts.day, ms: msPerDay, reason, text: 'in 24 hours' },
    { limit: attemptsPerHour, taken: counts.hour, ms: msPerHour, reason, text: 'in an hour' },
    {
      limit: concurrent,
      taken: counts.open,
      ms: callMs,
      reason: 'key-concurrent' as const,
      text: 'at a time',
    },
  ]
  for (const { limit, taken, ms, reason, text } of windows) {
    if (limit === undefined || taken < limit) continue
    const leaving = await db
      .selectFrom('attempts')
      .select('at')
      .where('key_id', '=', keyId)
      .orderBy('at', 'desc')
      .offset(limit - 1)
      .limit(1)
      .executeTakeFirst()
    const opensAt = (leaving?.at ?? 0) + ms
    return { reason, detail: `${limit} ${text}`, opensAt }
  }
  return undefined
}
