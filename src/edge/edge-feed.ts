/**
 * Follows the center: fetches what an edge's copy is missing, then what changes, and delivers the opt-outs that were
 * given to the edge.
 */
import type { ChangesCopy } from '../api/edges.js'
import { sandboxAccountId } from '../domain/caller.js'
import { allListsOfAccount } from '../domain/consent/consent-records.js'
import type { AttemptCounter } from '../domain/mandate.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import type { ClockReading } from '../domain/time/clock.js'
import { getErrorMessage } from '../errors.js'
import type { Logger } from '../observability/log.js'
import { computeBackoffMs } from '../runtime/backoff.js'
import { sleep, systemClock, systemTimers } from '../runtime/runtime.js'
import { schemaNumber } from '../storage/migrate.js'
import type { ChangeFeed, FeedObserver, SeenChange } from '../storage/open-database.js'
import type { InternalDncRow } from '../storage/tables.js'
import { CenterClient, type CenterClientOptions } from './center-client.js'
import { countAtCenter } from './edge-attempts.js'
import { type CopyState, EdgeCopy, type OptOutRow } from './edge-copy.js'

/** The center answers after so long, at the latest. */
const waitMs = 100
const backoff = { firstMs: 100, maxMs: 2_000 }
const storeCurrentEveryMs = 5_000
/** Whose rows can be asked for at once. */
const maxOptOuts = 500
const retryOptOutsMs = 1_000

const never: ClockReading = { now: 0, monotonicMs: Number.NEGATIVE_INFINITY }

export interface EdgeFeedDeps extends CenterClientOptions {
  readonly storage: ConstructorParameters<typeof EdgeCopy>[0]
  readonly log: Logger
  /** At least 0 and below 1; spreads the attempts of several edges. */
  readonly random: () => number
}

export class EdgeFeed implements ChangeFeed {
  readonly #client: CenterClient
  readonly #counter: AttemptCounter
  readonly #copy: EdgeCopy
  readonly #log: Logger
  readonly #random: () => number
  #state: CopyState | undefined
  #current = never
  /** The account in the copy may be as of this change, and rows as of an earlier one. */
  #accountSeq = 0
  /** By project: the center has acknowledged them. */
  readonly #delivered = new Map<string, readonly OptOutRow[]>()
  #deliveryProblem: string | undefined
  /** Whether the key is of the account whose opt-outs are in the folder, as the last answer of the center says. */
  #isOwnAccount = false
  #onLost: (changes: readonly SeenChange[]) => void = () => undefined
  #problem: string | undefined = 'nothing was copied from the center yet'
  readonly #closing = new AbortController()
  #following: Promise<unknown> = Promise.resolve()

  constructor({ storage, log, random, ...center }: EdgeFeedDeps) {
    this.#client = new CenterClient(center)
    this.#counter = countAtCenter(this.#client)
    this.#copy = new EdgeCopy(storage)
    this.#log = log
    this.#random = random
  }

  /** Who counts the calls of an account; `undefined` for the sandbox that is the edge's own. */
  counterOf(accountId: string): AttemptCounter | undefined {
    const isOwnSandbox = accountId === sandboxAccountId && this.#state?.accountId !== accountId
    return isOwnSandbox ? undefined : this.#counter
  }

  get currentAt(): ClockReading {
    return this.#current
  }

  /** The changes of an edge are those of its center. */
  readonly position = undefined

  /** What only one server does is done at the center. */
  readonly isLeader = false

  get problem(): string | undefined {
    return this.#problem
  }

  async follow(
    observer: FeedObserver,
    onLost: (changes: readonly SeenChange[]) => void,
  ): Promise<void> {
    this.#onLost = onLost
    const state = await this.#copy.read()
    this.#state = state
    await observer.everythingChanged()
    if (state.cursor === '') await this.#copyAccount(observer)
    else this.#restoreCurrent(state)
    this.#following = Promise.all([this.#keepCurrent(observer), this.#keepDelivering()])
  }

  /** Never as if it were current: the clock may have been set meanwhile. */
  #restoreCurrent({ currentAt }: CopyState): void {
    const reading = { now: systemClock.now(), monotonicMs: systemTimers.monotonicMs() }
    if (currentAt === 0 || currentAt > reading.now) return
    const ageMs = Math.max(reading.now - currentAt, storeCurrentEveryMs)
    this.#current = { now: reading.now - ageMs, monotonicMs: reading.monotonicMs - ageMs }
  }

  /** The rest of the start needs the account, so it waits for it for a moment. */
  async #copyAccount(observer: FeedObserver): Promise<void> {
    try {
      await this.#step(observer)
      await this.#step(observer)
    } catch (cause) {
      this.#problem = getErrorMessage(cause)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#client.close()
    await this.#following
  }

  async #keepCurrent(observer: FeedObserver): Promise<void> {
    const { signal } = this.#closing
    let failures = 0
    while (!signal.aborted) {
      try {
        await this.#step(observer)
        failures = 0
      } catch (cause) {
        if (signal.aborted) return
        failures += 1
        const problem = getErrorMessage(cause)
        if (problem !== this.#problem) this.#log.warn('the center is not followed', { problem })
        this.#problem = problem
        await sleep(computeBackoffMs(failures, backoff) * (0.5 + this.#random() / 2), { signal })
      }
    }
  }

  async #step(observer: FeedObserver): Promise<void> {
    const state = this.#state ?? (await this.#copy.read())
    if (state.missing) {
      const next = await this.#fetchMissing(state)
      // Answers that were cached while rows were replaced.
      if (next.missing === undefined) await observer.everythingChanged()
      this.#state = next
      return
    }
    if (this.#delivered.size > 0) {
      this.#state = await this.#confirmDelivered(state, observer)
      return
    }
    const began = { now: systemClock.now(), monotonicMs: systemTimers.monotonicMs() }
    const changes = await this.#client.changes(state.cursor, waitMs)
    this.#requireOwnAccount(changes, state)
    requireCopyable(changes)
    if (changes.isUnknown) {
      this.#current = never
      this.#state = await this.#copy.startAgain(changes.cursor, state)
      return
    }
    // What follows replaces rows one after the other, so the copy is that of no moment.
    if (changes.ofAllNumbers) this.#current = never
    this.#state = await this.#apply(changes, state, observer)
    if (this.#state.missing || changes.hasMore) return
    if (readSeq(this.#state) < this.#accountSeq) {
      // This server of the center does not know the change yet, or a failover has lost it.
      this.#state = { ...this.#state, missing: { account: true, records: [] } }
      return
    }
    await this.#setCurrent(began, changes.knownAfterMs)
  }

  async #fetchMissing(state: CopyState): Promise<CopyState> {
    if (state.missing?.account) {
      const account = await this.#client.account()
      this.#requireOwnAccount(account, state)
      this.#accountSeq = account.seq
      // A project may read a list already whose rows come with the next changes.
      const isAhead = account.seq > readSeq(state)
      if (isAhead) this.#current = never
      return await this.#copy.replaceAccount(account, isAhead ? { ...state, currentAt: 0 } : state)
    }
    const [first] = state.missing?.records ?? []
    if (!first) return state
    const page = await this.#client.records(first.table, first.after)
    this.#requireOwnAccount(page, state)
    const replaced = await this.#copy.replacePage(page, state)
    this.#reportLost(replaced.lost)
    return replaced.state
  }

  #reportLost(lost: readonly InternalDncRow[]): void {
    if (lost.length === 0) return
    const message = 'the center has lost opt-outs; they stay in force here and are passed on again'
    this.#log.error(message, { optOuts: lost.length })
    this.#onLost(
      lost.map(({ opted_out_seq: seq, account_id: accountId, number: numbers, stored_at: at }) => {
        return { seq, accountId, numbers, at }
      }),
    )
  }

  #requireOwnAccount({ accountId }: Pick<ChangesCopy, 'accountId'>, state: CopyState): void {
    this.#isOwnAccount = state.accountId === '' || state.accountId === accountId
    if (this.#isOwnAccount) return
    const copied = `the data folder has a copy of account '${state.accountId}'`
    throw new Error(`the key is of account '${accountId}', but ${copied}; use a new folder`)
  }

  /** From now on the rows of the center are in force, which have been read after it had the opt-outs. */
  async #confirmDelivered(state: CopyState, observer: FeedObserver): Promise<CopyState> {
    let next = state
    for (const [project, optOuts] of this.#delivered) {
      const numbers = [...new Set(optOuts.map(({ number }) => number))]
      const page = await this.#client.optOutsOf(numbers)
      this.#requireOwnAccount(page, state)
      next = await this.#copy.forgetOptOuts(optOuts, page.rows, next)
      await observer.numbersChanged(state.accountId, numbers as PhoneNumber[])
      this.#delivered.delete(project)
    }
    return next
  }

  async #apply(changes: ChangesCopy, state: CopyState, observer: FeedObserver): Promise<CopyState> {
    if (changes.cursor === state.cursor) return state
    const next = await this.#copy.applyChanges(changes, state)
    if (next.missing) await observer.everythingChanged()
    else await observer.numbersChanged(state.accountId, changes.numbers as PhoneNumber[])
    return next
  }

  /** What the center knew so long after the request arrived there was known so long after it was sent. */
  async #setCurrent(sent: ClockReading, knownAfterMs: number): Promise<void> {
    const knownMs = Math.min(knownAfterMs, systemTimers.monotonicMs() - sent.monotonicMs)
    this.#current = { now: sent.now + knownMs, monotonicMs: sent.monotonicMs + knownMs }
    this.#problem = undefined
    const state = this.#state
    if (state === undefined) return
    if (Math.abs(this.#current.now - state.currentAt) < storeCurrentEveryMs) return
    this.#state = await this.#copy.storeCurrentAt(this.#current.now, state)
  }

  async #keepDelivering(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const problem = await this.#deliver()
      if (signal.aborted) return
      if (problem !== undefined && problem !== this.#deliveryProblem) {
        const message = 'opt-outs could not be passed on to the center; trying again'
        this.#log.error(message, { problem })
      }
      this.#deliveryProblem = problem
      await sleep(problem === undefined ? waitMs : retryOptOutsMs, { signal })
    }
  }

  /** What the center refuses of one project does not hold up those of the others. Resolves to why it has refused, for people. */
  async #deliver(): Promise<string | undefined> {
    if (!this.#isOwnAccount) return undefined
    let problem: string | undefined
    try {
      for (const project of await this.#copy.listOptOutProjects()) {
        if (this.#delivered.has(project)) continue
        const optOuts = await this.#copy.readOptOuts(project, maxOptOuts)
        const isSent =
          project === allListsOfAccount
            ? this.#reportOptOuts(optOuts)
            : this.#client.addOptOuts(
                project,
                optOuts.map(({ number }) => number),
              )
        await isSent.then(
          () => this.#delivered.set(project, optOuts),
          (cause: unknown) => {
            problem = getErrorMessage(cause)
          },
        )
      }
    } catch (cause) {
      problem = getErrorMessage(cause)
    }
    return problem
  }

  async #reportOptOuts(optOuts: readonly OptOutRow[]): Promise<void> {
    for (const optOut of optOuts) {
      await this.#client.reportOptOut(await this.#copy.readReport(optOut))
    }
  }
}

const readSeq = ({ cursor }: CopyState) => Number(cursor.split('-', 1)[0])

/** Rows of another schema may have what this program does not know, such as another rule of a project. */
function requireCopyable(changes: ChangesCopy): void {
  if (changes.schema === schemaNumber) return
  throw new Error('the center has another schema than this edge; run the same version on both')
}
