/** What the three calls of the calling hours have in common: their list and its errors. */
import { z } from 'zod'
import type { ScopeChoice } from '../domain/caller.js'
import { fields, numberAsText } from './fields.js'
import { isDateName, isScopeName, meantField } from './open-fields.js'

/** Phones of one request (spec, "Limits"). */
export const mostPhones = 1000

/** Anything: what an item holds is judged by the row it gets. */
export const anything = z.unknown().optional()

/** 1 to 1000 of anything; absent, `null` and empty are errors of the batch. */
export const batch = z
  .array(z.unknown(), {
    error: ({ input }) =>
      input === undefined || input === null ? 'is required and must not be null' : 'must be a list',
  })
  .min(1, 'must hold at least 1 item')
  .max(mostPhones, `must hold at most ${mostPhones} items`)

/** A number as text or as a JSON number. */
export const anyPhone = z.preprocess(numberAsText, anything)

/**
 * An item that is no object is one without fields, so that it gets a row as well; so does one with a
 * slip in a name, as that field's value is none that any row can have.
 */
export function itemOf<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape)
  return z.preprocess((value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
    const hasDate = Object.keys(value).some((name) => isIn(names, name) && isDateName(name))
    const dateField = hasDate ? undefined : names.find(isDateName)
    return Object.fromEntries(
      Object.entries(value).map(([name, content]) => {
        const known = isIn(names, name)
        const meant = known ? undefined : (rowFieldMeant(name, names) ?? dateMeant(name, dateField))
        return meant === undefined ? [name, content] : [meant, { misspelt: name }]
      }),
    )
  }, fields(shape))
}

const dateMeant = (name: string, dateField: string | undefined) =>
  isDateName(name) ? dateField : undefined

function rowFieldMeant(name: string, names: readonly string[]): string | undefined {
  return meantField(name, names) ?? (isScopeName(name) ? names.find(isScopeName) : undefined)
}

const isIn = (names: readonly string[], name: string) =>
  names.some((one) => one.toLowerCase() === name.toLowerCase())

/** The projects that items name; what is no id names none, and is a fault of its row. */
export function scopesOf(
  items: readonly { readonly projectId?: unknown }[],
): readonly ScopeChoice[] {
  return [...new Set(items.map(({ projectId }) => projectId ?? ''))]
    .filter((id) => typeof id === 'string' || Number.isInteger(id))
    .map((id) => ({ projectId: String(id) }))
}

const statuses = [
  ...(['OK', 'INVALID_PHONE', 'INVALID_PROJECT'] as const),
  ...(['INVALID_DATE', 'TOLL_FREE', 'UNKNOWN_NXX'] as const),
]

/** Spec, "Time-legal row status". */
export const rowStatus = z.enum(statuses, `must be one of ${statuses.join(', ')}`)
