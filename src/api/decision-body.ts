/** A decision on the wire: the answer to the deciding call, and the record that is read later. */
import { z } from 'zod'
import { notCarriedOutCauses, outcomeStates } from '../domain/call-outcome.js'
import { policyEffects } from '../domain/decision.js'

const findingSchema = z.object({
  check: z.string(),
  verdict: z.enum(['pass', 'deny', 'unknown']),
  reason: z.string(),
  detail: z.string(),
  source: z.string(),
  ageMs: z.number().describe('Milliseconds from establishing the fact to using it'),
  stale: z
    .literal(true)
    .optional()
    .describe('The answer is past its age; the detail says why there is no newer one'),
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
    .describe('The imported lists that were looked at'),
})

const policySchema = z.object({
  check: z.string(),
  effect: z
    .enum(policyEffects)
    .describe(
      'unknown-allowed: not answered, and let pass; stale-allowed: passes by an answer past its ' +
        'age; shadowed: would have blocked, and is not enforced',
    ),
  because: z
    .string()
    .describe('The reason policy gives, why the source is silent, or the detail of the finding'),
  until: z.string().optional().describe('From when on an unknown blocks again'),
})

const outcomeSchema = z
  .object({
    state: z.enum(outcomeStates),
    handedOverAt: z.string().optional().describe('When the dialplan had the verdict'),
    notCarriedOutAt: z.string().optional(),
    notCarriedOut: z
      .enum(notCarriedOutCauses)
      .optional()
      .describe('Why the verdict did not reach its channel'),
    leg: z.string().optional().describe('Channel on the trunk'),
    dialledAt: z.string().optional(),
    answeredAt: z.string().optional(),
    failedAt: z.string().optional(),
    endedAt: z.string().optional(),
    dialStatus: z.string().optional().describe('As Asterisk says it, such as ANSWER or BUSY'),
    cause: z.number().optional().describe('Q.850 cause with which the leg ended'),
  })
  .describe('What became of the call, where it is known; only when the record is read')

/** The answer of a decision and its record; instants are ISO 8601 in UTC. */
export const decisionSchema = z.object({
  id: z
    .string()
    .describe('`-` where there is no record: of an emergency or service code without a valid key'),
  decision: z.enum(['allow', 'block']),
  reason: z.string(),
  message: z.string(),
  number: z.string().describe('The number as it was judged; empty where nothing could be judged'),
  dial: z
    .string()
    .optional()
    .describe(
      'Only on an allow: dial this and nothing else, not what was handed in. Ten digits, a service ' +
        'code, or what policy allows unchecked: an extension, or a foreign number with its + or 011',
    ),
  callKind: z.string(),
  decidedAt: z.string(),
  judgedAt: z.string().describe('The instant the rules were applied to'),
  validUntil: z.string().describe('Do not act on an allow at or after this instant'),
  nextAllowedAt: z.string().optional().describe('When time alone is against the call'),
  whatIf: z.boolean(),
  degraded: z
    .array(z.string())
    .readonly()
    .describe('Checks without a fresh answer on which an allow rests all the same'),
  policy: z
    .array(policySchema)
    .readonly()
    .optional()
    .describe('What policy set aside, of a block as well; absent where it is nothing'),
  findings: z.array(findingSchema).readonly(),
  accountId: z.string().describe('Empty where there is no record'),
  keyId: z
    .string()
    .optional()
    .describe(
      'Id of the API key that asked, as `callgate keys list` shows it; absent over Asterisk',
    ),
  via: z.string(),
  dialed: z.string(),
  channel: z
    .object({ server: z.string(), id: z.string() })
    .optional()
    .describe('The Asterisk channel that asked'),
  projectId: z.string().optional(),
  campaignId: z.string().optional(),
  postalCode: z.string().optional(),
  callerId: z.string().optional(),
  reference: z.string().optional(),
  outcome: outcomeSchema.optional(),
})

export type DecisionBody = z.output<typeof decisionSchema>
