import type { MessagePort } from 'node:worker_threads'
import type { CompiledQuery } from 'kysely'
import type { Author } from '../domain/caller.js'
import type { ChangeObserver } from '../domain/change-notifier.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { ClockReading, Instant } from '../domain/time/clock.js'
import type { OpenedFile } from './open-files.js'
import type { Db } from './tables.js'

/** What the code outside this folder must know about the engine. */
export interface EngineTraits {
  readonly name: string
  /** Whether several servers may use the database: they read the rows of `changes`, and lock single rows. */
  readonly isShared: boolean
  /** Whether the rows are copies of those at a center, so that nothing but opt-outs may be written. */
  readonly isCopy: boolean
  /** Maximum number of bound values in one statement. */
  readonly maxParameters: number
  /** Whether a statement failed only because another process holds a lock, so that it can be retried. */
  isLockedElsewhere(cause: unknown): boolean
  /** Whether a statement failed because the disk is full. */
  isFull(cause: unknown): boolean
  /** Whether a file could not be read or written for another reason. */
  isDiskError(cause: unknown): boolean
}

/** Gives the first row for the parameters of the query; at once if the database is in the same process. */
export type ReadFirst<Row> = (...parameters: readonly string[]) => MaybePromise<Row | undefined>

/** What each thread of the program does with the database. */
export interface ThreadDatabase {
  /** Of the database file, for messages. */
  readonly path: string
  /**
   * For every write, and for reads that may wait behind them. A query or transaction rejects with
   * `not-available` while there is a {@link OpenDatabase.checkFault}.
   */
  readonly db: Db
  /**
   * For the few rows that a decision needs: read at once, on the connection of
   * {@link OpenDatabase.prepareRead}. Cannot write.
   */
  readonly reads: Db
  readonly traits: EngineTraits
  /** Of whatever no request asks for. */
  readonly author: Author
  /**
   * Prepares a query for the first row that it finds, to be run at once on a connection of its own: it
   * waits for no transaction, and sees what is committed. What it throws must be passed to
   * {@link OpenDatabase.observeFailure}.
   */
  prepareRead<Row>(query: CompiledQuery<Row>): ReadFirst<Row>
  /** Takes note of an error that means damage; see {@link OpenDatabase.checkFault}. */
  observeFailure(cause: unknown): void
  /**
   * Has `confirm` called after the commit of each transaction of this thread that has added a row to the audit table. The
   * transaction resolves when that does, and rejects if that rejects.
   */
  onAudited(confirm: () => Promise<void>): void
  /**
   * Runs a whole transaction, and again while another process holds a lock, for at most `lockWaitMs`.
   * Does not block other work meanwhile. Rejects with `not-available` if the lock stays or the disk is
   * full; nothing was stored then.
   */
  retryWhileLocked<Result>(work: () => Promise<Result>): Promise<Result>
}

/** A committed change. */
export interface SeenChange {
  readonly seq: number
  /** Null if it may be about all accounts. */
  readonly accountId: string | null
  /** By comma; null if it may be about all of the account. */
  readonly numbers: string | null
  readonly at: Instant
}

export interface FeedObserver extends Pick<ChangeObserver, 'numbersChanged'> {
  /** The server is not current before it resolves; if it rejects, the look has failed. */
  everythingChanged(): MaybePromise<void>
}

/** Of a server that may share its database with others. */
export interface ChangeFeed {
  /**
   * Passes on what anybody commits, this server included, from now on. Resolves after the first look. `onLost` is called when
   * some of it is not in the database any more: it is another one, such as a standby that had not received them.
   */
  follow(observer: FeedObserver, onLost: (changes: readonly SeenChange[]) => void): Promise<void>
  /** All that was committed until then has been passed on. */
  readonly currentAt: ClockReading
  /** Whether this server does the work that only one of them must do. */
  readonly isLeader: boolean
  /** Why the latest look failed, for people. */
  readonly problem: string | undefined
  /** Number of the newest change that has been passed on; `undefined` without a connection to the database. */
  readonly position: number | undefined
  /** By how much a clock that shows `now` is certainly ahead of that of the database; negative if it is behind, 0 if neither. */
  getClockAheadMs?(now: Instant): number
  /** Of a change that this server has committed, before it is acknowledged: it is lost if it is not found later. */
  remember?(change: SeenChange): void
}

export interface OpenDatabase extends ThreadDatabase {
  /** As they were opened. */
  readonly files: readonly OpenedFile[]
  /** `undefined` if there can be no other server, and in a command. */
  readonly feed: ChangeFeed | undefined
  /**
   * Makes this the only server of the data folder until it is closed: it writes the journal, and with SQLite it would
   * not see another's writes at once. Rejects with {@link DataFileError} if there is one already.
   */
  lockForServing(): Promise<void>
  /** For a further thread to open the database with; it must have ended before this one closes it. */
  connectThread(): MessagePort | undefined
  /** With SQLite: whether another process has written since the last call; not while there is a fault. */
  hasExternalChanges(): Promise<boolean>
  /** Marks the data folder as one with the database of this installation, so that no command creates a new one there. */
  markInitialized(installation: string): void
  /**
   * Looks at the files. Why reads and writes are unreliable, for people: a file of the database was
   * removed or replaced under the open connection, a check or a query found damaged pages, or nothing
   * can be written any more.
   */
  checkFault(): Promise<string | undefined>
  /** Called with each new result of {@link OpenDatabase.checkFault}, whoever caused it. */
  onFaultChange(listener: (fault: string | undefined) => void): void
  /**
   * Reads every page in another process. {@link OpenDatabase.checkFault} reports the damage. Rejects if
   * the check failed to run.
   */
  checkIntegrity(): Promise<void>
  /**
   * Writes the log into the database and empties it, unless another connection is reading: until then it
   * may have what was deleted.
   */
  emptyLog(): Promise<void>
  /** Commits a write that changes nothing; rejects if a record could not be written either. */
  probeWrite(): Promise<void>
  /** Fails the queries in progress if the server does not answer, so that a close does not wait for them. */
  abandonUnanswered(): void
  /** Rejects if the database can no longer be used, so that the program must end. */
  readonly failure: Promise<never>
  /** Closes the connections; pending transactions end first. */
  close(): Promise<void>
}

/** Where a PostgreSQL database is. */
export interface PostgresSettings {
  /** `postgres://user@host:port/database`. */
  readonly url: string
  readonly password?: string | undefined
  readonly tls: boolean
  /** In PEM; those of Node.js when absent. */
  readonly certificateAuthorities?: string | undefined
  readonly maxConnections: number
}

export interface StorageSettings {
  /** SQLite when absent. */
  readonly postgres?: PostgresSettings | undefined
  /** Folder of the SQLite file. */
  readonly dataDir: string
  /**
   * How long a statement blocks the whole process to wait for another process's lock. 0 for a server,
   * which tries again later.
   */
  readonly blockForLockMs: number
  readonly lockWaitMs: number
  /** Of an edge; see {@link EngineTraits.isCopy}. */
  readonly isCopy?: boolean
  /** False: a new database is created only with `init`. */
  readonly createDatabase?: boolean
  /** Writes, and waits for the disk, in a thread of its own. */
  readonly inThread?: boolean
  /** Creates a new database, even in a folder that has held one; refused if there is one. */
  readonly init?: boolean
  /** The server itself when absent. */
  readonly author?: Author | undefined
}

/** For a further thread of the process that has opened the database. */
export interface ThreadStorageSettings
  extends Pick<StorageSettings, 'postgres' | 'dataDir' | 'lockWaitMs' | 'isCopy'> {
  /** From {@link OpenDatabase.connectThread}. */
  readonly port: MessagePort | undefined
}

export type EngineConnection = Omit<OpenDatabase, 'retryWhileLocked' | 'author'>
export type EngineThreadConnection = Omit<ThreadDatabase, 'retryWhileLocked' | 'author'>
