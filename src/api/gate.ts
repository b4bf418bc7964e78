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
import { formatInstant, type Instant, isWithinYears, parseInstant } from '../domain/clock.js'
import { callKinds } from '../domain/decision.js'
import { invalidRequest } from '../errors.js'
import { decisionSchema } from './decision-body.js'
import { endpoint, oneScope, type Reply, smallBodyBytes } from './endpoint.js'
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

export type DecisionRequest = z.output<typeof decisionRequest> & {
  /** The line names the number as it was sent, not as it was judged. */
  readonly asSent?: boolean
}

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
  format: z.enum(['judged', 'sent'], 'must be judged or sent').optional(),
}).transform(
  ({ number, kind, project, campaign, postal, callerid, ref, format }): DecisionRequest => ({
    number,
    callKind: kind,
    projectId: project,
    campaignId: campaign,
    postalCode: postal,
    callerId: callerid,
    reference: ref,
    at: undefined,
    asSent: format === 'sent',
  }),
)

/** Not for emergency and service codes, which are answered before any of this is checked. */
const deciding = {
  rights: ['decide'],
  scopes: oneScope,
  callKind: (request: DecisionRequest) => request.callKind,
} as const

export const decideCall = endpoint({
  name: 'decide',
  summary:
    'May this call be placed now? Allow and block are both status 200. Emergency and service codes ' +
    'pass whatever else the request holds or lacks, also without a key.',
  spec: 'the gate',
  method: 'POST',
  paths: ['/v1/decisions'],
  accepts: ['json'],
  maxBodyBytes: smallBodyBytes,
  keyAlsoIn: [],
  ...deciding,
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
  summary:
    'One line for a dialplan: allow:<number>:<id>:end or block:<reason>:<id>:end. With format=sent the ' +
    'number is that of the request, digits with or without a plus, and not its ten digits. Emergency and service ' +
    'codes pass whatever else the request holds or lacks, also without a key.',
  spec: 'the gate',
  paths: ['/v1/predial'],
  keyAsPassword: true,
  ...deciding,
  request: predialRequest,
  response: z.object({
    line: z.string(),
    status: z.number(),
    degraded: z.array(z.string()).readonly(),
  }),
  replyTypes: ['text/plain'],
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
  keyAlsoIn: ['query'],
})

export const predialPost = endpoint({
  ...predial,
  name: 'predial-post',
  method: 'POST',
  accepts: ['form', 'json', 'query'],
  keyAlsoIn: ['form', 'query'],
  maxBodyBytes: smallBodyBytes,
})

export const readDecision = endpoint({
  name: 'decision',
  summary: 'The record of one decision of the account.',
  spec: 'the gate',
  method: 'GET',
  paths: ['/v1/decisions/:id'],
  accepts: ['query'],
  keyAlsoIn: [],
  rights: ['decide'],
  // The record is held against the key once it is found.
  scopes: 'none',
  request: fields({ id: z.string().max(64, 'must not be longer than 64 characters') }),
  response: decisionSchema,
  errors: 'problem',
})
