/**
 * The field types of the contract: objects whose names ignore letter case, ids, lists of telephone
 * numbers in one string. Numbers and ids are validated by the services.
 */
import { z } from 'zod'
import { maxIdLength } from '../domain/decision.js'
import type { Instant } from '../domain/time/clock.js'
import { parseInstant } from '../domain/time/dates.js'
import { mapInSlices, mapLongListInSlices } from '../runtime/yield-to-event-loop.js'

/** Reading an object stops after this many problems. */
const maxProblems = 20

/**
 * An object of known fields. Names ignore letter case and are returned in the spelling of `shape`;
 * an unknown name and a name given twice are problems of that field. `null` is treated as absent
 * only when the field's own schema does so.
 */
export function fields<Shape extends z.ZodRawShape>(shape: Shape) {
  const spelling = new Map(Object.keys(shape).map((name) => [name.toLowerCase(), name]))
  const names = [...spelling.values()].join(', ')
  const known = names === '' ? 'none is known here' : `known fields are ${names}`
  return z.preprocess(
    (value, context) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
      const named = new Map<string, unknown>()
      let unknown = 0
      let repeated = 0
      for (const [name, input] of Object.entries(value)) {
        const field = spelling.get(name.toLowerCase())
        // Unknown names are kept for the error message.
        if (field === undefined) unknown += 1
        if (unknown > maxProblems || repeated > maxProblems) break
        if (named.has(field ?? name)) {
          repeated += 1
          context.addIssue({ code: 'custom', path: [name], message: 'is given twice', input })
        } else named.set(field ?? name, input)
      }
      return Object.fromEntries(named)
    },
    z.strictObject(shape, {
      error: ({ code }) =>
        code === 'unrecognized_keys'
          ? `is an unknown field; ${known}`
          : 'must be an object of fields',
    }),
  )
}

/** Leaves out null and empty text, which many clients send for what they do not know. */
export function dropEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null && one !== ''))
}

/** An instant in an answer, as ISO 8601 in UTC. */
const instantRule = 'must be an instant such as 2026-11-24T13:00:00Z'
export const instant = z.string(instantRule).transform((text, context): Instant => {
  const at = parseInstant(text)
  if (at !== undefined) return at
  context.addIssue(instantRule)
  return z.NEVER
})

/**
 * Reads each item after the list's own rules, such as its length, are checked. The items are read in
 * slices, so the enclosing schema must be used with `safeParseAsync`.
 */
export function eachItem<Item extends z.ZodType>(list: z.ZodType<unknown[]>, item: Item) {
  return list.meta({ items: toJsonSchema(item) }).transform(async (values, context) => {
    const items: z.output<Item>[] = []
    await mapInSlices(values, (value, index) => {
      const read = item.safeParse(value, { reportInput: true })
      if (read.success) return void items.push(read.data)
      for (const issue of read.error.issues) {
        const path = [index, ...issue.path]
        context.issues.push({ ...issue, path } as z.core.$ZodRawIssue)
      }
    })
    return items
  })
}

/** Text of at most `maxLength` characters; absent, `null` and empty give `undefined`. */
export function optionalText(maxLength = 100) {
  return z
    .string('must be text')
    .max(maxLength, `must not be longer than ${maxLength} characters`)
    .nullable()
    .transform((text) => text?.trim() || undefined)
    .optional()
}

/**
 * Id of a project or campaign: text, or a whole number in JSON, since clients send both. The result
 * is text; absent, `null` and empty mean the account's default. The service refuses unknown ids.
 */
export const optionalId = z
  .union(
    [
      z.string(),
      z
        .number('must be text or a whole number')
        .int('must be a whole number')
        .nonnegative('must not be negative'),
    ],
    { error: () => 'must be text or a whole number' },
  )
  .nullable()
  .transform((id, context) => {
    const text = String(id ?? '').trim()
    if (text.length > maxIdLength) {
      context.addIssue(`must not be longer than ${maxIdLength} characters`)
      return z.NEVER
    }
    return text === '' ? undefined : text
  })
  .optional()
  .meta({ canonicalType: 'string', maxLength: maxIdLength })

/** One of a few words, ignoring letter case; absent, `null` and empty give `defaultWord`. */
export function optionalEnum<const Word extends string>(words: readonly Word[], defaultWord: Word) {
  return z
    .string('must be text')
    .meta({ enum: [...words], default: defaultWord })
    .nullish()
    .transform((text, context): Word => {
      if (text === null || text === undefined || text.trim() === '') return defaultWord
      const word = words.find((known) => known.toLowerCase() === text.trim().toLowerCase())
      if (word !== undefined) return word
      context.addIssue(`must be one of ${words.join(', ')}`)
      return z.NEVER
    })
}

/** `0`, `1`, `true` or `false`, as text, number or boolean; absent, `null` and empty are false. */
export const optionalFlag = z
  .union([z.string(), z.number(), z.boolean()], 'must be 0, 1, true or false')
  .nullish()
  .transform((value, context): boolean => {
    const text = String(value ?? '')
      .trim()
      .toLowerCase()
    if (text === '' || text === '0' || text === 'false') return false
    if (text === '1' || text === 'true') return true
    context.addIssue('must be 0, 1, true or false')
    return z.NEVER
  })

/** Clients also send numbers and ids as JSON numbers; safe integers convert to text without loss. */
export function numberToText(value: unknown): unknown {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? String(value) : value
}

/** Maximum numbers of one request, and advice for the error message. */
export interface NumberListLimit {
  readonly max: number
  readonly advice?: string
}

const listRule = 'must be text: 10-digit numbers separated by commas'

/**
 * `2125550100,2125550101`: the parts as sent, trimmed, in order, including duplicates. One trailing
 * comma is accepted; any other empty part stays in the list as a malformed number. Lists of more
 * than 1,000 parts are read in slices, so the schema must be used with `safeParseAsync`.
 */
export function phoneList({ max, advice }: NumberListLimit) {
  return z
    .preprocess(
      numberToText,
      z.string({
        error: ({ input }) => {
          if (Array.isArray(input)) return `${listRule}; a JSON list is not supported`
          return input === undefined ? `is required and ${listRule}` : listRule
        },
      }),
    )
    .transform((text, context) => {
      // Splitting at most two beyond the limit is enough to tell an excess from a trailing comma.
      const parts = text.split(',', max + 2)
      if (parts.length > 1 && parts.at(-1)?.trim() === '') parts.pop()
      if (parts.every((part) => part.trim() === '')) {
        context.addIssue('has no numbers; at least 1 is required')
        return z.NEVER
      }
      if (parts.length > max) {
        context.addIssue(`has more than ${max} numbers${advice ?? ''}`)
        return z.NEVER
      }
      return mapLongListInSlices(parts, (part) => part.trim())
    })
}

export type JsonSchema = Readonly<Record<string, unknown>>

/** The wire form of a schema, before parsing, as JSON Schema 2020-12. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...wire } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return wire
}
