/** Validates and stores a project's own calling hours for one region. */

import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay, parseDay } from '../../domain/time/dates.js'
import { parseDayWindow } from '../../domain/time/week-windows.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import { findRegionCountry } from '../../law/area-codes.js'
import type { Db, ProjectHoursRow } from '../../storage/tables.js'

/** Day parts are `HH:MM-HH:MM`, or `none` (also `00:00-00:00`) for no calls. */
export interface HoursInput {
  readonly monFri: string
  readonly sat: string
  readonly sun: string
  /** First and last local day, both inclusive, `YYYY-MM-DD`; absent means unlimited. */
  readonly effectiveFrom?: string | undefined
  readonly effectiveUntil?: string | undefined
}

/** The row to store. Throws {@link AppError} that lists every field that breaks a rule. */
export function readProjectHours(
  project: { readonly accountId: string; readonly code: string },
  region: string,
  input: HoursInput,
): ProjectHoursRow {
  const problems: FieldProblem[] = []
  const known = region.trim().toUpperCase()
  if (!findRegionCountry(known)) {
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
  const rule = "must be HH:MM-HH:MM with the end after the start, or 'none'"
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
 * Stores the hours, replacing those with the same region and first day. A row that overlaps another one
 * is refused, since two rows for one day would be ambiguous.
 */
export async function replaceProjectHours(db: Db, row: ProjectHoursRow): Promise<void> {
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
  const other = others.find((candidate) => hasOverlap(candidate, row))
  if (other) {
    const rule = `overlaps the hours of ${row.region} from ${other.effective_from ?? 'the beginning'} to ${other.effective_until ?? 'further notice'}`
    throw invalidRequest([{ field: 'effectiveFrom', value: row.effective_from ?? undefined, rule }])
  }
  await db.insertInto('project_hours').values(row).execute()
}

/** Removes all hours of the region, so that the legal hours apply again. Throws when there are none. */
export async function removeProjectHours(
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
  const rule = 'is not a region with project hours'
  throw invalidRequest([{ field: 'region', value: region, rule }])
}

/** Days are `YYYY-MM-DD`, so their text order is their order. */
function hasOverlap(a: ProjectHoursRow, b: ProjectHoursRow): boolean {
  return startsBeforeEnd(a, b) && startsBeforeEnd(b, a)
}

function startsBeforeEnd(a: ProjectHoursRow, b: ProjectHoursRow): boolean {
  const { effective_from: from } = a
  const { effective_until: until } = b
  return from === null || until === null || from <= until
}
