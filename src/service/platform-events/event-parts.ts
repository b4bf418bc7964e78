/** The parts of events as they are stored, each about one call. */
import type { Selectable } from 'kysely'
import type { OptOutReader } from '../../domain/consent/opt-out-words.js'
import type { CallEvent } from '../../platform-events/call-event.js'
import type { Db, Tables } from '../../storage/tables.js'
import {
  type Heard,
  hasWords,
  isEvidenceOfAnswer,
  joinWords,
  strongest,
  type Verdict,
} from './heard-words.js'
import { noteOnCall, type PlatformCall } from './platform-calls.js'
import { insertUnclear } from './unclear-opt-outs.js'

export type EventPart = Selectable<Tables['platform_event_parts']>

/** Reads the event alone and together with the words of the call so far. */
export async function readHeard(
  db: Db,
  part: EventPart,
  { event, readOptOut }: { readonly event: CallEvent; readonly readOptOut: OptOutReader },
): Promise<Heard> {
  const isAlone = event.kind === 'text' || event.isInterim
  const texts = [[event], ...(isAlone ? [] : await readTexts(db, part))]
  const read = (speaker: 'person' | 'unknown') =>
    [...new Set(texts.map((events) => joinWords(events, speaker)))]
      .map(readOptOut)
      .reduce(strongest)
  return {
    event,
    person: read('person'),
    unknown: read('unknown'),
    summary: readOptOut(event.summary ?? ''),
  }
}

/** Of the proxy that sent the event. */
export async function findKey(db: Db, { account_id, event_id }: EventPart): Promise<string> {
  const event = await db
    .selectFrom('platform_events')
    .select('key_id')
    .where('account_id', '=', account_id)
    .where('id', '=', event_id)
    .executeTakeFirst()
  return event?.key_id ?? ''
}

/** The possible texts of a call: from its latest whole transcript on, and of the events without whole transcripts. */
async function readTexts(db: Db, part: EventPart): Promise<readonly (readonly CallEvent[])[]> {
  const parts = await db
    .selectFrom('platform_event_parts')
    .select(['content', 'is_whole'])
    .where('account_id', '=', part.account_id)
    .where('platform', '=', part.platform)
    .where('call', '=', part.call)
    .where(({ or, eb }) =>
      or([
        eb('is_whole', '=', 0),
        eb('received_at', '>=', (query) =>
          query
            .selectFrom('platform_event_parts as whole')
            .select(({ fn, lit }) => fn.coalesce(fn.max('whole.received_at'), lit(0)).as('at'))
            .where('whole.account_id', '=', part.account_id)
            .where('whole.platform', '=', part.platform)
            .where('whole.call', '=', part.call)
            .where('whole.is_whole', '=', 1),
        ),
      ]),
    )
    .orderBy('received_at')
    .orderBy('stored_at')
    .orderBy('event_id')
    .orderBy('part')
    .execute()
  const last = parts.findLastIndex(({ is_whole }) => is_whole === 1)
  const texts = last < 1 ? [parts] : [parts.slice(last), parts.filter((one) => one.is_whole === 0)]
  return texts.map((text) =>
    text
      .map(({ content }): CallEvent => JSON.parse(content))
      .filter(({ kind, isInterim }) => kind === 'call' && !isInterim),
  )
}

const ofCall = ({ account_id, platform, id }: PlatformCall) => ({
  account_id,
  platform,
  call: id,
})

/** Marks the parts that waited for this call, so that they are processed even if this server stops now. */
export async function wakeParts(db: Db, call: PlatformCall): Promise<void> {
  await db
    .updateTable('platform_event_parts')
    .set({ state: 'new' })
    .where(({ and }) => and(ofCall(call)))
    .where('state', '=', 'waiting')
    .execute()
}

export async function hasNewParts(db: Db, call: PlatformCall): Promise<boolean> {
  const part = await db
    .selectFrom('platform_event_parts')
    .select('part')
    .where(({ and }) => and(ofCall(call)))
    .where('state', '=', 'new')
    .limit(1)
    .executeTakeFirst()
  return part !== undefined
}

export async function isUnjoined(db: Db, call: PlatformCall): Promise<boolean> {
  if (call.number === null) return false
  const unjoined = await db
    .selectFrom('unclear_opt_outs')
    .select('id')
    .where(({ and }) => and(ofCall(call)))
    .where('kind', 'in', ['unjoined', 'own-number'])
    .where('resolved_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return unjoined !== undefined
}

/** Adds the decision and number to unclear opt-outs of the call, which may be identified only later. */
async function describeUnclear(db: Db, call: PlatformCall): Promise<void> {
  const { decision_id, number } = call
  await db
    .updateTable('unclear_opt_outs')
    .set({ decision_id, number })
    .where(({ and }) => and(ofCall(call)))
    .where('number', 'is', null)
    .where('resolved_at', 'is', null)
    .where('kind', 'not in', ['unjoined', 'own-number'])
    .execute()
}

/** How much is kept of an unreadable event, which may be anything. */
const maxUnreadLength = 100_000

/** Even an unreadable event may contain the words of an opt-out. */
export const asSummary = (event: CallEvent, body: string): CallEvent => ({
  ...event,
  summary: body.slice(0, maxUnreadLength),
})

const maxIds = 20
const maxIdLength = 300
const maxDecisionIdLength = 64

/** Keeps only ids that fit into an index, and replaces the character 0, which PostgreSQL cannot store. */
export function toStoredJson(event: CallEvent): string {
  const { decisionId = '', sessionId = '', callIds } = event
  const stored: CallEvent = {
    ...event,
    decisionId: decisionId.length <= maxDecisionIdLength ? event.decisionId : undefined,
    sessionId: sessionId.length <= maxIdLength ? event.sessionId : undefined,
    callIds: callIds.filter((id) => id !== '' && id.length <= maxIdLength).slice(0, maxIds),
  }
  return JSON.stringify(stored, (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('\0', ' ') : value,
  )
}

/** Stores what an event shows about its call, and an unclear opt-out. */
export async function noteHeard(
  db: Db,
  {
    part,
    event,
    call,
    verdict,
  }: {
    readonly part: EventPart
    readonly event: CallEvent
    readonly call: PlatformCall
    readonly verdict: Verdict
  },
): Promise<void> {
  const { account_id, platform, event_id, received_at, stored_at } = part
  const { decision_id } = call
  const number = verdict.isOwn ? null : call.number
  if (verdict.unclear) {
    await insertUnclear(db, {
      ...{ account_id, platform, event_id, call: call.id, decision_id, number },
      ...verdict.unclear,
      heard_at: stored_at,
    })
  }
  if (number !== null) await describeUnclear(db, call)
  const isEnd = event.isEnd || event.outcome?.state === 'failed'
  await noteOnCall(db, { accountId: account_id, platform }, call.id, {
    answered_at: isEvidenceOfAnswer(event) ? received_at : undefined,
    ended_at: isEnd ? received_at : undefined,
    heard_at: hasWords(event) ? received_at : undefined,
  })
}

export async function setPartState(
  db: Db,
  { account_id, event_id, part }: EventPart,
  state: EventPart['state'],
): Promise<void> {
  await db
    .updateTable('platform_event_parts')
    .set({ state })
    .where('account_id', '=', account_id)
    .where('event_id', '=', event_id)
    .where('part', '=', part)
    .execute()
}
