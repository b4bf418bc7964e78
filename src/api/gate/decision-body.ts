/** A decision in the API: the answer of the decision endpoint, and the record that can be read later. */
import { z } from 'zod'
import { answerers, notCarriedOutReasons, outcomeStates } from '../../domain/call-outcome.js'
import { checkNames, reasonCodes } from '../../domain/checks.js'
import { callKinds, disclosureKeys, policyEffects } from '../../domain/decision.js'
import { saidCodes } from '../../domain/words/words.js'

/** Values that are read as any text, and described as what they are. */
export const instant = z.string().meta({ format: 'date-time' })

export const callKindMeta = {
  id: 'CallKind',
  enum: [...callKinds],
  description: 'manual: a person dials; autodialed: a machine dials; ai: an AI agent speaks',
}
const checkName = z.string().meta({ id: 'CheckName', enum: [...checkNames] })
const findingName = z.string().meta({
  id: 'FindingName',
  description:
    'A check, or `mandate`: what limits the key, and pauses. New ones may come with any release',
  anyOf: [{ enum: [...checkNames, 'mandate'] }, { type: 'string' }],
})
const reasonCode = z.string().meta({
  id: 'ReasonCode',
  description:
    'New codes may come with any release: treat one that you do not know as its decision',
  anyOf: [{ enum: [...reasonCodes] }, { type: 'string' }],
})

/** What is said, as data. */
export const said = z
  .object({
    code: z.string().meta({
      description: 'New codes may come with any release',
      anyOf: [{ enum: [...saidCodes] }, { type: 'string' }],
    }),
    params: z.record(z.string(), z.unknown()).optional(),
    quote: z
      .string()
      .optional()
      .describe('What somebody else said, verbatim: a provider, the database, an operator'),
    source: z.string().optional().describe('Of several sources: the one that it is about'),
  })
  .meta({ id: 'Said' })
const says = z.array(said).readonly()

const ownFindingSchema = z.object({
  check: findingName,
  verdict: z.enum(['pass', 'deny', 'unknown']).meta({ id: 'Verdict' }),
  reason: reasonCode,
  detail: z.string().describe('What the finding says, in words; programs read says'),
  says,
  source: z.string(),
  ageMs: z.number().describe('Age of the fact when it was used, in milliseconds'),
  stale: z
    .literal(true)
    .optional()
    .describe(
      'The answer is older than its maximum age; notRenewed says why there is no newer one',
    ),
  opensAt: instant.optional(),
  lists: z
    .array(
      z.object({
        name: z.string(),
        version: z.string().describe('Names this exact content of the list'),
        asOf: instant,
      }),
    )
    .readonly()
    .optional()
    .describe('The imported lists that were checked'),
  requestError: z
    .literal(true)
    .optional()
    .describe('The request itself caused the unknown, for example with an unknown project'),
  staleReason: z.string().optional().describe('notRenewed in words; only with stale'),
  notRenewed: says.optional().describe('Why its source does not give a newer answer'),
  holdsUntil: instant
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

const sourceFindingSchema = ownFindingSchema.extend({
  unmetLaws: z
    .array(z.string())
    .readonly()
    .optional()
    .describe(
      'Ids of the state consent laws that no record on file satisfies; only of the check permission',
    ),
  reassigned: ownFindingSchema
    .optional()
    .describe(
      'Why frequency limits still apply despite the permission; only on the check permission',
    ),
})

const findingSchema = sourceFindingSchema
  .extend({
    parts: z
      .array(sourceFindingSchema)
      .readonly()
      .optional()
      .describe('The findings of each source alone, if several were asked'),
  })
  .meta({ id: 'Finding' })

const policyEffectSchema = z.object({
  check: checkName,
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
  until: instant.optional().describe('When an unknown blocks again'),
})

const outcomeSchema = z
  .object({
    state: z.enum(outcomeStates),
    handedOverAt: instant.optional().describe('When the dialplan received the verdict'),
    notCarriedOutAt: instant.optional(),
    notCarriedOut: z
      .enum(notCarriedOutReasons)
      .optional()
      .describe(
        'Why the verdict did not reach its channel; not-placed: reported, the call never left',
      ),
    leg: z.string().optional().describe('Channel on the trunk'),
    dialledAt: instant.optional(),
    answeredAt: instant.optional(),
    answeredBy: z.enum(answerers).optional().describe('As reported'),
    greetingEndedAt: instant.optional(),
    connectedAt: instant.optional().describe('When somebody began to speak to the person'),
    messagePlayed: z.boolean().optional().describe('Because nobody spoke'),
    identityConfirmed: z.literal(true).optional().describe('By the person who answered'),
    said: z
      .array(z.object({ key: z.string(), at: instant }))
      .readonly()
      .optional()
      .describe('The disclosures that were said, as reported'),
    failedAt: instant.optional(),
    endedAt: instant.optional(),
    dialStatus: z.string().optional().describe('As reported by Asterisk, such as ANSWER or BUSY'),
    cause: z.number().optional().describe('Q.850 cause of the end of the leg'),
  })
  .describe('Outcome of the call, if known; only when the record is read')

const mandateSchema = z
  .object({
    version: z.number().describe('Of the limits of the key; grows by one with each change'),
    remaining: z
      .object({ hour: z.number().optional(), day: z.number().optional() })
      .optional()
      .describe('Attempts that are left in this hour and in 24 hours, on an allow'),
    approval: z
      .object({
        id: z.string(),
        expiresAt: instant.optional().describe('Until then a person can approve the call'),
        approvedBy: z.string().optional(),
        approvedAt: instant.optional(),
      })
      .optional()
      .describe('The approval that the allow rests on, or that the blocked call waits for'),
  })
  .meta({ id: 'Mandate' })

/** The decision as it is recorded; instants are ISO 8601 in UTC. */
export const decisionSchema = z.object({
  id: z
    .string()
    .describe('`-` when there is no record: an emergency or service code without a valid key'),
  decision: z.enum(['allow', 'block']),
  reason: reasonCode,
  message: z.string(),
  detail: z
    .string()
    .optional()
    .describe('What the gate itself adds, as on a call that it refused without checks, in words'),
  says: says.optional().describe('The same as data'),
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
  callKind: z.string().meta(callKindMeta),
  purpose: z
    .string()
    .optional()
    .describe('What the call was judged as being for; telemarketing if absent'),
  purposeSetBy: z.string().optional().describe('Who said it: request, or a name from the settings'),
  decidedAt: instant,
  judgedAt: instant.describe('The instant the rules were applied to'),
  validUntil: instant.describe('Do not act on an allow at or after this instant'),
  nextAllowedAt: instant
    .optional()
    .describe('When the call may be placed, if only the time blocks it'),
  nextAllowedAtLatest: z
    .literal(true)
    .optional()
    .describe(
      'It may be placed at nextAllowedAt at the latest; what becomes of other calls may open it earlier',
    ),
  disclosures: z
    .array(
      z
        .object({
          key: z
            .string()
            .meta({ anyOf: [{ enum: [...disclosureKeys] }, { type: 'string' }] })
            .describe(
              'What must be said, in words of your own. New ones may come with any release',
            ),
          rules: z.array(z.string()).readonly().describe('Citations of the rules that ask for it'),
        })
        .meta({ id: 'Disclosure' }),
    )
    .readonly()
    .optional()
    .describe(
      'What must be said in the call, in order; with an allow, and absent if nothing must be',
    ),
  whatIf: z.boolean(),
  degraded: z
    .array(checkName)
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
  mandate: mandateSchema
    .optional()
    .describe('What limits the calls of the key; absent if nothing does'),
  via: z.string().meta({ id: 'Via', enum: ['http', 'predial', 'asterisk', 'check'] }),
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
  subject: z.string().optional(),
  personId: z.string().optional(),
  reference: z.string().optional(),
  withdraws: z
    .string()
    .optional()
    .describe(
      'Of a block that answers a repeated Idempotency-Key: the id of the earlier allow, which must not be acted on',
    ),
  rules: z
    .string()
    .describe(
      'Version of the calling rules that the call was judged by: the file rules/<version>.json beside the journal',
    ),
  recordVersion: z.number().describe('1'),
  erased: z
    .literal(true)
    .optional()
    .describe('The number and what else was said about the person were erased'),
  outcome: outcomeSchema.optional(),
})

/** Its members are those of the answer to a request for a decision. */
export const decisionRecordSchema = decisionSchema.meta({ id: 'DecisionRecord' })
export type DecisionRecordBody = z.output<typeof decisionRecordSchema>

const { dial, ...common } = decisionSchema.omit({ outcome: true, erased: true }).shape

/** The answer to a request for a decision: a program can tell by `decision` which members there are. */
export const decisionAnswerSchema: z.ZodType<z.output<typeof decisionSchema>> = z
  .discriminatedUnion('decision', [
    z
      .object({ ...common, decision: z.literal('allow'), dial: dial.unwrap() })
      .meta({ id: 'Allow' }),
    z.object({ ...common, decision: z.literal('block') }).meta({ id: 'Block' }),
  ])
  .meta({
    id: 'Decision',
    discriminator: {
      propertyName: 'decision',
      mapping: { allow: '#/components/schemas/Allow', block: '#/components/schemas/Block' },
    },
  })
