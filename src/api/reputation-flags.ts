/** The flags-removed summary on the wire (spec, "Flags-removed summary", "Reputation endpoints"). */
import { z } from 'zod'
import { endpoint } from './endpoint.js'
import { fields } from './fields.js'

export interface FlagsRemovedRequest {
  /** Look-back from now, in days of 24 hours. */
  readonly days: number
}

export interface FlagsRemovedAnswer {
  readonly byCarrier: Readonly<Record<'CarrierA' | 'CarrierB' | 'CarrierC' | 'CarrierD', number>>
  readonly total: number
}

const defaultDays = 7
const mostDays = 90
const daysRule = `must be a whole number from 1 to ${mostDays}`

const days = z
  .string(daysRule)
  .nullish()
  .transform((text, context) => {
    const digits = text?.trim() ?? ''
    if (digits === '') return defaultDays
    const number = /^\d{1,3}$/.test(digits) ? Number(digits) : 0
    if (number >= 1 && number <= mostDays) return number
    context.addIssue(daysRule)
    return z.NEVER
  })

const count = z.int('must be a whole number').min(0, 'must not be negative')

const response = z
  .object({
    CarrierA: count,
    CarrierB: count.describe('0 for Canadian accounts'),
    CarrierC: count,
    CarrierD: count.describe('0 for US accounts'),
    Total: count.describe('Of the carriers that label numbers of the account'),
  })
  .transform(
    ({ Total, ...byCarrier }): FlagsRemovedAnswer => ({ byCarrier: byCarrier, total: Total }),
  )

export const flagsRemovedSummary = endpoint<FlagsRemovedRequest, FlagsRemovedAnswer>({
  name: 'flags-removed-summary',
  summary: 'How many spam labels carriers took off the monitored numbers of late.',
  spec: 'Flags-removed summary',
  method: 'GET',
  paths: ['/v1.5/Reputation/FlagsRemovedSummary'],
  accepts: ['query'],
  rate: 'reputation',
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({
    days: days.describe(`Look-back in days, 1 to ${mostDays}, ${defaultDays} by default`),
  }),
  response,
  errors: 'problem',
  encode: ({ byCarrier, total }) => ({
    json: {
      CarrierA: byCarrier.CarrierA,
      CarrierB: byCarrier.CarrierB,
      CarrierC: byCarrier.CarrierC,
      CarrierD: byCarrier.CarrierD,
      Total: total,
    },
  }),
})
