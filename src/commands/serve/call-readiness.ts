/**
 * Finds conditions that block every call of an account, to one country or to all, although the program
 * itself works.
 */

import type { Callgate } from '../../app/callgate.js'
import { resolveAriServers } from '../../asterisk/ari/ari-servers.js'
import { litigatorListName, nationalListNames } from '../../data/number-list/list-names.js'
import type { Country } from '../../domain/place.js'
import { formatInstant } from '../../domain/time/dates.js'
import { getErrorMessage } from '../../errors.js'
import { buildPolicy } from '../../gate/build-policy.js'
import type { Readiness } from '../../http/health.js'
import { monotonicSeconds } from '../../runtime/runtime.js'

type CallReadinessDeps = Pick<
  Callgate,
  'accounts' | 'data' | 'journal' | 'remote' | 'settings' | 'storage' | 'runtime'
>

const countries: readonly Country[] = ['US', 'CA']

/** Why every call of an account to some countries is blocked. */
interface CallBlocker {
  readonly countries: readonly Country[]
  /** What is wrong and how to fix it. */
  readonly reason: string
}

interface AccountCallStatus {
  readonly accountId: string
  /** Whether it has real calls: it is the `gate.account` of an Asterisk, or among the latest decisions. */
  readonly isInUse: boolean
  readonly blockers: readonly CallBlocker[]
}

/** Every real account; the sandbox needs no data. */
async function readAccountCallStatuses(
  deps: CallReadinessDeps,
): Promise<readonly AccountCallStatus[]> {
  const { accounts, settings } = deps
  const dataBlockers = [...findListBlockers(deps), ...findNumberingBlockers(deps)]
  // What-if decisions do not count, since operators use them for diagnosis.
  const activeAccounts = new Set(deps.journal.listActiveAccounts())
  if (resolveAriServers(settings.asterisk).length > 0) activeAccounts.add(settings.gate.account)
  const subscribed = await findSubscribedAccounts(deps)
  const real = (await accounts.list()).filter(({ kind }) => kind === 'real')
  return real.map(({ id }) => ({
    accountId: id,
    isInUse: activeAccounts.has(id),
    blockers: settings.gate.shadow.accounts.includes(id)
      ? []
      : [...dataBlockers, ...(subscribed?.has(id) === false ? [notSubscribed] : [])],
  }))
}

/** Conditions that affect all real accounts. With a remote source, no lists are needed. */
function findListBlockers(deps: CallReadinessDeps): readonly CallBlocker[] {
  const { remote, settings, runtime } = deps
  if (remote) return []
  const policy = buildPolicy(settings)
  const { allowUnknown } = policy.litigator
  const isUnknownAllowed = allowUnknown !== undefined && runtime.clock.now() < allowUnknown.until
  const needed = [
    // A number that no national list covers is denied, and onUnknown does not change a denial.
    ...(policy.permission.mode === 'enforce'
      ? countries.map((country) => ({ name: nationalListNames[country], countries: [country] }))
      : []),
    ...(policy.litigator.mode === 'enforce' && !isUnknownAllowed
      ? [{ name: litigatorListName, countries }]
      : []),
  ]
  return needed.flatMap(({ name, countries: blocked }) => {
    const reason = describeMissingList(name, deps)
    return reason === undefined ? [] : [{ countries: blocked, reason }]
  })
}

/** Why a list cannot be used, or `undefined` when it can. */
function describeMissingList(
  name: string,
  { data, runtime }: CallReadinessDeps,
): string | undefined {
  const list = data.lists.get(name)
  if (!list) {
    const problem = data.lists
      .problems()
      .find((entry) => entry.name === undefined || entry.name === name)
    if (problem) return `${name} cannot be used: ${problem.detail}`
    return `${name} is not imported (callgate import ${name})`
  }
  if (data.listAges.findState(list, runtime.clock.now()) !== 'stale') return undefined
  const since = formatInstant(data.listAges.computeStaleAt(list))
  return `${name} is too old since ${since} (callgate import ${name})`
}

function findNumberingBlockers({ data, settings }: CallReadinessDeps): readonly CallBlocker[] {
  const isEnforced = buildPolicy(settings)['calling-hours'].mode === 'enforce'
  if (settings.numbering.unknownPrefix !== 'strict' || !isEnforced) return []
  const coverage = data.plan.coverage()
  const blocked = countries.filter((country) => coverage[country].mode !== 'imported')
  if (blocked.length === 0) return []
  const reason =
    'numbering.unknownPrefix is strict and no prefixes are imported (callgate import numbering)'
  return [{ countries: blocked, reason }]
}

/**
 * Accounts with at least one active project whose federal subscription is usable; `undefined` when
 * subscriptions block nothing, with a remote source or the check in shadow mode. One query for all
 * accounts, since readiness needs no API key.
 */
async function findSubscribedAccounts(
  deps: CallReadinessDeps,
): Promise<ReadonlySet<string> | undefined> {
  if (deps.remote || buildPolicy(deps.settings).permission.mode !== 'enforce') return undefined
  const rows = await deps.storage.db
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
  reason:
    'the federal subscription of every active project has failed or expired ' +
    '(callgate projects ftc-validation)',
}

/** Countries to which no call of the account can be allowed. */
function blockedCountries({ blockers }: AccountCallStatus): readonly Country[] {
  return countries.filter((country) =>
    blockers.some((blocker) => blocker.countries.includes(country)),
  )
}

/**
 * Ready unless every account in use is blocked everywhere: a list missing for one country or one
 * account must not take this server out of service for all others.
 */
function isReady(all: readonly AccountCallStatus[]): boolean {
  const used = all.filter(({ isInUse }) => isInUse)
  const isFullyBlocked = (calls: AccountCallStatus) =>
    blockedCountries(calls).length === countries.length
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
  const blocked = blockedCountries(calls)
  if (blocked.length === 0) return 'no country is blocked'
  const which = blocked.length === countries.length ? 'every call' : `every ${blocked[0]} call`
  const reason = [...new Set(calls.blockers.map((blocker) => blocker.reason))].join(', ')
  return calls.isInUse
    ? `${which} is blocked: ${reason}`
    : `${which} would be blocked, but the account has made no calls yet: ${reason}`
}

/** The tables are read at most this often, since readiness needs no API key. */
const readEverySeconds = 1

/** The check `calls` of `/readyz`. */
export function createCallReadiness(deps: CallReadinessDeps): () => Promise<Readiness> {
  let last: { readonly since: number; readonly result: Promise<Readiness> } | undefined
  const read = async () => {
    try {
      const all = await readAccountCallStatuses(deps)
      return { ready: isReady(all), detail: describeBlockers(all) }
    } catch (cause) {
      const why = getErrorMessage(cause)
      return { ready: false, detail: `accounts cannot be read: ${why}` }
    }
  }
  return () => {
    const now = monotonicSeconds()
    if (!last || now - last.since >= readEverySeconds) last = { since: now, result: read() }
    return last.result
  }
}
