/**
 * Relationship and permission records (spec, "Existing business relationship and
 * consent"): one record in force per number and project; replaced records are kept as evidence.
 * `law/records/ebr-expiry.ts` computes when a record expires; the scrub decides what it permits.
 */

import type { Caller } from '../../domain/caller.js'
import type { ChangeObserver } from '../../domain/change-notifier.js'
import type { MaybePromise } from '../../domain/compliance.js'
import type { NewConsent } from '../../domain/consent/consent-records.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { CandidatePlace, NumberingPlan } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { nameRecord } from '../../domain/words/scrub.js'
import { AppError } from '../../errors.js'
import { type EbrLaw, expiresAfter } from '../../law/records/ebr-expiry.js'
import { type EbrRecord, useLocalDay } from '../../law/records/ebr-record.js'
import { findOptOutEffect } from '../../law/records/relationship.js'
import {
  forEachInSlices,
  mapInSlices,
  yieldToEventLoop,
} from '../../runtime/yield-to-event-loop.js'
import { findAuthor, nameNumbers, recordAudit } from '../../storage/audit/audit-log.js'
import type { ChangeHead } from '../../storage/change-head.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import type { AccountView, FixedFacts } from '../account-view.js'
import { findAccount } from '../accounts/accounts.js'
import type { ChangeRequests } from '../changes/change-requests.js'
import type { InternalDncEntrySource } from '../internal-dnc/internal-dnc-entry.js'
import { beforeFirstWrite, selectEntries } from '../internal-dnc/internal-dnc-rows.js'
import { toRemovalChange } from '../internal-dnc/removal-change.js'
import { notifyNumbersChanged } from '../notify-numbers-changed.js'
import {
  type ProjectLists,
  type ProjectScope,
  readCurrentLists,
  requireListAccess,
  requireScope,
  type ScopeResolver,
} from '../projects/project-scope.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import { NumberRowReader, type RowOwner, type RowStorage } from '../sql/rows-by-number.js'
import { findEvidence, hashWording, insertConsent, isGivenLater } from './consent-rows.js'
import { type EbrInput, type ParsedEbr, readEbrList } from './ebr-input.js'
import { type EbrRecordSource, toEbrRecord } from './ebr-record.js'
import {
  insertRecords,
  type StoredEbr,
  selectCurrentSummaries,
  supersedeRecords,
} from './ebr-rows.js'
import { describeEbrWarning } from './ebr-warnings.js'

export interface EbrRecordsOptions {
  readonly storage: RowStorage & Pick<OpenDatabase, 'author' | 'retryWhileLocked'>
  readonly projects: ScopeResolver
  readonly changes: ChangeObserver
  readonly viewOf: (accountId: string) => Pick<AccountView, 'clock' | 'fixedFacts'> & {
    readonly law: EbrLaw
    /** Finds a number's regions, whose expiry rules break ties. */
    readonly numberingPlan: Pick<NumberingPlan, 'lookup'>
  }
  readonly changeHead: Pick<ChangeHead, 'takeNext'>
  /** The internal lists, for warnings about records that do not override an opt-out. */
  readonly internalDnc: Pick<InternalDncEntrySource, 'findEntries'>
  readonly changeRequests: Pick<ChangeRequests, 'isNeededFor' | 'ask'>
}

export interface EbrBatch {
  /** Keep the existing record if it expires later than the new one. */
  readonly keepBetterEbr: boolean
  readonly projectId?: string | undefined
  /** Implies its project. */
  readonly campaignId?: string | undefined
  readonly records: readonly EbrInput[]
}

export interface EbrResult {
  /** How many records were stored, counted per number. */
  readonly stored: number
  /** Records that have no effect: the number and why, in no particular order. */
  readonly warnings: readonly string[]
}

export class EbrRecords implements EbrRecordSource {
  readonly #options: EbrRecordsOptions
  readonly #db: Db
  readonly #rows: NumberRowReader<StoredEbr>

  constructor(options: EbrRecordsOptions) {
    this.#options = options
    this.#db = options.storage.db
    this.#rows = new NumberRowReader(options.storage, selectCurrentSummaries)
  }

  /**
   * Stores all records or none. A new record replaces the one in force, unless `keepBetterEbr` is set
   * and the existing one expires later. A record overrides no opt-out if its key could not remove one: an
   * Agent's key where the account does not let Agents remove numbers, or a key without the right
   * `records`. With a consent, they point to it, and only a permission given later stays in force. Resolves when the change
   * is on disk and announced.
   */
  async record(
    caller: Caller,
    request: EbrBatch,
    newConsent?: NewConsent,
  ): Promise<EbrResult & { readonly consentId?: string | undefined }> {
    const { accountId, keyId, role, limits } = caller
    const field = newConsent ? 'projectId' : 'projId'
    const scope = await requireScope(this.#options.projects, accountId, request, field)
    const { clock } = this.#options.viewOf(accountId)
    const read = await readEbrList(request.records, clock)
    const facts = await mapInSlices(read, (fact) => this.#toLocal(accountId, fact.number, fact))
    const numbers = await distinctNumbers(facts)
    const at = clock.now()
    const { changeHead, storage } = this.#options
    const written = await runAccountTransaction(storage, accountId, async (transaction) => {
      const lists = await readCurrentLists(transaction, scope)
      const { ebrProject } = lists
      requireListAccess(caller, ebrProject)
      const account = await findAccount(transaction, accountId)
      const mayRemove = role !== 'Agent' || account?.agentsMayRemove === true
      const liftsOptOut = mayRemove && limits.rights.has('records')
      const owner = { accountId, projectCode: ebrProject }
      const stored = await this.#readStored(transaction, owner, numbers)
      const isKept = newConsent
        ? await compareConsents(transaction, { accountId, ...lists }, newConsent)
        : this.#compareExpiry(accountId, request)
      const outcome = await this.#rank(accountId, { facts, stored, isKept })
      const change = await changeHead.takeNext(transaction, { accountId, numbers })
      const write = { owner, at, keyId, traits: storage.traits, ...change }
      await supersedeRecords(transaction, write, outcome.replaced)
      const terms = newConsent && (await insertConsent(transaction, write, newConsent))
      const consent = terms && JSON.stringify(terms)
      await insertRecords(transaction, write, { ...outcome, liftsOptOut, consent })
      const [only] = facts
      await recordAudit(transaction, {
        by: findAuthor(storage, caller),
        accountId,
        action: newConsent ? 'consent.stored' : 'consent-record.stored',
        subject: nameNumbers(numbers, { kind: 'consent-records', id: ebrProject }),
        before: { replaced: outcome.replaced.length },
        after: {
          project: ebrProject,
          records: facts.length,
          inForce: outcome.winners.length,
          type: facts.length === 1 ? only?.type : undefined,
          consentId: terms?.id,
          wordingSha256: newConsent && hashWording(newConsent.wording),
        },
        at: change.storedAt,
      })
      return { lists, outcome, consentId: terms?.id, liftsOptOut }
    })
    await notifyNumbersChanged(this.#options.changes, accountId, numbers)
    const warnings = await this.#warnings(accountId, { ...written, numbers, at })
    const asked = written.liftsOptOut && (await this.#askSecondPerson(caller, request, written))
    return {
      stored: facts.length,
      warnings: asked ? [...warnings, asked] : warnings,
      consentId: written.consentId,
    }
  }

  /** Asks for the end of the opt-outs that the permissions would have ended alone; in words, or `undefined` if there are none. */
  async #askSecondPerson(
    caller: Caller,
    { projectId, campaignId }: EbrBatch,
    { lists, outcome }: Pick<WriteResult, 'lists' | 'outcome'>,
  ): Promise<string | undefined> {
    const { internalDnc, changeRequests, viewOf } = this.#options
    const { accountId } = caller
    if (!changeRequests.isNeededFor('lift-opt-out')) return undefined
    const given = outcome.winners.filter(({ type }) => type === 'P').map(({ number }) => number)
    const entries = await internalDnc.findEntries(accountId, lists.internalDncList, given)
    const records = await this.findRecords(accountId, lists.ebrProject, given)
    const numbers: PhoneNumber[] = []
    await forEachInSlices(given, (number) => {
      const [record, entry] = [records.get(number), entries.get(number)]
      if (!record || !entry) return
      const places = findPlaces(viewOf(accountId).numberingPlan, number)
      if (findOptOutEffect(record, entry, places)?.effect === 'not-lifted') numbers.push(number)
    })
    const reason = 'a consent that was stored is newer than the opt-out'
    const change = toRemovalChange({ numbers, projectId, campaignId, reason })
    if (!change) return undefined
    try {
      const { id } = await changeRequests.ask(caller, change)
      return `${change.what} waits for a second person as change ${id}; until then the consent ends no opt-out`
    } catch (refusal) {
      if (!(refusal instanceof AppError)) throw refusal
      return `${change.what} needs a second person, who could not be asked: ${refusal.message}`
    }
  }

  findRecord(
    accountId: string,
    ebrProject: string,
    number: PhoneNumber,
    fixedFacts: FixedFacts | undefined,
  ): MaybePromise<EbrRecord | undefined> {
    const row = this.#rows.find({ accountId, projectCode: ebrProject }, number)
    const toRecord = (stored: StoredEbr | undefined) =>
      stored ? this.#toRecord(accountId, number, stored) : fixedFacts?.ebrRecord(number)
    return row instanceof Promise ? row.then(toRecord) : toRecord(row)
  }

  async findRecords(
    accountId: string,
    ebrProject: string,
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<string, EbrRecord>> {
    const owner = { accountId, projectCode: ebrProject }
    const stored = await this.#readStored(this.#db, owner, numbers)
    const { fixedFacts } = this.#options.viewOf(accountId)
    const records = new Map<string, EbrRecord>()
    await forEachInSlices(numbers, (number) => {
      const row = stored.get(number)
      const record = row ? this.#toRecord(accountId, number, row) : fixedFacts?.ebrRecord(number)
      if (record) records.set(number, record)
    })
    return records
  }

  #toRecord(accountId: string, number: PhoneNumber, row: StoredEbr): EbrRecord {
    return this.#toLocal(accountId, number, toEbrRecord(row, this.#options.changeRequests))
  }

  #toLocal<Contact extends Pick<EbrRecord, 'contactOn' | 'contactAt'>>(
    accountId: string,
    number: PhoneNumber,
    contact: Contact,
  ): Contact {
    if (contact.contactAt === undefined) return contact
    return useLocalDay(contact, findPlaces(this.#options.viewOf(accountId).numberingPlan, number))
  }

  /** Evaluated after the write, so that the warnings match what the next scrub decides. */
  async #warnings(accountId: string, written: WriteResult): Promise<readonly string[]> {
    const { lists, outcome, numbers, at } = written
    const { internalDnc, viewOf } = this.#options
    const { law, numberingPlan } = viewOf(accountId)
    const entries = await internalDnc.findEntries(accountId, lists.internalDncList, numbers)
    const records = await this.findRecords(accountId, lists.ebrProject, numbers)
    const warnings = await mapInSlices(outcome.losers, ({ number, type }) => {
      const inForce = nameRecord(records.get(number)?.type ?? type)
      return `${number}: the ${nameRecord(type)} record is not in force: the existing ${inForce} record remains in force`
    })
    for (const { number } of outcome.winners) {
      const turn = yieldToEventLoop()
      if (turn) await turn
      const [record, entry] = [records.get(number), entries.get(number)]
      if (!record || (record.type === 'P' && !entry)) continue
      const places = findPlaces(numberingPlan, number)
      const warning = describeEbrWarning({ record, entry, places, at, law })
      if (warning !== undefined) warnings.push(`${number}: ${warning}`)
    }
    return warnings
  }

  async #readStored(
    db: Db,
    owner: RowOwner,
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<string, StoredEbr>> {
    const stored = new Map<string, StoredEbr>()
    const rows = await this.#rows.read(db, owner, numbers)
    await forEachInSlices(rows, (row) => stored.set(row.number, row))
    return stored
  }

  #compareExpiry(accountId: string, { keepBetterEbr }: EbrBatch): IsKept {
    const { clock, law, numberingPlan } = this.#options.viewOf(accountId)
    const at = clock.now()
    return (kept, fact) => {
      if (!keepBetterEbr) return false
      return expiresAfter(kept, fact, { places: findPlaces(numberingPlan, fact.number), law, at })
    }
  }

  /** Processes the records in request order, so the later of two for one number can win. */
  async #rank(accountId: string, { facts, stored, isKept }: RankingInput): Promise<RankingResult> {
    const { fixedFacts } = this.#options.viewOf(accountId)
    const winners = new Map<PhoneNumber, ParsedEbr>()
    const losers: ParsedEbr[] = []
    await forEachInSlices(facts, (fact) => {
      const rival = winners.get(fact.number)
      const row = stored.get(fact.number)
      const known = row && this.#toRecord(accountId, fact.number, row)
      const kept = rival ?? known ?? fixedFacts?.ebrRecord(fact.number)
      if (kept && isKept(kept, fact)) return void losers.push(fact)
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
}

/** Of a consent that is reported with what shows it: whether the permission on file was given later. */
async function compareConsents(
  transaction: Db,
  { accountId, internalDncList }: Pick<ProjectScope, 'accountId' | 'internalDncList'>,
  newConsent: NewConsent,
): Promise<IsKept> {
  const owner = { accountId, projectCode: internalDncList }
  const entry = await selectEntries(transaction, owner, [newConsent.number]).executeTakeFirst()
  const optedOutSeq = entry?.opted_out_seq ?? beforeFirstWrite
  const evidence = findEvidence(newConsent)
  return (kept, reported) =>
    'storedSeq' in kept && isGivenLater(kept, { ...reported, evidence, optedOutSeq })
}

function findPlaces(
  numberingPlan: Pick<NumberingPlan, 'lookup'>,
  number: PhoneNumber,
): readonly CandidatePlace[] {
  const facts = numberingPlan.lookup(number)
  return facts.status === 'ok' ? facts.place.candidates : []
}

async function distinctNumbers(facts: readonly ParsedEbr[]): Promise<readonly PhoneNumber[]> {
  const distinct = new Set<PhoneNumber>()
  await forEachInSlices(facts, ({ number }) => distinct.add(number))
  return [...distinct]
}

interface WriteResult {
  readonly lists: ProjectLists
  readonly outcome: RankingResult
  readonly numbers: readonly PhoneNumber[]
  readonly at: Instant
}

interface RankingInput {
  readonly facts: readonly ParsedEbr[]
  readonly stored: ReadonlyMap<string, StoredEbr>
  readonly isKept: IsKept
}

/** Whether a record stays in force although another one is reported. */
type IsKept = (kept: ParsedEbr | EbrRecord, reported: ParsedEbr) => boolean

interface RankingResult {
  readonly winners: readonly ParsedEbr[]
  readonly losers: readonly ParsedEbr[]
  /** Ids of the stored records that winners replace. */
  readonly replaced: readonly number[]
}
