/**
 * Adds each row of the audit table to the journal of this server, whose tree proves then what was changed, by whom and when.
 * Servers that share a database each add all of them.
 */
import type { Journal } from '../../gate/journal/journal.js'
import { listAfter } from '../../service/audit/audit-trail.js'
import { BackgroundTask } from '../../service/background/background-task.js'
import type { AppContext } from '../app-context.js'

const rowsAtOnce = 200
const pauseMs = 1_000
/** Decisions come first where the disk is slow, and what the journal refused would be missing. */
const maxWaiting = 1_000

/** The journal must be open when it is started. */
export function createAuditEntries(
  { storage, runtime }: Pick<AppContext, 'storage' | 'runtime'>,
  journal: Pick<Journal, 'auditedSeq' | 'note' | 'waitingCount'>,
): BackgroundTask {
  /** Of the last row that was added; what a crash takes of them is added again. */
  let addedSeq: number | undefined
  const run = async () => {
    addedSeq ??= journal.auditedSeq
    if (addedSeq === undefined || journal.waitingCount > maxWaiting) return pauseMs
    const rows = await listAfter(storage.db, addedSeq, rowsAtOnce)
    for (const row of rows) {
      journal.note('audit', row)
      addedSeq = row.seq
    }
    return rows.length < rowsAtOnce ? pauseMs : pauseMs / 10
  }
  const onError = (err: unknown) =>
    runtime.log.warn('rows of the audit table could not be added to the journal; trying again', {
      err,
    })
  return new BackgroundTask({ run, timers: runtime.timers, onError })
}
