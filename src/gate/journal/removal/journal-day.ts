/**
 * What day it is for everything that is removed by age. The clock may be years ahead, so it is the earliest of the last days on
 * which the journal was written.
 */
import { join } from 'node:path'
import type { Instant } from '../../../domain/time/clock.js'
import { msPerDay, toUtcDay } from '../../../domain/time/dates.js'
import { isFolder } from '../../../runtime/folders.js'
import { listSegments, readSegmentHeader } from '../journal-reader.js'

/** A clock that is wrong for less than this removes nothing. */
const daysOfClock = 8

/** `undefined` while there are fewer days. */
export function findToday(
  daysFromNewest: Iterable<number>,
  count: number = daysOfClock,
): number | undefined {
  const days = new Set<number>()
  for (const day of daysFromNewest) {
    days.add(day)
    if (days.size === count) return Math.min(...days)
  }
  return undefined
}

/** Gives the beginning of the earliest of the last days on which the journal was written, `undefined` while it has fewer. */
export type FindToday = (days?: number) => Instant | undefined

export function createFindToday(dataDir: string): FindToday {
  return (count) => {
    const today = findToday(listDays(join(dataDir, 'journal')), count)
    return today === undefined ? undefined : today * msPerDay
  }
}

function* listDays(folder: string): Iterable<number> {
  if (!isFolder(folder)) return
  for (const { path } of listSegments(folder).toReversed()) {
    const header = readSegmentHeader(path)
    if (header) yield toUtcDay(header.createdAt)
  }
}
