/** Vapi's API. */
import { formatInstant, msPerHour, parseInstant } from '../../domain/time/dates.js'
import { Refusal } from '../refusal.js'
import {
  type CallPlan,
  isObject,
  type JsonObject,
  listCallIds,
  type PlannedCall,
  type Platform,
  readCallerId,
  readFirst,
  refuseOtherCallees,
  requireKnownFields,
  requireNumber,
  requireObject,
  toolResult,
} from './platform.js'

/** Not `customerId`: the number is stored at Vapi. */
const callFields = new Set([
  'name',
  'assistantId',
  'assistantVersion',
  'assistant',
  'assistantOverrides',
  'squadId',
  'squad',
  'squadOverrides',
  'workflowId',
  'workflow',
  'workflowOverrides',
  'phoneNumberId',
  'customer',
  'customers',
  'schedulePlan',
])
/** Not `sipUri`, and not `numberE164CheckEnabled`: the form is fixed. */
const customerFields = new Set([
  'number',
  'extension',
  'name',
  'email',
  'externalId',
  'assistantOverrides',
  'squadOverrides',
])
/** An agent in here may have tools that transfer the call. */
const agentFields = [
  'assistant',
  'assistantOverrides',
  'squad',
  'squadOverrides',
  'workflow',
  'workflowOverrides',
]

function readCalls(fields: JsonObject): CallPlan {
  requireKnownFields(fields, callFields)
  const customers = readCustomers(fields)
  for (const name of agentFields) refuseOtherCallees(fields[name], name)
  const at = readSchedule(fields.schedulePlan)
  // It names a number at the platform, so what the call shows is not known here.
  readCallerId(fields.phoneNumberId, 'phoneNumberId')
  const calls = customers.map((value, index): PlannedCall => {
    const where = fields.customers ? `customers[${index}]` : 'customer'
    const customer = requireObject(value, where)
    requireKnownFields(customer, customerFields, `${where}.`)
    for (const name of agentFields) refuseOtherCallees(customer[name], `${where}.${name}`)
    return { number: requireNumber(customer.number, `${where}.number`), at }
  })
  return {
    calls,
    addDecisions: (ids) => addDecisions(fields, calls, ids),
    readCallIds: (answer) => calls.map(({ number }) => listCallIds(readCallId(answer, number))),
  }
}

/** The answer to a batch is a list, which may lack calls that failed at once. */
function readCallId(answer: JsonObject, number: string): unknown {
  if (!Array.isArray(answer.results)) return answer.id
  const results = answer.results.filter(isObject)
  return results.find(({ customer }) => isObject(customer) && customer.number === number)?.id
}

/** Keeps only what the reader of the event needs, since a whole call may be longer than the gate accepts. */
function toReport(call: JsonObject): string {
  const { id, type, customer, phoneNumber, assistantOverrides, startedAt, endedAt, status } = call
  const artifact = isObject(call.artifact) ? call.artifact : {}
  const { messages = call.messages, transcript = call.transcript, structuredOutputs } = artifact
  return JSON.stringify({
    message: {
      type: 'end-of-call-report',
      call: { id, type, customer, phoneNumber, assistantOverrides, status },
      customer,
      phoneNumber,
      startedAt,
      endedAt,
      endedReason: call.endedReason,
      analysis: call.analysis,
      artifact: { messages, transcript, structuredOutputs },
    },
  })
}

function readCustomers(fields: JsonObject): readonly unknown[] {
  const { customer, customers } = fields
  if (customer !== undefined && customers !== undefined) {
    throw new Refusal('ambiguous-request', "'customer' and 'customers' are both given; send one")
  }
  if (customers === undefined) return [customer]
  if (Array.isArray(customers) && customers.length > 0) return customers
  throw new Refusal('no-phone-number', 'customers: must be a list with at least one customer')
}

/** A call may be placed at any moment from the first to the last instant, so that both are judged. */
function readSchedule(value: unknown): PlannedCall['at'] {
  if (value === undefined || value === null) return undefined
  const plan = requireObject(value, 'schedulePlan')
  requireKnownFields(plan, new Set(['earliestAt', 'latestAt']), 'schedulePlan.')
  const earliest = typeof plan.earliestAt === 'string' ? parseInstant(plan.earliestAt) : undefined
  const latest = typeof plan.latestAt === 'string' ? parseInstant(plan.latestAt) : undefined
  if (earliest !== undefined && latest !== undefined) {
    // Other programs may read another instant from the text that was sent.
    plan.earliestAt = formatInstant(earliest)
    plan.latestAt = formatInstant(latest)
    if (latest >= earliest && latest - earliest <= msPerHour) return [earliest, latest]
  }
  const rule = 'earliestAt and latestAt are required, at most one hour apart'
  throw new Refusal('scheduled-call', `schedulePlan: ${rule}, since any moment between may be used`)
}

/** `assistantOverrides.metadata` comes back in every event of the call; a batch has one for all its calls. */
function addDecisions(fields: JsonObject, calls: readonly PlannedCall[], ids: readonly string[]) {
  const overrides = isObject(fields.assistantOverrides) ? fields.assistantOverrides : {}
  const metadata = isObject(overrides.metadata) ? overrides.metadata : {}
  const callgateDecision = fields.customers
    ? Object.fromEntries(calls.map(({ number }, index) => [number, ids[index]]))
    : ids[0]
  fields.assistantOverrides = { ...overrides, metadata: { ...metadata, callgateDecision } }
}

function readMessage(event: JsonObject): JsonObject {
  return isObject(event.message) ? event.message : {}
}

const id = '[\\w.-]+'

export const vapi: Platform = {
  name: 'vapi',
  upstream: 'https://api.vapi.ai',
  routes: [
    { method: 'POST', path: /^\/call$/, body: 'json', readCalls },
    { method: 'DELETE', path: new RegExp(`^/call/${id}$`) },
    { method: 'POST', path: /^\/analytics$/, body: 'json' },
    {
      method: 'GET',
      path: new RegExp(
        `^/(?:v2/)?(?:call|assistant|squad|workflow|phone-number|tool|file|campaign|session|chat|log|logs|eval|insight|structured-output|provider)(?:/${id})*$`,
      ),
    },
  ],
  answerEvent: (event) => {
    const { type, toolCallList } = readMessage(event)
    if (type !== 'tool-calls') return undefined
    const calls = Array.isArray(toolCallList) ? toolCallList.filter(isObject) : []
    return {
      results: calls.map((call) => ({
        name: isObject(call.function) ? call.function.name : call.name,
        toolCallId: call.id,
        result: toolResult,
      })),
    }
  },
  readPredial: (event) => {
    const { type, contact } = readMessage(event)
    if (type !== 'campaign.predial') return undefined
    return { number: isObject(contact) ? contact.number : undefined }
  },
  fetching: {
    authorize: (key) => ['authorization', `Bearer ${key}`],
    async fetch({ callIds }, { read }) {
      const call = await readFirst(callIds, (callId) => read(`/call/${callId}`))
      if (!call) return undefined
      return call.status === 'ended' ? toReport(call) : 'pending'
    },
  },
  encodeError: ({ status, message, reason, details }) => ({
    statusCode: status,
    error: status === 403 ? 'Forbidden' : 'Failed',
    message,
    reason,
    ...details,
  }),
}
