/**
 * Reads and proves the records of an `ebr` request (spec, "EBR record"); storing them is left to
 * `consent.ts`. One bad record refuses the whole request.
 */
import {
  type Clock,
  formatDay,
  type Instant,
  type LocalDay,
  parseDay,
  parseInstant,
} from '../../domain/clock.js'
import { type EbrType, ebrTypes } from '../../domain/compliance.js'
import { asPhoneNumber, type PhoneNumber } from '../../domain/phone-number.js'
import { forEachInSlices } from '../../domain/slices.js'
import { type FieldProblem, invalidRequest, shorten } from '../../errors.js'
import type { EbrTerms } from './ebr-expiry.js'

/** One record as received; the spec's names, and no trust in the types. */
export interface EbrInput {
  /** Ten digits, or several numbers separated by commas. */
  readonly phoneNumber?: unknown
  readonly type?: unknown
  /** `MM/DD/YYYY`, an ISO date, or an ISO instant. */
  readonly dateOfLastContact?: unknown
  /** As {@link EbrInput.dateOfLastContact}. */
  readonly dateObligationEnds?: unknown
  readonly referenceNum?: unknown
  readonly brand?: unknown
  readonly email?: unknown
}

/** One record for one number, proved. */
export interface EbrFact extends EbrTerms {
  readonly number: PhoneNumber
  /** To the second, where the caller gave a time of day. */
  readonly contactAt: Instant | undefined
  readonly referenceNum: string | undefined
  readonly brand: string | undefined
  readonly email: string | undefined
}

const longestEmail = 100
const mostProblems = 20
const dayMs = 86_400_000
const types: ReadonlySet<unknown> = new Set(ebrTypes)

/** One fact per record and number, in request order. Throws an `AppError` that lists what is wrong. */
export async function readEbrList(
  records: readonly EbrInput[],
  clock: Clock,
): Promise<readonly EbrFact[]> {
  const problems: FieldProblem[] = []
  const reader = { now: clock.now(), problems }
  const facts: EbrFact[] = []
  await forEachInSlices(records, (record, index) =>
    facts.push(...readRecord(record, { ...reader, path: `ebrList[${index}]` })),
  )
  if (problems.length > 0) throw refusal(problems)
  return facts
}

function refusal(problems: readonly FieldProblem[]) {
  const shown = problems.slice(0, mostProblems)
  const hidden = problems.length - shown.length
  const more = { field: 'ebrList', rule: `has ${hidden} more problems, which are not listed` }
  return invalidRequest(hidden > 0 ? [...shown, more] : shown)
}

interface Reader {
  /** Of the record, such as `ebrList[2]`. */
  readonly path: string
  readonly now: Instant
  readonly problems: FieldProblem[]
}

function readRecord(record: EbrInput, reader: Reader): readonly EbrFact[] {
  const numbers = readNumbers(record.phoneNumber, reader)
  const type = readType(record.type, reader)
  const contact = readContact(record.dateOfLastContact, reader)
  const obligation = isAbsent(record.dateObligationEnds)
    ? undefined
    : readMoment('dateObligationEnds', record.dateObligationEnds, reader)
  const terms = {
    type,
    contactOn: contact.day,
    contactAt: contact.at,
    obligationEndsOn: obligation?.day,
    referenceNum: readText('referenceNum', record.referenceNum, reader),
    brand: readText('brand', record.brand, reader),
    email: readText('email', record.email, reader),
  }
  if (terms.email !== undefined && terms.email.length > longestEmail) {
    report(reader, 'email', terms.email, `must not be longer than ${longestEmail} characters`)
  }
  return numbers.map((number) => ({ number, ...terms }))
}

function readNumbers(value: unknown, reader: Reader): readonly PhoneNumber[] {
  if (typeof value !== 'string' || value.trim() === '') {
    report(reader, 'phoneNumber', value, requiredOr(value, 'must be text of ten digits'))
    return []
  }
  const numbers = new Set<PhoneNumber>()
  for (const part of value.split(',').map((text) => text.trim())) {
    const number = asPhoneNumber(part)
    if (number) numbers.add(number)
    else report(reader, 'phoneNumber', part, 'must be exactly 10 digits')
  }
  return [...numbers]
}

function readType(value: unknown, reader: Reader): EbrType {
  const letter = typeof value === 'string' ? value.trim().toUpperCase() : value
  if (!types.has(letter)) report(reader, 'type', value, requiredOr(value, 'must be S, I, P or T'))
  return letter as EbrType
}

interface Moment {
  readonly day: LocalDay
  readonly at: Instant | undefined
}

/** Spec: the actual date of the event, so not one to come; somewhere it may be tomorrow already. */
function readContact(value: unknown, reader: Reader): Moment {
  const moment = readMoment('dateOfLastContact', value, reader)
  const tomorrow = Math.floor(reader.now / dayMs) + 1
  if (moment.day > tomorrow) {
    const rule = `must not be in the future; tomorrow is ${formatDay(tomorrow)} (UTC)`
    report(reader, 'dateOfLastContact', value, rule)
  }
  return moment
}

const notRead: Moment = { day: Number.NaN, at: undefined }

/** The day of an instant is its UTC day. */
function readMoment(field: string, value: unknown, reader: Reader): Moment {
  const rule = 'must be a date, MM/DD/YYYY or YYYY-MM-DD, or an ISO 8601 date-time'
  if (typeof value !== 'string') {
    report(reader, field, value, requiredOr(value, rule))
    return notRead
  }
  const day = parseDay(value.trim())
  if (day !== undefined) return { day, at: undefined }
  const instant = parseInstant(value)
  if (instant === undefined) {
    report(reader, field, value, rule)
    return notRead
  }
  return { day: Math.floor(instant / dayMs), at: Math.floor(instant / 1000) * 1000 }
}

function readText(field: string, value: unknown, reader: Reader): string | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value === 'string') return value
  report(reader, field, value, 'must be text')
  return undefined
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function requiredOr(value: unknown, rule: string): string {
  return isAbsent(value) ? `is required and ${rule}` : rule
}

function report(reader: Reader, field: string, value: unknown, rule: string): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  reader.problems.push({
    field: `${reader.path}.${field}`,
    rule,
    ...(text !== undefined && { value: shorten(text) }),
  })
}
