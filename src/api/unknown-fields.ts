/**
 * Reads the fields of the published endpoints leniently, since their clients vary: unknown fields are
 * ignored, names ignore letter case, and a field given twice with equal values is read once. A name that
 * may be a misspelling of a known one is kept, so that the endpoint's schema rejects it
 * (docs/spec-interpretations.md).
 */

import { truncate } from '../errors.js'
import { mapInSlices } from '../runtime/yield-to-event-loop.js'
import type { JsonSchema } from './fields.js'

/** Lists the ignored fields in a header, since the body has a published form. */
export const ignoredFieldsHeader = 'X-Callgate-Ignored-Fields'

/** The known fields of one object of a request. */
interface KnownFields {
  /** Lower-case name to published spelling. */
  readonly spelling: ReadonlyMap<string, string>
  /** Published name of a list to the known fields of its objects. */
  readonly lists: ReadonlyMap<string, KnownFields>
}

export interface KnownFieldsResult {
  readonly fields: object
  /** Ignored names without duplicates: `color`, `ebrList[].color`. At most 20. */
  readonly ignored: readonly string[]
}

/** Clients send these with every request, even when they have no effect. */
const commonExtraFields: ReadonlySet<string> = new Set([
  'version',
  'output',
  'loginid',
  'projid',
  'campaignid',
  'keepbetterebr',
  'project_code',
])

/** Names that clients use for the project or campaign of a request. */
const scopeNames: readonly string[] = [
  'proj',
  'projid',
  'projcode',
  'project',
  'projectid',
  'projectcode',
  'dncprojid',
  'projnumber',
  'projectno',
  'projectnumber',
  'campaign',
  'campaignid',
  'campaigncode',
  'campaignno',
  'campaignnumber',
]
/** Matched exactly, since they are one letter away from words with another meaning. */
const exactScopeNames: ReadonlySet<string> = new Set(['projno', 'campid', 'campno'])

const maxIgnoredNames = 20
const maxNameLength = 60
/** Text that may be an API key in place of a field name, which must not be logged. */
const possibleKeyPattern = /\S{30,}/

/** Creates a reader for an endpoint whose request has the JSON Schema `schema`. */
export function createKnownFieldsReader(
  schema: JsonSchema,
): (input: object) => Promise<KnownFieldsResult> {
  const known = listKnownFields(schema)
  const takesScope = hasScopeField(known)
  return async (input) => {
    const ignored = new Set<string>()
    const fields = await readObject(input, { known, takesScope, ignored, path: '' })
    return { fields, ignored: [...ignored] }
  }
}

function listKnownFields(schema: JsonSchema): KnownFields {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
  const lists = properties.flatMap(([name, property]): [string, KnownFields][] => {
    const items = findItemSchema(property)
    return items?.properties === undefined ? [] : [[name, listKnownFields(items)]]
  })
  return {
    spelling: new Map(properties.map(([name]) => [name.toLowerCase(), name])),
    lists: new Map(lists),
  }
}

/** The item schema of a list, whether required or optional. */
function findItemSchema({ items, anyOf }: JsonSchema): JsonSchema | undefined {
  if (items !== undefined) return items as JsonSchema
  return (anyOf as readonly JsonSchema[] | undefined)?.find((option) => option.items !== undefined)
    ?.items as JsonSchema | undefined
}

function hasScopeField({ spelling, lists }: KnownFields): boolean {
  return [...spelling.keys()].some(isScopeName) || [...lists.values()].some(hasScopeField)
}

interface ReadContext {
  readonly known: KnownFields
  /** Whether the request has a project field at any level. */
  readonly takesScope: boolean
  readonly ignored: Set<string>
  /** Path of the object, such as `ebrList[].`. */
  readonly path: string
}

async function readObject(input: object, reading: ReadContext): Promise<object> {
  const kept = pickKnownFields(input, reading)
  for (const [name, known] of reading.known.lists) {
    const list = kept.get(name)
    if (!Array.isArray(list)) continue
    const inner = { ...reading, known, path: `${reading.path}${name}[].` }
    kept.set(name, await mapInSlices(list, (item) => readItem(item, inner)))
  }
  return Object.fromEntries(kept)
}

function readItem(item: unknown, reading: ReadContext): unknown {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
  return Object.fromEntries(pickKnownFields(item, reading))
}

function pickKnownFields(input: object, reading: ReadContext): Map<string, unknown> {
  const { spelling } = reading.known
  const kept = new Map<string, unknown>()
  const unknown: (readonly [string, unknown])[] = []
  for (const [name, value] of Object.entries(input)) {
    const field = spelling.get(name.toLowerCase())
    if (field === undefined) unknown.push([name, value])
    else addField(kept, { field, name, value })
  }
  const mayBeMissingField = createMissingFieldMatcher(kept, reading)
  for (const [name, value] of unknown) {
    if (isMisspelling(name, spelling) || mayBeMissingField(name, value)) kept.set(name, value)
    else if (!commonExtraFields.has(name.toLowerCase())) noteIgnored(name, reading)
  }
  return kept
}

/** Finds unknown fields that may be a missing project or time on which the result depends. */
function createMissingFieldMatcher(
  kept: ReadonlyMap<string, unknown>,
  { known, takesScope }: ReadContext,
) {
  const needsScope = takesScope && ![...kept].some(isScope)
  // Computed lazily and only once, since it reads all items of the lists.
  let dateIsNeeded: boolean | undefined
  const mayBeDate = (name: string): boolean => {
    if (!isDateName(name)) return false
    dateIsNeeded ??= needsDate(kept, known)
    return dateIsNeeded
  }
  return (name: string, value: unknown): boolean =>
    (needsScope && isScope([name, value])) || mayBeDate(name)
}

/** Whether the object, or an item of one of its lists, lacks a time that its result depends on. */
function needsDate(input: ReadonlyMap<string, unknown>, { spelling, lists }: KnownFields): boolean {
  const inItems = [...lists].some(([name, known]) => {
    const items = input.get(name)
    return Array.isArray(items) && items.some((item) => lacksDate(item, known))
  })
  const hasDateField = [...spelling.values()].some((name) => isDateName(name) && !lists.has(name))
  return inItems || (hasDateField && ![...input].some(isDate))
}

function lacksDate(item: unknown, known: KnownFields): boolean {
  if (typeof item !== 'object' || item === null) return false
  const input = Object.entries(item).filter(([name]) => known.spelling.has(name.toLowerCase()))
  return needsDate(new Map(input), known)
}

function isMisspelling(name: string, spelling: KnownFields['spelling']): boolean {
  return (
    !commonExtraFields.has(name.toLowerCase()) &&
    findMisspelledField(name, spelling.values()) !== undefined
  )
}

interface ReceivedField {
  readonly field: string
  /** The field as the client spells it. */
  readonly name: string
  readonly value: unknown
}

function addField(kept: Map<string, unknown>, { field, name, value }: ReceivedField): void {
  const merged = kept.has(field) ? mergeRepeatedValues(kept.get(field), value) : { value }
  if (merged) kept.set(field, merged.value)
  // Stored under another spelling, so that the schema reports the field as given twice.
  else kept.set(name === field ? swapCase(field) : name, value)
}

function noteIgnored(name: string, { ignored, path }: ReadContext): void {
  if (ignored.size < maxIgnoredNames) ignored.add(path + describeName(name))
}

/**
 * The known name that an unknown one misspells: equal except for punctuation, or except for one
 * letter that is missing, wrong, extra or swapped with its neighbor. `phone2` is a second telephone,
 * not a misspelling.
 */
export function findMisspelledField(name: string, known: Iterable<string>): string | undefined {
  if (name.length > maxNameLength) return undefined
  const letters = lettersOf(name)
  for (const field of known) {
    const fieldLetters = lettersOf(field)
    if (fieldLetters.length < 4) continue
    const isNumbered =
      letters.startsWith(fieldLetters) && /^\d+$/.test(letters.slice(fieldLetters.length))
    if (!isNumbered && isWithinOneEdit(letters, fieldLetters)) return field
  }
  return undefined
}

/** The value of a field that is given twice, ignoring empty values; `undefined` when the values differ. */
export function mergeRepeatedValues(
  a: unknown,
  b: unknown,
): { readonly value: unknown } | undefined {
  if (isEmpty(b)) return { value: a }
  if (isEmpty(a)) return { value: b }
  const areEqual = isPlain(a) && isPlain(b) && String(a) === String(b)
  return areEqual ? { value: a } : undefined
}

const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

const isEmpty = (value: unknown) => value === undefined || value === null || value === ''

const isScope = ([name, value]: readonly [string, unknown]) => isScopeName(name) && !isEmpty(value)

/**
 * Whether a name means a project or campaign in any spelling, also as one of several words, as in
 * `project[id]`, `scrub.projId`, or `amp;projId` from a query that was escaped as HTML.
 */
export function isScopeName(name: string): boolean {
  if (name.length > maxNameLength) return false
  return [name, ...name.split(/[^\w-]+/)].some((word) => {
    const letters = lettersOf(word)
    return (
      exactScopeNames.has(letters) || scopeNames.some((known) => isWithinOneEdit(letters, known))
    )
  })
}

/** Whether a name means a date or time in any spelling. */
export function isDateName(name: string): boolean {
  return /date|time(?!zone|out)/i.test(name)
}

/** Whether a field is a date or time with a value. */
export const isDate = ([name, value]: readonly [string, unknown]) =>
  isDateName(name) && !isEmpty(value)

const swapCase = (name: string) =>
  name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase()

const lettersOf = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** The name in a form that is safe for headers and logs. */
function describeName(name: string): string {
  return possibleKeyPattern.test(name)
    ? '(long name)'
    : truncate(name.replace(/[^\x21-\x7e]|,/g, '?'))
}

/**
 * Whether two words are equal or one edit apart: a letter that is missing, extra, wrong, or swapped
 * with its neighbor.
 */
function isWithinOneEdit(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  const [rest, otherRest] = [a.slice(at), b.slice(at)]
  const isSwapped =
    rest.length > 1 && rest[0] === otherRest[1] && rest[1] === otherRest[0]
      ? rest.slice(2) === otherRest.slice(2)
      : false
  return (
    rest.slice(1) === otherRest.slice(1) ||
    rest.slice(1) === otherRest ||
    rest === otherRest.slice(1) ||
    isSwapped
  )
}
