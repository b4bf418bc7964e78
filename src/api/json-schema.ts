/** The wire form of a schema as JSON Schema 2020-12. */
import { z } from 'zod'

export type JsonSchema = Readonly<Record<string, unknown>>

/** What a client sends, or is sent: the form before a schema has read it. */
export function wireSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...wire } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return wire
}
