/**
 * The internal do-not-call lists: one per project, or the Master Project's where a project inherits
 * it (spec, "Internal DNC list"). Whether a permission overrides an entry is for the scrub to say.
 */
import type { Caller, ScopeChoice } from '../../domain/caller.js'
import { announceNumbers, type ChangeListener } from '../../domain/changes.js'
import { type Clock, formatDay, type Instant } from '../../domain/clock.js'
import { asPhoneNumber, type PhoneNumber } from '../../domain/phone-number.js'
import { forEachInSlices, mapInSlices } from '../../domain/slices.js'
import { AppError, shorten } from '../../errors.js'
import type { ChangeHead } from '../../storage/change-head.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { findAccount } from '../accounts/account-rows.js'
import { type FactsOverlay, noOverlay } from '../facts-overlay.js'
import { currentLists, type ProjectScope } from '../projects/project-scope.js'
import type { ScopeResolver } from '../projects/projects.js'
import { requireOwnLists, requireScope } from '../projects/require-scope.js'
import { writeForAccount } from '../sql/account-write.js'
import type { Owner, OwnerWrite } from '../sql/rows-by-number.js'
import { ListEntries } from './internal-dnc-entries.js'
import {
  countOnList,
  lastModifiedAt,
  putOnList,
  repeatOptOut,
  storeFixed,
  takeOffList,
  touchList,
} from './internal-dnc-rows.js'

export interface InternalDncOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'patiently'>
  readonly projects: ScopeResolver
  /** Whether role Agent of an account may remove numbers. */
  readonly accounts: { agentsMayRemove(accountId: string): Promise<boolean> }
  readonly changes: ChangeListener
  /** The sandbox may stand at an instant of its own. */
  readonly clockOf: (accountId: string) => Clock
  readonly changeHead: Pick<ChangeHead, 'next'>
  readonly overlay?: FactsOverlay | undefined
}

/** Numbers as the caller wrote them, in request order. */
export interface NumbersRequest extends ScopeChoice {
  readonly numbers: readonly string[]
}

export interface AddRequest extends NumbersRequest {
  /** Skip what is not ten digits instead of refusing the whole request. */
  readonly ignoreInvalid: boolean
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
  /** `YYYY-MM-DD`, UTC; null for a list never used. */
  readonly lastModifiedOn: string | null
}

/** A number that is or was on a list; `removedAt` is null while it is on it. */
export interface InternalDncEntry {
  readonly addedAt: Instant
  readonly removedAt: Instant | null
  /** The latest opt-out, also one that came while the number was on the list already. */
  readonly optedOutAt: Instant
  /**
   * Number of the change that stored that opt-out: it ends every record with a lower
   * `EbrRecord.storedSeq`, whatever the dates. 0 where the dates alone count.
   */
  readonly optedOutSeq: number
}

export class InternalDnc {
  readonly #options: InternalDncOptions
  readonly #db: Db
  readonly #entries: ListEntries

  constructor(options: InternalDncOptions) {
    this.#options = options
    this.#db = options.storage.db
    this.#entries = new ListEntries(options.storage, options.overlay ?? noOverlay)
  }

  /**
   * Puts numbers on the list, all or none. A number that is on it keeps its dates, but the opt-out
   * is noted and ends any permission so far, unless the account ignores a repeated add. Returns when
   * it is on disk and announced.
   */
  async add(caller: Caller, request: AddRequest): Promise<void> {
    const scope = await this.#scopeFor(caller, request)
    const numbers = await readNumbers(request)
    await this.#write(caller, scope, async (transaction, write) => {
      const fixed = await this.#entries.onlyFixed(transaction, write.owner, numbers)
      const account = await findAccount(transaction, caller.accountId)
      if (account?.repeatedAdd === 'ignored') {
        const listed = new Set(fixed.map(({ number }) => number))
        const others = numbers.filter((number) => !listed.has(number))
        return await putOnList(transaction, write, others)
      }
      await storeFixed(transaction, write, fixed)
      await repeatOptOut(transaction, write, numbers)
      return await putOnList(transaction, write, numbers)
    })
    await announceNumbers(this.#options.changes, caller.accountId, numbers)
  }

  /**
   * Takes numbers off the list; one that is not on it, or is no number, changes nothing. Supervisor
   * and Administrator may; Agent only where the account says so. A key limited to projects may not
   * where the list is another project's.
   */
  async remove(caller: Caller, request: NumbersRequest): Promise<void> {
    await this.#refuseAgent(caller)
    const scope = await this.#scopeFor(caller, request)
    const numbers = await readNumbers({ ...request, ignoreInvalid: true })
    const fixed = await this.#entries.fixedAmong(caller.accountId, numbers)
    await this.#write(caller, scope, async (transaction, write) => {
      requireOwnLists(caller, write.owner.projectCode)
      return await takeOffList(transaction, write, { numbers, fixed })
    })
    await announceNumbers(this.#options.changes, caller.accountId, numbers)
  }

  /** One item per number asked, in request order, duplicates kept. */
  async status(caller: Caller, request: NumbersRequest): Promise<readonly InternalDncStatusItem[]> {
    const owner = await this.#ownerFor(caller, request)
    const numbers = await readNumbers({ ...request, ignoreInvalid: true })
    const rows = await this.#entries.read(owner, numbers)
    return await mapInSlices(request.numbers, (phone) => {
      const number = asPhoneNumber(phone)
      if (!number) return { ...offList(phone), invalid: true }
      const row = rows.get(number)
      if (!row || row.removed_at !== null) return offList(phone)
      return {
        phone,
        onList: true,
        addedOn: utcDay(row.added_at),
        lastModifiedOn: utcDay(row.modified_at),
        invalid: false,
      }
    })
  }

  /** How many distinct numbers are on the list, and the day of its latest change. */
  async count(caller: Caller, request: ScopeChoice = {}): Promise<InternalDncCount> {
    const owner = await this.#ownerFor(caller, request)
    const stored = await countOnList(this.#db, owner)
    const modifiedAt = await lastModifiedAt(this.#db, owner)
    const fixed = await this.#entries.fixedWithoutRow(owner)
    const latest = Math.max(modifiedAt, ...fixed.map((entry) => entry.addedAt))
    return {
      count: stored + fixed.length,
      lastModifiedOn: latest === Number.NEGATIVE_INFINITY ? null : utcDay(latest),
    }
  }

  /**
   * The entries of these numbers on one list (a project's code), removed ones included; a number
   * that never was on it is absent.
   */
  async entries(
    accountId: string,
    list: string,
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<string, InternalDncEntry>> {
    const entries = new Map<string, InternalDncEntry>()
    const rows = await this.#entries.read({ accountId, projectCode: list }, numbers)
    await forEachInSlices(rows.values(), (row) => {
      entries.set(row.number, {
        ...{ addedAt: row.added_at, removedAt: row.removed_at },
        ...{ optedOutAt: row.opted_out_at, optedOutSeq: row.opted_out_seq },
      })
    })
    return entries
  }

  /** `work` gives how many rows it has changed. */
  async #write(
    { accountId, keyId }: Caller,
    scope: ProjectScope,
    work: (transaction: Db, write: OwnerWrite) => Promise<number>,
  ): Promise<void> {
    const { changeHead, clockOf, storage } = this.#options
    const at = clockOf(accountId).now()
    await writeForAccount(storage, accountId, async (transaction) => {
      const { internalDncList } = await currentLists(transaction, scope)
      const owner = { accountId, projectCode: internalDncList }
      const change = await changeHead.next(transaction)
      const write = { owner, at, keyId, traits: storage.traits, ...change }
      if ((await work(transaction, write)) > 0) await touchList(transaction, write)
    })
  }

  async #scopeFor(caller: Caller, choice: ScopeChoice): Promise<ProjectScope> {
    return await requireScope(this.#options.projects, caller.accountId, choice)
  }

  async #ownerFor(caller: Caller, choice: ScopeChoice): Promise<Owner> {
    const { internalDncList } = await this.#scopeFor(caller, choice)
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

/** The distinct numbers. The error's text is the spec's, "Internal DNC list". */
async function readNumbers(request: AddRequest): Promise<readonly PhoneNumber[]> {
  const distinct = new Set<PhoneNumber>()
  await forEachInSlices(request.numbers, (text) => {
    const number = asPhoneNumber(text)
    if (number) distinct.add(number)
    else if (!request.ignoreInvalid) throw improbable(text)
  })
  return [...distinct]
}

function improbable(text: string): AppError {
  const value = shorten(text)
  return new AppError(
    'invalid-request',
    `Error importing or updating phone numbers. Check that the numbers are of a probable format:${value}`,
    { problems: [{ field: 'phoneList', value, rule: 'must be exactly 10 digits' }] },
  )
}

function offList(phone: string): InternalDncStatusItem {
  return { phone, onList: false, addedOn: null, lastModifiedOn: null, invalid: false }
}

function utcDay(at: Instant): string {
  return formatDay(Math.floor(at / 86_400_000))
}
