/** The companies on whose behalf an account calls (spec, "Legal entity"). */

/** A legal entity as listed; fields that were never set are empty. */
export interface LegalEntity {
  readonly id: number
  readonly accountId: string
  readonly isDefault: boolean
  readonly legalName: string
  /** Three asterisks and the last four digits; empty when unknown. */
  readonly ein: string
  readonly primaryPhoneNumber: string
  readonly streetAddress: string
  readonly city: string
  readonly state: string
  readonly zip: string
  readonly countryCode: string
}

/** The result of adding or changing a legal entity. */
export interface LegalEntityWriteResult {
  readonly id: number
  readonly accountId: string
  /** False when an existing one was changed. */
  readonly created: boolean
}

/** The text fields that can be written: internal name -> name in the API. */
export const legalEntityTextFields = {
  legalName: 'LegalName',
  ein: 'EIN',
  streetAddress: 'StreetAddress',
  city: 'City',
  state: 'State',
  zip: 'Zip',
  countryCode: 'CountryCode',
  primaryPhoneNumber: 'PrimaryPhoneNumber',
  primaryContactName: 'PrimaryContactName',
  primaryContactEmail: 'PrimaryContactEmail',
  primaryContactPhoneNumber: 'PrimaryContactPhoneNumber',
  dunsNumber: 'DunsNumber',
  url: 'Url',
  dba: 'Dba',
  licenceNumber: 'LicenceNumber',
  callPurposeDescription: 'CallPurposeDescription',
  potentialNegativeReaction: 'PotentialNegativeReaction',
} as const
export type LegalEntityText = keyof typeof legalEntityTextFields

/** Absent leaves a value unchanged; `null` and blank text clear it. */
export interface LegalEntityInput {
  readonly isDefault?: boolean | undefined
  readonly texts: Readonly<Partial<Record<LegalEntityText, string | null | undefined>>>
  readonly industryId?: number | null | undefined
  readonly employeeCount?: number | null | undefined
  readonly callsPerMonth?: number | null | undefined
}
