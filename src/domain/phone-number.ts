/**
 * Telephone numbers of the North American plan: one normaliser for what people, dialplans and SIP
 * hand in, the strict ten-digit form of the API, and the codes that are no ordinary number.
 */

declare const brand: unique symbol

/** Exactly ten decimal digits: area code, exchange, line. */
export type PhoneNumber = string & { readonly [brand]: 'PhoneNumber' }

/** What a dialed string turned out to be. */
export type Dialed =
  | { readonly kind: 'nanp'; readonly number: PhoneNumber }
  /** Emergency or N11 service code: allowed at once, never looked up. */
  | { readonly kind: 'service-code'; readonly code: string }
  /** Two to six digits that are no service code: an internal extension. */
  | { readonly kind: 'extension'; readonly digits: string }
  /** Another country's number without separators: `+` or `011`/`00`, and not country code 1. */
  | { readonly kind: 'foreign'; readonly digits: string }
  | { readonly kind: 'invalid'; readonly detail: string }

const tenDigits = /^\d{10}$/

/** The strict form of the API: ten digits and nothing else (spec, "Resources and their fields"). */
export function asPhoneNumber(text: string): PhoneNumber | undefined {
  return tenDigits.test(text) ? (text as PhoneNumber) : undefined
}

/** For numbers whose form the caller has already proved, such as rows of our own tables. */
export function phoneNumber(text: string): PhoneNumber {
  const number = asPhoneNumber(text)
  if (!number) throw new TypeError(`'${text}' is not ten digits`)
  return number
}

/** 911, 933 (test of emergency calling), 988 (crisis line) and the N11 service codes. */
const serviceCodes: ReadonlySet<string> = new Set([
  ...['2', '3', '4', '5', '6', '7', '8', '9'].map((digit) => `${digit}11`),
  '933',
  '988',
])

const longestDialedText = 128

const plainNumber = /^(\+?[\d\p{Zs}().\-/]+)$/u

/**
 * RFC 3966, of its parameters `phone-context` alone: `+1` names the country by whose plan a number
 * without a plus is judged, and a domain without digits names nobody. All others may hold or change a
 * number.
 */
const telUri = /^tel:(?!\+.*;)(\+?[\d().-]+)(?:;phone-context=(?:\+1|[a-z][a-z.-]*))?$/i

/**
 * RFC 3261 without user parameters, password, port, headers and escapes. Each label of the host holds
 * a letter: digits alone, as of an IP address, may be another number.
 */
const sipUri =
  /^sips?:(\+?[\d().-]+)@([\d-]*[a-z][a-z\d-]*(?:\.[\d-]*[a-z][a-z\d-]*)*)(?:;(?:user=phone|transport=[a-z]+|lr))*$/i

/**
 * Reads the whole of a dialed string or refuses it, so that every digit in it is in the number that is
 * judged: `2125550123`, `+1 (212) 555-0123`, `tel:+1-212-555-0123`,
 * `sip:12125550123@pbx.example.com;user=phone`. Left out are only what comes before a North American
 * number (`+1`, `1`, `011 1`, `00 1`), `phone-context=+1`, and digits in the name of the host that a
 * service code is sent to. `moreServiceCodes` are the operator's own emergency numbers.
 */
export function parseDialed(
  text: string,
  moreServiceCodes: ReadonlySet<string> = noMoreCodes,
): Dialed {
  if (text.length > longestDialedText) {
    return { kind: 'invalid', detail: `is longer than ${longestDialedText} characters` }
  }
  const trimmed = text.trim()
  if (trimmed === '') return { kind: 'invalid', detail: 'holds no digits' }
  const [, number, host = ''] =
    plainNumber.exec(trimmed) ?? sipUri.exec(trimmed) ?? telUri.exec(trimmed) ?? []
  if (number === undefined) return { kind: 'invalid', detail: notOneNumber }
  const digits = number.replace(/\D/g, '')
  if (digits === '') return { kind: 'invalid', detail: 'holds no digits' }
  const dialed = classify(digits, number.startsWith('+'), moreServiceCodes)
  if (dialed.kind === 'service-code' || !/\d/.test(host)) return dialed
  return {
    kind: 'invalid',
    detail: `the host '${host}' holds digits, which may be another number: hand in the number without it`,
  }
}

const notOneNumber =
  'is not one telephone number: must be digits, with an optional + and blanks or ( ) . - / between ' +
  'them, or a tel: or sip: URI that holds no other digits'

const noMoreCodes: ReadonlySet<string> = new Set()

function classify(digits: string, international: boolean, more: ReadonlySet<string>): Dialed {
  // Some telephone systems put a plus before every number; no country's number has three digits.
  if (serviceCodes.has(digits)) return { kind: 'service-code', code: digits }
  if (!international && more.has(digits)) return { kind: 'service-code', code: digits }
  if (international) return classifyInternational(digits, '+')
  const [, prefix = '', abroad] = /^(011|00)(\d{5,})$/.exec(digits) ?? []
  if (abroad !== undefined) return classifyInternational(abroad, prefix)
  if (digits.length === 10) return { kind: 'nanp', number: digits as PhoneNumber }
  if (/^1\d{10}$/.test(digits)) return { kind: 'nanp', number: digits.slice(1) as PhoneNumber }
  if (/^\d{2,6}$/.test(digits)) return { kind: 'extension', digits }
  return { kind: 'invalid', detail: `${digits.length} digits are no North American number` }
}

/**
 * `digits` begin with a country code. Country code 1 is ours, and ten digits behind a plus may be a
 * national number that somebody put a plus before: neither may pass as foreign.
 */
function classifyInternational(digits: string, prefix: string): Dialed {
  if (digits.startsWith('1') && digits.length === 11) {
    return { kind: 'nanp', number: digits.slice(1) as PhoneNumber }
  }
  const code = digits.slice(1)
  if (digits.startsWith('1') && serviceCodes.has(code)) {
    const detail = `holds a 1 before the service code ${code}: must be ${code} alone`
    return { kind: 'invalid', detail }
  }
  if (/^[01]/.test(digits)) {
    return {
      kind: 'invalid',
      detail: 'is no number of a country: country code 0 or a wrong length',
    }
  }
  // 15 is the most of ITU-T E.164.
  if (digits.length < 5 || digits.length > 15) {
    const detail = `${digits.length} digits behind ${prefix} are no other country's number, which has 5 to 15`
    return { kind: 'invalid', detail }
  }
  if (prefix === '+' && /^[2-9]\d{2}[2-9]\d{6}$/.test(digits)) {
    return { kind: 'invalid', detail: 'may be a national number with a plus before it' }
  }
  return { kind: 'foreign', digits: prefix + digits }
}

export function areaCodeOf(number: PhoneNumber): string {
  return number.slice(0, 3)
}

/** Toll-free codes in service and the reserved ones the spec names ("Calling hours", status rules). */
const tollFreeCodes: ReadonlySet<string> = new Set([
  ...['800', '833', '844', '855', '866', '877', '888'],
  ...['822', '880', '881', '882', '883', '884', '886', '887', '889'],
])

export function isTollFree(number: PhoneNumber): boolean {
  return tollFreeCodes.has(areaCodeOf(number))
}

/** 555-0100 to 555-0199: set aside for fiction in every area code, used by the sandbox. */
export function isFictional(number: PhoneNumber): boolean {
  return number.startsWith('55501', 3)
}

/** `212555****`: enough to find a call in a log, too little to dial. */
export function maskNumber(number: string): string {
  return number.length <= 4 ? '*'.repeat(number.length) : `${number.slice(0, -4)}****`
}
