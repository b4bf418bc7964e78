/** Codes of projects: which stored ones a text may mean, and what a new one may be. */
import { longestId } from '../../domain/call-fields.js'
import { readCode, upperCased } from '../../domain/project-code.js'
import { invalidRequest } from '../../errors.js'

export interface CodeOwner {
  readonly accountId: string
  /** Whether new codes get `<account>_` in front when it is missing. */
  readonly autoPrefix: boolean
}

/** Of a code without the account's prefix. */
const codePattern = /^[A-Z0-9][A-Z0-9_-]{0,39}$/

/**
 * The stored codes that a text on a creating call may stand for, likeliest first: a project made
 * before the account's prefix was switched on keeps its code.
 */
export function codesMeant(owner: CodeOwner, text: string): readonly string[] {
  const code = readCode(owner.accountId, text)
  if (code === undefined) return []
  const prefixed = withPrefix(owner, code)
  return code === owner.accountId || prefixed === code ? [code] : [code, prefixed]
}

/** The code a new project is stored under. Throws {@link AppError} naming `field`. */
export function readNewCode(owner: CodeOwner, text: string, field: string): string {
  const code = upperCased(text)
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
  if (stored.length > longestId) {
    const rule = `must not be longer than ${longestId} characters with the account's prefix`
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
