/** The rows of stored consents, which permission records point to. */
import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import { type ConsentEvidence, type ConsentTerms, rankEvidence } from '../../domain/compliance.js'
import type { NewConsent, StoredConsent } from '../../domain/consent/consent-records.js'
import { formatDay, formatInstant } from '../../domain/time/dates.js'
import type { EbrRecord } from '../../law/records/ebr-record.js'
import type { ConsentRow } from '../../storage/service-tables.js'
import type { Db } from '../../storage/tables.js'
import type { RowWrite } from '../sql/rows-by-number.js'
import { withoutEvidence } from './ebr-record.js'

/** In hex. */
export function hashWording(wording: string): string {
  return createHash('sha256').update(wording).digest('hex')
}

/** Returns what the records that point to it say of it. */
export async function insertConsent(
  db: Db,
  { owner, at, seq, keyId }: RowWrite,
  newConsent: NewConsent,
): Promise<ConsentTerms> {
  const { number, givenAt, seller, channel, method, wording, kinds, purposes, endsOn } = newConsent
  const id = `c${seq}`
  const row = {
    id,
    account_id: owner.accountId,
    project_code: owner.projectCode,
    number,
    given_at: givenAt,
    seller,
    channel,
    method,
    wording,
    wording_sha256: hashWording(wording),
    page: newConsent.page ?? null,
    certificate: newConsent.certificate ?? null,
    person: newConsent.personId ?? null,
    purposes: purposes ? JSON.stringify(purposes) : null,
    kinds: kinds ? JSON.stringify(kinds) : null,
    ends_on: endsOn === undefined ? null : formatDay(endsOn),
    recorded_at: at,
    key_id: keyId,
  }
  await db.insertInto('consents').values(row).execute()
  return { evidence: findEvidence(row), id, kinds, purposes, endsOn }
}

export function findEvidence({
  method,
  certificate,
}: Pick<NewConsent, 'method'> & { readonly certificate?: string | null | undefined }) {
  return certificate == null ? method : 'certified'
}

/**
 * Whether the permission on file was given later than a consent that is reported now: by the day, on one day by the stronger
 * evidence unless an opt-out has come between them, then by the time. One with limits is not replaced by an earlier one of the day.
 */
export function isGivenLater(
  kept: EbrRecord,
  reported: Pick<EbrRecord, 'contactOn' | 'contactAt'> & {
    readonly evidence: ConsentEvidence
    /** Of the latest opt-out. */
    readonly optedOutSeq: number
  },
): boolean {
  // What is fixed has the same age at every instant.
  if (kept.type !== 'P' || kept.isFixed) return false
  if (kept.contactOn !== reported.contactOn) return kept.contactOn > reported.contactOn
  const { evidence, kinds, purposes, endsOn } = kept.consent ?? withoutEvidence
  const isLimited = (kinds ?? purposes ?? endsOn) !== undefined
  if (isLimited && (kept.contactAt ?? Number.POSITIVE_INFINITY) > (reported.contactAt ?? 0))
    return true
  if (evidence !== reported.evidence && kept.storedSeq >= reported.optedOutSeq) {
    return rankEvidence(evidence) > rankEvidence(reported.evidence)
  }
  return (kept.contactAt ?? 0) > (reported.contactAt ?? 0)
}

export function toStoredConsent(row: Selectable<ConsentRow>): StoredConsent {
  return {
    id: row.id,
    givenAt: formatInstant(row.given_at),
    endsOn: row.ends_on,
    seller: row.seller,
    channel: row.channel as NewConsent['channel'],
    method: row.method,
    evidence: findEvidence(row),
    wording: row.wording,
    wordingSha256: row.wording_sha256,
    page: row.page,
    certificate: row.certificate,
    personId: row.person,
    purposes: row.purposes === null ? null : JSON.parse(row.purposes),
    kinds: row.kinds === null ? null : JSON.parse(row.kinds),
    recordedAt: formatInstant(row.recorded_at),
    recordedBy: row.key_id,
  }
}
