/** Turns schema errors into messages that name field, value and rule. */
import type { z } from 'zod'
import { AppError, describeProblem, type FieldProblem, truncate } from '../errors.js'

const maxShownProblems = 10

/** The error for a request, or any other external input, that does not match its schema. */
export function createValidationError(error: z.ZodError): AppError {
  const all = error.issues.flatMap(fieldProblems)
  const problems = all.slice(0, maxShownProblems)
  const more = all.length - problems.length
  const texts = problems.map(describeProblem)
  if (more > 0) texts.push(`and ${more} more problems`)
  return new AppError('invalid-request', texts.join('; '), { problems })
}

/** Unknown fields arrive as a single issue of the object that contains them. */
function fieldProblems(issue: z.core.$ZodIssue): FieldProblem[] {
  const { path, message: rule } = issue
  if (issue.code !== 'unrecognized_keys') return [problemAt(path, issue.input, rule)]
  const holder = issue.input as Readonly<Record<string, unknown>> | undefined
  return issue.keys.map((key) => {
    const value = isPossiblySecret(key, holder?.[key]) ? '(not shown)' : holder?.[key]
    return problemAt([...path, key], value, rule)
  })
}

/** A misplaced API key must not be repeated in an answer, which may be logged. */
function isPossiblySecret(name: string, value: unknown): boolean {
  return /login|secret|token|authoriz|password|key/i.test(name) || isLongWord(value)
}

function isLongWord(value: unknown): boolean {
  return typeof value === 'string' && /^\S{30,}$/.test(value)
}

/** The problem of an unknown field. Hides a value that may be a secret. */
export const unknownFieldProblem = (name: string, input: unknown): FieldProblem =>
  problemAt([name], isPossiblySecret(name, input) ? '(not shown)' : input, 'is an unknown field')

export function problemAt(
  path: readonly PropertyKey[],
  input: unknown,
  rule: string,
): FieldProblem {
  const value = describeValue(input)
  return { field: formatPath(path), rule, ...(value !== undefined && { value }) }
}

/** `['IsTimeLegalToCall', 3, 'PhoneNumber']` becomes `IsTimeLegalToCall[3].PhoneNumber`. */
function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${truncate(String(step))}`))
    .join('')
    .replace(/^\./, '')
}

/** Lists and objects are only described, since they may be nested to any depth. */
function describeValue(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value)) return `a list of ${value.length}`
  return typeof value === 'object' && value !== null ? 'an object' : truncate(String(value))
}
