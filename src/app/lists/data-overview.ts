/**
 * Lists the imported data with its age and state. Without `verify` only the headers of files are
 * read, which is fast at any size but does not find damage in the middle.
 */
import type { Settings } from '../../config/settings.js'
import {
  type FactFeedName,
  factFeedNames,
  factFeeds,
  resolveFactFilePath,
} from '../../data/facts/fact-feeds.js'
import { readCheckedHeader } from '../../data/files/checked-file.js'
import { openNumberListInBackground } from '../../data/number-list/format/number-list.js'
import {
  readNumberListHeader,
  toVersion,
} from '../../data/number-list/format/number-list-format.js'
import { createListAges, type ListAges } from '../../data/number-list/list-ages.js'
import {
  isUsedByChecks,
  litigatorListName,
  nationalListNames,
  splitListName,
} from '../../data/number-list/list-names.js'
import { findListNames, resolveListPath, toNamePrefix } from '../../data/number-list/list-paths.js'
import type { ListInForce } from '../../data/number-list/list-store.js'
import { ocnFileKind, readOcnClasses, resolveOcnFilePath } from '../../data/numbering/line-class.js'
import {
  getTableFileKind,
  numberingTableNames,
  readNumberingTable,
  resolveTablePath,
} from '../../data/numbering/numbering-table.js'
import {
  isNumberingFileName,
  type NumberingFileName,
} from '../../data/numbering/published-numbering.js'
import type { ListVersion } from '../../domain/number-set.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../domain/time/dates.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { isPresent } from '../../runtime/folders.js'
import { openFactFile, verifyFactFile } from '../../storage/facts/fact-file.js'
import type { FactFileSchema, FactRow } from '../../storage/facts/fact-file-schema.js'
import { getFactsFolder, getListsFolder, getNumberingFolder } from '../data-folders.js'

/** `not-in-force`: another version is. `unread`: no check uses the data. `in-use`: the data has no maximum age. */
type DataState = 'fresh' | 'soon-stale' | 'stale' | 'damaged' | 'not-in-force' | 'unread' | 'in-use'

/** One list, country or feed; facts that a damaged file does not give are `null`. */
export interface DataRow {
  readonly name: string
  readonly entries: number | null
  /** ISO 8601; also `null` if the data has no date. `ageDays` is in whole days. */
  readonly asOf: string | null
  readonly ageDays: number | null
  /** ISO 8601. */
  readonly importedAt: string | null
  readonly version: string | null
  readonly state: DataState
  /** Maximum age in days, and the last instant the list is used; `null` without a limit. */
  readonly maxAgeDays: number | null
  readonly usableUntil: string | null
  /** Why it cannot be used. */
  readonly problem: string | null
  /** The version of the list that is in force on all servers; `null` if they do not share it. */
  readonly inForce: string | null
}

export interface DataOverview {
  readonly lists: readonly DataRow[]
  readonly numbering: readonly DataRow[]
  readonly facts: readonly DataRow[]
  /** Lists that the checks need but that are not imported for account main. */
  readonly missing: readonly string[]
}

export interface OverviewOptions {
  readonly settings: Settings
  readonly now: Instant
  /** Whether to read and check every byte. */
  readonly verify: boolean
  /** Of the lists that several servers share. */
  readonly inForce: readonly ListInForce[]
}

export async function readDataOverview(options: OverviewOptions): Promise<DataOverview> {
  const { settings } = options
  const ofLists = options.inForce.filter(({ name }) => !isNumberingFileName(name))
  const ofNumbering = options.inForce.flatMap((version) =>
    isNumberingFileName(version.name) ? { ...version, name: numberingRowNames[version.name] } : [],
  )
  const lists = addInForce(await listRows(options), ofLists)
  const needed = [...Object.values(nationalListNames), litigatorListName]
  const expected = settings.source.kind === 'remote' ? [] : needed
  return {
    lists,
    numbering: addInForce(numberingRows(options), ofNumbering),
    facts: factRows(options),
    missing: expected.filter((name) => !lists.some((row) => row.name === name)),
  }
}

const requiringAction: ReadonlySet<DataState> = new Set(['damaged', 'stale', 'not-in-force'])

/** Whether an operator must act: a file is damaged, a list has exceeded its maximum age, or another version is in force. */
export function requiresAction({ lists, numbering, facts }: DataOverview): boolean {
  const rows = [...lists, ...numbering, ...facts]
  return rows.some(({ state }) => requiringAction.has(state))
}

const blankRow = {
  entries: null,
  asOf: null,
  ageDays: null,
  importedAt: null,
  version: null,
  maxAgeDays: null,
  usableUntil: null,
  problem: null,
  inForce: null,
} as const

function toDamagedRow(name: string, cause: unknown): DataRow {
  const problem = getErrorMessage(cause)
  return { ...blankRow, name, state: 'damaged', problem }
}

/** The as-of date of the content and the time of its import, if the file has them. */
interface ContentTimes {
  readonly asOf?: Instant | undefined
  readonly importedAt?: Instant | undefined
}

function formatTimes(
  { asOf, importedAt }: ContentTimes,
  now: Instant,
): Pick<DataRow, 'asOf' | 'ageDays' | 'importedAt'> {
  return {
    asOf: asOf === undefined ? null : formatInstant(asOf),
    ageDays: asOf === undefined ? null : Math.floor((now - asOf) / msPerDay),
    importedAt: importedAt === undefined ? null : formatInstant(importedAt),
  }
}

async function listRows({ settings, now, verify }: OverviewOptions): Promise<DataRow[]> {
  const folder = getListsFolder(settings)
  const ages = createListAges(settings.lists)
  const rows: DataRow[] = []
  const { names, failures } = findListNames(folder)
  for (const [path, cause] of failures) rows.push(toDamagedRow(toNamePrefix(folder, path), cause))
  for (const name of [...names].sort()) {
    const { list: expected } = splitListName(name)
    try {
      const path = resolveListPath(folder, name)
      const list = verify ? await openNumberListInBackground(path) : readNumberListHeader(path)
      if (list.name !== expected)
        throw new DataFileError(path, `contains the list '${list.name}' instead of '${expected}'`)
      const { version, asOf, size, importedAt } = list
      rows.push(toListRow({ name, version, asOf, size, importedAt }, { ages, now }))
    } catch (cause) {
      rows.push(toDamagedRow(name, cause))
    }
  }
  return rows
}

/** Files that are in force and missing are added. */
function addInForce(rows: readonly DataRow[], inForce: readonly ListInForce[]): readonly DataRow[] {
  if (inForce.length === 0) return rows
  const added = new Map(rows.map((row) => [row.name, row]))
  for (const { name, version, whenMissing: problem } of inForce) {
    const row = added.get(name) ?? { ...blankRow, name, state: 'not-in-force' }
    const isInForce = row.version === version
    added.set(name, {
      ...row,
      inForce: version,
      ...(!isInForce && { state: 'not-in-force', problem: row.problem ?? problem }),
    })
  }
  return [...added.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
}

interface ListHead extends ListVersion {
  readonly size: number
  readonly importedAt: Instant
}

function toListRow(
  list: ListHead,
  { ages, now }: { readonly ages: ListAges; readonly now: Instant },
): DataRow {
  const { name, size, version } = list
  const maxAgeDays = ages.findMaxAgeDays(name) ?? null
  return {
    ...blankRow,
    name,
    entries: size,
    version,
    ...formatTimes(list, now),
    state: isUsedByChecks(name) ? ages.findState(list, now) : 'unread',
    maxAgeDays,
    usableUntil: maxAgeDays === null ? null : formatInstant(ages.computeStaleAt(list) - 1),
  }
}

/** A data file and how to read it; of large files only the header is read. */
interface DataFileReader {
  readonly name: string
  /** `undefined` when there is no such file. */
  readonly read: () =>
    | (ContentTimes & { readonly entries: number; readonly version?: string })
    | undefined
}

/** By the names under which they are published. */
const numberingRowNames: Readonly<Record<NumberingFileName, string>> = {
  'numbering-us': 'US',
  'numbering-ca': 'CA',
  'blocks-us': 'blocks',
  ocn: 'ocn',
}

function numberingRows({ settings, now }: OverviewOptions): DataRow[] {
  const folder = getNumberingFolder(settings)
  const tables = numberingTableNames.map((name): DataFileReader => {
    const read = () => {
      const table = readNumberingTable(folder, name)
      if (!table) return undefined
      const { digest } = readCheckedHeader(resolveTablePath(folder, name), getTableFileKind(name))
      return { ...table, entries: table.keys.length, version: toVersion(digest) }
    }
    return { name, read }
  })
  const ocn = () => {
    const path = resolveOcnFilePath(folder)
    if (!isPresent(path)) return undefined
    const version = toVersion(readCheckedHeader(path, ocnFileKind).digest)
    return { entries: readOcnClasses(folder).size, version }
  }
  return [...tables, { name: 'ocn', read: ocn }].flatMap((file) => toDataRow(file, now))
}

function toDataRow({ name, read }: DataFileReader, now: Instant): DataRow[] {
  try {
    const file = read()
    if (!file) return []
    const { entries, version = null } = file
    const times = formatTimes(file, now)
    return [{ ...blankRow, name, entries, version, ...times, state: 'in-use' }]
  } catch (cause) {
    return [toDamagedRow(name, cause)]
  }
}

function factRows({ settings, now, verify }: OverviewOptions): DataRow[] {
  const folder = getFactsFolder(settings)
  const read = (name: FactFeedName) => {
    const path = resolveFactFilePath(folder, name)
    if (!isPresent(path)) return undefined
    const shape: FactFileSchema<FactRow> = factFeeds[name].shape
    const file = openFactFile(path, shape)
    file.close()
    if (verify) verifyFactFile(path, file.info.entries)
    return file.info
  }
  return factFeedNames.flatMap((name) => toDataRow({ name, read: () => read(name) }, now))
}
