/** The metrics of the journal, its index and its copies. */
import { Counter, Gauge, type Registry } from 'prom-client'

interface JournalState {
  /** Records that are not on disk. */
  readonly waitingCount: number
  readonly unsignedSeconds: number
}

export interface JournalMetrics {
  /** Reads the state of the journal whenever the metrics are read. */
  observeJournal(journal: JournalState): void
  countRecordFailure(): void
  setIndexLag(records: number): void
  observeProjectionLag(read: () => number): void
  /** After `journal.keepYears`, or only their number. */
  countRemovedDecisions(by: 'retention' | 'erasure', count: number): void
}

export function createJournalMetrics(registry: Registry): JournalMetrics {
  const registers = [registry]
  let journal: JournalState = { waitingCount: 0, unsignedSeconds: 0 }
  new Gauge({
    name: 'callgate_records_pending',
    help: 'Decisions made but not yet on disk.',
    registers,
    collect() {
      this.set(journal.waitingCount)
    },
  })
  new Gauge({
    name: 'callgate_journal_unsigned_seconds',
    help: 'Since when the oldest record on disk waits for a signed checkpoint; 0 without one.',
    registers,
    collect() {
      this.set(journal.unsignedSeconds)
    },
  })
  const failures = new Counter({
    name: 'callgate_record_failures_total',
    help: 'Decisions that could not be written to disk; allows among them became blocks.',
    registers,
  })
  const indexLag = new Gauge({
    name: 'callgate_journal_index_lag_records',
    help: 'Records on disk that are not in the index of decisions yet.',
    registers,
  })
  let readLag = () => 0
  new Gauge({
    name: 'callgate_journal_projection_lag_records',
    help: 'Records on disk that are not in PostgreSQL yet; 0 with SQLite.',
    registers,
    collect() {
      this.set(readLag())
    },
  })
  const removed = new Counter({
    name: 'callgate_decisions_removed_total',
    help: 'Decisions removed after journal.keepYears, or whose number was erased.',
    labelNames: ['by'],
    registers,
  })
  return {
    setIndexLag: (records) => indexLag.set(records),
    countRemovedDecisions: (by, count) => removed.inc({ by }, count),
    observeProjectionLag(read) {
      readLag = read
    },
    observeJournal(observed) {
      journal = observed
    },
    countRecordFailure: () => failures.inc(),
  }
}
