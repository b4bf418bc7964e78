/** Opens what a bundle has besides the journal: the database at one instant, the calling rules, and the files of lists. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findVersions } from '../../data/number-list/list-version-files.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { StateSources } from '../../evidence/bundle/state-files.js'
import { readRules } from '../../gate/journal/recovery/kept-rules.js'
import { isPresent } from '../../runtime/folders.js'
import { resolveDatabasePath } from '../../storage/database-files.js'
import { openDatabase } from '../../storage/engine.js'
import { openReadOnlyDatabase } from '../../storage/read-only-database.js'
import type { Db } from '../../storage/tables.js'
import type { Configuration } from '../configuration.js'
import { getListsFolder } from '../data-folders.js'
import { describeRegion, toRuleSources } from '../rules/rules-on-day.js'
import { readStorageSettings } from '../storage-settings.js'

export async function withStateSources<Result>(
  configuration: Configuration,
  work: (sources: StateSources) => Promise<Result>,
): Promise<Result> {
  const { settings } = configuration
  const prepared = new Map<string, ReturnType<typeof toRuleSources>>()
  const prepareRules = (version: string) => {
    const known = prepared.get(version)
    if (known) return known
    const rules = JSON.parse(readRules(join(settings.dataDir, 'journal'), version).toString())
    const made = toRuleSources({ ...configuration, rules })
    prepared.set(version, made)
    return made
  }
  const toSources = (db: Db | undefined): StateSources => ({
    db,
    describeRules(version, region, day) {
      const found = describeRegion(prepareRules(version), region, day)
      // These differ from day to day without any change of a rule.
      return found && { ...found, date: undefined, next: undefined, closedDays: undefined }
    },
    listVersions: (name) =>
      findVersions(getListsFolder(settings), name).map((version) => ({
        ...{ version: version.version, entries: version.size, feed: version.feed },
        asOf: formatInstant(version.asOf),
        importedAt: formatInstant(version.importedAt),
        sources: version.sources,
      })),
  })
  const storage = readStorageSettings(settings)
  const path = resolveDatabasePath(settings.dataDir)
  if (storage.postgres) {
    const { readSnapshot } = await import('../../storage/postgres/database-file.js')
    const database = await openDatabase({ ...storage, blockForLockMs: storage.lockWaitMs })
    try {
      return await readSnapshot(database.db, (db) => work(toSources(db)))
    } finally {
      await database.close()
    }
  }
  if (!isPresent(path)) return await work(toSources(undefined))
  const database = openReadOnlyDatabase(path, tmpdir())
  try {
    return await work(toSources(database.db))
  } finally {
    database.close()
  }
}
