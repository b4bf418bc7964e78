/**
 * Parses and validates the records of an `ebr` request (spec, "EBR record"); `ebr-records.ts` stores them.
 * A single bad record makes the whole request fail.
 */

import { type EbrType, ebrTypes } from '../../domain/compliance.js'
import { type PhoneNumber, parsePhoneNumber } from '../../domain/phone-number.js'
import type { Clock, Instant, LocalDay } from '../../domain/time/clock.js'
import {
  formatDay,
  parseDay,
  parseInstant,
  toEarliestDay,
  toUtcDay,
} from '../../domain/time/dates.js'
import { type FieldProblem, invalidRequest, truncate } from '../../errors.js'
import type { EbrTerms } from '../../law/records/ebr-expiry.js'
import { forEachInSlices } from '../../runtime/yield-to-event-loop.js'

/** One record as received, with the spec's field names; values are not validated yet. */
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

/** One validated record for one number. */
export interface ParsedEbr extends EbrTerms {
  readonly number: PhoneNumber
  /** Accurate to the second; `undefined` if the caller gave only a date. */
  readonly contactAt: Instant | undefined
  readonly referenceNum: string | undefined
  readonly brand: string | undefined
  readonly email: string | undefined
}

const maxEmailLength = 100
const maxProblems = 20
const types: ReadonlySet<unknown> = new Set(ebrTypes)

/** Returns one entry per record and number, in request order. Throws an `AppError` listing all problems. */
export async function readEbrList(
  records: readonly EbrInput[],
  clock: Clock,
): Promise<readonly ParsedEbr[]> {
  const problems: FieldProblem[] = []
  const reader = { now: clock.now(), problems }
  const facts: ParsedEbr[] = []
  await forEachInSlices(records, (record, index) =>
    facts.push(...readRecord(record, { ...reader, path: `ebrList[${index}]` })),
  )
  if (problems.length > 0) throw refusal(problems)
  return facts
}

function refusal(problems: readonly FieldProblem[]) {
  const shown = problems.slice(0, maxProblems)
  const hidden = problems.length - shown.length
  const more = { field: 'ebrList', rule: `has ${hidden} more problems, which are not listed` }
  return invalidRequest(hidden > 0 ? [...shown, more] : shown)
}

interface ReadContext {
  /** Path of the record, such as `ebrList[2]`. */
  readonly path: string
  readonly now: Instant
  readonly problems: FieldProblem[]
}

function readRecord(record: EbrInput, reader: ReadContext): readonly ParsedEbr[] {
  const numbers = readNumbers(record.phoneNumber, reader)
  const type = readType(record.type, reader)
  const contact = readContact(record.dateOfLastContact, reader)
  const obligation = isAbsent(record.dateObligationEnds)
    ? undefined
    : readEnd(record.dateObligationEnds, reader)
  const terms = {
    type,
    contactOn: contact.day,
    contactAt: contact.at,
    obligationEndsOn: obligation,
    referenceNum: readText('referenceNum', record.referenceNum, reader),
    brand: readText('brand', record.brand, reader),
    email: readText('email', record.email, reader),
  }
  if (terms.email !== undefined && terms.email.length > maxEmailLength) {
    reportProblem(
      reader,
      'email',
      terms.email,
      `must not be longer than ${maxEmailLength} characters`,
    )
  }
  return numbers.map((number) => ({ number, ...terms }))
}

function readNumbers(value: unknown, reader: ReadContext): readonly PhoneNumber[] {
  if (typeof value !== 'string' || value.trim() === '') {
    reportProblem(reader, 'phoneNumber', value, requiredRule(value, 'must be text of ten digits'))
    return []
  }
  const numbers = new Set<PhoneNumber>()
  for (const part of value.split(',').map((text) => text.trim())) {
    const number = parsePhoneNumber(part)
    if (number) numbers.add(number)
    else reportProblem(reader, 'phoneNumber', part, 'must be exactly 10 digits')
  }
  return [...numbers]
}

function readType(value: unknown, reader: ReadContext): EbrType {
  const letter = typeof value === 'string' ? value.trim().toUpperCase() : value
  if (!types.has(letter))
    reportProblem(reader, 'type', value, requiredRule(value, 'must be S, I, P or T'))
  return letter as EbrType
}

interface RecordedTime {
  readonly day: LocalDay
  readonly at: Instant | undefined
}

/** Spec: the actual date of the event. Tomorrow (UTC) is accepted, since it may have begun locally. */
function readContact(value: unknown, reader: ReadContext): RecordedTime {
  const moment = readTime('dateOfLastContact', value, reader)
  const tomorrow = toUtcDay(reader.now) + 1
  if (moment.day > tomorrow) {
    const rule = `must not be in the future; tomorrow is ${formatDay(tomorrow)} (UTC)`
    reportProblem(reader, 'dateOfLastContact', value, rule)
  }
  return moment
}

/** A time with an offset is on different days in the zones of the plan; the earliest is the strictest. */
function readEnd(value: unknown, reader: ReadContext): LocalDay {
  const { day, at } = readTime('dateObligationEnds', value, reader)
  const hasOffset = typeof value === 'string' && /(?:Z|[+-]\d\d:?\d\d)$/i.test(value.trim())
  return at !== undefined && hasOffset ? toEarliestDay(at) : day
}

const unreadTime: RecordedTime = { day: Number.NaN, at: undefined }

/** The day of an instant is its UTC day, until the zones of the number are known. */
function readTime(field: string, value: unknown, reader: ReadContext): RecordedTime {
  const rule = 'must be a date, MM/DD/YYYY or YYYY-MM-DD, or an ISO 8601 date-time'
  if (typeof value !== 'string') {
    reportProblem(reader, field, value, requiredRule(value, rule))
    return unreadTime
  }
  const day = parseDay(value.trim())
  if (day !== undefined) return { day, at: undefined }
  const instant = parseInstant(value)
  if (instant === undefined) {
    reportProblem(reader, field, value, rule)
    return unreadTime
  }
  return { day: toUtcDay(instant), at: Math.floor(instant / 1000) * 1000 }
}

function readText(field: string, value: unknown, reader: ReadContext): string | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value === 'string') return value
  reportProblem(reader, field, value, 'must be text')
  return undefined
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function requiredRule(value: unknown, rule: string): string {
  return isAbsent(value) ? `is required and ${rule}` : rule
}

function reportProblem(reader: ReadContext, field: string, value: unknown, rule: string): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  reader.problems.push({
    field: `${reader.path}.${field}`,
    rule,
    ...(text !== undefined && { value: truncate(text) }),
  })
}
