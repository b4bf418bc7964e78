/** What the facts of a call must look like, the same at every door a call comes through. */

export const longestDialed = 128
/** Of a project or campaign. */
export const longestId = 64
export const longestCallerId = 100
export const longestReference = 200

/** Empty text holds: it counts as not given. */
export const postalCodePattern = /^(?:\d{5}(?:-?\d{4})?|[A-Za-z]\d[A-Za-z][ -]?\d[A-Za-z]\d)?$/
export const postalCodeRule = 'must be a US ZIP code or a Canadian postal code'
