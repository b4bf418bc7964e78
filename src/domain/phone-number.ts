/**
 * Telephone numbers of the North American plan: the parser for dial strings from people, dialplans
 * and SIP, the strict ten-digit form of the API, and the codes that are not ordinary numbers.
 */

import type { CallerIdProblem } from './words/caller-id.js'
import type { Said } from './words/words.js'

declare const brand: unique symbol

/** Exactly ten decimal digits: area code, exchange, line. */
export type PhoneNumber = string & { readonly [brand]: 'PhoneNumber' }

/** The result of parsing a dial string. */
export type ParsedDialString =
  | { readonly kind: 'nanp'; readonly number: PhoneNumber }
  /** Emergency or N11 service code: always allowed, never looked up. */
  | { readonly kind: 'service-code'; readonly code: string }
  /** Two to six digits that are not a service code: an internal extension. */
  | { readonly kind: 'extension'; readonly digits: string }
  /** Another country's number without separators, with `+`, `011` or `00` and a country code other than 1. */
  | { readonly kind: 'foreign'; readonly digits: string }
  /** The words of `says` follow the name of what was sent. */
  | { readonly kind: 'invalid'; readonly says: readonly Said[] }

const tenDigits = /^\d{10}$/

/** Parses the strict form of the API: exactly ten digits (spec, "Resources and their fields"). */
export function parsePhoneNumber(text: string): PhoneNumber | undefined {
  return tenDigits.test(text) ? (text as PhoneNumber) : undefined
}

/** For numbers that are already validated, such as rows of callgate's own tables. */
export function toPhoneNumber(text: string): PhoneNumber {
  const number = parsePhoneNumber(text)
  if (!number) throw new TypeError(`'${text}' is not ten digits`)
  return number
}

/** 911, 933 (test of emergency calling), 988 (crisis line) and the N11 service codes. */
const serviceCodes: ReadonlySet<string> = new Set([
  ...['2', '3', '4', '5', '6', '7', '8', '9'].map((digit) => `${digit}11`),
  '933',
  '988',
])

const maxDialStringLength = 128

/** Ten digits that no prefix for calls abroad begins. */
const nationalNumberPattern = /^[2-9]\d{9}$/

const plainNumberPattern = /^(\+?[\d\p{Zs}().\-/]+)$/u

/**
 * RFC 3966 with `phone-context` as the only parameter: `+1` or a domain without digits, neither of
 * which changes the number. All other parameters may contain or change a number.
 */
const telUriPattern = /^tel:(?!\+.*;)(\+?[\d().-]+)(?:;phone-context=(?:\+1|[a-z][a-z.-]*))?$/i

/**
 * RFC 3261 without user parameters, password, port, headers and escapes. Each label of the host must
 * contain a letter, since digits only, as in an IP address, may be another number.
 */
const sipUriPattern =
  /^sips?:(\+?[\d().-]+)@([\d-]*[a-z][a-z\d-]*(?:\.[\d-]*[a-z][a-z\d-]*)*)(?:;(?:user=phone|transport=[a-z]+|lr))*$/i

/**
 * Parses a complete dial string or refuses it, so that every digit in it belongs to the number that is
 * checked: `2125550123`, `+1 (212) 555-0123`, `tel:+1-212-555-0123`,
 * `sip:12125550123@pbx.example.com;user=phone`. Ignored are only the prefix of a North American number
 * (`+1`, `1`, `011 1`, `00 1`), `phone-context=+1`, and digits in the host name of a service code.
 * `moreServiceCodes` are the operator's own emergency numbers.
 */
export function parseDialString(
  text: string,
  moreServiceCodes: ReadonlySet<string> = noExtraServiceCodes,
): ParsedDialString {
  // The usual form needs none of the patterns below.
  if (nationalNumberPattern.test(text) && !moreServiceCodes.has(text)) {
    return { kind: 'nanp', number: text as PhoneNumber }
  }
  if (text.length > maxDialStringLength) {
    return toInvalid({ code: 'longer-than', params: { characters: maxDialStringLength } })
  }
  const parts = splitDialString(text.trim()) ?? splitDialString(replaceLookalikes(text).trim())
  if (parts === undefined) return toInvalid(...explainMalformed(text))
  const { number, host } = parts
  const digits = number.replace(/\D/g, '')
  if (digits === '') return toInvalid({ code: 'no-digits' })
  const dialed = classifyDigits(digits, number.startsWith('+'), moreServiceCodes)
  if (dialed.kind === 'service-code' || !/\d/.test(host)) return dialed
  return toInvalid({ code: 'host-has-digits', quote: host })
}

const toInvalid = (...says: readonly Said[]): ParsedDialString => ({ kind: 'invalid', says })

function splitDialString(
  text: string,
): { readonly number: string; readonly host: string } | undefined {
  const [, number, host = ''] =
    plainNumberPattern.exec(text) ?? sipUriPattern.exec(text) ?? telUriPattern.exec(text) ?? []
  return number === undefined ? undefined : { number, host }
}

/** Invisible characters from web pages and address books: without width, or marks of text direction. */
const invisibleCharacters = /[\u00ad\u200b-\u200f\u202a-\u202c\u2060\u2066-\u2069\ufeff]/g
const dashes = /[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g
const wideCharacters = /[\uff01-\uff5e]/g

function replaceLookalikes(text: string): string {
  return text
    .replace(invisibleCharacters, '')
    .replace(dashes, '-')
    .replace(wideCharacters, (wide) => wide.normalize('NFKC'))
}

/** Names a character that people cannot see or would mistake for another one. */
function explainMalformed(text: string): readonly Said[] {
  if (text.trim() === '') return [{ code: 'no-digits' }]
  const odd = /[^\x20-\x7e\p{Zs}]/u.exec(replaceLookalikes(text))?.[0]
  if (odd === undefined) return [{ code: 'not-one-number' }]
  const code = odd.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  return [{ code: 'not-one-number' }, { code: 'has-character', params: { character: `U+${code}` } }]
}

const noExtraServiceCodes: ReadonlySet<string> = new Set()

function classifyDigits(
  digits: string,
  international: boolean,
  more: ReadonlySet<string>,
): ParsedDialString {
  // Some telephone systems put a plus before every number; no international number has three digits.
  if (serviceCodes.has(digits)) return { kind: 'service-code', code: digits }
  if (!international && more.has(digits)) return { kind: 'service-code', code: digits }
  if (international) return classifyInternational(digits, '+')
  const [, prefix = '', abroad] = /^(011|00)(\d{5,})$/.exec(digits) ?? []
  if (abroad !== undefined) return classifyInternational(abroad, prefix)
  if (digits.length === 10) return { kind: 'nanp', number: digits as PhoneNumber }
  if (/^1\d{10}$/.test(digits)) return { kind: 'nanp', number: digits.slice(1) as PhoneNumber }
  if (/^\d{2,6}$/.test(digits)) return { kind: 'extension', digits }
  return toInvalid({ code: 'not-national', params: { digits: digits.length } })
}

/**
 * `digits` begin with a country code. Country code 1 is North America, and ten digits after a plus may
 * be a national number with a plus added: neither may be treated as foreign.
 */
function classifyInternational(digits: string, prefix: string): ParsedDialString {
  if (digits.startsWith('1') && digits.length === 11) {
    return { kind: 'nanp', number: digits.slice(1) as PhoneNumber }
  }
  const code = digits.slice(1)
  if (digits.startsWith('1') && serviceCodes.has(code)) {
    return toInvalid({ code: 'service-code-after-1', params: { code } })
  }
  if (/^[01]/.test(digits)) {
    return toInvalid({ code: 'not-international' })
  }
  // ITU-T E.164 allows at most 15 digits.
  if (digits.length < 5 || digits.length > 15) {
    const params = { digits: digits.length, prefix }
    return toInvalid({ code: 'wrong-international-length', params })
  }
  if (prefix === '+' && /^[2-9]\d{2}[2-9]\d{6}$/.test(digits)) {
    return toInvalid({ code: 'plus-before-national' })
  }
  return { kind: 'foreign', digits: prefix + digits }
}

/** Area code and exchange begin with 2 to 9, and neither is a service code such as 411. */
const possibleNumberPattern = /^[2-9](?!11)\d{2}[2-9](?!11)\d{6}$/

/** Whether somebody could have the number; most texts of ten digits that are made up are none. */
export function isPossibleNumber(number: PhoneNumber): boolean {
  return possibleNumberPattern.test(number)
}

/** Reserved for an expansion of the plan (N9X, 37X, 96X), so that no area code has them yet. */
const reservedAreaCode = /^(?:.9|37|96)/

/** Premium services, for which the person who calls back would pay. */
const premiumNumber = /^(?:900|\d{3}976)/

/** The number of the North American plan that a caller ID is, or why it may not be shown. */
export function parseCallerId(
  text: string,
): { readonly number: PhoneNumber } | { readonly problem: CallerIdProblem } {
  const parsed = parseDialString(text)
  if (parsed.kind !== 'nanp' || !isPossibleNumber(parsed.number)) {
    return { problem: 'not-nanp' }
  }
  const { number } = parsed
  if (reservedAreaCode.test(number)) return { problem: 'area-code-not-in-use' }
  return premiumNumber.test(number) ? { problem: 'premium' } : { number }
}

/** What telephone systems send instead of a withheld number. */
const withheld =
  /^\s*(?:(?:sips?:)?(?:anonymous|restricted|private|unavailable|unknown)(?:@[\w.-]*)?\s*)?$/i

/** The longest number inside a telephone system, such as an extension. */
const maxShortDigits = 6

/**
 * Reads the caller ID of a call. Returns `undefined` if there is none: it is withheld, or it is an extension or the name of a
 * telephone, which the trunk replaces. A service code never counts as an extension.
 */
export function readCallerId(
  text: string | undefined,
): ReturnType<typeof parseCallerId> | undefined {
  if (text === undefined || withheld.test(text)) return undefined
  const [user = ''] = text.split('@')
  const digits = user.match(/\p{Nd}/gu)?.length ?? 0
  if (digits <= maxShortDigits && parseDialString(text).kind !== 'service-code') return undefined
  return parseCallerId(text)
}

export function areaCodeOf(number: PhoneNumber): string {
  return number.slice(0, 3)
}

/** Toll-free codes in service, and the reserved ones in the spec ("Calling hours", status rules). */
const tollFreeCodes: ReadonlySet<string> = new Set([
  '800',
  '833',
  '844',
  '855',
  '866',
  '877',
  '888',
  '822',
  '880',
  '881',
  '882',
  '883',
  '884',
  '886',
  '887',
  '889',
])

export function isTollFree(number: PhoneNumber): boolean {
  return tollFreeCodes.has(areaCodeOf(number))
}

/** 555-0100 to 555-0199 are reserved for fiction in every area code; the sandbox uses them. */
export function isFictional(number: PhoneNumber): boolean {
  return number.startsWith('55501', 3)
}

/** `212555****`: enough to find a call in a log, but not enough to dial. */
export function maskNumber(number: string): string {
  return number.length <= 4 ? '*'.repeat(number.length) : `${number.slice(0, -4)}****`
}
