/**
 * Parses the arguments of Stasis() and StasisBroadcast(), the number and then `key=value`, and
 * validates each fact by the rules of the pre-dial endpoint.
 */
import {
  type CallKind,
  type CallPurpose,
  callKinds,
  callPurposes,
  maxCallerIdLength,
  maxDialedLength,
  maxIdLength,
  maxReferenceLength,
} from '../../domain/decision.js'
import { postalCodePattern, postalCodeRule, repairZip } from '../../domain/place.js'
import { parseTraceparent, type TraceContext } from '../../domain/trace/trace-context.js'
import { describeProblem } from '../../errors.js'

export const factNames = [
  'kind',
  'purpose',
  'project',
  'campaign',
  'postal',
  'callerid',
  'subject',
  'person',
  'ref',
] as const
export type FactName = (typeof factNames)[number]

/** Validated texts; facts that are not given are absent. */
export type FactTexts = { [Name in FactName]?: string }

interface FactRule {
  readonly isValid: (text: string) => boolean
  readonly rule: string
}

const maxLengthRule = (maxLength: number): FactRule => ({
  isValid: (text) => text.length <= maxLength,
  rule: `must not be longer than ${maxLength} characters`,
})

const factRules: Readonly<Record<FactName, FactRule>> = {
  kind: {
    isValid: (text) => parseCallKind(text) !== undefined,
    rule: `must be one of ${callKinds.join(', ')}`,
  },
  purpose: {
    isValid: (text) => parsePurpose(text) !== undefined,
    rule: `must be one of ${callPurposes.join(', ')}`,
  },
  project: maxLengthRule(maxIdLength),
  campaign: maxLengthRule(maxIdLength),
  postal: { isValid: (text) => postalCodePattern.test(text), rule: postalCodeRule },
  callerid: maxLengthRule(maxCallerIdLength),
  subject: maxLengthRule(maxIdLength),
  person: maxLengthRule(maxIdLength),
  ref: maxLengthRule(maxReferenceLength),
}

/** Adds a fact to `texts` unless it is blank. Returns the problem, if any, reported as `field`. */
export function addFact(
  texts: FactTexts,
  name: FactName,
  { text, field = name }: { readonly text: string; readonly field?: string },
): string | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const normalized =
    name === 'kind' ? trimmed.toLowerCase() : name === 'postal' ? repairZip(trimmed) : trimmed
  const { isValid, rule } = factRules[name]
  if (!isValid(normalized)) return describeProblem({ field, value: trimmed, rule })
  texts[name] = normalized
  return undefined
}

/** `undefined` for text that is not a call kind. */
export function parseCallKind(text: string | undefined): CallKind | undefined {
  return callKinds.find((kind) => kind === text)
}

/** `undefined` for text that is not a purpose. */
export function parsePurpose(text: string | undefined): CallPurpose | undefined {
  return callPurposes.find((purpose) => purpose === text)
}

/**
 * The dialed text: the first argument, or empty. Asterisk splits a dialed text at commas, so arguments
 * with digits and without a key are joined to it.
 */
export function joinDialedArguments(args: readonly string[]): string {
  const [first = '', ...more] = args
  const parts = more.filter((argument) => /\d/.test(argument) && !argument.includes('='))
  return [first, ...parts].join(',').trim()
}

/**
 * Keys may be in any order and letter case; empty arguments and values are treated as absent. Returns
 * an error text for invalid arguments: the key, its value and the violated rule.
 */
export function parseFactArguments(args: readonly string[]): FactArguments | string {
  const wrongNumber = findNumberProblem(joinDialedArguments(args))
  if (wrongNumber !== undefined) return wrongNumber
  const state: FactArguments = { texts: {}, trunk: undefined, trace: undefined, keys: new Set() }
  for (let at = 1; at < args.length; at += 1) {
    const problem = addArgument(state, args[at]?.trim() ?? '')
    if (problem !== undefined) return problem
  }
  return state
}

export interface FactArguments {
  readonly texts: FactTexts
  trunk: string | undefined
  /** Absent also if it is malformed, for which no call is blocked. */
  trace: TraceContext | undefined
  /** The keys given so far. */
  readonly keys: Set<string>
}

function addArgument(state: FactArguments, argument: string): string | undefined {
  if (argument === '') return undefined
  const [key, value] = splitArgument(argument)
  const name = factNames.find((fact) => fact === key)
  if (!name && key !== 'trunk' && key !== 'traceparent') return describeUnknownArgument(argument)
  if (state.keys.has(key)) return describeProblem({ field: key, value, rule: 'is given twice' })
  state.keys.add(key)
  if (name) return addFact(state.texts, name, { text: value })
  if (key === 'trunk') state.trunk = value || undefined
  else state.trace = parseTraceparent(value)
  return undefined
}

function findNumberProblem(dialed: string): string | undefined {
  if (dialed === '') {
    return describeProblem({ field: 'number', rule: 'is required as the first argument' })
  }
  if (dialed.length <= maxDialedLength) return undefined
  const rule = `must not be longer than ${maxDialedLength} characters`
  return describeProblem({ field: 'number', value: dialed, rule })
}

/** Without an equals sign, the key is empty and the whole argument is the value. */
function splitArgument(argument: string): readonly [string, string] {
  const equals = argument.indexOf('=')
  const key = argument.slice(0, Math.max(0, equals)).trim().toLowerCase()
  return [key, argument.slice(equals + 1).trim()]
}

function describeUnknownArgument(argument: string): string {
  const known = [...factNames, 'trunk', 'traceparent'].map((name) => `${name}=`).join(', ')
  return describeProblem({ field: 'argument', value: argument, rule: `must be one of ${known}` })
}
