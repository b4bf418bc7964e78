/** The companies an account calls for (spec, "Legal entity"). */

/** As the list shows one; what was never given is empty. */
export interface LegalEntity {
  readonly id: number
  readonly accountId: string
  readonly isDefault: boolean
  readonly legalName: string
  /** Three asterisks and the last four digits; empty when none is known. */
  readonly ein: string
  readonly primaryPhoneNumber: string
  readonly streetAddress: string
  readonly city: string
  readonly state: string
  readonly zip: string
  readonly countryCode: string
}

/** What became of adding or changing one. */
export interface WrittenLegalEntity {
  readonly id: number
  readonly accountId: string
  /** Otherwise it was there and is changed. */
  readonly created: boolean
}
