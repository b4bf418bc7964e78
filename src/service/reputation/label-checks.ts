/**
 * Checks the labels of monitored numbers when they are due, stores the answers and records removed
 * labels. Due times are in the database, so a restart loses nothing.
 */

import { type PhoneNumber, toPhoneNumber } from '../../domain/phone-number.js'
import type { Country } from '../../domain/place.js'
import type { LabelIssuer, LabelSource, NumberLabels } from '../../domain/spam-labels.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { type FindToday, HourlyCleanup } from '../background/hourly-cleanup.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import { countSources } from './label-bits.js'
import {
  countMonitoredNumbers,
  type DueNumber,
  deleteOldObservations,
  findDueNumbers,
  findMonitoredWithSpan,
  findNextDueAt,
  insertFlagRemovals,
  type MonitorCounts,
  type MonitoredNumberWithSpan,
  type ObservationTally,
  postponeNumbers,
  type StoredMonitoredNumber,
  storeObservations,
  tallyObservations,
  updateMonitoredNumbers,
} from './label-check-rows.js'
import { computeOutcome, type LabelCheckOutcome } from './label-observation.js'
import {
  type CheckTiming,
  delayAfterComplete,
  delayAfterFailure,
  delayAfterIncomplete,
} from './next-check.js'
import { computeLevel, listSources, type ObservationCounts } from './scores.js'

export interface LabelChecksOptions extends CheckTiming {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>
  readonly clock: Clock
  /** The same clock as the monitor's. */
  readonly timestamps: Clock
  readonly keepDays: number
  readonly findToday: FindToday
  readonly countryOf: (accountId: string) => Promise<Country>
  readonly labelSourceFor: (accountId: string) => LabelSource
  /** A source failed; the numbers are checked again soon. */
  readonly onError: (accountId: string, cause: unknown) => void
}

/** Maximum numbers per round and transaction, which locks the database. */
const maxBatchSize = 128

type Labels = ReadonlyMap<PhoneNumber, NumberLabels>

/** A batch of one account's numbers, and the sources to ask about them. */
interface LabelCheckBatch {
  readonly accountId: string
  readonly numbers: readonly PhoneNumber[]
  readonly sources: readonly LabelIssuer[]
}

interface NumberOutcome extends MonitoredNumberWithSpan {
  readonly outcome: LabelCheckOutcome
}

export class LabelChecks {
  readonly #options: LabelChecksOptions
  readonly #cleanup: HourlyCleanup

  constructor(options: LabelChecksOptions) {
    this.#options = options
    this.#cleanup = new HourlyCleanup(options.findToday, (now) => this.#deleteOld(now))
  }

  /** Runs one round. Resolves to the milliseconds until the next number is due; infinity without numbers. */
  async run(): Promise<number> {
    const { storage, clock } = this.#options
    await this.#cleanup.run(clock.now())
    const due = await findDueNumbers(storage.db, { now: clock.now(), limit: maxBatchSize })
    for (const [accountId, numbers] of groupByAccount(due)) {
      await this.#check(accountId, numbers)
      await yieldToEventLoop()
    }
    const next = await findNextDueAt(storage.db)
    return next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next - clock.now())
  }

  /** For the metrics. */
  async countNumbers(): Promise<MonitorCounts> {
    const { storage, clock } = this.#options
    return await countMonitoredNumbers(storage.db, clock.now() - msPerDay)
  }

  async #check(accountId: string, numbers: readonly PhoneNumber[]): Promise<void> {
    const { countryOf, labelSourceFor, onError } = this.#options
    const sources = listSources(await countryOf(accountId))
    const round = { accountId, numbers, sources }
    let labels: Labels
    try {
      labels = await labelSourceFor(accountId).labels(numbers, sources)
    } catch (cause) {
      onError(accountId, cause)
      return await this.#postpone(round)
    }
    await runAccountTransaction(this.#options.storage, accountId, (transaction) =>
      this.#store(transaction, round, labels),
    )
  }

  async #postpone({ accountId, numbers }: LabelCheckBatch): Promise<void> {
    const { storage, clock } = this.#options
    const until = clock.now() + delayAfterFailure(this.#options)
    await runAccountTransaction(storage, accountId, (db) =>
      postponeNumbers({ db, traits: storage.traits }, accountId, { numbers, until }),
    )
  }

  async #store(
    db: Db,
    { accountId, numbers, sources }: LabelCheckBatch,
    labels: Labels,
  ): Promise<void> {
    const access = { db, traits: this.#options.storage.traits }
    const at = this.#options.timestamps.now()
    const found = await findMonitoredWithSpan(access, accountId, numbers)
    const checked: readonly NumberOutcome[] = found.map(({ row, span }) => {
      const check = { at, labels: labels.get(toPhoneNumber(row.number)) ?? {}, sources }
      return { row, span, outcome: computeOutcome(row, span, check) }
    })
    await storeObservations(
      access,
      checked.flatMap(({ row: { account_id, number }, outcome: { span } }) =>
        span === undefined ? [] : [{ account_id, number, at, span }],
      ),
    )
    const from = at - this.#options.keepDays * msPerDay
    const counts = toObservationCounts(
      await tallyObservations(access, accountId, { numbers, from }),
    )
    await updateMonitoredNumbers(
      access,
      checked.map((number) =>
        this.#updatedRow(number, counts.get(number.row.number) ?? noObservations, at),
      ),
    )
    await insertFlagRemovals(
      access,
      checked.flatMap(({ row: { account_id, number }, outcome: { removedFlags } }) =>
        removedFlags.map((source) => ({ account_id, number, source, removed_at: at })),
      ),
    )
  }

  #updatedRow(
    { row, outcome }: NumberOutcome,
    counts: ObservationCounts,
    at: Instant,
  ): StoredMonitoredNumber {
    const { checkEveryMs } = this.#options
    const since = row.checked_at === null ? row.added_at : row.checked_at + checkEveryMs
    const wait = outcome.complete
      ? delayAfterComplete(this.#options)
      : delayAfterIncomplete(this.#options, { at, since })
    return {
      ...row,
      ...outcome.changes,
      looks: counts.observations,
      medium_looks: counts.medium,
      high_looks: counts.high,
      due_at: this.#options.clock.now() + wait,
    }
  }

  async #deleteOld(now: Instant): Promise<boolean> {
    const { storage, keepDays } = this.#options
    return await deleteOldObservations(storage, { now, keepDays })
  }
}

function groupByAccount(due: readonly DueNumber[]): ReadonlyMap<string, readonly PhoneNumber[]> {
  const accounts = new Map<string, PhoneNumber[]>()
  for (const { account_id, number } of due) {
    const numbers = accounts.get(account_id) ?? []
    numbers.push(toPhoneNumber(number))
    accounts.set(account_id, numbers)
  }
  return accounts
}

const noObservations: ObservationCounts = { observations: 0, medium: 0, high: 0 }

function toObservationCounts(
  tallies: readonly ObservationTally[],
): ReadonlyMap<string, ObservationCounts> {
  const counts = new Map<string, ObservationCounts>()
  for (const { number, answered, flagged, looks } of tallies) {
    const { observations, medium, high } = counts.get(number) ?? noObservations
    const level = computeLevel(countSources(flagged), countSources(answered))
    counts.set(number, {
      observations: observations + looks,
      medium: medium + (level === 'Medium' ? looks : 0),
      high: high + (level === 'High' ? looks : 0),
    })
  }
  return counts
}
