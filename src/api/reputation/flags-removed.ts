/** The flags-removed summary in the API (spec, "Flags-removed summary", "Reputation endpoints"). */
import { z } from 'zod'
import type { FlagsRemovedSummary } from '../../domain/reputation.js'
import { defineEndpoint } from '../endpoint.js'
import { fields } from '../fields.js'

const defaultDays = 7
const maxDays = 90
const daysRule = `must be a whole number from 1 to ${maxDays}`

const days = z
  .string(daysRule)
  .nullish()
  .transform((text, context) => {
    const digits = text?.trim() ?? ''
    if (digits === '') return defaultDays
    const number = /^\d{1,3}$/.test(digits) ? Number(digits) : 0
    if (number >= 1 && number <= maxDays) return number
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
    Total: count.describe('Sum over the carriers that label numbers of the account'),
  })
  .transform(({ Total, ...byCarrier }): FlagsRemovedSummary => ({ byCarrier, total: Total }))

export const flagsRemovedSummary = defineEndpoint<{ readonly days: number }, FlagsRemovedSummary>({
  name: 'flags-removed-summary',
  summary: 'How many spam labels of monitored numbers were recently removed by carriers.',
  spec: 'Flags-removed summary',
  method: 'GET',
  paths: ['/v1.5/Reputation/FlagsRemovedSummary'],
  accepts: ['query'],
  rateClass: 'reputation',
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({
    days: days.describe(`Look-back in days, 1 to ${maxDays}, ${defaultDays} by default`),
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
