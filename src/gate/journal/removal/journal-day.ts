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

/** Takes days from the newest on, and gives what day it is once there are enough. */
export function createDayCounter(count = daysOfClock): (day: number) => number | undefined {
  const days = new Set<number>()
  return (day) => {
    days.add(day)
    return days.size === count ? Math.min(...days) : undefined
  }
}

/** Gives the beginning of the earliest of the last days on which the journal was written, `undefined` while it has fewer. */
export type FindToday = (days?: number) => Promise<Instant | undefined>

/** Reads the header of each segment once. */
export function createFindToday(dataDir: string): FindToday {
  const folder = join(dataDir, 'journal')
  /** By the number of the first record. */
  const dayOf = new Map<number, number>()
  return async (count) => {
    if (!isFolder(folder)) return undefined
    const addDay = createDayCounter(count)
    for (const { path, firstSeq } of listSegments(folder).toReversed()) {
      const day = dayOf.get(firstSeq) ?? (await readDay(path))
      if (day === undefined) continue
      dayOf.set(firstSeq, day)
      const today = addDay(day)
      if (today !== undefined) return today * msPerDay
    }
    return undefined
  }
}

async function readDay(path: string): Promise<number | undefined> {
  await yieldToEventLoop()
  const header = readSegmentHeader(path)
  return header && toUtcDay(header.createdAt)
}
