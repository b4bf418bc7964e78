/** Reads a list of warmup numbers in slices, so that decisions are not delayed. */

import {
  type ParsedDialString,
  type PhoneNumber,
  parseDialString,
  parsePhoneNumber,
} from '../../domain/phone-number.js'
import { postalCodePattern, postalCodeRule, repairZip } from '../../domain/place.js'
import { describeSaid } from '../../domain/words/words.js'
import { truncate } from '../../errors.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'

export interface WarmupNumber {
  readonly number: PhoneNumber
  readonly postalCode?: string | undefined
}

interface RefusedNumber {
  /** Index in the list, from 0. */
  readonly index: number
  /** As given, truncated. */
  readonly value: string
  readonly rule: string
}

export interface ReadWarmupNumbersResult {
  readonly numbers: readonly WarmupNumber[]
  /** The first `maxRefused` of them. */
  readonly refused: readonly RefusedNumber[]
  readonly refusedCount: number
}

export interface ReadWarmupNumbersOptions {
  /** The operator's own service codes, the same as for the gate. */
  readonly serviceCodes: ReadonlySet<string>
  readonly maxRefused: number
}

/** Refuses service codes and everything else that is not a North American number. */
export async function readWarmupNumbers(
  values: readonly unknown[],
  { serviceCodes, maxRefused }: ReadWarmupNumbersOptions,
): Promise<ReadWarmupNumbersResult> {
  const numbers: WarmupNumber[] = []
  const refused: RefusedNumber[] = []
  let refusedCount = 0
  for (let index = 0; index < values.length; index += 1) {
    const turn = index > 0 ? yieldToEventLoop() : undefined
    if (turn) await turn
    const value = values[index]
    const read = parseWarmupNumber(value, serviceCodes)
    if (typeof read !== 'string') {
      numbers.push(read)
      continue
    }
    refusedCount += 1
    if (refused.length < maxRefused) refused.push({ index, value: formatValue(value), rule: read })
  }
  return { numbers, refused, refusedCount }
}

/** Accepts text, or an object with `number` and `postalCode`; returns an error text for anything else. */
export function parseWarmupNumber(
  value: unknown,
  codes: ReadonlySet<string>,
): WarmupNumber | string {
  if (typeof value === 'string') return parseNumber(value, codes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return shapeRule
  const given = indexFields(value)
  if (typeof given === 'string') return given
  const number = given.get('number')
  if (typeof number !== 'string') return 'number: is required and must be text'
  const read = parseNumber(number, codes)
  return typeof read === 'string' ? read : addPostalCode(read, given.get('postalcode'))
}

/** Indexes the fields by lower-case name; returns an error text for an unknown or repeated name. */
function indexFields(value: object): ReadonlyMap<string, unknown> | string {
  const given = new Map<string, unknown>()
  for (const [written, content] of Object.entries(value)) {
    const name = written.toLowerCase()
    if (name !== 'number' && name !== 'postalcode') {
      return `${truncate(written)}: is an unknown field; known fields are number, postalCode`
    }
    if (given.has(name)) return `${written}: is given twice`
    given.set(name, content)
  }
  return given
}

function addPostalCode(read: WarmupNumber, code: unknown): WarmupNumber | string {
  if (code === undefined || code === null) return read
  const text = typeof code === 'string' ? repairZip(code.trim()) : undefined
  if (text === undefined || !postalCodePattern.test(text)) return `postalCode: ${postalCodeRule}`
  return text === '' ? read : { number: read.number, postalCode: text }
}

const shapeRule = 'must be text, or an object with number and postalCode'

function parseNumber(text: string, codes: ReadonlySet<string>): WarmupNumber | string {
  const strict = parsePhoneNumber(text)
  if (strict !== undefined && !codes.has(text)) return { number: strict }
  const dialed = parseDialString(text, codes)
  return dialed.kind === 'nanp' ? { number: dialed.number } : describeRule(dialed)
}

function describeRule(dialed: Exclude<ParsedDialString, { readonly kind: 'nanp' }>): string {
  switch (dialed.kind) {
    case 'service-code':
      return 'is an emergency or service code, which is never looked up'
    case 'extension':
      return 'is an internal extension, which is never looked up'
    case 'foreign':
      return "is another country's number, which is never looked up"
    case 'invalid':
      return describeSaid(dialed.says)
  }
}

function formatValue(value: unknown): string {
  return truncate(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}
