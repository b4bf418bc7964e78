/** Legal entities on the wire (spec, "Legal entity"). Adding and changing is `legal-entity-write.ts`. */
import { z } from 'zod'
import type { LegalEntity } from '../domain/legal-entity.js'
import { endpoint } from './endpoint.js'
import { fields } from './fields.js'

const legalEntity = z.object({
  LegalEntityId: z.int(),
  AcctId: z.string(),
  IsDefault: z.boolean(),
  LegalName: z.string(),
  Ein: z.string().describe('Three asterisks and the last 4 digits; empty when none is known'),
  PrimaryPhoneNumber: z.string(),
  StreetAddress: z.string(),
  City: z.string(),
  State: z.string(),
  Zip: z.string(),
  CountryCode: z.string(),
})

function entityOf(wire: z.output<typeof legalEntity>): LegalEntity {
  return {
    id: wire.LegalEntityId,
    accountId: wire.AcctId,
    isDefault: wire.IsDefault,
    legalName: wire.LegalName,
    ein: wire.Ein,
    primaryPhoneNumber: wire.PrimaryPhoneNumber,
    streetAddress: wire.StreetAddress,
    city: wire.City,
    state: wire.State,
    zip: wire.Zip,
    countryCode: wire.CountryCode,
  }
}

function wireEntity(entity: LegalEntity): z.input<typeof legalEntity> {
  return {
    LegalEntityId: entity.id,
    AcctId: entity.accountId,
    IsDefault: entity.isDefault,
    LegalName: entity.legalName,
    Ein: entity.ein,
    PrimaryPhoneNumber: entity.primaryPhoneNumber,
    StreetAddress: entity.streetAddress,
    City: entity.city,
    State: entity.state,
    Zip: entity.zip,
    CountryCode: entity.countryCode,
  }
}

/** Takes no fields. */
export const legalEntitiesGet = endpoint<object, readonly LegalEntity[]>({
  name: 'legal-entities',
  summary: 'The legal entities of the account.',
  spec: 'Reputation endpoints',
  method: 'GET',
  paths: ['/v1.5/Reputation/GetAllLegalEntities'],
  accepts: ['query'],
  rate: 'reputation',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({}),
  response: z.array(legalEntity.transform(entityOf)),
  errors: 'problem',
  encode: (entities) => ({ json: entities.map(wireEntity) }),
})
