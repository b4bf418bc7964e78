/** Reads a list of numbers to be warmed, a slice at a time, so that decisions do not wait for it. */
import { postalCodePattern, postalCodeRule } from '../domain/call-fields.js'
import {
  asPhoneNumber,
  type Dialed,
  type PhoneNumber,
  parseDialed,
} from '../domain/phone-number.js'
import { yieldToEventLoop } from '../domain/slices.js'
import { shorten } from '../errors.js'

export interface NumberToWarm {
  readonly number: PhoneNumber
  readonly postalCode?: string | undefined
}

export interface RefusedNumber {
  /** Place in the list, from 0. */
  readonly index: number
  /** As given, cut short. */
  readonly value: string
  readonly rule: string
}

export interface WarmNumbersRead {
  readonly numbers: readonly NumberToWarm[]
  /** The first `mostRefused` of them. */
  readonly refused: readonly RefusedNumber[]
  readonly refusedCount: number
}

export interface WarmNumbersOptions {
  /** The operator's own, as the gate has them. */
  readonly serviceCodes: ReadonlySet<string>
  readonly mostRefused: number
}

/** Service codes are refused like whatever else is no North American number: nobody is asked. */
export async function readWarmNumbers(
  values: readonly unknown[],
  { serviceCodes, mostRefused }: WarmNumbersOptions,
): Promise<WarmNumbersRead> {
  const numbers: NumberToWarm[] = []
  const refused: RefusedNumber[] = []
  let refusedCount = 0
  for (let index = 0; index < values.length; index += 1) {
    const turn = index > 0 ? yieldToEventLoop() : undefined
    if (turn) await turn
    const value = values[index]
    const read = readNumberToWarm(value, serviceCodes)
    if (typeof read !== 'string') {
      numbers.push(read)
      continue
    }
    refusedCount += 1
    if (refused.length < mostRefused) refused.push({ index, value: shown(value), rule: read })
  }
  return { numbers, refused, refusedCount }
}

/** A number as text, or an object with `number` and `postalCode`; else the rule that is broken. */
export function readNumberToWarm(
  value: unknown,
  codes: ReadonlySet<string>,
): NumberToWarm | string {
  if (typeof value === 'string') return readNumber(value, codes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return shapeRule
  const given = byName(value)
  if (typeof given === 'string') return given
  const number = given.get('number')
  if (typeof number !== 'string') return 'number: is required and must be text'
  const read = readNumber(number, codes)
  return typeof read === 'string' ? read : withPostalCode(read, given.get('postalcode'))
}

/** The fields by their names in lower case; else what is wrong with a name. */
function byName(value: object): ReadonlyMap<string, unknown> | string {
  const given = new Map<string, unknown>()
  for (const [written, content] of Object.entries(value)) {
    const name = written.toLowerCase()
    if (name !== 'number' && name !== 'postalcode') {
      return `${shorten(written)}: is not a field; known are number, postalCode`
    }
    if (given.has(name)) return `${written}: is given twice`
    given.set(name, content)
  }
  return given
}

function withPostalCode(read: NumberToWarm, code: unknown): NumberToWarm | string {
  if (code === undefined || code === null) return read
  const text = typeof code === 'string' ? code.trim() : undefined
  if (text === undefined || !postalCodePattern.test(text)) return `postalCode: ${postalCodeRule}`
  return text === '' ? read : { number: read.number, postalCode: text }
}

const shapeRule = 'must be text, or an object with number and postalCode'

function readNumber(text: string, codes: ReadonlySet<string>): NumberToWarm | string {
  const strict = asPhoneNumber(text)
  if (strict !== undefined && !codes.has(text)) return { number: strict }
  const dialed = parseDialed(text, codes)
  return dialed.kind === 'nanp' ? { number: dialed.number } : ruleOf(dialed)
}

function ruleOf(dialed: Exclude<Dialed, { readonly kind: 'nanp' }>): string {
  switch (dialed.kind) {
    case 'service-code':
      return 'is an emergency or service code, which nobody is asked about'
    case 'extension':
      return 'is an internal extension, which nobody is asked about'
    case 'foreign':
      return "is another country's number, which nobody is asked about"
    case 'invalid':
      return dialed.detail
  }
}

function shown(value: unknown): string {
  return shorten(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}
