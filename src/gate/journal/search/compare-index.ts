/** Compares an index with one that is made anew from the journal. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { DecisionIndex } from '../decision-index.js'
import { readBeginning } from '../journal-beginning.js'
import { hashOriginName, readOriginName } from '../journal-origin.js'
import { JournalReader, listSegments } from '../journal-reader.js'
import { readForm } from './index-file.js'

export interface IndexComparison {
  /** Decisions whose row, or the outcome of whose call, is not what the journal says; at most a thousand, in their order. */
  readonly different: readonly string[]
  /** Of the last record that is in the index. */
  readonly lastSeq: number
}

export const maxDifferent = 1_000

/** The new index is a temporary file. Throws `DataFileError` if the journal cannot be read. */
export function compareIndex(indexPath: string, journalFolder: string): IndexComparison {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-index-'))
  const path = join(folder, 'index.sqlite')
  try {
    const connection = new Sqlite(indexPath, { readonly: true, timeout: 1_000 })
    // What the server adds meanwhile is not in this snapshot.
    connection.exec('begin')
    try {
      const position = connection.prepare<[], number>('select next_seq from journal_position')
      const lastSeq = (position.pluck().get() ?? 1) - 1
      // Retention first takes what it removes out of the index, segment by segment.
      const leaving = `segment >= ${listSegments(journalFolder)[0]?.firstSeq ?? 1} and segment < ${readBeginning(journalFolder).firstSeq}`
      makeIndex(path, journalFolder, lastSeq)
      connection.prepare('attach ? as made').run(path)
      return { different: compare(connection, leaving), lastSeq }
    } finally {
      connection.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function makeIndex(path: string, journalFolder: string, lastSeq: number): void {
  const index = new DecisionIndex(path, journalFolder)
  const beginning = readBeginning(journalFolder)
  const reader = new JournalReader(journalFolder, beginning.firstSeq)
  try {
    index.claim(hashOriginName(readOriginName(journalFolder)))
    index.setBeginning(beginning)
    for (let records = reader.read(lastSeq); records.length > 0; records = reader.read(lastSeq)) {
      index.add(records)
    }
  } finally {
    reader.close()
    index.close()
  }
}

/** An index that is not searched may have fields from when it was. */
function compare(connection: Sqlite.Database, leaving: string): readonly string[] {
  const columns =
    readForm(connection) === 'places'
      ? 'id, account_id, decided_at, what_if, segment, byte_offset'
      : '*'
  const compared = `not (${leaving})`
  const decisions = (schema: string) =>
    `select ${columns} from ${schema}.decisions where ${compared}`
  // An outcome may be left of a decision that was removed after its time.
  const outcomes = (schema: string) =>
    `select decision_id as id, outcome from ${schema}.call_outcomes ` +
    `where decision_id in (select id from ${schema}.decisions where ${compared})`
  const differences = [decisions, outcomes].flatMap((rows) => [
    `select id from (${rows('main')} except ${rows('made')})`,
    `select id from (${rows('made')} except ${rows('main')})`,
  ])
  return connection
    .prepare<[], string>(`${differences.join(' union ')} order by id limit ${maxDifferent}`)
    .pluck()
    .all()
}
