/** What an event of a platform says about a call. */
import { formatInstant } from '../../domain/time/dates.js'
import { isObject, type JsonObject } from '../platforms/platform.js'

/** With the fields of `POST /v1/decisions/{id}/outcome`. */
interface HeardOutcome {
  readonly state: 'dialled' | 'answered' | 'failed'
  readonly leg?: string | undefined
  readonly dialledAt?: string | undefined
  readonly endedAt?: string | undefined
  readonly dialStatus?: string | undefined
}

export interface CallEvent {
  /** The platform's name of it, for the log. */
  readonly type: string
  /** Absent for a call that was not placed through the proxy. */
  readonly decisionId?: string | undefined
  /** Of the person called, in the words of the platform. */
  readonly number?: string | undefined
  /** The platform's id of the call. */
  readonly callId?: string | undefined
  readonly outcome?: HeardOutcome | undefined
  /** What the person called has said; empty if the event has no transcript. */
  readonly utterances: readonly string[]
}

/** Reads an event; an unknown one has neither an outcome nor utterances. */
export type ReadEvent = (fields: JsonObject, query: URLSearchParams) => CallEvent

export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  let at = value
  for (const name of path) at = isObject(at) ? at[name] : undefined
  return isObject(at) ? at : {}
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/** An instant from milliseconds since 1970, to the year 9999; `undefined` for anything else. */
export function instantOf(value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined
  return value >= 0 && value < 253_402_300_800_000 ? formatInstant(value) : undefined
}

/** The decision of a call, where a batch has an object with the decisions of its numbers. */
export function decisionOf(value: unknown, number: unknown): string | undefined {
  const own: unknown = isObject(value) && typeof number === 'string' ? value[number] : value
  return typeof own === 'string' && /^[\w-]{2,64}$/.test(own) ? own : undefined
}

/** What a speaker with one of the roles has said, from a list of utterances. */
export function utterancesOf(
  list: unknown,
  { roles, text }: { readonly roles: ReadonlySet<unknown>; readonly text: readonly string[] },
): readonly string[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((one) => {
    if (!isObject(one) || !roles.has(one.role)) return []
    return text.flatMap((name) => textOf(one[name]) ?? [])
  })
}

/** Of a transcript as one text: the lines of the person called, or all, if no line names a speaker. */
export function linesOfUser(transcript: unknown): readonly string[] {
  const lines = textOf(transcript)?.split('\n') ?? []
  const isLabeled = lines.some((line) => /^(?:AI|Agent|Assistant|Bot|User|Customer):/i.test(line))
  return isLabeled ? lines.filter((line) => /^(?:User|Customer):/i.test(line)) : lines
}

/** Only what the gate takes as the status of a call. */
export function statusOf(value: unknown): string | undefined {
  const text = textOf(value)?.replaceAll(/[^\w.:/@ -]/g, '-')
  return text?.slice(0, 100)
}
