/**
 * Looks at the labels of monitored numbers when they are due, keeps what was heard and notes which
 * labels were taken off. What is due is kept in the database, so a restart forgets nothing.
 */
import type { Clock, Instant } from '../../domain/clock.js'
import type { LabelBook, LabelSource, NumberLabels } from '../../domain/labels.js'
import { type PhoneNumber, phoneNumber } from '../../domain/phone-number.js'
import { yieldToEventLoop } from '../../domain/slices.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { writeForAccount } from '../sql/account-write.js'
import {
  type DueNumber,
  dueNumbers,
  type MonitorCounts,
  monitorCounts,
  nextDueAt,
  postpone,
} from './due-rows.js'
import { countSources } from './label-bits.js'
import { type LookOutcome, outcomeOf } from './look.js'
import {
  keepLooks,
  type LookTally,
  storeRemovals,
  storeWatched,
  tallyLooks,
  type Watched,
  type WatchedRow,
  watchedAmong,
} from './look-rows.js'
import { afterComplete, afterFailure, afterSilence, type LookTiming } from './next-look.js'
import { dropOldLooks } from './old-looks.js'
import { type Country, type LookCounts, levelOf, sourcesOf } from './scores.js'

export interface LabelChecksOptions extends LookTiming {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'patiently'>
  readonly clock: Clock
  /** The same as the monitor's. */
  readonly stamps: Clock
  readonly keepDays: number
  readonly countryOf: (accountId: string) => Promise<Country>
  readonly bookOf: (accountId: string) => LabelBook
  /** A book could not be asked; its numbers are asked about again soon. */
  readonly onError: (accountId: string, cause: unknown) => void
}

/** Numbers of one round, and of one transaction at most: it holds the database. */
const mostAtOnce = 128
const dayMs = 86_400_000
const dropEveryMs = 3_600_000

type Labels = ReadonlyMap<PhoneNumber, NumberLabels>

/** What was asked about some numbers of one account, and what came back. */
interface Round {
  readonly accountId: string
  readonly numbers: readonly PhoneNumber[]
  readonly sources: readonly LabelSource[]
}

interface WatchedOutcome extends Watched {
  readonly outcome: LookOutcome
}

export class LabelChecks {
  readonly #options: LabelChecksOptions
  #dropAt = Number.NEGATIVE_INFINITY

  constructor(options: LabelChecksOptions) {
    this.#options = options
  }

  /** One round. Gives the milliseconds until the next number is due; infinite without numbers. */
  async run(): Promise<number> {
    const { storage, clock } = this.#options
    await this.#dropOld()
    const due = await dueNumbers(storage.db, { now: clock.now(), most: mostAtOnce })
    for (const [accountId, numbers] of byAccount(due)) {
      await this.#check(accountId, numbers)
      await yieldToEventLoop()
    }
    const next = await nextDueAt(storage.db)
    return next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next - clock.now())
  }

  /** For the metrics. */
  async counts(): Promise<MonitorCounts> {
    const { storage, clock } = this.#options
    return await monitorCounts(storage.db, clock.now() - dayMs)
  }

  async #check(accountId: string, numbers: readonly PhoneNumber[]): Promise<void> {
    const { countryOf, bookOf, onError } = this.#options
    const sources = sourcesOf(await countryOf(accountId))
    const round = { accountId, numbers, sources }
    let labels: Labels
    try {
      labels = await bookOf(accountId).labels(numbers, sources)
    } catch (cause) {
      onError(accountId, cause)
      return await this.#postpone(round)
    }
    await writeForAccount(this.#options.storage, accountId, (transaction) =>
      this.#keep(transaction, round, labels),
    )
  }

  async #postpone({ accountId, numbers }: Round): Promise<void> {
    const { storage, clock } = this.#options
    const until = clock.now() + afterFailure(this.#options)
    await writeForAccount(storage, accountId, (db) =>
      postpone({ db, traits: storage.traits }, accountId, { numbers, until }),
    )
  }

  async #keep(db: Db, { accountId, numbers, sources }: Round, labels: Labels): Promise<void> {
    const access = { db, traits: this.#options.storage.traits }
    const at = this.#options.stamps.now()
    const looks: readonly WatchedOutcome[] = (await watchedAmong(access, accountId, numbers)).map(
      ({ row, span }) => {
        const look = { at, labels: labels.get(phoneNumber(row.number)) ?? {}, sources }
        return { row, span, outcome: outcomeOf(row, span, look) }
      },
    )
    await keepLooks(
      access,
      looks.flatMap(({ row: { account_id, number }, outcome: { span } }) =>
        span === undefined ? [] : [{ account_id, number, at, span }],
      ),
    )
    const from = at - this.#options.keepDays * dayMs
    const counts = countsOf(await tallyLooks(access, accountId, { numbers, from }))
    await storeWatched(
      access,
      looks.map((look) => this.#rowAfter(look, counts.get(look.row.number) ?? noLooks, at)),
    )
    await storeRemovals(
      access,
      looks.flatMap(({ row: { account_id, number }, outcome: { lifted } }) =>
        lifted.map((source) => ({ account_id, number, source, removed_at: at })),
      ),
    )
  }

  #rowAfter({ row, outcome }: WatchedOutcome, counts: LookCounts, at: Instant): WatchedRow {
    const { checkEveryMs } = this.#options
    const since = row.checked_at === null ? row.added_at : row.checked_at + checkEveryMs
    const wait = outcome.complete
      ? afterComplete(this.#options)
      : afterSilence(this.#options, { at, since })
    return {
      ...row,
      ...outcome.changes,
      looks: counts.looks,
      medium_looks: counts.medium,
      high_looks: counts.high,
      due_at: this.#options.clock.now() + wait,
    }
  }

  async #dropOld(): Promise<void> {
    const { storage, clock, keepDays } = this.#options
    const now = clock.now()
    if (now < this.#dropAt) return
    if (await dropOldLooks(storage, { now, keepDays })) this.#dropAt = now + dropEveryMs
  }
}

function byAccount(due: readonly DueNumber[]): ReadonlyMap<string, readonly PhoneNumber[]> {
  const accounts = new Map<string, PhoneNumber[]>()
  for (const { account_id, number } of due) {
    const numbers = accounts.get(account_id) ?? []
    numbers.push(phoneNumber(number))
    accounts.set(account_id, numbers)
  }
  return accounts
}

const noLooks: LookCounts = { looks: 0, medium: 0, high: 0 }

function countsOf(tallies: readonly LookTally[]): ReadonlyMap<string, LookCounts> {
  const counts = new Map<string, LookCounts>()
  for (const { number, answered, flagged, looks } of tallies) {
    const { looks: all, medium, high } = counts.get(number) ?? noLooks
    const level = levelOf(countSources(flagged), countSources(answered))
    counts.set(number, {
      looks: all + looks,
      medium: medium + (level === 'Medium' ? looks : 0),
      high: high + (level === 'High' ? looks : 0),
    })
  }
  return counts
}
