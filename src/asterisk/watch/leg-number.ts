/**
 * Reads the number that a leg dials from Asterisk's dial string, in the form used by decisions. An
 * ambiguous dial string has no number, so that no permit is valid for it.
 */
import { parseDialString } from '../../domain/phone-number.js'

export interface LegNumberOptions {
  /** The prefix that the trunk requires before every number; removed once if present. */
  readonly dialPrefix: string
  /** The operator's own emergency numbers. */
  readonly serviceCodes: ReadonlySet<string>
  /** Such as `PJSIP`; app_queue includes it in the dial string. */
  readonly technology?: string | undefined
}

export type LegNumber =
  | { readonly kind: 'service-code'; readonly code: string }
  | { readonly kind: 'number'; readonly number: string }
  | { readonly kind: 'unreadable' }

const unreadable: LegNumber = { kind: 'unreadable' }
const maxDialStringLength = 256

/** All characters of a device, a SIP URI or a number; no space, quote, `&`, `%` or `<`. */
const plainTextPattern = /^[\w.:+@;=/[\]*#()-]+$/
/** `2125550100@host:port;user=phone`: there is only one `@`, and no parameter has a digit. */
const userAtHostPattern = /^([^@]*)@[^@;]+(?:;[^@\d]*)?$/
/** A number on its own: digits and punctuation only. */
const bareNumberPattern = /^\+?[\d.()-]+$/
/** Options of a Local channel, or the name of an address record: not a number. */
const wordPattern = /^[A-Za-z][\w-]*$/

/**
 * Reads `2125550100@trunk`, `trunk/sip:2125550100@host:port;user=phone`, `trunk/tel:+12125550100`,
 * `g1/2125550100`, `2125550100@context/n` and `2125550100`. A string with two numbers, or with
 * anything not known to be harmless, is unreadable.
 */
export function parseLegNumber(dialString: string, options: LegNumberOptions): LegNumber {
  if (dialString.length > maxDialStringLength) return unreadable
  const text = withoutTechnology(dialString, options.technology)
  if (!plainTextPattern.test(text)) return unreadable
  const dialedPart = extractDialedPart(text)
  return dialedPart === undefined ? unreadable : parseDialedPart(dialedPart, options)
}

/** With the technology in front, as from app_queue, options may follow after a comma. */
function withoutTechnology(text: string, technology: string | undefined): string {
  const before = `${technology}/`
  if (technology === undefined || !text.startsWith(before)) return text
  return text.slice(before.length).replace(/,.*$/s, '')
}

/** The part with the number; `undefined` when its position is ambiguous. */
function extractDialedPart(text: string): string | undefined {
  const [device = '', target, ...more] = text.split('/')
  if (more.length > 0) return undefined
  if (target === undefined)
    return /^(?:sips?|tel):/i.test(device) ? extractUser(device) : extractUserOrAll(device)
  const user = userAtHostPattern.exec(device)?.[1]
  // `number@device/address` dials the number before the `@`, even if the address has another one.
  if (user !== undefined) return wordPattern.test(target) ? user : undefined
  return extractUser(target)
}

function extractUserOrAll(text: string): string {
  return userAtHostPattern.exec(text)?.[1] ?? text
}

/** The user part of a SIP address, which must precede an `@`; otherwise the number itself. */
function extractUser(target: string): string | undefined {
  const [, scheme, rest = ''] = /^(?:(sips?|tel):)?(.*)$/is.exec(target) ?? []
  const user = userAtHostPattern.exec(rest)?.[1]
  if (user !== undefined) return user
  return scheme?.toLowerCase().startsWith('sip') ? undefined : rest
}

function parseDialedPart(
  dialedPart: string,
  { dialPrefix, serviceCodes }: LegNumberOptions,
): LegNumber {
  // An emergency number is recognized without the trunk's prefix too.
  const withPrefix = parseNumber(dialedPart, serviceCodes)
  if (withPrefix.kind === 'service-code' || !dialedPart.startsWith(dialPrefix)) return withPrefix
  return parseNumber(dialedPart.slice(dialPrefix.length), serviceCodes)
}

function parseNumber(text: string, serviceCodes: ReadonlySet<string>): LegNumber {
  if (!bareNumberPattern.test(text)) return unreadable
  // A trunk may require a 1 before emergency numbers too, and such a leg must never be hung up.
  const withoutOne = parseDialString(text.replace(/^\+?1/, ''))
  if (withoutOne.kind === 'service-code') return withoutOne
  const dialed = parseDialString(text, serviceCodes)
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
