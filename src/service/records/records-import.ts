/**
 * Imports opt-outs or consents, all or none. Each is as old as its row says: whichever of an opt-out
 * and a consent is newer counts, whatever was imported first, and on a tie the opt-out.
 */
import { Readable } from 'node:stream'
import { type BadLine, BadLines } from '../../data/feeds/bad-lines.js'
import type { FileRead } from '../../data/feeds/fact-table.js'
import { openSourceFile, type SourceFile } from '../../data/feeds/open-source-file.js'
import {
  type AskedColumns,
  type ConsentFile,
  type ConsentRow,
  type OptOutFile,
  type OptOutRow,
  type RecordFile,
  readConsents,
  readOptOuts,
} from '../../data/feeds/record-rows.js'
import { digestOfRead } from '../../data/feeds/source-digest.js'
import type { ChangeListener } from '../../domain/changes.js'
import type { Clock, Instant } from '../../domain/clock.js'
import { invalidRequest } from '../../errors.js'
import type { ChangeHead } from '../../storage/change-head.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { currentLists, type ProjectLists } from '../projects/project-scope.js'
import type { ScopeResolver } from '../projects/projects.js'
import { requireScope } from '../projects/require-scope.js'
import { writeForAccount } from '../sql/account-write.js'
import type { Owner } from '../sql/rows-by-number.js'
import { StagedConsents } from './staged-consents.js'
import { StagedOptOuts } from './staged-opt-outs.js'
import type { StagedRecords } from './staging.js'

export interface RecordsImportParts {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'patiently'>
  readonly projects: ScopeResolver
  readonly changes: ChangeListener
  readonly changeHead: Pick<ChangeHead, 'latest' | 'next' | 'newestAt'>
  readonly clock: Clock
}

export interface RecordsImportOptions {
  readonly accountId: string
  /** The Master Project when absent. */
  readonly projectId?: string | undefined
  /** Plain text, `.gz` or `.zip`. */
  readonly path: string
  /** Where the rows come from; kept with each of them as who stored it, `import:<source>`. */
  readonly source: string
  readonly columns: AskedColumns
  readonly badLinesAllowed?: number | undefined
  readonly rejects?: ((bad: BadLine) => void) | undefined
  readonly onProgress?: ((progress: RecordsProgress) => void) | undefined
  /** Say what would change, and change nothing. */
  readonly dryRun?: boolean | undefined
}

export interface RecordsProgress {
  readonly bytesDone: number
  readonly bytesTotal: number
  readonly rows: number
}

export interface RecordsImported {
  /** Code of the project whose list or records these are. */
  readonly project: string
  /** Data rows, bad ones included. */
  readonly rows: number
  /** Rows of a number that has another row. */
  readonly repeated: number
  /** How many numbers came to what, in words. */
  readonly outcomes: readonly (readonly [words: string, numbers: number])[]
  readonly sha256: string
  readonly badLines: Pick<BadLines, 'allowed' | 'count' | 'first'>
}

/**
 * Throws `AppError` for a project that is none and for a column that is none, and `DataFileError` for
 * a file that cannot be used; then nothing was stored.
 */
export async function importOptOuts(
  parts: RecordsImportParts,
  options: RecordsImportOptions & Pick<OptOutFile, 'undated'>,
): Promise<RecordsImported> {
  const now = latestOf(parts)
  return await importRecords<OptOutRow>(parts, options, {
    now,
    staged: new StagedOptOuts({ ...parts, now }),
    read: (file) => readOptOuts({ ...file, undated: options.undated }),
    projectOf: ({ internalDncList }) => internalDncList,
  })
}

/** As {@link importOptOuts}. */
export async function importConsents(
  parts: RecordsImportParts,
  options: RecordsImportOptions & Pick<ConsentFile, 'type'>,
): Promise<RecordsImported> {
  const now = latestOf(parts)
  return await importRecords<ConsentRow>(parts, options, {
    now,
    staged: new StagedConsents({ ...parts, now }),
    read: (file) => readConsents({ ...file, type: options.type }),
    projectOf: ({ ebrProject }) => ebrProject,
  })
}

/** By a clock that was set back, whatever is stored now comes after what was stored before it. */
function latestOf({ clock, changeHead }: RecordsImportParts): Instant {
  return Math.max(clock.now(), changeHead.newestAt)
}

interface RecordKind<Row> {
  readonly now: Instant
  readonly staged: StagedRecords<Row>
  readonly read: (file: RecordFile<Row>) => Promise<FileRead>
  readonly projectOf: (lists: ProjectLists) => string
}

async function importRecords<Row>(
  parts: RecordsImportParts,
  options: RecordsImportOptions,
  kind: RecordKind<Row>,
): Promise<RecordsImported> {
  checkSource(options.source)
  const { accountId, projectId } = options
  const { staged } = kind
  const scope = await requireScope(parts.projects, accountId, { projectId })
  await staged.open()
  try {
    const { kept, ...read } = await readInto(options, kind)
    await staged.sort()
    const { owner, judged } = options.dryRun
      ? await judge(parts.storage.db, scope, kind)
      : await store(parts, { scope, kind, keyId: `import:${options.source}` })
    const numbers = [...judged.values()].reduce((sum, count) => sum + count, 0)
    return {
      ...{ ...read, project: owner.projectCode, repeated: kept - numbers },
      outcomes: Object.entries(staged.outcomes).flatMap(([name, words]) => {
        const count = judged.get(name)
        return count === undefined ? [] : [[words, count] as const]
      }),
    }
  } finally {
    await staged.close()
  }
}

const longestSource = 100

function checkSource(source: string): void {
  if (source !== '' && source.length <= longestSource && !/\p{Cc}/u.test(source)) return
  const rule = `must be 1 to ${longestSource} characters on one line`
  throw invalidRequest([{ field: 'source', value: source, rule }])
}

const rowsAtOnce = 4_096

/** Rows are put aside while the file is read, so that a large one is never in memory whole. */
async function readInto<Row>(
  options: RecordsImportOptions,
  { staged, read, now }: RecordKind<Row>,
) {
  const badLines = new BadLines(options.badLinesAllowed, options.rejects)
  let waiting: Row[] = []
  let kept = 0
  let rows = 0
  const flush = async (least: number) => {
    if (waiting.length < least) return
    const chunk = waiting
    waiting = []
    kept += chunk.length
    await staged.put(chunk)
  }
  const source = await openSourceFile(options.path, {
    onBytes: (bytesDone) =>
      options.onProgress?.({ bytesDone, bytesTotal: source.bytesTotal, rows }),
  })
  await read({
    source: { ...source, stream: Readable.from(inTurns(source, () => flush(rowsAtOnce))) },
    ...{ badLines, asked: options.columns, today: Math.floor(now / 86_400_000) },
    onRow: () => {
      rows += 1
    },
    keep: (row) => void waiting.push(row),
  })
  await flush(1)
  const { allowed, count, first } = badLines
  return { rows, kept, sha256: await digestOfRead(source), badLines: { allowed, count, first } }
}

async function* inTurns({ stream }: Pick<SourceFile, 'stream'>, between: () => Promise<void>) {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    yield chunk
    await between()
  }
}

interface Judged {
  readonly owner: Owner
  readonly judged: ReadonlyMap<string, number>
}

type Scope = Awaited<ReturnType<typeof requireScope>>

async function judge<Row>(
  db: Db,
  scope: Scope,
  { staged, projectOf }: RecordKind<Row>,
): Promise<Judged> {
  const { accountId } = scope
  const owner = { accountId, projectCode: projectOf(await currentLists(db, scope)) }
  return { owner, judged: await staged.judge(db, owner) }
}

interface Storing<Row> {
  readonly scope: Scope
  readonly kind: RecordKind<Row>
  readonly keyId: string
}

/**
 * While the transaction has the database, decisions wait to be recorded. So everything is judged
 * before it, and again in it only when an opt-out or a consent was stored meanwhile.
 */
async function store<Row>(
  { storage, changeHead, changes, clock }: RecordsImportParts,
  { scope, kind, keyId }: Storing<Row>,
): Promise<Judged> {
  const { staged } = kind
  const seen = await changeHead.latest()
  const found = await judge(storage.db, scope, kind)
  if (!staged.stores.some((outcome) => found.judged.has(outcome))) return found
  const stored = await writeForAccount(storage, scope.accountId, async (transaction) => {
    const change = await changeHead.next(transaction)
    const lists = await currentLists(transaction, scope)
    const isAsFound = change.seq === seen + 1 && kind.projectOf(lists) === found.owner.projectCode
    const now = isAsFound ? found : await judge(transaction, scope, kind)
    const { owner } = now
    const write = { owner, at: clock.now(), keyId, traits: storage.traits, ...change }
    await staged.store(transaction, write)
    return now
  })
  changes.everythingChanged()
  return stored
}
