/**
 * GetTimeZoneInfo: the place, time zone and daylight saving of each number. Nothing is guessed (spec,
 * "Calling hours"): a field that differs between the candidate places is `null`.
 */

import type { Caller } from '../../domain/caller.js'
import type { DstChanges, TimeZoneRow } from '../../domain/calling-hours.js'
import type { CandidatePlace, NumberFacts } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, isWithinYears, msPerDay } from '../../domain/time/dates.js'
import { getTimeZone } from '../../domain/time/time-zones.js'
import { invalidRequest } from '../../errors.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import type { AccountView } from '../account-view.js'
import type { CallingHours, TimeLegalResult } from './calling-hours.js'
import { formatFieldValue } from './project-overrides.js'

export interface TimeZoneInfoOptions {
  readonly viewOf: (accountId: string) => Pick<AccountView, 'clock'> & {
    readonly hours: Pick<CallingHours, 'findNumberFacts'>
  }
}

export interface TimeZoneRequest {
  readonly phoneNumbers: readonly unknown[]
  /** The instant that determines "today"; absent means now. */
  readonly at: Instant | undefined
}

/** Long enough to contain both daylight-saving changes of a zone. */
const yearMs = 366 * msPerDay

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
    const { clock, hours } = this.#options.viewOf(accountId)
    const now = clock.now()
    if (at !== undefined) requireNearInstant(at, now)
    return await mapInSlices(phoneNumbers, (phoneNumber) => {
      const { facts, refused } = hours.findNumberFacts({ phoneNumber, now })
      const phone = formatFieldValue(phoneNumber)
      return facts ? toTimeZoneRow(phone, facts, at ?? now) : toRefusedRow(phone, refused)
    })
  }
}

/** Spec, "Limits"; daylight-saving rules are not known far ahead. */
function requireNearInstant(at: Instant, now: Instant): void {
  if (isWithinYears(at, now, 50)) return
  const rule = 'must be within 50 years of today'
  throw invalidRequest([{ field: 'OverwriteTodaysTime', value: formatInstant(at), rule }])
}

function toRefusedRow(phoneNumber: string, { status, message }: TimeLegalResult): TimeZoneRow {
  // The item has neither a project nor a date, so no other status is possible.
  const known = status === 'TOLL_FREE' || status === 'UNKNOWN_NXX' ? status : 'INVALID_PHONE'
  return { phoneNumber, ...unknownZoneFields, rateCenter: null, status: known, message }
}

const unknownZoneFields = {
  zone: null,
  region: null,
  offsetMinutes: null,
  hasDst: null,
  changes: undefined,
} as const

function toTimeZoneRow(
  phoneNumber: string,
  { place, locality }: Extract<NumberFacts, { status: 'ok' }>,
  at: Instant,
): TimeZoneRow {
  const { candidates } = place
  const name = commonValue(candidates.map((candidate) => candidate.zone))
  return {
    phoneNumber,
    zone: name,
    region: commonValue(candidates.map(({ region }) => region)),
    offsetMinutes: commonValue(
      candidates.map((candidate) => getTimeZone(candidate.zone).offset(at)),
    ),
    ...(name === null ? { hasDst: null, changes: undefined } : findDst(name, at)),
    rateCenter: locality === '' ? null : locality,
    status: 'OK',
    message: name === null ? describePlaces(candidates) : null,
  }
}

/** The value that all entries share; `null` when they differ. */
function commonValue<Value>(values: readonly Value[]): Value | null {
  const [first, ...others] = values
  return first === undefined || others.some((other) => other !== first) ? null : first
}

function describePlaces(candidates: readonly CandidatePlace[]): string {
  const zones = [...new Set(candidates.map((candidate) => candidate.zone))]
  return `The number may be in any of ${zones.join(', ')}`
}

function findDst(name: string, at: Instant): { hasDst: boolean; changes: DstChanges } {
  const changes = getTimeZone(name).findOffsetChanges(at, at + yearMs)
  const springsForwardAt = changes.find(({ isForward }) => isForward)?.at
  const fallsBackAt = changes.find(({ isForward }) => !isForward)?.at
  const hasDst = springsForwardAt !== undefined && fallsBackAt !== undefined
  return { hasDst, changes: { springsForwardAt, fallsBackAt } }
}
