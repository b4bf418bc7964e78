/**
 * Telephone numbers of the North American plan: one normaliser for what people, dialplans and SIP
 * hand in, the strict ten-digit form of the API, and the codes that are no ordinary number.
 */

declare const brand: unique symbol

/** Exactly ten decimal digits: area code, exchange, line. */
export type PhoneNumber = string & { readonly [brand]: 'PhoneNumber' }

/** What a dialled string turned out to be. */
export type Dialed =
  | { readonly kind: 'nanp'; readonly number: PhoneNumber }
  /** Emergency or N11 service code: allowed at once, never looked up. */
  | { readonly kind: 'service-code'; readonly code: string }
  /** Two to six digits that are no service code: an internal extension. */
  | { readonly kind: 'extension'; readonly digits: string }
  /** Another country's number as dialled: `+` or `011`/`00`, and not country code 1. */
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

/**
 * Reads a dialled string: `2125550123`, `+1 (212) 555-0123`, `tel:+1-212-555-0123`,
 * `sip:12125550123@host;user=phone`. `moreServiceCodes` are the operator's own emergency numbers.
 */
export function parseDialed(
  text: string,
  moreServiceCodes: ReadonlySet<string> = noMoreCodes,
): Dialed {
  if (text.length > longestDialedText) {
    return { kind: 'invalid', detail: `longer than ${longestDialedText} characters` }
  }
  const userPart = text
    .trim()
    .replace(/^(?:tel|sips?):/i, '')
    .replace(/[@;].*$/s, '')
  if (!/^\+?[\d\s().\-/]*$/.test(userPart)) {
    return { kind: 'invalid', detail: 'holds characters that are no part of a telephone number' }
  }
  const digits = userPart.replace(/\D/g, '')
  if (digits === '') return { kind: 'invalid', detail: 'holds no digits' }
  return classify(digits, userPart.startsWith('+'), moreServiceCodes)
}

const noMoreCodes: ReadonlySet<string> = new Set()

function classify(digits: string, international: boolean, more: ReadonlySet<string>): Dialed {
  const national = digits.startsWith('1') ? digits.slice(1) : digits
  if (serviceCodes.has(national)) return { kind: 'service-code', code: national }
  if (!international && more.has(digits)) return { kind: 'service-code', code: digits }
  if (international) return classifyInternational(digits, `+${digits}`)
  const abroad = /^(?:011|00)(\d{5,})$/.exec(digits)?.[1]
  if (abroad !== undefined) return classifyInternational(abroad, digits)
  if (digits.length === 10) return { kind: 'nanp', number: digits as PhoneNumber }
  if (/^1\d{10}$/.test(digits)) return { kind: 'nanp', number: national as PhoneNumber }
  if (/^\d{2,6}$/.test(digits)) return { kind: 'extension', digits }
  return { kind: 'invalid', detail: `${digits.length} digits are no North American number` }
}

/**
 * `digits` begin with a country code. Country code 1 is ours, and ten digits behind a plus may be a
 * national number that somebody put a plus before: neither may pass as foreign.
 */
function classifyInternational(digits: string, dialed: string): Dialed {
  if (digits.startsWith('1') && digits.length === 11) {
    return { kind: 'nanp', number: digits.slice(1) as PhoneNumber }
  }
  if (/^[01]/.test(digits)) {
    return {
      kind: 'invalid',
      detail: 'is no number of a country: country code 0 or a wrong length',
    }
  }
  if (dialed.startsWith('+') && /^[2-9]\d{2}[2-9]\d{6}$/.test(digits)) {
    return { kind: 'invalid', detail: 'may be a national number with a plus before it' }
  }
  return { kind: 'foreign', digits: dialed }
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
