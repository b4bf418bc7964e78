/**
 * Writes rows of the audit table: who did what, in the transaction that does it. Rows are numbered without gaps, in the order of the
 * commits: the number is taken from the row that also numbers changes, which stays locked until the commit. So whoever sees a
 * row sees all with smaller numbers, now and later.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Author, Requester } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import { AppError } from '../../errors.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { ThreadDatabase } from '../open-database.js'
import type { Db } from '../tables.js'

export interface AuditSubject {
  /** Such as `key`, `project` or `number`. */
  readonly kind: string
  /** Empty if there is one of the kind. */
  readonly id: string
}

export interface AuditEntry {
  readonly by: Author
  /** What concerns the whole server is of account main. */
  readonly accountId: string
  /** What was done to what: `key.revoked`. */
  readonly action: string
  readonly subject: AuditSubject
  /** What changed, as JSON; never a secret or its hash, nor what a person said, their name or address. */
  readonly before?: object | undefined
  readonly after?: object | undefined
  /** As the person who did it says. */
  readonly reason?: string | undefined
  readonly at: Instant
}

/** The key of a request, or else whoever runs the program. */
export function findAuthor(
  { author }: Pick<ThreadDatabase, 'author'>,
  { keyId, path, session, change }: Omit<Requester, 'accountId'>,
): Author {
  const person = session?.person
  if (keyId === '' && person === undefined) return change ? { ...author, change } : author
  const who = person === undefined ? `key:${keyId}` : `person:${person}`
  const face = session ? 'console' : 'api'
  return { who, door: path === undefined ? face : `${face} ${path}`, change }
}

/** One number is a subject of its own, and of several their place is. */
export function nameNumbers(numbers: readonly string[], place: AuditSubject): AuditSubject {
  const [number = '', ...others] = numbers
  return others.length === 0 && number !== '' ? { kind: 'number', id: number } : place
}

/** Of a row in JSON, in characters. The journal, which has each row as one record, takes 349,514. */
const maxRowLength = 300_000

/**
 * Must be the last write of the transaction, which holds a lock for which all others wait. Rejects with `too-large` if the row is
 * longer than the journal can take: then the change does not happen.
 */
export async function recordAudit(
  transaction: Db,
  { subject, ...entry }: AuditEntry,
): Promise<void> {
  await recordAudits(transaction, entry, [subject])
}

/** As {@link recordAudit}: one row for each subject, in their order. */
export async function recordAudits(
  transaction: Db,
  { by, accountId, action, before, reason, at, ...entry }: Omit<AuditEntry, 'subject'>,
  subjects: readonly AuditSubject[],
): Promise<void> {
  const { who, door, change } = by
  const after = change
    ? { ...entry.after, change: change.id, askedBy: change.askedBy }
    : entry.after
  requireShort(action, [who, door, subjects[0], before, after, reason])
  const { audit_seq: lastSeq } = await transaction
    .updateTable('change_head')
    .set({ audit_seq: sql`audit_seq + ${subjects.length}` })
    .where('id', '=', 1)
    .returning('audit_seq')
    .executeTakeFirstOrThrow()
  const row = {
    ...{ at, account_id: accountId, who, door, action },
    before: before ? JSON.stringify(before) : null,
    after: after ? JSON.stringify(after) : null,
    reason: reason ?? null,
  }
  const firstSeq = lastSeq - subjects.length + 1
  for (let from = 0; from < subjects.length; from += rowsAtOnce) {
    await yieldToEventLoop()
    const rows = subjects.slice(from, from + rowsAtOnce).map(({ kind, id }, index) => ({
      ...row,
      ...{ seq: firstSeq + from + index, subject_kind: kind, subject: id },
      mark: randomBytes(16).toString('hex'),
    }))
    await transaction.insertInto('audit').values(rows).execute()
  }
}

/** A statement with so many takes a millisecond or two. */
const rowsAtOnce = 64

function requireShort(action: string, texts: readonly unknown[]): void {
  const length = texts.reduce((sum: number, text) => sum + (JSON.stringify(text)?.length ?? 0), 0)
  if (length <= maxRowLength) return
  const rule = `has ${length} characters with what it changes, and may have at most ${maxRowLength}`
  throw new AppError('too-large', `The audit row ${action} ${rule}; change less at once`)
}

/** A row of the audit table. */
export interface AuditPosition {
  /** 0: before the first one. */
  readonly seq: number
  readonly mark: string
}

export interface AuditRecord {
  readonly seq: number
  readonly at: Instant
  readonly accountId: string
  readonly who: string
  readonly door: string
  readonly action: string
  readonly subject: { readonly kind: string; readonly id: string }
  readonly before: unknown
  readonly after: unknown
  readonly reason: string | null
}

/** As it is in the journal. */
export type MarkedAuditRecord = AuditRecord & AuditPosition

/**
 * Stands for a number in rows that say who read about it. Only somebody with the key, which is in the database, can tell whether it is a
 * given number. The last four digits are for people.
 */
export async function hashNumber(db: Db, number: string): Promise<string> {
  const { audit_key: key } = await db
    .selectFrom('change_head')
    .select('audit_key')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  const digest = createHmac('sha256', Buffer.from(key, 'hex')).update(number).digest('hex')
  return `${digest.slice(0, 32)}-${number.slice(-4)}`
}

/**
 * Lets `work` delete and change rows, which nothing else may do. To be called late in a transaction: as {@link recordAudit}, it takes a
 * lock for which all others wait.
 */
export async function changeAudit(transaction: Db, work: () => Promise<void>): Promise<void> {
  const setOpen = (open: number) =>
    transaction.updateTable('change_head').set({ audit_open: open }).where('id', '=', 1).execute()
  await setOpen(1)
  await work()
  await setOpen(0)
}
