/** Builds the remote source from the settings: clients, combination and cache. */

import type { ProviderSettings, Settings } from '../config/settings.js'
import { type Compliance, type QuestionName, questionNames } from '../domain/compliance.js'
import type { Metrics } from '../observability/metrics.js'
import type { Runtime } from '../runtime/runtime.js'
import { CachedCompliance } from '../sources/cache/cached-compliance.js'
import { combineProviders } from '../sources/combine/combine-providers.js'
import {
  AccountCompliance,
  AccountLogins,
  type LoginRight,
  LoginRights,
  nameLogin,
  RightfulCompliance,
} from '../sources/remote/account-logins.js'
import type {
  ProviderAddresses,
  ProviderOptions,
  QuestionLimits,
  RequestTracer,
} from '../sources/remote/provider-options.js'
import { RemoteCompliance } from '../sources/remote/remote-compliance.js'
import { createProviderBudget, type ProviderBudgetDeps } from './provider-budgets.js'
import { readProviderCredentials } from './provider-credentials.js'

export interface RemoteStack {
  /** The providers, as one. */
  readonly compliance: Compliance
  /** Of their answers, which do not depend on local changes. */
  readonly cache: CachedCompliance
  /** One for each login. */
  readonly providers: readonly {
    readonly name: string
    circuits: RemoteCompliance['listCircuits']
    rateBudgets: RemoteCompliance['listRateBudgets']
  }[]
  close(): Promise<void>
}

export interface RemoteStackDeps extends Pick<ProviderBudgetDeps, 'getSettings' | 'storage'> {
  readonly settings: Settings
  readonly runtime: Runtime
  readonly metrics: Metrics
  readonly gateDeadlineMs: number
  /** Whether an account may use the login of account main; read often. */
  readonly hasLoginRight: LoginRight
  /** Absent while traces are not exported. */
  readonly tracer?: RequestTracer | undefined
}

/** Share of the decision time that a denial of one provider waits for the other provider. */
const denialWaitShare = 0.7
/** Share of the decision time before a stale answer is used; larger, so that no denial is missed. */
const staleFallbackShare = 0.85

/** Throws `DataFileError` for a key file that cannot be read. */
export function openRemoteStack(deps: RemoteStackDeps): RemoteStack {
  const { settings, runtime, metrics, gateDeadlineMs } = deps
  const { source } = settings
  const maxDenialWaitMs = gateDeadlineMs * denialWaitShare
  const rights = new LoginRights(deps.hasLoginRight)
  const logins = (['provider', 'secondProvider'] as const)
    .filter((which) => source[which].baseUrl !== undefined)
    .map((which) => openLogins(which, rights, deps))
  const cache = new CachedCompliance(
    createProviderSource(
      logins.map((one) => new AccountCompliance(one)),
      { settings, runtime, maxDenialWaitMs },
    ),
    {
      settings: { ...settings.gate.cache, refreshAheadMs: source.refreshAheadMs },
      staleForMs: resolveStaleForMs(settings.policy),
      staleAfterMs: gateDeadlineMs * staleFallbackShare,
      clock: runtime.clock,
      timers: runtime.timers,
      observer: {
        countLookups: (question) => metrics.countCacheLookups('remote', question),
        // The provider clients count their own requests, each with many questions.
        onAnswer: () => undefined,
      },
    },
  )
  return {
    compliance: new RightfulCompliance({ cache, rights, clock: runtime.clock }),
    cache,
    providers: logins
      .flatMap((one) => one.list())
      .map(({ name, client }) => ({
        name,
        circuits: () => client.listCircuits(),
        rateBudgets: () => client.listRateBudgets(),
      })),
    close: async () => {
      await Promise.all(logins.map((one) => one.close()))
    },
  }
}

function openLogins(
  which: 'provider' | 'secondProvider',
  { hasRight }: LoginRights,
  deps: RemoteStackDeps,
): AccountLogins<RemoteCompliance> {
  const { settings } = deps
  const { name, accounts } = settings.source[which]
  const open = (accountId?: string) =>
    new RemoteCompliance(createProviderOptions(settings, which, { ...deps, accountId }))
  return new AccountLogins({
    name,
    path: `source.${which}`,
    main: open(),
    own: new Map(Object.keys(accounts).map((id) => [id, open(id)])),
    hasRight,
  })
}

function createProviderSource(
  providers: readonly Compliance[],
  {
    settings: { source },
    runtime,
    maxDenialWaitMs,
  }: Pick<RemoteStackDeps, 'settings' | 'runtime'> & { readonly maxDenialWaitMs: number },
): Compliance {
  const [first, second] = providers
  if (!first) throw new TypeError('source.kind remote without a provider')
  if (!second) return first
  const { combine: mode, fallbackAfterMs } = source
  return combineProviders(first, second, {
    mode,
    fallbackAfterMs,
    maxDenialWaitMs,
    timers: runtime.timers,
  })
}

/** With the login of the account, or of account main. Throws `DataFileError` for a key file that cannot be read. */
export function createProviderOptions(
  { source, cluster }: Settings,
  which: 'provider' | 'secondProvider',
  deps: Pick<RemoteStackDeps, 'runtime' | 'metrics' | 'tracer' | 'getSettings' | 'storage'> & {
    readonly accountId?: string | undefined
  },
): ProviderOptions {
  const settings = source[which]
  const { runtime, metrics, tracer, accountId } = deps
  const own = Object.entries(settings.accounts).find(([id]) => id === accountId)
  const path = `source.${which}`
  const name = own ? nameLogin(settings.name, own[0]) : settings.name
  const credentials = own
    ? readProviderCredentials(own[1], `${path}.accounts.${own[0]}`)
    : readProviderCredentials(settings, path)
  // Initializes the gauge, so that it exists before a circuit opens.
  for (const question of questionNames) metrics.setSourceCircuit(name, question, false)
  const { clock, timers, random, log } = runtime
  const { coalesceMs, maxQueued, maxRequests, retries, circuitFailures, circuitOpenMs } = settings
  const ofServer = ({ requestsPerMinute, ...limits }: QuestionLimits) => ({
    ...limits,
    requestsPerMinute: Math.floor(requestsPerMinute / cluster.servers),
  })
  return {
    name,
    addresses: resolveProviderAddresses(settings),
    credentials,
    limits: { coalesceMs, maxQueued, maxRequests, retries, circuitFailures, circuitOpenMs },
    questions: {
      scrub: ofServer(settings.scrub),
      'internal-dnc': ofServer(settings.internalDnc),
      litigator: ofServer(settings.litigator),
      'legal-time': ofServer(settings.legalTime),
    },
    clock,
    timers,
    random,
    log,
    tracer,
    budget: createProviderBudget({ path, name }, deps),
    observer: {
      onRequest: metrics.recordSourceRequest.bind(metrics, name),
      onCircuitChange: (question, open) => metrics.setSourceCircuit(name, question, open),
    },
  }
}

/** Spec, "Addresses"; unset addresses default to the base address. */
function resolveProviderAddresses({
  baseUrl = '',
  ...addresses
}: ProviderSettings): ProviderAddresses {
  return {
    baseUrl,
    rpcUrl: addresses.rpcUrl ?? baseUrl,
    monitorUrl: addresses.monitorUrl ?? baseUrl,
    authUrl: addresses.authUrl ?? `${baseUrl}/oauth/token`,
  }
}

function resolveStaleForMs(policy: Settings['policy']): Readonly<Record<QuestionName, number>> {
  const ofCheck = (check: keyof typeof policy) => policy[check].staleForMs ?? 0
  return {
    scrub: ofCheck('permission'),
    'internal-dnc': ofCheck('internalDnc'),
    litigator: ofCheck('litigator'),
    'legal-time': ofCheck('callingHours'),
  }
}
