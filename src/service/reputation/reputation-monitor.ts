/**
 * The numbers an account has watched for spam labels (spec, "Reputation monitor API" and
 * "Reputation endpoints"). Who looks at the labels, and when, is in `label-checks.ts`.
 */
import type { Caller } from '../../domain/caller.js'
import type { Clock } from '../../domain/clock.js'
import type { ComplaintBook } from '../../domain/labels.js'
import { type PhoneNumber, phoneNumber } from '../../domain/phone-number.js'
import { yieldToEventLoop } from '../../domain/slices.js'
import { AppError, type FieldProblem, invalidRequest } from '../../errors.js'
import type { OpenDatabase } from '../../storage/engine.js'
import { writeForAccount } from '../sql/account-write.js'
import {
  countMonitored,
  type MonitoredRow,
  monitoredAmong,
  monitoredBehind,
  putOnMonitor,
  takeOffMonitor,
} from './monitored-rows.js'
import { mergedByNumber, type NewNumber } from './new-numbers.js'
import { type NumberRecord, recordOf } from './number-record.js'
import type { Country } from './scores.js'

export interface MonitorOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'patiently'>
  readonly clock: Clock
  /** Later at each call, so that a number added again is told from its first time. */
  readonly stamps: Clock
  /** From 0 up to, not including, 1: spreads the first looks. */
  readonly random: () => number
  readonly firstCheckWithinMs: number
  readonly countryOf: (accountId: string) => Promise<Country>
  readonly legalEntities: { owns(accountId: string, id: number): Promise<boolean> }
  /** Tells of its failures itself: they leave a record without complaints. */
  readonly complaintsOf: (accountId: string) => ComplaintBook
  /** There are numbers to look at. */
  readonly onAdded?: () => void
}

export interface NumbersRequest {
  readonly numbers: readonly PhoneNumber[]
}

export interface AllRecords {
  readonly records: readonly NumberRecord[]
  /** How many numbers the account monitors, shown or not. */
  readonly total: number
}

export interface RemovedNumber {
  readonly phone: PhoneNumber
  /** False when the account did not monitor it. */
  readonly removed: boolean
}

/** What one answer carries without holding up everything else in the process. */
export const mostRecords = 50_000

/** Numbers read or written before other work gets its turn. */
const pageSize = 256

export class ReputationMonitor {
  readonly #options: MonitorOptions

  constructor(options: MonitorOptions) {
    this.#options = options
  }

  /**
   * Starts monitoring, all numbers or none; gives one record per distinct number in the order of
   * the request. A number that is monitored already keeps its history.
   */
  async add(
    { accountId }: Caller,
    { items }: { readonly items: readonly NewNumber[] },
  ): Promise<readonly NumberRecord[]> {
    await this.#refuseForeignEntities(accountId, items)
    const { storage, clock, stamps, random, firstCheckWithinMs } = this.#options
    const numbers = mergedByNumber(items)
    const [addedAt, now] = [stamps.now(), clock.now()]
    const rows = numbers.map((item) => ({
      account_id: accountId,
      number: item.phone,
      label: item.label ?? null,
      legal_entity_id: item.legalEntityId ?? null,
      service_type: item.serviceType ?? null,
      added_at: addedAt,
      due_at: now + Math.floor(random() * firstCheckWithinMs),
    }))
    await writeForAccount(storage, accountId, (transaction) =>
      putOnMonitor(transaction, storage.traits, rows),
    )
    this.#options.onAdded?.()
    return await this.#records(
      accountId,
      numbers.map(({ phone }) => phone),
    )
  }

  /** One record per distinct number, in the order of the request. */
  async get({ accountId }: Caller, { numbers }: NumbersRequest): Promise<readonly NumberRecord[]> {
    return await this.#records(accountId, numbers)
  }

  /** The first `maxRecords` numbers of the account in their order. Throws `too-large` beyond 50,000. */
  async all(
    { accountId }: Caller,
    { maxRecords }: { readonly maxRecords: number },
  ): Promise<AllRecords> {
    if (maxRecords > mostRecords) throw tooMany(maxRecords)
    const { db } = this.#options.storage
    const records: NumberRecord[] = []
    let last = ''
    while (records.length < maxRecords) {
      const most = Math.min(pageSize, maxRecords - records.length)
      const rows = await monitoredBehind(db, accountId, { number: last, most })
      for (const record of await this.#recordsOf(accountId, rows)) records.push(record)
      last = rows.at(-1)?.number ?? last
      if (rows.length < most) break
      await yieldToEventLoop()
    }
    return { records, total: await countMonitored(db, accountId) }
  }

  /** Stops monitoring; one row per distinct number, in the order of the request. */
  async remove(
    { accountId }: Caller,
    { numbers }: NumbersRequest,
  ): Promise<readonly RemovedNumber[]> {
    const { storage } = this.#options
    const rows: RemovedNumber[] = []
    for (const page of distinctPages(numbers)) {
      const removed = await writeForAccount(storage, accountId, (db) =>
        takeOffMonitor({ db, traits: storage.traits }, accountId, page),
      )
      for (const phone of page) rows.push({ phone, removed: removed.has(phone) })
      await yieldToEventLoop()
    }
    return rows
  }

  async #records(
    accountId: string,
    numbers: readonly PhoneNumber[],
  ): Promise<readonly NumberRecord[]> {
    const records: NumberRecord[] = []
    for (const page of distinctPages(numbers)) {
      if (records.length > 0) await yieldToEventLoop()
      const rows = await monitoredAmong(this.#options.storage, accountId, page)
      const known = await this.#recordsOf(accountId, [...rows.values()])
      const byPhone = new Map(known.map((record) => [record.phone, record]))
      for (const phone of page) records.push(byPhone.get(phone) ?? { phone })
    }
    return records
  }

  async #recordsOf(
    accountId: string,
    rows: readonly MonitoredRow[],
  ): Promise<readonly NumberRecord[]> {
    if (rows.length === 0) return []
    const { clock, countryOf } = this.#options
    const numbers = rows.map(({ number }) => phoneNumber(number))
    const country = await countryOf(accountId)
    const complaints = await this.#complaintsOn(accountId, numbers)
    const facts = { country, complaints, now: clock.now() }
    return rows.map((row) => recordOf(row, facts))
  }

  /** What is monitored and how it is labelled can be told without them; the log is the books' own. */
  async #complaintsOn(
    accountId: string,
    numbers: readonly PhoneNumber[],
  ): Promise<Awaited<ReturnType<ComplaintBook['complaints']>>> {
    try {
      return await this.#options.complaintsOf(accountId).complaints(numbers)
    } catch {
      return new Map()
    }
  }

  async #refuseForeignEntities(accountId: string, items: readonly NewNumber[]): Promise<void> {
    const problems: FieldProblem[] = []
    for (const [index, { legalEntityId }] of items.entries()) {
      if (legalEntityId === undefined) continue
      if (await this.#options.legalEntities.owns(accountId, legalEntityId)) continue
      problems.push({
        field: `body[${index}].LegalEntityId`,
        value: String(legalEntityId),
        rule: 'must be a legal entity of the account',
      })
    }
    if (problems.length > 0) throw invalidRequest(problems)
  }
}

/** Each number once, where it is mentioned first. */
function* distinctPages(numbers: readonly PhoneNumber[]): Generator<readonly PhoneNumber[]> {
  const seen = new Set<PhoneNumber>()
  let page: PhoneNumber[] = []
  for (const number of numbers) {
    if (seen.has(number)) continue
    seen.add(number)
    if (page.push(number) < pageSize) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

function tooMany(maxRecords: number): AppError {
  const problem = {
    field: 'maxRecords',
    value: String(maxRecords),
    rule: `must not be more than ${mostRecords}`,
  }
  const message = `Too many records requested: ${problem.field} '${problem.value}' ${problem.rule}`
  return new AppError('too-large', message, { problems: [problem] })
}
