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
  /** See `gate.subjects`. */
  readonly subjects: readonly {
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
    const { storage, clock } = this.#deps
    if (storage.traits.isCopy)
      throw new AppError('not-available', 'An edge stores no attempts; send them to its center')
    const now = clock.now()
    const subjects = subjectsOf(this.#deps, accountId)
    const problems = attempts.flatMap((attempt, index) =>
      findProblems(attempt, { index, now, subjects }),
    )
    if (problems.length > 0) throw invalidRequest(problems)
    await storage.retryWhileLocked(() =>
      storage.db.transaction().execute((db) => store(db, accountId, attempts)),
    )
  }
}

function subjectsOf({ subjects }: ImportedAttemptsDeps, accountId: string): readonly string[] {
  return subjects
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
  purpose: purpose === 'telemarketing' ? null : (purpose ?? null),
  answered: reach ?? null,
  placed: 1,
})

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
  const storedById = new Map<string, Selectable<Tables['attempts']>>()
  for (let start = 0; start < ordered.length; start += maxRowsAtOnce) {
    const some = ordered.slice(start, start + maxRowsAtOnce)
    await db
      .insertInto('attempts')
      .values(some)
      .onConflict((conflict) => conflict.column('decision_id').doNothing())
      .execute()
    const ids = some.map((row) => row.decision_id)
    const stored = await db
      .selectFrom('attempts')
      .selectAll()
      .where('decision_id', 'in', ids)
      .execute()
    for (const row of stored) storedById.set(row.decision_id, row)
    await nextTurn()
  }
  const problems = rows.flatMap((row, index): FieldProblem[] => {
    const known = storedById.get(row.decision_id)
    const isSame =
      known !== undefined &&
      Number(known.at) === row.at &&
      (['number', 'subject', 'person', 'purpose', 'answered'] as const).every(
        (name) => known[name] === row[name],
      )
    if (isSame) return []
    const rule = 'stands for an attempt with other content; each needs a ref of its own'
    return [{ field: `attempts[${index}].ref`, value: attempts[index]?.ref, rule }]
  })
  if (problems.length > 0)
    throw new AppError('conflict', problems.map(describeProblem).join('; '), { problems })
}
