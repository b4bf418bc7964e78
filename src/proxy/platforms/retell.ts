/** Retell's API. */
import { Refusal } from '../refusal.js'
import {
  type CallPlan,
  isObject,
  type JsonObject,
  type PlannedCall,
  type Platform,
  readCallerId,
  refuseOtherCallees,
  requireHarmlessHeaders,
  requireKnownFields,
  requireNumber,
  requireObject,
} from './platform.js'

/** Not `ignore_e164_validation`: the form of numbers is fixed. */
const taskFields = [
  'to_number',
  'agent_override',
  'custom_sip_headers',
  'metadata',
  'override_agent_id',
  'override_agent_version',
  'retell_llm_dynamic_variables',
]
const knownTaskFields = new Set(taskFields)
const callFields = new Set(['from_number', ...taskFields])
/** Not `call_time_window`, which moves calls to times that are not known. */
const batchFields = new Set([
  'from_number',
  'tasks',
  'name',
  'reserved_concurrency',
  'trigger_timestamp',
])

function readCall(fields: JsonObject): CallPlan {
  requireKnownFields(fields, callFields)
  const number = readTask(fields, '')
  return {
    calls: [{ number, callerId: readCallerId(fields.from_number, 'from_number') }],
    addDecisions: ([id]) => addDecision(fields, id),
  }
}

function readBatch(fields: JsonObject): CallPlan {
  requireKnownFields(fields, batchFields)
  if (!Array.isArray(fields.tasks) || fields.tasks.length === 0) {
    throw new Refusal('no-phone-number', 'tasks: must be a list with at least one task')
  }
  const tasks = fields.tasks.map((task, index) => requireObject(task, `tasks[${index}]`))
  const callerId = readCallerId(fields.from_number, 'from_number')
  const at = readTrigger(fields.trigger_timestamp)
  const calls = tasks.map((task, index): PlannedCall => {
    requireKnownFields(task, knownTaskFields, `tasks[${index}].`)
    return { number: readTask(task, `tasks[${index}].`), callerId, at }
  })
  return {
    calls,
    addDecisions(ids) {
      for (const [index, task] of tasks.entries()) addDecision(task, ids[index])
    },
  }
}

function readTask(task: JsonObject, where: string): string {
  const number = requireNumber(task.to_number, `${where}to_number`)
  refuseOtherCallees(task.agent_override, `${where}agent_override`)
  if (task.custom_sip_headers !== undefined) {
    const field = `${where}custom_sip_headers`
    requireHarmlessHeaders(Object.entries(requireObject(task.custom_sip_headers, field)), field)
  }
  if (task.metadata !== undefined && !isObject(task.metadata)) {
    throw new Refusal('ambiguous-request', `${where}metadata: must be an object`)
  }
  return number
}

/** Milliseconds since 1970. */
function readTrigger(value: unknown): PlannedCall['at'] {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value)) return [value]
  throw new Refusal('scheduled-call', 'trigger_timestamp: must be milliseconds since 1970')
}

function addDecision(task: JsonObject, decisionId: string | undefined): void {
  task.metadata = { ...(isObject(task.metadata) && task.metadata), callgate_decision: decisionId }
}

const id = '[\\w.+-]+'

export const retell: Platform = {
  name: 'retell',
  upstream: 'https://api.retellai.com',
  routes: [
    { method: 'POST', path: /^\/v2\/create-phone-call$/, body: 'json', readCalls: readCall },
    { method: 'POST', path: /^\/create-batch-call$/, body: 'json', readCalls: readBatch },
    { method: 'POST', path: /^\/(?:v2|v3)\/create-web-call$/, body: 'json' },
    { method: 'POST', path: /^\/(?:v2|v3)\/list-(?:calls|agents|chats)$/, body: 'json' },
    { method: 'POST', path: new RegExp(`^/v2/stop-call/${id}$`) },
    { method: 'DELETE', path: new RegExp(`^/v2/delete-call/${id}$`) },
    { method: 'GET', path: new RegExp(`^/(?:v[234]/)?(?:get|list)-[a-z-]+(?:/${id})?$`) },
  ],
  encodeError: ({ status, message, reason, details }) => ({
    status: 'error',
    message: `${message} (${reason})`,
    statusCode: status,
    reason,
    ...details,
  }),
}
