/**
 * Adds each row of the audit table to the journal of this server, whose tree proves then what was changed, by whom and when.
 * Servers that share a database each add all of them. A change by this server is acknowledged only when its row is on disk there:
 * what is lost of the database is then named by the journal.
 */
import { join } from 'node:path'
import { AppError, getErrorMessage } from '../../errors.js'
import type { Journal } from '../../gate/journal/journal.js'
import { listAfter } from '../../service/audit/audit-trail.js'
import { BackgroundTask } from '../../service/background/background-task.js'
import type { AuditPosition } from '../../storage/audit/audit-log.js'
import { hasAuditRow, readInstallation } from '../../storage/audit/installation.js'
import type { AppContext } from '../app-context.js'
import { readLostRows } from './lost-rows.js'

const rowsAtOnce = 200
/** For rows of other processes. */
const pauseMs = 1_000

type Context = Pick<AppContext, 'settings' | 'storage' | 'runtime' | 'changes'>

export class AuditEntries {
  readonly task: BackgroundTask
  readonly #context: Context
  readonly #journal: Pick<Journal, 'note' | 'durableSeq'>
  /** Of the last row that was added. */
  #position: AuditPosition
  /** Number of its record. */
  #recordSeq = 0
  #written: Promise<void> = Promise.resolve()
  #adding: Promise<void> | undefined

  /** `position` is that of the last row in the journal, which must be open from now on. */
  constructor(
    context: Context,
    journal: Pick<Journal, 'note' | 'durableSeq'>,
    position: AuditPosition,
  ) {
    this.#context = context
    this.#journal = journal
    this.#position = position
    const { timers, log } = context.runtime
    const run = async () => {
      await this.flush()
      return pauseMs
    }
    const onError = (err: unknown) =>
      log.warn('rows of the audit table could not be added to the journal; trying again', { err })
    this.task = new BackgroundTask({ run, timers, onError, retryMs: pauseMs })
  }

  /** Rejects unless all rows that were committed before the call are on disk in the journal. */
  async flush(): Promise<void> {
    // It may have read before that commit.
    await this.#adding?.catch(() => undefined)
    this.#adding ??= this.#addAll().finally(() => {
      this.#adding = undefined
    })
    await this.#adding
  }

  /** Must be awaited before a change is acknowledged. Rejects with `not-available` if it is in the database alone. */
  readonly confirm = async (): Promise<void> => {
    try {
      await this.flush()
    } catch (cause) {
      // The change is in force, but its maker gets an error and does not announce it.
      this.#context.changes.everythingChanged()
      const why = getErrorMessage(cause)
      const problem = `The change is stored and in force, but its record in the journal is not on disk: ${why}`
      throw new AppError('not-available', `${problem}; send it again`, { cause })
    }
  }

  async #addAll(): Promise<void> {
    for (;;) {
      const rows = await this.#readNext()
      for (const row of rows) {
        // The record of a row that is refused has no number, and the next attempt begins with that row.
        const written = this.#add(row)
        this.#written = written
        if (this.#position !== row) await written
      }
      await this.#awaitWritten()
      if (rows.length < rowsAtOnce) return
    }
  }

  /** The row that was added last is read as well: a failover may have lost it. */
  async #readNext() {
    const { db } = this.#context.storage
    const [first, ...next] = await listAfter(db, this.#position.seq - 1, rowsAtOnce + 1)
    if (first?.seq === this.#position.seq && first.mark === this.#position.mark) return next
    const state = await readInstallation(db)
    if (!(await hasAuditRow(db, this.#position, state))) {
      const folder = join(this.#context.settings.dataDir, 'journal')
      const { common } = await readLostRows(folder, db, state)
      this.#position = common
    }
    return await listAfter(db, this.#position.seq, rowsAtOnce)
  }

  #add(row: AuditPosition): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      const onWritten = (cause?: unknown) => (cause === undefined ? resolve() : reject(cause))
      const seq = this.#journal.note('audit', row, onWritten)
      if (seq === undefined) return
      this.#recordSeq = seq
      this.#position = row
    })
    // Rejects where it is awaited later.
    written.catch(() => undefined)
    return written
  }

  /** A record whose first write failed is tried again. */
  async #awaitWritten(): Promise<void> {
    try {
      await this.#written
    } catch (cause) {
      if (this.#journal.durableSeq < this.#recordSeq) throw cause
    }
  }
}
