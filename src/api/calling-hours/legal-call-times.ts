/**
 * `LegalCallTimesForDate` in the API, with the same batch rules as IsTimeLegalToCall. The service
 * decides which times are legal.
 */
import { z } from 'zod'
import type { CallTimesItem, CallTimesRow } from '../../domain/calling-hours.js'
import { formatInstant } from '../../domain/time/dates.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import { defineEndpoint, maxListBodyBytes } from '../endpoint.js'
import { eachItem, fields, instant } from '../fields.js'
import { wireObject } from '../wire-object.js'
import { anyPhone, anyValue, batchItem, batchSchema, listScopes, rowStatus } from './batch.js'

export interface CallTimesRequest {
  readonly items: readonly CallTimesItem[]
}

const item = batchItem({
  PhoneNumber: anyPhone.describe('10 digits'),
  Date: anyValue.describe(
    'First local day of the called party, `YYYY-MM-DD` or `MM/DD/YYYY`; a time of day is ignored. Today when absent',
  ),
  DNCProjId: anyValue.describe('Project whose own calling hours apply'),
  NumberOfDays: anyValue.describe('1 to 31; 1 when absent'),
})

const request = fields({ LegalCallTimesForDate: eachItem(batchSchema, item) }).transform(
  ({ LegalCallTimesForDate }): CallTimesRequest => ({
    items: LegalCallTimesForDate.map((entry) => ({
      phoneNumber: entry.PhoneNumber,
      date: entry.Date,
      projectId: entry.DNCProjId,
      numberOfDays: entry.NumberOfDays,
    })),
  }),
)

const period = wireObject({
  from: ['StartInUTC', instant, formatInstant],
  until: ['EndInUTC', instant, formatInstant],
})

const wireRow = wireObject({
  phoneNumber: ['PhoneNumber', z.string()],
  times: [
    'ValidTimesInUTC',
    z.array(period.schema),
    (times: CallTimesRow['times']) => times.map(period.write),
  ],
  status: ['Status', rowStatus],
  message: ['StatusMessage', z.string().nullable()],
})

/** One object that contains the list of rows. */
const response = z
  .tuple([z.object({ LegalCallTimes: z.array(wireRow.schema) })])
  .transform(([wrapper]) => wrapper.LegalCallTimes)

export const legalCallTimes = defineEndpoint<CallTimesRequest, readonly CallTimesRow[]>({
  name: 'legal-call-times',
  summary: 'When each number may be called on one or more days.',
  spec: 'Calling hours',
  method: 'POST',
  paths: ['/v1.5/GeoScrub/LegalCallTimesForDate'],
  rateClass: 'time-legal',
  countNumbers: ({ items }) => items.length,
  accepts: ['json'],
  maxBodyBytes: maxListBodyBytes,
  usesServiceThread: 'when-long',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: ({ items }) => listScopes(items),
  request,
  response,
  errors: 'reason-phrase',
  encode: async (rows) => ({
    json: [{ LegalCallTimes: await mapInSlices(rows, wireRow.write) }],
  }),
})
