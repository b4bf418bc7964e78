/** The rows of stored consents, which permission records point to. */
import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { ConsentTerms } from '../../domain/compliance.js'
import type { ConsentProof, StoredConsent } from '../../domain/consent-records.js'
import { formatDay, formatInstant } from '../../domain/time/dates.js'
import type { ConsentRow } from '../../storage/service-tables.js'
import type { Db } from '../../storage/tables.js'
import type { RowWrite } from '../sql/rows-by-number.js'

/** In hex. */
export function hashWording(wording: string): string {
  return createHash('sha256').update(wording).digest('hex')
}

/** Returns what the records that point to it say of it. */
export async function insertProof(
  db: Db,
  { owner, at, seq, keyId }: RowWrite,
  proof: ConsentProof,
): Promise<ConsentTerms> {
  const { number, givenAt, seller, channel, method, wording, kinds, purposes, endsOn } = proof
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
    page: proof.page ?? null,
    certificate: proof.certificate ?? null,
    person: proof.personId ?? null,
    purposes: purposes ? JSON.stringify(purposes) : null,
    kinds: kinds ? JSON.stringify(kinds) : null,
    ends_on: endsOn === undefined ? null : formatDay(endsOn),
    recorded_at: at,
    key_id: keyId,
  }
  await db.insertInto('consents').values(row).execute()
  return { evidence: findEvidence(row), id, kinds, purposes, endsOn }
}

function findEvidence({ method, certificate }: Pick<ConsentRow, 'method' | 'certificate'>) {
  return certificate === null ? method : 'certified'
}

export function toStoredConsent(row: Selectable<ConsentRow>): StoredConsent {
  return {
    id: row.id,
    givenAt: formatInstant(row.given_at),
    endsOn: row.ends_on,
    seller: row.seller,
    channel: row.channel as ConsentProof['channel'],
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
