/** Retell's API. */
import { Refusal } from '../refusal.js'
import {
  type CallPlan,
  isObject,
  type JsonObject,
  listCallIds,
  listFields,
  type PlannedCall,
  type Platform,
  type PlatformApi,
  readCallerId,
  readFirst,
  refuseOtherCallees,
  requireHarmlessHeaders,
  requireKnownFields,
  requireNumber,
  requireObject,
  toolResult,
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
    readCallIds: ({ call_id: callId }) => [listCallIds(callId)],
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
    requireHarmlessHeaders(listFields(task.custom_sip_headers, field), field)
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

/** The answer to a batch has only the id of the batch, and an answer can get lost. The decision's id then finds the call. */
async function findCallId(decisionId: string, { read }: PlatformApi): Promise<readonly string[]> {
  const filter = { key: 'callgate_decision', type: 'string', op: 'eq', value: decisionId }
  const list = await read('/v3/list-calls', { filter_criteria: { metadata: [filter] }, limit: 1 })
  const [call] = Array.isArray(list?.items) ? list.items.filter(isObject) : []
  return listCallIds(call?.call_id)
}

const endedStatuses = new Set<unknown>(['ended', 'error', 'not_connected'])

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
  /** A custom function waits for an answer. Events that only inform have an event name. */
  answerEvent: ({ event, name, args }) =>
    event === undefined && typeof name === 'string' && args !== undefined
      ? { result: toolResult }
      : undefined,
  fetching: {
    authorize: (key) => ['authorization', `Bearer ${key}`],
    async fetch({ callIds, decisionId }, api) {
      const readCall = (callId: string) => api.read(`/v2/get-call/${callId}`)
      const call =
        (await readFirst(callIds, readCall)) ??
        (await readFirst(await findCallId(decisionId, api), readCall))
      if (!call) return undefined
      if (!endedStatuses.has(call.call_status)) return 'pending'
      // The timestamps of the words are most of a long call.
      return JSON.stringify({ event: 'call_analyzed', call }, (name, value: unknown) =>
        name === 'words' ? undefined : value,
      )
    },
  },
  encodeError: ({ status, message, reason, details }) => ({
    status: 'error',
    message: `${message} (${reason})`,
    statusCode: status,
    reason,
    ...details,
  }),
}
