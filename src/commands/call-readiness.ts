/**
 * Whether calls can be allowed at all: what blocks every call of an account, to a country or
 * anywhere, although the program works.
 */
import { ariServers } from '../asterisk/ari-servers.js'
import type { Callgate } from '../compose.js'
import { litigatorListName, nationalListNames } from '../data/number-list/list-names.js'
import { formatInstant, monotonicSeconds } from '../domain/clock.js'
import type { Country } from '../domain/place.js'
import { policyOf } from '../gate/policy-of.js'
import type { Readiness } from '../http/ops.js'

type Parts = Pick<Callgate, 'accounts' | 'data' | 'remote' | 'settings' | 'storage' | 'world'>

const countries: readonly Country[] = ['US', 'CA']

/** Why every call of an account to some countries is blocked. */
interface Blocker {
  readonly countries: readonly Country[]
  /** What is wrong and what to do. */
  readonly because: string
}

export interface AccountCalls {
  readonly accountId: string
  /** It is asked about real calls: `gate.account` of an Asterisk, or among the latest decisions. */
  readonly inUse: boolean
  readonly blockers: readonly Blocker[]
}

const latestDecisions = 1_000

/** Every real account; the sandbox needs no data. */
export async function callsOfAccounts(parts: Parts): Promise<readonly AccountCalls[]> {
  const { accounts, settings } = parts
  const ofData = [...listBlockers(parts), ...numberingBlockers(parts)]
  const asking = await askingAccounts(parts)
  if (ariServers(settings.asterisk).length > 0) asking.add(settings.gate.account)
  const subscribed = await subscribedAccounts(parts)
  const real = (await accounts.list()).filter(({ kind }) => kind === 'real')
  return real.map(({ id }) => ({
    accountId: id,
    inUse: asking.has(id),
    blockers: subscribed?.has(id) === false ? [...ofData, notSubscribed] : ofData,
  }))
}

/** What-ifs do not count: they are how somebody finds out. */
async function askingAccounts({ storage: { db } }: Parts): Promise<Set<string>> {
  const latest = db
    .selectFrom('decisions')
    .select(['account_id', 'what_if'])
    .orderBy('id', 'desc')
    .limit(latestDecisions)
  const rows = await db
    .selectFrom(latest.as('latest'))
    .select('account_id')
    .distinct()
    .where('what_if', '=', 0)
    .execute()
  return new Set(rows.map((row) => row.account_id))
}

/** The same for all real accounts. Where a provider scrubs, no list is needed here. */
function listBlockers(parts: Parts): readonly Blocker[] {
  const { remote, settings, world } = parts
  if (remote) return []
  const policy = policyOf(settings.policy)
  const { allowUnknown } = policy.litigator
  const isUnknownAllowed = allowUnknown !== undefined && world.clock.now() < allowUnknown.until
  const needed = [
    // A number that no national list covers is denied, which policy on unknowns does not lift.
    ...(policy.permission.mode === 'enforce'
      ? countries.map((country) => ({ name: nationalListNames[country], countries: [country] }))
      : []),
    ...(policy.litigator.mode === 'enforce' && !isUnknownAllowed
      ? [{ name: litigatorListName, countries }]
      : []),
  ]
  return needed.flatMap(({ name, countries: blocked }) => {
    const because = lackOf(name, parts)
    return because === undefined ? [] : [{ countries: blocked, because }]
  })
}

/** Why a list answers nothing. */
function lackOf(name: string, { data, world }: Parts): string | undefined {
  const list = data.lists.get(name)
  if (!list) {
    const problem = data.lists.problems().find((one) => one.name === undefined || one.name === name)
    if (problem) return `${name} cannot be used: ${problem.detail}`
    return `${name} is not imported (callgate import ${name})`
  }
  if (data.listAges.stateOf(list, world.clock.now()) !== 'stale') return undefined
  const since = formatInstant(data.listAges.staleAt(list))
  return `${name} is too old since ${since} (callgate import ${name})`
}

function numberingBlockers({ data, settings }: Parts): readonly Blocker[] {
  const isAsked = policyOf(settings.policy)['calling-hours'].mode === 'enforce'
  if (settings.numbering.unknownPrefix !== 'strict' || !isAsked) return []
  const coverage = data.plan.coverage()
  const blocked = countries.filter((country) => coverage[country].mode !== 'imported')
  if (blocked.length === 0) return []
  const because =
    'numbering.unknownPrefix is strict and no prefixes are imported (callgate import numbering)'
  return [{ countries: blocked, because }]
}

/**
 * Accounts whose federal subscription lets some project be asked about US numbers; `undefined` where
 * that blocks nothing: where a provider scrubs or policy only watches. One query for all: strangers may ask for readiness.
 */
async function subscribedAccounts(parts: Parts): Promise<ReadonlySet<string> | undefined> {
  if (parts.remote || parts.settings.policy.permission.mode !== 'enforce') return undefined
  const rows = await parts.storage.db
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

const notSubscribed: Blocker = {
  countries: ['US'],
  because:
    'the federal subscription of every active project has failed or expired ' +
    '(callgate projects ftc-validation)',
}

/** Countries to which no call of the account can be allowed. */
function blockedCountries({ blockers }: AccountCalls): readonly Country[] {
  return countries.filter((country) => blockers.some((one) => one.countries.includes(country)))
}

/**
 * Ready unless every account that is in use is blocked everywhere: a list that one country or one
 * account lacks is no reason to take the calls of all others away from this server.
 */
function isReady(all: readonly AccountCalls[]): boolean {
  const used = all.filter(({ inUse }) => inUse)
  const isCut = (calls: AccountCalls) => blockedCountries(calls).length === countries.length
  return used.length === 0 || !used.every(isCut)
}

const maxNamed = 20

/** One part for each set of reasons: `main, acme: US calls are blocked: us-dnc is not imported`. */
function describe(all: readonly AccountCalls[]): string {
  const accountsByText = new Map<string, string[]>()
  for (const calls of all) {
    const text = textOf(calls)
    accountsByText.set(text, [...(accountsByText.get(text) ?? []), calls.accountId])
  }
  const parts = [...accountsByText].map(([text, ids]) => {
    const more = ids.length > maxNamed ? ` and ${ids.length - maxNamed} more accounts` : ''
    return `${ids.slice(0, maxNamed).join(', ')}${more}: ${text}`
  })
  return parts.join('; ')
}

function textOf(calls: AccountCalls): string {
  const blocked = blockedCountries(calls)
  if (blocked.length === 0) return 'nothing blocks every call'
  const which = blocked.length === countries.length ? 'every call' : `every ${blocked[0]} call`
  const because = [...new Set(calls.blockers.map((one) => one.because))].join(', ')
  return `${which} is blocked${calls.inUse ? '' : ' (no call asked about yet)'}: ${because}`
}

/** The tables are read at most this often: strangers may ask for readiness. */
const readEverySeconds = 1

/** The check `calls` of `/readyz`. */
export function callReadiness(parts: Parts): () => Promise<Readiness> {
  let last: { readonly since: number; readonly result: Promise<Readiness> } | undefined
  const read = async () => {
    try {
      const all = await callsOfAccounts(parts)
      return { ready: isReady(all), detail: describe(all) }
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      return { ready: false, detail: `accounts cannot be read: ${why}` }
    }
  }
  return () => {
    const now = monotonicSeconds()
    if (!last || now - last.since >= readEverySeconds) last = { since: now, result: read() }
    return last.result
  }
}
