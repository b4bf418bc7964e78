/** Imports made-up feeds into a temporary folder and opens what comes of it. */
import { utimesSync } from 'node:fs'
import { type FactFeedName, factFeeds } from '../../src/data/facts/fact-feeds.js'
import { type FactImportOptions, importFacts } from '../../src/data/facts/fact-import.js'
import { fixedClock, type Instant } from '../../src/domain/time/clock.js'
import { parseInstant } from '../../src/domain/time/dates.js'
import type { TempFolder } from './temp-folder.js'

export function at(text: string): Instant {
  const instant = parseInstant(text)
  if (instant === undefined) throw new Error(text)
  return instant
}

export const day = (text: string) => at(text) / 86_400_000

export const now = at('2026-11-20T12:00:00Z')

export type More = Partial<Omit<FactImportOptions, 'feed'>>

/** `write` gives a downloaded file, `load` imports it, `facts` is the folder of the fact files. */
export function factImports(folder: TempFolder) {
  const write = (name: string, content: string | Buffer, written = '2026-11-18T08:00:00Z') => {
    const path = folder.write(name, content)
    utimesSync(path, at(written) / 1000, at(written) / 1000)
    return path
  }
  const load = (feed: FactFeedName, files: readonly string[], more: More = {}) =>
    importFacts({
      feed: factFeeds[feed],
      files,
      folder: folder.file('facts'),
      clock: fixedClock(now),
      ...more,
    })
  return {
    write,
    load,
    get facts() {
      return folder.file('facts')
    },
    /** Imports text as a file of its own. */
    text: (feed: FactFeedName, content: string, more: More = {}) =>
      load(feed, [write(`${feed}-2026-11-18.csv`, content)], more),
  }
}
