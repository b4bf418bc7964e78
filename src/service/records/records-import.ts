/**
 * Imports opt-outs, or relationship and permission records, all or none. Each is dated by its row: of an opt-out and a permission the
 * newer applies, whichever was imported first; on a tie, the opt-out applies.
 */
import { Readable } from 'node:stream'
import { type BadLine, BadLines } from '../../data/feeds/bad-lines.js'
import type { FeedFileSummary } from '../../data/feeds/fact-table.js'
import {
  type EbrRecordFile,
  type OptOutFile,
  type RecordFile,
  readEbrRecords,
  readOptOuts,
} from '../../data/feeds/record-files.js'
import type { TableOptions } from '../../data/feeds/table-layout.js'
import { computeReadDigest, type SourceFile } from '../../data/files/source-file.js'
import { type OnProgress, SourceProgress } from '../../data/files/source-progress.js'
import type { ChangeObserver } from '../../domain/change-notifier.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { AppError, DataFileError, invalidRequest } from '../../errors.js'
import { recordAudit } from '../../storage/audit/audit-log.js'
import type { ChangeHead } from '../../storage/change-head.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import type { ScopeResolver } from '../projects/project-scope.js'
import { type ProjectLists, readCurrentLists, requireScope } from '../projects/project-scope.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import type { RowOwner } from '../sql/rows-by-number.js'
import { ebrRecordImport } from './staged-ebr-records.js'
import { optOutRecords } from './staged-opt-outs.js'
import { type RecordImportKind, StagedRecords } from './staged-records.js'

export interface RecordsImportDeps {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'author' | 'retryWhileLocked'>
  readonly projects: ScopeResolver
  readonly changes: ChangeObserver
  readonly changeHead: Pick<ChangeHead, 'readLatest' | 'takeNext' | 'newestAt'>
  readonly clock: Clock
}

export interface RecordsImportOptions {
  readonly accountId: string
  /** The Master Project when absent. */
  readonly projectId?: string | undefined
  /** Plain text, `.gz` or `.zip`. */
  readonly path: string
  /** Name of the origin, stored with each row as `import:<source>`. */
  readonly source: string
  readonly table?: TableOptions | undefined
  readonly badLinesAllowed?: number | undefined
  readonly rejects?: ((bad: BadLine) => void) | undefined
  readonly onProgress?: OnProgress | undefined
  /** Report what would change without storing anything. */
  readonly dryRun?: boolean | undefined
}

export interface RecordsImportSummary {
  /** Code of the project whose list or records these are. */
  readonly project: string
  /** Data rows, bad ones included. */
  readonly rows: number
  /** Number of rows that the operator's conditions left out. */
  readonly leftOut: number
  /** Notes about cells that look like numbers but were not read. */
  readonly notes: readonly string[]
  /** Rows for a number that already has another row. */
  readonly repeated: number
  /** Each outcome in words, with its count of numbers. */
  readonly outcomes: readonly (readonly [words: string, numbers: number])[]
  readonly sha256: string
  readonly badLines: Pick<BadLines, 'maxAllowed' | 'count' | 'first'>
}

/**
 * Throws `AppError` for an unknown project or column and `DataFileError` for a file that cannot be
 * used; then nothing was stored.
 */
export async function importOptOuts(
  parts: RecordsImportDeps,
  options: RecordsImportOptions & Pick<OptOutFile, 'undated'>,
): Promise<RecordsImportSummary> {
  return await importRecords(parts, options, {
    kind: optOutRecords,
    read: (file) => readOptOuts({ ...file, undated: options.undated }),
    selectProject: ({ internalDncList }) => internalDncList,
  })
}

/** Throws the same errors as {@link importOptOuts}. */
export async function importEbrRecords(
  parts: RecordsImportDeps,
  options: RecordsImportOptions & Pick<EbrRecordFile, 'type'>,
): Promise<RecordsImportSummary> {
  return await importRecords(parts, options, {
    kind: ebrRecordImport,
    read: (file) => readEbrRecords({ ...file, type: options.type }),
    selectProject: ({ ebrProject }) => ebrProject,
  })
}

interface ImportKind<Row> {
  readonly kind: RecordImportKind<Row>
  readonly read: (file: RecordFile<Row>) => Promise<FeedFileSummary>
  readonly selectProject: (lists: ProjectLists) => string
}

/** The records being imported, with the project they belong to. */
interface Staging<Row> extends Pick<ImportKind<Row>, 'kind' | 'selectProject'> {
  readonly staged: StagedRecords<Row>
  readonly scope: Scope
}

async function importRecords<Row>(
  parts: RecordsImportDeps,
  options: RecordsImportOptions,
  { kind, read: readFile, selectProject }: ImportKind<Row>,
): Promise<RecordsImportSummary> {
  requireValidSource(options.source)
  const { accountId, projectId } = options
  // If the clock was set back, the import must still be later than everything stored before it.
  const now = Math.max(parts.clock.now(), parts.changeHead.newestAt)
  const scope = await requireScope(parts.projects, accountId, { projectId })
  const staged = new StagedRecords(kind, parts.storage, now)
  const staging = { kind, staged, scope, selectProject }
  await staged.open()
  try {
    const { kept, ...read } = await readInto(staged, options, { read: readFile, now })
    await staged.sort()
    const { owner, outcomeCounts } = options.dryRun
      ? await classifyRecords(parts.storage.db, staging)
      : await storeRecords(parts, staging, { source: options.source, sha256: read.sha256 })
    const numbers = [...outcomeCounts.values()].reduce((sum, count) => sum + count, 0)
    return {
      ...read,
      project: owner.projectCode,
      repeated: kept - numbers,
      outcomes: Object.entries(kind.outcomeLabels).flatMap(([name, words]) => {
        const count = outcomeCounts.get(name)
        return count === undefined ? [] : [[words, count] as const]
      }),
    }
  } catch (cause) {
    throw parts.storage.traits.isFull(cause) ? temporaryFolderFull(cause) : cause
  } finally {
    // Fails too if the temporary folder is full. The tables are dropped when the connection closes.
    await staged.close().catch(() => undefined)
  }
}

/** Covers only the temporary folder; a full disk of the database is reported by the database itself. */
function temporaryFolderFull(cause: unknown): AppError {
  const folder = 'SQLITE_TMPDIR, else TMPDIR, else /var/tmp'
  const problem = `Nothing was stored, since the temporary folder is full (${folder})`
  return new AppError('not-available', `${problem}; free space there, or set another folder`, {
    cause,
  })
}

const maxSourceLength = 100

function requireValidSource(source: string): void {
  if (source !== '' && source.length <= maxSourceLength && !/\p{Cc}/u.test(source)) return
  const rule = `must be 1 to ${maxSourceLength} characters on one line`
  throw invalidRequest([{ field: 'source', value: source, rule }])
}

const batchRows = 4_096

/** Stages rows while the file is read, so that a large file is never in memory as a whole. */
async function readInto<Row>(
  staged: StagedRecords<Row>,
  options: RecordsImportOptions,
  { read, now }: Pick<ImportKind<Row>, 'read'> & { readonly now: Instant },
) {
  const badLines = new BadLines(options.badLinesAllowed, options.rejects)
  let waiting: Row[] = []
  let kept = 0
  const flush = async (least: number) => {
    if (waiting.length < least) return
    const chunk = waiting
    waiting = []
    kept += chunk.length
    await staged.add(chunk)
  }
  const progress = new SourceProgress(options.onProgress)
  const source = await progress.openFile(options.path)
  const { leftOut, notes } = await read({
    source: {
      ...source,
      stream: Readable.from(yieldBetweenChunks(source, () => flush(batchRows))),
    },
    badLines,
    options: options.table,
    now,
    onRow: progress.countRow,
    keep: (row) => void waiting.push(row),
  })
  if (progress.rows === 0) {
    throw new DataFileError(options.path, 'has a header but no rows; nothing was imported')
  }
  await flush(1)
  const { maxAllowed, count, first } = badLines
  return {
    rows: progress.rows,
    kept,
    leftOut,
    notes,
    sha256: await computeReadDigest(source),
    badLines: { maxAllowed, count, first },
  }
}

async function* yieldBetweenChunks(
  { stream }: Pick<SourceFile, 'stream'>,
  between: () => Promise<void>,
) {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    yield chunk
    await between()
  }
}

interface ClassifiedRecords {
  readonly owner: RowOwner
  readonly outcomeCounts: ReadonlyMap<string, number>
}

type Scope = Awaited<ReturnType<typeof requireScope>>

async function classifyRecords<Row>(
  db: Db,
  { scope, staged, selectProject }: Staging<Row>,
): Promise<ClassifiedRecords> {
  const { accountId } = scope
  const owner = { accountId, projectCode: selectProject(await readCurrentLists(db, scope)) }
  return { owner, outcomeCounts: await staged.classify(db, owner) }
}

/**
 * Decisions cannot be recorded while the transaction holds the database. Everything is therefore
 * classified before it, and again inside it only if an opt-out or consent was stored in the meantime.
 */
async function storeRecords<Row>(
  { storage, changeHead, changes, clock }: RecordsImportDeps,
  staging: Staging<Row>,
  { source, sha256 }: { readonly source: string; readonly sha256: string },
): Promise<ClassifiedRecords> {
  const keyId = `import:${source}`
  const { kind, scope, selectProject } = staging
  const seen = await changeHead.readLatest()
  const found = await classifyRecords(storage.db, staging)
  if (!kind.storedOutcomes.some((outcome) => found.outcomeCounts.has(outcome))) return found
  const stored = await runAccountTransaction(storage, scope.accountId, async (transaction) => {
    const change = await changeHead.takeNext(transaction, { accountId: scope.accountId })
    const lists = await readCurrentLists(transaction, scope)
    const isAsFound = change.seq === seen + 1 && selectProject(lists) === found.owner.projectCode
    const now = isAsFound ? found : await classifyRecords(transaction, staging)
    const { owner } = now
    const write = { owner, at: clock.now(), keyId, traits: storage.traits, ...change }
    await kind.store(transaction, write)
    await recordAudit(transaction, {
      by: storage.author,
      accountId: scope.accountId,
      action: kind.action,
      subject: { kind: 'import', id: source },
      after: {
        project: owner.projectCode,
        sha256,
        numbers: Object.fromEntries(now.outcomeCounts),
      },
      at: change.storedAt,
    })
    return now
  })
  changes.everythingChanged()
  return stored
}
