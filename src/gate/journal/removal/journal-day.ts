/**
 * What day it is for everything that is removed by age. The clock may be years ahead, so it is the earliest of the last days on
 * which the journal was written.
 */
import { join } from 'node:path'
import type { Instant } from '../../../domain/time/clock.js'
import { msPerDay, toUtcDay } from '../../../domain/time/dates.js'
import { isFolder } from '../../../runtime/folders.js'
import { yieldToEventLoop } from '../../../runtime/yield-to-event-loop.js'
import { listSegments, readSegmentHeader } from '../journal-reader.js'

/** A clock that is wrong for less than this removes nothing. */
const daysOfClock = 8

/** `undefined` while there are fewer days. */
export function findToday(daysFromNewest: Iterable<number>): number | undefined {
  const days = new Set<number>()
  for (const day of daysFromNewest) {
    days.add(day)
    if (days.size === daysOfClock) return Math.min(...days)
  }
  return undefined
}

/** Gives the beginning of the earliest of the last days on which the journal was written, `undefined` while it has fewer. */
export type FindToday = (days?: number) => Promise<Instant | undefined>

/** Of thousands of segments, most are read once. */
export function createFindToday(dataDir: string): FindToday {
  const folder = join(dataDir, 'journal')
  /** By the number of the first record. */
  const dayOf = new Map<number, number>()
  return async (count = daysOfClock) => {
    if (!isFolder(folder)) return undefined
    const days = new Set<number>()
    for (const { path, firstSeq } of listSegments(folder).toReversed()) {
      const day = dayOf.get(firstSeq) ?? (await readDay(path))
      if (day === undefined) continue
      dayOf.set(firstSeq, day)
      days.add(day)
      if (days.size === count) return Math.min(...days) * msPerDay
    }
    return undefined
  }
}

async function readDay(path: string): Promise<number | undefined> {
  await yieldToEventLoop()
  const header = readSegmentHeader(path)
  return header && toUtcDay(header.createdAt)
}
