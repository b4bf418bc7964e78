/**
 * Lists relationship and permission records and ends them. The published API has neither operation, but
 * a permission recorded by mistake must be revocable.
 */
import type { Selectable } from 'kysely'
import type { Caller } from '../../domain/caller.js'
import type { ChangeObserver } from '../../domain/change-notifier.js'
import type {
  ConfirmedCall,
  EbrRecordsRequest,
  EndedEbrRecords,
  ListedEbrRecord,
} from '../../domain/consent/consent-records.js'
import { type PhoneNumber, parsePhoneNumber } from '../../domain/phone-number.js'
import { formatDay, formatInstant, msPerHour, toUtcDay } from '../../domain/time/dates.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import { forEachInSlices, yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import { findAuthor, nameNumbers, recordAudit } from '../../storage/audit/audit-log.js'
import type { ChangeHead } from '../../storage/change-head.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { EbrRecordRow } from '../../storage/tables.js'
import type { ViewOf } from '../account-view.js'
import { notifyNumbersChanged } from '../notify-numbers-changed.js'
import {
  readCurrentLists,
  requireListAccess,
  requireScope,
  type ScopeResolver,
} from '../projects/project-scope.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import { splitIntoChunks } from '../sql/chunks.js'
import {
  selectCurrentRecords,
  selectCurrentSummaries,
  storeConfirmation,
  supersedeRecords,
} from './ebr-rows.js'

export interface EbrRecordListOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'author' | 'retryWhileLocked'>
  readonly projects: ScopeResolver
  readonly changes: ChangeObserver
  readonly viewOf: ViewOf<'clock'>
  readonly changeHead: Pick<ChangeHead, 'takeNext'>
}

const maxProblems = 20

export class EbrRecordList {
  readonly #options: EbrRecordListOptions

  constructor(options: EbrRecordListOptions) {
    this.#options = options
  }

  /** The stored records in force for the numbers, without the fixed facts of the sandbox. */
  async list(
    { accountId }: Caller,
    request: EbrRecordsRequest,
  ): Promise<readonly ListedEbrRecord[]> {
    const { storage, projects } = this.#options
    const scope = await requireScope(projects, accountId, request)
    const owner = { accountId, projectCode: scope.ebrProject }
    const found: ListedEbrRecord[] = []
    for (const chunk of splitIntoChunks(await distinctNumbers(request.numbers), storage.traits)) {
      await yieldToEventLoop()
      const rows = await selectCurrentRecords(storage.db, owner, chunk).execute()
      found.push(...rows.map(toListedRecord))
    }
    return found
  }

  /**
   * Ends the records in force for the numbers; they are kept as evidence. Resolves to their count once
   * the change is on disk and announced.
   */
  async remove(caller: Caller, request: EndedEbrRecords): Promise<number> {
    const { accountId } = caller
    const { storage, projects, changes, viewOf, changeHead } = this.#options
    const scope = await requireScope(projects, accountId, request)
    const numbers = await distinctNumbers(request.numbers)
    const { traits } = storage
    const at = viewOf(accountId).clock.now()
    const removed = await runAccountTransaction(storage, accountId, async (transaction) => {
      const { ebrProject } = await readCurrentLists(transaction, scope)
      requireListAccess(caller, ebrProject)
      const owner = { accountId, projectCode: ebrProject }
      const ids: number[] = []
      for (const chunk of splitIntoChunks(numbers, traits)) {
        await yieldToEventLoop()
        const rows = await selectCurrentSummaries(transaction, owner, chunk).execute()
        ids.push(...rows.map(({ id }) => id))
      }
      const change = await changeHead.takeNext(transaction, { accountId, numbers })
      if (ids.length === 0) return 0
      await supersedeRecords(transaction, { at, traits }, ids)
      await recordAudit(transaction, {
        by: findAuthor(storage, caller),
        accountId,
        action: 'consent-record.removed',
        subject: nameNumbers(numbers, { kind: 'consent-records', id: ebrProject }),
        after: { project: ebrProject, numbers: numbers.length, removed: ids.length },
        reason: request.reason,
        at: change.storedAt,
      })
      return ids.length
    })
    await notifyNumbersChanged(changes, accountId, numbers)
    return removed
  }

  /**
   * The person called confirmed the identity in a call: the record in force, if it is from before the call, is about whoever has the
   * number on that day, the earliest that it may have been there. No call moves the day back.
   */
  async confirmIdentity(
    caller: Caller,
    { number, calledAt, ...choice }: ConfirmedCall,
  ): Promise<void> {
    const { accountId } = caller
    const { storage, projects, changes, changeHead } = this.#options
    const scope = await requireScope(projects, accountId, choice)
    const on = toUtcDay(calledAt - earliestOffsetMs)
    const isStored = await runAccountTransaction(storage, accountId, async (transaction) => {
      const { ebrProject } = await readCurrentLists(transaction, scope)
      requireListAccess(caller, ebrProject)
      const owner = { accountId, projectCode: ebrProject }
      const isNew = await storeConfirmation(transaction, owner, { number, on, calledAt })
      if (!isNew) return false
      const change = await changeHead.takeNext(transaction, { accountId, numbers: [number] })
      await recordAudit(transaction, {
        by: findAuthor(storage, caller),
        accountId,
        action: 'consent-record.confirmed',
        subject: { kind: 'number', id: number },
        after: { project: ebrProject, confirmedOn: formatDay(on) },
        at: change.storedAt,
      })
      return true
    })
    if (isStored) await notifyNumbersChanged(changes, accountId, [number])
  }
}

/** In American Samoa it is the earliest day of the numbering plan. */
const earliestOffsetMs = 11 * msPerHour

async function distinctNumbers(texts: readonly string[]): Promise<readonly PhoneNumber[]> {
  const numbers = new Set<PhoneNumber>()
  const problems: FieldProblem[] = []
  await forEachInSlices(texts, (text) => {
    const number = parsePhoneNumber(text)
    if (number) numbers.add(number)
    else problems.push({ field: 'phoneList', value: text, rule: 'must be exactly 10 digits' })
  })
  if (problems.length > 0) throw invalidRequest(problems.slice(0, maxProblems))
  return [...numbers]
}

function toListedRecord(row: Selectable<EbrRecordRow>): ListedEbrRecord {
  return {
    phoneNumber: row.number,
    type: row.type,
    dateOfLastContact: row.contact_at === null ? row.contact_on : formatInstant(row.contact_at),
    dateObligationEnds: row.obligation_ends_on,
    referenceNum: row.reference_num,
    brand: row.brand,
    email: row.email,
    recordedOn: formatInstant(row.recorded_at),
    recordedBy: row.key_id,
  }
}
