/**
 * The rows of GetTimeZoneInfo for one caller: where a number is and what its clock does. No zone is
 * guessed (spec, "Calling hours"): what differs between the places a number may be in is `null`.
 */
import type { ClockChanges, TimeZoneRow } from '../../domain/call-times.js'
import type { Caller } from '../../domain/caller.js'
import { type Clock, formatInstant, type Instant, isWithinYears } from '../../domain/clock.js'
import type { CandidatePlace, NumberFacts } from '../../domain/place.js'
import { mapInSlices } from '../../domain/slices.js'
import { zone } from '../../domain/zones.js'
import { invalidRequest } from '../../errors.js'
import type { CallingHours } from './calling-hours.js'
import { textOf } from './project-terms.js'
import type { TimeLegalAnswer } from './time-legal.js'

export interface TimeZoneInfoOptions {
  readonly clockOf: (accountId: string) => Clock
  readonly hoursOf: (accountId: string) => Pick<CallingHours, 'factsOf'>
}

export interface TimeZoneRequest {
  readonly phoneNumbers: readonly unknown[]
  /** What "today" is; absent means now. */
  readonly at: Instant | undefined
}

/** A zone that saves daylight changes its clock both ways within it. */
const yearMs = 366 * 86_400_000

export class TimeZoneInfo {
  readonly #options: TimeZoneInfoOptions

  constructor(options: TimeZoneInfoOptions) {
    this.#options = options
  }

  /** Exactly one row per number, in order. Throws {@link AppError} for a date far from today. */
  async list(
    { accountId }: Caller,
    { phoneNumbers, at }: TimeZoneRequest,
  ): Promise<readonly TimeZoneRow[]> {
    const now = this.#options.clockOf(accountId).now()
    if (at !== undefined) refuseFarInstant(at, now)
    const hours = this.#options.hoursOf(accountId)
    return await mapInSlices(phoneNumbers, (phoneNumber) => {
      const { facts, refused } = hours.factsOf({ phoneNumber, now })
      const phone = textOf(phoneNumber)
      return facts ? rowOf(phone, facts, at ?? now) : refusedRow(phone, refused)
    })
  }
}

/** Spec, "Limits"; the rules of clocks are not known for ever. */
function refuseFarInstant(at: Instant, now: Instant): void {
  if (isWithinYears(at, now, 50)) return
  const rule = 'must be within 50 years of today'
  throw invalidRequest([{ field: 'OverwriteTodaysTime', value: formatInstant(at), rule }])
}

function refusedRow(phoneNumber: string, { status, message }: TimeLegalAnswer): TimeZoneRow {
  // Neither a project nor a date is asked about, so no other status can come.
  const known = status === 'TOLL_FREE' || status === 'UNKNOWN_NXX' ? status : 'INVALID_PHONE'
  return { phoneNumber, ...nothing, rateCentre: null, status: known, message }
}

const nothing = {
  zone: null,
  region: null,
  offsetMinutes: null,
  hasDst: null,
  changes: undefined,
} as const

function rowOf(
  phoneNumber: string,
  { place, locality }: Extract<NumberFacts, { status: 'ok' }>,
  at: Instant,
): TimeZoneRow {
  const { candidates } = place
  const name = common(candidates.map((candidate) => candidate.zone))
  return {
    phoneNumber,
    zone: name,
    region: common(candidates.map(({ region }) => region)),
    offsetMinutes: common(candidates.map((candidate) => zone(candidate.zone).offset(at))),
    ...(name === null ? { hasDst: null, changes: undefined } : dstOf(name, at)),
    rateCentre: locality === '' ? null : locality,
    status: 'OK',
    message: name === null ? severalPlaces(candidates) : null,
  }
}

/** The one value all have; `null` when they differ. */
function common<Value>(values: readonly Value[]): Value | null {
  const [first, ...others] = values
  return first === undefined || others.some((other) => other !== first) ? null : first
}

function severalPlaces(candidates: readonly CandidatePlace[]): string {
  const zones = [...new Set(candidates.map((candidate) => candidate.zone))]
  return `The number may be in any of ${zones.join(', ')}`
}

function dstOf(name: string, at: Instant): { hasDst: boolean; changes: ClockChanges } {
  const changes = zone(name).changesWithin(at, at + yearMs)
  const springsForwardAt = changes.find(({ later }) => later)?.at
  const fallsBackAt = changes.find(({ later }) => !later)?.at
  const hasDst = springsForwardAt !== undefined && fallsBackAt !== undefined
  return { hasDst, changes: { springsForwardAt, fallsBackAt } }
}
