/**
 * Existing business relationships and consents (spec, "Existing business relationship and
 * consent"): one record in force per number and project, replaced ones kept as evidence. How long
 * a record holds is in `ebr-expiry.ts`; what it permits is for the scrub to say.
 */
import type { Caller } from '../../domain/caller.js'
import { announceNumbers, type ChangeListener } from '../../domain/changes.js'
import { type Clock, type Instant, type LocalDay, parseDay } from '../../domain/clock.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { CandidatePlace, NumberingPlan } from '../../domain/place.js'
import { forEachInSlices, mapInSlices, yieldToEventLoop } from '../../domain/slices.js'
import type { ChangeHead } from '../../storage/change-head.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { findAccount } from '../accounts/account-rows.js'
import { type FactsOverlay, noOverlay } from '../facts-overlay.js'
import { currentLists, type ProjectLists } from '../projects/project-scope.js'
import type { ScopeResolver } from '../projects/projects.js'
import { requireOwnLists, requireScope } from '../projects/require-scope.js'
import { recordNames } from '../scrub/relationship.js'
import type { InternalDncEntries } from '../scrub/scrub.js'
import { writeForAccount } from '../sql/account-write.js'
import { type Owner, RowsByNumber } from '../sql/rows-by-number.js'
import { type EbrLaw, type EbrTerms, outlasts } from './ebr-expiry.js'
import { type EbrFact, type EbrInput, readEbrList } from './ebr-input.js'
import { insertRecords, type StoredEbr, storedInForce, supersede } from './ebr-rows.js'
import { ebrWarning } from './ebr-warnings.js'

/** The record in force for a number, expired or not. */
export interface EbrRecord extends EbrTerms {
  /** To the second, where the caller gave a time of day. */
  readonly contactAt: Instant | undefined
  /** Number of the change that stored it; orders it against opt-outs. 0 for a fixed fact. */
  readonly storedSeq: number
  /** Whether it may lift an opt-out; judged when it was stored, and not again. */
  readonly liftsOptOut: boolean
}

export interface ConsentOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'patiently'>
  readonly projects: ScopeResolver
  readonly changes: ChangeListener
  /** The sandbox may stand at an instant of its own. */
  readonly clockOf: (accountId: string) => Clock
  readonly changeHead: Pick<ChangeHead, 'next'>
  readonly law: EbrLaw
  /** Tells the region whose expiry breaks a tie. */
  readonly numberingPlan: Pick<NumberingPlan, 'lookup'>
  readonly overlay?: FactsOverlay | undefined
  /** The internal lists, for what is said of a record that does not lift an opt-out. */
  readonly internalDnc: InternalDncEntries
}

export interface EbrRequest {
  /** Keep a record that expires later than the new one. */
  readonly keepBetterEbr: boolean
  readonly projectId?: string | undefined
  /** Implies its project. */
  readonly campaignId?: string | undefined
  readonly records: readonly EbrInput[]
}

export interface RecordedEbr {
  /** One per record and number. */
  readonly stored: number
  /** Of records that cannot act: the number and why, in no particular order. */
  readonly warnings: readonly string[]
}

export class Consent {
  readonly #options: ConsentOptions
  readonly #db: Db
  readonly #overlay: FactsOverlay
  readonly #rows: RowsByNumber<StoredEbr>

  constructor(options: ConsentOptions) {
    this.#options = options
    this.#db = options.storage.db
    this.#overlay = options.overlay ?? noOverlay
    this.#rows = new RowsByNumber(options.storage.traits, (owner, numbers) =>
      storedInForce(options.storage.db, owner, numbers),
    )
  }

  /**
   * Stores all records or none; a new record replaces the one in force unless `keepBetterEbr` says
   * that one outlasts it. A record of a key that may not remove an opt-out lifts none: of an Agent's
   * where the account does not let Agents remove numbers, and of one without the right `records`. Returns when the change is on disk and announced.
   */
  async record(caller: Caller, request: EbrRequest): Promise<RecordedEbr> {
    const { accountId, keyId, role, limits } = caller
    const scope = await requireScope(this.#options.projects, accountId, request)
    const clock = this.#options.clockOf(accountId)
    const facts = await readEbrList(request.records, clock)
    const numbers = await distinctNumbers(facts)
    const at = clock.now()
    const { changeHead, storage } = this.#options
    const written = await writeForAccount(storage, accountId, async (transaction) => {
      const lists = await currentLists(transaction, scope)
      const { ebrProject } = lists
      requireOwnLists(caller, ebrProject)
      const account = await findAccount(transaction, accountId)
      const mayRemove = role !== 'Agent' || account?.agentsMayRemove === true
      const liftsOptOut = mayRemove && limits.rights.has('records')
      const owner = { accountId, projectCode: ebrProject }
      const stored = await this.#storedBy(transaction, owner, numbers)
      const { keepBetterEbr: keepBetter } = request
      const outcome = await this.#rank(accountId, { facts, stored, keepBetter })
      const change = await changeHead.next(transaction)
      const write = { owner, at, keyId, traits: storage.traits, ...change }
      await supersede(transaction, write, outcome.replaced)
      await insertRecords(transaction, write, { ...outcome, liftsOptOut })
      return { lists, outcome }
    })
    await announceNumbers(this.#options.changes, accountId, numbers)
    const warnings = await this.#warnings(accountId, { ...written, numbers, at })
    return { stored: facts.length, warnings }
  }

  /** The record in force of each number, by number; whether it has expired is not looked at. */
  async inForce(
    accountId: string,
    ebrProject: string,
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<string, EbrRecord>> {
    const owner = { accountId, projectCode: ebrProject }
    const stored = await this.#storedBy(this.#db, owner, numbers)
    const records = new Map<string, EbrRecord>()
    await forEachInSlices(numbers, (number) => {
      const row = stored.get(number)
      const record = row ? recordOf(row) : this.#overlay.ebrRecord(accountId, number)
      if (record) records.set(number, record)
    })
    return records
  }

  /** Judged after the write, as the very next scrub would. */
  async #warnings(accountId: string, written: Written): Promise<readonly string[]> {
    const { lists, outcome, numbers, at } = written
    const { internalDnc, law } = this.#options
    const entries = await internalDnc.entries(accountId, lists.internalDncList, numbers)
    const records = await this.inForce(accountId, lists.ebrProject, numbers)
    const warnings = await mapInSlices(outcome.losers, ({ number, type }) => {
      const inForce = recordNames[records.get(number)?.type ?? type]
      return `${number}: the ${recordNames[type]} record is not in force: a ${inForce} record is kept`
    })
    for (const { number } of outcome.winners) {
      const turn = yieldToEventLoop()
      if (turn) await turn
      const [record, entry] = [records.get(number), entries.get(number)]
      if (!record || (record.type === 'P' && !entry)) continue
      const places = this.#placesOf(number)
      const warning = ebrWarning({ record, entry, places, at, law })
      if (warning !== undefined) warnings.push(`${number}: ${warning}`)
    }
    return warnings
  }

  #placesOf(number: PhoneNumber): readonly CandidatePlace[] {
    const facts = this.#options.numberingPlan.lookup(number)
    return facts.status === 'ok' ? facts.place.candidates : []
  }

  async #storedBy(
    db: Db,
    owner: Owner,
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<string, StoredEbr>> {
    const stored = new Map<string, StoredEbr>()
    const rows = await this.#rows.read(db, owner, numbers)
    await forEachInSlices(rows, (row) => stored.set(row.number, row))
    return stored
  }

  /** Goes through the facts in request order, so that of two for one number the later may win. */
  async #rank(accountId: string, { facts, stored, keepBetter }: Contest): Promise<Outcome> {
    const winners = new Map<PhoneNumber, EbrFact>()
    const losers: EbrFact[] = []
    await forEachInSlices(facts, (fact) => {
      const rival = winners.get(fact.number)
      const row = stored.get(fact.number)
      const kept = rival ?? (row ? recordOf(row) : this.#overlay.ebrRecord(accountId, fact.number))
      if (keepBetter && kept && this.#outlasts(kept, fact)) return void losers.push(fact)
      if (rival) losers.push(rival)
      winners.set(fact.number, fact)
    })
    const replaced: number[] = []
    await forEachInSlices(winners.keys(), (number) => {
      const row = stored.get(number)
      if (row) replaced.push(row.id)
    })
    return { winners: [...winners.values()], losers, replaced }
  }

  #outlasts(kept: EbrTerms, fact: EbrFact): boolean {
    const regions = this.#placesOf(fact.number).map((place) => place.region)
    return outlasts(kept, fact, { regions, law: this.#options.law })
  }
}

async function distinctNumbers(facts: readonly EbrFact[]): Promise<readonly PhoneNumber[]> {
  const distinct = new Set<PhoneNumber>()
  await forEachInSlices(facts, ({ number }) => distinct.add(number))
  return [...distinct]
}

interface Written {
  readonly lists: ProjectLists
  readonly outcome: Outcome
  readonly numbers: readonly PhoneNumber[]
  readonly at: Instant
}

interface Contest {
  readonly facts: readonly EbrFact[]
  readonly stored: ReadonlyMap<string, StoredEbr>
  readonly keepBetter: boolean
}

interface Outcome {
  readonly winners: readonly EbrFact[]
  readonly losers: readonly EbrFact[]
  /** Ids of the stored records that winners replace. */
  readonly replaced: readonly number[]
}

/**
 * A contact counts from its report at the latest: whoever opts out after the report of a consent
 * dated ahead (its place may have tomorrow's date already) must be the newer of the two.
 */
export function recordOf(row: Omit<StoredEbr, 'id' | 'number'>): EbrRecord {
  const contactOn = storedDay(row.contact_on)
  return {
    type: row.type,
    contactOn: Math.min(contactOn, Math.floor(row.recorded_at / 86_400_000)),
    contactAt: row.contact_at === null ? undefined : Math.min(row.contact_at, row.recorded_at),
    obligationEndsOn:
      row.obligation_ends_on === null ? undefined : storedDay(row.obligation_ends_on),
    storedSeq: row.stored_seq,
    liftsOptOut: row.lifts_opt_out === 1,
  }
}

/** A damaged row stops the question: what cannot be read must not exempt. */
function storedDay(text: string): LocalDay {
  const day = parseDay(text)
  if (day === undefined) throw new Error(`ebr_records holds the unreadable day '${text}'`)
  return day
}
