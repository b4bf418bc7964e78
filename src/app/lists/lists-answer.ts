/** Answers which lists an account has and may use, with their versions and who imported them. */
import type { ListBody, ListsBody } from '../../api/lists/lists.js'
import type { Settings } from '../../config/settings.js'
import {
  litigatorListName,
  nationalListNames,
  splitListName,
} from '../../data/number-list/list-names.js'
import { findVersions } from '../../data/number-list/list-version-files.js'
import { type Caller, isOperator, mainAccountId, sandboxAccountId } from '../../domain/caller.js'
import type { Clock } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { canUseList, readListOwners } from '../../service/lists/list-rights.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { getListsFolder } from '../data-folders.js'
import { type DataRow, readDataOverview } from './data-overview.js'
import { readPublishedLists } from './list-files.js'

export interface ListsAnswerDeps {
  /** A reload replaces them. */
  readonly getSettings: () => Settings
  readonly clock: Clock
  readonly storage: ThreadDatabase
}

export async function readLists(
  { getSettings, clock, storage }: ListsAnswerDeps,
  caller: Caller,
): Promise<ListsBody> {
  const settings = getSettings()
  const { accountId } = caller
  const inForce = await readPublishedLists(settings, storage.reads)
  const overview = { settings, now: clock.now(), verify: false, inForce }
  const { lists, numbering, facts } = await readDataOverview(overview)
  const listOwners = await readListOwners(storage.reads, accountId)
  const shown = lists.filter(({ name }) => {
    if (accountId === sandboxAccountId) return splitListName(name).owner === sandboxAccountId
    return isOperator(caller) || canUseList(name, { accountId, listOwners })
  })
  const isOwn = ({ name }: DataRow) => isOperator(caller) || splitListName(name).owner === accountId
  const importers = await readImporters(storage.reads, settings, shown.filter(isOwn))
  return {
    lists: shown.map((row): ListBody => {
      if (!isOwn(row)) return { ...hideProblem(row), versions: null }
      return { ...row, versions: listVersions(settings, row.name, importers) }
    }),
    numbering: isOperator(caller) ? numbering : numbering.map(hideProblem),
    facts: isOperator(caller) ? facts : facts.map(hideProblem),
    missing: findMissing(settings, caller, shown),
  }
}

/** It may name files of the server. */
function hideProblem(row: DataRow): DataRow {
  return {
    ...row,
    problem: row.problem && 'it cannot be used; the operator of the server knows why',
  }
}

/** The sandbox has lists that are built in. */
function findMissing(
  { source }: Settings,
  { accountId }: Caller,
  shown: readonly DataRow[],
): readonly string[] {
  if (source.kind === 'remote' || accountId === sandboxAccountId) return []
  return [...Object.values(nationalListNames), litigatorListName].filter(
    (needed) =>
      !shown.some(({ name }) => {
        const { owner, list } = splitListName(name)
        // The operator sees those of all accounts.
        return list === needed && (accountId !== mainAccountId || owner === accountId)
      }),
  )
}

type Importers = ReadonlyMap<string, string>

function listVersions(
  settings: Settings,
  name: string,
  importers: Importers,
): NonNullable<ListBody['versions']> {
  return findVersions(getListsFolder(settings), name).map(
    ({ version, size, asOf, importedAt, feed, inUse }) => ({
      version,
      entries: size,
      asOf: formatInstant(asOf),
      importedAt: formatInstant(importedAt),
      feed,
      importedBy: importers.get(`${name} ${version}`) ?? null,
      inUse,
    }),
  )
}

/** Enough for some years of daily imports of a list. */
const maxRowsOfList = 1_000

/** Who imported each version, by list and version: the latest import with that result. */
async function readImporters(
  db: Db,
  settings: Settings,
  lists: readonly DataRow[],
): Promise<Importers> {
  const found = new Map<string, string>()
  for (const { name } of lists) {
    const { owner } = splitListName(name)
    // One import may make several lists, and is then called as its feed.
    const feeds = findVersions(getListsFolder(settings), name).map(({ feed }) => feed)
    const rows = await db
      .selectFrom('audit')
      .select(['who', 'after'])
      .where('subject', 'in', [...new Set([name, ...feeds])])
      .where('subject_kind', '=', 'import')
      .where('action', '=', 'data.imported')
      .where('account_id', '=', owner)
      .orderBy('seq', 'desc')
      .limit(maxRowsOfList)
      .execute()
    for (const { who, after } of rows) {
      for (const version of readVersions(after)) {
        const key = `${name} ${version}`
        if (!found.has(key)) found.set(key, who)
      }
    }
  }
  return found
}

/** Of the summaries of an import. */
function readVersions(after: string | null): readonly unknown[] {
  const summaries: unknown = JSON.parse(after ?? '[]')
  return Array.isArray(summaries) ? summaries.map((one) => Object(one).version) : []
}
