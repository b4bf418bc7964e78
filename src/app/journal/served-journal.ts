/** The journal of a server: opened once it is known to belong to the database, and kept in step with it. */
import { join } from 'node:path'
import { keepRules } from '../../gate/journal/recovery/kept-rules.js'
import { SegmentWatch } from '../../gate/journal/segment-watch.js'
import { BackgroundTask } from '../../service/background/background-task.js'
import type { AuditPosition } from '../../storage/audit/audit-log.js'
import { storePosition } from '../../storage/audit/installation.js'
import type { Callgate } from '../callgate.js'
import { formatRules } from '../configuration.js'
import { AuditEntries } from './audit-entries.js'
import { joinParts } from './parts.js'

export interface ServedJournal {
  /** Resolves when the journal is open, which may be as late as an operator accepts the parts; see {@link joinParts}. */
  readonly opened: Promise<void>
  /** Rejects with `not-available` while a change that this server has committed is not on disk in the journal. */
  confirm(): Promise<void>
  close(): Promise<void>
}

/** Resolves when the journal is open, or this server is shut. Rejects if neither is possible. */
export async function openServedJournal(
  callgate: Callgate,
  { isAccepted }: { readonly isAccepted: boolean },
): Promise<ServedJournal> {
  const closing = new AbortController()
  let entries: AuditEntries | undefined
  const tasks: BackgroundTask[] = []
  const open = async (position: AuditPosition) => {
    const { journal, storage, shut, backgroundJobs, settings, data } = callgate
    keepRules(join(settings.dataDir, 'journal'), formatRules(data.rules.document))
    await journal.open()
    entries = new AuditEntries(callgate, journal, position)
    storage.onAudited(entries.confirm)
    const positions = createPositionTask(callgate)
    const watch = createWatchTask(callgate)
    tasks.push(entries.task, positions, watch)
    backgroundJobs.tasks.set('audit rows for the journal', entries.task)
    backgroundJobs.tasks.set('position of the journal', positions)
    backgroundJobs.tasks.set('segments of the journal', watch)
    for (const task of tasks) task.start()
    shut.problem = undefined
  }
  let opened: Promise<void> | undefined
  await new Promise<void>((resolve, reject) => {
    const options = { isAccepted, onShut: resolve, signal: closing.signal }
    opened = joinParts(callgate, options).then(open)
    opened.then(resolve, reject)
  })
  return {
    opened: opened ?? Promise.resolve(),
    confirm: async () => await entries?.confirm(),
    close: async () => {
      closing.abort()
      for (const task of tasks) await task.close()
    },
  }
}

const watchEveryMs = 10_000

function createWatchTask({
  journal,
  settings: { dataDir },
  runtime: { timers, log },
}: Pick<Callgate, 'journal' | 'settings' | 'runtime'>): BackgroundTask {
  const watch = new SegmentWatch(join(dataDir, 'journal'))
  const run = async () => {
    const lost = await watch.look()
    if (lost !== undefined && lost !== journal.lostSegment) {
      log.error('a segment of the journal is gone', { detail: lost })
    }
    journal.lostSegment = lost
    return watchEveryMs
  }
  const onError = (err: unknown) =>
    log.warn('the segments of the journal could not be listed; trying again', { err })
  return new BackgroundTask({ run, timers, onError, retryMs: watchEveryMs })
}

const pollMs = 500
/** Each is a commit. A crash takes nothing from the journal, so those between need not be known. */
const pauseMs = 5_000

/** Tells the database which record the journal has, so that a shorter journal or another one is noticed. */
function createPositionTask({
  journal,
  storage,
  runtime: { timers, log },
}: Pick<Callgate, 'journal' | 'storage' | 'runtime'>): BackgroundTask {
  let storedSeq = 0
  const run = async () => {
    const { position } = journal
    if (position === undefined || position.seq <= storedSeq) return pollMs
    await storage.retryWhileLocked(() => storePosition(storage.db, journal.origin, position))
    storedSeq = position.seq
    return pauseMs
  }
  const onError = (err: unknown) =>
    log.warn('the position of the journal could not be stored; trying again', { err })
  return new BackgroundTask({ run, timers, onError })
}
