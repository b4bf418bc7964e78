/**
 * Relationship and consent records as fields of an address or a form, one field for each value:
 *
 *     1!ColValue.phoneNumber=2125550101&1!ColValue.dateOfLastContact=11/1/2026&1!ColValue.type=S
 *
 * The older form of `ebrList`. What its clients write is put into the words of the spec's EBR record
 * here; everything else about a record is for the subject to judge.
 */
import type { EbrWireRecord } from './ebr-record.js'

/** The field that stands for all `<n>!ColValue.` fields of a request. */
export const columnField = 'ColValue'

/** `N` is the newspaper trial; the spec calls it `T`. */
const newspaperTrial = 'N'

/** One record as the spec has it: what is empty, and a day of the year 1, is not given. */
export function specRecord(columns: EbrWireRecord): EbrWireRecord {
  const given = Object.entries(columns).filter(([, value]) => value !== '')
  const { type, dateOfLastContact, dateObligationEnds, ...record } = Object.fromEntries(given)
  return {
    ...record,
    type: specType(type),
    dateOfLastContact: specDay(dateOfLastContact),
    dateObligationEnds: specDay(dateObligationEnds),
  }
}

function specType(type: unknown): unknown {
  if (typeof type !== 'string') return type
  const letter = type.trim().toUpperCase()
  return letter === newspaperTrial ? 'T' : letter
}

const slashed = /^(\d{1,2})\/(\d{1,2})\/(\d{2}|\d{4})(?:\s+\d{1,2}:\d{2}:\d{2}(?:\s*[AP]M)?)?$/i

/** `M/D/YYYY` of `M/D/YY` and of `M/D/YYYY h:mm:ss AM`; whatever else stays as it is. */
function specDay(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const [, month, day, year = ''] = slashed.exec(value.trim()) ?? []
  if (year === '0001' || value.trim().startsWith('0001-')) return undefined
  // 12/31/99 is no day of this century that anybody means, and which other one is a guess.
  if (month === undefined || (year.length === 2 && Number(year) >= 70)) return value
  return `${month}/${day}/${year.length === 2 ? `20${year}` : year}`
}
