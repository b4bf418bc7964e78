/** Validates the options of list imports. */
import type { Clock, Instant } from '../../../domain/time/clock.js'
import { type FieldProblem, invalidRequest } from '../../../errors.js'
import { findAreaCodePlace } from '../../../law/area-codes.js'
import { type Coverage, isAreaCode } from '../format/number-list-format.js'
import { describeNameRule, isAccountListName } from '../list-names.js'

/** Options that all list imports have. */
export interface CommonImportOptions {
  readonly name: string
  readonly files: readonly string[]
  readonly asOf?: Instant | undefined
  readonly areaCodes?: Coverage | undefined
  readonly badLinesAllowed?: number | undefined
  readonly keepVersions?: number | undefined
  readonly clock: Clock
}

/** Throws `AppError` naming each invalid option, its value and the rule. */
export function requireValidImportOptions(options: CommonImportOptions): void {
  const { name, files, asOf, clock } = options
  const problems: FieldProblem[] = []
  if (!isAccountListName(name)) {
    problems.push({ field: 'name', value: name, rule: describeNameRule(name) })
  }
  if (files.length === 0) problems.push({ field: 'files', rule: 'at least one is needed' })
  if (asOf !== undefined && !(asOf <= clock.now())) {
    problems.push({ field: 'asOf', value: String(asOf), rule: 'must not be in the future' })
  }
  problems.push(...findCountProblems(options), ...findAreaCodeProblems(options.areaCodes))
  if (problems.length > 0) throw invalidRequest(problems)
}

function findCountProblems({
  badLinesAllowed = 0,
  keepVersions = 0,
}: CommonImportOptions): FieldProblem[] {
  const rule = 'must be a whole number, 0 or more'
  const wrong = Object.entries({ badLinesAllowed, keepVersions }).filter(
    ([, value]) => !(Number.isSafeInteger(value) && value >= 0),
  )
  return wrong.map(([field, value]) => ({ field, value: String(value), rule }))
}

function findAreaCodeProblems(areaCodes: Coverage | undefined): FieldProblem[] {
  if (areaCodes === undefined || areaCodes === 'all') return []
  if (areaCodes.length === 0) return [{ field: 'areaCodes', rule: 'at least one is needed' }]
  const rule = 'is not an area code in service in the US or Canada'
  const wrong = areaCodes.filter((code) => !isAreaCode(code) || !findAreaCodePlace(code))
  return wrong.map((value) => ({ field: 'areaCodes', value, rule }))
}
