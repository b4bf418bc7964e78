/** Stores consents with what shows them, and tells all that is known of the consent to call a number. */
import type { Selectable } from 'kysely'
import type { Caller } from '../../domain/caller.js'
import type { ConsentTerms } from '../../domain/compliance.js'
import type {
  AddedConsent,
  ConsentHistory,
  ConsentScope,
  NewConsent,
  PastRecord,
} from '../../domain/consent/consent-records.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay, formatInstant, toUtcDay } from '../../domain/time/dates.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import type { EbrLaw } from '../../law/records/ebr-expiry.js'
import { evaluateRelationship } from '../../law/records/relationship.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { EbrRecordRow } from '../../storage/tables.js'
import type { AccountView } from '../account-view.js'
import type { InternalDncEntrySource } from '../internal-dnc/internal-dnc-entry.js'
import { requireScope, type ScopeResolver } from '../projects/project-scope.js'
import { hashWording, toStoredConsent } from './consent-rows.js'
import type { EbrRecordSource } from './ebr-record.js'
import type { EbrRecords } from './ebr-records.js'

export interface ConsentHistoriesDeps {
  readonly storage: Pick<OpenDatabase, 'db'>
  readonly projects: ScopeResolver
  readonly ebrRecords: Pick<EbrRecords, 'record'> & Pick<EbrRecordSource, 'findRecord'>
  readonly internalDnc: Pick<InternalDncEntrySource, 'findEntry'>
  readonly viewOf: (
    accountId: string,
  ) => Pick<AccountView, 'clock' | 'fixedFacts' | 'numberingPlan'> & { readonly law: EbrLaw }
}

/** Of each kind; older rows are left out. */
const maxRows = 100
/** The clock of the sender may be ahead by as much. */
const toleranceMs = 60_000

export class ConsentHistories {
  readonly #deps: ConsentHistoriesDeps

  constructor(deps: ConsentHistoriesDeps) {
    this.#deps = deps
  }

  /** Stores the consent and a permission record that points to it, or neither. */
  async add(
    caller: Caller,
    { projectId, campaignId, ...newConsent }: NewConsent & ConsentScope,
  ): Promise<AddedConsent> {
    const now = this.#deps.viewOf(caller.accountId).clock.now()
    const { number, givenAt, endsOn } = newConsent
    const problems: FieldProblem[] = []
    if (givenAt > now + toleranceMs) {
      const rule = `must not be in the future; it is ${formatInstant(now)}`
      problems.push({ field: 'givenAt', value: formatInstant(givenAt), rule })
    }
    if (endsOn !== undefined && endsOn <= toUtcDay(givenAt)) {
      const rule = 'must be after the day on which the consent was given'
      problems.push({ field: 'endsOn', value: formatDay(endsOn), rule })
    }
    if (problems.length > 0) throw invalidRequest(problems)
    const record = { phoneNumber: number, type: 'P', dateOfLastContact: formatInstant(givenAt) }
    const request = { keepBetterEbr: false, projectId, campaignId, records: [record] }
    const { consentId = '', warnings } = await this.#deps.ebrRecords.record(
      caller,
      request,
      newConsent,
    )
    return { id: consentId, wordingSha256: hashWording(newConsent.wording), warnings }
  }

  async read(
    { accountId }: Caller,
    { number, ...choice }: ConsentScope & { readonly number: PhoneNumber },
  ): Promise<ConsentHistory> {
    const { storage, projects } = this.#deps
    const { ebrProject, internalDncList } = await requireScope(
      projects,
      accountId,
      choice,
      'projectId',
    )
    const { db } = storage
    const consents = await db
      .selectFrom('consents')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('number', '=', number)
      .where('project_code', '=', ebrProject)
      .orderBy('recorded_at', 'desc')
      .limit(maxRows)
      .execute()
    const records = await db
      .selectFrom('ebr_records')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('project_code', '=', ebrProject)
      .where('number', '=', number)
      .orderBy('id', 'desc')
      .limit(maxRows)
      .execute()
    const statements = await db
      .selectFrom('opt_out_statements')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('number', '=', number)
      .where((row) => row.or([row('list', '=', internalDncList), row('scope', '=', 'everything')]))
      .orderBy('heard_at', 'desc')
      .limit(maxRows)
      .execute()
    const { current, optOut } = await this.judge(accountId, {
      number,
      ebrProject,
      internalDncList,
    })
    return {
      number,
      current,
      consents: consents.map(toStoredConsent),
      records: records.map(toPastRecord),
      optOut,
      statements: statements.map(({ heard_at, source, said, goods, decision_id }) => ({
        heardAt: formatInstant(heard_at),
        source,
        said,
        goods,
        decisionId: decision_id,
      })),
    }
  }

  /** As a scrub would judge it now, the fixed facts of the sandbox included. */
  async judge(
    accountId: string,
    {
      number,
      ebrProject,
      internalDncList,
    }: {
      readonly number: PhoneNumber
      readonly ebrProject: string
      readonly internalDncList: string
    },
  ): Promise<JudgedConsent> {
    const { ebrRecords, internalDnc, viewOf } = this.#deps
    const { clock, fixedFacts, numberingPlan, law } = viewOf(accountId)
    const entry = await internalDnc.findEntry(accountId, internalDncList, number, fixedFacts)
    const record = await ebrRecords.findRecord(accountId, ebrProject, number, fixedFacts)
    const facts = numberingPlan.lookup(number)
    const places = facts.status === 'ok' ? facts.place.candidates : []
    const found = evaluateRelationship({ entry, record, places, law, at: clock.now() })
    const optOut = entry && {
      addedAt: formatInstant(entry.addedAt),
      removedAt: entry.removedAt === null ? null : formatInstant(entry.removedAt),
    }
    const current = record && {
      type: record.type,
      consentId: record.consent?.id ?? null,
      evidence: record.consent?.evidence ?? null,
      isEffective:
        found.relationship === 'current' &&
        found.internalList !== 'listed' &&
        found.optOut === undefined,
      expiresOn: found.expiresOn === undefined ? null : formatDay(found.expiresOn),
      isRevoked: found.optOut?.effect === 'ended',
    }
    const since = record && Math.max(record.contactOn, record.confirmedOn ?? record.contactOn)
    return { current: current ?? null, optOut: optOut ?? null, since }
  }
}

interface JudgedConsent extends Pick<ConsentHistory, 'current' | 'optOut'> {
  /** The day from which on the number must be that of the person, for the record in force to hold. */
  readonly since: LocalDay | undefined
}

export function toPastRecord(row: Selectable<EbrRecordRow>): PastRecord {
  const { id, evidence = 'none' }: Partial<ConsentTerms> = JSON.parse(row.consent ?? '{}')
  return {
    type: row.type,
    dateOfLastContact: row.contact_at === null ? row.contact_on : formatInstant(row.contact_at),
    consentId: id ?? null,
    evidence: row.type === 'P' ? evidence : null,
    recordedAt: formatInstant(row.recorded_at),
    recordedBy: row.key_id,
    replacedAt: row.superseded_at === null ? null : formatInstant(row.superseded_at),
  }
}
