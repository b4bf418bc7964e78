/** Converts the zod issues of a document into problems with field, value and rule. */
import type { z } from 'zod'
import { type FieldProblem, truncate } from '../../errors.js'

/** Lists the problems in the order of the schema. */
export function listDocumentProblems(error: z.ZodError, document: unknown): FieldProblem[] {
  return error.issues.flatMap((issue) => toProblems(issue, document))
}

function toProblems(issue: z.core.$ZodIssue, document: unknown): FieldProblem[] {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) =>
      problem(document, { path: [...path, key], rule: 'is not a known field' }),
    )
  }
  return [problem(document, { path, rule: toRule(issue, valueAt(document, path)) })]
}

function toRule(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'invalid_type') {
    return value === undefined ? `is missing; must be ${article(issue.expected)}` : wrongType(issue)
  }
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  if (issue.code === 'invalid_key') {
    return issue.issues.map((inner) => inner.message).join('; ')
  }
  return issue.message
}

function wrongType(issue: z.core.$ZodIssueInvalidType): string {
  return `must be ${article(issue.expected)}`
}

function article(type: string): string {
  const noun = type === 'record' || type === 'object' ? 'mapping' : type === 'array' ? 'list' : type
  return noun === 'int' ? 'a whole number' : `a ${noun}`
}

function problem(
  document: unknown,
  { path, rule }: { path: readonly string[]; rule: string },
): FieldProblem {
  const value = valueAt(document, path)
  const field = path.join('.')
  return value === undefined ? { field, rule } : { field, value: shown(value), rule }
}

function valueAt(document: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined,
    document,
  )
}

function shown(value: unknown): string {
  return truncate(typeof value === 'string' ? value : JSON.stringify(value))
}
