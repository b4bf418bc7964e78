/** Puts what a schema found wrong into words that name field, value and rule. */
import type { z } from 'zod'
import { AppError, describeProblem, type FieldProblem, shorten } from '../errors.js'

const mostShown = 10

/** The refusal of a request, or of any other text from outside, that breaks its schema. */
export function refusal(error: z.ZodError): AppError {
  const all = error.issues.flatMap(fieldProblems)
  const problems = all.slice(0, mostShown)
  const more = all.length - problems.length
  const texts = problems.map(describeProblem)
  if (more > 0) texts.push(`and ${more} more problems`)
  return new AppError('invalid-request', texts.join('; '), { problems })
}

/** Unknown fields come as one issue of the object they are in. */
function fieldProblems(issue: z.core.$ZodIssue): FieldProblem[] {
  const { path, message: rule } = issue
  if (issue.code !== 'unrecognized_keys') return [problemAt(path, issue.input, rule)]
  const holder = issue.input as Readonly<Record<string, unknown>> | undefined
  return issue.keys.map((key) => {
    const value = mayBeSecret(key, holder?.[key]) ? '(not shown)' : holder?.[key]
    return problemAt([...path, key], value, rule)
  })
}

/** A key that stands where none belongs must not come back in an answer that somebody logs. */
function mayBeSecret(name: string, value: unknown): boolean {
  return /login|secret|token|authoriz|password|key/i.test(name) || isLongWord(value)
}

function isLongWord(value: unknown): boolean {
  return typeof value === 'string' && /^\S{30,}$/.test(value)
}

function problemAt(path: readonly PropertyKey[], input: unknown, rule: string): FieldProblem {
  const value = shown(input)
  return { field: pathText(path), rule, ...(value !== undefined && { value }) }
}

/** `['IsTimeLegalToCall', 3, 'PhoneNumber']` becomes `IsTimeLegalToCall[3].PhoneNumber`. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${shorten(String(step))}`))
    .join('')
    .replace(/^\./, '')
}

/** Lists and objects are named, never spelled out: they may be nested without end. */
function shown(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value)) return `a list of ${value.length}`
  return typeof value === 'object' && value !== null ? 'an object' : shorten(String(value))
}
