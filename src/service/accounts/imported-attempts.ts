/** Stores calls and texts of other systems as attempts of an account. No key is counted for them. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Selectable } from 'kysely'
import type { Caller } from '../../domain/caller.js'
import { type ImportedAttempt, maxFrequencyHours } from '../../domain/mandate.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerHour } from '../../domain/time/dates.js'
import { AppError, describeProblem, type FieldProblem, invalidRequest } from '../../errors.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db, Tables } from '../../storage/tables.js'

export interface ImportedAttemptsDeps {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>
  readonly clock: Pick<Clock, 'now'>
  /** See `gate.subjects`, which a reload replaces. */
  readonly getSubjects: () => readonly {
    readonly account?: string | undefined
    readonly subjects: readonly string[]
  }[]
}

/** Decisions are made between the statements. */
const maxRowsAtOnce = 50
const maxAgeMs = maxFrequencyHours * msPerHour
/** The clock of the other system may be ahead by as much. */
const toleranceMs = 60_000

export class ImportedAttempts {
  readonly #deps: ImportedAttemptsDeps

  constructor(deps: ImportedAttemptsDeps) {
    this.#deps = deps
  }

  /** All or none. Throws `invalid-request` with every problem, or `conflict` if a reference stands for something else. */
  async add(
    { accountId }: Pick<Caller, 'accountId'>,
    attempts: readonly ImportedAttempt[],
  ): Promise<void> {
    const { storage } = this.#deps
    if (storage.traits.isCopy)
      throw new AppError('not-available', 'An edge stores no attempts; send them to its center')
    const problems = this.#findInvalid(accountId, attempts)
    if (problems.length > 0) throw invalidRequest(problems)
    await storage.retryWhileLocked(() =>
      storage.db.transaction().execute((db) => store(db, accountId, attempts)),
    )
  }

  /** What {@link add} would refuse of any number of attempts, without storing any. */
  async findProblems(
    { accountId }: Pick<Caller, 'accountId'>,
    attempts: readonly ImportedAttempt[],
  ): Promise<readonly FieldProblem[]> {
    const problems = this.#findInvalid(accountId, attempts)
    const rows = attempts.map((attempt) => toRow(accountId, attempt))
    // The first one of a reference, unless one is stored.
    const known = new Map<string, ComparedRow>()
    for (const row of rows.toReversed()) known.set(row.decision_id, row)
    for (let start = 0; start < rows.length; start += maxRowsAtOnce) {
      const ids = rows.slice(start, start + maxRowsAtOnce).map((row) => row.decision_id)
      for (const row of await readStored(this.#deps.storage.db, ids))
        known.set(row.decision_id, row)
    }
    return [...problems, ...findConflicts(rows, known, attempts)]
  }

  #findInvalid(accountId: string, attempts: readonly ImportedAttempt[]): readonly FieldProblem[] {
    const now = this.#deps.clock.now()
    const subjects = subjectsOf(this.#deps, accountId)
    return attempts.flatMap((attempt, index) => findProblems(attempt, { index, now, subjects }))
  }
}

function subjectsOf({ getSubjects }: ImportedAttemptsDeps, accountId: string): readonly string[] {
  return getSubjects()
    .filter(({ account = accountId }) => account === accountId)
    .flatMap((row) => row.subjects)
}

function findProblems(
  { at, subject, purpose }: ImportedAttempt,
  {
    index,
    now,
    subjects,
  }: { readonly index: number; readonly now: Instant; readonly subjects: readonly string[] },
): readonly FieldProblem[] {
  const problems: FieldProblem[] = []
  const complain = (field: string, value: string, rule: string) =>
    problems.push({ field: `attempts[${index}].${field}`, value, rule })
  const instant = formatInstant(at)
  if (at > now + toleranceMs)
    complain('at', instant, `must not be in the future; it is ${formatInstant(now)}`)
  if (at < now - maxAgeMs) complain('at', instant, 'must be within the last 31 days')
  // Calls on other subjects would never count an attempt with a misspelled one.
  const isDebt = purpose === 'debt-collection'
  if (subject !== undefined && !isDebt && !subjects.includes(subject))
    complain('subject', subject, `must be one of gate.subjects (${subjects.join(', ')}) or absent`)
  return problems
}

/** An id of a decision has no slash, so that neither can be taken for the other. */
const toRow = (
  accountId: string,
  { ref, number, at, subject, personId, purpose, reach }: ImportedAttempt,
) => ({
  decision_id: `${accountId}/${ref}`,
  key_id: '',
  account_id: accountId,
  number,
  subject: subject ?? null,
  person: personId ?? null,
  at,
  purpose: purpose ?? 'telemarketing',
  reach: reach ?? null,
  placed: 1,
})

const compared = ['number', 'subject', 'person', 'purpose', 'reach'] as const

type ComparedRow = Pick<
  Selectable<Tables['attempts']>,
  'decision_id' | 'at' | (typeof compared)[number]
>

function findConflicts(
  rows: readonly ComparedRow[],
  known: ReadonlyMap<string, ComparedRow>,
  attempts: readonly ImportedAttempt[],
): readonly FieldProblem[] {
  return rows.flatMap((row, index) => {
    const one = known.get(row.decision_id)
    const isSame =
      one !== undefined &&
      Number(one.at) === row.at &&
      compared.every((name) => one[name] === row[name])
    if (isSame) return []
    const rule = 'stands for an attempt with other content; each needs a ref of its own'
    return [{ field: `attempts[${index}].ref`, value: attempts[index]?.ref, rule }]
  })
}

async function readStored(db: Db, ids: readonly string[]): Promise<readonly ComparedRow[]> {
  return await db
    .selectFrom('attempts')
    .select(['decision_id', 'at', ...compared])
    .where('decision_id', 'in', ids)
    .execute()
}

/** Throws `conflict` if a reference stands for something else, and then stores nothing. */
async function store(
  db: Db,
  accountId: string,
  attempts: readonly ImportedAttempt[],
): Promise<void> {
  const rows = attempts.map((attempt) => toRow(accountId, attempt))
  const byId = new Map(rows.map((row) => [row.decision_id, row]))
  // In one order, so that two imports cannot wait for each other.
  const ordered = [...byId.keys()].sort().flatMap((id) => byId.get(id) ?? [])
  const storedById = new Map<string, ComparedRow>()
  for (let start = 0; start < ordered.length; start += maxRowsAtOnce) {
    const some = ordered.slice(start, start + maxRowsAtOnce)
    await db
      .insertInto('attempts')
      .values(some)
      .onConflict((conflict) => conflict.column('decision_id').doNothing())
      .execute()
    const ids = some.map((row) => row.decision_id)
    for (const row of await readStored(db, ids)) storedById.set(row.decision_id, row)
    await nextTurn()
  }
  const problems = findConflicts(rows, storedById, attempts)
  if (problems.length > 0)
    throw new AppError('conflict', problems.map(describeProblem).join('; '), { problems })
}
