/** Reads what a call says of a legal entity into columns to store. */
import { countryOfRegion } from '../../data/numbering/area-codes.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import {
  type LegalEntityFields,
  type ShownColumn,
  shownColumns,
  type TextName,
  type TextRule,
  textRules,
} from './legal-entity-fields.js'

/** Absent is unchanged; `null` and blank text clear. */
export interface LegalEntityInput {
  readonly isDefault?: boolean | undefined
  readonly texts: Readonly<Partial<Record<TextName, string | null | undefined>>>
  readonly industryId?: number | null | undefined
  readonly employeeCount?: number | null | undefined
  readonly callsPerMonth?: number | null | undefined
}

const industries = 27

/**
 * All fields after the change; a new entity has none before. Throws {@link AppError} listing every
 * field that breaks a rule.
 */
export function readLegalEntity(
  input: LegalEntityInput,
  before: LegalEntityFields | undefined,
): LegalEntityFields {
  const problems: FieldProblem[] = []
  const columns = Object.fromEntries(
    shownColumns.map((column) => [column, before?.columns[column] ?? '']),
  ) as Record<ShownColumn, string>
  const more = new Map(Object.entries(before?.more ?? {}))
  for (const { column, field, text } of readTexts(input, problems)) {
    if (column !== undefined) columns[column] = text
    else put(more, field, text === '' ? null : text)
  }
  put(more, 'IndustryId', readIndustry(input.industryId, problems))
  put(more, 'EmployeeCount', input.employeeCount)
  put(more, 'CallsPerMonth', input.callsPerMonth)
  if (columns.legal_name === '') problems.push({ field: 'LegalName', rule: 'is required' })
  if (placeFields.some((name) => input.texts[name] !== undefined)) readPlace(columns, problems)
  if (problems.length > 0) throw invalidRequest(problems)
  return { columns, more: Object.fromEntries(more) }
}

const placeFields = ['state', 'zip', 'countryCode'] as const

/** What is given, in the order of the fields. */
function readTexts({ texts }: LegalEntityInput, problems: FieldProblem[]) {
  return Object.entries<TextRule>(textRules).flatMap(([name, rule]) => {
    const given = texts[name as TextName]
    return given === undefined ? [] : [{ ...rule, text: readText(given, rule, problems) }]
  })
}

function readText(
  given: string | null,
  { field, longest, pattern, rule }: TextRule,
  problems: FieldProblem[],
): string {
  const text = given?.trim() ?? ''
  const isBroken = text !== '' && pattern?.test(text) === false
  if (isBroken) problems.push({ field, value: text, rule: rule ?? '' })
  else if (text.length > longest) {
    problems.push({ field, value: text, rule: `must not be longer than ${longest} characters` })
  } else if (/[^\P{Cc}\t\r\n]/u.test(text)) {
    problems.push({ field, value: text, rule: 'must not hold control characters' })
  }
  return text
}

function readIndustry(
  id: number | null | undefined,
  problems: FieldProblem[],
): number | null | undefined {
  if (id !== null && id !== undefined && (id < 1 || id > industries)) {
    const rule = `must be a whole number from 1 to ${industries}`
    problems.push({ field: 'IndustryId', value: String(id), rule })
  }
  return id
}

const postalCodes: Readonly<Record<string, RegExp>> = {
  US: /^\d{5}(?:-?\d{4})?$/,
  CA: /^[A-Z]\d[A-Z][ -]?\d[A-Z]\d$/,
}

/** State and postal code must be of the country; without one, of the US or Canada. */
function readPlace(columns: Record<ShownColumn, string>, problems: FieldProblem[]): void {
  for (const column of ['state', 'zip', 'country_code'] as const) {
    columns[column] = columns[column].toUpperCase()
  }
  const { state, zip, country_code: country } = columns
  const region = countryOfRegion(state)
  const isNorthAmerican = country === '' || Object.hasOwn(postalCodes, country)
  if (!isNorthAmerican) return
  const where = country === '' ? 'the US or Canada' : country
  if (state !== '' && (region === undefined || (country !== '' && region !== country))) {
    const rule = `must be a two-letter state, territory or province of ${where}`
    problems.push({ field: 'State', value: state, rule })
  }
  const wanted = Object.entries(postalCodes).filter(([of]) => [of, ''].includes(country))
  if (zip !== '' && !wanted.some(([, pattern]) => pattern.test(zip))) {
    problems.push({ field: 'Zip', value: zip, rule: `must be a postal code of ${where}` })
  }
}

/** `null` takes the field away, `undefined` leaves it. */
function put(
  fields: Map<string, string | number>,
  name: string,
  value: string | number | null | undefined,
): void {
  if (value === null) fields.delete(name)
  else if (value !== undefined) fields.set(name, value)
}
