/**
 * `LegalCallTimesForDate` on the wire: a sister call of IsTimeLegalToCall with the same rules for a
 * batch. Which times are legal is not its business.
 */
import { z } from 'zod'
import type { CallTimesItem, CallTimesRow } from '../domain/call-times.js'
import { formatInstant, type Instant, parseInstant } from '../domain/clock.js'
import { mapInSlices } from '../domain/slices.js'
import { endpoint, listBodyBytes } from './endpoint.js'
import { eachItem, fields } from './fields.js'
import { anyPhone, anything, batch, itemOf, rowStatus, scopesOf } from './hours-batch.js'

export interface CallTimesRequest {
  readonly items: readonly CallTimesItem[]
}

const item = itemOf({
  PhoneNumber: anyPhone.describe('10 digits'),
  Date: anything.describe(
    'First local day of the called party, `YYYY-MM-DD` or `MM/DD/YYYY`; a time of day is ignored. Today when absent',
  ),
  DNCProjId: anything.describe('Project whose own calling hours count'),
  NumberOfDays: anything.describe('1 to 31; 1 when absent'),
})

const request = fields({ LegalCallTimesForDate: eachItem(batch, item) }).transform(
  ({ LegalCallTimesForDate }): CallTimesRequest => ({
    items: LegalCallTimesForDate.map((one) => ({
      phoneNumber: one.PhoneNumber,
      date: one.Date,
      projectId: one.DNCProjId,
      numberOfDays: one.NumberOfDays,
    })),
  }),
)

const instant = z.string().transform((text, context): Instant => {
  const at = parseInstant(text)
  if (at !== undefined) return at
  context.addIssue('must be an instant such as 2026-11-24T13:00:00Z')
  return z.NEVER
})

const wireRow = z
  .object({
    PhoneNumber: z.string(),
    ValidTimesInUTC: z.array(z.object({ StartInUTC: instant, EndInUTC: instant })),
    Status: rowStatus,
    StatusMessage: z.string().nullable(),
  })
  .transform(
    (wire): CallTimesRow => ({
      phoneNumber: wire.PhoneNumber,
      times: wire.ValidTimesInUTC.map(({ StartInUTC, EndInUTC }) => ({
        from: StartInUTC,
        until: EndInUTC,
      })),
      status: wire.Status,
      message: wire.StatusMessage,
    }),
  )

/** One object that holds the list of rows. */
const response = z
  .tuple([z.object({ LegalCallTimes: z.array(wireRow) })])
  .transform(([wrapper]) => wrapper.LegalCallTimes)

export const legalCallTimes = endpoint<CallTimesRequest, readonly CallTimesRow[]>({
  name: 'legal-call-times',
  summary: 'When each number may be called on a day or several.',
  spec: 'Calling hours',
  method: 'POST',
  paths: ['/v1.5/GeoScrub/LegalCallTimesForDate'],
  rate: 'time-legal',
  numbers: ({ items }) => items.length,
  accepts: ['json'],
  maxBodyBytes: listBodyBytes,
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: ({ items }) => scopesOf(items),
  request,
  response,
  errors: 'reason-phrase',
  encode: async (rows) => ({
    json: [
      {
        LegalCallTimes: await mapInSlices(rows, ({ phoneNumber, times, status, message }) => ({
          PhoneNumber: phoneNumber,
          ValidTimesInUTC: times.map(({ from, until }) => ({
            StartInUTC: formatInstant(from),
            EndInUTC: formatInstant(until),
          })),
          Status: status,
          StatusMessage: message,
        })),
      },
    ],
  }),
})
