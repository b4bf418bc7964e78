/** What the proxy knows of a platform: which requests place calls, which are harmless, and how it words errors. */
import { parseDialString } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import type { PlatformName } from '../../platform-events/call-event.js'
import { Refusal } from '../refusal.js'

export type JsonObject = Record<string, unknown>

/** A call that a request would place. */
export interface PlannedCall {
  /** `+1` and ten digits. */
  readonly number: string
  readonly callerId?: string | undefined
  /** For a scheduled call: every instant that it must be permitted at. */
  readonly at?: readonly Instant[] | undefined
}

export interface CallPlan {
  /** At least one, in the order of the request. */
  readonly calls: readonly PlannedCall[]
  /**
   * Puts the ids of the decisions, in the order of the calls, where the platform repeats them in its
   * events. A platform that sends events only on request is asked to send them to `eventsUrl`.
   */
  addDecisions(ids: readonly string[], eventsUrl: string | undefined): void
  /** The platform's ids of each call, in the order of the calls, from its answer; absent if that has none. */
  readonly readCallIds?: (answer: JsonObject) => readonly (readonly string[])[]
}

export interface PlatformRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Matches the whole path. */
  readonly path: RegExp
  /** The form of the body; a request without this must have none. */
  readonly body?: 'json' | 'form'
  /** Reads the calls of a request that places some; a route without this is harmless. Throws refusals. */
  readonly readCalls?: (fields: JsonObject) => CallPlan
  /** Throws a refusal for fields that make an otherwise harmless request call somebody. */
  readonly requireHarmless?: (fields: JsonObject) => void
}

export interface Platform {
  readonly name: PlatformName
  /** Where it is; absent if each customer has an address of its own. */
  readonly upstream?: string
  readonly routes: readonly PlatformRoute[]
  /** The body of the answer to an event whose sender waits for one. */
  readonly answerEvent?: (event: JsonObject) => object | undefined
  /** Reads an event in which the platform asks whether it may place a call of its own campaign. */
  readonly readPredial?: (event: JsonObject) => { readonly number: unknown } | undefined
  /** Absent if the platform keeps no words. */
  readonly fetching?: CallFetching
  /** A refusal as an error of the platform, so that its clients show the message. */
  readonly encodeError: (error: PlatformError) => object
}

/** Reads the words of a call from the platform after its end. */
export interface CallFetching {
  /** Name and value of the header that proves the right to read. */
  readonly authorize: (readKey: string) => readonly [string, string]
  readonly fetch: (call: FetchableCall, api: PlatformApi) => Promise<FetchedEvent>
}

interface FetchableCall {
  readonly decisionId: string
  /** Ten digits. */
  readonly number: string
  readonly callIds: readonly string[]
}

export interface PlatformApi {
  /** Resolves with `undefined` if the platform does not have it; rejects if it does not answer. */
  read(path: string, body?: JsonObject): Promise<JsonObject | undefined>
  /** Such as the account in it. */
  readonly readKey: string
}

/** The text of an event in the form of the platform's own; `pending` while the call lasts. */
type FetchedEvent = string | 'pending' | undefined

interface PlatformError {
  readonly status: number
  readonly reason: string
  readonly message: string
  readonly decisionId?: string | undefined
  /** Added to the error as they are, beside the members of the platform. */
  readonly details: object
}

/** The result for any tool of the agent. The gate has stored the event by then. */
export const toolResult = 'Received and recorded.'

/** The first of the ids that the platform has something for. */
export async function readFirst(
  ids: readonly string[],
  read: (id: string) => Promise<JsonObject | undefined>,
): Promise<JsonObject | undefined> {
  for (const id of ids) {
    const found = await read(encodeURIComponent(id))
    if (found) return found
  }
  return undefined
}

/** Accepts only what the gate accepts as an id of a call. */
export function listCallIds(...values: readonly unknown[]): readonly string[] {
  return values.filter(
    (value): value is string => typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value),
  )
}

/** Clients send null for optional fields that they do not use. */
export function removeNulls(fields: JsonObject): void {
  for (const [name, value] of Object.entries(fields)) if (value === null) delete fields[name]
}

/** Of an object; without those that are null. */
export function listFields(value: unknown, field: string): readonly (readonly [string, unknown])[] {
  const fields = requireObject(value, field)
  removeNulls(fields)
  return Object.entries(fields)
}

/** Refuses fields that are not listed: one that is new on the platform could name another callee. */
export function requireKnownFields(
  fields: JsonObject,
  known: ReadonlySet<string>,
  where = '',
): void {
  removeNulls(fields)
  for (const name of Object.keys(fields)) {
    if (known.has(name)) continue
    const message = `the proxy does not know the field '${where}${name}' of a call; remove it`
    throw new Refusal('other-callee', message)
  }
}

/** Only this form names one number on every platform and trunk. */
export function requireNumber(value: unknown, field: string): string {
  if (typeof value === 'string' && /^\+1\d{10}$/.test(value)) return value
  const message = `${field}: must be +1 and ten digits; SIP addresses and other forms are not called`
  throw new Refusal('no-phone-number', message)
}

/** The caller's number or the platform's id of it; recorded, not judged. */
export function readCallerId(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string' && /^[\x20-\x7e]{1,64}$/.test(value)) return value
  throw new Refusal('ambiguous-request', `${field}: must be 1 to 64 visible characters`)
}

export function requireObject(value: unknown, field: string): JsonObject {
  if (isObject(value)) return value
  throw new Refusal('ambiguous-request', `${field}: must be an object`)
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Other headers, such as Route or To, may change where a call goes; a line break in a value makes another header. */
export function requireHarmlessHeaders(
  headers: Iterable<readonly [unknown, unknown]>,
  field: string,
): void {
  for (const [name, value] of headers) {
    const isHarmless = typeof name === 'string' && /^(?:x-[a-z0-9-]+|user-to-user)$/i.test(name)
    if (isHarmless && typeof value === 'string' && /^[\x20-\x7e]*$/.test(value)) continue
    const rule = 'only X- headers and User-to-User with printable ASCII text are forwarded'
    throw new Refusal('other-callee', `${field}: ${rule}`)
  }
}

/** Fields of an agent's definition whose text is somebody to call or transfer to. */
const calleeText = /^(?:(?:to_?|phone_?)?numbers?|to|sip_?(?:uri|address)|destination)$/i
/** These name somebody in any form, also by a rule for the agent. */
const calleeField = /^(?:forwarding_?phone_?number|transfer_?(?:to|destination))$/i
/** An address, or a number of another country. */
const calleeValue = /^\s*(?:(?:sips?|tel):|\+[\d\s().-]{8,}$)/i
const dateValue = /^(?:19|20)\d\d[-/](?:0[1-9]|1[0-2])[-/](?:0[1-9]|[12]\d|3[01])(?!\d)/
/** Their content is text for the agent, or comes back in events. */
const freeField = /^(?:metadata|variableValues|retell_llm_dynamic_variables|dynamic_variables)$/
/** Last words of the names of fields with text, an id or a time. The platform never dials digits in such fields. */
const harmlessWords = new Set([
  ...['prompt', 'prompts', 'message', 'messages', 'content', 'contents', 'text', 'texts', 'task'],
  ...['sentence', 'greeting', 'instructions', 'description', 'summary', 'note', 'notes', 'title'],
  ...['name', 'id', 'ids', 'uuid', 'version', 'date', 'time', 'timestamp', 'at', 'zip', 'code'],
])

/** Refuses a value that names another callee somewhere inside, such as the destination of a transfer. */
export function refuseOtherCallees(value: unknown, path: string): void {
  if (typeof value === 'string' && isCallee(value)) throw createOtherCalleeRefusal(path)
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) refuseOtherCallees(one, `${path}[${index}]`)
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      refuseCalleesIn(name, member, `${path}.${name}`)
    }
  }
}

function refuseCalleesIn(name: string, value: unknown, path: string): void {
  if (freeField.test(name) || value === null) return
  if (calleeField.test(name) || (calleeText.test(name) && hasText(value))) {
    throw createOtherCalleeRefusal(path)
  }
  if (isOnlyText(value) && harmlessWords.has(readLastWord(name))) return
  refuseOtherCallees(value, path)
}

function isCallee(text: string): boolean {
  if (calleeValue.test(text)) return true
  const dialed = parseDialString(text)
  return dialed.kind === 'nanp' && /^[2-9]\d\d[2-9]/.test(dialed.number) && !dateValue.test(text)
}

/** A definition of a tool's parameter is an object, and a period has dates in `from` and `to`. */
function hasText(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasText)
  if (typeof value === 'string') return !dateValue.test(value)
  return typeof value === 'number'
}

function isOnlyText(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isOnlyText) : typeof value === 'string'
}

/** Of `orderId`, `order_id` and `order-id`: `id`. */
function readLastWord(name: string): string {
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, '$1_$2').split(/[^A-Za-z\d]+/)
  return (words.at(-1) ?? '').toLowerCase()
}

function createOtherCalleeRefusal(path: string): Refusal {
  return new Refusal('other-callee', `${path}: names another callee, which is not judged`)
}
