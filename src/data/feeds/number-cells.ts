/** The cells of tables that hold telephone numbers, as people and spreadsheets write them. */
import { type PhoneNumber, parseDialString, parsePhoneNumber } from '../../domain/phone-number.js'
import { type FieldProblem, isFieldProblem } from '../../errors.js'

/** Accepted names for a column of telephone numbers, as lower-case letters and digits. */
export const numberColumnNames = [
  ...['number', 'phone', 'phonenumber', 'tn', 'telephonenumber', 'telephone', 'phoneno', 'tel'],
  ...['telno', 'telnumber', 'telephoneno', 'telephonenum', 'phonenum', 'cell', 'cellphone'],
  ...['cellnumber', 'mobile', 'mobilephone', 'mobilenumber', 'homephone', 'workphone'],
  ...['primaryphone', 'contactphone', 'customerphone', 'phone1', 'number1', 'litigatorphone'],
  ...['litigatornumber', 'plaintiffphone', 'dncnumber', 'callednumber'],
] as const

const plain = /^[2-9]\d{2}[2-9]\d{6}$/
const rounded = /^\d(?:[.,]\d+)?E\+?\d+$/i

/** A North American or foreign number with the usual punctuation and nothing else, also if a spreadsheet has rounded it. */
export function isTelephone(cell: string): boolean {
  if (plain.test(cell)) return true
  if (rounded.test(cell)) return /E\+?(?:0?9|10)$/i.test(cell)
  // Most cells are words or short.
  if (cell.length < 10 || cell.length > 40 || !/^[+(\d'=\p{Cf}]/u.test(cell)) return false
  const number = readAnyNumber(cell)
  if (typeof number === 'string') return plain.test(number)
  return parseDialString(clean(cell)).kind === 'foreign' && clean(cell).startsWith('+')
}

/** Parses a number with an optional 1, +1, 001 or 011 1 and the usual punctuation. The first and the fourth digit are 2 to 9. */
export function readNumber(text: string): PhoneNumber | FieldProblem {
  const number = readAnyNumber(text)
  if (isFieldProblem(number) || plain.test(number)) return number
  return { field: 'number', value: text, rule: 'must not have 0 or 1 first or fourth' }
}

/** Like {@link readNumber}, but any ten digits, like the API, since a list may contain numbers that are not in service. */
export function readAnyNumber(text: string): PhoneNumber | FieldProblem {
  const simple = parsePhoneNumber(text)
  if (simple !== undefined) return simple
  const invalid = (rule: string) => ({ field: 'number', value: text, rule })
  if (text === '') return invalid('must be ten digits')
  const cell = clean(text)
  if (rounded.test(cell)) {
    return invalid(
      'must be ten digits; a spreadsheet has rounded it and lost its last digits: export the column as text',
    )
  }
  // A spreadsheet writes 2125550101.0 for a number in a column with blanks.
  const [, whole, fraction] = /^\+?(\d{4,})[.,](\d*)$/.exec(cell) ?? []
  if (whole !== undefined && (!/^0*$/.test(fraction ?? '') || !/^1?\d{10}$/.test(whole))) {
    return invalid('must be ten digits; it has lost some as a decimal number')
  }
  const parsed = parseDialString(whole ?? cell)
  return parsed.kind === 'nanp' ? parsed.number : invalid('must be ten digits')
}

/** Copied numbers may contain Unicode dashes and invisible marks. */
function clean(text: string): string {
  return text
    .replace(/[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g, '-')
    .replace(/[\p{Cf}]/gu, '')
    .trim()
    .replace(/^'(?=[\d(+])|^="([^"]*)"$/, '$1')
}

/** Splits a cell that has several numbers and nothing else; returns any other cell whole. */
export function splitNumbers(cell: string): readonly string[] {
  if (cell.length < 20 || isTelephone(cell)) return [cell]
  for (const separator of [/[,;|/\n]/, /\s+/]) {
    const parts = cell
      .split(separator)
      .map((part) => part.trim())
      .filter((part) => part !== '')
    if (parts.length > 1 && parts.every(isTelephone)) return parts
  }
  return [cell]
}

/** One number or several, and nothing else. */
export function hasOnlyNumbers(cell: string): boolean {
  return isTelephone(cell) || splitNumbers(cell).length > 1
}

/** Whether longer text has a number, such as "call 212-555-0101 instead". */
const numberInText =
  /(?<![\d.-])(?:\+?1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-]?)[2-9]\d\d[ .-]?\d{4}(?![\d.]|-\d)/

export function hasNumberInText(cell: string): boolean {
  return cell.length > 10 && numberInText.test(cell)
}
