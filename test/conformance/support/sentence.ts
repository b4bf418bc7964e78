/** The words in which cases are written: a section of the specification holds its sentences. */
import { afterAll, describe, expect, it } from 'vitest'
import { takeBackProject } from './project.js'
import { takeBackRecords } from './records.js'
import { type SectionName, sections } from './sections.js'

/** Gives the value, or skips the case and tells what it would need. */
export type Needs = <Value>(value: Value | undefined | null, what: string) => Value

export type Row = Readonly<Record<string, unknown>>

export function section(name: SectionName, define: () => void): void {
  describe(sections[name], () => {
    afterAll(async () => {
      await takeBackRecords()
      await takeBackProject()
    })
    define()
  })
}

/** One sentence of the specification that can be observed from outside. */
export function sentence(text: string, check: (needs: Needs) => void | Promise<void>): void {
  it(text, async (context) => {
    const needs: Needs = (value, what) =>
      value === undefined || value === null ? context.skip(`needs ${what}`) : value
    await check(needs)
  })
}

/** The same sentence for each row of a table. */
export function sentences<Case>(
  table: readonly Case[],
  text: (row: Case) => string,
  check: (row: Case, needs: Needs) => void | Promise<void>,
): void {
  for (const row of table) sentence(text(row), (needs) => check(row, needs))
}

/** A row of a table of fields: the name, its rule in words, and whether a value keeps it. */
export type FieldRule = readonly [
  field: string,
  rule: string,
  holds: (value: unknown, row: Row) => boolean,
]

/** One sentence per field; each must hold in every row. */
export function fieldTable(
  rows: (needs: Needs) => Promise<readonly Row[]>,
  rules: readonly FieldRule[],
): void {
  sentences(
    rules,
    ([field, rule]) => `${field}: ${rule}`,
    async ([field, , holds], needs) => {
      const found = await rows(needs)
      needs(found.length > 0 ? found : undefined, 'a server that has such a record')
      const wrong = found.filter((row) => !(field in row) || !holds(row[field], row))
      expect(wrong.map((row) => ({ [field]: row[field], in: JSON.stringify(row) }))).toEqual([])
    },
  )
}

/** Fails unless the value is an object; gives it as one. */
export function asRow(value: unknown): Row {
  expect(value).toBeTypeOf('object')
  expect(value).not.toBeNull()
  expect(Array.isArray(value)).toBe(false)
  return value as Row
}

/** Fails unless the value is a list of objects. */
export function asRows(value: unknown): readonly Row[] {
  expect(value).toBeInstanceOf(Array)
  return (value as readonly unknown[]).map(asRow)
}
