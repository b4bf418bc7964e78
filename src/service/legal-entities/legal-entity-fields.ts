/** The fields of a legal entity: their validation, and whether the list shows them. */
import type { LegalEntityText } from '../../domain/legal-entity.js'

export const shownColumns = [
  'legal_name',
  'ein',
  'street_address',
  'city',
  'state',
  'zip',
  'country_code',
  'primary_phone_number',
] as const
export type ShownColumn = (typeof shownColumns)[number]

/** The fields that the list does not show, by API name. */
export type HiddenFields = Readonly<Record<string, string | number>>

type LegalEntityColumns = Readonly<Record<ShownColumn, string>>

export interface LegalEntityFields {
  readonly columns: LegalEntityColumns
  readonly more: HiddenFields
}

export interface TextRule {
  /** Column of a field that the list shows; absent for hidden fields. */
  readonly column?: ShownColumn
  readonly maxLength: number
  readonly pattern?: RegExp
  readonly rule?: string
}

/** Spec: all numbers are ten digits unless a field says otherwise. */
const phone = { maxLength: 10, pattern: /^\d{10}$/, rule: 'must be exactly 10 digits' }

export const textRules: Readonly<Record<LegalEntityText, TextRule>> = {
  legalName: { column: 'legal_name', maxLength: 200 },
  ein: {
    column: 'ein',
    maxLength: 9,
    pattern: /^\d{9}$/,
    rule: 'must be exactly 9 digits without a dash',
  },
  streetAddress: { column: 'street_address', maxLength: 200 },
  city: { column: 'city', maxLength: 100 },
  state: { column: 'state', maxLength: 50 },
  zip: { column: 'zip', maxLength: 20 },
  countryCode: {
    column: 'country_code',
    maxLength: 2,
    pattern: /^[A-Za-z]{2}$/,
    rule: 'must be a two-letter country code',
  },
  primaryPhoneNumber: { column: 'primary_phone_number', ...phone },
  primaryContactName: { maxLength: 200 },
  primaryContactEmail: {
    maxLength: 254,
    pattern: /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/,
    rule: 'must be an e-mail address',
  },
  primaryContactPhoneNumber: phone,
  dunsNumber: { maxLength: 20 },
  url: { maxLength: 500 },
  dba: { maxLength: 200 },
  licenceNumber: { maxLength: 100 },
  callPurposeDescription: { maxLength: 2000 },
  potentialNegativeReaction: { maxLength: 2000 },
}
