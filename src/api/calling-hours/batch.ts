/** The list of items and its errors, shared by the three calling-hours endpoints. */
import { z } from 'zod'
import type { ScopeChoice } from '../../domain/caller.js'
import { fields, numberToText } from '../fields.js'
import { findMisspelledField, isDate, isDateName, isScopeName } from '../unknown-fields.js'

/** Maximum numbers of one request (spec, "Limits"). */
const maxPhones = 1000

/** Accepts any value, since an invalid item is reported in its row. */
export const anyValue = z.unknown().optional()

/** 1 to 1000 items of any kind; absent, `null` and empty are errors of the batch. */
export const batchSchema = z
  .array(z.unknown(), {
    error: ({ input }) =>
      input === undefined || input === null ? 'is required and must not be null' : 'must be a list',
  })
  .min(1, 'must have at least 1 item')
  .max(maxPhones, `must have at most ${maxPhones} items`)

/** A number as text or as a JSON number. */
export const anyPhone = z.preprocess(numberToText, anyValue)

/**
 * An item that is not an object is treated as one without fields, so that it gets a row. A misspelled
 * field gets an invalid value under its real name, so that its row reports it.
 */
export function batchItem<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape)
  return z.preprocess((value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
    const hasDate = Object.entries(value).some(
      (field) => includesName(names, field[0]) && isDate(field),
    )
    const dateField = hasDate ? undefined : names.find(isDateName)
    return Object.fromEntries(
      Object.entries(value).map(([name, content]) => {
        const known = includesName(names, name)
        const intended = known
          ? undefined
          : (findMisspelledRowField(name, names) ?? findMisspelledDate(name, dateField))
        return intended === undefined ? [name, content] : [intended, { 'given as': name }]
      }),
    )
  }, fields(shape))
}

const findMisspelledDate = (name: string, dateField: string | undefined) =>
  isDateName(name) ? dateField : undefined

function findMisspelledRowField(name: string, names: readonly string[]): string | undefined {
  return (
    findMisspelledField(name, names) ?? (isScopeName(name) ? names.find(isScopeName) : undefined)
  )
}

const includesName = (names: readonly string[], name: string) =>
  names.some((known) => known.toLowerCase() === name.toLowerCase())

/** The projects named by the items; a value that is not an id is reported in its row. */
export function listScopes(
  items: readonly { readonly projectId?: unknown }[],
): readonly ScopeChoice[] {
  return [...new Set(items.map(({ projectId }) => projectId ?? ''))]
    .filter((id) => typeof id === 'string' || Number.isInteger(id))
    .map((id) => ({ projectId: String(id) }))
}

const statuses = [
  'OK',
  'INVALID_PHONE',
  'INVALID_PROJECT',
  'INVALID_DATE',
  'TOLL_FREE',
  'UNKNOWN_NXX',
] as const

/** Spec, "Time-legal row status". */
export const rowStatus = z.enum(statuses, `must be one of ${statuses.join(', ')}`)
