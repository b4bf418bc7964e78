/**
 * Judges whether a call of each real account could be allowed now, to one country or to all: by what is imported and
 * stored, and by what its latest calls got.
 */

import type { Callgate } from '../../app/callgate.js'
import { resolveAriServers } from '../../asterisk/ari/ari-servers.js'
import { listProviders, type Settings } from '../../config/settings.js'
import {
  affectsList,
  canUseProviders,
  findApplicableLists,
  formatImportCommand,
  type ListOwners,
  type ListUser,
  litigatorListName,
  nationalListNames,
  toAccountListName,
} from '../../data/number-list/list-names.js'
import { mainAccountId } from '../../domain/caller.js'
import type { CheckName } from '../../domain/decision.js'
import { type Country, countries } from '../../domain/place.js'
import { getErrorMessage } from '../../errors.js'
import { buildPolicy } from '../../gate/build-policy.js'
import type { Readiness } from '../../http/health.js'
import { monotonicSeconds, withTimeout } from '../../runtime/runtime.js'
import type { Account } from '../../service/accounts/accounts.js'
import { noListOwners, readAllListOwners } from '../../service/lists/list-rights.js'
import { findListAgeProblem } from './list-age-monitor.js'

/** A server passes its {@link Callgate}; a diagnosis passes what it can read. */
export interface CallReadinessDeps extends Pick<Callgate, 'data' | 'settings'> {
  readonly accounts: { list(): Promise<readonly Pick<Account, 'id' | 'kind'>[]> }
  readonly journal: Pick<Callgate['journal'], 'listActiveAccounts'>
  /** `undefined` before the first start. */
  readonly storage: Pick<Callgate['storage'], 'db'> | undefined
  readonly runtime: Pick<Callgate['runtime'], 'clock'>
}

/** Why every call of an account to some countries is blocked. */
interface CallBlocker {
  readonly countries: readonly Country[]
  readonly problem: string
  /** The command that fixes it, or what to do. */
  readonly fix: string
}

interface AccountCallStatus {
  readonly accountId: string
  /** Whether it has real calls: it is the `gate.account` of an Asterisk, or among the latest decisions. */
  readonly isInUse: boolean
  /** Those that the account calls. */
  readonly called: readonly Country[]
  readonly blockers: readonly CallBlocker[]
}

/** Every real account; the sandbox needs no data. */
export async function readAccountCallStatuses(
  deps: CallReadinessDeps,
): Promise<readonly AccountCallStatus[]> {
  const { accounts, settings } = deps
  const policy = buildPolicy(settings)
  const numberingBlockers = findNumberingBlockers(deps)
  const owners = await readOwners(deps)
  // What-if decisions do not count, since operators use them for diagnosis.
  const activeAccounts = new Set(deps.journal.listActiveAccounts())
  if (resolveAriServers(settings.asterisk).length > 0) activeAccounts.add(settings.gate.account)
  const subscribed = await findSubscribedAccounts(deps)
  const pauses = await readPauses(deps)
  const real = (await accounts.list()).filter(({ kind }) => kind === 'real')
  return real.map(({ id }) => {
    const called = countries.filter((country) => !pauses.has(`country:${country}:${id}`))
    const isEnforced = (check: CheckName) =>
      policy[check].mode === 'enforce' &&
      !settings.gate.shadow.accounts.includes(id) &&
      !pauses.has(`check:${check}:${id}`)
    const user = { accountId: id, listOwners: owners.get(id) ?? noListOwners }
    const blockers = [
      ...findListBlockers(user, isEnforced, deps),
      ...(isEnforced('calling-hours') ? numberingBlockers : []),
      ...(isEnforced('permission') && subscribed?.has(id) === false ? [notSubscribed] : []),
    ]
    return {
      accountId: id,
      isInUse: activeAccounts.has(id),
      called,
      blockers: blockers.flatMap((blocker) => {
        const blocked = blocker.countries.filter((country) => called.includes(country))
        return blocked.length === 0 ? [] : [{ ...blocker, countries: blocked }]
      }),
    }
  })
}

/** Their subjects: countries that accounts do not call, and checks that they have in shadow. */
async function readPauses({
  storage,
}: Pick<CallReadinessDeps, 'storage'>): Promise<ReadonlySet<string>> {
  if (!storage) return new Set()
  const rows = await storage.db
    .selectFrom('pauses')
    .select('subject')
    .where((row) =>
      row.or([row('subject', 'like', 'country:%'), row('subject', 'like', 'check:%')]),
    )
    .execute()
  return new Set(rows.map(({ subject }) => subject))
}

/** There are no rights before the first start. */
async function readOwners({
  storage,
}: CallReadinessDeps): Promise<ReadonlyMap<string, ListOwners>> {
  return storage ? await readAllListOwners(storage.db) : new Map()
}

/** With a remote source, no lists are needed, but a login. */
function findListBlockers(
  user: ListUser,
  isEnforced: (check: CheckName) => boolean,
  deps: CallReadinessDeps,
): readonly CallBlocker[] {
  const { settings, runtime } = deps
  if (settings.source.kind === 'remote') {
    return isEnforced('permission') ? findLoginBlockers(user, settings) : []
  }
  const { allowUnknown } = buildPolicy(settings).litigator
  const isUnknownAllowed = allowUnknown !== undefined && runtime.clock.now() < allowUnknown.until
  const needed = [
    // A number that no national list covers is denied, and onUnknown does not change a denial.
    ...(isEnforced('permission')
      ? countries.map((country) => ({ name: nationalListNames[country], countries: [country] }))
      : []),
    ...(isEnforced('litigator') && !isUnknownAllowed
      ? [{ name: litigatorListName, countries }]
      : []),
  ]
  return needed.flatMap(({ name, countries: blocked }) => {
    const problem = describeMissingList(name, deps, user)
    const fix = formatImportCommand(toAccountListName(user.accountId, name))
    return problem === undefined ? [] : [{ countries: blocked, problem, fix }]
  })
}

/** An account needs a login for one provider, or for each with `any-no-blocks`. */
function findLoginBlockers(
  { accountId, listOwners }: ListUser,
  settings: Settings,
): readonly CallBlocker[] {
  if (accountId === mainAccountId || canUseProviders(listOwners)) return []
  const used = listProviders(settings).filter(({ path }) => path[0] === 'source')
  const missing = used.filter(({ accounts }) => !Object.hasOwn(accounts, accountId))
  const isEnough = settings.source.combine === 'fallback' && missing.length < used.length
  const [first] = missing
  if (isEnough || !first) return []
  const names = missing.map(({ name }) => name).join(', ')
  const share = `callgate lists share provider --with ${accountId} --because <text>`
  return [
    {
      countries,
      problem: `it has no login for ${names} and no right to that of account ${mainAccountId}`,
      fix: `set ${first.path.join('.')}.accounts.${accountId}, or: ${share}`,
    },
  ]
}

/** Why a list cannot be used for calls of the account, or `undefined` when it can. */
export function describeMissingList(
  list: string,
  deps: Pick<CallReadinessDeps, 'data' | 'runtime'>,
  user: ListUser = { accountId: mainAccountId, listOwners: noListOwners },
): string | undefined {
  const { lists } = deps.data
  for (const name of findApplicableLists(list, user)) {
    const found = lists.get(name)
    if (found) {
      const aged = findListAgeProblem(found, deps)
      return aged?.state === 'stale' ? aged.text : undefined
    }
    const problem = lists.problems().find((one) => affectsList(one.name, name))
    if (problem) return `${name} cannot be used: ${problem.detail}`
  }
  return `${toAccountListName(user.accountId, list)} is not imported`
}

function findNumberingBlockers({ data, settings }: CallReadinessDeps): readonly CallBlocker[] {
  if (settings.numbering.unknownPrefix !== 'strict') return []
  const coverage = data.plan.coverage()
  const blocked = countries.filter((country) => coverage[country].mode !== 'imported')
  if (blocked.length === 0) return []
  const problem = 'numbering.unknownPrefix is strict and no prefixes are imported'
  return [{ countries: blocked, problem, fix: 'callgate import numbering' }]
}

/**
 * Accounts with at least one active project whose federal subscription is usable; `undefined` when
 * subscriptions block nothing, with a remote source. One query for all accounts, since readiness needs no API key.
 */
async function findSubscribedAccounts(
  deps: CallReadinessDeps,
): Promise<ReadonlySet<string> | undefined> {
  const { settings, storage } = deps
  if (!storage || settings.source.kind === 'remote') return undefined
  const rows = await storage.db
    .selectFrom('projects')
    .select('account_id')
    .distinct()
    .where('status', '=', 'active')
    .where((row) =>
      row.or([row('ftc_status', 'is', null), row('ftc_status', 'not in', ['failed', 'expired'])]),
    )
    .execute()
  return new Set(rows.map((row) => row.account_id))
}

const notSubscribed: CallBlocker = {
  countries: ['US'],
  problem: 'the federal subscription of every active project has failed or expired',
  fix: 'callgate projects ftc-validation',
}

/** Countries to which no call of the account can be allowed. */
function listBlockedCountries({ blockers }: AccountCallStatus): readonly Country[] {
  return countries.filter((country) =>
    blockers.some((blocker) => blocker.countries.includes(country)),
  )
}

function isFullyBlocked(calls: AccountCallStatus): boolean {
  const blocked = listBlockedCountries(calls)
  return blocked.length > 0 && blocked.length === calls.called.length
}

/**
 * Ready unless every account in use is blocked everywhere: a list missing for one country or one
 * account must not take this server out of service for all others.
 */
function isReady(all: readonly AccountCallStatus[]): boolean {
  const used = all.filter(({ isInUse, called }) => isInUse && called.length > 0)
  return used.length === 0 || !used.every(isFullyBlocked)
}

const maxNamed = 20

/** One part for each set of reasons: `main, acme: US calls are blocked: us-dnc is not imported`. */
function describeBlockers(all: readonly AccountCallStatus[]): string {
  const accountsByText = new Map<string, string[]>()
  for (const calls of all) {
    const text = formatStatus(calls)
    accountsByText.set(text, [...(accountsByText.get(text) ?? []), calls.accountId])
  }
  const deps = [...accountsByText].map(([text, ids]) => {
    const more = ids.length > maxNamed ? ` and ${ids.length - maxNamed} more accounts` : ''
    return `${ids.slice(0, maxNamed).join(', ')}${more}: ${text}`
  })
  return deps.join('; ')
}

function formatStatus(calls: AccountCallStatus): string {
  if (calls.called.length === 0) return 'the account calls no country'
  const blocked = listBlockedCountries(calls)
  if (blocked.length === 0) return 'no country is blocked'
  const which = isFullyBlocked(calls) ? 'every call' : `every ${blocked[0]} call`
  const reason = calls.blockers.map(({ problem, fix }) => `${problem} (${fix})`).join(', ')
  return calls.isInUse
    ? `${which} is blocked: ${reason}`
    : `${which} would be blocked, but the account has made no calls yet: ${reason}`
}

/** One sentence about what real calls still need; `undefined` if nothing blocks them. */
export function describeGoingLive(
  blockers: readonly Pick<CallBlocker, 'fix'>[],
): string | undefined {
  const fixes = [...new Set(blockers.map(({ fix }) => fix))]
  return fixes.length === 0 ? undefined : `Going live still needs: ${fixes.join(', ')}.`
}

/** The tables are read at most this often, since readiness needs no API key. */
const readEverySeconds = 1
/** A database that is slow has a check of its own; what was read of it before is used meanwhile. */
const maxReadMs = 50

type ServedCalls = CallReadinessDeps & Pick<Callgate, 'gate' | 'recentCalls'>

/** The check `calls` of `/readyz`: whether a call of each real account could be allowed now. */
export function createCallReadiness(deps: ServedCalls): () => Promise<Readiness> {
  let startedAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  let read: readonly AccountCallStatus[] | { readonly failure: string } | undefined
  const readTables = async () => {
    startedAt = monotonicSeconds()
    read = await readAccountCallStatuses(deps).catch((cause: unknown) => {
      return { failure: `accounts cannot be read: ${getErrorMessage(cause)}` }
    })
    reading = undefined
  }
  return async () => {
    if (monotonicSeconds() - startedAt >= readEverySeconds) reading ??= readTables()
    if (read && reading) await withTimeout(reading, maxReadMs, () => undefined)
    else await reading
    if (!read || 'failure' in read) return { ready: false, detail: read?.failure }
    return judge(read, deps)
  }
}

function judge(
  statuses: readonly AccountCallStatus[],
  { gate, recentCalls }: ServedCalls,
): Readiness {
  const failing: NonNullable<Readiness['failing']>[number][] = []
  const all = statuses.map((status) => {
    const { accountId: account } = status
    const failed = recentCalls.find(account, (request) => gate.preview(request))
    if (!failed) return status
    failing.push({ account, ...failed })
    const blocker = { countries: status.called, ...failed }
    return { ...status, isInUse: true, blockers: [...status.blockers, blocker] }
  })
  return {
    ready: isReady(all),
    detail: describeBlockers(all),
    ...(failing.length > 0 && { failing: failing.slice(0, maxNamed) }),
  }
}
