/** The wire form of a schema as JSON Schema 2020-12. */
import { z } from 'zod'

export type JsonSchema = Readonly<Record<string, unknown>>

/** What a client sends, or is sent: the form before a schema has read it. */
export function wireSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...wire } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const items = laterItems(zodSchema)
      if (items) jsonSchema.items = wireSchema(items)
    },
  })
  return wire
}

/** A list whose length is proved before its items are read has their schema behind a pipe. */
function laterItems(schema: z.core.$ZodType): z.ZodType | undefined {
  if (!(schema instanceof z.ZodPipe)) return undefined
  const { in: first, out: then } = schema.def
  const isList = first instanceof z.ZodArray && then instanceof z.ZodArray
  return isList ? (then.element as z.ZodType) : undefined
}
