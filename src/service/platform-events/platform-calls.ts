/** Finds the call that an event of a platform is about. Each call has one row, and its ids at the platform. */
import { type Selectable, sql } from 'kysely'
import { parseDialString } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay, msPerHour, msPerMinute } from '../../domain/time/dates.js'
import type { CallEvent } from '../../platform-events/call-event.js'
import type { Db, Tables } from '../../storage/tables.js'

export interface Place {
  readonly accountId: string
  readonly platform: string
}

export type PlatformCall = Selectable<Tables['platform_calls']>

/** What is known of a call. */
export interface CallIdentity {
  /** Of the account. */
  readonly decisionId?: string | undefined
  /** Ten digits of the person called, of the decision if there is one. */
  readonly number?: string | undefined
  /** The most specific first. */
  readonly callIds: readonly string[]
  /** Shared by all legs of the call. */
  readonly sessionId?: string | undefined
  /** Whether it is known to be the leg of a person who called us. */
  readonly isToUs?: boolean
  /** Of a call that has no id at all. */
  readonly fallbackId: string
  /** Whether it may be the latest call to the number that was allowed. */
  readonly canBeByNumber: boolean
  readonly at: Instant
}

const maxCallMs = 4 * msPerHour
/** Tolerance for differences between clocks. */
const toleranceMs = msPerMinute

/**
 * Finds or creates the row of a call, and stores its ids. Must run in a transaction that locks the account. Merges two rows when
 * something names the ids of both, but never a call of one decision into a call of another.
 */
export async function joinCall(db: Db, place: Place, call: CallIdentity): Promise<PlatformCall> {
  const { decisionId, callIds, at } = call
  const known = await findByIds(db, place, callIds)
  const id =
    decisionId ??
    known.find((one) => one.decision_id !== null)?.id ??
    (await findByNumber(db, place, call))?.id ??
    known[0]?.id ??
    callIds[0] ??
    call.fallbackId
  await db
    .insertInto('platform_calls')
    .values({
      ...toColumns(place),
      id,
      decision_id: decisionId ?? null,
      number: call.number ?? null,
      changed_at: at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  for (const other of known) {
    if (other.id !== id && other.decision_id === null) await mergeInto(db, place, { other, id })
  }
  for (const callId of callIds) await learnId(db, place, { callId, id })
  const joined = await db
    .updateTable('platform_calls')
    .set({
      changed_at: at,
      number: sql<string | null>`coalesce(number, ${call.number ?? null})`,
      ...(callIds.length > 0 && { has_call_id: 1 }),
    })
    .where('account_id', '=', place.accountId)
    .where('platform', '=', place.platform)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  const { sessionId, isToUs = false } = call
  if (sessionId !== undefined && (isToUs || joined.decision_id !== null)) {
    await learnId(db, place, { callId: sessionId, id })
  }
  return joined
}

async function learnId(
  db: Db,
  place: Place,
  { callId, id }: { readonly callId: string; readonly id: string },
): Promise<void> {
  await db
    .insertInto('platform_call_ids')
    .values({ ...toColumns(place), call_id: callId, call: id })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

const toColumns = ({ accountId, platform }: Place) => ({ account_id: accountId, platform })

/**
 * Whether the event is about another leg of the call's session, such as one to the target of a transfer. Numbers that one request
 * dials may share a session, but each was allowed.
 */
export async function isOtherLeg(
  db: Db,
  place: Place,
  { sessionId, callIds, person, unassigned }: CallEvent,
  at: Instant,
): Promise<boolean> {
  if (sessionId === undefined || callIds.length === 0) return false
  const [ofSession] = await findByIds(db, place, [sessionId])
  if (!ofSession) return false
  const known = await findByIds(db, place, callIds)
  if (known.some(({ id, decision_id }) => id === ofSession.id || decision_id !== null)) return false
  const number = parseNumber(person ?? unassigned?.to)
  const called = { number, canBeByNumber: true, callIds, at }
  return (await findByNumber(db, place, called)) === undefined
}

/** The person is the called party of an outbound call and the caller of an inbound one, never a caller ID of the account. */
export async function assignPerson(db: Db, place: Place, event: CallEvent): Promise<CallEvent> {
  if (event.direction !== 'unknown' || event.unassigned === undefined) return event
  const { from, to } = event.unassigned
  const numbers = [parseNumber(from), parseNumber(to)] as const
  const known = (await findByIds(db, place, event.callIds)).find((call) => call.number !== null)
  const isPerson = known
    ? numbers.map((number) => number === known.number)
    : await findPerson(db, place, numbers)
  const [isFrom, isTo] = isPerson
  if (isFrom === isTo) return event
  return isTo
    ? { ...event, direction: 'outbound', person: to, own: from }
    : { ...event, direction: 'inbound', person: from, own: to }
}

type Numbers = readonly (string | undefined)[]

async function findPerson(db: Db, place: Place, numbers: Numbers): Promise<readonly boolean[]> {
  const own = await Promise.all(numbers.map((one) => isOwnNumber(db, place.accountId, one)))
  if (own.includes(true)) return own.map((isOwn) => !isOwn)
  return await Promise.all(numbers.map((one) => wasCalled(db, place, one)))
}

export async function isOwnNumber(
  db: Db,
  accountId: string,
  number: string | undefined,
): Promise<boolean> {
  if (number === undefined) return false
  const own = await db
    .selectFrom('caller_ids')
    .select('number')
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .limit(1)
    .executeTakeFirst()
  return own !== undefined
}

async function wasCalled(
  db: Db,
  { accountId, platform }: Place,
  number: string | undefined,
): Promise<boolean> {
  if (number === undefined) return false
  const call = await db
    .selectFrom('platform_calls')
    .select('id')
    .where('account_id', '=', accountId)
    .where('platform', '=', platform)
    .where('number', '=', number)
    .where('registered_at', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return call !== undefined
}

/** Ten digits. */
export function parseNumber(text: string | undefined): string | undefined {
  const parsed = parseDialString(text ?? '')
  return parsed.kind === 'nanp' ? parsed.number : undefined
}

/** In the order of the ids. */
async function findByIds(
  db: Db,
  { accountId, platform }: Place,
  callIds: readonly string[],
): Promise<readonly PlatformCall[]> {
  if (callIds.length === 0) return []
  const rows = await db
    .selectFrom('platform_call_ids as ids')
    .innerJoin('platform_calls as calls', (join) =>
      join
        .onRef('calls.account_id', '=', 'ids.account_id')
        .onRef('calls.platform', '=', 'ids.platform')
        .onRef('calls.id', '=', 'ids.call'),
    )
    .selectAll('calls')
    .select('ids.call_id')
    .where('ids.account_id', '=', accountId)
    .where('ids.platform', '=', platform)
    .where('ids.call_id', 'in', callIds)
    .execute()
  const byId = new Map(rows.map((row) => [row.call_id, row]))
  return [
    ...new Map(callIds.flatMap((id) => byId.get(id) ?? []).map((row) => [row.id, row])).values(),
  ]
}

/** Finds the call to the number that was allowed in the last hours. A call with other ids is a different one; of two, none is chosen. */
async function findByNumber(
  db: Db,
  { accountId, platform }: Place,
  {
    number,
    canBeByNumber,
    callIds,
    at,
  }: Pick<CallIdentity, 'number' | 'canBeByNumber' | 'callIds' | 'at'>,
): Promise<PlatformCall | undefined> {
  if (number === undefined || !canBeByNumber) return undefined
  const [call, ...others] = await db
    .selectFrom('platform_calls')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('platform', '=', platform)
    .where('number', '=', number)
    .where('registered_at', '>=', at - maxCallMs)
    .where('registered_at', '<=', at + toleranceMs)
    .$if(callIds.length > 0, (query) => query.where('has_call_id', '=', 0))
    .limit(2)
    .execute()
  return others.length === 0 ? call : undefined
}

async function mergeInto(
  db: Db,
  { accountId, platform }: Place,
  { other, id }: { readonly other: PlatformCall; readonly id: string },
): Promise<void> {
  for (const table of ['platform_call_ids', 'platform_event_parts', 'unclear_opt_outs'] as const) {
    await db
      .updateTable(table)
      .set({ call: id })
      .where('account_id', '=', accountId)
      .where('platform', '=', platform)
      .where('call', '=', other.id)
      .execute()
  }
  const orElse = (column: 'answered_at' | 'ended_at' | 'heard_at') =>
    sql<number | null>`coalesce(${sql.ref(column)}, ${other[column]})`
  await db
    .updateTable('platform_calls')
    .set({
      has_call_id: sql<number>`case when ${other.has_call_id} = 1 then 1 else has_call_id end`,
      answered_at: orElse('answered_at'),
      ended_at: orElse('ended_at'),
      heard_at: orElse('heard_at'),
      // An opt-out of another number does not count for this one.
      opted_out_at: sql<
        number | null
      >`case when opted_out_at is null and coalesce(number, ${other.number}) = ${other.number}
        then ${other.opted_out_at} else opted_out_at end`,
      number: sql<string | null>`coalesce(number, ${other.number})`,
    })
    .where('account_id', '=', accountId)
    .where('platform', '=', platform)
    .where('id', '=', id)
    .execute()
  await db
    .deleteFrom('platform_calls')
    .where('account_id', '=', accountId)
    .where('platform', '=', platform)
    .where('id', '=', other.id)
    .execute()
}

type CallTime =
  | 'registered_at'
  | 'answered_at'
  | 'ended_at'
  | 'heard_at'
  | 'opted_out_at'
  | 'fetched_at'

/** Stores each time that is not stored yet. */
export async function noteOnCall(
  db: Db,
  { accountId, platform }: Place,
  id: string,
  times: Readonly<Partial<Record<CallTime, Instant | undefined>>>,
): Promise<void> {
  const first = Object.entries(times).flatMap(([column, at]) =>
    at === undefined ? [] : [[column, sql`coalesce(${sql.ref(column)}, ${at})`] as const],
  )
  if (first.length === 0) return
  await db
    .updateTable('platform_calls')
    .set(Object.fromEntries(first))
    .where('account_id', '=', accountId)
    .where('platform', '=', platform)
    .where('id', '=', id)
    .execute()
}

const dueAfterEndMs = 10 * msPerMinute
const dueAfterAllowMs = 2 * msPerHour
const maxDueAgeMs = 7 * msPerDay
const maxDue = 100

export interface DueCall {
  readonly decisionId: string
  readonly number: string
  readonly callIds: readonly string[]
}

/** Lists calls without words, ended calls first and the oldest first. Some platforms find a call without its id, by the decision. */
export async function listDueCalls(
  db: Db,
  { accountId, platform }: Place,
  now: Instant,
): Promise<readonly DueCall[]> {
  const calls = await db
    .selectFrom('platform_calls')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('platform', '=', platform)
    .where('registered_at', '>=', now - maxDueAgeMs)
    .where('decision_id', 'is not', null)
    .where('heard_at', 'is', null)
    .where('fetched_at', 'is', null)
    .where(({ or, eb }) =>
      or([
        eb('ended_at', '<=', now - dueAfterEndMs),
        eb('registered_at', '<=', now - dueAfterAllowMs),
      ]),
    )
    // Those that last, and those that are for later, must not keep out the others.
    .orderBy(sql`case when ended_at is null then 1 else 0 end`)
    .orderBy('registered_at')
    .limit(maxDue)
    .execute()
  const due: DueCall[] = []
  for (const { id, decision_id, number } of calls) {
    const ids = await db
      .selectFrom('platform_call_ids')
      .select('call_id')
      .where('account_id', '=', accountId)
      .where('platform', '=', platform)
      .where('call', '=', id)
      .orderBy('call_id')
      .execute()
    due.push({
      decisionId: decision_id ?? id,
      number: number ?? '',
      callIds: ids.map(({ call_id }) => call_id),
    })
  }
  return due
}
