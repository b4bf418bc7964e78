/** Parses faults from tests, JSON and command lines, and rejects those that cannot apply. */
import { type FieldProblem, invalidRequest } from '../errors.js'
import {
  type Fault,
  type FaultParameter,
  faultDescriptions,
  faultKinds,
  isFaultKind,
  isRowFault,
} from './fault.js'
import { type FaultTarget, faultTargets } from './request-target.js'

const limits: readonly FaultParameter[] = [
  { name: 'times', type: 'whole-number', min: 1, max: 1_000_000_000 },
  { name: 'chance', type: 'number', min: 0, max: 1 },
]

/**
 * A fault for a target. Throws an `AppError` that names every wrong field, its value and the rule.
 * `null` removes the fault that is set.
 */
export function parseFault(value: unknown, target: FaultTarget): Fault | undefined {
  if (value === null || value === undefined) return undefined
  const given = asFields(value)
  if (!given)
    throw invalidRequest([createProblem(target, value, 'must be an object with a kind, or null')])
  const { kind } = given
  if (typeof kind !== 'string' || !isFaultKind(kind)) {
    const rule = `must be one of ${faultKinds.join(', ')}`
    throw invalidRequest([createProblem(`${target}.kind`, kind, rule)])
  }
  const { parameter } = faultDescriptions[kind]
  const problems = findFieldProblems(given, parameter ? [parameter, ...limits] : limits, target)
  if (problems.length > 0) throw invalidRequest(problems)
  // Safe: all fields were checked against the table, which matches the type.
  const fault = given as unknown as Fault
  if (target === 'token' && isRowFault(fault)) {
    throw invalidRequest([
      createProblem(`${target}.kind`, kind, 'works on rows, and a token has none'),
    ])
  }
  return fault
}

/** Faults by target, such as `{"scrub": {"kind": "slow", "ms": 2000}, "all": null}`. */
export function parseFaults(
  value: unknown,
): readonly (readonly [FaultTarget, Fault | undefined])[] {
  const given = asFields(value)
  if (!given) throw invalidRequest([{ field: '', rule: 'the body must be an object of faults' }])
  return Object.entries(given).map(([name, fault]) => {
    const target = parseTarget(name)
    return [target, parseFault(fault, target)] as const
  })
}

/** One fault of a command line: `scrub=slow:2000`, `all=silent,times=3,chance=0.5`. */
export function parseFaultText(text: string): readonly [FaultTarget, Fault | undefined] {
  const [, name = '', kind = '', own, more = ''] =
    /^([^=]*)=([^:,]*)(?::([^,]*))?((?:,.*)?)$/.exec(text) ?? []
  const target = parseTarget(name === '' ? text : name)
  const parameter = isFaultKind(kind) ? faultDescriptions[kind].parameter : undefined
  const fields: Record<string, unknown> = { kind }
  if (own !== undefined) fields[parameter?.name ?? own] = parseLiteral(own, parameter)
  for (const part of more.split(',').slice(1)) {
    const [field = '', value = ''] = part.split('=')
    fields[field] = parseLiteral(
      value,
      [parameter, ...limits].find((one) => one?.name === field),
    )
  }
  return [target, parseFault(fields, target)]
}

function parseLiteral(text: string, parameter: FaultParameter | undefined): unknown {
  const isNumber = parameter?.type === 'number' || parameter?.type === 'whole-number'
  return isNumber && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
}

function parseTarget(name: string): FaultTarget {
  const target = faultTargets.find((one) => one === name)
  if (target) return target
  const rule = `unknown target; must be one of ${faultTargets.join(', ')}`
  throw invalidRequest([{ field: name, rule }])
}

function findFieldProblems(
  given: Readonly<Record<string, unknown>>,
  known: readonly FaultParameter[],
  target: FaultTarget,
): readonly FieldProblem[] {
  const names = known.map(({ name }) => name)
  const unknown = Object.keys(given).filter((name) => name !== 'kind' && !names.includes(name))
  const wrong = known.filter((parameter) => !isValidValue(parameter, given[parameter.name]))
  return [
    ...unknown.map((name) =>
      createProblem(
        `${target}.${name}`,
        given[name],
        `unknown field; must be one of ${names.join(', ')}`,
      ),
    ),
    ...wrong.map((one) =>
      createProblem(`${target}.${one.name}`, given[one.name], describeRule(one)),
    ),
  ]
}

function isValidValue({ type, min, max, required }: FaultParameter, value: unknown): boolean {
  if (value === undefined) return required !== true
  if (type === 'text' || type === 'header-text') {
    if (typeof value !== 'string' || value.length < min || value.length > max) return false
    return type === 'text' || /^[\x20-\x7e]*$/.test(value)
  }
  if (typeof value !== 'number' || value < min || value > max) return false
  return type === 'whole-number' ? Number.isInteger(value) : true
}

function describeRule({ type, min, max, required }: FaultParameter): string {
  const needed = required ? 'is required and ' : ''
  if (type === 'text') return `${needed}must be text of ${min} to ${max} characters`
  if (type === 'header-text') {
    return `${needed}must be text of ${min} to ${max} characters, of printable ASCII`
  }
  return `${needed}must be a ${type.replace('-', ' ')} from ${min} to ${max}`
}

function createProblem(field: string, value: unknown, rule: string): FieldProblem {
  if (value === undefined) return { field, rule }
  return { field, value: typeof value === 'string' ? value : JSON.stringify(value), rule }
}

function asFields(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? { ...value } : undefined
}
