/** Reads the records of the numbers that an account has monitored for spam labels. */
import type { Caller } from '../../domain/caller.js'
import { type PhoneNumber, toPhoneNumber } from '../../domain/phone-number.js'
import type { Country } from '../../domain/place.js'
import type { NumberRecord, NumbersRequest, RecordPage } from '../../domain/reputation.js'
import type { ComplaintSource } from '../../domain/spam-labels.js'
import type { Clock } from '../../domain/time/clock.js'
import { AppError } from '../../errors.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import {
  countMonitored,
  findMonitored,
  findMonitoredAfter,
  type MonitoredRow,
} from './monitored-rows.js'
import { toNumberRecord } from './number-record.js'

export interface NumberRecordsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits'>
  readonly clock: Clock
  readonly countryOf: (accountId: string) => Promise<Country>
  /** The source logs its own failures; the record then has no complaints. */
  readonly complaintSourceFor: (accountId: string) => ComplaintSource
}

/** A larger answer would delay everything else in the process. */
export const maxRecordsPerReply = 50_000

/** Numbers read or written before other work gets a turn. */
const pageSize = 256

export class NumberRecords {
  readonly #options: NumberRecordsOptions

  constructor(options: NumberRecordsOptions) {
    this.#options = options
  }

  /** One record per distinct number, in the order of the request. */
  async get({ accountId }: Caller, { numbers }: NumbersRequest): Promise<readonly NumberRecord[]> {
    return await this.find(accountId, numbers)
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

  protected async find(
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
}

/** Each number once, at its first position. */
export function* distinctPages(numbers: readonly PhoneNumber[]): Generator<readonly PhoneNumber[]> {
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
