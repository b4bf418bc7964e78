/** The settings of permits for SIP edges. */
import { z } from 'zod'
import { addProblem, httpUrl, wholeNumber } from './values.js'

const edge = z.strictObject({
  freshness: wholeNumber(10, 300).default(60),
  asks: z.boolean().default(false),
  accounts: z.array(z.string().min(1)).default([]),
})

export const permitsSchema = z
  .strictObject({
    issuer: httpUrl
      .refine((url) => url.startsWith('https://'), 'must begin with https://')
      .optional()
      .describe(
        'Base URL of this callgate in permits; required with permits.edges. The key of an edge is at <issuer>/permits/<edge>.pem',
      ),
    edges: z
      .record(
        z.string().regex(/^[a-z\d][a-z\d-]{0,62}$/, 'must be lower case letters, digits and -'),
        edge,
      )
      .default({})
      .describe(
        'SIP edges that permits are given for, by name, each with freshness: the seconds after which ' +
          'the edge refuses a permit, 10 to 300 (60), asks: true if it uses each permit at callgate, and accounts: a list of the ' +
          'accounts that get and use its permits, such as [main]; empty by default, so that none does',
      ),
  })
  .superRefine(({ issuer, edges }, context) => {
    if (issuer === undefined && Object.keys(edges).length > 0) {
      addProblem(context, ['issuer'], 'is required with permits.edges')
    }
  })
