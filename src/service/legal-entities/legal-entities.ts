/** The companies on whose behalf an account calls (spec, "Legal entity"); one is the default. */
import type { Selectable } from 'kysely'
import type { Caller } from '../../domain/caller.js'
import type {
  LegalEntity,
  LegalEntityInput,
  LegalEntityWriteResult,
} from '../../domain/legal-entity.js'
import type { Clock } from '../../domain/time/clock.js'
import { AppError, invalidRequest } from '../../errors.js'
import { findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db, LegalEntityRow } from '../../storage/tables.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import type { HiddenFields } from './legal-entity-fields.js'
import { readLegalEntity } from './legal-entity-input.js'

export interface LegalEntitiesOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'author' | 'retryWhileLocked'>
  readonly clock: Clock
}

interface EntityChange {
  readonly action: string
  readonly id: number
  readonly input: LegalEntityInput
}

type StoredEntity = Selectable<LegalEntityRow>

export class LegalEntities {
  readonly #storage: LegalEntitiesOptions['storage']
  readonly #clock: Clock

  constructor({ storage, clock }: LegalEntitiesOptions) {
    this.#storage = storage
    this.#clock = clock
  }

  /** All legal entities of the account, oldest first. */
  async list({ accountId }: Caller): Promise<readonly LegalEntity[]> {
    const rows = await this.#storage.db
      .selectFrom('legal_entities')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('id')
      .execute()
    return rows.map(toLegalEntity)
  }

  /** Creates a legal entity; the account's first one always becomes its default. */
  async create(caller: Caller, input: LegalEntityInput): Promise<LegalEntityWriteResult> {
    const { accountId } = caller
    return await runAccountTransaction(this.#storage, accountId, async (db) => {
      const { columns, more } = readLegalEntity(input, undefined)
      const isFirst = (await findDefault(db, accountId)) === undefined
      const at = this.#clock.now()
      const { id } = await db
        .insertInto('legal_entities')
        .values({
          ...columns,
          more: JSON.stringify(more),
          account_id: accountId,
          is_default: 0,
          created_at: at,
          modified_at: at,
        })
        .returning('id')
        .executeTakeFirstOrThrow()
      if (isFirst || input.isDefault === true) await makeDefault(db, accountId, id)
      await this.#record(db, caller, { action: 'legal-entity.created', id, input })
      return { id, accountId, created: true }
    })
  }

  /**
   * Changes the given fields. Throws `not-found` for an id of another account or an unknown id.
   */
  async update(
    caller: Caller,
    { id, ...input }: LegalEntityInput & { readonly id: number },
  ): Promise<LegalEntityWriteResult> {
    const { accountId } = caller
    return await runAccountTransaction(this.#storage, accountId, async (db) => {
      const stored = await findEntity(db, accountId, id)
      if (!stored) throw entityNotFound(id)
      if (input.isDefault === false && stored.is_default === 1) {
        const rule = 'must not be false for the default; make another one the default instead'
        throw invalidRequest([{ field: 'IsDefault', value: 'false', rule }])
      }
      const before = { columns: stored, more: JSON.parse(stored.more) as HiddenFields }
      const { columns, more } = readLegalEntity(input, before)
      await db
        .updateTable('legal_entities')
        .set({ ...columns, more: JSON.stringify(more), modified_at: this.#clock.now() })
        .where('account_id', '=', accountId)
        .where('id', '=', id)
        .execute()
      if (input.isDefault === true) await makeDefault(db, accountId, id)
      await this.#record(db, caller, { action: 'legal-entity.changed', id, input })
      return { id, accountId, created: false }
    })
  }

  /** Which fields were given, and not what: they have the employer's number of a person who trades alone. */
  #record(db: Db, caller: Caller, { action, id, input }: EntityChange): Promise<void> {
    const given = Object.entries(input).filter(([, value]) => value !== undefined)
    return recordAudit(db, {
      by: findAuthor(this.#storage, caller),
      accountId: caller.accountId,
      action,
      subject: { kind: 'legal-entity', id: String(id) },
      after: { fields: given.map(([name]) => name) },
      at: this.#clock.now(),
    })
  }

  /** Whether the account has a legal entity with that id. */
  async owns(accountId: string, legalEntityId: number): Promise<boolean> {
    return (await findEntity(this.#storage.db, accountId, legalEntityId)) !== undefined
  }
}

async function findEntity(
  db: Db,
  accountId: string,
  id: number,
): Promise<StoredEntity | undefined> {
  return await db
    .selectFrom('legal_entities')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
}

async function findDefault(db: Db, accountId: string): Promise<{ id: number } | undefined> {
  return await db
    .selectFrom('legal_entities')
    .select('id')
    .where('account_id', '=', accountId)
    .where('is_default', '=', 1)
    .executeTakeFirst()
}

async function makeDefault(db: Db, accountId: string, id: number): Promise<void> {
  await db
    .updateTable('legal_entities')
    .set(({ eb }) => ({ is_default: eb.case().when('id', '=', id).then(1).else(0).end() }))
    .where('account_id', '=', accountId)
    .execute()
}

function toLegalEntity(row: StoredEntity): LegalEntity {
  return {
    id: row.id,
    accountId: row.account_id,
    isDefault: row.is_default === 1,
    legalName: row.legal_name,
    ein: row.ein === '' ? '' : `***${row.ein.slice(-4)}`,
    primaryPhoneNumber: row.primary_phone_number,
    streetAddress: row.street_address,
    city: row.city,
    state: row.state,
    zip: row.zip,
    countryCode: row.country_code,
  }
}

function entityNotFound(id: number): AppError {
  const rule = 'is not a legal entity of this account'
  const problem = { field: 'LegalEntityId', value: String(id), rule }
  return new AppError('not-found', invalidRequest([problem]).message, { problems: [problem] })
}
