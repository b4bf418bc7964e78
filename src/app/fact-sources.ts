/** Builds the sources of external facts: imported files, a provider, and the sandbox's fixed facts. */

import type { Settings } from '../config/settings.js'
import { ImportedFacts } from '../data/facts/imported-facts.js'
import type { LookupSource, ReassignedSource, Release } from '../domain/lookups.js'
import type { ComplaintSource, LabelSource } from '../domain/spam-labels.js'
import type { Instant } from '../domain/time/clock.js'
import { findRelease as findReleaseByRules } from '../law/reassigned-releases.js'
import type { Metrics } from '../observability/metrics.js'
import type { Runtime } from '../runtime/runtime.js'
import { CombinedComplaints, CombinedLabels } from '../service/lookups/combined-labels.js'
import { CombinedLookups } from '../service/lookups/combined-lookups.js'
import {
  type ReassignedCoverage,
  ReassignedStatuses,
} from '../service/lookups/reassigned-statuses.js'
import type { SourceFailureListener } from '../service/lookups/source-failures.js'
import type { ScopeResolver } from '../service/projects/project-scope.js'
import { chooseByAccount } from '../service/sandbox/sandbox.js'
import { SandboxFacts } from '../service/sandbox/sandbox-facts.js'
import type { AccountLookups } from '../sources/remote/lookups/account-lookups.js'
import {
  type LookupProviderOptions,
  lookupNames,
} from '../sources/remote/lookups/lookup-options.js'
import type { ProviderBudgetDeps } from './provider-budgets.js'
import { hasLoginRight, readProviderCredentials } from './provider-credentials.js'
import type { ReferenceData } from './service.js'

/** The sources of facts for the numbers of one account. */
interface AccountFactSources {
  readonly lookups: LookupSource
  readonly labels: LabelSource
  readonly complaints: ComplaintSource
}

export interface FactSources {
  readonly sourcesFor: (accountId: string) => AccountFactSources
  /** The provider of `lookups.baseUrl`. */
  readonly provider: AccountLookups | undefined
  /** What calls ask about reassigned numbers. */
  readonly reassigned: { readonly real: ReassignedSource; readonly sandbox: ReassignedSource }
  /** The imported files or the sandbox have changed. */
  factsChanged(): void
  close(): Promise<void>
}

interface FactSourcesDeps extends Pick<ProviderBudgetDeps, 'getSettings' | 'storage'> {
  readonly settings: Settings
  readonly runtime: Runtime
  readonly data: Pick<ReferenceData, 'facts' | 'sandbox' | 'rules'>
  readonly metrics: Metrics
  readonly projects: ScopeResolver
}

/**
 * The provider has precedence over the files, since its facts are current. The sandbox uses only its
 * fixed facts, so that trying it out causes no real lookups.
 */
export async function openFactSources(deps: FactSourcesDeps): Promise<FactSources> {
  const { settings, runtime, data } = deps
  const { log, clock } = runtime
  // A reload replaces the rules.
  const findRelease = (at: Instant) =>
    findReleaseByRules(data.rules.document.reassignedReleases, at)
  const provider = await openFactProvider({ ...deps, findRelease })
  const feeds = new ImportedFacts(data.facts, clock)
  const onFailure = (what: string, cause: unknown) =>
    log.warn('a source of facts failed; the others are used, if any', { what, err: cause })
  const files = { name: 'imported files', source: feeds }
  const complaints = new CombinedComplaints([files], onFailure)
  const createReal = (accountId: string): AccountFactSources => {
    const source = provider?.forAccount(accountId)
    const sources = source ? [{ name: settings.lookups.name, source }, files] : [files]
    return {
      lookups: new CombinedLookups(sources, onFailure),
      labels: new CombinedLabels(sources, onFailure),
      complaints,
    }
  }
  const real = new Map<string, AccountFactSources>()
  const findReal = (accountId: string) => {
    const found = real.get(accountId) ?? createReal(accountId)
    real.set(accountId, found)
    return found
  }
  const fixed = new SandboxFacts(data)
  const sandbox: AccountFactSources = { lookups: fixed, labels: fixed, complaints: fixed }
  const reassigned = createReassignedStatuses(settings, {
    runtime,
    onFailure,
    findRelease,
    data,
    provider: settings.lookups.asksForCalls ? provider : undefined,
    files: feeds,
    fixed,
  })
  return {
    sourcesFor: (accountId) =>
      chooseByAccount({ real: findReal, sandbox: () => sandbox })(accountId)(accountId),
    provider,
    reassigned,
    factsChanged: () => {
      reassigned.real.clear()
      reassigned.sandbox.clear()
    },
    close: async () => {
      await provider?.close()
      data.facts.close()
    },
  }
}

/** The lines of the sandbox age with its clock. */
const sandboxKeepMs = 60_000

function createReassignedStatuses(
  { lookups, gate }: Settings,
  {
    runtime: { clock, timers },
    onFailure,
    findRelease,
    data,
    provider,
    files,
    fixed,
  }: {
    readonly runtime: Runtime
    readonly onFailure: SourceFailureListener
    readonly findRelease: (at: Instant) => Release
    readonly data: FactSourcesDeps['data']
    readonly provider: AccountLookups | undefined
    readonly files: ImportedFacts
    readonly fixed: SandboxFacts
  },
) {
  const { maxEntries } = gate.cache
  const shared = { onFailure, findRelease, timers, maxEntries }
  const imported = { name: 'imported files', agent: 'own-subscription', source: files } as const
  const findCoverage = (): ReassignedCoverage => {
    if (provider || files.hasFile('reassigned') || files.hasFile('carrier-reassigned'))
      return 'numbers'
    return files.hasFile('line-status') ? 'lines' : 'none'
  }
  return {
    real: new ReassignedStatuses({
      ...shared,
      sources: provider
        ? [imported, { name: lookups.name, agent: 'agent', source: provider }]
        : [imported],
      findCoverage,
      findRefusal: provider && ((accountId) => provider.findRefusal(accountId)),
      clock,
      keepMs: Number.POSITIVE_INFINITY,
    }),
    sandbox: new ReassignedStatuses({
      ...shared,
      sources: [{ name: 'sandbox', agent: 'test-data', source: fixed }],
      findCoverage: () => 'numbers',
      // A reload replaces the sandbox.
      clock: { now: () => data.sandbox.clock.now() },
      keepMs: sandboxKeepMs,
    }),
  }
}

async function openFactProvider(
  deps: Omit<FactSourcesDeps, 'data'> & Pick<LookupProviderOptions, 'findRelease'>,
): Promise<AccountLookups | undefined> {
  const { lookups } = deps.settings
  const { name, baseUrl, accounts } = lookups
  if (baseUrl === undefined) return undefined
  const { LookupProvider } = await import('../sources/remote/lookups/lookup-provider.js')
  const { AccountLookups } = await import('../sources/remote/lookups/account-lookups.js')
  const { AccountLogins, nameLogin } = await import('../sources/remote/account-logins.js')
  const { createProviderBudget } = await import('./provider-budgets.js')
  const open = (login: ProviderLogin) =>
    new LookupProvider({
      ...createLookupOptions(baseUrl, login, deps),
      budget: createProviderBudget({ path: 'lookups', name: login.name }, deps),
    })
  const own = Object.entries(accounts).map(([id, account]) => {
    const credentials = readProviderCredentials(account, `lookups.accounts.${id}`)
    return [id, open({ name: nameLogin(name, id), credentials })] as const
  })
  return new AccountLookups(
    new AccountLogins({
      name,
      path: 'lookups',
      main: open({ name, credentials: readProviderCredentials(lookups, 'lookups') }),
      own: new Map(own),
      hasRight: (accountId) => hasLoginRight(deps.projects, accountId),
    }),
  )
}

type ProviderLogin = Pick<LookupProviderOptions, 'name' | 'credentials'>

function createLookupOptions(
  baseUrl: string,
  { name, credentials }: ProviderLogin,
  {
    settings: { lookups, cluster },
    runtime: { clock, timers, random, log },
    metrics,
    findRelease,
  }: Omit<FactSourcesDeps, 'data'> & Pick<LookupProviderOptions, 'findRelease'>,
): LookupProviderOptions {
  const { authUrl, timeoutMs, requestsPerMinute, keepMs } = lookups
  // Initializes the gauge, so that it exists before a circuit opens.
  for (const question of lookupNames) metrics.setLookupCircuit(name, question, false)
  return {
    name,
    baseUrl,
    authUrl,
    timeoutMs,
    requestsPerMinute,
    servers: cluster.servers,
    keepMs,
    clock,
    findRelease,
    timers,
    random,
    log,
    credentials,
    observer: {
      onRequest: (question, outcome, seconds) =>
        metrics.recordLookupRequest({ source: name, question, outcome, seconds }),
      onCircuitChange: (question, open) => metrics.setLookupCircuit(name, question, open),
    },
  }
}
