/** `IsTimeLegalToCall` on the wire (spec, "Calling hours"). Which hours are legal is not its business. */
import { z } from 'zod'
import type { TimeLegalItem, TimeLegalRow } from '../domain/time-legal-row.js'
import { endpoint, type WireRequest } from './endpoint.js'
import { fields } from './fields.js'

/** Phones of one request (spec, "Limits"). */
export const mostTimeLegalItems = 1000

export interface TimeLegalRequest {
  readonly items: readonly TimeLegalItem[]
}

const anything = z.unknown().optional()

const item = z.preprocess(
  (value) => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}),
  fields({ PhoneNumber: anything, CallProposedDateTimeInUTC: anything, DNCProjId: anything }),
)

const list = z
  .array(z.unknown(), {
    error: ({ input }) =>
      input === undefined || input === null ? 'is required and must not be null' : 'must be a list',
  })
  .min(1, 'must hold at least 1 item')
  .max(mostTimeLegalItems, `must hold at most ${mostTimeLegalItems} items`)
  .pipe(z.array(item))

const request = fields({ IsTimeLegalToCall: list }).transform(
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

const statuses = [
  ...(['OK', 'INVALID_PHONE', 'INVALID_PROJECT'] as const),
  ...(['INVALID_DATE', 'TOLL_FREE', 'UNKNOWN_NXX'] as const),
]

/** Reads one row (spec, "Time-legal result row"). */
export const wireTimeLegalRow = z
  .object({
    PhoneNumber: z.string('must be text'),
    IsCallPermitted: z.boolean('must be true or false'),
    SecondsInCallWindow: z.int32('must be a whole number of 32 bits'),
    Status: z.enum(statuses, `must be one of ${statuses.join(', ')}`),
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
    accepts: ['json'],
    keyAlsoIn: [],
    request,
    send,
    response,
    errors: 'reason-phrase',
    encode(rows) {
      const wire = rows.map(wireRow)
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
