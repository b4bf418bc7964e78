/** Whether the lists cover the area codes that calls ask for. */
import { join } from 'node:path'
import { openUnloggedSearch } from '../../app/journal/open-search.js'
import type { ReferenceData } from '../../app/service.js'
import type { Settings } from '../../config/settings.js'
import {
  findApplicableLists,
  formatImportCommand,
  type ListUser,
  nationalListNames,
  toStateListName,
} from '../../data/number-list/list-names.js'
import { createOperatorCaller, sandboxAccountId } from '../../domain/caller.js'
import type { NumberSet } from '../../domain/number-set.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import type { DecisionSearch } from '../../gate/journal/search/decision-search.js'
import type { DecisionDocument } from '../../gate/record/decision-document.js'
import { findAreaCodePlace, listAreaCodes } from '../../law/area-codes.js'
import { isPresent } from '../../runtime/folders.js'
import { noListOwners, readAllListOwners } from '../../service/lists/list-rights.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import type { HealthFinding } from './finding.js'

/** The latest calls of an account that are looked at. */
const maxCalls = 200
const maxNamed = 20

export interface CoverageDeps {
  readonly data: Pick<ReferenceData, 'lists'>
  readonly storage: Pick<ThreadDatabase, 'db' | 'traits'>
  readonly clock: Clock
}

/**
 * Per account and list, the area codes of the calls of the last day that were blocked since the list does not cover them, and still does
 * not. Nothing without a running server, whose index cannot be read then without creating files.
 */
export async function findCoverageFindings(
  { dataDir, source }: Pick<Settings, 'dataDir' | 'source'>,
  { data, storage, clock }: CoverageDeps,
): Promise<readonly HealthFinding[]> {
  const isOpen = storage.traits.isShared || isPresent(join(dataDir, 'index.sqlite-wal'))
  if (!isOpen || source.kind === 'remote') return []
  const search = openUnloggedSearch({ dataDir, storage, clock })
  const owners = await readAllListOwners(storage.db)
  const accounts = await storage.db.selectFrom('accounts').select('id').orderBy('id').execute()
  const found: HealthFinding[] = []
  for (const { id: accountId } of accounts) {
    if (accountId === sandboxAccountId) continue
    const calls = await readLatest(search, accountId, clock.now() - msPerDay)
    const user = { accountId, listOwners: owners.get(accountId) ?? noListOwners }
    for (const [list, blocked] of findUncovered(calls, user, data)) {
      found.push(describe(accountId, list, { blocked, of: calls.length }))
    }
  }
  return found
}

async function readLatest(
  search: DecisionSearch,
  accountId: string,
  from: Instant,
): Promise<readonly DecisionDocument[]> {
  const caller = createOperatorCaller(accountId)
  const calls: DecisionDocument[] = []
  let before: string | undefined
  do {
    const limit = maxCalls - calls.length
    const page = await search.search({ caller, filter: { from }, before, limit })
    calls.push(...page.decisions)
    before = page.next
  } while (before !== undefined && calls.length < maxCalls)
  return calls
}

/** The area codes of the calls, by the list that should cover them. */
function findUncovered(
  calls: readonly DecisionDocument[],
  user: ListUser,
  { lists }: CoverageDeps['data'],
): ReadonlyMap<NumberSet, readonly string[]> {
  const uncovered = new Map<NumberSet, string[]>()
  for (const { number, reason } of calls) {
    if (reason !== 'list-not-covering') continue
    const code = number.slice(0, 3)
    const place = findAreaCodePlace(code)
    if (place === undefined) continue
    const regions = place.candidates.map(({ region }) => toStateListName(region))
    for (const name of new Set([nationalListNames[place.country], ...regions])) {
      const [list] = findApplicableLists(name, user).flatMap((one) => lists.get(one) ?? [])
      if (list && !list.covers(number as PhoneNumber)) {
        uncovered.set(list, [...(uncovered.get(list) ?? []), code])
      }
    }
  }
  return uncovered
}

/** A call outside of the lists is what they are for; that most calls are outside of them is a mistake. */
function describe(
  account: string,
  list: NumberSet,
  { blocked, of }: { readonly blocked: readonly string[]; readonly of: number },
): HealthFinding {
  const covered = listAreaCodes().filter((code) => list.covers(`${code}2000000` as PhoneNumber))
  const asked = [...new Set(blocked)].sort()
  const problem =
    `account ${account}: of the latest ${of} calls of the last day, ${blocked.length} were blocked since ${list.name} does not cover ` +
    `their area codes: ${nameCodes(asked)}; it covers ${nameCodes(covered)}`
  const level = blocked.length * 2 > of ? 'now' : 'note'
  const fix = `${formatImportCommand(list.name)} with the files of these area codes`
  return { level, subject: 'lists', account, problem, fix }
}

function nameCodes(codes: readonly string[]): string {
  const more = codes.length > maxNamed ? ` and ${codes.length - maxNamed} more` : ''
  return codes.length === 0 ? 'none' : `${codes.slice(0, maxNamed).join(', ')}${more}`
}
