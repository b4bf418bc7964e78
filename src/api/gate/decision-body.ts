/** A decision in the API: the answer of the decision endpoint, and the record that can be read later. */
import { z } from 'zod'
import { handoverFailures, outcomeStates } from '../../domain/call-outcome.js'
import { policyEffects } from '../../domain/decision.js'

const sourceFindingSchema = z.object({
  check: z.string(),
  verdict: z.enum(['pass', 'deny', 'unknown']),
  reason: z.string(),
  detail: z.string(),
  source: z.string(),
  ageMs: z.number().describe('Age of the fact when it was used, in milliseconds'),
  stale: z
    .literal(true)
    .optional()
    .describe(
      'The answer is older than its maximum age; the detail says why there is no newer one',
    ),
  opensAt: z.string().optional(),
  lists: z
    .array(
      z.object({
        name: z.string(),
        version: z.string().describe('Names this exact content of the list'),
        asOf: z.string(),
      }),
    )
    .readonly()
    .optional()
    .describe('The imported lists that were checked'),
  requestError: z
    .literal(true)
    .optional()
    .describe('The request itself caused the unknown, for example with an unknown project'),
  staleReason: z
    .string()
    .optional()
    .describe('Why its source does not give a newer answer; only with stale'),
  holdsUntil: z
    .string()
    .optional()
    .describe(
      'The finding must not be relied on from then on; absent if that is more than a day ahead or ' +
        'follows from facts',
    ),
  facts: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'What our own rules were applied to, for callgate rehearse. Its members may change with recordVersion',
    ),
})

const findingSchema = sourceFindingSchema.extend({
  parts: z
    .array(sourceFindingSchema)
    .readonly()
    .optional()
    .describe('The findings of each source alone, if several were asked'),
})

const policyEffectSchema = z.object({
  check: z.string(),
  effect: z
    .enum(policyEffects)
    .describe(
      'unknown-allowed: not answered but allowed; stale-allowed: allowed by an answer older than ' +
        'its maximum age; shadowed: would have blocked but is not enforced',
    ),
  because: z
    .string()
    .describe(
      'The reason set in policy, why the source does not answer, or the detail of the finding',
    ),
  until: z.string().optional().describe('When an unknown blocks again'),
})

const outcomeSchema = z
  .object({
    state: z.enum(outcomeStates),
    handedOverAt: z.string().optional().describe('When the dialplan received the verdict'),
    notCarriedOutAt: z.string().optional(),
    notCarriedOut: z
      .enum(handoverFailures)
      .optional()
      .describe('Why the verdict did not reach its channel'),
    leg: z.string().optional().describe('Channel on the trunk'),
    dialledAt: z.string().optional(),
    answeredAt: z.string().optional(),
    failedAt: z.string().optional(),
    endedAt: z.string().optional(),
    dialStatus: z.string().optional().describe('As reported by Asterisk, such as ANSWER or BUSY'),
    cause: z.number().optional().describe('Q.850 cause of the end of the leg'),
  })
  .describe('Outcome of the call, if known; only when the record is read')

/** The decision answer and record; instants are ISO 8601 in UTC. */
export const decisionSchema = z.object({
  id: z
    .string()
    .describe('`-` when there is no record: an emergency or service code without a valid key'),
  decision: z.enum(['allow', 'block']),
  reason: z.string(),
  message: z.string(),
  number: z
    .string()
    .describe('The normalized number that was checked; empty when the input is not a number'),
  dial: z
    .string()
    .optional()
    .describe(
      'Only on an allow: dial exactly this, not the text of the request. Ten digits, a service code, ' +
        'or what policy allows unchecked: an extension, or a foreign number with its + or 011',
    ),
  callKind: z.string(),
  decidedAt: z.string(),
  judgedAt: z.string().describe('The instant the rules were applied to'),
  validUntil: z.string().describe('Do not act on an allow at or after this instant'),
  nextAllowedAt: z
    .string()
    .optional()
    .describe('When the call may be placed, if only the time blocks it'),
  whatIf: z.boolean(),
  degraded: z
    .array(z.string())
    .readonly()
    .describe('Checks without a fresh answer that policy allowed'),
  policy: z
    .array(policyEffectSchema)
    .readonly()
    .optional()
    .describe('Findings that policy overrode, also on blocks; absent when there are none'),
  findings: z.array(findingSchema).readonly(),
  accountId: z.string().describe('Empty when there is no record'),
  keyId: z
    .string()
    .optional()
    .describe(
      'Id of the API key, as shown by `callgate keys list`; absent for calls from Asterisk',
    ),
  mandate: z
    .object({
      version: z.number().describe('Of the limits of the key; grows by one with each change'),
      remaining: z
        .object({ hour: z.number().optional(), day: z.number().optional() })
        .optional()
        .describe('Attempts that are left in this hour and in 24 hours, on an allow'),
      approval: z
        .object({
          id: z.string(),
          expiresAt: z.string().optional().describe('Until then a person can approve the call'),
          approvedBy: z.string().optional(),
          approvedAt: z.string().optional(),
        })
        .optional()
        .describe('The approval that the allow rests on, or that the blocked call waits for'),
    })
    .optional()
    .describe('What limits the calls of the key; absent if nothing does'),
  via: z.string(),
  dialed: z.string(),
  trunk: z.string().optional().describe('The trunk that the dialplan named'),
  channel: z
    .object({ server: z.string(), id: z.string() })
    .optional()
    .describe('The Asterisk channel of the call'),
  projectId: z.string().optional(),
  campaignId: z.string().optional(),
  postalCode: z.string().optional(),
  callerId: z.string().optional(),
  reference: z.string().optional(),
  recordVersion: z
    .number()
    .optional()
    .describe('2; absent in records from before the findings had facts'),
  erased: z
    .literal(true)
    .optional()
    .describe('The number and what else was said about the person were erased'),
  outcome: outcomeSchema.optional(),
})
