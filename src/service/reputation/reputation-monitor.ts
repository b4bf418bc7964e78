/**
 * The numbers that an account has monitored for spam labels (spec, "Reputation monitor API" and
 * "Reputation endpoints"). `label-checks.ts` checks the labels.
 */
import type { Caller } from '../../domain/caller.js'
import { type PhoneNumber, toPhoneNumber } from '../../domain/phone-number.js'
import type { Country } from '../../domain/place.js'
import type {
  NewNumber,
  NumberRecord,
  NumbersRequest,
  RecordPage,
  RemovedNumber,
} from '../../domain/reputation.js'
import type { ComplaintSource } from '../../domain/spam-labels.js'
import type { Clock } from '../../domain/time/clock.js'
import { AppError, type FieldProblem, invalidRequest } from '../../errors.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import {
  countMonitored,
  deleteMonitored,
  findMonitored,
  findMonitoredAfter,
  insertMonitored,
  type MonitoredRow,
} from './monitored-rows.js'
import { toNumberRecord } from './number-record.js'

export interface ReputationMonitorOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>
  readonly clock: Clock
  /** Strictly increasing, so that a number that is added again gets a new time. */
  readonly timestamps: Clock
  /** From 0 up to, not including, 1: spreads the first checks. */
  readonly random: () => number
  readonly firstCheckWithinMs: number
  readonly countryOf: (accountId: string) => Promise<Country>
  readonly legalEntities: { owns(accountId: string, id: number): Promise<boolean> }
  /** The source logs its own failures; the record then has no complaints. */
  readonly complaintSourceFor: (accountId: string) => ComplaintSource
  /** Called when new numbers are due for a check. */
  readonly onAdded?: () => void
}

/** A larger answer would delay everything else in the process. */
export const maxRecordsPerReply = 50_000

/** Numbers read or written before other work gets a turn. */
const pageSize = 256

export class ReputationMonitor {
  readonly #options: ReputationMonitorOptions

  constructor(options: ReputationMonitorOptions) {
    this.#options = options
  }

  /**
   * Starts monitoring all of the numbers or none; returns one record per distinct number, in request
   * order. A number that is already monitored keeps its history.
   */
  async add(
    { accountId }: Caller,
    { items }: { readonly items: readonly NewNumber[] },
  ): Promise<readonly NumberRecord[]> {
    await this.#requireOwnEntities(accountId, items)
    const { storage, clock, timestamps, random, firstCheckWithinMs } = this.#options
    const numbers = mergeByNumber(items)
    const [addedAt, now] = [timestamps.now(), clock.now()]
    const rows = numbers.map((item) => ({
      account_id: accountId,
      number: item.phone,
      label: item.label ?? null,
      legal_entity_id: item.legalEntityId ?? null,
      service_type: item.serviceType ?? null,
      added_at: addedAt,
      due_at: now + Math.floor(random() * firstCheckWithinMs),
    }))
    await runAccountTransaction(storage, accountId, (transaction) =>
      insertMonitored({ db: transaction, traits: storage.traits }, rows),
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

  /** The first `maxRecords` numbers of the account, in ascending order. Throws `too-large` beyond 50,000. */
  async all(
    { accountId }: Caller,
    { maxRecords }: { readonly maxRecords: number },
  ): Promise<RecordPage> {
    if (maxRecords > maxRecordsPerReply) throw tooManyRecords(maxRecords)
    const { db } = this.#options.storage
    const records: NumberRecord[] = []
    let last = ''
    while (records.length < maxRecords) {
      const limit = Math.min(pageSize, maxRecords - records.length)
      const rows = await findMonitoredAfter(db, accountId, { number: last, limit })
      for (const record of await this.#toRecords(accountId, rows)) records.push(record)
      last = rows.at(-1)?.number ?? last
      if (rows.length < limit) break
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
      const removed = await runAccountTransaction(storage, accountId, (db) =>
        deleteMonitored({ db, traits: storage.traits }, accountId, page),
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
      const rows = await findMonitored(this.#options.storage, accountId, page)
      const known = await this.#toRecords(accountId, rows)
      const byPhone = new Map(known.map((record) => [record.phone, record]))
      for (const phone of page) records.push(byPhone.get(phone) ?? { phone })
    }
    return records
  }

  async #toRecords(
    accountId: string,
    rows: readonly MonitoredRow[],
  ): Promise<readonly NumberRecord[]> {
    if (rows.length === 0) return []
    const { clock, countryOf } = this.#options
    const numbers = rows.map(({ number }) => toPhoneNumber(number))
    const country = await countryOf(accountId)
    const complaints = await this.#readComplaints(accountId, numbers)
    const facts = { country, complaints, now: clock.now() }
    return rows.map((row) => toNumberRecord(row, facts))
  }

  /** A record is useful without complaints; their source logs the failure. */
  async #readComplaints(
    accountId: string,
    numbers: readonly PhoneNumber[],
  ): Promise<Awaited<ReturnType<ComplaintSource['complaints']>>> {
    try {
      return await this.#options.complaintSourceFor(accountId).complaints(numbers)
    } catch {
      return new Map()
    }
  }

  async #requireOwnEntities(accountId: string, items: readonly NewNumber[]): Promise<void> {
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

/** Each number once, at its first position. */
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

function tooManyRecords(maxRecords: number): AppError {
  const problem = {
    field: 'maxRecords',
    value: String(maxRecords),
    rule: `must not be more than ${maxRecordsPerReply}`,
  }
  const message = `Too many records requested: ${problem.field} '${problem.value}' ${problem.rule}`
  return new AppError('too-large', message, { problems: [problem] })
}

/** If a number is given more than once, the last value of each field is used. */
function mergeByNumber(items: readonly NewNumber[]): readonly NewNumber[] {
  const merged = new Map<PhoneNumber, NewNumber>()
  for (const item of items) {
    const before = merged.get(item.phone)
    merged.set(item.phone, {
      phone: item.phone,
      label: item.label ?? before?.label,
      legalEntityId: item.legalEntityId ?? before?.legalEntityId,
      serviceType: item.serviceType ?? before?.serviceType,
    })
  }
  return [...merged.values()]
}
