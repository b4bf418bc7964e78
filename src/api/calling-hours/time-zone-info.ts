/** `GetTimeZoneInfo` in the API: time zone, region and daylight saving of numbers. */
import { z } from 'zod'
import type { TimeZoneRow } from '../../domain/calling-hours.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, parseInstant } from '../../domain/time/dates.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import { defineEndpoint, maxListBodyBytes } from '../endpoint.js'
import { fields, numberToText } from '../fields.js'
import { batchSchema } from './batch.js'

export interface TimeZoneInfoRequest {
  readonly phoneNumbers: readonly unknown[]
  /** The reference instant; absent means now. */
  readonly at: Instant | undefined
}

const timeOverride = z
  .string('must be text')
  .nullish()
  .transform((text, context): Instant | undefined => {
    if (text === null || text === undefined || text.trim() === '') return undefined
    const at = parseInstant(text)
    if (at !== undefined) return at
    context.addIssue('must be an ISO 8601 date-time in UTC, such as 2026-11-24T13:00:00Z')
    return z.NEVER
  })

const request = fields({
  PhoneList: batchSchema.describe('Numbers of 10 digits'),
  OverwriteTodaysTime: timeOverride.describe('Answer as at this instant, UTC'),
}).transform(
  ({ PhoneList, OverwriteTodaysTime }): TimeZoneInfoRequest => ({
    phoneNumbers: PhoneList.map(numberToText),
    at: OverwriteTodaysTime,
  }),
)

const statuses = ['OK', 'INVALID_PHONE', 'TOLL_FREE', 'UNKNOWN_NXX'] as const

const text = z.string().nullable()

const wireRow = z
  .object({
    PhoneNumber: z.string(),
    TZName: text.describe('IANA name; null when the number may lie in several zones'),
    StateProvince: text,
    UTCOffset: text.describe('Such as -05:00, daylight saving included'),
    UTCOffsetInMinutes: z.int().nullable(),
    HasDST: z.boolean().nullable(),
    NextStartDateDST: text.describe('UTC instant when daylight saving next begins'),
    EndStartDateDST: text.describe('UTC instant when daylight saving next ends'),
    LATA: text.describe('Always null: no public file has it'),
    RateCenterLIR: text,
    Status: z.enum(statuses),
    StatusMessage: text,
  })
  .transform(
    (wire): TimeZoneRow => ({
      phoneNumber: wire.PhoneNumber,
      zone: wire.TZName,
      region: wire.StateProvince,
      offsetMinutes: wire.UTCOffsetInMinutes,
      hasDst: wire.HasDST,
      changes:
        wire.HasDST === null
          ? undefined
          : {
              springsForwardAt: parseInstant(wire.NextStartDateDST ?? ''),
              fallsBackAt: parseInstant(wire.EndStartDateDST ?? ''),
            },
      rateCenter: wire.RateCenterLIR,
      status: wire.Status,
      message: wire.StatusMessage,
    }),
  )

export const timeZoneInfo = defineEndpoint<TimeZoneInfoRequest, readonly TimeZoneRow[]>({
  name: 'time-zone-info',
  summary: 'Time zone, state and daylight saving of numbers.',
  spec: 'Calling hours',
  method: 'POST',
  paths: ['/v1.5/GeoScrub/GetTimeZoneInfo'],
  rateClass: 'time-legal',
  countNumbers: ({ phoneNumbers }) => phoneNumbers.length,
  accepts: ['json'],
  maxBodyBytes: maxListBodyBytes,
  usesServiceThread: 'when-long',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: 'none',
  request,
  response: z.array(wireRow),
  errors: 'reason-phrase',
  encode: async (rows) => ({ json: await mapInSlices(rows, toWireRow) }),
})

function toWireRow(row: TimeZoneRow): z.input<typeof wireRow> {
  const { springsForwardAt, fallsBackAt } = row.changes ?? {}
  return {
    PhoneNumber: row.phoneNumber,
    TZName: row.zone,
    StateProvince: row.region,
    UTCOffset: row.offsetMinutes === null ? null : formatOffset(row.offsetMinutes),
    UTCOffsetInMinutes: row.offsetMinutes,
    HasDST: row.hasDst,
    NextStartDateDST: springsForwardAt === undefined ? null : formatInstant(springsForwardAt),
    EndStartDateDST: fallsBackAt === undefined ? null : formatInstant(fallsBackAt),
    LATA: null,
    RateCenterLIR: row.rateCenter,
    Status: row.status,
    StatusMessage: row.message,
  }
}

function formatOffset(minutes: number): string {
  const twoDigits = (value: number) => String(value).padStart(2, '0')
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${twoDigits(Math.floor(size / 60))}:${twoDigits(size % 60)}`
}
