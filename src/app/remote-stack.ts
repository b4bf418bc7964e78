/** Builds the remote source from the settings: clients, combination, cache, and our own restrictions. */

import type { ProviderSettings, Settings } from '../config/settings.js'
import { type Compliance, type QuestionName, questionNames } from '../domain/compliance.js'
import type { Metrics } from '../observability/metrics.js'
import type { Runtime } from '../runtime/runtime.js'
import { CachedCompliance } from '../sources/cache/cached-compliance.js'
import { combineProviders } from '../sources/combine/combine-providers.js'
import { RestrictedCompliance } from '../sources/combine/restricted-compliance.js'
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
  /** The source that the gate uses. */
  readonly compliance: Compliance
  /** Caches the providers' answers, which do not depend on local changes. */
  readonly cache: CachedCompliance
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
  /** The embedded service, whose answers can only restrict what the providers permit. */
  readonly embedded: Compliance
  readonly gateDeadlineMs: number
  /** Absent while traces are not exported. */
  readonly tracer?: RequestTracer | undefined
}

/** Share of the decision time that a denial of one provider waits for the other provider. */
const denialWaitShare = 0.7
/** Share of the decision time before a stale answer is used; larger, so that no denial is missed. */
const staleFallbackShare = 0.85

/** Throws `DataFileError` for a key file that cannot be read. */
export function openRemoteStack(deps: RemoteStackDeps): RemoteStack {
  const { settings, runtime, metrics, embedded, gateDeadlineMs } = deps
  const { source } = settings
  const maxDenialWaitMs = gateDeadlineMs * denialWaitShare
  const opened = (['provider', 'secondProvider'] as const)
    .filter((which) => source[which].baseUrl !== undefined)
    .map((which) => ({
      name: source[which].name,
      remote: new RemoteCompliance(createProviderOptions(settings, which, deps)),
    }))
  const remotes = opened.map(({ remote }) => remote)
  const cache = new CachedCompliance(
    createProviderSource(remotes, { settings, runtime, maxDenialWaitMs }),
    {
      settings: { ...settings.gate.cache, refreshAheadMs: source.refreshAheadMs },
      staleForMs: resolveStaleForMs(settings.policy),
      staleAfterMs: gateDeadlineMs * staleFallbackShare,
      dependsOnLegalTimeOptions: false,
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
    compliance: new RestrictedCompliance(cache, embedded),
    cache,
    providers: opened.map(({ name, remote }) => ({
      name,
      circuits: () => remote.listCircuits(),
      rateBudgets: () => remote.listRateBudgets(),
    })),
    close: async () => {
      await Promise.all(remotes.map((remote) => remote.close()))
    },
  }
}

function createProviderSource(
  providers: readonly RemoteCompliance[],
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

/** Throws `DataFileError` for a key file that cannot be read. */
export function createProviderOptions(
  { source, cluster }: Settings,
  which: 'provider' | 'secondProvider',
  deps: Pick<RemoteStackDeps, 'runtime' | 'metrics' | 'tracer' | 'getSettings' | 'storage'>,
): ProviderOptions {
  const settings = source[which]
  const { name } = settings
  const { runtime, metrics, tracer } = deps
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
    credentials: readProviderCredentials(settings, `source.${which}`),
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
    budget: createProviderBudget({ path: `source.${which}`, name }, deps),
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
  return {
    scrub: policy.permission.staleForMs,
    'internal-dnc': policy.internalDnc.staleForMs,
    litigator: policy.litigator.staleForMs,
    'legal-time': policy.callingHours.staleForMs,
  }
}
