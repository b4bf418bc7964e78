/**
 * The gate's own calls: decide on one call, the one-line form for dialplans, read a decision.
 * The two deciding calls are answered by `http/front-door.ts`, the reading one like any endpoint.
 */
import { z } from 'zod'
import {
  longestCallerId,
  longestDialed,
  longestReference,
  postalCodePattern,
  postalCodeRule,
} from '../domain/call-fields.js'
import { notCarriedOutCauses, outcomeStates } from '../domain/call-outcome.js'
import { formatInstant, type Instant, isWithinYears, parseInstant } from '../domain/clock.js'
import { callKinds, policyEffects } from '../domain/decision.js'
import { invalidRequest } from '../errors.js'
import { endpoint, type Reply } from './endpoint.js'
import { fields, optionalId, optionalText } from './fields.js'

const kindRule = `is required and must be one of ${callKinds.join(', ')}`

const callKind = z
  .string(kindRule)
  .transform((text) => text.trim().toLowerCase())
  .pipe(z.enum(callKinds, kindRule))

const dialed = z
  .string('is required and must be text')
  .trim()
  .min(1, 'is required and must not be empty')
  .max(longestDialed, `must not be longer than ${longestDialed} characters`)

const postalCode = z
  .string('must be text')
  .trim()
  .regex(postalCodePattern, postalCodeRule)
  .nullish()
  .transform((text) => text || undefined)

const at = z
  .string('must be text')
  .nullish()
  .transform((text, context) => {
    if (text === null || text === undefined || text === '') return undefined
    const instant = parseInstant(text)
    if (instant !== undefined) return instant
    context.addIssue('must be an instant such as 2026-11-23T17:00:00Z')
    return z.NEVER
  })

const decisionRequest = fields({
  number: dialed,
  callKind,
  projectId: optionalId,
  campaignId: optionalId,
  postalCode,
  callerId: optionalText(longestCallerId),
  reference: optionalText(longestReference),
  at,
})

export type DecisionRequest = z.output<typeof decisionRequest>

/** Throws for an instant the calling rules say nothing of, as the time-legal call does. */
export function refuseFarInstant(at: Instant | undefined, now: Instant): void {
  if (at === undefined || isWithinYears(at, now, 50)) return
  const rule = 'must be within 50 years of today'
  throw invalidRequest([{ field: 'at', value: formatInstant(at), rule }])
}

const predialRequest = fields({
  number: dialed,
  kind: callKind,
  project: optionalId,
  campaign: optionalId,
  postal: postalCode,
  callerid: optionalText(longestCallerId),
  ref: optionalText(longestReference),
}).transform(
  ({ number, kind, project, campaign, postal, callerid, ref }): DecisionRequest => ({
    number,
    callKind: kind,
    projectId: project,
    campaignId: campaign,
    postalCode: postal,
    callerId: callerid,
    reference: ref,
    at: undefined,
  }),
)

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
  id: z.string(),
  decision: z.enum(['allow', 'block']),
  reason: z.string(),
  message: z.string(),
  number: z.string(),
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
  accountId: z.string(),
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

export const decideCall = endpoint({
  name: 'decide',
  summary: 'May this call be placed now? Allow and block are both status 200.',
  spec: 'the gate',
  method: 'POST',
  paths: ['/v1/decisions'],
  accepts: ['json'],
  keyAlsoIn: [],
  request: decisionRequest,
  response: decisionSchema,
  errors: 'problem',
})

export interface PredialAnswer {
  readonly line: string
  /** 503 when the decision could not be made or kept. */
  readonly status: number
  /** Checks without a fresh answer on which an allow rests all the same. */
  readonly degraded: readonly string[]
}

/** Names the checks in `degraded`, parted by commas; the line has no place for them. */
const degradedHeader = 'X-Callgate-Degraded'

const predial = {
  summary: 'One line for a dialplan: allow:<number>:<id>:end or block:<reason>:<id>:end.',
  spec: 'the gate',
  paths: ['/v1/predial'],
  keyAlsoIn: [],
  request: predialRequest,
  response: z.object({
    line: z.string(),
    status: z.number(),
    degraded: z.array(z.string()).readonly(),
  }),
  errors: 'block-line',
  encode: ({ line, status, degraded }: PredialAnswer): Reply => ({
    status,
    text: `${line}\n`,
    ...(degraded.length > 0 && { headers: { [degradedHeader]: degraded.join(',') } }),
  }),
} as const

/**
 * The whole answer to a dialplan, lower case, bound to the number and closed by an end mark, since
 * a dialplan sees neither a status nor that a reply was cut off.
 */
export function predialLine(made: {
  readonly decision: 'allow' | 'block'
  readonly number: string
  readonly reason: string
  readonly id: string
}): string {
  const subject = made.decision === 'allow' ? made.number : made.reason
  return `${made.decision}:${subject}:${made.id}:end`
}

export const predialGet = endpoint({
  ...predial,
  name: 'predial-get',
  method: 'GET',
  accepts: ['query'],
})

export const predialPost = endpoint({
  ...predial,
  name: 'predial-post',
  method: 'POST',
  accepts: ['form', 'json', 'query'],
})

export const readDecision = endpoint({
  name: 'decision',
  summary: 'The record of one decision of the account.',
  spec: 'the gate',
  method: 'GET',
  paths: ['/v1/decisions/:id'],
  accepts: ['query'],
  keyAlsoIn: [],
  request: fields({ id: z.string().max(64, 'must not be longer than 64 characters') }),
  response: decisionSchema,
  errors: 'problem',
})
