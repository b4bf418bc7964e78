/**
 * Reads what an account has stored about one number: each part newest first, at most {@link maxRows} rows, and only of projects
 * that the caller may use.
 */
import { type SqlBool, sql } from 'kysely'
import type { Caller } from '../../domain/caller.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../domain/time/dates.js'
import type { Db } from '../../storage/tables.js'
import { toPastRecord } from '../consent/consent-history.js'
import { toStoredConsent } from '../consent/consent-rows.js'
import type { ProjectScope } from '../projects/project-scope.js'

/** Of each kind; a caller sees whether there are more. */
export const maxRows = 20

export interface NumberQuestion {
  readonly caller: Caller
  readonly number: PhoneNumber
  /** Of the request; the caller may use it. */
  readonly scope: ProjectScope
}

/** The lists and records of the projects that the caller may use, which may be those of the Master Project. */
interface UsableLists {
  readonly internalDnc: readonly string[]
  readonly ebr: readonly string[]
}

/** `undefined` if the caller may use all projects of its account. */
async function findUsableLists(
  db: Db,
  { caller: { accountId, limits }, scope }: NumberQuestion,
): Promise<UsableLists | undefined> {
  if (limits.projects === 'any') return undefined
  const rows = await db
    .selectFrom('projects')
    .select(['code', 'inherits_internal_dnc', 'inherits_ebr'])
    .where('account_id', '=', accountId)
    .where('code', 'in', [...limits.projects.codes, scope.projectCode])
    .execute()
  const owner = (inherits: number, code: string) => (inherits === 1 ? accountId : code)
  return {
    internalDnc: rows.map((row) => owner(row.inherits_internal_dnc, row.code)),
    ebr: rows.map((row) => owner(row.inherits_ebr, row.code)),
  }
}

export async function readOptOuts(db: Db, question: NumberQuestion) {
  const { number } = question
  const { accountId } = question.caller
  const usable = await findUsableLists(db, question)
  const codes = db.selectFrom('projects').select('code').where('account_id', '=', accountId)
  const entries = await db
    .selectFrom('internal_dnc')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    // By the key of the table, which begins with the list.
    .where('list', 'in', usable ? usable.internalDnc : codes)
    .orderBy('modified_at', 'desc')
    .orderBy('list')
    .limit(maxRows + 1)
    .execute()
  const mayUse = (list: string) => usable === undefined || usable.internalDnc.includes(list)
  const statements = await db
    .selectFrom('opt_out_statements')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .$if(usable !== undefined, (query) =>
      query.where((row) =>
        row.or([row('list', 'in', usable?.internalDnc ?? []), row('scope', '=', 'everything')]),
      ),
    )
    .orderBy('heard_at', 'desc')
    .orderBy('id')
    .limit(maxRows + 1)
    .execute()
  return {
    lists: entries.slice(0, maxRows).map((row) => ({
      list: row.list,
      onList: row.removed_at === null,
      addedAt: formatInstant(row.added_at),
      optedOutAt: formatInstant(row.opted_out_at),
      optedOutBy: row.key_id,
      removedAt: toText(row.removed_at),
    })),
    moreLists: entries.length > maxRows,
    statements: statements.slice(0, maxRows).map((row) => {
      const isShown = mayUse(row.list)
      // One of everything holds for the projects of the key, but who said what in a call of another one does not concern it.
      const shown = <Value>(value: Value) => (isShown ? value : null)
      return {
        receivedAt: formatInstant(row.received_at),
        heardAt: formatInstant(row.heard_at),
        scope: row.scope,
        list: shown(row.list),
        channel: row.channel,
        source: shown(row.source),
        said: shown(row.said),
        goods: shown(row.goods),
        decisionId: shown(row.decision_id),
        by: shown(row.key_id),
        readBy: shown(row.read_by),
      }
    }),
    moreStatements: statements.length > maxRows,
  }
}

export async function readConsents(db: Db, question: NumberQuestion) {
  const { number } = question
  const { accountId } = question.caller
  const usable = await findUsableLists(db, question)
  const consents = await db
    .selectFrom('consents')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .$if(usable !== undefined, (query) => query.where('project_code', 'in', usable?.ebr ?? []))
    .orderBy('recorded_at', 'desc')
    .orderBy('id', 'desc')
    .limit(maxRows + 1)
    .execute()
  const records = await db
    .selectFrom('ebr_records')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .$if(usable !== undefined, (query) => query.where('project_code', 'in', usable?.ebr ?? []))
    .orderBy('id', 'desc')
    .limit(maxRows + 1)
    .execute()
  return {
    consents: consents.slice(0, maxRows).map((row) => ({
      ...toStoredConsent(row),
      projectCode: row.project_code,
    })),
    moreConsents: consents.length > maxRows,
    records: records.slice(0, maxRows).map((row) => ({
      ...toPastRecord(row),
      projectCode: row.project_code,
    })),
    moreRecords: records.length > maxRows,
  }
}

const reachWords = new Map([
  [-1, 'not-reached'],
  [0, 'rang'],
  [1, 'answered'],
  [2, 'conversation'],
] as const)

/**
 * The calls that limits count. All calls of the account count for every key, but what is not of a project has none, so a limited
 * key sees only its own.
 */
export async function readAttempts(
  db: Db,
  { caller: { accountId, keyId, limits }, number }: NumberQuestion,
  at: Instant,
) {
  const countSince = (days: number) => {
    const isSince = sql<SqlBool>`at > ${at - days * msPerDay}`
    return sql<number>`coalesce(sum(case when ${isSince} then 1 else 0 end), 0)`
  }
  const counted = await db
    .selectFrom('attempts')
    .select([countSince(1).as('day'), countSince(7).as('week'), countSince(31).as('month')])
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .executeTakeFirstOrThrow()
  const isLimited = limits.projects !== 'any' || limits.callKinds !== 'any'
  const rows = await db
    .selectFrom('attempts')
    .select(['decision_id', 'at', 'purpose', 'subject', 'person', 'reach'])
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .$if(isLimited, (query) => query.where('key_id', '=', keyId))
    .orderBy('at', 'desc')
    .limit(maxRows + 1)
    .execute()
  return {
    last24Hours: Number(counted.day),
    last7Days: Number(counted.week),
    last31Days: Number(counted.month),
    of: isLimited ? ('key' as const) : ('account' as const),
    latest: rows.slice(0, maxRows).map((row) => {
      const { ref, decisionId } = splitId(accountId, row.decision_id)
      return {
        decisionId,
        ref,
        at: formatInstant(row.at),
        purpose: row.purpose,
        subject: row.subject,
        personId: row.person,
        reach: row.reach === null ? null : (reachWords.get(row.reach as 0) ?? null),
      }
    }),
    more: rows.length > maxRows,
  }
}

/** See `imported-attempts.ts`. */
function splitId(accountId: string, id: string) {
  const prefix = `${accountId}/`
  return id.startsWith(prefix)
    ? { ref: id.slice(prefix.length), decisionId: null }
    : { ref: null, decisionId: id }
}

/** What was changed about the number alone, by whom; who has read about it is not among it. */
export async function readChanges(db: Db, { caller: { accountId }, number }: NumberQuestion) {
  const rows = await db
    .selectFrom('audit')
    .selectAll()
    .where('subject', '=', number)
    .where('subject_kind', '=', 'number')
    .where('account_id', '=', accountId)
    .orderBy('seq', 'desc')
    .limit(maxRows + 1)
    .execute()
  return {
    changes: rows.slice(0, maxRows).map(({ at, who, door, action, before, after, reason }) => ({
      ...{ at: formatInstant(at), who, door, action, reason },
      before: before === null ? null : JSON.parse(before),
      after: after === null ? null : JSON.parse(after),
    })),
    more: rows.length > maxRows,
  }
}

function toText(at: Instant | null): string | null {
  return at === null ? null : formatInstant(at)
}
