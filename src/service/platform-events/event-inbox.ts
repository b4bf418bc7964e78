/**
 * Processes the events of voice platforms: stores each event before it reads it, joins it to its call, and takes the outcome of the
 * call and any opt-out from it. Every step can be repeated, by any server, without a second effect.
 */
import { createHash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { OptOutReader } from '../../domain/consent/opt-out-words.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import type { CallEvent, PlatformName } from '../../platform-events/call-event.js'
import type { EventText, ReadEvent } from '../../platform-events/read-event.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import type { Tables } from '../../storage/tables.js'
import { refuseAtEdge, runAccountTransaction } from '../sql/account-transaction.js'
import type { CallPort, Sender } from './call-port.js'
import {
  asSummary,
  type EventPart,
  findKey,
  hasNewParts,
  isUnjoined,
  noteHeard,
  readHeard,
  setPartState,
  toStoredJson,
  wakeParts,
} from './event-parts.js'
import { asDelivered, isSaidNow, judge, toOutcome, type Verdict } from './heard-words.js'
import {
  assignPerson,
  type DueCall,
  isOtherLeg,
  isOwnNumber,
  joinCall,
  listDueCalls,
  noteOnCall,
  type Place,
  type PlatformCall,
  parseNumber,
} from './platform-calls.js'
import { endUnjoined, touchAccount } from './unclear-opt-outs.js'

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

/** After this time, an event that names an unknown decision is given up. */
const maxWaitMs = msPerDay
const maxRetried = 100
/** Those that always fail must not keep out the others. */
const anyOrder = sql`random()`

export class EventInbox {
  readonly #deps: EventInboxDeps

  constructor(deps: EventInboxDeps) {
    this.#deps = deps
  }

  /** Resolves when the calls are on disk and the events that waited for them were processed. */
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
      // Numbers of calls that now have an id are no longer held.
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

  /**
   * Resolves when the event is on disk and was processed. If processing fails, it also resolves: `retry` tries again.
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

  /** Processes events that a stopped server left or whose processing failed. Returns whether there may be more. */
  async retry(): Promise<boolean> {
    const { storage } = this.#deps
    let hasProgress = false
    const unread = await storage.db
      .selectFrom('platform_events')
      .select(['account_id', 'id', 'platform'])
      .where('read_at', 'is', null)
      .orderBy(anyOrder)
      .limit(maxRetried)
      .execute()
    for (const { account_id, id, platform } of unread) {
      const isRead = await this.#attempt(platform, async () => {
        const event = storage.db.selectFrom('platform_events').selectAll()
        const stored = await event
          .where('account_id', '=', account_id)
          .where('id', '=', id)
          .executeTakeFirst()
        if (stored) await this.#readStored(stored)
      })
      hasProgress ||= isRead
    }
    const parts = await storage.db
      .selectFrom('platform_event_parts')
      .selectAll()
      .where('state', '=', 'new')
      .orderBy(anyOrder)
      .limit(maxRetried)
      .execute()
    for (const part of parts) await this.#attempt(part.platform, () => this.#workOn(part))
    return hasProgress && unread.length === maxRetried
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
          const content =
            event.type === 'unreadable' ? asSummary(event, body) : asDelivered(event, delivery)
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

  /** Processes the parts that waited for their call to be identified. */
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
      await setPartState(this.#deps.storage.db, part, 'done')
      return undefined
    }
    const { port } = this.#deps
    const place = placeOf(part)
    const decision = await this.#findDecision(place, event)
    const joined = await this.#join(part, event, decision)
    if (joined === undefined) return undefined
    const { call, verdict } = joined
    if (verdict.unclear) {
      port.reportPlatformEvent({ platform: place.platform, result: 'unclear' })
      if (call.number === null) port.forgetHeldNumbers({ accountId: place.accountId })
    }
    const isNoted = await this.#act(part, joined.event, { call, verdict })
    await this.#end(part, joined.event, { call, verdict, isNoted })
    return call
  }

  /** Returns `undefined` if the event is about somebody other than the person. */
  async #join(
    part: EventPart,
    found: CallEvent,
    decision: KnownDecision | undefined,
  ): Promise<JoinedEvent | undefined> {
    const place = placeOf(part)
    const { accountId } = place
    const { storage, readOptOut } = this.#deps
    const ofDecision = found.direction === 'inbound' ? undefined : decision
    return await runAccountTransaction(storage, accountId, async (db) => {
      if (await isOtherLeg(db, place, found, part.stored_at)) {
        await setPartState(db, part, 'done')
        return undefined
      }
      const event = await assignPerson(db, place, found)
      const person = parseNumber(event.person)
      const isOwn =
        person !== undefined &&
        (person === parseNumber(event.own) || (await isOwnNumber(db, accountId, person)))
      const call = await joinCall(db, place, {
        decisionId: ofDecision?.id,
        number: ofDecision ? ofDecision.number : isOwn ? undefined : person,
        callIds: [...new Set(event.callIds)],
        sessionId: event.sessionId,
        isToUs: event.direction === 'inbound',
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
      // A part that was woken must not wake the one that woke it.
      const isFirst = part.call !== call.id
      if (call.decision_id !== null || (isFirst && (await isUnjoined(db, call)))) {
        await wakeParts(db, call)
      }
      const isPersonOwn =
        call.number === null ? isOwn : await isOwnNumber(db, accountId, call.number)
      const heard = await readHeard(db, { ...part, call: call.id }, { event, readOptOut })
      const verdict = judge(heard, { call, isPersonOwn })
      await noteHeard(db, { part, event, call, verdict })
      return { event, call, verdict }
    })
  }

  /** Returns false if the outcome must be recorded later. Records the opt-out first, since it must not be lost. */
  async #act(
    part: EventPart,
    event: CallEvent,
    { call, verdict }: { readonly call: PlatformCall; readonly verdict: Verdict },
  ): Promise<boolean> {
    const { port, clock } = this.#deps
    const sender = { accountId: part.account_id, keyId: await findKey(this.#deps.storage.db, part) }
    const { decision_id: decisionId, number } = call
    const isNew =
      call.opted_out_at === null ||
      (part.stored_at > call.opted_out_at && isSaidNow(event, this.#deps.readOptOut))
    if (verdict.optOut && number !== null && isNew) {
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
    const isNoted = await port.noteOutcome({ ...sender, decisionId, outcome })
    return isNoted || part.stored_at < clock.now() - maxWaitMs
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
    const isReleased = await runAccountTransaction(storage, accountId, async (db) => {
      if (verdict.optOut) {
        await noteOnCall(db, { accountId, platform }, call.id, { opted_out_at: clock.now() })
      }
      await setPartState(db, part, !isNoted ? 'new' : isJoined ? 'done' : 'waiting')
      // Another part may have the words, and their opt-out must be on disk first.
      if (!isKnown || (await hasNewParts(db, call))) return false
      return await endUnjoined(db, call, clock.now())
    })
    if (isReleased) port.forgetHeldNumbers({ accountId })
  }

  /** Finds the decision that the event names, if it belongs to the account. */
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
}

const placeOf = ({ account_id, platform }: EventPart): Place => ({
  accountId: account_id,
  platform,
})

interface KnownDecision {
  readonly id: string
  readonly number: string | undefined
}

interface JoinedEvent {
  /** The event, with its direction if other events of the call show it. */
  readonly event: CallEvent
  readonly call: PlatformCall
  readonly verdict: Verdict
}

interface WorkedOn {
  readonly call: PlatformCall
  readonly verdict: Verdict
  readonly isNoted: boolean
}
