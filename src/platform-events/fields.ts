/** Reads values of events, which may be anything, without ever throwing. */
import type { Instant } from '../domain/time/clock.js'
import { parseInstant } from '../domain/time/dates.js'

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `undefined` for anything but a JSON object. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  let at = value
  for (const name of path) at = isObject(at) ? at[name] : undefined
  return isObject(at) ? at : {}
}

/** Some platforms send the object as text of JSON. */
export function objectOf(value: unknown): JsonObject {
  if (typeof value === 'string') return parseJsonObject(value) ?? {}
  return isObject(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Text that is not blank; also of a number, such as a digit or a telephone number. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  return typeof text === 'string' && text.trim() !== '' ? text : undefined
}

/** The first value that has text. */
export function firstText(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const text = textOf(value)
    if (text !== undefined) return text
  }
  return undefined
}

export function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** The year 9999 is the last that an instant is written with. */
const maxInstant = 253_402_300_800_000

/** From milliseconds, seconds or microseconds since 1970, ISO 8601 or RFC 2822; `undefined` for anything else. */
export function instantOf(value: unknown): Instant | undefined {
  const number = numberOf(value)
  if (number === undefined) return typeof value === 'string' ? parseTimeText(value) : undefined
  // Seconds have ten digits until the year 2286, microseconds sixteen since 2001.
  const at = Math.trunc(number < 1e11 ? number * 1_000 : number > 1e15 ? number / 1_000 : number)
  return at > 0 && at < maxInstant ? at : undefined
}

function parseTimeText(text: string): Instant | undefined {
  const isMail = /^[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} [\d:]+ (?:[+-]\d{4}|GMT)$/.test(text)
  const at = isMail ? Date.parse(text) : parseInstant(text)
  return at === undefined || Number.isNaN(at) ? undefined : at
}

/** What the gate takes as the status of a call. */
export function statusOf(value: unknown): string | undefined {
  return textOf(value)
    ?.replaceAll(/[^\w.:/@ -]/g, '-')
    .slice(0, 100)
}

/** An id of a call at a platform. Longer text is not an id. */
export function idsOf(...values: readonly unknown[]): readonly string[] {
  const ids = values.flatMap((value) => textOf(value)?.trim() ?? [])
  return [...new Set(ids)].filter((id) => id.length <= 200)
}

/** The decision of a call, where a batch has an object with the decisions of its numbers. */
export function decisionIdOf(value: unknown, number?: string): string | undefined {
  const own = isObject(value) && number !== undefined ? value[number] : value
  return typeof own === 'string' && /^[\w-]{2,64}$/.test(own) ? own : undefined
}
