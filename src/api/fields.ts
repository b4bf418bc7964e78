/**
 * The kinds of field the contract is made of: objects whose names ignore letter case, ids, lists
 * of telephone numbers in one string. What a number or an id must be is left to the subjects.
 */
import { z } from 'zod'
import { longestId } from '../domain/call-fields.js'
import { mapInSlices, mapLongInSlices } from '../domain/slices.js'
import { wireSchema } from './json-schema.js'

/** An object that is wholly wrong need not be read to its end. */
const mostProblems = 20

/**
 * An object of known fields. Names are matched without letter case and come out in the spelling of
 * `shape`; an unknown name and a name given twice are problems of that field. `null` counts as
 * absent only where the field's own schema says so.
 */
export function fields<Shape extends z.ZodRawShape>(shape: Shape) {
  const spelling = new Map(Object.keys(shape).map((name) => [name.toLowerCase(), name]))
  const known = `known are ${[...spelling.values()].join(', ')}`
  return z.preprocess(
    (value, context) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
      const { named, repeated } = spelledOut(value, spelling)
      for (const [field, input] of repeated) {
        context.addIssue({ code: 'custom', path: [field], message: 'is given twice', input })
      }
      return named
    },
    z.strictObject(shape, {
      error: ({ code }) =>
        code === 'unrecognized_keys' ? `is not a field; ${known}` : 'must be an object of fields',
    }),
  )
}

/** The fields in the known spelling; unknown ones keep theirs, so that they can be named. */
function spelledOut(
  value: object,
  spelling: ReadonlyMap<string, string>,
): { readonly named: object; readonly repeated: readonly (readonly [string, unknown])[] } {
  const named = new Map<string, unknown>()
  const repeated: [string, unknown][] = []
  let unknown = 0
  for (const [given, content] of Object.entries(value)) {
    const field = spelling.get(given.toLowerCase())
    if (field === undefined) unknown += 1
    if (unknown > mostProblems || repeated.length > mostProblems) break
    if (named.has(field ?? given)) repeated.push([given, content])
    else named.set(field ?? given, content)
  }
  return { named: Object.fromEntries(named), repeated }
}

/**
 * Reads each item of a list whose own rules, such as its length, hold. The items are read in slices,
 * so the schema this is part of is for `safeParseAsync`.
 */
export function eachItem<Item extends z.ZodType>(list: z.ZodType<unknown[]>, item: Item) {
  return list.meta({ items: wireSchema(item) }).transform(async (values, context) => {
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

/** Text of at most `longest` characters; absent, `null` and empty all mean not given. */
export function optionalText(longest = 100) {
  return z
    .string('must be text')
    .max(longest, `must not be longer than ${longest} characters`)
    .nullish()
    .transform((text) => text?.trim() || undefined)
}

/**
 * Id of a project or campaign: text, or a whole number in JSON, as clients send both. It comes out
 * as text; absent, `null` and empty mean the account's default (spec gives no default for an
 * unknown id, so that is the subject's refusal).
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
  .nullish()
  .transform((id, context) => {
    const text = id === null || id === undefined ? '' : String(id).trim()
    if (text.length > longestId) {
      context.addIssue(`must not be longer than ${longestId} characters`)
      return z.NEVER
    }
    return text === '' ? undefined : text
  })

/** One of a few words, compared without letter case; absent, `null` and empty give `otherwise`. */
export function optionalWord<const Word extends string>(words: readonly Word[], otherwise: Word) {
  return z
    .string('must be text')
    .meta({ enum: [...words], default: otherwise })
    .nullish()
    .transform((text, context): Word => {
      if (text === null || text === undefined || text.trim() === '') return otherwise
      const word = words.find((one) => one.toLowerCase() === text.trim().toLowerCase())
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

/** Clients write numbers and ids as JSON numbers too; digits alone, so nothing is lost. */
export function numberAsText(value: unknown): unknown {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? String(value) : value
}

/** How many numbers one request may hold, and what to say to somebody with more. */
export interface NumberLimit {
  readonly most: number
  readonly advice?: string
}

const listRule = 'must be text: 10-digit numbers separated by commas'

/**
 * `2125550100,2125550101`: the parts as given, trimmed, in order, duplicates kept. One comma at
 * the end is forgiven; any other empty part stays in the list, where it is a malformed number. Lists
 * of more than 1,000 parts are read in slices, so the schema is for `safeParseAsync`.
 */
export function phoneList({ most, advice }: NumberLimit) {
  return z
    .preprocess(
      numberAsText,
      z.string({
        error: ({ input }) => {
          if (Array.isArray(input)) return `${listRule}; a JSON list is not supported`
          return input === undefined ? `is required and ${listRule}` : listRule
        },
      }),
    )
    .transform((text, context) => {
      // Two beyond the limit tell too many from a comma at the end, however long the text is.
      const parts = text.split(',', most + 2)
      if (parts.length > 1 && parts.at(-1)?.trim() === '') parts.pop()
      if (parts.every((part) => part.trim() === '')) {
        context.addIssue('holds no numbers; at least 1 is needed')
        return z.NEVER
      }
      if (parts.length > most) {
        context.addIssue(`holds more than ${most} numbers${advice ?? ''}`)
        return z.NEVER
      }
      return mapLongInSlices(parts, (part) => part.trim())
    })
}
