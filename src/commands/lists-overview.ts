/**
 * What data is imported, how old it is and whether it can be used. Without `verify` only the heads of
 * files are read, which is quick at any size and does not find damage in the middle.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../config.js'
import {
  type FactFeedName,
  factFeedNames,
  factFeeds,
  factFilePath,
} from '../data/facts/fact-feeds.js'
import { type ListAges, listAges } from '../data/number-list/list-ages.js'
import {
  isReadByChecks,
  litigatorListName,
  nationalListNames,
} from '../data/number-list/list-names.js'
import { openNumberListInBackground } from '../data/number-list/number-list.js'
import {
  numberListExtension,
  readNumberListHeader,
} from '../data/number-list/number-list-format.js'
import { readBlockFile } from '../data/numbering/block-file.js'
import { ocnFilePath, readOcnClasses } from '../data/numbering/line-class.js'
import { readPrefixFile } from '../data/numbering/prefix-file.js'
import { factsFolder, listsFolder, numberingFolder } from '../data-folders.js'
import { formatInstant, type Instant } from '../domain/clock.js'
import type { ListVersion } from '../domain/number-set.js'
import { DataFileError } from '../errors.js'
import { openFactFile, verifyFactFile } from '../storage/fact-file.js'
import type { FactRow, FactShape } from '../storage/fact-shape.js'

/** `unread`: no check asks for it. `in-use`: it has no age of its own. */
export type DataState = 'fresh' | 'soon-stale' | 'stale' | 'damaged' | 'unread' | 'in-use'

/** One list, country or feed; what a damaged file cannot tell is `null`. */
export interface DataRow {
  readonly name: string
  readonly entries: number | null
  /** ISO 8601, and whole days since then; `null` too where the data does not say. */
  readonly asOf: string | null
  readonly ageDays: number | null
  /** ISO 8601. */
  readonly importedAt: string | null
  readonly version: string | null
  readonly state: DataState
  /** Days it may be old, and the last instant it answers; `null` without a limit. */
  readonly maxAgeDays: number | null
  readonly usableUntil: string | null
  /** Why it cannot be used. */
  readonly problem: string | null
}

export interface DataOverview {
  readonly lists: readonly DataRow[]
  readonly numbering: readonly DataRow[]
  readonly facts: readonly DataRow[]
  /** Lists a check needs that are not imported. */
  readonly missing: readonly string[]
}

export interface OverviewOptions {
  readonly settings: Settings
  readonly now: Instant
  /** Read and check every byte. */
  readonly verify: boolean
}

export async function dataOverview(options: OverviewOptions): Promise<DataOverview> {
  const { settings } = options
  const lists = await listRows(options)
  const needed = [...Object.values(nationalListNames), litigatorListName]
  const expected = settings.source.kind === 'remote' ? [] : needed
  return {
    lists,
    numbering: numberingRows(options),
    facts: factRows(options),
    missing: expected.filter((name) => !lists.some((row) => row.name === name)),
  }
}

/** Whether somebody has to act: a file cannot be used, or a list is so old that it answers nothing. */
export function needsAction({ lists, numbering, facts }: DataOverview): boolean {
  const rows = [...lists, ...numbering, ...facts]
  return rows.some(({ state }) => state === 'damaged' || state === 'stale')
}

const blank = {
  ...{ entries: null, asOf: null, ageDays: null, importedAt: null, version: null },
  ...{ maxAgeDays: null, usableUntil: null, problem: null },
} as const

function damaged(name: string, cause: unknown): DataRow {
  const problem = cause instanceof Error ? cause.message : String(cause)
  return { ...blank, name, state: 'damaged', problem }
}

/** When the content was true and when it was imported, as far as the file says. */
interface Times {
  readonly asOf?: Instant | undefined
  readonly importedAt?: Instant | undefined
}

function timesOf(
  { asOf, importedAt }: Times,
  now: Instant,
): Pick<DataRow, 'asOf' | 'ageDays' | 'importedAt'> {
  return {
    asOf: asOf === undefined ? null : formatInstant(asOf),
    ageDays: asOf === undefined ? null : Math.floor((now - asOf) / 86_400_000),
    importedAt: importedAt === undefined ? null : formatInstant(importedAt),
  }
}

async function listRows({ settings, now, verify }: OverviewOptions): Promise<DataRow[]> {
  const folder = listsFolder(settings)
  const ages = listAges(settings.lists)
  const rows: DataRow[] = []
  for (const file of listFilesIn(folder)) {
    const name = file.slice(0, -numberListExtension.length)
    try {
      const path = join(folder, file)
      const list = verify ? await openNumberListInBackground(path) : readNumberListHeader(path)
      if (list.name !== name) throw new DataFileError(path, `holds the list '${list.name}'`)
      rows.push(listRow(list, { ages, now }))
    } catch (cause) {
      rows.push(damaged(name, cause))
    }
  }
  return rows
}

function listFilesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith(numberListExtension) && !file.startsWith('.'))
    .sort()
}

interface ListHead extends ListVersion {
  readonly size: number
  readonly importedAt: Instant
}

function listRow(
  list: ListHead,
  { ages, now }: { readonly ages: ListAges; readonly now: Instant },
): DataRow {
  const { name, size, version } = list
  const maxAgeDays = ages.maxAgeDays(name) ?? null
  return {
    ...{ ...blank, name, entries: size, version, ...timesOf(list, now) },
    state: isReadByChecks(name) ? ages.stateOf(list, now) : 'unread',
    maxAgeDays,
    usableUntil: maxAgeDays === null ? null : formatInstant(ages.staleAt(list) - 1),
  }
}

/** A file that is read whole, or only its head where it is large. */
interface DataFile {
  readonly name: string
  /** `undefined` where there is no such file. */
  readonly read: () => (Times & { readonly entries: number }) | undefined
}

function numberingRows({ settings, now }: OverviewOptions): DataRow[] {
  const folder = numberingFolder(settings)
  const country = (name: 'US' | 'CA'): DataFile => ({
    name,
    read: () => {
      const file = readPrefixFile(folder, name)
      return file && { ...file, entries: file.prefixes.length }
    },
  })
  const blocks = () => {
    const file = readBlockFile(folder)
    return file && { importedAt: file.importedAt, entries: file.blocks.length }
  }
  const ocn = () =>
    existsSync(ocnFilePath(folder)) ? { entries: readOcnClasses(folder).size } : undefined
  return [
    country('US'),
    country('CA'),
    { name: 'blocks', read: blocks },
    { name: 'ocn', read: ocn },
  ].flatMap((file) => dataRow(file, now))
}

function dataRow({ name, read }: DataFile, now: Instant): DataRow[] {
  try {
    const found = read()
    if (!found) return []
    const { entries } = found
    return [{ ...blank, name, entries, ...timesOf(found, now), state: 'in-use' }]
  } catch (cause) {
    return [damaged(name, cause)]
  }
}

function factRows({ settings, now, verify }: OverviewOptions): DataRow[] {
  const folder = factsFolder(settings)
  const read = (name: FactFeedName) => {
    const path = factFilePath(folder, name)
    if (!existsSync(path)) return undefined
    const shape: FactShape<FactRow> = factFeeds[name].shape
    const file = openFactFile(path, shape)
    file.close()
    if (verify) verifyFactFile(path, file.info.entries)
    return file.info
  }
  return factFeedNames.flatMap((name) => dataRow({ name, read: () => read(name) }, now))
}
