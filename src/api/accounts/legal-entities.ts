/**
 * Legal entities in the API (spec, "Legal entity"). Adding and changing them are extensions, since
 * the spec only has the list.
 */

import { z } from 'zod'
import {
  type LegalEntity,
  type LegalEntityInput,
  type LegalEntityWriteResult,
  legalEntityTextFields,
} from '../../domain/legal-entity.js'
import { defineEndpoint } from '../endpoint.js'
import { fields } from '../fields.js'
import { wireObject } from '../wire-object.js'

const legalEntity = wireObject({
  id: ['LegalEntityId', z.int()],
  accountId: ['AcctId', z.string()],
  isDefault: ['IsDefault', z.boolean()],
  legalName: ['LegalName', z.string()],
  ein: [
    'Ein',
    z.string().describe('Three asterisks and the last 4 digits; empty when none is known'),
  ],
  primaryPhoneNumber: ['PrimaryPhoneNumber', z.string()],
  streetAddress: ['StreetAddress', z.string()],
  city: ['City', z.string()],
  state: ['State', z.string()],
  zip: ['Zip', z.string()],
  countryCode: ['CountryCode', z.string()],
})

/** Takes no fields. */
export const legalEntitiesGet = defineEndpoint<object, readonly LegalEntity[]>({
  name: 'legal-entities',
  summary: 'The legal entities of the account.',
  spec: 'Reputation endpoints',
  method: 'GET',
  paths: ['/v1.5/Reputation/GetAllLegalEntities'],
  accepts: ['query'],
  rateClass: 'reputation',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({}),
  response: z.array(legalEntity.schema),
  errors: 'problem',
  encode: (entities) => ({ json: entities.map(legalEntity.write) }),
})

const textRule = 'must be text or null'

const text = z.string(textRule).nullish()

/** Digits, which some clients send as a number although that drops leading zeros. */
const digits = z
  .union([z.string(textRule), z.int(textRule).nonnegative(textRule)], textRule)
  .nullish()
  .transform((value) => (typeof value === 'number' ? String(value) : value))

const wholeNumber = (rule: string) =>
  z.union(
    [
      z.int(rule).nonnegative(rule),
      z
        .string(rule)
        .trim()
        .regex(/^\d{1,15}$/, rule),
    ],
    {
      error: ({ input }) =>
        input === undefined || input === null ? `is required and ${rule}` : rule,
    },
  )

const count = wholeNumber('must be a whole number or null')
  .nullish()
  .transform((value) => (typeof value === 'string' ? Number(value) : value))

const shape = {
  LegalName: text.describe('Required for a new one; at most 200 characters'),
  IsDefault: z
    .boolean('must be true or false')
    .nullish()
    .transform((value) => value ?? undefined)
    .describe('True makes it the default instead of another; the first one always is the default'),
  EIN: digits.describe('9 digits without a dash'),
  StreetAddress: text,
  City: text,
  State: text.describe('State or province code'),
  Zip: digits.describe('ZIP or postal code'),
  CountryCode: text.describe('Two letters'),
  IndustryId: count.describe('1 to 27'),
  PrimaryPhoneNumber: digits.describe('10 digits'),
  PrimaryContactName: text,
  PrimaryContactEmail: text,
  PrimaryContactPhoneNumber: digits.describe('10 digits'),
  EmployeeCount: count,
  CallsPerMonth: count,
  DunsNumber: digits,
  Url: text,
  Dba: text,
  LicenceNumber: text,
  CallPurposeDescription: text,
  PotentialNegativeReaction: text,
}

function fromWireInput(wire: z.output<z.ZodObject<typeof shape>>): LegalEntityInput {
  const texts = Object.entries(legalEntityTextFields).map(
    ([name, field]) => [name, wire[field]] as const,
  )
  return {
    isDefault: wire.IsDefault,
    texts: Object.fromEntries(texts),
    industryId: wire.IndustryId,
    employeeCount: wire.EmployeeCount,
    callsPerMonth: wire.CallsPerMonth,
  }
}

const writeResult = z.object({
  LegalEntityId: z.int(),
  AcctId: z.string(),
  IsCreated: z.boolean(),
  IsUpdated: z.boolean(),
})

const writeCommon = {
  spec: 'Legal entity',
  accepts: ['json'],
  keyAlsoIn: [],
  response: writeResult.transform(
    (wire): LegalEntityWriteResult => ({
      id: wire.LegalEntityId,
      accountId: wire.AcctId,
      created: wire.IsCreated,
    }),
  ),
  errors: 'problem',
  encode: ({ id, accountId, created }: LegalEntityWriteResult) => {
    const json: z.input<typeof writeResult> = {
      LegalEntityId: id,
      AcctId: accountId,
      IsCreated: created,
      IsUpdated: !created,
    }
    return { json }
  },
} as const

export const legalEntityCreate = defineEndpoint({
  ...writeCommon,
  name: 'legal-entity-create',
  summary: 'Adds a legal entity to the account.',
  method: 'POST',
  rights: ['manage'],
  scopes: 'none',
  paths: ['/v1.5/legalentity/Create'],
  request: fields(shape).transform(fromWireInput),
})

const entityId = wholeNumber('must be a whole number').transform(Number)

export const legalEntityUpdate = defineEndpoint({
  ...writeCommon,
  name: 'legal-entity-update',
  otherStatuses: { 404: 'The account has no such legal entity' },
  summary: 'Changes the given fields of a legal entity of the account.',
  method: 'PUT',
  rights: ['manage'],
  scopes: 'none',
  paths: ['/v1.5/legalentity/Update'],
  request: fields({ LegalEntityId: entityId, ...shape }).transform(
    ({ LegalEntityId, ...wire }) => ({
      id: LegalEntityId,
      ...fromWireInput(wire),
    }),
  ),
})
