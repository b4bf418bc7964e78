/** The fields of a legal entity: what each must hold, and whether the list shows it. */

export const shownColumns = [
  ...(['legal_name', 'ein', 'street_address', 'city', 'state', 'zip'] as const),
  ...(['country_code', 'primary_phone_number'] as const),
] as const
export type ShownColumn = (typeof shownColumns)[number]

/** The fields no list shows, by wire name. */
export type HiddenFields = Readonly<Record<string, string | number>>

export type LegalEntityColumns = Readonly<Record<ShownColumn, string>>

export interface LegalEntityFields {
  readonly columns: LegalEntityColumns
  readonly more: HiddenFields
}

export interface TextRule {
  /** On the wire. */
  readonly field: string
  /** Where what the list shows is stored; the rest is hidden. */
  readonly column?: ShownColumn
  readonly longest: number
  readonly pattern?: RegExp
  readonly rule?: string
}

/** Spec: all numbers are ten digits unless a field says otherwise. */
const phone = { longest: 10, pattern: /^\d{10}$/, rule: 'must be exactly 10 digits' }

export const textRules = {
  legalName: { field: 'LegalName', column: 'legal_name', longest: 200 },
  ein: {
    ...{ field: 'EIN', column: 'ein', longest: 9, pattern: /^\d{9}$/ },
    rule: 'must be exactly 9 digits without a dash',
  },
  streetAddress: { field: 'StreetAddress', column: 'street_address', longest: 200 },
  city: { field: 'City', column: 'city', longest: 100 },
  state: { field: 'State', column: 'state', longest: 50 },
  zip: { field: 'Zip', column: 'zip', longest: 20 },
  countryCode: {
    ...{ field: 'CountryCode', column: 'country_code', longest: 2, pattern: /^[A-Za-z]{2}$/ },
    rule: 'must be a two-letter country code',
  },
  primaryPhoneNumber: { field: 'PrimaryPhoneNumber', column: 'primary_phone_number', ...phone },
  primaryContactName: { field: 'PrimaryContactName', longest: 200 },
  primaryContactEmail: {
    ...{ field: 'PrimaryContactEmail', longest: 254, pattern: /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/ },
    rule: 'must be an e-mail address',
  },
  primaryContactPhoneNumber: { field: 'PrimaryContactPhoneNumber', ...phone },
  dunsNumber: { field: 'DunsNumber', longest: 20 },
  url: { field: 'Url', longest: 500 },
  dba: { field: 'Dba', longest: 200 },
  licenceNumber: { field: 'LicenceNumber', longest: 100 },
  callPurposeDescription: { field: 'CallPurposeDescription', longest: 2000 },
  potentialNegativeReaction: { field: 'PotentialNegativeReaction', longest: 2000 },
} as const satisfies Readonly<Record<string, TextRule>>

export type TextName = keyof typeof textRules
