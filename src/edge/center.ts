/**
 * Gives edges the rows of their account, and what has changed in them. An answer has rows as they are when it is made,
 * so it does no harm if one is sent twice, or has changed again meanwhile.
 */
import { sql } from 'kysely'
import type {
  AccountCopy,
  AccountTable,
  ChangesCopy,
  ChangesRequest,
  CopiedRow,
  NumberTable,
  RecordPage,
  RecordPageRequest,
} from '../api/edges.js'
import { findAccountColumn } from '../api/edges.js'
import type { Caller } from '../domain/caller.js'
import type { Timers } from '../domain/time/clock.js'
import { AppError } from '../errors.js'
import { sleep } from '../runtime/runtime.js'
import { schemaNumber } from '../storage/migrate.js'
import type { ChangeFeed, OpenDatabase } from '../storage/open-database.js'
import { nameHeldNumber, readHeldNumbers } from '../storage/platform-events/held-numbers.js'
import type { Db } from '../storage/tables.js'
import { servesNoEdges } from './edge-access.js'

export interface CenterDeps {
  /** Says of a published list whether the account may use it, or cannot do without it although it may not. */
  readonly readListAccess: (
    accountId: string,
  ) => Promise<(name: string) => 'use' | 'needed' | 'none'>
  readonly storage: Pick<OpenDatabase, 'db' | 'feed' | 'traits'>
  readonly timers: Pick<Timers, 'monotonicMs'>
}

/** So few that making an answer of them does not hold up decisions. */
const maxRows = 1_000
/** Of one answer. */
const maxChanges = 100
const maxNumbers = 1_000
const waitStepMs = 10

interface Change {
  readonly seq: number
  readonly at: number
  readonly account_id: string | null
  readonly numbers: string | null
  readonly all_numbers: number
}

type CopiedChanges = Omit<ChangesCopy, 'accountId' | 'knownAfterMs' | 'schema'>

export class Center {
  readonly #db: Db
  readonly #feed: ChangeFeed | undefined
  readonly #timers: CenterDeps['timers']
  readonly #readListAccess: CenterDeps['readListAccess']
  /** By account, cursor and newest change: many edges ask the same at the same moment. */
  readonly #reading = new Map<string, Promise<CopiedChanges>>()

  constructor({ storage, timers, readListAccess }: CenterDeps) {
    this.#readListAccess = readListAccess
    this.#db = storage.db
    this.#feed = storage.traits.isShared ? storage.feed : undefined
    this.#timers = timers
  }

  async readAccount({ accountId }: Caller): Promise<AccountCopy> {
    this.#requireFeed()
    const read = (table: AccountTable) => this.#readTable(table, accountId)
    const [account] = await read('accounts')
    return {
      accountId,
      tables: {
        // Webhooks are sent by the center.
        accounts: account ? [{ ...account, webhook_secret: null }] : [],
        api_keys: await read('api_keys'),
        pauses: [...(await read('pauses')), ...(await this.#readHeldNumbers(accountId))],
        caller_ids: await read('caller_ids'),
        abandonment_counts: await read('abandonment_counts'),
        projects: await read('projects'),
        campaigns: await read('campaigns'),
        project_hours: await read('project_hours'),
        state_registrations: await read('state_registrations'),
        internal_dnc_lists: await read('internal_dnc_lists'),
        list_rights: await read('list_rights'),
        list_versions: await this.#readListVersions(accountId),
      },
      seq: await this.#readNewest(),
    }
  }

  /** Held numbers are sent as pauses, which an edge already stores. */
  async #readHeldNumbers(accountId: string): Promise<readonly CopiedRow[]> {
    const rows = await readHeldNumbers(this.#db, accountId)
    const bySubject = new Map(
      rows.map(({ number, platform, heardAt }) => [
        nameHeldNumber(accountId, number),
        { account_id: accountId, paused_at: heardAt, paused_by: platform, reason: '' },
      ]),
    )
    return [...bySubject].map(([subject, row]) => ({ subject, ...row }))
  }

  /** Of lists that the account may use; those that it needs beside them are in force nowhere at the edge. */
  async #readListVersions(accountId: string): Promise<readonly CopiedRow[]> {
    const findAccess = await this.#readListAccess(accountId)
    const all = await this.#db.selectFrom('list_versions').selectAll().execute()
    return all.flatMap((row) => {
      const access = findAccess(row.name)
      if (access === 'none') return []
      return [{ ...row, in_force: access === 'needed' ? 0 : row.in_force }]
    })
  }

  async #readNewest(): Promise<number> {
    const head = this.#db.selectFrom('change_head').select('seq').where('id', '=', 1)
    return (await head.executeTakeFirstOrThrow()).seq
  }

  async #readTable(table: AccountTable, accountId: string): Promise<readonly CopiedRow[]> {
    const column = findAccountColumn(table)
    // A pause of all AI calls is of no account.
    const isOwn = column === undefined ? sql`true` : sql`${sql.ref(column)} in (${accountId}, '')`
    const query = sql<CopiedRow>`select * from ${sql.table(table)} where ${isOwn}`
    return (await query.execute(this.#db)).rows
  }

  async readRecords({ accountId }: Caller, request: RecordPageRequest): Promise<RecordPage> {
    this.#requireFeed()
    if (request.numbers) {
      const rows = (await this.#readNumbers(accountId, request.numbers))[request.table]
      return { accountId, rows, next: null }
    }
    const rows =
      request.table === 'internal_dnc'
        ? await this.#readOptOuts(accountId, request.after)
        : await this.#readEbrRecords(accountId, request.after)
    const last = rows.length < maxRows ? undefined : rows.at(-1)
    return { accountId, rows, next: last ? formatRecordKey(request.table, last) : null }
  }

  async #readOptOuts(accountId: string, after: string): Promise<readonly CopiedRow[]> {
    const [list = '', number = ''] = readOptOutKey(after)
    const rows = await this.#db
      .selectFrom('internal_dnc')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(sql<boolean>`(list, number) > (${list}, ${number})`)
      .orderBy('list')
      .orderBy('number')
      .limit(maxRows)
      .execute()
    return rows.map((row) => ({ ...row }))
  }

  async #readEbrRecords(accountId: string, after: string): Promise<readonly CopiedRow[]> {
    const rows = await this.#db
      .selectFrom('ebr_records')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('superseded_at', 'is', null)
      .where('id', '>', readEbrKey(after))
      .orderBy('id')
      .limit(maxRows)
      .execute()
    return rows.map((row) => ({ ...row }))
  }

  /** Throws `not-available` while the database does not answer. */
  async readChanges({ accountId }: Caller, request: ChangesRequest): Promise<ChangesCopy> {
    const feed = this.#requireFeed()
    const arrivedMs = this.#timers.monotonicMs()
    const { seq, sent } = parseCursor(request.after) ?? {}
    const waitMs = sent === undefined ? request.waitMs : 0
    await this.#waitForChange(feed, seq, arrivedMs + waitMs)
    const head = feed.position
    const knownAfterMs = feed.currentAt.monotonicMs - arrivedMs
    if (head === undefined) {
      throw new AppError('not-available', `The database does not answer: ${feed.problem}`)
    }
    const key = JSON.stringify([accountId, request.after, head])
    let reading = this.#reading.get(key)
    if (reading === undefined) {
      reading = this.#readUpTo(head, accountId, request.after)
      this.#reading.set(key, reading)
      const forget = () => this.#reading.delete(key)
      reading.then(forget, forget)
    }
    return { ...(await reading), accountId, schema: schemaNumber, knownAfterMs }
  }

  /** Changes up to number `head`. */
  async #readUpTo(head: number, accountId: string, cursor: string): Promise<CopiedChanges> {
    const after = parseCursor(cursor)
    if (after === undefined) return await this.#startAgain(head)
    const { seq, sent } = after
    const from = sent === undefined ? seq : seq - 1
    const rows = from < head ? await this.#readRows(from, head) : []
    // After the rows, which may be those of another database already.
    if (!(await this.#isKnown(after))) return await this.#startAgain(head)
    // Another server may have told the edge of more than this one has read.
    if (from >= head) return { ...nothing, cursor, hasMore: sent !== undefined }
    if (rows.at(-1)?.seq !== from + rows.length) return await this.#startAgain(head)
    const part = await this.#limit(accountId, toOwnChanges(rows, accountId), sent ?? 0)
    const numbers = [...new Set(part.numbers)]
    return {
      cursor: formatCursor(part.cursor),
      isUnknown: false,
      hasMore: part.cursor.sent !== undefined || part.cursor.seq < head,
      ofAccount: part.changes.some(({ ofAccount }) => ofAccount),
      ofAllNumbers: part.changes.some(({ ofAllNumbers }) => ofAllNumbers),
      numbers,
      rows: await this.#readNumbers(accountId, numbers),
    }
  }

  /** A change may name ten thousand numbers, and a number may be on the list of each project. */
  async #limit(
    accountId: string,
    changes: readonly OwnChange[],
    sent: number,
  ): Promise<ChangesPart> {
    const part = takePart(changes, sent, { max: maxNumbers, weigh: () => 1 })
    if (part.numbers.length < 2) return part
    const counts = await this.#countRows(accountId, part.numbers)
    return takePart(changes, sent, { max: maxRows, weigh: (number) => counts.get(number) ?? 1 })
  }

  async #countRows(
    accountId: string,
    numbers: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    const { rows } = await sql<{ readonly number: string; readonly rows: number }>`
      select number, count(*) as rows from (
        select number from internal_dnc where account_id = ${accountId} and ${isOneOf(numbers)}
        union all
        select number from ebr_records
          where account_id = ${accountId} and ${isOneOf(numbers)} and superseded_at is null
      ) as found group by number`.execute(this.#db)
    return new Map(rows.map(({ number, rows: count }) => [number, count]))
  }

  async #startAgain(head: number): Promise<CopiedChanges> {
    return { ...nothing, cursor: await this.#readCursor(head), isUnknown: true }
  }

  async #waitForChange(feed: ChangeFeed, after: number | undefined, untilMs: number) {
    while (feed.position === after && after !== undefined) {
      if (this.#timers.monotonicMs() >= untilMs) return
      await sleep(waitStepMs)
    }
  }

  /** After a failover that has lost changes, others may have their numbers, or will have. */
  async #isKnown({ seq, at }: Cursor): Promise<boolean> {
    return (await this.#readAt(seq)) === at
  }

  async #readCursor(seq: number): Promise<string> {
    return formatCursor({ seq, at: await this.#readAt(seq), sent: undefined })
  }

  /** 0 if the change is no longer known, as that of a database that was moved. */
  async #readAt(seq: number): Promise<number> {
    const query = this.#db.selectFrom('changes').select('at').where('seq', '=', seq)
    return (await query.executeTakeFirst())?.at ?? 0
  }

  async #readRows(after: number, head: number): Promise<readonly Change[]> {
    return await this.#db
      .selectFrom('changes')
      .select(['seq', 'at', 'account_id', 'numbers', 'all_numbers'])
      .where('seq', '>', after)
      .where('seq', '<=', head)
      .orderBy('seq')
      .limit(maxChanges)
      .execute()
  }

  async #readNumbers(
    accountId: string,
    numbers: readonly string[],
  ): Promise<Readonly<Record<NumberTable, readonly CopiedRow[]>>> {
    if (numbers.length === 0) return nothing.rows
    const optOuts = await this.#db
      .selectFrom('internal_dnc')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(isOneOf(numbers))
      .execute()
    const records = await this.#db
      .selectFrom('ebr_records')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(isOneOf(numbers))
      .where('superseded_at', 'is', null)
      .execute()
    return {
      internal_dnc: optOuts.map((row) => ({ ...row })),
      ebr_records: records.map((row) => ({ ...row })),
    }
  }

  #requireFeed(): ChangeFeed {
    if (this.#feed) return this.#feed
    throw servesNoEdges()
  }
}

/** Any number of them is one parameter. */
const isOneOf = (numbers: readonly string[]) => sql<boolean>`number = any(${numbers})`

const nothing = {
  isUnknown: false,
  hasMore: false,
  ofAccount: false,
  ofAllNumbers: false,
  numbers: [],
  rows: { internal_dnc: [], ebr_records: [] },
} as const

interface OwnChange extends Pick<Change, 'seq' | 'at'> {
  readonly ofAccount: boolean
  readonly ofAllNumbers: boolean
  readonly numbers: readonly string[]
}

/** Those of other accounts change nothing. */
function toOwnChanges(changes: readonly Change[], accountId: string): readonly OwnChange[] {
  return changes.map(({ seq, at, account_id: of, numbers, all_numbers: all }) => {
    const isOwn = of === null || of === accountId
    return {
      seq,
      at,
      ofAccount: isOwn && numbers === null,
      ofAllNumbers: isOwn && all === 1,
      numbers: isOwn ? (numbers?.split(',').filter(Boolean) ?? []) : [],
    }
  })
}

/** The beginning of some changes; the cursor names the last one, or the one whose numbers follow. */
interface ChangesPart {
  /** Without the one that was divided. */
  readonly changes: readonly OwnChange[]
  readonly numbers: readonly string[]
  readonly cursor: Cursor
}

/** At least one number, and as many more as weigh at most `max`; of the first change, those after the first `sent`. */
function takePart(
  changes: readonly OwnChange[],
  sent: number,
  { max, weigh }: { readonly max: number; readonly weigh: (number: string) => number },
): ChangesPart {
  const numbers: string[] = []
  let weight = 0
  for (const [count, { seq, at, numbers: own }] of changes.entries()) {
    for (let index = count === 0 ? sent : 0; index < own.length; index += 1) {
      const number = own[index] ?? ''
      weight += weigh(number)
      if (weight > max && numbers.length > 0) {
        return { changes: changes.slice(0, count), numbers, cursor: { seq, at, sent: index } }
      }
      numbers.push(number)
    }
  }
  const { seq = 0, at = 0 } = changes.at(-1) ?? {}
  return { changes, numbers, cursor: { seq, at, sent: undefined } }
}

/** A change that was sent. */
interface Cursor {
  readonly seq: number
  /** When it was stored. */
  readonly at: number
  /** How many of its numbers, from the first one, if not all. */
  readonly sent: number | undefined
}

const formatCursor = ({ seq, at, sent }: Cursor) =>
  sent === undefined ? `${seq}-${at}` : `${seq}-${at}-${sent}`

/** `undefined` for text that is none. */
function parseCursor(text: string): Cursor | undefined {
  const [, seq, at, sent] = /^(\d{1,15})-(\d{1,15})(?:-(\d{1,9}))?$/.exec(text) ?? []
  if (seq === undefined) return undefined
  return { seq: Number(seq), at: Number(at), sent: sent === undefined ? undefined : Number(sent) }
}

function formatRecordKey(table: NumberTable, row: CopiedRow): string {
  return table === 'internal_dnc' ? `${row.number} ${row.list}` : String(row.id)
}

/** List and number. */
function readOptOutKey(after: string): readonly string[] {
  const [, number = '', list = ''] = /^(\d{10}) (.*)$/.exec(after) ?? []
  return [list, number]
}

const readEbrKey = (after: string) => (/^\d{1,15}$/.test(after) ? Number(after) : 0)
