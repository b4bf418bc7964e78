/** Erases the events of voice platforms, and the calls that they are about. */
import { readHeldNumbers } from '../../storage/platform-events/held-numbers.js'
import type { Db } from '../../storage/tables.js'
import { deletePlatformCall } from './platform-figures.js'

/** Unclear opt-outs that wait for a person stay, without their words. */
interface OfNumber {
  readonly number: string
  /** `undefined` for all accounts. */
  readonly accountId: string | undefined
}

interface Erased {
  readonly what: string
  readonly count: number
  readonly result: 'deleted' | 'reduced' | 'kept'
  readonly why?: string
}

export async function erasePlatformEvents(
  db: Db,
  { number, accountId }: OfNumber,
): Promise<readonly Erased[]> {
  const held = (await readHeldNumbers(db, accountId)).filter((one) => one.number === number)
  const allCalls = await db
    .selectFrom('platform_calls')
    .select(['account_id', 'platform', 'id'])
    .where('number', '=', number)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .execute()
  // Without it, the person who may have opted out could be called again.
  const calls = allCalls.filter(
    ({ account_id, platform }) =>
      !held.some((one) => one.accountId === account_id && one.platform === platform),
  )
  const parts = db
    .selectFrom('platform_event_parts')
    .select(['account_id', 'event_id'])
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
  const events = await parts.where('content', 'like', `%${number}%`).execute()
  for (const { account_id, platform, id } of calls) {
    events.push(
      ...(await parts
        .where('account_id', '=', account_id)
        .where('platform', '=', platform)
        .where('call', '=', id)
        .execute()),
    )
    await deletePlatformCall(db, { account_id, platform, id })
  }
  for (const { account_id, event_id } of events) {
    await db
      .deleteFrom('platform_event_parts')
      .where('account_id', '=', account_id)
      .where('event_id', '=', event_id)
      .execute()
    await db
      .deleteFrom('platform_events')
      .where('account_id', '=', account_id)
      .where('id', '=', event_id)
      .execute()
  }
  const { numDeletedRows } = await db
    .deleteFrom('platform_events')
    .where(({ or, eb }) =>
      or([eb('body', 'like', `%${number}%`), eb('query', 'like', `%${number}%`)]),
    )
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  const ofNumber = { number, accountId }
  const cleared = await deleteClearedUp(db, ofNumber)
  const { numUpdatedRows } = await db
    .updateTable('unclear_opt_outs')
    .set({ said: null })
    .where(({ or, eb }) => or([eb('number', '=', number), eb('said', 'like', `%${number}%`)]))
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  const why =
    'kept without the words until a person confirms or dismisses them: each may be an opt-out'
  const deleted = new Set(events.map((one) => one.event_id)).size + Number(numDeletedRows)
  return [
    { what: 'events of voice platforms', count: deleted, result: 'deleted' },
    { what: 'calls at voice platforms', count: calls.length, result: 'deleted' },
    ...(held.length > 0 ? [toKept(allCalls.length - calls.length)] : []),
    { what: 'resolved unclear opt-outs', count: cleared, result: 'deleted' },
    { what: 'unclear opt-outs', count: Number(numUpdatedRows), result: 'reduced', why },
  ]
}

const toKept = (count: number): Erased => ({
  what: 'calls at voice platforms that may have ended in an opt-out',
  count,
  result: 'kept',
  why: 'so that the number is not called again before a person has confirmed or dismissed the opt-out',
})

async function deleteClearedUp(db: Db, { number, accountId }: OfNumber): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('unclear_opt_outs')
    .where('number', '=', number)
    .where('resolved_at', 'is not', null)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
