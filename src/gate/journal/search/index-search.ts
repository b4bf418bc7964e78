/**
 * The search in the index of a journal, on a connection of its own that only reads, also beside the server that writes it. Takes
 * the calling thread some milliseconds, which is why it is not for the one that decides.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { CallOutcome } from '../../../domain/call-outcome.js'
import { canUseScope, type ScopeChoice } from '../../../domain/caller.js'
import type { Clock, Instant } from '../../../domain/time/clock.js'
import { AppError, getErrorMessage } from '../../../errors.js'
import { monotonicSeconds } from '../../../runtime/runtime.js'
import type { DecisionDocument } from '../../record/decision-document.js'
import { withOutcome } from '../../record/with-outcome.js'
import { listSegments, RecordReader } from '../journal-reader.js'
import { readIdInstant, toIdPrefix } from '../projection/decision-months.js'
import type { StoredRecord } from '../segment-format.js'
import type {
  DecisionFilter,
  DecisionSearch,
  SearchPage,
  SearchRequest,
} from './decision-search.js'
import { type DecisionRow, type IndexForm, readDecision, readForm } from './index-file.js'
import { isSearched } from './searched-fields.js'

export interface IndexSearchOptions {
  /** Has the journal and its index. */
  readonly dataDir: string
  readonly clock: Pick<Clock, 'now'>
  /** How many rows of the index are examined for one page, about. */
  readonly maxRows?: number
  /** So long it looks for rows, and so long it reads their records: then the page ends where it is. */
  readonly maxSeconds?: number
}

const defaultMaxRows = 20_000
const defaultMaxSeconds = 0.008
/** Examined in one statement; the clock is read in between. */
const maxChunkRows = 500
/** More than there are of usual searches. */
const maxStatements = 200
/** From the making of an id until its record is in the index. */
const longestIndexingMs = 120_000
/** Greater than every id. */
const afterAllIds = '~'
/** Of most decisions, so that no index has it. */
const usualReason = 'permitted'

type FoundRow = DecisionRow & {
  readonly project_code: string | null
  readonly campaign_id: string | null
}

interface PositionRow {
  readonly next_seq: number
  readonly removed_before: Instant
  readonly last_at: Instant
  readonly last_segment: number | null
  readonly last_offset: number | null
}

/** A condition of SQL, and the values of its parameters. */
interface Condition {
  readonly sql: string
  readonly values: readonly string[]
}

interface FoundRows {
  readonly rows: readonly FoundRow[]
  /** Rows with ids from this one on were examined; absent if all were. */
  readonly next: string | undefined
}

export class IndexSearch implements DecisionSearch {
  readonly #clock: Pick<Clock, 'now'>
  readonly #limits: { readonly maxRows: number; readonly maxSeconds: number }
  readonly #folder: string
  readonly #path: string
  readonly #statements = new Map<string, Sqlite.Statement<(string | number)[], unknown>>()
  #connection: Sqlite.Database | undefined
  /** Of the file that is open: it may be deleted, and is made again then. */
  #fileId: bigint | undefined

  constructor({ dataDir, clock, ...limits }: IndexSearchOptions) {
    this.#clock = clock
    this.#limits = { maxRows: defaultMaxRows, maxSeconds: defaultMaxSeconds, ...limits }
    this.#folder = join(dataDir, 'journal')
    this.#path = join(dataDir, 'index.sqlite')
  }

  async search(request: SearchRequest): Promise<SearchPage> {
    const now = this.#clock.now()
    const connection = this.#open('searched')
    // All statements of a page see the same rows.
    connection.exec('begin')
    try {
      const position = this.#readPosition()
      const { decisions, next } = this.#readDecisions(this.#findRows(request), request)
      return {
        decisions,
        ...(next !== undefined && { next, searchedBackTo: readIdInstant(next) ?? now }),
        completeUntil: this.#isCurrent(position) ? now : position.last_at,
        ...(position.removed_before > 0 && { removedBefore: position.removed_before }),
      }
    } finally {
      connection.exec('commit')
    }
  }

  /**
   * The latest record of a decision; `undefined` if the account has none of that id in this journal. Throws `not-available` if it may be too new for the index.
   */
  findRecord(accountId: string, id: string): StoredRecord | undefined {
    // Each form says where a record is.
    this.#open('searched', 'places')
    const position = this.#readPosition()
    const select = 'select id, segment, byte_offset from decisions where id = ? and account_id = ?'
    const row = this.#prepare(select).get(id, accountId) as DecisionRow | undefined
    if (row === undefined) {
      const isNew = (readIdInstant(id) ?? 0) > position.last_at - longestIndexingMs
      if (!isNew || this.#isCurrent(position)) return undefined
      const rule = 'it is being brought up to date; ask again in a moment'
      throw new AppError('not-available', `the index of decisions: ${rule}`, {
        retryAfterSeconds: 1,
      })
    }
    const reader = new RecordReader(this.#folder)
    try {
      const record = reader.read({ segment: row.segment, offset: row.byte_offset })
      const files = { reader, folder: this.#folder, indexPath: this.#path }
      return readDecision(row, files)?.accountId === accountId ? record : undefined
    } finally {
      reader.close()
    }
  }

  close(): void {
    this.#statements.clear()
    this.#connection?.close()
    this.#connection = undefined
  }

  #open(...forms: readonly IndexForm[]): Sqlite.Database {
    const file = statSync(this.#path, { bigint: true, throwIfNoEntry: false })
    if (file === undefined) throw notAvailable('there is none yet')
    if (file.ino !== this.#fileId) this.close()
    let form: IndexForm | undefined
    try {
      this.#connection ??= new Sqlite(this.#path, { readonly: true, timeout: 1_000 })
      this.#fileId = file.ino
      form = readForm(this.#connection)
    } catch (cause) {
      throw notAvailable(`${this.#path} cannot be read: ${getErrorMessage(cause)}`)
    }
    if (form !== undefined && forms.includes(form)) return this.#connection
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

  #findRows(request: SearchRequest): FoundRows {
    const { caller, filter, before, limit } = request
    const { maxRows, maxSeconds } = this.#limits
    const chunkRows = Math.min(maxChunkRows, maxRows)
    const untilSeconds = monotonicSeconds() + maxSeconds
    const { findBoundary, findMatches } = this.#prepareSearch(request)
    const { from, to } = toIdRange(filter)
    let below = before !== undefined && before < to ? before : to
    const rows: FoundRow[] = []
    for (let examined = chunkRows; ; examined += chunkRows) {
      const boundary = findBoundary(below, from, chunkRows)
      const start = boundary ?? from
      const missing = limit + 1 - rows.length
      const found = findMatches(below, start, missing)
      rows.push(...found.filter((row) => canUseScope(caller, toScope(row))))
      if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1]?.id }
      const last = found.length === missing ? found.at(-1) : undefined
      if (boundary === undefined && last === undefined) return { rows, next: undefined }
      below = last?.id ?? start
      const isSpent = examined >= maxRows || monotonicSeconds() > untilSeconds
      if (rows.length === limit || isSpent) return { rows, next: below }
    }
  }

  /** Ids are less than `below`, and not less than `start`. */
  #prepareSearch({ caller, filter }: SearchRequest) {
    const { sql, values } = chooseSource(caller.accountId, filter)
    const conditions = listConditions({ caller, filter })
    const boundary = this.#prepare(
      `select id from ${sql} and id < ? and id >= ? order by id desc limit 1 offset ?`,
    ).pluck()
    const matches = this.#prepare(
      `select id, segment, byte_offset, project_code, campaign_id from ${sql} and id < ? and id >= ? ` +
        `and what_if = 0${conditions.map((one) => ` and ${one.sql}`).join('')} order by id desc limit ?`,
    )
    const wanted = conditions.flatMap((one) => one.values)
    return {
      /** The id of the last of so many rows; `undefined` if there are fewer. */
      findBoundary: (below: string, start: string, count: number) =>
        boundary.get(...values, below, start, count - 1) as string | undefined,
      findMatches: (below: string, start: string, atMost: number) =>
        matches.all(...values, below, start, ...wanted, atMost) as FoundRow[],
    }
  }

  #readDecisions(
    { rows, next }: FoundRows,
    request: SearchRequest,
  ): { readonly decisions: readonly DecisionDocument[]; readonly next: string | undefined } {
    const untilSeconds = monotonicSeconds() + this.#limits.maxSeconds
    const decisions: DecisionDocument[] = []
    const reader = new RecordReader(this.#folder)
    try {
      let last: FoundRow | undefined
      for (const row of rows) {
        // One at least, so that pages go on.
        if (last && monotonicSeconds() > untilSeconds) return { decisions, next: last.id }
        last = row
        const document = readDecision(row, { reader, folder: this.#folder, indexPath: this.#path })
        // It may have been erased since, and a row that was forged shows nothing.
        if (document?.accountId === request.caller.accountId && isSearched(document, request)) {
          decisions.push(withOutcome(document, this.#findOutcome(row.id)))
        }
      }
      return { decisions, next }
    } finally {
      reader.close()
    }
  }

  #findOutcome(id: string): Partial<CallOutcome> {
    const outcome = this.#prepare('select outcome from call_outcomes where decision_id = ?').get(id)
    return outcome ? JSON.parse((outcome as { readonly outcome: string }).outcome) : {}
  }

  #prepare(sql: string): Sqlite.Statement<(string | number)[], unknown> {
    const known = this.#statements.get(sql)
    if (known) return known
    if (!this.#connection) throw new TypeError('the index is not open')
    if (this.#statements.size >= maxStatements) this.#statements.clear()
    const statement = this.#connection.prepare<(string | number)[], unknown>(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

/** Ids from one on, up to but not including the other. */
const toIdRange = ({ from = 0, to }: DecisionFilter) => ({
  from: toIdPrefix(Math.max(0, from)),
  to: to === undefined ? afterAllIds : toIdPrefix(Math.max(0, to)),
})

/** The index that has the fewest rows. Each has them in the order of their ids. */
function chooseSource(accountId: string, filter: DecisionFilter): Condition {
  const { number, reference, reason, decision } = filter
  const through = (index: string, condition: string, ...values: readonly string[]) => ({
    sql: `decisions indexed by ${index} where account_id = ? and ${condition}`,
    values: [accountId, ...values],
  })
  if (number !== undefined) return through('decisions_by_number', 'number = ?', number)
  if (reference !== undefined) return through('decisions_by_reference', 'reference = ?', reference)
  if (reason !== undefined && reason !== usualReason) {
    return through('decisions_by_reason', `reason <> '${usualReason}' and reason = ?`, reason)
  }
  if (decision === 'block') return through('blocked_decisions', "decision = 'block'")
  return { sql: 'decisions not indexed where account_id = ?', values: [accountId] }
}

function listConditions({ filter, caller }: Pick<SearchRequest, 'filter' | 'caller'>) {
  const { number, decision, reason, callKind, via, projectId, keyId, reference } = filter
  const { callKinds, projects } = caller.limits
  const columns = { number, decision, reason, via, reference, call_kind: callKind }
  const values = { ...columns, project_code: projectId, key_id: keyId }
  const conditions = Object.entries(values).flatMap(([column, value]): readonly Condition[] =>
    value === undefined ? [] : [{ sql: `${column} = ?`, values: [value] }],
  )
  const isOneOf = (column: string, words: readonly string[]): Condition => ({
    sql: `${column} in (select value from json_each(?))`,
    values: [JSON.stringify(words)],
  })
  if (callKinds !== 'any') conditions.push(isOneOf('call_kind', callKinds))
  if (projects !== 'any') {
    const named = isOneOf('project_code', projects.codes)
    // A campaign alone may be one of them.
    conditions.push({ ...named, sql: `(project_code is null or ${named.sql})` })
  }
  return conditions
}

const toScope = ({ project_code, campaign_id }: FoundRow): ScopeChoice => ({
  projectId: project_code ?? undefined,
  campaignId: campaign_id ?? undefined,
})

function notAvailable(why: string): AppError {
  return new AppError('not-available', `the index of decisions cannot be searched: ${why}`)
}
