/** Builds the way to remote providers from the settings: clients, combination, cache, own rules. */
import { credentialsOf } from './compose-credentials.js'
import type { PolicySettings, ProviderSettings, Settings } from './config.js'
import { type Compliance, type QuestionName, questionNames } from './domain/compliance.js'
import type { Metrics } from './metrics.js'
import { CachedCompliance } from './sources/cached.js'
import { combined } from './sources/combined.js'
import { OwnRules } from './sources/own-rules.js'
import type { ProviderAddresses, ProviderOptions } from './sources/remote/provider-options.js'
import { openRemote, type Remote } from './sources/remote/remote.js'
import type { World } from './world.js'

export interface RemoteStack {
  /** What the gate asks. */
  readonly compliance: Compliance
  /** The providers' answers; warmed, and not told of changes here, which they do not rest on. */
  readonly cache: CachedCompliance
  readonly providers: readonly { readonly name: string; circuits: Remote['circuits'] }[]
  close(): Promise<void>
}

export interface RemoteStackParts {
  readonly settings: Settings
  readonly world: World
  readonly metrics: Metrics
  /** The service in this process: what it knows narrows what the providers permit. */
  readonly own: Compliance
  readonly gateDeadlineMs: number
}

/** Of the time for a decision: how long one provider's no waits for the other provider. */
const shareOfPatience = 0.7
/** How long a silent source is waited for; later, so that a no that was heard is not passed over. */
const shareBeforeStale = 0.85

/** Throws `DataFileError` for a key file that cannot be read. */
export function openRemoteStack(parts: RemoteStackParts): RemoteStack {
  const { settings, world, metrics, own, gateDeadlineMs } = parts
  const { source } = settings
  const patienceMs = gateDeadlineMs * shareOfPatience
  const opened = (['provider', 'secondProvider'] as const)
    .filter((which) => source[which].baseUrl !== undefined)
    .map((which) => ({
      name: source[which].name,
      remote: openRemote(providerOptions(settings, which, { world, metrics })),
    }))
  const remotes = opened.map(({ remote }) => remote)
  const cache = new CachedCompliance(oneOf(remotes, { settings, world, patienceMs }), {
    settings: { ...settings.gate.cache, refreshAheadMs: source.refreshAheadMs },
    staleForMs: staleForMs(settings.policy),
    staleAfterMs: gateDeadlineMs * shareBeforeStale,
    standardsMatter: false,
    clockOf: () => world.clock,
    timers: world.timers,
    watch: {
      asked: (question, result) => metrics.cacheAsked('remote', question, result),
      // Providers count their own requests, each of many questions.
      answered: () => undefined,
    },
  })
  return {
    compliance: new OwnRules(cache, own),
    cache,
    providers: opened.map(({ name, remote }) => ({ name, circuits: () => remote.circuits() })),
    close: async () => {
      await Promise.all(remotes.map((remote) => remote.close()))
    },
  }
}

function oneOf(
  providers: readonly Remote[],
  {
    settings: { source },
    world,
    patienceMs,
  }: Pick<RemoteStackParts, 'settings' | 'world'> & { readonly patienceMs: number },
): Compliance {
  const [first, second] = providers
  if (!first) throw new TypeError('source.kind remote without a provider')
  if (!second) return first
  const { combine: mode, fallbackAfterMs } = source
  return combined(first, second, { mode, fallbackAfterMs, patienceMs, timers: world.timers })
}

/** Throws `DataFileError` for a key file that cannot be read. */
export function providerOptions(
  { source }: Settings,
  which: 'provider' | 'secondProvider',
  { world, metrics }: Pick<RemoteStackParts, 'world' | 'metrics'>,
): ProviderOptions {
  const settings = source[which]
  const { name } = settings
  // So that the gauge is there before a circuit ever opens.
  for (const question of questionNames) metrics.sourceCircuit(name, question, false)
  const { clock, timers, random, log } = world
  const { coalesceMs, maxQueued, maxRequests, retries, circuitFailures, circuitOpenMs } = settings
  return {
    name,
    addresses: addressesOf(settings),
    credentials: credentialsOf(settings, `source.${which}`),
    limits: { coalesceMs, maxQueued, maxRequests, retries, circuitFailures, circuitOpenMs },
    questions: {
      scrub: settings.scrub,
      'internal-dnc': settings.internalDnc,
      litigator: settings.litigator,
      'legal-time': settings.legalTime,
    },
    ...{ clock, timers, random, log },
    watch: {
      requested: (question, outcome, seconds) =>
        metrics.sourceAsked({ source: name, question, outcome, seconds }),
      circuit: (question, open) => metrics.sourceCircuit(name, question, open),
    },
  }
}

/** Spec, "Addresses"; what is not given is below the base address. */
function addressesOf({ baseUrl = '', ...given }: ProviderSettings): ProviderAddresses {
  return {
    baseUrl,
    rpcUrl: given.rpcUrl ?? baseUrl,
    monitorUrl: given.monitorUrl ?? baseUrl,
    authUrl: given.authUrl ?? `${baseUrl}/oauth/token`,
  }
}

function staleForMs(policy: PolicySettings): Readonly<Record<QuestionName, number>> {
  return {
    scrub: policy.permission.staleForMs,
    'internal-dnc': policy.internalDnc.staleForMs,
    litigator: policy.litigator.staleForMs,
    'legal-time': policy.callingHours.staleForMs,
  }
}
