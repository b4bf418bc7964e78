/**
 * Reads the fields of a reported opt-out. A person has asked for calls to end, so a mistake in a field must not prevent the
 * opt-out: fields that cannot be used are left out and named in the answer (ADR 0169).
 */
import { z } from 'zod'
import {
  type OptOutChannel,
  type OptOutScope,
  optOutChannels,
  optOutScopes,
} from '../../domain/consent/consent-records.js'
import { maxIdLength as maxProjectIdLength } from '../../domain/decision.js'
import { parseDialString } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import { describeSaid } from '../../domain/words/words.js'
import type { FieldProblem } from '../../errors.js'
import { problemAt, unknownFieldProblem } from '../validation-error.js'

export interface OptOutRequest {
  /** Ten digits; absent if only the decision was sent. */
  readonly number?: string | undefined
  readonly decisionId?: string | undefined
  readonly scope: OptOutScope
  readonly channel?: OptOutChannel | undefined
  readonly receivedAt?: Instant | undefined
  readonly reference?: string | undefined
  /** The whole text, even if only its beginning can be stored. */
  readonly said?: string | undefined
  readonly goods?: string | undefined
  readonly source: string
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  /** Whether to answer with a receipt. */
  readonly receipt: boolean
  /** Fields that could not be used as sent. */
  readonly ignored: readonly FieldProblem[]
}

const maxSaidLength = 500
const maxDecisionIdLength = 64
const maxTextLength = 200

/** Thrown for a value that cannot be used; the message is the rule that it breaks. */
class BrokenRule extends Error {}

const readText = (maxLength: number) => (value: unknown, note: (rule: string) => void) => {
  const text = toText(value)
  if (text.length > maxLength) {
    note(`is longer than ${maxLength} characters; only the first ${maxLength} are stored`)
  }
  return text.slice(0, maxLength).trim()
}

const readId = (maxLength: number) => (value: unknown) => {
  const text = toText(value)
  if (text.length <= maxLength) return text
  throw new BrokenRule(`must not be longer than ${maxLength} characters`)
}

function toText(value: unknown): string {
  if (['string', 'number', 'boolean'].includes(typeof value)) return String(value).trim()
  throw new BrokenRule('must be text')
}

const readers = {
  number: readNumber,
  decisionId: readId(maxDecisionIdLength),
  scope: readScope,
  channel: readChannel,
  receivedAt: readReceivedAt,
  reference: readText(maxTextLength),
  said: readSaid,
  goods: readText(maxTextLength),
  source: readSource,
  projectId: readId(maxProjectIdLength),
  campaignId: readId(maxProjectIdLength),
  receipt: readReceipt,
}

/** Finds a number in a longer text, such as one with an extension. */
const numberInText =
  /(?<!\d)(?:\+?1[\s.-]{0,3})?\(?[2-9]\d{2}\)?[\s.-]{0,3}[2-9]\d{2}[\s.-]{0,3}\d{4}(?!\d)/g

function readNumber(value: unknown): string {
  const text = toText(Array.isArray(value) && value.length === 1 ? value[0] : value)
  const candidates = [text, ...(text.match(numberInText) ?? [])]
  const numbers = candidates.flatMap((candidate) => {
    const parsed = parseDialString(candidate)
    return parsed.kind === 'nanp' ? [parsed.number] : []
  })
  const [number, ...others] = new Set(numbers)
  if (number === undefined) {
    const parsed = parseDialString(text)
    const why = parsed.kind === 'invalid' ? `; it ${describeSaid(parsed.says)}` : ''
    throw new BrokenRule(`must be a North American telephone number, such as 917-555-0112${why}`)
  }
  if (others.length === 0) return number
  throw new BrokenRule('must be one telephone number; send a separate request for each number')
}

/** Opt-outs are stored by account, so `account` means the same as `everything`. */
function readScope(value: unknown): OptOutScope {
  const word = toWord(value)
  if (word === 'account') return 'everything'
  return (
    optOutScopes.find((one) => one === word) ??
    fail('must be everything, account or project; everything is used')
  )
}

function readChannel(value: unknown): OptOutChannel {
  const word = toWord(value)
  const rule = `must be one of ${optOutChannels.join(', ')}`
  return optOutChannels.find((one) => one === word) ?? fail(rule)
}

const toWord = (value: unknown) =>
  toText(value)
    .toLowerCase()
    .replace(/[\s_-]+/g, '-')

function readReceivedAt(value: unknown): Instant {
  const rule = 'must be an instant such as 2026-11-23T17:00:00Z; the time of the request is used'
  return parseInstant(toText(value)) ?? fail(rule)
}

function readSaid(value: unknown, note: (rule: string) => void): string {
  const text = toText(value)
  if (text.length > maxSaidLength) {
    note(`is longer than ${maxSaidLength} characters; only the first ${maxSaidLength} are stored`)
  }
  return text
}

function readSource(value: unknown): string {
  const text = toText(value)
  if (/^[\w.:-]{1,40}$/.test(text)) return text
  throw new BrokenRule('must be 1 to 40 letters, digits or . : _ -; api is used')
}

function readReceipt(value: unknown): boolean {
  const text = toText(value).toLowerCase()
  if (['true', '1'].includes(text)) return true
  if (['false', '0'].includes(text)) return false
  throw new BrokenRule('must be true or false; false is used')
}

function fail(rule: string): never {
  throw new BrokenRule(rule)
}

const spelling = new Map(
  Object.keys(readers).map((name) => [name.toLowerCase(), name as keyof typeof readers]),
)

/** The documented fields; {@link readOptOut} accepts more. */
export const optOutFields = z.looseObject({
  number: z.string().optional().describe('Number of the person, in any usual spelling'),
  decisionId: z.string().max(maxDecisionIdLength).optional().describe('Decision about the call'),
  scope: z
    .enum([...optOutScopes, 'account'])
    .default('everything')
    .describe(
      'everything, or account: calls of every project of the account. project: only calls of this project, if it calls for a ' +
        'separate legal entity (optOuts.sellers); otherwise calls of every project',
    ),
  channel: z
    .enum(optOutChannels)
    .optional()
    .describe(
      'How the opt-out was made; if absent, call-voice with source transcript, otherwise agent',
    ),
  receivedAt: z
    .string()
    .optional()
    .describe('When the opt-out was made; now if absent or in the future'),
  reference: z
    .string()
    .max(maxTextLength)
    .optional()
    .describe(
      'Your id of the call or event; the same words with the same id are stored only once for the number while they are in force',
    ),
  said: z.string().max(maxSaidLength).optional().describe('What the person said'),
  goods: z
    .string()
    .max(maxTextLength)
    .optional()
    .describe('The good or service that the call was about'),
  source: z
    .string()
    .regex(/^[\w.:-]{1,40}$/)
    .default('api')
    .describe('Where it was heard, such as transcript'),
  projectId: z.string().max(maxProjectIdLength).optional(),
  campaignId: z.string().max(maxProjectIdLength).optional(),
  receipt: z
    .boolean()
    .default(false)
    .describe('Whether to answer with a receipt for the person, signed by the journal'),
})

/** Treats null and empty values as absent. */
export function readOptOut(given: object): OptOutRequest {
  const read: Record<string, unknown> = {}
  const ignored: FieldProblem[] = []
  for (const [sent, value] of Object.entries(given)) {
    const name = spelling.get(sent.toLowerCase())
    const note = (rule: string) => void ignored.push(problemAt([sent], value, rule))
    if (name === undefined) ignored.push(unknownFieldProblem(sent, value))
    else if (value !== null && value !== '' && value !== undefined) {
      try {
        const found = readers[name](value, note)
        if (found !== '') read[name] = found
      } catch (cause) {
        if (!(cause instanceof BrokenRule)) throw cause
        note(cause.message)
      }
    }
  }
  return { scope: 'everything', source: 'api', receipt: false, ...read, ignored }
}
