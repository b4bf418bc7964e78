/** Reads faults as tests, JSON and command lines write them, and refuses what could not strike. */
import { type FieldProblem, invalidRequest } from '../errors.js'
import {
  type Fault,
  type FaultParameter,
  faultKinds,
  faultTable,
  isFaultKind,
  isRowFault,
} from './fault.js'
import { type FaultTarget, faultTargets } from './target.js'

const limits: readonly FaultParameter[] = [
  { name: 'times', type: 'whole-number', min: 1, max: 1_000_000_000 },
  { name: 'chance', type: 'number', min: 0, max: 1 },
]

/**
 * A fault for a target. Throws a refusal that names every wrong field, its value and the rule.
 * `null` ends the fault that is set.
 */
export function readFault(value: unknown, target: FaultTarget): Fault | undefined {
  if (value === null || value === undefined) return undefined
  const given = asFields(value)
  if (!given)
    throw invalidRequest([problem(target, value, 'must be an object with a kind, or null')])
  const { kind } = given
  if (typeof kind !== 'string' || !isFaultKind(kind)) {
    const rule = `must be one of ${faultKinds.join(', ')}`
    throw invalidRequest([problem(`${target}.kind`, kind, rule)])
  }
  const { parameter } = faultTable[kind]
  const problems = fieldProblems(given, parameter ? [parameter, ...limits] : limits, target)
  if (problems.length > 0) throw invalidRequest(problems)
  // Every field has been held against the table, which is what the type says in other words.
  const fault = given as unknown as Fault
  if (target === 'token' && isRowFault(fault)) {
    throw invalidRequest([problem(`${target}.kind`, kind, 'works on rows, and a token has none')])
  }
  return fault
}

/** Faults by target, such as `{"scrub": {"kind": "slow", "ms": 2000}, "all": null}`. */
export function readFaults(value: unknown): readonly (readonly [FaultTarget, Fault | undefined])[] {
  const given = asFields(value)
  if (!given) throw invalidRequest([{ field: '', rule: 'the body must be an object of faults' }])
  return Object.entries(given).map(([name, fault]) => {
    const target = readTarget(name)
    return [target, readFault(fault, target)] as const
  })
}

/** One fault of a command line: `scrub=slow:2000`, `all=silent,times=3,chance=0.5`. */
export function parseFaultText(text: string): readonly [FaultTarget, Fault | undefined] {
  const [, name = '', kind = '', own, more = ''] =
    /^([^=]*)=([^:,]*)(?::([^,]*))?((?:,.*)?)$/.exec(text) ?? []
  const target = readTarget(name === '' ? text : name)
  const parameter = isFaultKind(kind) ? faultTable[kind].parameter : undefined
  const fields: Record<string, unknown> = { kind }
  if (own !== undefined) fields[parameter?.name ?? own] = literal(own, parameter)
  for (const part of more.split(',').slice(1)) {
    const [field = '', value = ''] = part.split('=')
    fields[field] = literal(
      value,
      [parameter, ...limits].find((one) => one?.name === field),
    )
  }
  return [target, readFault(fields, target)]
}

function literal(text: string, parameter: FaultParameter | undefined): unknown {
  const isNumber = parameter?.type === 'number' || parameter?.type === 'whole-number'
  return isNumber && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
}

function readTarget(name: string): FaultTarget {
  const target = faultTargets.find((one) => one === name)
  if (target) return target
  const rule = `is no target; known are ${faultTargets.join(', ')}`
  throw invalidRequest([{ field: name, rule }])
}

function fieldProblems(
  given: Readonly<Record<string, unknown>>,
  known: readonly FaultParameter[],
  target: FaultTarget,
): readonly FieldProblem[] {
  const names = known.map(({ name }) => name)
  const unknown = Object.keys(given).filter((name) => name !== 'kind' && !names.includes(name))
  const wrong = known.filter((parameter) => !holds(parameter, given[parameter.name]))
  return [
    ...unknown.map((name) =>
      problem(`${target}.${name}`, given[name], `is no field; known are ${names.join(', ')}`),
    ),
    ...wrong.map((one) => problem(`${target}.${one.name}`, given[one.name], ruleOf(one))),
  ]
}

function holds({ type, min, max, required }: FaultParameter, value: unknown): boolean {
  if (value === undefined) return required !== true
  if (type === 'text' || type === 'header-text') {
    if (typeof value !== 'string' || value.length < min || value.length > max) return false
    return type === 'text' || /^[\x20-\x7e]*$/.test(value)
  }
  if (typeof value !== 'number' || value < min || value > max) return false
  return type === 'whole-number' ? Number.isInteger(value) : true
}

function ruleOf({ type, min, max, required }: FaultParameter): string {
  const needed = required ? 'is required and ' : ''
  if (type === 'text') return `${needed}must be text of ${min} to ${max} characters`
  if (type === 'header-text') {
    return `${needed}must be text of ${min} to ${max} characters, of printable ASCII`
  }
  return `${needed}must be a ${type.replace('-', ' ')} from ${min} to ${max}`
}

function problem(field: string, value: unknown, rule: string): FieldProblem {
  if (value === undefined) return { field, rule }
  return { field, value: typeof value === 'string' ? value : JSON.stringify(value), rule }
}

function asFields(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? { ...value } : undefined
}
