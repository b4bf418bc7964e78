/** Project codes: the stored codes a text may refer to, and the validation of new ones. */

import { normalizeProjectCode, parseProjectCode } from '../../domain/caller.js'
import { maxIdLength } from '../../domain/decision.js'
import { invalidRequest } from '../../errors.js'

export interface CodeOwner {
  readonly accountId: string
  /** Whether new codes are prefixed with `<account>_` if necessary. */
  readonly autoPrefix: boolean
}

/** Pattern of a code without the account's prefix. */
const codePattern = /^[A-Z0-9][A-Z0-9_-]{0,39}$/

/**
 * The stored codes that a text may refer to, most likely first: a project created before auto prefix
 * was enabled keeps its code.
 */
export function listCandidateCodes(owner: CodeOwner, text: string): readonly string[] {
  const code = parseProjectCode(owner.accountId, text)
  if (code === undefined) return []
  const prefixed = withPrefix(owner, code)
  return code === owner.accountId || prefixed === code ? [code] : [code, prefixed]
}

/** The code of a new project as stored. Throws {@link AppError} naming `field`. */
export function readNewCode(owner: CodeOwner, text: string, field: string): string {
  const code = normalizeProjectCode(text)
  if (code === owner.accountId.toUpperCase()) {
    const rule = 'is the Master Project, which every account has'
    throw invalidRequest([{ field, value: text, rule }])
  }
  const stored = withPrefix(owner, code)
  const own = owner.autoPrefix ? stored.slice(prefixOf(owner).length) : stored
  if (!codePattern.test(own)) {
    const rule = 'must be 1 to 40 letters, digits, - or _, starting with a letter or digit'
    throw invalidRequest([{ field, value: text, rule }])
  }
  if (stored.length > maxIdLength) {
    const rule = `must not be longer than ${maxIdLength} characters with the account's prefix`
    throw invalidRequest([{ field, value: text, rule }])
  }
  return stored
}

function withPrefix(owner: CodeOwner, code: string): string {
  const prefix = prefixOf(owner)
  return owner.autoPrefix && !code.startsWith(prefix) ? `${prefix}${code}` : code
}

function prefixOf({ accountId }: CodeOwner): string {
  return `${accountId.toUpperCase()}_`
}
