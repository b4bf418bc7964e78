/** Validates the fields of a legal entity and converts them to columns. */

import {
  type LegalEntityInput,
  type LegalEntityText,
  legalEntityTextFields,
} from '../../domain/legal-entity.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import { findRegionCountry } from '../../law/area-codes.js'
import {
  type LegalEntityFields,
  type ShownColumn,
  shownColumns,
  type TextRule,
  textRules,
} from './legal-entity-fields.js'

const industryCount = 27

/**
 * Returns all fields as they are after the change; `before` is absent for a new entity. Throws
 * {@link AppError} listing every field that breaks a rule.
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
    else setField(more, field, text === '' ? null : text)
  }
  setField(more, 'IndustryId', readIndustry(input.industryId, problems))
  setField(more, 'EmployeeCount', input.employeeCount)
  setField(more, 'CallsPerMonth', input.callsPerMonth)
  if (columns.legal_name === '') problems.push({ field: 'LegalName', rule: 'is required' })
  if (placeFields.some((name) => input.texts[name] !== undefined)) readPlace(columns, problems)
  if (problems.length > 0) throw invalidRequest(problems)
  return { columns, more: Object.fromEntries(more) }
}

const placeFields = ['state', 'zip', 'countryCode'] as const

/** The given texts, in the order of the fields. */
function readTexts({ texts }: LegalEntityInput, problems: FieldProblem[]) {
  return Object.entries(textRules).flatMap(([name, rule]) => {
    const value = texts[name as LegalEntityText]
    if (value === undefined) return []
    const field = legalEntityTextFields[name as LegalEntityText]
    return [{ field, column: rule.column, text: readText(value, { ...rule, field }, problems) }]
  })
}

function readText(
  value: string | null,
  { field, maxLength, pattern, rule }: TextRule & { readonly field: string },
  problems: FieldProblem[],
): string {
  const text = value?.trim() ?? ''
  const isBroken = text !== '' && pattern?.test(text) === false
  if (isBroken) problems.push({ field, value: text, rule: rule ?? '' })
  else if (text.length > maxLength) {
    problems.push({ field, value: text, rule: `must not be longer than ${maxLength} characters` })
  } else if (/[^\P{Cc}\t\r\n]/u.test(text)) {
    problems.push({ field, value: text, rule: 'must not contain control characters' })
  }
  return text
}

function readIndustry(
  id: number | null | undefined,
  problems: FieldProblem[],
): number | null | undefined {
  if (id !== null && id !== undefined && (id < 1 || id > industryCount)) {
    const rule = `must be a whole number from 1 to ${industryCount}`
    problems.push({ field: 'IndustryId', value: String(id), rule })
  }
  return id
}

const postalCodes: Readonly<Record<string, RegExp>> = {
  US: /^\d{5}(?:-?\d{4})?$/,
  CA: /^[A-Z]\d[A-Z][ -]?\d[A-Z]\d$/,
}

/** State and postal code must match the country; without a country, the US or Canada. */
function readPlace(columns: Record<ShownColumn, string>, problems: FieldProblem[]): void {
  for (const column of ['state', 'zip', 'country_code'] as const) {
    columns[column] = columns[column].toUpperCase()
  }
  const { state, zip, country_code: country } = columns
  const region = findRegionCountry(state)
  const isNorthAmerican = country === '' || Object.hasOwn(postalCodes, country)
  if (!isNorthAmerican) return
  const where = country === '' ? 'the US or Canada' : country
  if (state !== '' && (region === undefined || (country !== '' && region !== country))) {
    const rule = `must be a two-letter state, territory or province of ${where}`
    problems.push({ field: 'State', value: state, rule })
  }
  const patterns = Object.entries(postalCodes).filter(([name]) => [name, ''].includes(country))
  if (zip !== '' && !patterns.some(([, pattern]) => pattern.test(zip))) {
    problems.push({ field: 'Zip', value: zip, rule: `must be a postal code of ${where}` })
  }
}

/** `null` removes the field, `undefined` leaves it unchanged. */
function setField(
  fields: Map<string, string | number>,
  name: string,
  value: string | number | null | undefined,
): void {
  if (value === null) fields.delete(name)
  else if (value !== undefined) fields.set(name, value)
}
