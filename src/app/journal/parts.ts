/**
 * Whether the parts of an installation belong together: data folder, database and journal. Each names the others, and is written
 * after what it names is on disk, so a crash or a power cut leaves a part behind, never ahead. A part that is ahead, or has other
 * contents at the same number, is an older copy or that of another installation. Then this server is shut: it changes nothing and blocks
 * every call until the right part is put back, or an operator accepts what is there. Over PostgreSQL one acceptance counts for all servers.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../../config/settings.js'
import { mainAccountId } from '../../domain/caller.js'
import {
  type JournalState,
  readJournalState,
  readLeaf,
  readStored,
} from '../../gate/journal/recovery/journal-state.js'
import { sleep } from '../../runtime/runtime.js'
import { runTransaction } from '../../service/sql/account-transaction.js'
import {
  type AuditPosition,
  type MarkedAuditRecord,
  recordAudit,
} from '../../storage/audit/audit-log.js'
import {
  acceptedAction,
  forgetPositions,
  hasAuditRow,
  type InstallationState,
  readInstallation,
} from '../../storage/audit/installation.js'
import { readMarker, writeMarker } from '../../storage/database-files.js'
import type { Db } from '../../storage/tables.js'
import type { Callgate } from '../callgate.js'
import { beforeAudit, type LostRows, readLostRows } from './lost-rows.js'

const wayOut =
  'Put the right part back and start again, or go on with what is there: callgate storage accept --because <what happened>'

/** A failover may lose what was stored within so long, as standbys are not further behind. */
const maxFailoverMs = 60_000

interface Comparison extends LostRows {
  /** Why they do not belong together, for people. */
  readonly problems: readonly string[]
  /** Whether that is only because the database lacks rows. */
  readonly isOnlyBehind: boolean
}

type Parts = Pick<
  Callgate,
  | 'settings'
  | 'storage'
  | 'runtime'
  | 'installation'
  | 'shut'
  | 'accounts'
  | 'service'
  | 'pauses'
  | 'keys'
>

export interface JoinOptions {
  /** The database was made by this start, as an operator has asked for. */
  readonly isAccepted: boolean
  /** Called if an operator has to. */
  readonly onShut: () => void
  /** Ends the wait for that; the call rejects then. */
  readonly signal: AbortSignal
}

/**
 * Compares the parts; the journal must not be open. Resolves once they belong together, or are accepted, to the last row of the audit
 * table that both have. Throws `DataFileError` if the journal cannot be read.
 */
export async function joinParts(
  parts: Parts,
  { isAccepted, onShut, signal }: JoinOptions,
): Promise<AuditPosition> {
  const { storage, shut, settings, runtime } = parts
  const state = await readInstallation(storage.db)
  const journal = readJournalState(settings.dataDir)
  const found = await compareParts(parts, state, journal)
  const { isOnlyBehind, common, lost } = found
  const problems = [...found.problems]
  if (problems.length === 0) return common
  // Most starts do without it.
  const { putInForceAgain, describeLostChanges, noteLostChanges } = await import(
    './put-in-force-again.js'
  )
  let left: readonly MarkedAuditRecord[] | undefined
  // Over PostgreSQL another server may have been shut before for the same reason.
  const after = isOnlyBehind ? common.seq : state.auditSeq
  if (!isAccepted && !(await findAcceptance(storage.db, after))) {
    if (isOnlyBehind && storage.traits.isShared && isShort(settings, { state, journal, found })) {
      left = await putInForceAgain(parts, lost)
      if (left.length > 0) problems.push(describeLostChanges(left))
    }
    if (left?.length !== 0) {
      shut.problem = `${problems.join('; ')}. ${wayOut}`
      runtime.log.error('this server is shut: no call is allowed', { detail: shut.problem })
      onShut()
      await waitForAcceptance(parts, after, signal)
    }
  }
  left ??= await putInForceAgain(parts, lost)
  noteLostChanges(parts, left)
  await takeOver(parts, { state, journal, found, left })
  return common
}

async function compareParts(
  { settings: { dataDir }, storage: { db, traits }, installation }: Parts,
  state: InstallationState,
  journal: JournalState,
): Promise<Comparison> {
  const marker = readMarker(dataDir) ?? installation
  const ofJournal = journal.installation ?? installation
  const others = [
    marker !== installation && `the data folder is of installation ${marker}, not ${installation}`,
    ofJournal !== installation &&
      `the journal is of installation ${ofJournal}, not ${installation}`,
    journal.indexProblem,
    describeJournal(join(dataDir, 'journal'), { state, journal, isShared: traits.isShared }),
  ].filter((problem) => typeof problem === 'string')
  const { audited } = journal
  if (audited === undefined || (await hasAuditRow(db, audited, state))) {
    const common = audited ?? beforeAudit
    return { problems: others, isOnlyBehind: false, common, commonRecord: 0, lost: [] }
  }
  const rows = await readLostRows(join(dataDir, 'journal'), db, state)
  const problem =
    `the journal has row ${audited.seq} of the audit table, but the database ` +
    (state.auditSeq < audited.seq ? `ends with row ${state.auditSeq}` : 'has another one there') +
    `: ${rows.lost.length} changes are lost`
  return { ...rows, problems: [...others, problem], isOnlyBehind: others.length === 0 }
}

/** Why the journal is not the one that the database knows. */
function describeJournal(
  folder: string,
  { state, journal, isShared }: ReadJournal,
): string | undefined {
  const [current = '', ...former] = journal.origins
  const known = state.journals.get(current)
  if (known === undefined) {
    const [other] = state.journals
    // A new server, or a journal that was given a new name.
    if (isShared || !other || former.some((origin) => state.journals.has(origin))) return undefined
    const found = current === '' ? 'there is none' : `there is ${current.slice(0, 8)}`
    return `the database knows record ${other[1].seq} of journal ${other[0].slice(0, 8)}, but ${found}`
  }
  const { seq, leaf } = known
  if (journal.lastSeq < seq)
    return `the journal ends with record ${journal.lastSeq}, but the database knows record ${seq}`
  const isOther = (readLeaf(folder, seq) ?? leaf) !== leaf
  return isOther ? `record ${seq} of the journal is not the one that the database knows` : undefined
}

interface ReadJournal {
  readonly state: InstallationState
  readonly journal: JournalState
  readonly isShared: boolean
}

interface Compared extends Omit<ReadJournal, 'isShared'> {
  readonly found: Comparison
}

/** By the clock of the journal: an account may have one of its own. */
function isShort({ dataDir }: Pick<Settings, 'dataDir'>, { state, journal, found }: Compared) {
  const folder = join(dataDir, 'journal')
  const known = state.journals.get(journal.origins[0] ?? '')?.seq ?? 0
  const atOf = (seq: number) => readStored(folder, seq)?.at ?? 0
  return atOf(journal.lastSeq) - atOf(Math.max(known, found.commonRecord)) <= maxFailoverMs
}

const pollMs = 1_000

/** Whether there is a row of `callgate storage accept` after this one. */
async function findAcceptance(db: Db, after: number): Promise<boolean> {
  const query = db.selectFrom('audit').select('seq').where('action', '=', acceptedAction)
  return (await query.where('seq', '>', after).limit(1).executeTakeFirst()) !== undefined
}

async function waitForAcceptance(
  { storage, runtime: { log } }: Parts,
  after: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await sleep(pollMs, { signal })
    signal.throwIfAborted()
    try {
      if (await findAcceptance(storage.db, after)) return
    } catch (err) {
      log.warn('whether the parts were accepted could not be read; trying again', { err })
    }
  }
}

/** Each step may be done twice: until the last one, the parts are still found not to belong together. */
async function takeOver(
  parts: Parts,
  { state, journal, found, left }: Compared & { readonly left: readonly MarkedAuditRecord[] },
): Promise<void> {
  const { settings, storage, runtime, installation } = parts
  const { dataDir } = settings
  const { isShared } = storage.traits
  await runTransaction(storage, async (db) => {
    await forgetPositions(db, isShared ? journal.origins : [...state.journals.keys()])
    await recordAudit(db, {
      by: storage.author,
      accountId: mainAccountId,
      action: 'storage.joined',
      subject: { kind: 'storage', id: installation },
      after: { problems: found.problems, lost: found.lost.length, left: left.length },
      at: runtime.clock.now(),
    })
  })
  if (readMarker(dataDir) !== undefined) writeMarker(dataDir, installation)
  if (journal.indexProblem === undefined) return
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(join(dataDir, `index.sqlite${suffix}`), { force: true })
  }
}
