/** `callgate backup loss`: what has been stored since a backup, which restoring it would lose. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readLostRows } from '../../app/journal/lost-rows.js'
import { changesNothing } from '../../app/journal/put-in-force-again.js'
import type { Settings } from '../../config/settings.js'
import { AppError, getErrorMessage } from '../../errors.js'
import { JournalReader, listSegments } from '../../gate/journal/journal-reader.js'
import { readLeaf } from '../../gate/journal/recovery/journal-state.js'
import {
  hasAuditRow,
  type InstallationState,
  readInstallation,
} from '../../storage/audit/installation.js'
import { resolveDatabasePath } from '../../storage/database-files.js'
import { openReadOnlyDatabase } from '../../storage/read-only-database.js'
import type { Db } from '../../storage/tables.js'
import { CommandFailure } from '../command.js'
import type { BackupManifest } from './manifest.js'
import { withDatabase } from './stored-database.js'

/** What is in the data folder or the database, and not in the backup. */
interface Loss {
  readonly optOuts: number
  readonly consents: number
  /** `undefined` if the journal cannot be read. */
  readonly decisions: number | undefined
  readonly others: number
  /** Why a part could not be read, so that there may be more. */
  readonly problems: readonly string[]
}

interface Change {
  readonly mark: string
  readonly action: string
  readonly after: unknown
}

/**
 * Compares the verified folder of a backup with both the journal and the database, since one of them may be damaged. Throws
 * {@link CommandFailure} if neither can be read.
 */
export async function countLoss(
  settings: Settings,
  folder: string,
  { journal }: BackupManifest,
): Promise<Loss> {
  const copy = openReadOnlyDatabase(resolveDatabasePath(folder), tmpdir())
  try {
    const state = await readInstallation(copy.db)
    const current = join(settings.dataDir, 'journal')
    const changes = new Map<string, Change>()
    const problems: string[] = []
    let decisions: number | undefined
    try {
      const { lost, commonRecord } = await readLostRows(current, copy.db, state)
      for (const change of lost) changes.set(change.mark, change)
      const hasLast =
        readLeaf(current, journal.lastSeq) === readLeaf(join(folder, 'journal'), journal.lastSeq)
      decisions = countDecisions(current, hasLast ? journal.lastSeq : commonRecord)
    } catch (cause) {
      problems.push(`the journal cannot be read: ${getErrorMessage(cause)}`)
    }
    try {
      for (const change of await readNewRows(settings, copy.db, state))
        changes.set(change.mark, change)
    } catch (cause) {
      // Without the advice for a client of the server.
      const why = cause instanceof AppError ? (cause.cause ?? cause) : cause
      problems.push(`the database cannot be read: ${getErrorMessage(why)}`)
    }
    if (problems.length > 1) {
      throw new CommandFailure(
        `what a restore would lose cannot be counted: ${problems.join('; ')}`,
      )
    }
    return { ...countChanges([...changes.values()]), decisions, problems }
  } finally {
    copy.close()
  }
}

function countDecisions(folder: string, afterSeq: number): number {
  const [oldest] = listSegments(folder)
  const reader = new JournalReader(folder, Math.max(afterSeq + 1, oldest?.firstSeq ?? 1))
  let count = 0
  try {
    for (let records = reader.read(); records.length > 0; records = reader.read()) {
      count += records.filter(({ kind }) => kind === 'decision').length
    }
    return count
  } finally {
    reader.close()
  }
}

async function readNewRows(
  settings: Settings,
  backup: Db,
  state: InstallationState,
): Promise<readonly Change[]> {
  const read = ({ db }: { readonly db: Db }) => readRowsAfter(db, backup, state)
  if (settings.storage.engine === 'postgres') return await withDatabase(settings, read)
  const database = openReadOnlyDatabase(resolveDatabasePath(settings.dataDir), tmpdir())
  try {
    return await read(database)
  } finally {
    database.close()
  }
}

const rowsAtOnce = 1_000

/** From the end, as the backup may be years old. */
async function readRowsAfter(db: Db, backup: Db, state: InstallationState): Promise<Change[]> {
  const found: Change[] = []
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const query = db.selectFrom('audit').select(['seq', 'mark', 'action', 'after'])
    const rows = await query
      .where('seq', '<', before)
      .orderBy('seq', 'desc')
      .limit(rowsAtOnce)
      .execute()
    if (rows.length === 0) return found
    for (const { after, ...row } of rows) {
      if (await hasAuditRow(backup, row, state)) return found
      found.push({ ...row, after: after && JSON.parse(after) })
      before = row.seq
    }
  }
}

function countChanges(changes: readonly Change[]): Pick<Loss, 'optOuts' | 'consents' | 'others'> {
  const counts = { optOuts: 0, consents: 0, others: 0 }
  for (const { action, after } of changes) {
    if (action === 'opt-out.added') counts.optOuts += 1
    else if (action === 'opt-outs.imported') counts.optOuts += countImported(after)
    else if (action === 'consent-records.imported') counts.consents += countImported(after)
    else if (/^consent(?:-record)?\./.test(action)) counts.consents += countRecords(after)
    else if (!changesNothing.test(action)) counts.others += 1
  }
  return counts
}

const countRecords = (after: unknown): number =>
  (after as { readonly records?: number } | null)?.records ?? 1

/** Of the numbers of an import, those that changed something; see `storedOutcomes` of the imports. */
function countImported(after: unknown): number {
  const { numbers } = after as { readonly numbers: Readonly<Record<string, number>> }
  const stored = ['added', 'back', 'later', 'removed', 'replacing']
  return stored.reduce((sum, outcome) => sum + (numbers[outcome] ?? 0), 0)
}

/** For people. */
export function describeCounts({ optOuts, consents, decisions, others, problems }: Loss): string {
  return (
    `  ${optOuts} opt-outs\n` +
    `  ${consents} consents and relationships\n` +
    `  ${decisions ?? 'an unknown number of'} decisions\n` +
    `  ${others} other changes\n` +
    problems.map((problem) => `There may be more: ${problem}\n`).join('')
  )
}
