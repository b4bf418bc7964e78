/** The rules that the options of an import of a list have to keep. */
import type { Clock, Instant } from '../../domain/clock.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import { areaCodePlace } from '../numbering/area-codes.js'
import { isListName, listNameRule } from './list-names.js'
import { type Coverage, isAreaCode } from './number-list-format.js'

/** Options that every import of a list has. */
export interface CommonOptions {
  readonly name: string
  readonly files: readonly string[]
  readonly asOf?: Instant | undefined
  readonly areaCodes?: Coverage | undefined
  readonly badLinesAllowed?: number | undefined
  readonly keepVersions?: number | undefined
  readonly clock: Clock
}

/** Throws `AppError` that names each option, its value and the rule it breaks. */
export function checkImportOptions(options: CommonOptions): void {
  const { name, files, asOf, clock } = options
  const problems: FieldProblem[] = []
  if (!isListName(name)) problems.push({ field: 'name', value: name, rule: listNameRule(name) })
  if (files.length === 0) problems.push({ field: 'files', rule: 'at least one is needed' })
  if (asOf !== undefined && !(asOf <= clock.now())) {
    problems.push({ field: 'asOf', value: String(asOf), rule: 'must not lie in the future' })
  }
  problems.push(...countProblems(options), ...areaCodeProblems(options.areaCodes))
  if (problems.length > 0) throw invalidRequest(problems)
}

function countProblems({ badLinesAllowed = 0, keepVersions = 0 }: CommonOptions): FieldProblem[] {
  const rule = 'has to be a whole number, 0 or more'
  const wrong = Object.entries({ badLinesAllowed, keepVersions }).filter(
    ([, value]) => !(Number.isSafeInteger(value) && value >= 0),
  )
  return wrong.map(([field, value]) => ({ field, value: String(value), rule }))
}

function areaCodeProblems(areaCodes: Coverage | undefined): FieldProblem[] {
  if (areaCodes === undefined || areaCodes === 'all') return []
  if (areaCodes.length === 0) return [{ field: 'areaCodes', rule: 'at least one is needed' }]
  const rule = 'is no area code of the US or Canada in service'
  const wrong = areaCodes.filter((code) => !isAreaCode(code) || !areaCodePlace(code))
  return wrong.map((value) => ({ field: 'areaCodes', value, rule }))
}
