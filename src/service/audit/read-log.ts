/** Records who reads personal data. The path of a call is not recorded here: its decisions are their own record. */
import type { Requester } from '../../domain/caller.js'
import type { Clock } from '../../domain/time/clock.js'
import {
  type AuditSubject,
  findAuthor,
  hashNumber,
  recordAudit,
} from '../../storage/audit/audit-log.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import { runTransaction } from '../sql/account-transaction.js'

interface PersonalRead {
  /** Of the endpoint: `/v1/decisions`. That of the caller when absent. */
  readonly path?: string | undefined
  /** What was read: `decisions.searched`. */
  readonly what: string
  /** Of kind `number` ten digits, which are stored as a keyed hash and the last four. */
  readonly subject: AuditSubject
  /** How many records the answer has; absent if that is not known before it leaves. */
  readonly rows?: number | undefined
  /** The id of the evidence bundle that the read is about. */
  readonly bundle?: string | undefined
  /** What for, if the reader says so. */
  readonly purpose?: string | undefined
}

/**
 * To be awaited before the answer leaves, which must not if it rejects. One row for each request, however many records it
 * gives. Rejects with `not-available` if the row cannot be stored.
 */
export type RecordRead = (caller: Requester, read: PersonalRead) => Promise<void>

export function createReadLog(
  storage: Pick<ThreadDatabase, 'db' | 'author' | 'retryWhileLocked'>,
  clock: Clock,
): RecordRead {
  return async (caller, { path = caller.path, what, subject, rows, bundle, purpose }) => {
    const by = findAuthor(storage, { ...caller, path })
    const { kind } = subject
    const id = kind === 'number' ? await hashNumber(storage.db, subject.id) : subject.id
    const { accountId } = caller
    const entry = { by, accountId, action: what, subject: { kind, id }, after: { rows, bundle } }
    await runTransaction(storage, (transaction) =>
      recordAudit(transaction, { ...entry, reason: purpose, at: clock.now() }),
    )
  }
}
