/** `IsTimeLegalToCall` in the API (spec, "Calling hours"). The service decides which hours are legal. */
import { z } from 'zod'
import type { TimeLegalItem, TimeLegalRow } from '../../domain/calling-hours.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import { defineEndpoint, maxListBodyBytes, type WireRequest } from '../endpoint.js'
import { eachItem, fields } from '../fields.js'
import { wireObject } from '../wire-object.js'
import { anyPhone, anyValue, batchItem, batchSchema, listScopes, rowStatus } from './batch.js'

export interface TimeLegalRequest {
  readonly items: readonly TimeLegalItem[]
}

const item = batchItem({
  PhoneNumber: anyPhone.describe('10 digits'),
  CallProposedDateTimeInUTC: anyValue.describe(
    'ISO 8601, UTC; now when absent. Within 50 years of today',
  ),
  DNCProjId: anyValue.describe('Project whose own calling hours apply'),
})

const request = fields({ IsTimeLegalToCall: eachItem(batchSchema, item) }).transform(
  ({ IsTimeLegalToCall }): TimeLegalRequest => ({
    items: IsTimeLegalToCall.map((entry) => ({
      phoneNumber: entry.PhoneNumber,
      proposedAt: entry.CallProposedDateTimeInUTC,
      projectId: entry.DNCProjId,
    })),
  }),
)

function encodeTimeLegalRequest({ items }: TimeLegalRequest): WireRequest {
  return {
    json: {
      IsTimeLegalToCall: items.map(({ phoneNumber, proposedAt, projectId }) => ({
        PhoneNumber: phoneNumber,
        ...(proposedAt !== undefined && { CallProposedDateTimeInUTC: proposedAt }),
        ...(projectId !== undefined && { DNCProjId: projectId }),
      })),
    },
  }
}

/** Spec, "Time-legal result row". */
export const wireTimeLegalRow = wireObject({
  phoneNumber: ['PhoneNumber', z.string('must be text')],
  permitted: ['IsCallPermitted', z.boolean('must be true or false')],
  secondsLeft: ['SecondsInCallWindow', z.int32('must be a whole number of 32 bits')],
  status: ['Status', rowStatus],
  message: ['StatusMessage', z.string('must be text or null').nullable()],
})

const rows = z.array(wireTimeLegalRow.schema)

/** Accepts both published forms: a flat list of rows, and an object that contains the list. */
const response = z.union([
  rows,
  z.tuple([z.object({ Response: rows })]).transform(([wrapper]) => wrapper.Response),
])

/**
 * The spec documents both a flat list of rows and rows wrapped as `[{"Response": [...]}]`; a
 * setting of the server chooses.
 */
export function createTimeLegalEndpoint({ wrappedRows }: { readonly wrappedRows: boolean }) {
  return defineEndpoint<TimeLegalRequest, readonly TimeLegalRow[]>({
    name: 'time-legal',
    summary: 'Whether each number may be called at the proposed time.',
    spec: 'Calling hours',
    method: 'POST',
    paths: ['/v1.5/GeoScrub/IsTimeLegalToCall'],
    rateClass: 'time-legal',
    countNumbers: ({ items }) => items.length,
    accepts: ['json'],
    maxBodyBytes: maxListBodyBytes,
    usesServiceThread: 'when-long',
    keyAlsoIn: [],
    rights: ['look-up'],
    scopes: ({ items }) => listScopes(items),
    request,
    encodeRequest: encodeTimeLegalRequest,
    response,
    errors: 'reason-phrase',
    async encode(rows) {
      const wire = await mapInSlices(rows, wireTimeLegalRow.write)
      return { json: wrappedRows ? [{ Response: wire }] : wire }
    },
  })
}
