/**
 * The number a leg dials, read from Asterisk's dial string, in the form a decision gives it. What
 * cannot be read with certainty has no number, so that no permit covers it.
 */
import { parseDialed } from '../domain/phone-number.js'

export interface LegNumberOptions {
  /** What the trunk wants before every number; taken off once where it is there. */
  readonly dialPrefix: string
  /** The operator's own emergency numbers. */
  readonly serviceCodes: ReadonlySet<string>
  /** Such as `PJSIP`: app_queue leaves it before the dial string. */
  readonly technology?: string | undefined
}

export type LegNumber =
  | { readonly kind: 'service-code'; readonly code: string }
  | { readonly kind: 'number'; readonly number: string }
  | { readonly kind: 'unreadable' }

const unreadable: LegNumber = { kind: 'unreadable' }
const longestDialString = 256

/** Everything a device, a SIP URI or a number may hold; no space, quote, `&`, `%` or `<`. */
const plainText = /^[\w.:+@;=/[\]*#()-]+$/
/** `2125550100@host:port;user=phone`: the number ends at the only `@`; no parameter holds a digit. */
const addressed = /^([^@]*)@[^@;]+(?:;[^@\d]*)?$/
/** Where a number stands alone, punctuation is all that may be with the digits. */
const bareNumber = /^\+?[\d.()-]+$/
/** Options of a Local channel, or the name of an address record: no number. */
const word = /^[A-Za-z][\w-]*$/

/**
 * Reads `2125550100@trunk`, `trunk/sip:2125550100@host:port;user=phone`, `trunk/tel:+12125550100`,
 * `g1/2125550100`, `2125550100@context/n` and `2125550100`. A string that names two numbers, or
 * holds anything not known to be harmless, is unreadable.
 */
export function legNumber(dialString: string, options: LegNumberOptions): LegNumber {
  if (dialString.length > longestDialString) return unreadable
  const text = withoutTechnology(dialString, options.technology)
  if (!plainText.test(text)) return unreadable
  const dialled = dialledPart(text)
  return dialled === undefined ? unreadable : read(dialled, options)
}

/** Where the technology stands before it, as from app_queue, options may follow after a comma. */
function withoutTechnology(text: string, technology: string | undefined): string {
  const before = `${technology}/`
  if (technology === undefined || !text.startsWith(before)) return text
  return text.slice(before.length).replace(/,.*$/s, '')
}

/** What stands where the number belongs; `undefined` when that place is not certain. */
function dialledPart(text: string): string | undefined {
  const [device = '', target, ...more] = text.split('/')
  if (more.length > 0) return undefined
  if (target === undefined)
    return /^(?:sips?|tel):/i.test(device) ? userOf(device) : aloneOr(device)
  const asked = addressed.exec(device)?.[1]
  // `number@device/address` dials the number, whatever number the address holds.
  if (asked !== undefined) return word.test(target) ? asked : undefined
  return userOf(target)
}

function aloneOr(text: string): string {
  return addressed.exec(text)?.[1] ?? text
}

/** The user of a SIP address, which has one only before an `@`; else the number itself. */
function userOf(target: string): string | undefined {
  const [, scheme, rest = ''] = /^(?:(sips?|tel):)?(.*)$/is.exec(target) ?? []
  const user = addressed.exec(rest)?.[1]
  if (user !== undefined) return user
  return scheme?.toLowerCase().startsWith('sip') ? undefined : rest
}

function read(dialled: string, { dialPrefix, serviceCodes }: LegNumberOptions): LegNumber {
  // An emergency number dialled without the trunk's prefix is one all the same.
  const asDialled = numberIn(dialled, serviceCodes)
  if (asDialled.kind === 'service-code' || !dialled.startsWith(dialPrefix)) return asDialled
  return numberIn(dialled.slice(dialPrefix.length), serviceCodes)
}

function numberIn(text: string, serviceCodes: ReadonlySet<string>): LegNumber {
  if (!bareNumber.test(text)) return unreadable
  // A trunk may want a 1 before emergency numbers too, and such a leg must never be hung up.
  const withoutOne = parseDialed(text.replace(/^\+?1/, ''))
  if (withoutOne.kind === 'service-code') return withoutOne
  const dialed = parseDialed(text, serviceCodes)
  switch (dialed.kind) {
    case 'nanp':
      return { kind: 'number', number: dialed.number }
    case 'extension':
    case 'foreign':
      return { kind: 'number', number: dialed.digits }
    case 'service-code':
      return dialed
    case 'invalid':
      return unreadable
  }
}
