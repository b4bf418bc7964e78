/** What the database knows about the other parts of its installation: its name, and the journals of its servers. */
import type { Db } from '../tables.js'
import type { AuditPosition } from './audit-log.js'

/** Of the audit row of `callgate storage accept`. */
export const acceptedAction = 'storage.accepted'

/** A record of a journal. */
export interface KnownPosition {
  readonly seq: number
  /** Of the tree, in hex. */
  readonly leaf: string
}

export interface InstallationState {
  readonly installation: string
  /** Number of the last row of the audit table. */
  readonly auditSeq: number
  /** By the hash of the name of a journal. Never ahead of it. */
  readonly journals: ReadonlyMap<string, KnownPosition>
}

export async function readInstallation(db: Db): Promise<InstallationState> {
  const { installation, audit_seq: auditSeq } = await db
    .selectFrom('change_head')
    .select(['installation', 'audit_seq'])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  const rows = await db.selectFrom('journal_positions').selectAll().execute()
  return { installation, auditSeq, journals: new Map(rows.map((row) => [row.origin, row])) }
}

/** Whether the table has this very row; also if retention has deleted it. */
export async function hasAuditRow(
  db: Db,
  { seq, mark }: AuditPosition,
  { auditSeq }: Pick<InstallationState, 'auditSeq'>,
): Promise<boolean> {
  if (seq > auditSeq) return false
  const row = await db.selectFrom('audit').select('mark').where('seq', '=', seq).executeTakeFirst()
  return row === undefined || row.mark === mark
}

/** The record must be on disk. */
export async function storePosition(
  db: Db,
  origin: string,
  { seq, leaf }: KnownPosition,
): Promise<void> {
  await db
    .insertInto('journal_positions')
    .values({ origin, seq, leaf })
    .onConflict((conflict) => conflict.column('origin').doUpdateSet({ seq, leaf }))
    .execute()
}

export async function forgetPositions(db: Db, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  await db.deleteFrom('journal_positions').where('origin', 'in', origins).execute()
}
