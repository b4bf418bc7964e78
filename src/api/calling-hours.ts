/** `IsTimeLegalToCall` on the wire (spec, "Calling hours"). Which hours are legal is not its business. */
import { z } from 'zod'
import { mapInSlices } from '../domain/slices.js'
import type { TimeLegalItem, TimeLegalRow } from '../domain/time-legal-row.js'
import { endpoint, listBodyBytes, type WireRequest } from './endpoint.js'
import { eachItem, fields } from './fields.js'
import { anyPhone, anything, batch, itemOf, rowStatus, scopesOf } from './hours-batch.js'

export interface TimeLegalRequest {
  readonly items: readonly TimeLegalItem[]
}

const item = itemOf({
  PhoneNumber: anyPhone.describe('10 digits'),
  CallProposedDateTimeInUTC: anything.describe(
    'ISO 8601, UTC; now when absent. Within 50 years of today',
  ),
  DNCProjId: anything.describe('Project whose own calling hours count'),
})

const request = fields({ IsTimeLegalToCall: eachItem(batch, item) }).transform(
  ({ IsTimeLegalToCall }): TimeLegalRequest => ({
    items: IsTimeLegalToCall.map((one) => ({
      phoneNumber: one.PhoneNumber,
      proposedAt: one.CallProposedDateTimeInUTC,
      projectId: one.DNCProjId,
    })),
  }),
)

function send({ items }: TimeLegalRequest): WireRequest {
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

/** Reads one row (spec, "Time-legal result row"). */
export const wireTimeLegalRow = z
  .object({
    PhoneNumber: z.string('must be text'),
    IsCallPermitted: z.boolean('must be true or false'),
    SecondsInCallWindow: z.int32('must be a whole number of 32 bits'),
    Status: rowStatus,
    StatusMessage: z.string('must be text or null').nullable(),
  })
  .transform(
    (wire): TimeLegalRow => ({
      phoneNumber: wire.PhoneNumber,
      permitted: wire.IsCallPermitted,
      secondsLeft: wire.SecondsInCallWindow,
      status: wire.Status,
      message: wire.StatusMessage,
    }),
  )

/** Both published forms are understood: a flat list of rows, and one object holding the list. */
const response = z.union([
  z.array(wireTimeLegalRow),
  z
    .tuple([z.object({ Response: z.array(wireTimeLegalRow) })])
    .transform(([wrapper]) => wrapper.Response),
])

/**
 * The spec documents both a flat list of rows and rows wrapped as `[{"Response": [...]}]`; a
 * setting of the server chooses.
 */
export function isTimeLegalToCall({ wrappedRows }: { readonly wrappedRows: boolean }) {
  return endpoint<TimeLegalRequest, readonly TimeLegalRow[]>({
    name: 'time-legal',
    summary: 'Whether each number may be called at the proposed time.',
    spec: 'Calling hours',
    method: 'POST',
    paths: ['/v1.5/GeoScrub/IsTimeLegalToCall'],
    rate: 'time-legal',
    numbers: ({ items }) => items.length,
    accepts: ['json'],
    maxBodyBytes: listBodyBytes,
    keyAlsoIn: [],
    rights: ['look-up'],
    scopes: ({ items }) => scopesOf(items),
    request,
    send,
    response,
    errors: 'reason-phrase',
    async encode(rows) {
      const wire = await mapInSlices(rows, wireRow)
      return { json: wrappedRows ? [{ Response: wire }] : wire }
    },
  })
}

function wireRow(answer: TimeLegalRow): z.input<typeof wireTimeLegalRow> {
  return {
    PhoneNumber: answer.phoneNumber,
    IsCallPermitted: answer.permitted,
    SecondsInCallWindow: answer.secondsLeft,
    Status: answer.status,
    StatusMessage: answer.message,
  }
}
