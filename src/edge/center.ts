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
import type { Db } from '../storage/tables.js'
import { servesNoEdges } from './edge-access.js'

export interface CenterDeps {
  /** The account whose edges use the lists that are published. */
  readonly listAccountId: string
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
  readonly #listAccountId: string
  /** By account, cursor and newest change: many edges ask the same at the same moment. */
  readonly #reading = new Map<string, Promise<CopiedChanges>>()

  constructor({ storage, timers, listAccountId }: CenterDeps) {
    this.#listAccountId = listAccountId
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
        pauses: await read('pauses'),
        projects: await read('projects'),
        campaigns: await read('campaigns'),
        project_hours: await read('project_hours'),
        state_registrations: await read('state_registrations'),
        internal_dnc_lists: await read('internal_dnc_lists'),
        list_versions: accountId === this.#listAccountId ? await read('list_versions') : [],
      },
    }
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
        : await this.#readConsents(accountId, request.after)
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

  async #readConsents(accountId: string, after: string): Promise<readonly CopiedRow[]> {
    const rows = await this.#db
      .selectFrom('ebr_records')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('superseded_at', 'is', null)
      .where('id', '>', readConsentKey(after))
      .orderBy('id')
      .limit(maxRows)
      .execute()
    return rows.map((row) => ({ ...row }))
  }

  /** Throws `not-available` while the database does not answer. */
  async readChanges({ accountId }: Caller, request: ChangesRequest): Promise<ChangesCopy> {
    const feed = this.#requireFeed()
    const arrivedMs = this.#timers.monotonicMs()
    const { seq } = parseCursor(request.after) ?? {}
    await this.#waitForChange(feed, seq, arrivedMs + request.waitMs)
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
    if (after === undefined || !(await this.#isKnown(after))) return await this.#startAgain(head)
    // Another server may have told the edge of more than this one has read.
    if (after.seq >= head) return { ...nothing, cursor }
    const changes = takeNumbers(await this.#readRows(after.seq, head))
    const last = changes.at(-1)
    if (last?.seq !== after.seq + changes.length) return await this.#startAgain(head)
    const own = changes.filter(({ account_id: id }) => id === null || id === accountId)
    const numbers = [...new Set(own.flatMap((change) => splitNumbers(change.numbers)))]
    return {
      cursor: formatCursor(last),
      isUnknown: false,
      hasMore: last.seq < head,
      ofAccount: own.some((change) => change.numbers === null),
      ofAllNumbers: own.some(({ all_numbers: all }) => all === 1),
      numbers,
      rows: await this.#readNumbers(accountId, numbers),
    }
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
    return formatCursor({ seq, at: await this.#readAt(seq) })
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
    const consents = await this.#db
      .selectFrom('ebr_records')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(isOneOf(numbers))
      .where('superseded_at', 'is', null)
      .execute()
    return {
      internal_dnc: optOuts.map((row) => ({ ...row })),
      ebr_records: consents.map((row) => ({ ...row })),
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

const splitNumbers = (numbers: string | null) => numbers?.split(',').filter(Boolean) ?? []

/** Those at the beginning that have at most {@link maxNumbers}, but at least one. */
function takeNumbers(changes: readonly Change[]): readonly Change[] {
  let count = 0
  const end = changes.findIndex(({ numbers }, index) => {
    count += splitNumbers(numbers).length
    return index > 0 && count > maxNumbers
  })
  return end === -1 ? changes : changes.slice(0, end)
}

/** The number of a change, and when it was stored. */
interface Cursor {
  readonly seq: number
  readonly at: number
}

const formatCursor = ({ seq, at }: Cursor) => `${seq}-${at}`

/** `undefined` for text that is none. */
function parseCursor(text: string): Cursor | undefined {
  const [, seq, at] = /^(\d{1,15})-(\d{1,15})$/.exec(text) ?? []
  return seq === undefined ? undefined : { seq: Number(seq), at: Number(at) }
}

function formatRecordKey(table: NumberTable, row: CopiedRow): string {
  return table === 'internal_dnc' ? `${row.number} ${row.list}` : String(row.id)
}

/** List and number. */
function readOptOutKey(after: string): readonly string[] {
  const [, number = '', list = ''] = /^(\d{10}) (.*)$/.exec(after) ?? []
  return [list, number]
}

const readConsentKey = (after: string) => (/^\d{1,15}$/.test(after) ? Number(after) : 0)
