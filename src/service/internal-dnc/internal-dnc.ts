/**
 * The internal do-not-call lists: one per project, or the Master Project's if a project inherits it
 * (spec, "Internal DNC list"). Stored rows override the fixed facts of the sandbox. The scrub decides
 * whether a permission overrides an entry.
 */

import type { Caller, Requester, ScopeChoice } from '../../domain/caller.js'
import type { ChangeObserver } from '../../domain/change-notifier.js'
import type { MaybePromise } from '../../domain/compliance.js'
import {
  allListsOfAccount,
  type OptOutStatement,
  type RecordedOptOut,
} from '../../domain/consent/consent-records.js'
import { type PhoneNumber, parsePhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay, toUtcDay } from '../../domain/time/dates.js'
import { AppError, truncate } from '../../errors.js'
import type { InternalDncEntry } from '../../law/records/opt-out.js'
import { monotonicSeconds } from '../../runtime/runtime.js'
import { forEachInSlices, mapInSlices } from '../../runtime/yield-to-event-loop.js'
import { findAuthor, recordAudits } from '../../storage/audit/audit-log.js'
import type { ChangeHead, ChangeStamp } from '../../storage/change-head.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import type { FixedFacts, ViewOf } from '../account-view.js'
import { findAccount } from '../accounts/accounts.js'
import type { ChangeRequests } from '../changes/change-requests.js'
import { notifyNumbersChanged } from '../notify-numbers-changed.js'
import {
  type ProjectScope,
  readCurrentLists,
  requireListAccess,
  requireScope,
  type ScopeResolver,
} from '../projects/project-scope.js'
import { runAccountTransaction, runOptOutTransaction } from '../sql/account-transaction.js'
import type { RowOwner, RowWrite } from '../sql/rows-by-number.js'
import { NumberRowReader, type RowStorage } from '../sql/rows-by-number.js'
import type { AcknowledgedOptOut } from './acknowledged-opt-outs.js'
import type { InternalDncEntrySource } from './internal-dnc-entry.js'
import type { FixedEntry, InternalDncListEntry } from './internal-dnc-rows.js'
import {
  beforeFirstWrite,
  countOnList,
  insertElsewhere,
  insertEntries,
  insertFixedEntries,
  keepForCenter,
  markRemoved,
  readLastModified,
  selectActiveLists,
  selectEntries,
  touchList,
  updateOptOut,
} from './internal-dnc-rows.js'
import { insertStatement } from './opt-out-statements.js'
import { refuseOptedOutSince, toRemovalChange } from './removal-change.js'

export interface InternalDncOptions {
  readonly storage: RowStorage & Pick<OpenDatabase, 'author' | 'retryWhileLocked'>
  readonly projects: ScopeResolver
  /** Whether role Agent of an account may remove numbers. */
  readonly accounts: { agentsMayRemove(accountId: string): Promise<boolean> }
  readonly changes: ChangeObserver
  readonly changeRequests: Pick<ChangeRequests, 'require'>
  readonly viewOf: ViewOf<'clock' | 'fixedFacts'>
  readonly changeHead: Pick<ChangeHead, 'takeNext'>
  /** With the seconds from an opt-out's arrival here until it was announced. */
  readonly onOptOutEnforced?: ((seconds: number) => void) | undefined
  /** Before an opt-out is acknowledged, if several servers share the database. */
  readonly onOptOutStored?: ((optOut: AcknowledgedOptOut) => MaybePromise<void>) | undefined
}

/** Numbers as received, in request order. */
export interface InternalDncNumbers extends ScopeChoice {
  readonly numbers: readonly string[]
}

export interface AddRequest extends InternalDncNumbers {
  /** Skip entries that are not ten digits instead of rejecting the whole request. */
  readonly ignoreInvalid: boolean
  /** Of a request with one number. A statement that is stored already changes nothing. */
  readonly statement?: OptOutStatement | undefined
  /** On the list of every project of the account, not only on that of the scope. */
  readonly onAllLists?: boolean | undefined
}

/** Spec, "Internal DNC status item". Days are UTC. */
export interface InternalDncStatusItem {
  readonly phone: string
  readonly onList: boolean
  readonly addedOn: string | null
  readonly lastModifiedOn: string | null
  /** The text is not exactly ten digits. */
  readonly invalid: boolean
}

export interface InternalDncCount {
  readonly count: number
  /** `YYYY-MM-DD`, UTC; null for a list that was never changed. */
  readonly lastModifiedOn: string | null
}

export class InternalDnc implements InternalDncEntrySource {
  readonly #options: InternalDncOptions
  readonly #db: Db
  readonly #rows: NumberRowReader<InternalDncListEntry>

  constructor(options: InternalDncOptions) {
    this.#options = options
    this.#db = options.storage.db
    this.#rows = new NumberRowReader(options.storage, selectEntries)
  }

  /**
   * Adds all numbers to the list or none. A number that is already on it keeps its dates, but the
   * opt-out is recorded and ends any earlier permission, unless the account ignores repeated adds and this one has no words.
   * Resolves when the change is on disk and announced, with what is stored of the statement.
   */
  async add(caller: Requester, request: AddRequest): Promise<RecordedOptOut | undefined> {
    const startedSeconds = monotonicSeconds()
    // Opt-outs with a statement come from the endpoint that names the project so.
    const { statement, onAllLists } = request
    const scope = await this.#resolveScope(caller, request, statement && 'projectId')
    const numbers = await readNumbers(request)
    let recorded: RecordedOptOut | undefined
    const add = async (transaction: Db, write: RowWrite) => {
      if (statement) {
        recorded = await insertStatement(transaction, write, numbers[0] ?? '', statement)
        if (recorded.isRepeated) return undefined
      }
      if (onAllLists) await this.#addElsewhere(transaction, write, numbers)
      if (write.traits.isCopy) {
        await keepForCenter(transaction, write, { project: scope.projectCode, numbers })
      }
      const isStated = statement !== undefined
      const added = await this.#addTo(transaction, write, { numbers, isStated })
      const { scope: reach, channel, source, decisionId } = statement ?? {}
      const after = { added, onAllLists, scope: reach, channel, source, decisionId }
      return { changed: added, action: 'opt-out.added', after }
    }
    const write = { scope, numbers, run: runOptOutTransaction }
    const { seq, storedAt: at } = await this.#write(caller, write, add)
    if (this.#options.storage.traits.isShared) {
      const { accountId, keyId } = caller
      const { projectCode } = scope
      const optOut = { accountId, keyId, projectCode, onAllLists, numbers, seq, at }
      await this.#options.onOptOutStored?.(optOut)
    }
    await notifyNumbersChanged(this.#options.changes, caller.accountId, numbers)
    this.#options.onOptOutEnforced?.(monotonicSeconds() - startedSeconds)
    return recorded
  }

  /** Returns how many rows were changed. */
  async #addTo(
    transaction: Db,
    write: RowWrite,
    { numbers, isStated }: AddedEntries,
  ): Promise<number> {
    const { accountId } = write.owner
    const fixed = await this.#excludeStored(
      transaction,
      write.owner,
      await this.#findFixed(accountId, numbers),
    )
    const account = await findAccount(transaction, accountId)
    if (account?.repeatedAdd === 'ignored' && !isStated) {
      const listed = new Set(fixed.map(({ number }) => number))
      const others = numbers.filter((number) => !listed.has(number))
      return await insertEntries(transaction, write, others)
    }
    await insertFixedEntries(transaction, write, fixed)
    await updateOptOut(transaction, write, numbers)
    return await insertEntries(transaction, write, numbers)
  }

  /** Adds them to all other lists of the account, also to those of projects that are not active. */
  async #addElsewhere(
    transaction: Db,
    write: RowWrite,
    numbers: readonly PhoneNumber[],
  ): Promise<void> {
    const { accountId } = write.owner
    const fixed = await this.#findFixed(accountId, numbers)
    for (const number of numbers) {
      const fact = fixed.find((entry) => entry.number === number)
      await insertElsewhere(transaction, write, { number, fixedAt: fact?.addedAt })
    }
    if (!write.traits.isCopy) return
    // List by list, as any center understands, and once for the account, since the center may have other lists.
    for (const { code: project } of await selectActiveLists(transaction, accountId)) {
      const owner = { accountId, projectCode: project }
      await keepForCenter(transaction, { ...write, owner }, { project, numbers })
    }
    await keepForCenter(transaction, write, { project: allListsOfAccount, numbers })
  }

  /**
   * Removes numbers from the list; numbers that are malformed or not listed are ignored. Throws
   * `forbidden` for role Agent unless the account allows it, and for a key limited to projects if the
   * list belongs to another project; `approval-needed` if a second person must approve it.
   */
  async remove(
    caller: Caller,
    { reason, ...request }: InternalDncNumbers & { readonly reason?: string | undefined },
  ): Promise<void> {
    await this.#refuseAgent(caller)
    const scope = await this.#resolveScope(caller, request)
    requireListAccess(caller, scope.internalDncList)
    const numbers = await readNumbers({ ...request, ignoreInvalid: true })
    const change = toRemovalChange({ ...request, numbers, reason })
    if (change) await this.#options.changeRequests.require(caller, change)
    const fixed = await this.#findFixed(caller.accountId, numbers)
    const run = runAccountTransaction
    await this.#write(caller, { scope, numbers, run }, async (transaction, write) => {
      requireListAccess(caller, write.owner.projectCode)
      if (caller.change) await refuseOptedOutSince(transaction, write, numbers, caller.change)
      const changed = await markRemoved(transaction, write, { numbers, fixed })
      if (changed === 0) return undefined
      return { changed, action: 'opt-out.removed', after: { removed: changed }, reason }
    })
    await notifyNumbersChanged(this.#options.changes, caller.accountId, numbers)
  }

  /** One item per requested number, in request order, duplicates kept. */
  async readStatus(
    caller: Caller,
    request: InternalDncNumbers,
  ): Promise<readonly InternalDncStatusItem[]> {
    const owner = await this.#resolveOwner(caller, request)
    const numbers = await readNumbers({ ...request, ignoreInvalid: true })
    const rows = await this.#read(owner, numbers)
    return await mapInSlices(request.numbers, (phone) => {
      const number = parsePhoneNumber(phone)
      if (!number) return { ...toUnlistedItem(phone), invalid: true }
      const row = rows.get(number)
      if (!row || row.removed_at !== null) return toUnlistedItem(phone)
      return {
        phone,
        onList: true,
        addedOn: utcDay(row.added_at),
        lastModifiedOn: utcDay(row.modified_at),
        invalid: false,
      }
    })
  }

  /** The count of distinct numbers on the list, and the day of its latest change. */
  async count(caller: Caller, request: ScopeChoice = {}): Promise<InternalDncCount> {
    const owner = await this.#resolveOwner(caller, request)
    const stored = await countOnList(this.#db, owner)
    const modifiedAt = await readLastModified(this.#db, owner)
    const { fixedFacts } = this.#options.viewOf(caller.accountId)
    const fixedNumbers = [...(fixedFacts?.internalDncNumbers() ?? [])]
    const fixed = await this.#excludeStored(
      this.#db,
      owner,
      await this.#findFixed(caller.accountId, fixedNumbers),
    )
    const latest = Math.max(modifiedAt, ...fixed.map((entry) => entry.addedAt))
    return {
      count: stored + fixed.length,
      lastModifiedOn: latest === Number.NEGATIVE_INFINITY ? null : utcDay(latest),
    }
  }

  findEntry(
    accountId: string,
    list: string,
    number: PhoneNumber,
    fixedFacts: FixedFacts | undefined,
  ): MaybePromise<InternalDncEntry | undefined> {
    const row = this.#rows.find({ accountId, projectCode: list }, number)
    const toListed = (stored: InternalDncListEntry | undefined) => {
      if (stored) return toEntry(stored)
      const fixed = fixedFacts?.internalDncEntry(number)
      return fixed && toEntry(toFixedRow({ number, addedAt: fixed.addedAt }))
    }
    return row instanceof Promise ? row.then(toListed) : toListed(row)
  }

  async findEntries(
    accountId: string,
    list: string,
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<string, InternalDncEntry>> {
    const entries = new Map<string, InternalDncEntry>()
    const rows = await this.#read({ accountId, projectCode: list }, numbers)
    await forEachInSlices(rows.values(), (row) => entries.set(row.number, toEntry(row)))
    return entries
  }

  /** Entries keyed by number, including removed ones. */
  async #read(
    owner: RowOwner,
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<string, InternalDncListEntry>> {
    const entries = new Map<string, InternalDncListEntry>()
    const rows = await this.#rows.read(this.#db, owner, numbers)
    await forEachInSlices(rows, (row) => entries.set(row.number, row))
    for (const fixed of await this.#findFixed(owner.accountId, numbers)) {
      if (!entries.has(fixed.number)) entries.set(fixed.number, toFixedRow(fixed))
    }
    return entries
  }

  /** Those of the numbers that fixed facts put on the list, regardless of stored rows. */
  async #findFixed(
    accountId: string,
    numbers: readonly PhoneNumber[],
  ): Promise<readonly FixedEntry[]> {
    const { fixedFacts } = this.#options.viewOf(accountId)
    if (!fixedFacts) return []
    const fixed: FixedEntry[] = []
    await forEachInSlices(numbers, (number) => {
      const entry = fixedFacts.internalDncEntry(number)
      if (entry) fixed.push({ number, addedAt: entry.addedAt })
    })
    return fixed
  }

  /** Those of the fixed entries that have no stored row. */
  async #excludeStored(
    db: Db,
    owner: RowOwner,
    fixed: readonly FixedEntry[],
  ): Promise<readonly FixedEntry[]> {
    if (fixed.length === 0) return fixed
    const numbers = fixed.map((entry) => entry.number)
    const rows = await this.#rows.read(db, owner, numbers)
    const stored = new Set(rows.map((row) => row.number))
    return fixed.filter((entry) => !stored.has(entry.number))
  }

  /** `work` returns what it did, unless that is nothing. */
  async #write(
    caller: Requester,
    { scope, numbers, run }: ListWrite,
    work: (transaction: Db, write: RowWrite) => Promise<ListChange | undefined>,
  ): Promise<ChangeStamp> {
    const { accountId, keyId } = caller
    const { changeHead, viewOf, storage } = this.#options
    const at = viewOf(accountId).clock.now()
    return await run(storage, accountId, async (transaction) => {
      const { internalDncList } = await readCurrentLists(transaction, scope)
      const owner = { accountId, projectCode: internalDncList }
      const change = await changeHead.takeNext(transaction, { accountId, numbers })
      const write = { owner, at, keyId, traits: storage.traits, ...change }
      const done = await work(transaction, write)
      if (!done) return change
      if (done.changed > 0) await touchList(transaction, write)
      const entry = {
        by: findAuthor(storage, caller),
        accountId,
        action: done.action,
        after: { list: internalDncList, numbers: numbers.length, ...done.after },
        reason: done.reason,
        at: change.storedAt,
      }
      const subjects = numbers.map((id) => ({ kind: 'number', id }))
      await recordAudits(transaction, entry, subjects)
      return change
    })
  }

  async #resolveScope(caller: Requester, choice: ScopeChoice, field?: 'projectId') {
    return await requireScope(this.#options.projects, caller.accountId, choice, field)
  }

  async #resolveOwner(caller: Caller, choice: ScopeChoice): Promise<RowOwner> {
    const { internalDncList } = await this.#resolveScope(caller, choice)
    return { accountId: caller.accountId, projectCode: internalDncList }
  }

  /** Spec, "Internal DNC list": role rule of `remove`, with its exact text. */
  async #refuseAgent(caller: Caller): Promise<void> {
    if (caller.role !== 'Agent') return
    if (await this.#options.accounts.agentsMayRemove(caller.accountId)) return
    throw new AppError(
      'forbidden',
      'You do not have sufficient permissions to perform: delete_pdnc',
    )
  }
}

interface AddedEntries {
  readonly numbers: readonly PhoneNumber[]
  /** Somebody has said it, so that it is an opt-out also if the number is on the list already. */
  readonly isStated: boolean
}

interface ListChange {
  /** How many entries of the list. */
  readonly changed: number
  readonly action: string
  readonly after: object
  readonly reason?: string | undefined
}

interface ListWrite {
  readonly scope: ProjectScope
  readonly numbers: readonly PhoneNumber[]
  readonly run: typeof runAccountTransaction
}

/** Parses the distinct numbers. The text of its error is prescribed by the spec, "Internal DNC list". */
async function readNumbers(request: AddRequest): Promise<readonly PhoneNumber[]> {
  const distinct = new Set<PhoneNumber>()
  await forEachInSlices(request.numbers, (text) => {
    const number = parsePhoneNumber(text)
    if (number) distinct.add(number)
    else if (!request.ignoreInvalid) throw invalidNumber(text)
  })
  return [...distinct]
}

function invalidNumber(text: string): AppError {
  const value = truncate(text)
  return new AppError(
    'invalid-request',
    `Error importing or updating phone numbers. Check that the numbers are of a probable format:${value}`,
    { problems: [{ field: 'phoneList', value, rule: 'must be exactly 10 digits' }] },
  )
}

function toUnlistedItem(phone: string): InternalDncStatusItem {
  return { phone, onList: false, addedOn: null, lastModifiedOn: null, invalid: false }
}

function utcDay(at: Instant): string {
  return formatDay(toUtcDay(at))
}

function toEntry(row: InternalDncListEntry): InternalDncEntry {
  return {
    addedAt: row.added_at,
    removedAt: row.removed_at,
    optedOutAt: row.opted_out_at,
    optedOutSeq: row.opted_out_seq,
    ...(row.opted_out_by_date === 1 && { optedOutByDate: true }),
  }
}

function toFixedRow({ number, addedAt }: FixedEntry): InternalDncListEntry {
  return {
    number,
    added_at: addedAt,
    modified_at: addedAt,
    removed_at: null,
    opted_out_at: addedAt,
    stored_at: beforeFirstWrite,
    opted_out_seq: beforeFirstWrite,
    opted_out_by_date: 0,
    key_id: null,
  }
}
