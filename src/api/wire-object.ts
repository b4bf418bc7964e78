/**
 * Objects whose published field names differ from the internal ones. A single description is used for
 * both parsing and writing.
 */
import { z } from 'zod'

/** `write` is required if the wire value differs from the parsed value. */
type WireField = readonly [name: string, schema: z.ZodType, write?: (value: never) => unknown]
type WireFields = Readonly<Record<string, WireField>>

/** Requires `write` for every field whose parsed type differs from its wire type. */
type RequireWriters<Fields extends WireFields> = {
  readonly [Key in keyof Fields]: Fields[Key] extends readonly [string, infer Schema]
    ? Schema extends z.ZodType
      ? z.output<Schema> extends z.input<Schema>
        ? unknown
        : readonly [string, Schema, (value: z.output<Schema>) => z.input<Schema>]
      : unknown
    : unknown
}

type ReadObject<Fields extends WireFields> = {
  readonly [Key in keyof Fields]: ReadValue<z.output<Fields[Key][1]>>
}

type ReadValue<Value> = Value extends readonly (infer Item)[] ? readonly Item[] : Value

export interface WireObject<Read> {
  /** The wire form, parsed into the internal one. */
  readonly schema: z.ZodType<Read>
  /** Ignores additional fields and does not validate. */
  write(value: Read): Readonly<Record<string, unknown>>
}

/** Maps each internal name to its published name, the schema of its wire value, and how to write it. */
export function wireObject<const Fields extends WireFields>(
  fields: Fields & RequireWriters<Fields>,
): WireObject<ReadObject<Fields>> {
  const list = Object.entries<WireField>(fields).map(([key, [name, schema, write]]) => ({
    key,
    name,
    schema,
    write: write as ((value: unknown) => unknown) | undefined,
  }))
  const shape = Object.fromEntries(list.map(({ name, schema }) => [name, schema]))
  // Plain loops, since rows are parsed and written by the thousand.
  return {
    schema: z.object(shape).transform((wire) => {
      const value: Record<string, unknown> = {}
      for (const { key, name } of list) value[key] = wire[name]
      return value as ReadObject<Fields>
    }),
    write(value) {
      const wire: Record<string, unknown> = {}
      for (const { key, name, write } of list) {
        const content = (value as Readonly<Record<string, unknown>>)[key]
        wire[name] = write ? write(content) : content
      }
      return wire
    },
  }
}
