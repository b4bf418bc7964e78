/** Changes that a server had seen in the database, and that are not in it after a failover or a restore. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { isPresent } from '../../runtime/folders.js'
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
  appendRows(path, 'account,number,stored_at', rows)
  return path
}

/** Adds a row `account,project,number,stored_at,written_at` for each number to `written-again.csv` in the data folder. */
export function writeRewrittenOptOut(
  dataDir: string,
  { accountId, projectCode, numbers, at }: RewrittenOptOut,
  writtenAt: Instant,
): void {
  const times = `${formatInstant(at)},${formatInstant(writtenAt)}`
  const rows = numbers.map((number) => `${accountId},${projectCode},${number},${times}\n`)
  const title = 'account,project,number,stored_at,written_at'
  appendRows(join(dataDir, 'written-again.csv'), title, rows)
}

interface RewrittenOptOut {
  readonly accountId: string
  readonly projectCode: string
  readonly numbers: readonly string[]
  readonly at: Instant
}

function appendRows(path: string, columns: string, rows: readonly string[]): void {
  const title = isPresent(path) ? '' : `${columns}\n`
  appendFileSync(path, title + rows.join(''), { mode: 0o600 })
}
