/** Adding and changing legal entities on the wire. Extensions to the spec, which shows the list alone. */
import { z } from 'zod'
import type { WrittenLegalEntity } from '../domain/legal-entity.js'
import { endpoint } from './endpoint.js'
import { fields } from './fields.js'

/** Texts of a request by their own names; absent is unchanged, `null` and blank clear. */
export type LegalEntityTexts = Readonly<
  Partial<Record<(typeof textFields)[keyof typeof textFields], string | null | undefined>>
>

export interface LegalEntityWireInput {
  readonly isDefault: boolean | undefined
  readonly texts: LegalEntityTexts
  readonly industryId: number | null | undefined
  readonly employeeCount: number | null | undefined
  readonly callsPerMonth: number | null | undefined
}

/** Wire name -> own name. */
const textFields = {
  LegalName: 'legalName',
  EIN: 'ein',
  StreetAddress: 'streetAddress',
  City: 'city',
  State: 'state',
  Zip: 'zip',
  CountryCode: 'countryCode',
  PrimaryPhoneNumber: 'primaryPhoneNumber',
  PrimaryContactName: 'primaryContactName',
  PrimaryContactEmail: 'primaryContactEmail',
  PrimaryContactPhoneNumber: 'primaryContactPhoneNumber',
  DunsNumber: 'dunsNumber',
  Url: 'url',
  Dba: 'dba',
  LicenceNumber: 'licenceNumber',
  CallPurposeDescription: 'callPurposeDescription',
  PotentialNegativeReaction: 'potentialNegativeReaction',
} as const

const textRule = 'must be text or null'
const text = z.string(textRule).nullish()

/** Digits that some clients send as a number; a leading nought would be lost that way. */
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
  LegalName: text.describe('Needed for a new one; at most 200 characters'),
  IsDefault: z
    .boolean('must be true or false')
    .nullish()
    .transform((value) => value ?? undefined)
    .describe('True makes it the default in place of another; the first one always is'),
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

function inputOf(wire: z.output<z.ZodObject<typeof shape>>): LegalEntityWireInput {
  const texts = Object.entries(textFields).map(
    ([name, own]) => [own, wire[name as keyof typeof textFields]] as const,
  )
  return {
    isDefault: wire.IsDefault,
    texts: Object.fromEntries(texts),
    industryId: wire.IndustryId,
    employeeCount: wire.EmployeeCount,
    callsPerMonth: wire.CallsPerMonth,
  }
}

const written = z.object({
  LegalEntityId: z.int(),
  AcctId: z.string(),
  IsCreated: z.boolean(),
  IsUpdated: z.boolean(),
})

const writing = {
  spec: 'Legal entity',
  accepts: ['json'],
  keyAlsoIn: [],
  response: written.transform(
    (wire): WrittenLegalEntity => ({
      id: wire.LegalEntityId,
      accountId: wire.AcctId,
      created: wire.IsCreated,
    }),
  ),
  errors: 'problem',
  encode: ({ id, accountId, created }: WrittenLegalEntity) => {
    const json: z.input<typeof written> = {
      LegalEntityId: id,
      AcctId: accountId,
      IsCreated: created,
      IsUpdated: !created,
    }
    return { json }
  },
} as const

export const legalEntityCreate = endpoint<LegalEntityWireInput, WrittenLegalEntity>({
  ...writing,
  name: 'legal-entity-create',
  summary: 'Adds a legal entity to the account.',
  method: 'POST',
  rights: ['manage'],
  scopes: 'none',
  paths: ['/v1.5/legalentity/Create'],
  request: fields(shape).transform(inputOf),
})

export interface LegalEntityUpdateRequest extends LegalEntityWireInput {
  readonly id: number
}

const entityId = wholeNumber('must be a whole number').transform(Number)

export const legalEntityUpdate = endpoint<LegalEntityUpdateRequest, WrittenLegalEntity>({
  ...writing,
  name: 'legal-entity-update',
  outcomes: { 404: 'The account has no such legal entity' },
  summary: 'Changes what is given of a legal entity of the account.',
  method: 'PUT',
  rights: ['manage'],
  scopes: 'none',
  paths: ['/v1.5/legalentity/Update'],
  request: fields({ LegalEntityId: entityId, ...shape }).transform(
    ({ LegalEntityId, ...wire }) => ({
      id: LegalEntityId,
      ...inputOf(wire),
    }),
  ),
})
