/** What the proxy knows of a platform: which requests place calls, which are harmless, and how it words errors. */
import type { Instant } from '../../domain/time/clock.js'
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
  /** Puts the ids of the decisions, in the order of the calls, where the platform repeats them in its events. */
  addDecisions(ids: readonly string[]): void
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
  /** A refusal as an error of the platform, so that its clients show the message. */
  readonly encodeError: (error: PlatformError) => object
}

interface PlatformError {
  readonly status: number
  readonly reason: string
  readonly message: string
  readonly decisionId?: string | undefined
  /** Added to the error as they are, beside the members of the platform. */
  readonly details: object
}

export const platformNames = ['livekit', 'vapi', 'retell', 'telnyx', 'twilio'] as const
export type PlatformName = (typeof platformNames)[number]

/** Refuses fields that are not listed: one that is new on the platform could name another callee. */
export function requireKnownFields(
  fields: JsonObject,
  known: ReadonlySet<string>,
  where = '',
): void {
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
/** An address, or nothing but a telephone number. */
const calleeValue = /^\s*(?:(?:sips?|tel):|\+?[\d\s().-]{10,}$)/i
/** Their content is text for the agent, or comes back in events. */
const freeField = /^(?:metadata|variableValues|retell_llm_dynamic_variables|dynamic_variables)$/

/** Refuses a value that names another callee somewhere inside, such as the destination of a transfer. */
export function refuseOtherCallees(value: unknown, path: string): void {
  if (typeof value === 'string') {
    if (calleeValue.test(value)) throw createOtherCalleeRefusal(path)
  } else if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) refuseOtherCallees(one, `${path}[${index}]`)
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (freeField.test(name)) continue
      const where = `${path}.${name}`
      if (calleeField.test(name) || (calleeText.test(name) && hasText(member))) {
        throw createOtherCalleeRefusal(where)
      }
      refuseOtherCallees(member, where)
    }
  }
}

/** A definition of a tool's parameter is an object. */
function hasText(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasText)
  return typeof value === 'string' || typeof value === 'number'
}

function createOtherCalleeRefusal(path: string): Refusal {
  return new Refusal('other-callee', `${path}: names another callee, which is not judged`)
}
