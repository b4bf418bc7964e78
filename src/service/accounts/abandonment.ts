/**
 * How many of the calls that persons answer are abandoned, and how many others are disconnected too early: a row for each campaign, law and period, which the reports of what became
 * of the calls change. Nothing is ever counted again from the calls themselves.
 */

import { sql } from 'kysely'
import type {
  AbandonmentCount,
  AbandonmentCounts,
  AbandonmentLimit,
  AbandonmentReports,
  AnswerReport,
  CampaignCall,
} from '../../domain/call-outcome.js'
import type { MaybePromise } from '../../domain/compliance.js'
import type { Clock, Instant, Timers } from '../../domain/time/clock.js'
import { addMonths, msPerDay, toCalendarDate, toLocalDay } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import { judgeAbandoned } from '../../law/abandonment-rules.js'
import { TtlCache } from '../../runtime/ttl-cache.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { AnsweredCallRow, Db } from '../../storage/tables.js'
import { deleteOldRows } from '../sql/delete-old-rows.js'
import { readCacheLimits } from '../sql/read-cache-limits.js'

/** A report of an older call would be counted once more each time that it comes, since what was counted is forgotten. */
const maxReportAgeMs = 31 * msPerDay
const keptMs = 2 * maxReportAgeMs

export interface AbandonmentOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'reads' | 'traits' | 'retryWhileLocked'>
  readonly clock: Pick<Clock, 'now'>
  readonly timers: Pick<Timers, 'monotonicMs'>
}

/** Where a call is counted; `as` is null if it no longer is. */
interface Counted {
  readonly rule: string
  readonly from: Instant
  readonly until: Instant
  readonly as: CountedAs | null
}
type CountedAs = 'connected' | 'abandoned' | 'rang' | 'early'

/** A row of an account, for a report. */
export interface CampaignCount extends AbandonmentCount {
  readonly accountId: string
  readonly campaign: string
}

export class Abandonment implements AbandonmentReports {
  readonly #options: AbandonmentOptions
  readonly #cache: TtlCache<AbandonmentCounts>

  constructor(options: AbandonmentOptions) {
    this.#options = options
    this.#cache = new TtlCache({ ...readCacheLimits, timers: options.timers })
  }

  /** Of the periods that have not ended, as they were at most a second ago. */
  read(accountId: string): MaybePromise<AbandonmentCounts> {
    return this.#cache.get(accountId) ?? this.#read(accountId)
  }

  async #read(accountId: string): Promise<AbandonmentCounts> {
    const counts = await this.#cache.fetch(accountId, async () => {
      const rows = await this.list({ accountId, after: this.#options.clock.now() })
      const byCampaign = new Map<string, CampaignCount[]>()
      for (const row of rows) {
        if (row.answered === 0) continue
        byCampaign.set(row.campaign, [...(byCampaign.get(row.campaign) ?? []), row])
      }
      return byCampaign
    })
    if (counts === undefined) throw new Error('the abandoned calls could not be read')
    return counts
  }

  /** Of periods that end after an instant; by account, campaign and law, the newest period first. */
  async list({
    accountId,
    after,
  }: {
    readonly accountId?: string | undefined
    readonly after: Instant
  }): Promise<readonly CampaignCount[]> {
    const rows = await this.#options.storage.reads
      .selectFrom('abandonment_counts')
      .selectAll()
      .where('period_end', '>', after)
      .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
      .orderBy('account_id')
      .orderBy('campaign')
      .orderBy('rule')
      .orderBy('period_start', 'desc')
      .execute()
    return rows.map(({ account_id, period_start, period_end, disconnected_early, ...row }) => {
      const period = { from: period_start, until: period_end }
      return { ...row, accountId: account_id, ...period, disconnectedEarly: disconnected_early }
    })
  }

  async count(
    call: CampaignCall,
    report: AnswerReport,
    limits: readonly AbandonmentLimit[],
  ): Promise<void> {
    const { storage, clock } = this.#options
    if (storage.traits.isCopy || limits.length === 0) return
    if (call.at < clock.now() - maxReportAgeMs) return
    await storage.retryWhileLocked(() =>
      storage.db.transaction().execute(async (db) => {
        const known = await lockCall(db, call)
        const row = merge(known, report)
        const all = { call, limits, traits: storage.traits }
        const [answers, rings] = [parseCounted(known.counted), parseCounted(known.rang)]
        const { ring } = report
        const counted =
          ring === undefined
            ? await recountAll(db, { ...all, before: answers, judge: (by) => judge(call, row, by) })
            : answers
        // Of a call that was answered after all, such as on a second leg, none counts.
        const rang = await recountAll(db, {
          ...all,
          before: rings,
          judge: (by) => judgeRing(ring, by),
        })
        await db
          .updateTable('answered_calls')
          .set({ ...row, counted: JSON.stringify(counted), rang: JSON.stringify(rang) })
          .where('decision_id', '=', call.decisionId)
          .execute()
      }),
    )
  }

  /**
   * Forgets how each call was counted once no report can change it. The counts stay, as evidence. Returns whether there may be
   * more to forget.
   */
  async deleteOld(now: Instant): Promise<boolean> {
    const { db } = this.#options.storage
    const newest = await db
      .selectFrom('answered_calls')
      .select((row) => row.fn.max('at').as('at'))
      .executeTakeFirst()
    // A clock that is ahead does not make those forgotten that are still counted.
    const before = Math.min(now, Number(newest?.at ?? 0)) - keptMs
    return deleteOldRows(db, 'answered_calls', { key: ['decision_id'], at: 'at', before })
  }
}

/** As it is known, and not changed by another report meanwhile; begins with a write, as SQLite needs it. */
async function lockCall(db: Db, { decisionId, at }: CampaignCall): Promise<AnsweredCallRow> {
  return await db
    .insertInto('answered_calls')
    .values({ decision_id: decisionId, at, counted: '[]', rang: '[]' })
    .onConflict((conflict) =>
      conflict.column('decision_id').doUpdateSet((row) => ({ at: row.ref('answered_calls.at') })),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

function merge(known: AnsweredCallRow, report: AnswerReport) {
  return {
    answered_by: report.answeredBy ?? known.answered_by,
    answered_at: report.answeredAt ?? known.answered_at,
    greeting_ended_at: report.greetingEndedAt ?? known.greeting_ended_at,
    connected_at: report.connectedAt ?? known.connected_at,
  }
}

/**
 * `null` if the call is not counted: a machine answered, or it is a call of an AI of which no such times are known. Who it was that
 * answered need not be known: somebody who is spoken to in time is taken for a person, and otherwise the call for abandoned.
 */
function judge(
  { callKind }: CampaignCall,
  { answered_by, answered_at, greeting_ended_at, connected_at }: ReturnType<typeof merge>,
  { connectWithinMs }: AbandonmentLimit,
): CountedAs | null {
  if (answered_by === 'machine') return null
  if (callKind === 'ai' && greeting_ended_at === null && connected_at === null) return null
  const greeted = greeting_ended_at ?? answered_at
  if (connected_at === null || greeted === null) return 'abandoned'
  return connected_at - greeted <= connectWithinMs ? 'connected' : 'abandoned'
}

function judgeRing(ring: AnswerReport['ring'], { ringMs }: AbandonmentLimit): CountedAs | null {
  if (ring === undefined || ring === 'none' || ringMs === undefined) return null
  return ring.isEndedByCaller && ring.ringMs < ringMs ? 'early' : 'rang'
}

const parseCounted = (text: string): readonly Counted[] => JSON.parse(text)

type Period = Pick<Counted, 'rule' | 'from' | 'until'>

/** In which the law counts the call. A call that is older than the first one that was counted is of the first period. */
async function findPeriod(
  db: Db,
  call: CampaignCall,
  { id: rule, period }: AbandonmentLimit,
  { isShared }: OpenDatabase['traits'],
): Promise<Period> {
  if ('monthIn' in period) return { rule, ...findMonth(period.monthIn, call.at) }
  let start = await readStart(db, call, rule)
  if (start === undefined && isShared) {
    // Of two first calls at the same time, one begins the campaign.
    const name = `abandonment ${call.accountId} ${call.campaign} ${rule}`
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db)
    start = await readStart(db, call, rule)
  }
  if (start === undefined) start = call.at
  const ms = period.days * msPerDay
  const from = start + Math.max(0, Math.floor((call.at - start) / ms)) * ms
  return { rule, from, until: from + ms }
}

/** When the first period began. */
async function readStart(
  db: Db,
  { accountId, campaign }: CampaignCall,
  rule: string,
): Promise<Instant | undefined> {
  const first = await db
    .selectFrom('abandonment_counts')
    .select('period_start')
    .where('account_id', '=', accountId)
    .where('campaign', '=', campaign)
    .where('rule', '=', rule)
    .orderBy('period_start')
    .limit(1)
    .executeTakeFirst()
  return first?.period_start
}

function findMonth(zone: string, at: Instant): Pick<Period, 'from' | 'until'> {
  const { year, month } = toCalendarDate(toLocalTime(zone, at).day)
  const first = toLocalDay(year, month, 1) ?? 0
  return {
    from: toInstant(zone, first, 0, 'earlier'),
    until: toInstant(zone, addMonths(first, 1), 0, 'earlier'),
  }
}

interface Recount {
  readonly call: CampaignCall
  readonly limit: AbandonmentLimit
  readonly before: Counted | undefined
  readonly as: CountedAs | null
}

/** How the call counts now by each of the laws. */
async function recountAll(
  db: Db,
  {
    call,
    limits,
    before,
    judge: judgeBy,
    traits,
  }: {
    readonly call: CampaignCall
    readonly limits: readonly AbandonmentLimit[]
    readonly before: readonly Counted[]
    readonly judge: (limit: AbandonmentLimit) => CountedAs | null
    readonly traits: OpenDatabase['traits']
  },
): Promise<readonly Counted[]> {
  // Rules that are no longer in force keep what they counted.
  const counted = before.filter(({ rule }) => !limits.some(({ id }) => id === rule))
  for (const limit of limits) {
    const one = before.find(({ rule }) => rule === limit.id)
    const next = await recount(db, { call, limit, before: one, as: judgeBy(limit) }, traits)
    if (next) counted.push(next)
  }
  return counted
}

/** How the call counts now; the counts change only if that is not as before. A call keeps its period. */
async function recount(
  db: Db,
  { call, limit, before, as }: Recount,
  traits: OpenDatabase['traits'],
): Promise<Counted | undefined> {
  if (as === (before?.as ?? null)) return before
  const now = { ...(before ?? (await findPeriod(db, call, limit, traits))), as }
  await change(db, { call, limit, before, now })
  return now
}

async function change(
  db: Db,
  {
    call: { accountId, campaign },
    limit,
    before,
    now,
  }: Omit<Recount, 'as'> & { readonly now: Counted },
): Promise<void> {
  const weigh = (as: CountedAs | null | undefined) => {
    return {
      answered: as === 'connected' || as === 'abandoned' ? 1 : 0,
      abandoned: as === 'abandoned' ? 1 : 0,
      unanswered: as === 'rang' || as === 'early' ? 1 : 0,
      early: as === 'early' ? 1 : 0,
    }
  }
  const [old, next] = [weigh(before?.as), weigh(now.as)]
  const answered = next.answered - old.answered
  const abandoned = next.abandoned - old.abandoned
  const unanswered = next.unanswered - old.unanswered
  const early = next.early - old.early
  const { rule, from, until } = now
  const counts = await db
    .insertInto('abandonment_counts')
    .values({
      ...{ account_id: accountId, campaign, rule, answered, abandoned },
      ...{ unanswered, disconnected_early: early },
      ...{ period_start: from, period_end: until },
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'campaign', 'rule', 'period_start']).doUpdateSet({
        answered: sql<number>`abandonment_counts.answered + ${answered}`,
        abandoned: sql<number>`abandonment_counts.abandoned + ${abandoned}`,
        unanswered: sql<number>`abandonment_counts.unanswered + ${unanswered}`,
        disconnected_early: sql<number>`abandonment_counts.disconnected_early + ${early}`,
      }),
    )
    .returning(['answered', 'abandoned'])
    .executeTakeFirstOrThrow()
  const earlier = {
    answered: counts.answered - answered,
    abandoned: counts.abandoned - abandoned,
  }
  if ((judgeAbandoned(limit, counts) === 'over') === (judgeAbandoned(limit, earlier) === 'over'))
    return
  // Edges copy the account, and with it the counts, when a row of it was written.
  const account = db.updateTable('accounts').set((row) => ({ name: row.ref('name') }))
  await account.where('id', '=', accountId).execute()
}
