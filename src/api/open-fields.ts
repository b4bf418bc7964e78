/**
 * The fields of the published calls as clients of many makes send them: what a call does not know is
 * passed over, a name is compared without letter case, and a field that stands twice with equal
 * values counts once. A name that may be a slip for a known one stays as it is, so that the call's
 * schema refuses it (ADR 0083).
 */
import { mapInSlices } from '../domain/slices.js'
import { shorten } from '../errors.js'
import type { JsonSchema } from './json-schema.js'
import { isOneEdit } from './one-edit.js'

/** Names what was passed over, beside an answer whose body has a published form. */
export const ignoredFieldsHeader = 'X-Callgate-Ignored-Fields'

/** What one object of a request may hold. */
interface KnownFields {
  /** As published, by the name in lower case. */
  readonly spelling: ReadonlyMap<string, string>
  /** What the objects of a list hold, by the list's name as published. */
  readonly lists: ReadonlyMap<string, KnownFields>
}

export interface ReadFields {
  readonly fields: object
  /** Names that were passed over, each once: `colour`, `ebrList[].colour`. At most 20. */
  readonly ignored: readonly string[]
}

/** Clients send these with every call, also where they mean nothing. */
const oftenSent: ReadonlySet<string> = new Set([
  ...['version', 'output', 'loginid', 'projid', 'campaignid', 'keepbetterebr', 'project_code'],
])

/** What clients may call the project or campaign by whose lists a call is judged. */
const scopeNames: readonly string[] = [
  ...['proj', 'projid', 'projcode', 'project', 'projectid', 'projectcode', 'dncprojid'],
  ...['campaign', 'campaignid', 'campaigncode'],
]

const mostIgnored = 20
const longestName = 60
/** A key that stands where a name belongs must get into no log. */
const maybeKey = /^\S{30,}$/

/** A reader for the calls whose wire form is `schema`, a JSON Schema. */
export function openFields(schema: JsonSchema): (given: object) => Promise<ReadFields> {
  const known = knownFields(schema)
  const takesScope = namesScope(known)
  return async (given) => {
    const ignored = new Set<string>()
    const fields = await readObject(given, { known, takesScope, ignored, path: '' })
    return { fields, ignored: [...ignored] }
  }
}

function knownFields(schema: JsonSchema): KnownFields {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
  const lists = properties.flatMap(([name, property]): [string, KnownFields][] => {
    const items = itemsOf(property)
    return items?.properties === undefined ? [] : [[name, knownFields(items)]]
  })
  return {
    spelling: new Map(properties.map(([name]) => [name.toLowerCase(), name])),
    lists: new Map(lists),
  }
}

/** Of a list, or of one that may be left out. */
function itemsOf({ items, anyOf }: JsonSchema): JsonSchema | undefined {
  if (items !== undefined) return items as JsonSchema
  return (anyOf as readonly JsonSchema[] | undefined)?.find((one) => one.items !== undefined)
    ?.items as JsonSchema | undefined
}

function namesScope({ spelling, lists }: KnownFields): boolean {
  return [...spelling.keys()].some(isScopeName) || [...lists.values()].some(namesScope)
}

interface Reading {
  readonly known: KnownFields
  /** The call is judged by a project, wherever it may be named. */
  readonly takesScope: boolean
  readonly ignored: Set<string>
  /** Of the object, such as `ebrList[].`. */
  readonly path: string
}

async function readObject(given: object, reading: Reading): Promise<object> {
  const kept = knownOnly(given, reading)
  for (const [name, known] of reading.known.lists) {
    const list = kept.get(name)
    if (!Array.isArray(list)) continue
    const inner = { ...reading, known, path: `${reading.path}${name}[].` }
    kept.set(name, await mapInSlices(list, (item) => readItem(item, inner)))
  }
  return Object.fromEntries(kept)
}

function readItem(item: unknown, reading: Reading): unknown {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
  return Object.fromEntries(knownOnly(item, reading))
}

function knownOnly(given: object, reading: Reading): Map<string, unknown> {
  const { spelling } = reading.known
  const kept = new Map<string, unknown>()
  const unknown: (readonly [string, unknown])[] = []
  for (const [name, value] of Object.entries(given)) {
    const field = spelling.get(name.toLowerCase())
    if (field === undefined) unknown.push([name, value])
    else keep(kept, { field, name, value })
  }
  const mayMean = missedBy(kept, reading)
  for (const [name, value] of unknown) {
    if (isSlip(name, spelling) || mayMean(name, value)) kept.set(name, value)
    else if (!oftenSent.has(name.toLowerCase())) ignore(name, reading)
  }
  return kept
}

/** Whether a field may be meant for what the call is judged by and has not been given: a project, a time. */
function missedBy(kept: ReadonlyMap<string, unknown>, { known, takesScope }: Reading) {
  const needsScope = takesScope && ![...kept].some(isScope)
  const takesDate = [...known.spelling.keys()].some(isDateName)
  const needsDate = takesDate && ![...kept.keys()].some(isDateName)
  return (name: string, value: unknown): boolean =>
    (needsScope && isScope([name, value])) || (needsDate && isDateName(name))
}

function isSlip(name: string, spelling: KnownFields['spelling']): boolean {
  return !oftenSent.has(name.toLowerCase()) && meantField(name, spelling.values()) !== undefined
}

interface Given {
  readonly field: string
  /** The field as the client spells it. */
  readonly name: string
  readonly value: unknown
}

function keep(kept: Map<string, unknown>, { field, name, value }: Given): void {
  const both = kept.has(field) ? joined(kept.get(field), value) : { value }
  if (both) kept.set(field, both.value)
  // Under another spelling the schema finds the field given twice.
  else kept.set(name === field ? respelled(field) : name, value)
}

function ignore(name: string, { ignored, path }: Reading): void {
  if (ignored.size < mostIgnored) ignored.add(path + shownName(name))
}

/**
 * The known name that an unknown one is a slip for: the same but for signs between its letters, or
 * but for one letter that is missing, wrong, too many or swapped with its neighbor. `phone2` is a
 * second telephone and no slip.
 */
export function meantField(name: string, known: Iterable<string>): string | undefined {
  if (name.length > longestName) return undefined
  const letters = lettersOf(name)
  for (const one of known) {
    const wanted = lettersOf(one)
    if (wanted.length < 4) continue
    const isNumbered = letters.startsWith(wanted) && /^\d+$/.test(letters.slice(wanted.length))
    if (!isNumbered && isOneEdit(letters, wanted)) return one
  }
  return undefined
}

/** What a field holds that stands twice; empty is not given. `undefined` when the values differ. */
export function joined(one: unknown, other: unknown): { readonly value: unknown } | undefined {
  if (isEmpty(other)) return { value: one }
  if (isEmpty(one)) return { value: other }
  const areAlike = isPlain(one) && isPlain(other) && String(one) === String(other)
  return areAlike ? { value: one } : undefined
}

const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

const isEmpty = (value: unknown) => value === undefined || value === null || value === ''

const isScope = ([name, value]: readonly [string, unknown]) => isScopeName(name) && !isEmpty(value)

/** However a client spells it, the name of a project or campaign. */
export function isScopeName(name: string): boolean {
  if (name.length > longestName) return false
  const letters = lettersOf(name)
  return scopeNames.some((one) => isOneEdit(letters, one))
}

/** However a client spells it, the name of a day or a time by which something is judged. */
export function isDateName(name: string): boolean {
  return /date|time(?!stamp|zone|out)/i.test(name)
}

const respelled = (name: string) =>
  name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase()

const lettersOf = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Fit for a header and a log. */
function shownName(name: string): string {
  return maybeKey.test(name) ? '(long name)' : shorten(name.replace(/[^\x21-\x7e]|,/g, '?'))
}
