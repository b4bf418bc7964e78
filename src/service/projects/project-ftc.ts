/** Reads what an operator records of the federal registry's answer about a subscription. */
import { formatDay, parseDay } from '../../domain/clock.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import type { FtcStatus } from '../../storage/tables.js'
import { brokenFederalId } from './project-input.js'
import type { ProjectChange } from './project-write.js'

/** Absent ids are unchanged, blank ones cleared; anything else that is absent is not known. */
export interface FtcFacts {
  readonly status: FtcStatus
  readonly orgId?: string | undefined
  readonly san?: string | undefined
  /** The registry's own words. */
  readonly message?: string | undefined
  /** Last day of the subscription, `YYYY-MM-DD`. */
  readonly expiration?: string | undefined
  /** The subscription covers every area code. */
  readonly entireUs?: boolean | undefined
  /** Those it covers otherwise. */
  readonly areaCodes?: readonly string[] | undefined
}

const longestMessage = 500

/** The columns to store. Throws {@link AppError} listing every field that breaks a rule. */
export function readFtcFacts(facts: FtcFacts, today: string): ProjectChange {
  const problems: FieldProblem[] = []
  const report: Report = (field, value, rule) => void problems.push({ field, value, rule })
  const orgId = readId('orgId', facts, report)
  const san = readId('san', facts, report)
  const columns = {
    ...(orgId !== undefined && { org_id: orgId }),
    ...(san !== undefined && { san }),
    ftc_status: facts.status,
    ftc_message: readMessage(facts, report),
    ftc_expires_on: readExpiration(facts, today, report),
    ftc_entire_us: facts.entireUs ? 1 : 0,
    ftc_area_codes: readAreaCodes(facts, report),
  }
  if (problems.length > 0) throw invalidRequest(problems)
  return columns
}

type Report = (field: keyof FtcFacts, value: string | undefined, rule: string) => void

function readId(
  field: 'orgId' | 'san',
  facts: FtcFacts,
  report: Report,
): string | null | undefined {
  const id = facts[field]?.trim()
  if (id === undefined) return undefined
  const rule = brokenFederalId(id)
  if (rule !== undefined) report(field, id, rule)
  return id || null
}

function readMessage({ message = '' }: FtcFacts, report: Report): string | null {
  if (message.length > longestMessage || /[^\P{Cc}\t\r\n]/u.test(message)) {
    report('message', message, `must be text of at most ${longestMessage} characters`)
  }
  return message.trim() || null
}

function readExpiration(
  { expiration, status }: FtcFacts,
  today: string,
  report: Report,
): string | null {
  if (expiration === undefined) return null
  const day = parseDay(expiration.trim())
  const text = day === undefined ? undefined : formatDay(day)
  if (text === undefined) report('expiration', expiration, 'must be a date, YYYY-MM-DD')
  else if (status === 'validated' && text < today) {
    report('expiration', expiration, 'is over; record status expired')
  }
  return text ?? null
}

function readAreaCodes({ areaCodes = [], entireUs }: FtcFacts, report: Report): string {
  const codes = [...new Set(areaCodes.map((code) => code.trim()))].sort()
  const malformed = codes.filter((code) => !/^[2-9]\d{2}$/.test(code))
  if (malformed.length > 0) {
    report('areaCodes', malformed.join(','), 'must be area codes of three digits')
  }
  if (entireUs && codes.length > 0) {
    report('areaCodes', codes.join(','), 'says less than the entire US; give one of them')
  }
  return codes.join(',')
}
