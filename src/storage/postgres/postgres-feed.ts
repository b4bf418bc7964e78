/**
 * Reads what any server or command has committed to the database. A change takes its number from the row of
 * `change_head`, which stays locked until the commit, so numbers are in the order of the commits: whoever sees
 * one has seen all before it.
 */
import pg from 'pg'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { ClockReading, Instant } from '../../domain/time/clock.js'
import { getErrorMessage } from '../../errors.js'
import { systemClock, systemTimers } from '../../runtime/runtime.js'
import type { ChangeFeed, FeedObserver, SeenChange } from '../open-database.js'

export const standbyProblem = 'it is a standby, which may be behind its primary'

const lookEveryMs = 100
/** The name of the primary may have moved to another server while the old one goes on answering. */
const checkNameEveryMs = 2_000
/** Of one look. More, as after a long pause, and all answers are dropped instead. */
const maxChanges = 1_000
/** PostgreSQL ends a connection that asks nothing for so long, and another server becomes the leader. */
const leaderTimeoutMs = 5_000
/** Held by the connection of the server that does the background work. */
const leaderLock = 5_550_100
const keepChangesMs = 7 * 86_400_000
const trimEveryMs = 10_000
/** Of those it has seen, how many a server can miss after a failover: more than a standby is behind. */
const maxRemembered = 1_000
/** Few enough for one look. */
const maxTrimmed = 1_000

interface ChangeRow extends Omit<SeenChange, 'seq'> {
  readonly head: number
  readonly databaseNow: number
  /** Null if there is no change after the cursor. */
  readonly seq: number | null
}

const columns = 'changes.seq, account_id as "accountId", numbers, at'
const selectChanges = `select head.seq as head, ${columns},
  cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as "databaseNow"
  from change_head as head left join changes on changes.seq > $1
  where head.id = 1 order by changes.seq limit ${maxChanges}`

/** What the clock of the database showed between two moments of the monotonic clock, at most a second apart. */
interface DatabaseReading {
  readonly databaseNow: Instant
  readonly sentMs: number
  readonly receivedMs: number
}

const isSameChange = (one: SeenChange, other: SeenChange) =>
  one.at === other.at && one.numbers === other.numbers && one.accountId === other.accountId

interface FeedConnection {
  readonly client: pg.Client
  /** When it was started, which no other server was in the same microsecond. */
  readonly server: string
  /** The newest change that is known here. */
  seq: number
}

export class PostgresFeed implements ChangeFeed {
  readonly #config: pg.ClientConfig
  readonly #onConnect: () => void
  #observer: FeedObserver | undefined
  #onLost: (changes: readonly SeenChange[]) => void = () => undefined
  /** The latest, by their numbers. */
  readonly #seen = new Map<number, SeenChange>()
  /** Their numbers stand for others now. */
  #replaced: SeenChange[] = []
  #connection: FeedConnection | undefined
  #current: ClockReading = { now: 0, monotonicMs: Number.NEGATIVE_INFINITY }
  #clock: DatabaseReading | undefined
  #isLeader = false
  #problem: string | undefined
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()
  #trimmedAtMs = Number.NEGATIVE_INFINITY
  #nameCheckedAtMs = Number.NEGATIVE_INFINITY
  #hasNameMoved = false

  /** `onConnect` is called before anything is read on a new connection. */
  constructor(config: pg.ClientConfig, onConnect: () => void) {
    this.#config = config
    this.#onConnect = onConnect
  }

  get currentAt(): ClockReading {
    return this.#current
  }

  get isLeader(): boolean {
    const ageMs = systemTimers.monotonicMs() - this.#current.monotonicMs
    return this.#isLeader && ageMs < leaderTimeoutMs / 2
  }

  get position(): number | undefined {
    return this.#connection?.seq
  }

  get problem(): string | undefined {
    return this.#problem
  }

  getClockAheadMs(now: Instant): number {
    if (this.#clock === undefined) return 0
    const { databaseNow, sentMs, receivedMs } = this.#clock
    const monotonicMs = systemTimers.monotonicMs()
    const latest = databaseNow + monotonicMs - sentMs
    const earliest = databaseNow + monotonicMs - receivedMs
    return now > latest ? now - latest : Math.min(0, now - earliest)
  }

  async follow(
    observer: FeedObserver,
    onLost: (changes: readonly SeenChange[]) => void,
  ): Promise<void> {
    this.#observer = observer
    this.#onLost = onLost
    await this.#lookAgain(observer)
  }

  /** Also for a change of this server, which is acknowledged before it is read. */
  remember(change: SeenChange): void {
    const before = this.#seen.get(change.seq)
    // Queries may have reached the new primary before the looks do.
    if (before && !isSameChange(before, change)) this.#replaced.push(before)
    this.#seen.delete(change.seq)
    this.#seen.set(change.seq, change)
    const [oldest] = this.#seen.keys()
    if (this.#seen.size > maxRemembered && oldest !== undefined) this.#seen.delete(oldest)
  }

  async close(): Promise<void> {
    this.#observer = undefined
    clearTimeout(this.#timer)
    await this.#looking
    this.#isLeader = false
    const { client } = this.#connection ?? {}
    this.#connection = undefined
    await client?.end().catch(() => undefined)
  }

  async #lookAgain(observer: FeedObserver): Promise<void> {
    const startedMs = systemTimers.monotonicMs()
    this.#looking = this.#look(observer)
    await this.#looking
    if (this.#observer === undefined) return
    const waitMs = Math.max(0, startedMs + lookEveryMs - systemTimers.monotonicMs())
    this.#timer = setTimeout(() => void this.#lookAgain(observer), waitMs)
    this.#timer.unref()
  }

  /** What was committed before the look began is known once it has ended. Never rejects. */
  async #look(observer: FeedObserver): Promise<void> {
    const began = { now: systemClock.now(), monotonicMs: systemTimers.monotonicMs() }
    try {
      if (this.#hasNameMoved) throw new Error('its name has moved to another server')
      this.#connection ??= await this.#connect(observer)
      await this.#readChanges(this.#connection, observer)
      this.#current = began
      this.#problem = undefined
      await this.#lead(this.#connection.client, began)
      this.#checkPrimaryName(this.#connection, began)
    } catch (cause) {
      this.#problem = getErrorMessage(cause)
      this.#isLeader = false
      this.#hasNameMoved = false
      const { client } = this.#connection ?? {}
      this.#connection = undefined
      // Without an answer from the server, the end would be waited for.
      void client?.end().catch(() => undefined)
    }
  }

  /** A connection ends with a failover, after which numbers may stand for other changes. */
  async #connect(observer: FeedObserver): Promise<FeedConnection> {
    const connection = await this.#openPrimary()
    const { client } = connection
    try {
      await client.query(`set application_name = 'callgate changes'`)
      await client.query(`set idle_session_timeout = ${leaderTimeoutMs}`)
      await this.#reportLostChanges(connection)
      this.#onConnect()
      await observer.everythingChanged()
      return connection
    } catch (cause) {
      void client.end().catch(() => undefined)
      throw cause
    }
  }

  /** Also where the same numbers stand for other changes. Old changes that were deleted are not lost. */
  async #reportLostChanges({ client, seq: head }: FeedConnection): Promise<void> {
    if (this.#seen.size === 0) return
    const { rows } = await client.query<SeenChange>(
      `select ${columns} from changes where seq = any($1)`,
      [[...this.#seen.keys()]],
    )
    const found = new Map(rows.map((row) => [row.seq, row]))
    const missing = [...this.#seen.values()].filter((seen) => {
      const row = found.get(seen.seq)
      return row === undefined ? seen.seq > head : !isSameChange(row, seen)
    })
    const lost = [...this.#replaced, ...missing]
    this.#seen.clear()
    this.#replaced = []
    if (lost.length > 0) this.#onLost(lost)
  }

  async #openPrimary(): Promise<FeedConnection> {
    const client = new pg.Client(this.#config)
    // The next query fails as well.
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query(
        `select seq, pg_is_in_recovery() as "isStandby", pg_postmaster_start_time()::text as server
          from change_head where id = 1`,
      )
      if (rows[0].isStandby) throw new Error(standbyProblem)
      return { client, server: rows[0].server, seq: rows[0].seq }
    } catch (cause) {
      void client.end().catch(() => undefined)
      throw cause
    }
  }

  /** Beside the looks, which must not wait for it. */
  #checkPrimaryName({ server }: FeedConnection, { monotonicMs }: ClockReading): void {
    if (monotonicMs - this.#nameCheckedAtMs < checkNameEveryMs) return
    this.#nameCheckedAtMs = monotonicMs
    this.#openPrimary().then(
      (found) => {
        this.#hasNameMoved = found.server !== server && this.#connection?.server === server
        void found.client.end().catch(() => undefined)
      },
      // As long as the looks are answered, nothing is missed.
      () => undefined,
    )
  }

  async #readChanges(connection: FeedConnection, observer: FeedObserver): Promise<void> {
    const sentMs = systemTimers.monotonicMs()
    const { rows } = await connection.client.query<ChangeRow>(selectChanges, [connection.seq])
    const receivedMs = systemTimers.monotonicMs()
    if (rows[0] === undefined) throw new Error('its table change_head has no row')
    const { head, databaseNow } = rows[0]
    this.#clock = { databaseNow, sentMs, receivedMs }
    const changes = rows.flatMap(({ seq, accountId, numbers, at }) =>
      seq === null ? [] : { seq, accountId, numbers, at },
    )
    for (const change of changes) this.remember(change)
    const isWhole = connection.seq + changes.length === head
    const isBroad = changes.some(({ numbers }) => numbers === null)
    if (!isWhole || isBroad) await observer.everythingChanged()
    else {
      for (const { accountId, numbers } of changes) {
        await observer.numbersChanged(
          accountId ?? '',
          (numbers ?? '').split(',').filter(Boolean) as PhoneNumber[],
        )
      }
    }
    connection.seq = head
  }

  /** The lock is free as soon as the connection of the former leader has ended. */
  async #lead(client: pg.Client, { monotonicMs }: ClockReading): Promise<void> {
    if (!this.#isLeader) {
      const { rows } = await client.query('select pg_try_advisory_lock($1) as "isLeader"', [
        leaderLock,
      ])
      this.#isLeader = rows[0].isLeader
    }
    if (!this.#isLeader || monotonicMs - this.#trimmedAtMs < trimEveryMs) return
    this.#trimmedAtMs = monotonicMs
    const { rowCount } = await client.query(
      // An edge recognizes the newest one.
      `delete from changes where at < $1 and seq < (select seq from change_head)
        and seq in (select seq from changes order by seq limit ${maxTrimmed})`,
      [systemClock.now() - keepChangesMs],
    )
    if (rowCount === maxTrimmed) this.#trimmedAtMs = Number.NEGATIVE_INFINITY
  }
}
