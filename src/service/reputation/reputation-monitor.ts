/**
 * The numbers that an account has monitored for spam labels (spec, "Reputation monitor API" and
 * "Reputation endpoints"). `label-checks.ts` checks the labels.
 */
import type { Caller } from '../../domain/caller.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type {
  NewNumber,
  NumberRecord,
  NumbersRequest,
  RemovedNumber,
} from '../../domain/reputation.js'
import type { Clock } from '../../domain/time/clock.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import { findAuthor, nameNumbers, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import { deleteMonitored, insertMonitored } from './monitored-rows.js'
import { distinctPages, NumberRecords, type NumberRecordsOptions } from './number-records.js'

export interface ReputationMonitorOptions extends NumberRecordsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'author' | 'retryWhileLocked'>
  /** Strictly increasing, so that a number that is added again gets a new time. */
  readonly timestamps: Clock
  /** From 0 up to, not including, 1: spreads the first checks. */
  readonly random: () => number
  readonly firstCheckWithinMs: number
  readonly legalEntities: { owns(accountId: string, id: number): Promise<boolean> }
  /** Called when new numbers are due for a check. */
  readonly onAdded?: () => void
}

/** Adds and removes numbers. */
export class ReputationMonitor extends NumberRecords {
  readonly #options: ReputationMonitorOptions

  constructor(options: ReputationMonitorOptions) {
    super(options)
    this.#options = options
  }

  /**
   * Starts monitoring all of the numbers or none; returns one record per distinct number, in request
   * order. A number that is already monitored keeps its history.
   */
  async add(
    caller: Caller,
    { items }: { readonly items: readonly NewNumber[] },
  ): Promise<readonly NumberRecord[]> {
    const { accountId } = caller
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
    await runAccountTransaction(storage, accountId, async (transaction) => {
      await insertMonitored({ db: transaction, traits: storage.traits }, rows)
      const phones = numbers.map(({ phone }) => phone)
      await this.#record(transaction, caller, { action: 'monitored-number.added', phones })
    })
    this.#options.onAdded?.()
    return await this.find(
      accountId,
      numbers.map(({ phone }) => phone),
    )
  }

  /** Stops monitoring; one row per distinct number, in the order of the request. */
  async remove(caller: Caller, { numbers }: NumbersRequest): Promise<readonly RemovedNumber[]> {
    const { accountId } = caller
    const { storage } = this.#options
    const rows: RemovedNumber[] = []
    for (const page of distinctPages(numbers)) {
      const removed = await runAccountTransaction(storage, accountId, async (db) => {
        const phones = await deleteMonitored({ db, traits: storage.traits }, accountId, page)
        if (phones.size > 0) {
          const change = { action: 'monitored-number.removed', phones: [...phones] }
          await this.#record(db, caller, change)
        }
        return phones
      })
      for (const phone of page) rows.push({ phone, removed: removed.has(phone) })
      await yieldToEventLoop()
    }
    return rows
  }

  #record(
    db: Db,
    caller: Caller,
    { action, phones }: { readonly action: string; readonly phones: readonly string[] },
  ): Promise<void> {
    const { storage, clock } = this.#options
    return recordAudit(db, {
      by: findAuthor(storage, caller),
      accountId: caller.accountId,
      action,
      subject: nameNumbers(phones, { kind: 'monitored-numbers', id: '' }),
      after: { numbers: phones.length },
      at: clock.now(),
    })
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
