/**
 * The register of an account's own numbers, which its calls may show, with what proves that they are its own (16 CFR 310.5(a)(2)(ix)). A row
 * is never changed or deleted: an entry that is changed ends, and another one begins.
 */
import { type Caller, canUseScope, parseProjectCode } from '../../domain/caller.js'
import type { MaybePromise } from '../../domain/compliance.js'
import {
  type CallerIdEntry,
  type CallerIdInput,
  type CallerIdRegister,
  noCallerIds,
  type OwnNumber,
} from '../../domain/mandate.js'
import { parseCallerId } from '../../domain/phone-number.js'
import type { Clock, Instant, Timers } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { callerIdProblems } from '../../domain/words/caller-id.js'
import { AppError, type FieldProblem, invalidRequest } from '../../errors.js'
import { TtlCache } from '../../runtime/ttl-cache.js'
import { type AuditEntry, findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { CallerIdRow, Db } from '../../storage/tables.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import { readCacheLimits } from '../sql/read-cache-limits.js'
import { findDoNotOriginate, hasDoNotOriginate } from './do-not-originate.js'

const maxTextLength = 200

interface CallerIdsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'reads' | 'traits' | 'author' | 'retryWhileLocked'>
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
}

interface Change {
  /** Who makes it, as the register says it. */
  readonly by: string
  readonly reason?: string | undefined
}

export class CallerIds {
  readonly #options: CallerIdsOptions
  readonly #cache: TtlCache<CallerIdRegister>
  /** Whether there are lists of numbers that nobody may show; one entry. */
  readonly #lists: TtlCache<{ readonly areThere: boolean }>
  /** By the number that a call shows, which dialers change with each call. */
  readonly #barred: TtlCache<Pick<CallerIdRegister, 'barredBy'>>

  constructor(options: CallerIdsOptions) {
    this.#options = options
    const limits = { ...readCacheLimits, timers: options.timers }
    this.#cache = new TtlCache(limits)
    this.#barred = new TtlCache(limits)
    this.#lists = new TtlCache(limits)
  }

  /** What another process has written a second ago is in it. `shown` is what a call shows, as ten digits. */
  read(accountId: string, shown: string | undefined): MaybePromise<CallerIdRegister> {
    const register = this.#cache.get(accountId)
    const isFree = shown === undefined || this.#lists.get('')?.areThere === false
    const barred = isFree ? notBarred : this.#barred.get(shown)
    return register && barred ? join(register, barred) : this.#readBoth(accountId, shown)
  }

  async #readBoth(accountId: string, shown: string | undefined): Promise<CallerIdRegister> {
    const [register, barred] = await Promise.all([
      this.#read(accountId),
      shown === undefined ? notBarred : this.#readBarred(shown),
    ])
    return join(register, barred)
  }

  async #readBarred(shown: string): Promise<Pick<CallerIdRegister, 'barredBy'>> {
    const { reads } = this.#options.storage
    const lists = await this.#lists.fetch('', async () => ({
      areThere: await hasDoNotOriginate(reads),
    }))
    if (lists?.areThere === false) return notBarred
    const barred = await this.#barred.fetch(shown, async () => ({
      barredBy: await findDoNotOriginate(reads, shown),
    }))
    return barred ?? notBarred
  }

  async #read(accountId: string): Promise<CallerIdRegister> {
    const register = await this.#cache.fetch(accountId, async () => {
      const rows = await this.#options.storage.reads
        .selectFrom('caller_ids')
        .select(['number', 'project', 'valid_from', 'valid_until', 'ended_at', 'presence'])
        .where('account_id', '=', accountId)
        .execute()
      return rows.length === 0 ? noCallerIds : toRegister(rows)
    })
    if (register === undefined) throw new Error('the own numbers could not be read')
    return register
  }

  /** By number and project, the newest entry of each first; of the projects that the caller may use. */
  async list(caller: Caller, { ended = false } = {}): Promise<readonly CallerIdEntry[]> {
    const rows = await this.#options.storage.db
      .selectFrom('caller_ids')
      .selectAll()
      .where('account_id', '=', caller.accountId)
      .$if(!ended, (query) => query.where('ended_at', 'is', null))
      .orderBy('number')
      .orderBy('project')
      .orderBy('added_at', 'desc')
      .execute()
    return rows.filter((row) => mayUse(caller, row.project)).map(toEntry)
  }

  /**
   * Adds numbers or replaces what is said of them, all or none. Takes effect at once in this process, within a second in others. Throws
   * `invalid-request` naming `callerIds[<place>].<field>`, and `forbidden` for a project that the caller may not use.
   */
  async add(
    caller: Caller,
    inputs: readonly CallerIdInput[],
    { by, reason }: Change,
  ): Promise<void> {
    const { accountId } = caller
    const entries = readInputs(accountId, inputs)
    for (const { project } of entries) requireProject(caller, project)
    await runAccountTransaction(this.#options.storage, accountId, async (transaction) => {
      await requireProjects(transaction, accountId, entries)
      for (const entry of entries) {
        const at = await this.#endRow(transaction, accountId, { ...entry, by })
        await transaction
          .insertInto('caller_ids')
          .values({ account_id: accountId, ...entry, added_at: at, added_by: by })
          .execute()
      }
      const [first] = entries
      await this.#record(transaction, caller, {
        action: 'caller-id.added',
        subject: entries.length === 1 && first ? toSubject(first) : { kind: 'caller-ids', id: '' },
        after: entries.length === 1 ? first : { numbers: entries.length },
        reason,
      })
    })
    this.#cache.clear()
  }

  /** Keeps the row, as evidence. Throws `not-found` if the number is not in force for the project. */
  async end(
    caller: Caller,
    { number: text, projectId = '' }: Pick<CallerIdInput, 'number' | 'projectId'>,
    { by, reason }: Change,
  ): Promise<void> {
    const { accountId } = caller
    const parsed = parseCallerId(text)
    const number = 'problem' in parsed ? text : parsed.number
    const project = parseProjectCode(accountId, projectId) ?? ''
    requireProject(caller, project)
    await runAccountTransaction(this.#options.storage, accountId, async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('caller_ids')
        .set({ ended_at: this.#options.clock.now(), ended_by: by })
        .where('account_id', '=', accountId)
        .where('number', '=', number)
        .where('project', '=', project)
        .where('ended_at', 'is', null)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows === 0n) {
        throw new AppError(
          'not-found',
          `'${text}' is not in the register for ${project || 'all projects'}`,
        )
      }
      const subject = toSubject({ number })
      const before = { project }
      await this.#record(transaction, caller, {
        action: 'caller-id.ended',
        subject,
        before,
        reason,
      })
    })
    this.#cache.clear()
  }

  #record(
    db: Db,
    caller: Caller,
    entry: Pick<AuditEntry, 'action' | 'subject' | 'before' | 'after' | 'reason'>,
  ): Promise<void> {
    const { storage, clock } = this.#options
    const by = findAuthor(storage, caller)
    return recordAudit(db, { ...entry, by, accountId: caller.accountId, at: clock.now() })
  }

  /** Ends the entry that is replaced, and returns the instant at which the next one begins, which is later than that of any before. */
  async #endRow(
    db: Db,
    accountId: string,
    { number, project, by }: Pick<CallerIdRow, 'number' | 'project'> & { readonly by: string },
  ): Promise<Instant> {
    const last = await db
      .selectFrom('caller_ids')
      .select('added_at')
      .where('account_id', '=', accountId)
      .where('number', '=', number)
      .where('project', '=', project)
      .orderBy('added_at', 'desc')
      .limit(1)
      .executeTakeFirst()
    const now = this.#options.clock.now()
    if (!last) return now
    const at = Math.max(now, last.added_at + 1)
    await db
      .updateTable('caller_ids')
      .set({ ended_at: at, ended_by: by })
      .where('account_id', '=', accountId)
      .where('number', '=', number)
      .where('project', '=', project)
      .where('ended_at', 'is', null)
      .execute()
    return at
  }
}

/** An own number is not that of a person who is called. */
const toSubject = ({ number }: Pick<CallerIdRow, 'number'>) => ({ kind: 'caller-id', id: number })

const notBarred: Pick<CallerIdRegister, 'barredBy'> = {}

/** The register is shared by all calls of the account. */
function join(
  register: CallerIdRegister,
  { barredBy }: Pick<CallerIdRegister, 'barredBy'>,
): CallerIdRegister {
  return barredBy === undefined ? register : { ...register, barredBy }
}

function toRegister(
  rows: readonly Pick<
    CallerIdRow,
    'number' | 'project' | 'valid_from' | 'valid_until' | 'ended_at' | 'presence'
  >[],
): CallerIdRegister {
  const numbers = new Map<string, OwnNumber[]>()
  for (const { number, project, valid_from: from, valid_until, ended_at, presence } of rows) {
    const ends = [valid_until, ended_at].flatMap((end) => end ?? [])
    const until = ends.length === 0 ? undefined : Math.min(...ends)
    const own = { number, project, hasPresence: presence !== null, from: from ?? undefined, until }
    const known = numbers.get(number)
    if (known) known.push(own)
    else numbers.set(number, [own])
  }
  return { numbers, projects: new Set(rows.map(({ project }) => project)) }
}

type NewRow = Omit<CallerIdRow, 'account_id' | 'added_at' | 'added_by' | 'ended_at' | 'ended_by'>

function readInputs(accountId: string, inputs: readonly CallerIdInput[]): readonly NewRow[] {
  const problems: FieldProblem[] = []
  const seen = new Set<string>()
  const rows = inputs.map((input, index) => {
    const refuse = (field: string, value: string | undefined, rule: string) =>
      problems.push({ field: `callerIds[${index}].${field}`, value, rule })
    const parsed = parseCallerId(input.number)
    if ('problem' in parsed) refuse('number', input.number, callerIdProblems[parsed.problem])
    const row = toRow(accountId, input, 'problem' in parsed ? '' : parsed.number)
    for (const field of ['owner', 'proof', 'carrier', 'presence'] as const) {
      const text = row[field]
      if (text === '') refuse(field, text, 'is required')
      if (text && text.length > maxTextLength) {
        refuse(field, text, `must not be longer than ${maxTextLength} characters`)
      }
    }
    if (row.valid_from !== null && row.valid_until !== null && row.valid_from >= row.valid_until) {
      refuse('until', formatInstant(row.valid_until), 'must be after from')
    }
    const key = `${row.number} ${row.project}`
    if (seen.has(key)) refuse('number', input.number, 'is given twice for the project')
    seen.add(key)
    return row
  })
  if (problems.length > 0) throw invalidRequest(problems)
  return rows
}

function toRow(accountId: string, input: CallerIdInput, number: string): NewRow {
  return {
    number,
    project: parseProjectCode(accountId, input.projectId ?? '') ?? '',
    owner: input.owner.trim(),
    proof: input.proof.trim(),
    carrier: input.carrier?.trim() || null,
    attestation: input.attestation ?? null,
    valid_from: input.from ?? null,
    valid_until: input.until ?? null,
    callback_tested_at: input.callbackTestedAt ?? null,
    presence: input.presence?.trim() || null,
  }
}

async function requireProjects(
  db: Db,
  accountId: string,
  entries: readonly NewRow[],
): Promise<void> {
  const rows = await db
    .selectFrom('projects')
    .select('code')
    .where('account_id', '=', accountId)
    .execute()
  const codes = new Set(rows.map(({ code }) => code))
  const problems = entries.flatMap(({ project }, index) =>
    project === '' || codes.has(project)
      ? []
      : [{ field: `callerIds[${index}].projectId`, value: project, rule: 'not found' }],
  )
  if (problems.length > 0) throw invalidRequest(problems)
}

/** A key that is limited to projects has no say in what all may show. */
function mayUse(caller: Caller, project: string): boolean {
  if (caller.limits.projects === 'any') return true
  return project !== '' && canUseScope(caller, { projectId: project })
}

function requireProject(caller: Caller, project: string): void {
  if (mayUse(caller, project)) return
  const what = project === '' ? 'numbers of all projects; name one' : `project ${project}`
  throw new AppError('forbidden', `The key may not manage ${what}`)
}

function toEntry(row: CallerIdRow): CallerIdEntry {
  return {
    number: row.number,
    projectId: row.project || undefined,
    owner: row.owner,
    proof: row.proof,
    carrier: row.carrier ?? undefined,
    attestation: row.attestation ?? undefined,
    from: row.valid_from ?? undefined,
    until: row.valid_until ?? undefined,
    callbackTestedAt: row.callback_tested_at ?? undefined,
    presence: row.presence ?? undefined,
    addedAt: row.added_at,
    addedBy: row.added_by,
    endedAt: row.ended_at ?? undefined,
    endedBy: row.ended_by ?? undefined,
  }
}
