/** What the tools have in common: the fields of a call, those of an answer, and how they fail. */
import type { CallToolResult, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { AccessCheckResult } from '../../api/accounts/authentication.js'
import { dropEmpty } from '../../api/fields.js'
import type { decisionSchema } from '../../api/gate/decision-body.js'
import type { CallKind } from '../../domain/mandate.js'
import { boundText, type GateClient, GateFailure } from './gate-client.js'

export interface McpSession {
  readonly client: GateClient
  readonly access: AccessCheckResult
  readonly givesPermits: boolean
}

export const short = (maxLength: number) => z.string().min(1).max(maxLength)

/** Models and some clients send numbers as numbers. */
export const number = z
  .union([short(100), z.int().positive()])
  .transform(String)
  .describe('The telephone number, such as 2125550106 or +1 212 555 0106')

export const callInput = {
  number,
  callerId: z
    .union([short(100), z.int().positive()])
    .transform(String)
    .optional()
    .describe(
      'The number that the called person will see; a permit needs it, except to emergency and service codes',
    ),
  campaignId: short(64).optional(),
  projectId: short(64).optional(),
  postalCode: short(20).optional().describe('Where the person is, if known'),
}

export const decisionId = short(64).describe('The decisionId of an earlier answer')

export const instantText = z.string().describe('ISO 8601, UTC')

/** With several kinds the strictest is asked for: an agent is a machine that speaks. */
export const findCallKind = ({ callKinds }: AccessCheckResult): CallKind =>
  callKinds.length === 1 && callKinds[0] ? callKinds[0] : 'ai'

export const disclosuresOutput = z
  .array(z.string())
  .optional()
  .describe(
    'What must be said in the call, in this order and in words of your own, such as ai-voice, identity, opt-out',
  )

export const decisionOutput = {
  reason: z.string(),
  message: z.string(),
  decisionId: z.string(),
  number: z.string().describe('The number that was judged; empty if the text is no number'),
  nextAllowedAt: instantText
    .optional()
    .describe('When the call may be placed, if only time blocks it'),
}

export const readOnly = {
  readOnlyHint: true,
  destructiveHint: false,
  openWorldHint: false,
} as const

/** Throws unless the gate recorded a decision about exactly this call. */
export function requireAnswerTo(
  asked: { readonly number: string; readonly callKind: CallKind; readonly whatIf: boolean },
  decision: z.output<typeof decisionSchema>,
): void {
  const { id, dialed, callKind, whatIf, reason } = decision
  const isSame = dialed === asked.number.trim()
  // Emergency calls pass without a record, whatever else the request says or lacks.
  if (isSame && reason === 'service-code') return
  const isRecorded = id !== '' && id !== '-'
  if (isSame && isRecorded && callKind === asked.callKind && whatIf === asked.whatIf) return
  throw new GateFailure('the gate answered another question')
}

export function toDecisionOutput(decision: z.output<typeof decisionSchema>) {
  const { reason, message, id, number: judged, nextAllowedAt } = decision
  const disclosures = decision.disclosures?.map(({ key }) => boundText(key))
  return {
    reason,
    message: boundText(message),
    decisionId: id,
    number: judged,
    nextAllowedAt,
    disclosures,
  }
}

/**
 * The schema, except that invalid input reaches the tool as a {@link GateFailure}: the library's own answer to it does not
 * say that the call must not be placed, or that nothing was recorded.
 */
export function keepInvalid<Schema extends z.ZodType>(schema: Schema) {
  const { jsonSchema, ...standard } = schema['~standard']
  type Input = z.input<Schema>
  type Output = z.output<Schema> | GateFailure
  const validate = (value: unknown) => {
    const read = schema.safeParse(dropEmpty(value ?? {}))
    if (read.success) return { value: read.data }
    const rules = read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    return { value: new GateFailure(`invalid input: ${boundText(rules.join('; '))}`) }
  }
  const kept: StandardSchemaWithJSON<Input, Output> = {
    '~standard': { version: standard.version, vendor: standard.vendor, jsonSchema, validate },
  }
  return kept
}

/** Uses the schema only as a description: every object is accepted as it is. */
export function keepAll(schema: z.ZodType): StandardSchemaWithJSON<unknown, object> {
  const { jsonSchema, version, vendor } = schema['~standard']
  const validate = (value: unknown) => ({ value: typeof value === 'object' && value ? value : {} })
  return { '~standard': { version, vendor, jsonSchema, validate } }
}

/** The same twice, since not every client reads structured content. A failure begins with what to do. */
export async function answer<Call>(
  onFailure: string,
  input: Call | GateFailure,
  find: (call: Call) => Promise<Record<string, unknown>>,
): Promise<CallToolResult> {
  try {
    if (input instanceof GateFailure) throw input
    const structuredContent = await find(input)
    return {
      content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
      structuredContent,
    }
  } catch (cause) {
    const why = cause instanceof GateFailure ? cause.message : 'this program failed'
    return { isError: true, content: [{ type: 'text', text: `${onFailure}: ${why}` }] }
  }
}
