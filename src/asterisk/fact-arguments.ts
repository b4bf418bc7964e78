/** Reads the arguments of Stasis() and StasisBroadcast(): the number, then `key=value`. */
import { longestDialed } from '../domain/call-fields.js'
import { describeProblem } from '../errors.js'
import { type FactTexts, factNames, takeFact } from './fact-texts.js'

export interface FactArguments {
  readonly texts: FactTexts
  readonly trunk: string | undefined
}

/**
 * The dialed text: the first argument, empty when there is none. Asterisk splits a dialed text at its
 * commas, so an argument with digits and no key is a part of it.
 */
export function dialedOf(args: readonly string[]): string {
  const [first = '', ...more] = args
  const parts = more.filter((argument) => /\d/.test(argument) && !argument.includes('='))
  return [first, ...parts].join(',').trim()
}

/**
 * Keys in any order and any letter case; an empty argument and an empty value count as not given.
 * Text instead says what is wrong: the key, its value and the rule it breaks.
 */
export function readArguments(args: readonly string[]): FactArguments | string {
  const wrongNumber = numberProblem(dialedOf(args))
  if (wrongNumber !== undefined) return wrongNumber
  const given: Given = { texts: {}, trunk: undefined, keys: new Set() }
  for (let at = 1; at < args.length; at += 1) {
    const problem = takeArgument(given, args[at]?.trim() ?? '')
    if (problem !== undefined) return problem
  }
  return given
}

interface Given {
  readonly texts: FactTexts
  trunk: string | undefined
  readonly keys: Set<string>
}

function takeArgument(given: Given, argument: string): string | undefined {
  if (argument === '') return undefined
  const [key, value] = keyAndValue(argument)
  const name = factNames.find((one) => one === key)
  if (!name && key !== 'trunk') return unknownArgument(argument)
  if (given.keys.has(key)) return describeProblem({ field: key, value, rule: 'is given twice' })
  given.keys.add(key)
  if (name) return takeFact(given.texts, name, { text: value })
  given.trunk = value || undefined
  return undefined
}

function numberProblem(dialed: string): string | undefined {
  if (dialed === '') {
    return describeProblem({ field: 'number', rule: 'is required as the first argument' })
  }
  if (dialed.length <= longestDialed) return undefined
  const rule = `must not be longer than ${longestDialed} characters`
  return describeProblem({ field: 'number', value: dialed, rule })
}

/** Without an equals sign all of it is value, and the key is empty. */
function keyAndValue(argument: string): readonly [string, string] {
  const equals = argument.indexOf('=')
  const key = argument.slice(0, Math.max(0, equals)).trim().toLowerCase()
  return [key, argument.slice(equals + 1).trim()]
}

function unknownArgument(argument: string): string {
  const known = [...factNames, 'trunk'].map((name) => `${name}=`).join(', ')
  return describeProblem({ field: 'argument', value: argument, rule: `must be one of ${known}` })
}
