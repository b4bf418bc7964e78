/** How the code of a project is read, wherever a request names one. */

/**
 * Codes are compared trimmed and in upper case; only the Master Project's, which is the account's
 * id, is stored as it came. `undefined` for blank text.
 */
export function readCode(accountId: string, text: string): string | undefined {
  const code = upperCased(text)
  if (code === '') return undefined
  return code === accountId.toUpperCase() ? accountId : code
}

/** Only ASCII has upper case here: that of other letters, as of `ſ` or `ß`, is another's code. */
export function upperCased(text: string): string {
  const trimmed = text.trim()
  return /^[\x20-\x7e]*$/.test(trimmed) ? trimmed.toUpperCase() : trimmed
}
