/**
 * The search in the index of a journal, on a connection of its own that only reads, also beside the server that writes it. Takes
 * the calling thread some milliseconds, which is why it is not for the one that decides.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { CallOutcome } from '../../../domain/call-outcome.js'
import type { Clock, Instant } from '../../../domain/time/clock.js'
import { AppError, getErrorMessage } from '../../../errors.js'
import { monotonicSeconds } from '../../../runtime/runtime.js'
import { type DecisionDocument, withOutcome } from '../../decision-document.js'
import { schemaVersion } from '../decision-index.js'
import { listSegments, RecordReader } from '../journal-reader.js'
import { readIdInstant, toIdPrefix } from '../projection/decision-months.js'
import type {
  DecisionFilter,
  DecisionSearch,
  SearchPage,
  SearchRequest,
} from './decision-search.js'
import { type DecisionRow, readDecision } from './indexed-decision.js'
import { isSearched, type SearchedFields } from './searched-fields.js'

export interface IndexSearchOptions {
  /** Has the journal and its index. */
  readonly dataDir: string
  readonly clock: Pick<Clock, 'now'>
  /** How many rows of the index are examined for one page, at most. */
  readonly maxRows?: number
  /** After so long a page ends where it is. */
  readonly maxSeconds?: number
}

const defaultMaxRows = 5_000
const defaultMaxSeconds = 0.012
/** Greater than every id. */
const afterAllIds = '~'
/** Of most decisions, so that no index has it. */
const usualReason = 'permitted'

type FoundRow = DecisionRow & {
  readonly decided_at: Instant
  readonly what_if: number
  readonly number: string
  readonly decision: DecisionDocument['decision']
  readonly reason: string
  readonly call_kind: string
  readonly via: string
  readonly project_id: string | null
  readonly campaign_id: string | null
  readonly key_id: string | null
  readonly reference: string | null
}

interface PositionRow {
  readonly next_seq: number
  readonly removed_before: Instant
  readonly last_at: Instant
  readonly last_segment: number | null
  readonly last_offset: number | null
}

/** What one page may still take. */
interface Budget {
  rows: number
  readonly untilSeconds: number
}

/** Rows of an account, the greatest id first: all, or those with one value. */
interface RowSource {
  readonly from: string
  readonly values: readonly string[]
}

interface FoundRows {
  readonly rows: readonly FoundRow[]
  /** The last one that was examined, if there may be more. */
  readonly last: FoundRow | undefined
}

export class IndexSearch implements DecisionSearch {
  readonly #options: IndexSearchOptions
  readonly #folder: string
  readonly #path: string
  readonly #statements = new Map<string, Sqlite.Statement<string[], unknown>>()
  #connection: Sqlite.Database | undefined
  /** Of the file that is open: it may be deleted, and is made again then. */
  #fileId: bigint | undefined

  constructor(options: IndexSearchOptions) {
    this.#options = options
    this.#folder = join(options.dataDir, 'journal')
    this.#path = join(options.dataDir, 'index.sqlite')
  }

  async search(request: SearchRequest): Promise<SearchPage> {
    const { maxRows = defaultMaxRows, maxSeconds = defaultMaxSeconds, clock } = this.#options
    const now = clock.now()
    const connection = this.#open()
    // All statements of a page see the same rows.
    connection.exec('begin')
    try {
      const budget = { rows: maxRows, untilSeconds: monotonicSeconds() + maxSeconds }
      const position = this.#readPosition()
      const found = this.#findRows(request, budget)
      const { decisions, last } = this.#readDecisions(found, request, budget)
      return {
        decisions,
        ...(last && { next: last.id, searchedBackTo: readIdInstant(last.id) ?? last.decided_at }),
        completeUntil: this.#isCurrent(position) ? now : position.last_at,
        ...(position.removed_before > 0 && { removedBefore: position.removed_before }),
      }
    } finally {
      connection.exec('commit')
    }
  }

  close(): void {
    this.#statements.clear()
    this.#connection?.close()
    this.#connection = undefined
  }

  #open(): Sqlite.Database {
    const file = statSync(this.#path, { bigint: true, throwIfNoEntry: false })
    if (file === undefined) throw notAvailable('there is none yet')
    if (file.ino !== this.#fileId) this.close()
    let version: unknown
    try {
      this.#connection ??= new Sqlite(this.#path, { readonly: true, timeout: 1_000 })
      this.#fileId = file.ino
      version = this.#connection.pragma('user_version', { simple: true })
    } catch (cause) {
      throw notAvailable(`${this.#path} cannot be read: ${getErrorMessage(cause)}`)
    }
    if (version === schemaVersion) return this.#connection
    throw notAvailable(`${this.#path} is of another version, which a start of the server replaces`)
  }

  #readPosition(): PositionRow {
    const position = this.#prepare('select * from journal_position').get()
    if (position === undefined) throw notAvailable('it is being made')
    return position as PositionRow
  }

  /** Whether the index has every record that is in the journal. */
  #isCurrent({ next_seq, last_segment, last_offset }: PositionRow): boolean {
    const newest = listSegments(this.#folder).at(-1)
    if (newest === undefined || last_segment === null || last_offset === null) {
      return newest === undefined
    }
    if (newest.firstSeq >= next_seq) return false
    const reader = new RecordReader(this.#folder)
    try {
      return !reader.hasMoreAfter({ segment: last_segment, offset: last_offset })
    } finally {
      reader.close()
    }
  }

  #findRows({ caller, filter, before, limit }: SearchRequest, budget: Budget): FoundRows {
    const { accountId } = caller
    const sources = this.#chooseSources(accountId, filter)
    const to = filter.to === undefined ? afterAllIds : toIdPrefix(Math.max(0, filter.to))
    const below = before !== undefined && before < to ? before : to
    const from = toIdPrefix(Math.max(0, filter.from ?? 0))
    const rows: FoundRow[] = []
    let examined: FoundRow | undefined
    for (const row of this.#iterate(sources, below, from)) {
      if (rows.length === limit || isSpent(budget)) return { rows, last: examined }
      examined = row
      budget.rows -= 1
      if (row.what_if === 0 && isSearched(toFields(row), { filter, caller })) rows.push(row)
    }
    return { rows, last: undefined }
  }

  /** Of the index that gives the fewest rows. */
  #chooseSources(accountId: string, filter: DecisionFilter): readonly RowSource[] {
    const { number, reference, reason, decision } = filter
    if (number !== undefined) return [{ from: fromNumber, values: [accountId, number] }]
    if (reference !== undefined) return [{ from: fromReference, values: [accountId, reference] }]
    if (reason !== undefined && reason !== usualReason) {
      return [{ from: fromReason, values: [accountId, reason] }]
    }
    if (decision !== 'block') return [{ from: fromAccount, values: [accountId] }]
    const reasons = this.#listReasons(accountId)
    return reasons.map((one) => ({ from: fromReason, values: [accountId, one] }))
  }

  /** Those that decisions of an account have, without the usual one; each by one step in the index. */
  #listReasons(accountId: string): readonly string[] {
    const next = this.#prepare(
      `select min(reason) as reason from decisions indexed by decisions_by_reason where ${hasReason} and account_id = ? and reason > ?`,
    )
    const reasons: string[] = []
    for (let last = ''; ; ) {
      const { reason } = next.get(accountId, last) as { readonly reason: string | null }
      if (reason === null) return reasons
      reasons.push(reason)
      last = reason
    }
  }

  /** Prepares all statements before the first is used: none can be prepared while another one gives rows. */
  #iterate(sources: readonly RowSource[], below: string, since: string): Iterable<FoundRow> {
    // A statement gives the rows of one source at a time.
    const statements = sources.map(({ from }, index) =>
      this.#prepare(
        `select * from decisions ${from} and id < ? and id >= ? order by id desc`,
        index,
      ),
    )
    return mergeRows(
      statements.map((statement, index) => {
        const rows = statement.iterate(...(sources[index]?.values ?? []), below, since)
        return rows as IterableIterator<FoundRow>
      }),
    )
  }

  #readDecisions(
    { rows, last }: FoundRows,
    request: SearchRequest,
    budget: Budget,
  ): { readonly decisions: readonly DecisionDocument[]; readonly last: FoundRow | undefined } {
    const decisions: DecisionDocument[] = []
    const reader = new RecordReader(this.#folder)
    try {
      let latest: FoundRow | undefined
      for (const row of rows) {
        // One at least, so that pages go on.
        if (latest && monotonicSeconds() > budget.untilSeconds) return { decisions, last: latest }
        latest = row
        const document = readDecision(row, { reader, folder: this.#folder, indexPath: this.#path })
        // It may have been erased since, and a row that was forged shows nothing.
        if (document?.accountId === request.caller.accountId && isSearched(document, request)) {
          decisions.push(withOutcome(document, this.#findOutcome(row.id)))
        }
      }
      return { decisions, last }
    } finally {
      reader.close()
    }
  }

  #findOutcome(id: string): Partial<CallOutcome> {
    const outcome = this.#prepare('select outcome from call_outcomes where decision_id = ?').get(id)
    return outcome ? JSON.parse((outcome as { readonly outcome: string }).outcome) : {}
  }

  #prepare(sql: string, name = 0): Sqlite.Statement<string[], unknown> {
    const key = `${name} ${sql}`
    const known = this.#statements.get(key)
    if (known) return known
    if (!this.#connection) throw new TypeError('the index is not open')
    const statement = this.#connection.prepare<string[], unknown>(sql)
    this.#statements.set(key, statement)
    return statement
  }
}

const hasReason = `reason <> '${usualReason}'`
const fromAccount = 'where account_id = ?'
const fromNumber = 'indexed by decisions_by_number where account_id = ? and number = ?'
const fromReference = 'indexed by decisions_by_reference where account_id = ? and reference = ?'
const fromReason = `indexed by decisions_by_reason where ${hasReason} and account_id = ? and reason = ?`

/** The rows of several sources as those of one. */
function* mergeRows(sources: readonly IterableIterator<FoundRow>[]): Generator<FoundRow> {
  /** The least id first. */
  const heads: { readonly row: FoundRow; readonly source: IterableIterator<FoundRow> }[] = []
  const addNext = (source: IterableIterator<FoundRow>) => {
    const next = source.next()
    if (next.done) return
    let place = heads.length
    while (place > 0 && (heads[place - 1]?.row.id ?? '') > next.value.id) place -= 1
    heads.splice(place, 0, { row: next.value, source })
  }
  try {
    for (const source of sources) addNext(source)
    for (let head = heads.pop(); head; head = heads.pop()) {
      yield head.row
      addNext(head.source)
    }
  } finally {
    for (const source of sources) source.return?.()
  }
}

function isSpent({ rows, untilSeconds }: Budget): boolean {
  return rows <= 0 || (rows % rowsPerClockReading === 0 && monotonicSeconds() > untilSeconds)
}

/** Reading the clock takes as long as a row. */
const rowsPerClockReading = 64

const toFields = (row: FoundRow): SearchedFields => ({
  number: row.number,
  decision: row.decision,
  reason: row.reason,
  callKind: row.call_kind,
  via: row.via,
  projectId: row.project_id ?? undefined,
  campaignId: row.campaign_id ?? undefined,
  keyId: row.key_id ?? undefined,
  reference: row.reference ?? undefined,
})

function notAvailable(why: string): AppError {
  return new AppError('not-available', `the index of decisions cannot be searched: ${why}`)
}
