/**
 * The files of `state/`: what the decisions rest on, one JSON object a line. `row` is as the database has it, with names in camel
 * case and instants in UTC; `records` are the records of the bundle that say who changed it, and `storedBy` is the one of them by
 * which it was stored. Without that one the row is only what the database says.
 */
import { formatDay, formatInstant } from '../../domain/time/dates.js'
import type { StoredRecord } from '../../gate/journal/segment-format.js'
import { readRecord } from '../../gate/record/read-record.js'
import { showFacts } from '../../gate/record/shown-facts.js'
import {
  readAccountIds,
  readCallerIdRows,
  readConsentRows,
  readEbrRows,
  readKeyRows,
  readListVersionRows,
  readOptOutRows,
  readPauseRows,
  readProjectRows,
  readStatementRows,
  type StoredRow,
} from '../../service/records/recorded-state.js'
import type { Db } from '../../storage/tables.js'
import type { Basis, Change } from './basis.js'
import type { StateLine } from './facts.js'
import type { Question } from './question.js'
import type { SubjectSearch } from './subject-search.js'

/** What is not in the journal. */
export interface StateSources {
  /** Of one instant; `undefined` if there is no database. */
  readonly db: Db | undefined
  /** What a version of the calling rules says; `undefined` for a region that it does not have. */
  describeRules(version: string, region: string, day: number): object | undefined
  /** What the files of a list in the data folder say of their versions. */
  listVersions(name: string): readonly StoredRow[]
}

export interface StateInput {
  readonly question: Question
  readonly basis: Basis
  readonly subjects: SubjectSearch
  readonly sources: StateSources
  /** The records of the decisions, in order. */
  readonly readDecisions: () => Iterable<StoredRecord>
}

/** In the order in which they are packed. */
export function listStateFiles(
  input: StateInput,
): Readonly<Record<string, AsyncIterable<StateLine> | Iterable<StateLine>>> {
  const { basis } = input
  return {
    'consent-records': ofNumbers(input, readEbrRows, ({ number, stored_at, account_id }) => ({
      changes: input.subjects.findChanges(account_id, number, 'consent', stored_at),
      isStoring: ({ at }) => at === stored_at,
    })),
    consents: ofNumbers(input, readConsentRows, ({ id, number, account_id }) => ({
      changes: input.subjects.findChanges(account_id, number, 'consent'),
      isStoring: ({ consentId }) => consentId === id,
    })),
    keys: ofAccounts(
      input,
      ({ keys }, accountId, db) => readKeyRows(db, accountId, [...keys]),
      (row) => ({
        changes: basis.findChanges(row.account_id, 'key', row.id),
        isStoring: ({ action }) => action === 'key.created' || action === 'key.changed',
      }),
    ),
    lists: listLists(input),
    'opt-out-statements': ofNumbers(input, readStatementRows, (row) => ({
      changes: input.subjects.findChanges(row.account_id, row.number, 'opt-out'),
      // By the clock of the account, and the other one by that of the machine.
      isStoring: ({ at, action }) =>
        action === 'opt-out.added' && Math.abs(at - row.heard_at) <= maxClockDifferenceMs,
    })),
    'opt-outs': ofNumbers(input, readOptOutRows, ({ number, stored_at, account_id }) => ({
      changes: input.subjects.findChanges(account_id, number, 'opt-out', stored_at),
      isStoring: ({ at }) => at === stored_at,
    })),
    'own-numbers': ofAccounts(
      input,
      ({ callerIds }, accountId, db) => readCallerIdRows(db, accountId, [...callerIds]),
      (row) => ({
        changes: basis.findChanges(row.account_id, 'caller-id', row.number),
        isStoring: ({ at, action }) =>
          action === 'caller-id.added' && Math.abs(at - row.added_at) <= maxClockDifferenceMs,
      }),
    ),
    pauses: ofAccounts(
      input,
      (_, accountId, db) => readPauseRows(db, accountId),
      (row) => ({
        changes: basis.findChanges(row.account_id, 'pause', row.subject),
        isStoring: ({ at, action }) => action === 'pause.ordered' && at === row.paused_at,
      }),
    ),
    projects: ofAccounts(
      input,
      ({ projects, campaigns }, accountId, db) =>
        readProjectRows(db, accountId, { codes: [...projects], campaignIds: [...campaigns] }),
      (row) => ({
        changes: basis.findChanges(row.account_id, 'project', row.code),
        isStoring: ({ at }) => at === row.modified_at,
      }),
    ),
    reassigned: listReassigned(input),
    rules: listRules(input),
    settings: listSettings(input),
  }
}

const maxClockDifferenceMs = 5_000
/** In one query. */
const maxNumbers = 500

/** A row by its columns, of which the code that names them knows the types. */
// biome-ignore lint/suspicious/noExplicitAny: rows of several tables
type AnyRow = Readonly<Record<string, any>>

interface Link {
  readonly changes: readonly Change[]
  isStoring(change: Change): boolean
}

function toLine(row: AnyRow, { changes, isStoring }: Link): StateLine {
  const storedBy = changes.findLast(isStoring)?.record ?? null
  return { storedBy, records: changes.map(({ record }) => record), row: toPublicRow(row) }
}

const jsonColumns: ReadonlySet<string> = new Set(['consent', 'purposes', 'kinds', 'call_limits'])

function toPublicRow(row: StoredRow): StoredRow {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      const name = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
      if (typeof value === 'number' && column.endsWith('_at')) return [name, formatInstant(value)]
      return [
        name,
        typeof value === 'string' && jsonColumns.has(column) ? JSON.parse(value) : value,
      ]
    }),
  )
}

async function* ofNumbers(
  { question, basis, sources: { db } }: StateInput,
  read: (db: Db, accountId: string, numbers: readonly string[]) => Promise<readonly StoredRow[]>,
  link: (row: AnyRow) => Link,
): AsyncGenerator<StateLine> {
  if (!db) return
  const { number, accountId: asked } = question
  const accounts = number === undefined ? [] : asked ? [asked] : await readAccountIds(db)
  for (const accountId of new Set([...basis.accounts.keys(), ...accounts].sort())) {
    const numbers =
      number === undefined ? [...(basis.accounts.get(accountId)?.numbers ?? [])] : [number]
    for (let start = 0; start < numbers.length; start += maxNumbers) {
      const rows = await read(db, accountId, numbers.slice(start, start + maxNumbers))
      for (const row of rows) yield toLine(row, link(row))
    }
  }
}

async function* ofAccounts(
  { basis, sources: { db } }: StateInput,
  read: (
    of: ReturnType<Basis['findAccount']>,
    accountId: string,
    db: Db,
  ) => Promise<readonly StoredRow[]>,
  link: (row: AnyRow) => Link,
): AsyncGenerator<StateLine> {
  if (!db) return
  for (const [accountId, of] of [...basis.accounts].sort()) {
    for (const row of await read(of, accountId, db)) yield toLine(row, link(row))
  }
}

/** The entries of the audit table come first: what is signed is not replaced by what a file says today. */
async function* listLists({
  question: { without, accountId },
  basis,
  sources,
}: StateInput): AsyncGenerator<StateLine> {
  const named = basis.linkLists()
  // Who has imported those of others, and from what, is not for everybody who may use them.
  const isShown = (name: string) => without !== 'others' || name.startsWith(`${accountId}/`)
  const names = [...new Set(named.map(({ name }) => name))].filter(isShown)
  const shared = sources.db ? await readListVersionRows(sources.db, names) : []
  for (const { changes, facts, ...list } of named) {
    const isSame = ({ name = list.name, version }: StoredRow) =>
      name === list.name && version === list.version
    const row = {
      ...list,
      signed: facts,
      files: isShown(list.name) ? sources.listVersions(list.name).filter(isSame) : [],
      published: shared.filter(isSame).map(toPublicRow),
    }
    yield toLine(row, { changes, isStoring: () => true })
  }
}

/** As their records have them: the tables of released numbers are not kept by version. */
function* listReassigned({ basis, readDecisions }: StateInput): Generator<StateLine> {
  if (!basis.hasReassigned) return
  for (const { seq, kind, body } of readDecisions()) {
    if (kind !== 'decision' && kind !== 'amendment') continue
    const { id, accountId, number, findings, facts } = readRecord(kind, { seq, body })
    for (const finding of findings) {
      const shown = finding.check === 'reassigned' && showFacts(finding, facts, number)
      if (!shown) continue
      const row = { decisionId: id, accountId, number, verdict: finding.verdict, ...shown }
      yield { storedBy: seq, records: [seq], row }
    }
  }
}

/** What the calling rules that they were judged by say of the days of the calls. */
function* listRules({
  question: { without },
  basis,
  sources: { describeRules },
}: StateInput): Generator<StateLine> {
  const groups = new Map<string, { days: string[]; version: string; row: StoredRow }>()
  for (const { region, day, version } of basis.regionDays.values()) {
    const row = { region, rules: describeRules(version, region, day) ?? null }
    const key = JSON.stringify([version, row])
    const known = groups.get(key)
    if (known) known.days.push(formatDay(day))
    else groups.set(key, { days: [formatDay(day)], version, row })
  }
  for (const { days, version, row } of groups.values()) {
    const inUse = [...basis.inUse.values()].filter(
      (one) => without !== 'others' && one.kind === 'rules' && one.version === version,
    )
    yield {
      storedBy: inUse.at(-1)?.record ?? null,
      records: inUse.map(({ record }) => record),
      row: { ...row, days: days.sort(), version },
    }
  }
}

/** Settings say whom they are for, so those that name other accounts are not shown. */
async function* listSettings({
  question,
  basis,
  sources: { db },
}: StateInput): AsyncGenerator<StateLine> {
  const { without } = question
  if (without === 'others') return
  const shown = new Set([...basis.accounts.keys(), question.accountId, 'main', 'sandbox'])
  const others = db ? (await readAccountIds(db)).filter((id) => !shown.has(id)) : []
  for (const { kind, host, version, at, record, body } of basis.inUse.values()) {
    const names = others.some((id) =>
      new RegExp(`(?<![\\w-])${id}(?![\\w-])`, 'i').test(body.toString()),
    )
    const isLeftOut = kind === 'settings' && (without !== undefined || names || db === undefined)
    const row = { kind, host, version, inUseFrom: formatInstant(at) }
    const why =
      without === undefined
        ? 'not packed: it may name other accounts'
        : 'not packed: only an Administrator of account main may see the settings'
    yield isLeftOut
      ? { storedBy: null, records: [], row: { ...row, record, why } }
      : { storedBy: record, records: [record], row }
  }
}
