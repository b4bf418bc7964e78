/** Whether own hours of a project allow more than others, as a change that may need a second person. */
import { formatDay, parseDay } from '../../domain/time/dates.js'
import { parseDayWindow } from '../../domain/time/week-windows.js'
import type { ProjectHoursRow } from '../../storage/tables.js'
import type { ChangeToMake } from '../changes/change-requests.js'

export type OwnHours = Pick<
  ProjectHoursRow,
  'mon_fri' | 'sat' | 'sun' | 'effective_from' | 'effective_until'
>

const beginning = '0000-01-01'
const parts = ['mon_fri', 'sat', 'sun'] as const

/**
 * Of one region. On days without own hours the law holds alone, which own hours can only narrow unless projects may widen it; so to have
 * none any more is wider, and to have some for the first time only with `mayWidenLaw`.
 */
export function isWider(
  before: readonly OwnHours[],
  after: readonly OwnHours[],
  { mayWidenLaw }: { readonly mayWidenLaw: boolean },
): boolean {
  const boundaries = [...before, ...after].flatMap(({ effective_from: from, effective_until }) => [
    from ?? beginning,
    ...(effective_until === null ? [] : [findDayAfter(effective_until)]),
  ])
  return [beginning, ...boundaries].some((day) => {
    const [old, next] = [findOn(before, day), findOn(after, day)]
    if (!old) return mayWidenLaw && next !== undefined && parts.some((part) => isOpen(next[part]))
    if (!next) return true
    return parts.some((part) => !isWithin(next[part], old[part]))
  })
}

const findDayAfter = (day: string) => formatDay((parseDay(day) ?? 0) + 1)

/** Days are `YYYY-MM-DD`, so their text order is their order. */
const findOn = (rows: readonly OwnHours[], day: string) =>
  rows.find(
    ({ effective_from: from, effective_until: until }) =>
      (from === null || from <= day) && (until === null || day <= until),
  )

const isOpen = (window: string) => window !== 'none'

function isWithin(inner: string, outer: string): boolean {
  const [a, b] = [parseDayWindow(inner), parseDayWindow(outer)]
  if (!a) return !isOpen(inner)
  return b !== undefined && a.start >= b.start && a.end <= b.end
}

interface HoursChange {
  readonly code: string
  readonly region: string
  /** Absent if all are removed. */
  readonly row?: OwnHours | undefined
  readonly reason?: string | undefined
}

export function toHoursChange({ code, region, row, reason }: HoursChange): ChangeToMake {
  const hours = row
    ? {
        ...{ monFri: row.mon_fri, sat: row.sat, sun: row.sun },
        effectiveFrom: row.effective_from ?? undefined,
        effectiveUntil: row.effective_until ?? undefined,
      }
    : { remove: true }
  const what = row ? 'wider hours' : 'no own hours any more'
  return {
    kind: 'widen-hours',
    what: `${what} of project ${code} in ${region}`,
    endpoint: 'project-hours',
    request: { code, region, ...hours, reason },
    reason,
  }
}
