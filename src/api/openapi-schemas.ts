/** Moves the named schemas of a description to one place, and states one canonical type for each value. */
import { isDeepStrictEqual } from 'node:util'
import { mapInSlices } from '../runtime/yield-to-event-loop.js'
import type { JsonSchema } from './fields.js'

interface NamedSchemas<Described> {
  readonly described: Described
  /** By name, in order of their first use. */
  readonly schemas: Readonly<Record<string, JsonSchema>>
}

/**
 * Schemas that have an id come as `$defs` of each schema that uses them. In slices of the parts of each section.
 * Rejects if two with the same id differ, which is a bug.
 */
export async function nameSchemas<Sections extends Readonly<Record<string, object>>>(
  sections: Sections,
): Promise<NamedSchemas<Sections>> {
  const schemas: Record<string, JsonSchema> = {}
  const visit = (value: unknown, isRequest: boolean): unknown => {
    if (Array.isArray(value)) return value.map((one) => visit(one, isRequest))
    if (typeof value !== 'object' || value === null) return value
    const { $defs = {}, ...schema } = value as JsonSchema
    for (const [name, one] of Object.entries($defs as Readonly<Record<string, JsonSchema>>)) {
      const visited = visit(one, isRequest) as JsonSchema
      const known = schemas[name]
      if (known && !isDeepStrictEqual(known, visited)) {
        throw new Error(`two schemas have the id '${name}'`)
      }
      schemas[name] = visited
    }
    const entries = Object.entries(toCanonical(schema, isRequest)).map(([name, one]) => [
      name,
      name === '$ref'
        ? String(one).replace('#/$defs/', '#/components/schemas/')
        : visit(one, isRequest || name === 'requestBody' || name === 'parameters'),
    ])
    return Object.fromEntries(entries)
  }
  const described: Record<string, object> = {}
  for (const [section, parts] of Object.entries(sections)) {
    const visited = await mapInSlices(Object.entries(parts), ([name, part]) => [
      name,
      visit(part, false),
    ])
    described[section] = Object.fromEntries(visited)
  }
  return { described: described as Sections, schemas }
}

/** The server also reads `null` where a field may be absent, and numbers as ids. */
function toCanonical(schema: JsonSchema, isRequest: boolean): JsonSchema {
  const { canonicalType, ...rest } = schema
  if (canonicalType !== undefined) {
    const { anyOf: _, ...others } = rest
    return { ...others, type: canonicalType }
  }
  const { anyOf, type } = schema
  if (!isRequest) return schema
  if (Array.isArray(type) && type.includes('null')) {
    const types = type.filter((one) => one !== 'null')
    return { ...schema, type: types.length === 1 ? types[0] : types }
  }
  if (!Array.isArray(anyOf) || !anyOf.some(isNull)) return schema
  const { anyOf: __, ...others } = schema
  const choices: JsonSchema[] = anyOf.filter((one) => !isNull(one))
  return choices.length === 1 ? { ...choices[0], ...others } : { ...others, anyOf: choices }
}

function isNull(schema: JsonSchema): boolean {
  return schema.type === 'null'
}
