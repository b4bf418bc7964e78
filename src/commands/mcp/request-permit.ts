/** The tool that asks for the permit of a call, and has a person asked to approve one that needs it. */
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { decisionSchema } from '../../api/gate/decision-body.js'
import { boundText, GateFailure } from './gate-client.js'
import {
  answer,
  callInput,
  decisionOutput,
  disclosuresOutput,
  findCallKind,
  instantText,
  keepInvalid,
  type McpSession,
  requireAnswerTo,
  short,
  toDecisionOutput,
} from './tool-parts.js'

export function addRequestPermit(server: McpServer, { client }: McpSession): void {
  server.registerTool(
    'request_permit',
    {
      title: 'Permit for one call',
      description:
        'Asks for the permit of one call, right before it is placed; the telephone system takes a permit once, within ' +
        'a minute. Counts as an attempt. granted: dial the number in dial from that callerId, and send the permit unchanged in its header. ' +
        'refused: do not dial. approval_needed: do not dial; a person must approve first, then ask again with approvalId.',
      inputSchema: keepInvalid(
        z.strictObject({
          ...callInput,
          edge: short(63).optional().describe('Name of the SIP edge, if there are several'),
          approvalId: short(64).optional().describe('Of an earlier answer approval_needed'),
        }),
      ),
      outputSchema: z.object({
        status: z.enum(['granted', 'refused', 'approval_needed']),
        ...decisionOutput,
        disclosures: disclosuresOutput,
        dial: z.string().optional().describe('Only if granted: dial exactly this'),
        permit: z
          .string()
          .optional()
          .describe('Only if granted; emergency and service codes need none'),
        header: z.string().optional().describe('The SIP header for the permit'),
        expiresAt: instantText.optional().describe('Of the permit, or of the waiting approval'),
        approvalId: z.string().optional(),
        howToApprove: z.string().optional(),
      }),
      annotations: {
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: false,
        openWorldHint: true,
      },
    },
    async (input, { mcpReq }) => {
      const asked = readAnswer(mcpReq)
      const result = await answer('Do not dial', input, async (call) => {
        if (asked?.isAccepted === false) {
          throw new GateFailure(`the user did not say that approval ${asked.approvalId} is given`)
        }
        const callKind = findCallKind(await client.readKey())
        const request = { ...call, approvalId: call.approvalId ?? asked?.approvalId, callKind }
        const decision = await client.ask('/v1/permits', permitAnswer, request)
        requireAnswerTo({ ...request, whatIf: false }, decision)
        return toPermitOutput(decision, client.url)
      })
      return asked === undefined && canAskPerson(mcpReq) ? askForApproval(result) : result
    },
  )
}

type McpRequest = ServerContext['mcpReq']

const approvalQuestion = 'approval'

/**
 * `undefined` if nobody was asked. The id comes back from the client, which may have changed it: it could send any as approvalId, and
 * the gate judges it.
 */
function readAnswer({ inputResponses, requestState }: McpRequest) {
  if (inputResponses === undefined) return undefined
  const approvalId = boundText(short(64).catch('').parse(requestState()))
  const response = inputResponse(inputResponses, approvalQuestion)
  const isAccepted = response.kind === 'elicit' && response.action === 'accept'
  return { approvalId, isAccepted: isAccepted && approvalId !== '' }
}

/**
 * Clients of the earlier revision cannot be asked over HTTP, and over standard streams they give up on the call while the person
 * is asked.
 */
function canAskPerson({ envelope = {} }: McpRequest): boolean {
  const stated: Readonly<Record<string, ClientCapabilities>> = envelope
  const elicitation = stated[CLIENT_CAPABILITIES_META_KEY]?.elicitation
  return !!elicitation && (elicitation.form !== undefined || elicitation.url === undefined)
}

/** Asks the user of the client to have the call approved. The answer of the user approves nothing. */
function askForApproval(result: CallToolResult): CallToolResult | InputRequiredResult {
  const waiting = approvalNeeded.safeParse(result.structuredContent).data
  if (waiting === undefined) return result
  const { number: called, approvalId, expiresAt, howToApprove } = waiting
  const message = boundText(
    `A person must approve the call to ${called} by ${expiresAt}. ${howToApprove}. ` +
      'Accept once it is approved; accepting does not approve it.',
  )
  const ask = inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: {} } })
  return inputRequired({ requestState: approvalId, inputRequests: { [approvalQuestion]: ask } })
}

const approvalNeeded = z.object({
  status: z.literal('approval_needed'),
  number: z.string(),
  approvalId: z.string(),
  expiresAt: z.string(),
  howToApprove: z.string(),
})

const permitAnswer = decisionSchema.extend({
  permit: z
    .object({ value: z.string().min(1), header: z.string().optional(), expiresAt: z.string() })
    .optional(),
})

function toPermitOutput(decision: z.output<typeof permitAnswer>, url: string) {
  const output = toDecisionOutput(decision)
  const { permit, mandate, dial } = decision
  if (decision.decision === 'allow') {
    if (dial === undefined) throw new GateFailure('the gate allowed the call without a number')
    if (permit === undefined) {
      if (decision.reason === 'service-code') return { status: 'granted', ...output, dial }
      throw new GateFailure('the gate allowed the call without a permit')
    }
    const { value, header, expiresAt } = permit
    return { status: 'granted', ...output, dial, permit: value, header, expiresAt }
  }
  const approval = decision.reason === 'approval-needed' ? mandate?.approval : undefined
  if (approval === undefined) return { status: 'refused', ...output }
  const { id, expiresAt } = approval
  const command = `callgate approvals approve ${id} --account ${decision.accountId}`
  // It is for a shell.
  const isPlain = /^[\w -]{1,200}$/.test(command)
  const link = `POST ${url}/v1/approvals/${encodeURIComponent(id)}`
  const ways = isPlain ? `\`${command}\`, or ${link}` : link
  const howToApprove = boundText(`A Supervisor or Administrator decides, not this key: ${ways}`)
  return { status: 'approval_needed', ...output, approvalId: id, expiresAt, howToApprove }
}
