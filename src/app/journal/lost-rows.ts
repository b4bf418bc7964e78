/** Rows of the audit table that a journal has and the database lacks. */
import { JournalReader, listSegments } from '../../gate/journal/journal-reader.js'
import { readRecord } from '../../gate/record/read-record.js'
import type { AuditPosition, MarkedAuditRecord } from '../../storage/audit/audit-log.js'
import { hasAuditRow, type InstallationState } from '../../storage/audit/installation.js'
import type { Db } from '../../storage/tables.js'

export const beforeAudit: AuditPosition = { seq: 0, mark: '' }

export interface LostRows {
  /** The last row that both have. */
  readonly common: AuditPosition
  /** Number of its record; 0 if there is none. */
  readonly commonRecord: number
  /** In their order. */
  readonly lost: readonly MarkedAuditRecord[]
}

/** Reads the journal from its end. Throws `DataFileError` if it is damaged. */
export async function readLostRows(
  folder: string,
  db: Db,
  state: Pick<InstallationState, 'auditSeq'>,
): Promise<LostRows> {
  const lost: MarkedAuditRecord[] = []
  const segments = listSegments(folder)
  for (let index = segments.length - 1; index >= 0; index -= 1) {
    const first = segments[index]?.firstSeq ?? 1
    const end = segments[index + 1]?.firstSeq ?? Number.MAX_SAFE_INTEGER
    for (const { row, seq } of readAuditRows(folder, first, end).reverse()) {
      if (await hasAuditRow(db, row, state))
        return { common: row, commonRecord: seq, lost: lost.reverse() }
      lost.push(row)
    }
  }
  return { common: beforeAudit, commonRecord: 0, lost: lost.reverse() }
}

interface RecordedRow {
  readonly row: MarkedAuditRecord
  /** Of its record. */
  readonly seq: number
}

/** Of the records from `firstSeq` to before `endSeq`. */
function readAuditRows(folder: string, firstSeq: number, endSeq: number): RecordedRow[] {
  const reader = new JournalReader(folder, firstSeq)
  const rows: RecordedRow[] = []
  try {
    for (let records = reader.read(endSeq - 1); records.length > 0; ) {
      for (const { kind, seq, body } of records) {
        if (kind === 'audit') rows.push({ row: readRecord(kind, { seq, body }), seq })
      }
      records = reader.read(endSeq - 1)
    }
    return rows
  } finally {
    reader.close()
  }
}
