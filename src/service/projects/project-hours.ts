/** A project's own calling hours for one region: what may be set, and writing it. */
import { countryOfRegion } from '../../data/numbering/area-codes.js'
import { formatDay, type LocalDay, parseDay } from '../../domain/clock.js'
import { parseDayWindow } from '../../domain/week-windows.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import type { Db, ProjectHoursRow } from '../../storage/tables.js'

/** Day parts are `HH:MM-HH:MM`, or `none` (also `00:00-00:00`) for no calls. */
export interface HoursInput {
  readonly monFri: string
  readonly sat: string
  readonly sun: string
  /** First and last local day, both inclusive, `YYYY-MM-DD`; absent is open. */
  readonly effectiveFrom?: string | undefined
  readonly effectiveUntil?: string | undefined
}

/** The row to store. Throws {@link AppError} that lists every field that breaks a rule. */
export function readHours(
  project: { readonly accountId: string; readonly code: string },
  region: string,
  input: HoursInput,
): ProjectHoursRow {
  const problems: FieldProblem[] = []
  const known = region.trim().toUpperCase()
  if (!countryOfRegion(known)) {
    const rule = 'must be a two-letter state, territory or province of the US or Canada'
    problems.push({ field: 'region', value: region, rule })
  }
  const from = readDay('effectiveFrom', input.effectiveFrom, problems)
  const until = readDay('effectiveUntil', input.effectiveUntil, problems)
  if (from !== undefined && until !== undefined && from > until) {
    const rule = 'must not be before effectiveFrom'
    problems.push({ field: 'effectiveUntil', value: input.effectiveUntil, rule })
  }
  const row = {
    account_id: project.accountId,
    project_code: project.code,
    region: known,
    mon_fri: readWindow('monFri', input.monFri, problems),
    sat: readWindow('sat', input.sat, problems),
    sun: readWindow('sun', input.sun, problems),
    effective_from: from === undefined ? null : formatDay(from),
    effective_until: until === undefined ? null : formatDay(until),
  }
  if (problems.length > 0) throw invalidRequest(problems)
  return row
}

function readWindow(field: string, text: string, problems: FieldProblem[]): string {
  const window = text.trim()
  if (window === 'none' || window === '00:00-00:00') return 'none'
  if (parseDayWindow(window)) return window
  const rule = "must be HH:MM-HH:MM, the end after the start, or 'none'"
  problems.push({ field, value: text, rule })
  return 'none'
}

function readDay(
  field: string,
  text: string | undefined,
  problems: FieldProblem[],
): LocalDay | undefined {
  if (text === undefined) return undefined
  const day = parseDay(text.trim())
  if (day === undefined) problems.push({ field, value: text, rule: 'must be a date, YYYY-MM-DD' })
  return day
}

/**
 * Stores the hours in place of those of the same region and first day. Two rows that hold on one
 * day would leave open which counts, so a row that overlaps another is refused.
 */
export async function replaceHours(db: Db, row: ProjectHoursRow): Promise<void> {
  const sameStart = row.effective_from
  await db
    .deleteFrom('project_hours')
    .where('account_id', '=', row.account_id)
    .where('project_code', '=', row.project_code)
    .where('region', '=', row.region)
    .where('effective_from', sameStart === null ? 'is' : '=', sameStart)
    .execute()
  const others = await db
    .selectFrom('project_hours')
    .selectAll()
    .where('account_id', '=', row.account_id)
    .where('project_code', '=', row.project_code)
    .where('region', '=', row.region)
    .execute()
  const other = others.find((candidate) => overlap(candidate, row))
  if (other) {
    const rule = `overlaps the hours of ${row.region} that hold from ${other.effective_from ?? 'the beginning'} to ${other.effective_until ?? 'further notice'}`
    throw invalidRequest([{ field: 'effectiveFrom', value: row.effective_from ?? undefined, rule }])
  }
  await db.insertInto('project_hours').values(row).execute()
}

/** Takes all hours of the region away; those of the law hold again. Throws when there are none. */
export async function removeHours(
  db: Db,
  project: { readonly accountId: string; readonly code: string },
  region: string,
): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('project_hours')
    .where('account_id', '=', project.accountId)
    .where('project_code', '=', project.code)
    .where('region', '=', region.trim().toUpperCase())
    .executeTakeFirst()
  if (numDeletedRows > 0n) return
  const rule = 'is no region for which the project has hours of its own'
  throw invalidRequest([{ field: 'region', value: region, rule }])
}

/** Days are `YYYY-MM-DD`, so their text order is their order. */
function overlap(one: ProjectHoursRow, other: ProjectHoursRow): boolean {
  return startsBeforeEnd(one, other) && startsBeforeEnd(other, one)
}

function startsBeforeEnd(one: ProjectHoursRow, other: ProjectHoursRow): boolean {
  const { effective_from: from } = one
  const { effective_until: until } = other
  return from === null || until === null || from <= until
}
