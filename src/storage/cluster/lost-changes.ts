/** Changes that a server had seen in the database, and that are not in it after a failover or a restore. */
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { formatInstant } from '../../domain/time/dates.js'
import type { SeenChange } from '../open-database.js'

/**
 * Adds a row `account,number,stored_at` for each number to `lost-changes.csv` in the data folder, for an operator; without a number
 * if more than those of some numbers may be lost. Returns the path.
 */
export function writeLostChanges(dataDir: string, changes: readonly SeenChange[]): string {
  const path = join(dataDir, 'lost-changes.csv')
  const rows = changes.flatMap(({ accountId, numbers, at }) =>
    (numbers ?? '')
      .split(',')
      .map((number) => `${accountId ?? ''},${number},${formatInstant(at)}\n`),
  )
  const title = existsSync(path) ? '' : 'account,number,stored_at\n'
  appendFileSync(path, title + rows.join(''), { mode: 0o600 })
  return path
}
