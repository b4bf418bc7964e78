/** Figures about each platform: its calls of the last day, and any sign that opt-outs are being lost. */
import { sql } from 'kysely'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay, msPerHour } from '../../domain/time/dates.js'
import type { Db } from '../../storage/tables.js'

export interface PlatformFigures {
  readonly accountId: string
  readonly platform: string
  /** `undefined` if no proxy has reported it. */
  readonly canFetch: boolean | undefined
  /** Calls of the last 24 hours; so are the counts below. */
  readonly placed: number
  readonly answered: number
  /** Answered calls with words of the person. */
  readonly heard: number
  readonly optedOut: number
  readonly problem: string | undefined
}

/** This many answered calls in a row without a word cannot be chance. */
const maxSilentCalls = 20
/** By then the events of a call have arrived. */
const eventsDueMs = msPerHour
const minPlacedCalls = 3
/** Its webhooks have no words: the agent sends opt-outs itself. */
const platformsWithoutWords: ReadonlySet<string> = new Set(['livekit'])

/** For the accounts and platforms that have placed calls in the last day, or whose proxy has reported. */
export async function readPlatformFigures(
  db: Db,
  now: Instant,
  accountId?: string,
): Promise<readonly PlatformFigures[]> {
  const since = now - msPerDay
  const count = (column: 'answered_at' | 'heard_at' | 'opted_out_at') =>
    sql<number>`sum(case when ${sql.ref(column)} is null then 0 else 1 end)`
  const counted = await db
    .selectFrom('platform_calls')
    .select((row) => [
      'account_id',
      'platform',
      row.fn.countAll().as('placed'),
      count('answered_at').as('answered'),
      sql<number>`sum(case when answered_at is null or heard_at is null then 0 else 1 end)`.as(
        'heard',
      ),
      count('opted_out_at').as('optedOut'),
    ])
    .where('registered_at', '>=', since)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .groupBy(['account_id', 'platform'])
    .execute()
  const reports = await db
    .selectFrom('platform_reports')
    .selectAll()
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .execute()
  const places = new Map(
    [...counted, ...reports].map((row) => [`${row.account_id} ${row.platform}`, row]),
  )
  const figures: PlatformFigures[] = []
  for (const [, { account_id, platform }] of [...places].sort(([one], [other]) =>
    one < other ? -1 : 1,
  )) {
    const isOf = (row: { account_id: string; platform: string }) =>
      row.account_id === account_id && row.platform === platform
    const row = counted.find(isOf)
    const canFetch = reports.find(isOf)?.can_fetch
    figures.push({
      ...{ accountId: account_id, platform },
      canFetch: canFetch === null || canFetch === undefined ? undefined : canFetch === 1,
      placed: Number(row?.placed ?? 0),
      answered: Number(row?.answered ?? 0),
      heard: Number(row?.heard ?? 0),
      optedOut: Number(row?.optedOut ?? 0),
      problem: await findProblem(db, { account_id, platform }, now),
    })
  }
  return figures
}

async function findProblem(
  db: Db,
  { account_id, platform }: { readonly account_id: string; readonly platform: string },
  now: Instant,
): Promise<string | undefined> {
  const ofPlatform = db
    .selectFrom('platform_calls')
    .where('account_id', '=', account_id)
    .where('platform', '=', platform)
    .where('registered_at', 'is not', null)
  const placed = await ofPlatform
    .select('registered_at')
    .where('registered_at', '>=', now - msPerDay)
    .where('registered_at', '<=', now - eventsDueMs)
    .orderBy('registered_at')
    .execute()
  const first = placed[0]?.registered_at
  if (placed.length >= minPlacedCalls && first !== null && first !== undefined) {
    const event = await db
      .selectFrom('platform_events')
      .select('id')
      .where('account_id', '=', account_id)
      .where('platform', '=', platform)
      .where('stored_at', '>=', first)
      .limit(1)
      .executeTakeFirst()
    if (!event) return `${placed.length} calls were placed in the last day, but no event has come`
  }
  if (platformsWithoutWords.has(platform)) return undefined
  const answered = await ofPlatform
    .select('heard_at')
    .where('answered_at', 'is not', null)
    .where(({ or, eb }) => or([eb('ended_at', 'is not', null), eb('heard_at', 'is not', null)]))
    .orderBy('answered_at', 'desc')
    .limit(maxSilentCalls)
    .execute()
  const isSilent =
    answered.length === maxSilentCalls && answered.every(({ heard_at }) => heard_at === null)
  return isSilent
    ? `none of the last ${maxSilentCalls} answered calls had words of a person`
    : undefined
}

/** Stores the report of a proxy. */
export async function noteProxyReport(
  db: Db,
  { accountId, platform }: { readonly accountId: string; readonly platform: string },
  { canFetch, at }: { readonly canFetch: boolean | undefined; readonly at: Instant },
): Promise<void> {
  const can_fetch = canFetch === undefined ? null : canFetch ? 1 : 0
  const known = can_fetch === null ? {} : { can_fetch }
  await db
    .insertInto('platform_reports')
    .values({ account_id: accountId, platform, can_fetch, reported_at: at })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'platform']).doUpdateSet({ ...known, reported_at: at }),
    )
    .execute()
}

/** How long an event is kept after it was read. */
const keptEventMs = 7 * msPerDay
const keptCallMs = 31 * msPerDay
const maxDeleted = 1_000

/**
 * Deletes old events and calls, except those that an unresolved opt-out needs. Returns whether there may be more to
 * delete.
 */
export async function deleteOldPlatformEvents(db: Db, now: Instant): Promise<boolean> {
  const old = await db
    .selectFrom('platform_events as events')
    .select(['events.account_id', 'events.id'])
    .where('events.stored_at', '<', now - keptEventMs)
    .where('events.read_at', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('platform_event_parts as parts')
            .innerJoin('unclear_opt_outs as unclear', (join) =>
              join
                .onRef('unclear.account_id', '=', 'parts.account_id')
                .onRef('unclear.platform', '=', 'parts.platform')
                .onRef('unclear.call', '=', 'parts.call'),
            )
            .select('parts.part')
            .whereRef('parts.account_id', '=', 'events.account_id')
            .whereRef('parts.event_id', '=', 'events.id')
            .where('unclear.resolved_at', 'is', null),
        ),
      ),
    )
    .limit(maxDeleted)
    .execute()
  for (const { account_id, id } of old) {
    await db
      .deleteFrom('platform_event_parts')
      .where('account_id', '=', account_id)
      .where('event_id', '=', id)
      .execute()
    await db
      .deleteFrom('platform_events')
      .where('account_id', '=', account_id)
      .where('id', '=', id)
      .execute()
  }
  const calls = await db
    .selectFrom('platform_calls as calls')
    .select(['calls.account_id', 'calls.platform', 'calls.id'])
    .where('calls.changed_at', '<', now - keptCallMs)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('unclear_opt_outs as unclear')
            .select('unclear.id')
            .whereRef('unclear.account_id', '=', 'calls.account_id')
            .whereRef('unclear.platform', '=', 'calls.platform')
            // An unresolved opt-out also keeps the calls whose numbers it holds.
            .where('unclear.resolved_at', 'is', null),
        ),
      ),
    )
    .limit(maxDeleted)
    .execute()
  for (const call of calls) await deletePlatformCall(db, call)
  await db
    .deleteFrom('unclear_opt_outs')
    .where('resolved_at', '<', now - keptCallMs)
    .execute()
  return old.length === maxDeleted || calls.length === maxDeleted
}

export async function deletePlatformCall(
  db: Db,
  {
    account_id,
    platform,
    id,
  }: { readonly account_id: string; readonly platform: string; readonly id: string },
): Promise<void> {
  await db
    .deleteFrom('platform_call_ids')
    .where('account_id', '=', account_id)
    .where('platform', '=', platform)
    .where('call', '=', id)
    .execute()
  await db
    .deleteFrom('platform_calls')
    .where('account_id', '=', account_id)
    .where('platform', '=', platform)
    .where('id', '=', id)
    .execute()
}
