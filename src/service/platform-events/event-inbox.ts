/**
 * The events of voice platforms: each is on disk before it is read, is joined to its call, and then counts as what became of the call
 * and as the opt-out of the person. All of it may be done again, by any server, without another effect.
 */
import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { OptOutReport } from '../../domain/consent-records.js'
import type { OptOutReader, ReadWords } from '../../domain/opt-out-words.js'
import { parseDialString } from '../../domain/phone-number.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import type { CallEvent, PlatformName } from '../../platform-events/call-event.js'
import type { EventText, ReadEvent } from '../../platform-events/read-event.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import type { Db, Tables } from '../../storage/tables.js'
import { refuseAtEdge, runAccountTransaction } from '../sql/account-transaction.js'
import {
  type DueCall,
  joinCall,
  listDueCalls,
  noteOnCall,
  type Place,
  type PlatformCall,
} from './platform-calls.js'
import { endUnjoined, insertUnclear, touchAccount, type UnclearOptOut } from './unclear-opt-outs.js'

/** The proxy that sent something. */
export interface Sender {
  readonly accountId: string
  readonly keyId: string
}

/** What only the thread that decides can do. */
export interface CallPort {
  /** The number of a decision of the account; `undefined` if it is not known here. */
  findCalledNumber(call: {
    readonly accountId: string
    readonly decisionId: string
  }): Promise<string | undefined>
  /** False if the decision is not known here yet. */
  noteOutcome(
    report: Sender & { readonly decisionId: string; readonly outcome: Partial<CallOutcome> },
  ): Promise<boolean>
  /** Resolves when it is on disk and in force. */
  recordOptOut(report: Sender & { readonly report: OptOutReport }): Promise<void>
  /** What is held may have changed. */
  forgetHeldNumbers(account: { readonly accountId: string }): void
  reportPlatformEvent(event: {
    readonly platform: string
    readonly result: EventResult
    readonly cause?: string | undefined
  }): void
}

export const eventResults = ['stored', 'opt-out', 'unclear', 'unreadable', 'failed'] as const
export type EventResult = (typeof eventResults)[number]

export interface EventInboxDeps {
  readonly storage: ThreadDatabase
  readonly clock: Pick<Clock, 'now'>
  readonly readEvent: ReadEvent
  readonly readOptOut: OptOutReader
  readonly port: CallPort
}

export interface NewEvent extends EventText {
  readonly platform: PlatformName
  readonly receivedAt: Instant
  readonly delivery?: 'fetched' | 'late' | undefined
}

export interface RegisteredCall {
  readonly decisionId: string
  readonly number: string
  readonly callIds: readonly string[]
  readonly fetchedAt?: Instant | undefined
}

type StoredEvent = Selectable<Tables['platform_events']>
type EventPart = Selectable<Tables['platform_event_parts']>

const maxSaidLength = 500
/** Of a text that nothing can read, which may be anything. */
const maxUnreadLength = 100_000
/** A call that a mapping can still be found for. */
const maxWaitMs = msPerDay
const maxRetried = 100

export class EventInbox {
  readonly #deps: EventInboxDeps

  constructor(deps: EventInboxDeps) {
    this.#deps = deps
  }

  /** Resolves when the calls are on disk. What was heard in them before is worked on then. */
  async registerCalls(
    sender: Sender,
    platform: PlatformName,
    calls: readonly RegisteredCall[],
  ): Promise<void> {
    const { storage, clock, port } = this.#deps
    const place = { accountId: sender.accountId, platform }
    const now = clock.now()
    const isUnjoined = await runAccountTransaction(storage, sender.accountId, async (db) => {
      for (const { decisionId, number, callIds, fetchedAt } of calls) {
        const call = await joinCall(db, place, {
          ...{ decisionId, callIds, at: now },
          number: parseNumber(number),
          fallbackId: decisionId,
          canBeByNumber: false,
        })
        await wakeParts(db, call)
        await noteOnCall(db, place, call.id, {
          registered_at: fetchedAt === undefined ? now : undefined,
          fetched_at: fetchedAt,
        })
      }
      const unjoined = await db
        .selectFrom('unclear_opt_outs')
        .select('id')
        .where('account_id', '=', sender.accountId)
        .where('resolved_at', 'is', null)
        .where('kind', 'in', ['unjoined', 'own-number'])
        .limit(1)
        .executeTakeFirst()
      // A call that has an id is no longer held.
      if (unjoined) await touchAccount(db, sender.accountId)
      return unjoined !== undefined
    })
    for (const { decisionId, callIds } of calls) {
      if (callIds.length > 0) await this.#workOnCall(place, decisionId)
    }
    if (isUnjoined) port.forgetHeldNumbers(sender)
  }

  async listDue(accountId: string, platform: PlatformName): Promise<readonly DueCall[]> {
    const { storage, clock } = this.#deps
    return await listDueCalls(storage.db, { accountId, platform }, clock.now())
  }

  async noteReport(
    { accountId }: Sender,
    platform: PlatformName,
    canFetch: boolean | undefined,
  ): Promise<void> {
    const { storage, clock } = this.#deps
    const can_fetch = canFetch === undefined ? null : canFetch ? 1 : 0
    await runAccountTransaction(storage, accountId, async (db) => {
      const row = { can_fetch, reported_at: clock.now() }
      await db
        .insertInto('platform_reports')
        .values({ account_id: accountId, platform, ...row })
        .onConflict((conflict) =>
          conflict
            .columns(['account_id', 'platform'])
            .doUpdateSet(can_fetch === null ? { reported_at: row.reported_at } : row),
        )
        .execute()
    })
  }

  /**
   * Resolves when the event is on disk and was worked on, or when that has failed: it is tried again then, also by the next start.
   * Rejects only if it cannot be stored.
   */
  async add({ accountId, keyId }: Sender, event: NewEvent): Promise<void> {
    const { storage, clock, port } = this.#deps
    refuseAtEdge(storage)
    const { platform, body, query, receivedAt, delivery } = event
    const id = createHash('sha256')
      .update(JSON.stringify([platform, query, body]))
      .digest('hex')
    const now = clock.now()
    await storage.retryWhileLocked(() =>
      storage.db
        .insertInto('platform_events')
        .values({
          account_id: accountId,
          id,
          platform,
          key_id: keyId,
          received_at: Math.min(receivedAt, now),
          stored_at: now,
          delivery: delivery ?? null,
          body: JSON.stringify(body),
          query: JSON.stringify(query),
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    )
    port.reportPlatformEvent({ platform, result: 'stored' })
    await this.#attempt(platform, async () => {
      const stored = await storage.db
        .selectFrom('platform_events')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('id', '=', id)
        .executeTakeFirst()
      if (stored) await this.#readStored(stored)
    })
  }

  /** Works on what a server that ended has left, and on what has failed. Returns whether there may be more of it. */
  async retry(): Promise<boolean> {
    const { storage, clock } = this.#deps
    const since = clock.now() - maxWaitMs
    const unread = await storage.db
      .selectFrom('platform_events')
      .select(['account_id', 'id', 'platform'])
      .where('read_at', 'is', null)
      .orderBy('stored_at')
      .limit(maxRetried)
      .execute()
    for (const { account_id, id, platform } of unread) {
      await this.#attempt(platform, async () => {
        const event = storage.db.selectFrom('platform_events').selectAll()
        const stored = await event
          .where('account_id', '=', account_id)
          .where('id', '=', id)
          .executeTakeFirst()
        if (stored) await this.#readStored(stored)
      })
    }
    const parts = await storage.db
      .selectFrom('platform_event_parts')
      .selectAll()
      .where('state', '=', 'new')
      .orderBy('stored_at')
      .limit(maxRetried)
      .execute()
    for (const part of parts) {
      const isDone = await this.#attempt(part.platform, () => this.#workOn(part))
      if (!isDone && part.stored_at < since) await this.#setState(part, 'done')
    }
    await storage.db
      .updateTable('platform_event_parts')
      .set({ state: 'done' })
      .where('state', '=', 'waiting')
      .where('stored_at', '<', since)
      .execute()
    return unread.length === maxRetried
  }

  async #attempt(platform: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (cause) {
      this.#deps.port.reportPlatformEvent({ platform, result: 'failed', cause: String(cause) })
      return false
    }
  }

  async #readStored(stored: StoredEvent): Promise<void> {
    const { storage, clock, readEvent, port } = this.#deps
    const { account_id, id: event_id, received_at, stored_at, delivery } = stored
    const platform = stored.platform as PlatformName
    if (stored.read_at === null) {
      const body: string = JSON.parse(stored.body)
      const query: string = JSON.parse(stored.query)
      const events = readEvent(platform, { body, query })
      if (events.some(({ type }) => type === 'unreadable')) {
        port.reportPlatformEvent({ platform, result: 'unreadable' })
      }
      await runAccountTransaction(storage, account_id, async (db) => {
        for (const [part, event] of events.entries()) {
          const content = event.type === 'unreadable' ? asSummary(event, body) : asDelivered(event, delivery)
          await db
            .insertInto('platform_event_parts')
            .values({
              ...{ account_id, event_id, part, platform, received_at, stored_at },
              state: 'new',
              is_whole: event.isWholeTranscript ? 1 : 0,
              content: toStoredJson(content),
            })
            .onConflict((conflict) => conflict.doNothing())
            .execute()
        }
        await db
          .updateTable('platform_events')
          .set({ read_at: clock.now() })
          .where('account_id', '=', account_id)
          .where('id', '=', event_id)
          .execute()
      })
    }
    const parts = await storage.db
      .selectFrom('platform_event_parts')
      .selectAll()
      .where('account_id', '=', account_id)
      .where('event_id', '=', event_id)
      .where('state', '!=', 'done')
      .orderBy('part')
      .execute()
    for (const part of parts) await this.#workOn(part)
  }

  /** What waits until somebody knows whose call it was. */
  async #workOnCall({ accountId, platform }: Place, call: string): Promise<void> {
    const waiting = await this.#deps.storage.db
      .selectFrom('platform_event_parts')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('platform', '=', platform)
      .where('call', '=', call)
      .where('state', '=', 'new')
      .orderBy('received_at')
      .orderBy('stored_at')
      .execute()
    for (const part of waiting) {
      await this.#attempt(platform, async () => void (await this.#workOnOne(part)))
    }
  }

  async #workOn(part: EventPart): Promise<void> {
    const call = await this.#workOnOne(part)
    if (call?.decision_id || call?.number) {
      const { accountId, platform } = placeOf(part)
      await this.#workOnCall({ accountId, platform }, call.id)
    }
  }

  async #workOnOne(part: EventPart): Promise<PlatformCall | undefined> {
    const event: CallEvent = JSON.parse(part.content)
    if (event.isOtherLeg) {
      await this.#setState(part, 'done')
      return undefined
    }
    const { port } = this.#deps
    const place = placeOf(part)
    const decision = await this.#findDecision(place, event)
    const { call, verdict } = await this.#join(part, event, decision)
    if (verdict.unclear) {
      port.reportPlatformEvent({ platform: place.platform, result: 'unclear' })
      port.forgetHeldNumbers(place)
    }
    const isNoted = await this.#act(part, event, { call, verdict })
    await this.#end(part, event, { call, verdict, isNoted })
    return call
  }

  async #join(
    part: EventPart,
    event: CallEvent,
    decision: KnownDecision | undefined,
  ): Promise<{ readonly call: PlatformCall; readonly verdict: Verdict }> {
    const place = placeOf(part)
    const { accountId } = place
    const person = parseNumber(event.person)
    const ofDecision = event.direction === 'inbound' ? undefined : decision
    return await runAccountTransaction(this.#deps.storage, accountId, async (db) => {
      const isOwn =
        person !== undefined &&
        (person === parseNumber(event.own) || (await isOwnNumber(db, accountId, person)))
      const call = await joinCall(db, place, {
        decisionId: ofDecision?.id,
        number: ofDecision ? ofDecision.number : isOwn ? undefined : person,
        callIds: [...new Set(event.callIds)],
        fallbackId: `event-${part.event_id}-${part.part}`,
        canBeByNumber: event.direction !== 'inbound' && event.kind === 'call',
        at: part.stored_at,
      })
      await db
        .updateTable('platform_event_parts')
        .set({ call: call.id })
        .where('account_id', '=', accountId)
        .where('event_id', '=', part.event_id)
        .where('part', '=', part.part)
        .execute()
      if (call.decision_id !== null || (await isUnjoined(db, call))) await wakeParts(db, call)
      const isPersonOwn =
        call.number === null ? isOwn : await isOwnNumber(db, accountId, call.number)
      const heard = await this.#readWords(db, { ...part, call: call.id }, event)
      const verdict = judge(heard, { call, isPersonOwn })
      await noteHeard(db, { part, event, call, verdict })
      return { call, verdict }
    })
  }

  /** False if what became of the call is to be noted later. The opt-out is first, since it must not be lost. */
  async #act(
    part: EventPart,
    event: CallEvent,
    { call, verdict }: { readonly call: PlatformCall; readonly verdict: Verdict },
  ): Promise<boolean> {
    const { port, clock } = this.#deps
    const sender = { accountId: part.account_id, keyId: await this.#findKey(part) }
    const { decision_id: decisionId, number } = call
    if (verdict.optOut && number !== null && call.opted_out_at === null) {
      await port.recordOptOut({
        ...sender,
        report: {
          ...{ number, scope: 'everything', ...verdict.optOut },
          ...(decisionId !== null && { decisionId }),
          reference: event.callIds[0]?.slice(0, 200) ?? call.id,
          receivedAt: Math.min(part.received_at, clock.now()),
        },
      })
      port.reportPlatformEvent({ platform: part.platform, result: 'opt-out' })
    }
    const outcome = decisionId === null ? undefined : toOutcome(event)
    if (outcome === undefined || decisionId === null) return true
    return await port.noteOutcome({ ...sender, decisionId, outcome })
  }

  async #end(
    part: EventPart,
    { direction }: CallEvent,
    { call, verdict, isNoted }: WorkedOn,
  ): Promise<void> {
    const { storage, clock, port } = this.#deps
    const { accountId, platform } = placeOf(part)
    const isKnown = call.number !== null && !verdict.isOwn
    const isJoined = call.decision_id !== null || (isKnown && direction === 'inbound')
    await runAccountTransaction(storage, accountId, async (db) => {
      if (verdict.optOut) {
        await noteOnCall(db, { accountId, platform }, call.id, { opted_out_at: clock.now() })
      }
      await this.#setState(part, !isNoted ? 'new' : isJoined ? 'done' : 'waiting', db)
      // Another part may have the words, and their opt-out must be on disk first.
      if (isKnown && !(await hasNewParts(db, call))) await endUnjoined(db, call, clock.now())
    })
    if (isKnown) port.forgetHeldNumbers({ accountId })
  }

  /** That the event names, if it is one of the account. */
  async #findDecision(
    place: Place,
    { decisionId: id }: CallEvent,
  ): Promise<KnownDecision | undefined> {
    if (id === undefined) return undefined
    const { storage, port } = this.#deps
    const registered = await storage.db
      .selectFrom('platform_calls')
      .select('number')
      .where('account_id', '=', place.accountId)
      .where('platform', '=', place.platform)
      .where('id', '=', id)
      .where('decision_id', 'is not', null)
      .executeTakeFirst()
    if (registered) return { id, number: registered.number ?? undefined }
    const number = await port.findCalledNumber({ accountId: place.accountId, decisionId: id })
    return number === undefined ? undefined : { id, number: parseNumber(number) }
  }

  /** What is in the event by itself, and in the words of the call up to now. */
  async #readWords(db: Db, part: EventPart, event: CallEvent): Promise<Heard> {
    const { readOptOut } = this.#deps
    const events = event.kind === 'text' ? [event] : await readLatest(db, part)
    const read = (speaker: 'person' | 'unknown') => {
      const [own = '', all = ''] = [[event], events].map((some) => joinWords(some, speaker))
      const found = readOptOut(own)
      return found.reading === 'stop' || own === all ? found : strongest(found, readOptOut(all))
    }
    return {
      event,
      person: read('person'),
      unknown: read('unknown'),
      summary: readOptOut(event.summary ?? ''),
    }
  }

  async #findKey({ account_id, event_id }: EventPart): Promise<string> {
    const event = await this.#deps.storage.db
      .selectFrom('platform_events')
      .select('key_id')
      .where('account_id', '=', account_id)
      .where('id', '=', event_id)
      .executeTakeFirst()
    return event?.key_id ?? ''
  }

  async #setState(
    { account_id, event_id, part }: EventPart,
    state: EventPart['state'],
    db: Db = this.#deps.storage.db,
  ): Promise<void> {
    await db
      .updateTable('platform_event_parts')
      .set({ state })
      .where('account_id', '=', account_id)
      .where('event_id', '=', event_id)
      .where('part', '=', part)
      .execute()
  }
}

const placeOf = ({ account_id, platform }: EventPart): Place => ({
  accountId: account_id,
  platform,
})

interface KnownDecision {
  readonly id: string
  readonly number: string | undefined
}

interface WorkedOn {
  readonly call: PlatformCall
  readonly verdict: Verdict
  readonly isNoted: boolean
}

interface Heard {
  readonly event: CallEvent
  readonly person: ReadWords
  /** Of words that nobody is named for. */
  readonly unknown: ReadWords
  readonly summary: ReadWords
}

interface Verdict {
  readonly optOut?: Pick<OptOutReport, 'said' | 'source' | 'channel'> | undefined
  readonly unclear?: Pick<UnclearOptOut, 'kind' | 'said'> | undefined
  readonly isOwn: boolean
}

async function noteHeard(
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
  await noteOnCall(db, placeOf(part), call.id, {
    answered_at: isEvidenceOfAnswer(event) ? received_at : undefined,
    ended_at: isEnd ? received_at : undefined,
    heard_at: hasWords(event) ? received_at : undefined,
  })
}

/** What is heard of a person whom nobody knows, or who would be ourselves, is unclear. */
function judge(
  heard: Heard,
  { call, isPersonOwn: isOwn }: { readonly call: PlatformCall; readonly isPersonOwn: boolean },
): Verdict {
  const { event, person, unknown, summary } = heard
  const { optOut: explicit } = event
  const isStop = explicit !== undefined || person.reading === 'stop'
  const isKnown = call.number !== null && !isOwn
  if (isStop && isKnown) return { optOut: toStatement(heard), isOwn }
  const mayBeStop = isStop || unknown.reading === 'stop' || summary.reading === 'stop'
  const found = [
    [isStop || person.reading === 'unclear', 'words', explicit?.said ?? person.words],
    [unknown.reading !== 'none', 'speaker', unknown.words],
    [summary.reading !== 'none', 'summary', summary.words],
  ] as const
  const [, kind, said] = found.find(([isFound]) => isFound) ?? []
  // Of a person who has opted out, nothing remains to be cleared up.
  if (kind === undefined || (isKnown && call.opted_out_at !== null)) return { isOwn }
  const unjoined = isOwn ? 'own-number' : 'unjoined'
  return {
    unclear: { kind: !isKnown && mayBeStop ? unjoined : kind, said: limit(said) ?? null },
    isOwn,
  }
}

function toStatement({ event, person }: Heard): Verdict['optOut'] {
  const { optOut: explicit, kind } = event
  const said = limit(explicit?.said ?? person.words)
  if (kind === 'text') return { said, source: 'text', channel: 'text' }
  if (explicit === undefined) return { said, source: 'transcript', channel: 'call-voice' }
  const channel =
    explicit.by === 'key' ? 'call-key' : explicit.by === 'text' ? 'text' : 'call-voice'
  return { said, source: explicit.by, channel }
}

const limit = (said: string | undefined) => said?.trim().slice(0, maxSaidLength) || undefined

const strength = { none: 0, unclear: 1, stop: 2 } as const
const strongest = (one: ReadWords, other: ReadWords) =>
  strength[other.reading] > strength[one.reading] ? other : one

/** What one speaker has said, in one text, since people pause in the middle of a sentence. */
const joinWords = (events: readonly CallEvent[], speaker: 'person' | 'unknown') =>
  events
    .flatMap(({ utterances }) => utterances)
    .filter((one) => one.speaker === speaker)
    .map(({ text }) => text)
    .join(' ')

/** Of a call, from the latest event on that has all of its words. */
async function readLatest(db: Db, part: EventPart): Promise<readonly CallEvent[]> {
  const parts = await db
    .selectFrom('platform_event_parts')
    .select(['content', 'is_whole'])
    .where('account_id', '=', part.account_id)
    .where('platform', '=', part.platform)
    .where('call', '=', part.call)
    .where(({ eb }) =>
      eb('received_at', '>=', (query) =>
        query
          .selectFrom('platform_event_parts as whole')
          .select(({ fn, lit }) => fn.coalesce(fn.max('whole.received_at'), lit(0)).as('at'))
          .where('whole.account_id', '=', part.account_id)
          .where('whole.platform', '=', part.platform)
          .where('whole.call', '=', part.call)
          .where('whole.is_whole', '=', 1),
      ),
    )
    .orderBy('received_at')
    .orderBy('stored_at')
    .orderBy('event_id')
    .orderBy('part')
    .execute()
  const last = parts.findLastIndex(({ is_whole }) => is_whole === 1)
  return parts
    .slice(Math.max(0, last))
    .map(({ content }): CallEvent => JSON.parse(content))
    .filter(({ kind, isOtherLeg }) => kind === 'call' && !isOtherLeg)
}

async function isOwnNumber(db: Db, accountId: string, number: string): Promise<boolean> {
  const own = await db
    .selectFrom('caller_ids')
    .select('number')
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .limit(1)
    .executeTakeFirst()
  return own !== undefined
}

const ofCall = ({ account_id, platform, id }: PlatformCall) => ({
  account_id,
  platform,
  call: id,
})

/** What waited for its call is worked on, also if this server ends now. */
async function wakeParts(db: Db, call: PlatformCall): Promise<void> {
  await db
    .updateTable('platform_event_parts')
    .set({ state: 'new' })
    .where(({ and }) => and(ofCall(call)))
    .where('state', '=', 'waiting')
    .execute()
}

async function hasNewParts(db: Db, call: PlatformCall): Promise<boolean> {
  const part = await db
    .selectFrom('platform_event_parts')
    .select('part')
    .where(({ and }) => and(ofCall(call)))
    .where('state', '=', 'new')
    .limit(1)
    .executeTakeFirst()
  return part !== undefined
}

async function isUnjoined(db: Db, call: PlatformCall): Promise<boolean> {
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

/** Whose call it was may be known only later. */
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

const hasWords = ({ utterances, optOut }: CallEvent) =>
  optOut?.by === 'key' ||
  utterances.some(({ speaker, text }) => speaker === 'person' && text.trim() !== '')

/** Somebody who speaks or presses a key has answered, whatever else is said of the call. */
const isEvidenceOfAnswer = (event: CallEvent) =>
  event.kind === 'call' && (event.outcome?.state === 'answered' || hasWords(event))

function toOutcome(event: CallEvent): Partial<CallOutcome> | undefined {
  if (event.kind !== 'call' || event.direction === 'inbound') return undefined
  const { outcome, callIds } = event
  if (outcome === undefined && !hasWords(event)) return undefined
  return {
    ...outcome,
    state: isEvidenceOfAnswer(event) ? 'answered' : (outcome?.state ?? 'dialled'),
    leg: callIds[0]?.slice(0, 100),
    dialStatus: outcome?.dialStatus?.slice(0, 100),
  }
}

/** A late event may be repeated by a stranger, so it may end calls, but not report one as unanswered. */
const asDelivered = (event: CallEvent, delivery: string | null): CallEvent =>
  delivery === 'late' && event.outcome?.state !== 'answered'
    ? { ...event, outcome: undefined, isEnd: undefined }
    : event

/** What cannot be read may have the words of an opt-out all the same. */
const asSummary = (event: CallEvent, body: string): CallEvent => ({
  ...event,
  summary: body.slice(0, maxUnreadLength),
})

const maxIds = 20
const maxIdLength = 300
const maxDecisionIdLength = 64

/** With ids as they can be in an index. PostgreSQL stores no character 0. */
function toStoredJson(event: CallEvent): string {
  const { decisionId = '', callIds } = event
  const stored: CallEvent = {
    ...event,
    decisionId: decisionId.length <= maxDecisionIdLength ? event.decisionId : undefined,
    callIds: callIds.filter((id) => id !== '' && id.length <= maxIdLength).slice(0, maxIds),
  }
  return JSON.stringify(stored, (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('\0', ' ') : value,
  )
}

function parseNumber(text: string | undefined): string | undefined {
  const parsed = parseDialString(text ?? '')
  return parsed.kind === 'nanp' ? parsed.number : undefined
}
