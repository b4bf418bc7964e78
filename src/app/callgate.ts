/**
 * Builds all objects of the program. Only this folder chooses the engine, the source and the checks.
 * Objects are closed in reverse order.
 */

import { resolveGateDeadlineMs, type Settings } from '../config/settings.js'
import { version } from '../config/version.js'
import { buildPolicy } from '../gate/build-policy.js'
import { Gate } from '../gate/gate.js'
import type { GateDeps, GateRules } from '../gate/gate-deps.js'
import { Journal } from '../gate/journal/journal.js'
import type { DecisionStore } from '../gate/journal/projection/decision-store.js'
import { toCutOffException } from '../gate/staleness.js'
import { TracedGate } from '../gate/traced-gate.js'
import type { Authenticate } from '../http/authenticate.js'
import { createMetrics, type Metrics } from '../observability/metrics.js'
import type { Tracing } from '../observability/tracing.js'
import { PermitKeys } from '../permits/permit-keys.js'
import { Permits } from '../permits/permits.js'
import { closeInOrder } from '../runtime/close-in-order.js'
import type { Runtime } from '../runtime/runtime.js'
import type { AccountView } from '../service/account-view.js'
import { createAuthenticator } from '../service/accounts/api-keys.js'
import {
  type AcknowledgedOptOut,
  AcknowledgedOptOuts,
} from '../service/internal-dnc/acknowledged-opt-outs.js'
import { chooseByAccount } from '../service/sandbox/sandbox.js'
import type { Service } from '../service/service.js'
import type { CachedCompliance } from '../sources/cache/cached-compliance.js'
import type { OwnFactsSource } from '../sources/own/own-facts.js'
import { routeWarmupByAccount, Warmer, type WarmupService } from '../sources/warming/warmer.js'
import { writeLostChanges, writeRewrittenOptOut } from '../storage/cluster/lost-changes.js'
import type { FeedObserver } from '../storage/open-database.js'
import { createAccountServices, createFactServices } from './account-service.js'
import { type AppContext, type OpenAppOptions, openAppContext } from './app-context.js'
import type { BackgroundJobs } from './background.js'
import {
  type Configuration,
  type ConfigurationVersions,
  computeVersions,
  toConfiguration,
} from './configuration.js'
import { type FactSources, openFactSources } from './fact-sources.js'
import {
  createDecisionProjection,
  type DecisionProjection,
  openSharedDecisions,
} from './journal/decision-projection.js'
import { createSegmentObserver } from './journal/erasures.js'
import { hasLoginRight } from './provider-credentials.js'
import type { RemoteStack } from './remote-stack.js'
import {
  type AccountViews,
  createAccountViews,
  createDecisionServices,
  createGateAccounts,
  createOwnFacts,
  openReferenceData,
  type ReferenceData,
  replaceRules,
} from './service.js'

/** The whole program without its HTTP server and Asterisk connections. */
export interface Callgate extends AppContext {
  readonly data: ReferenceData
  /** Of what is in use. */
  readonly versions: ConfigurationVersions
  readonly service: Service
  /** Resolves an API key or access token to its caller. */
  readonly authenticate: Authenticate
  /** Sources of external facts, including the lookup provider. */
  readonly factSources: FactSources
  /** Started by a server. */
  readonly backgroundJobs: BackgroundJobs
  readonly views: AccountViews
  /** What is stored and imported here about numbers, one cache for real accounts and one for the sandbox. */
  readonly ownFacts: { readonly real: OwnFactsSource; readonly sandbox: OwnFactsSource }
  readonly viewOf: (accountId: string) => AccountView
  /** The providers of `source.kind: remote`. */
  readonly remote: RemoteStack | undefined
  readonly warmup: WarmupService
  readonly metrics: Metrics
  readonly journal: Journal
  /** Those of all servers, if there may be several. */
  readonly sharedDecisions: DecisionStore | undefined
  /** Copies the journal there; started by a server. */
  readonly projection: DecisionProjection | undefined
  readonly gate: Gate
  /** Those of this server, if a failover may lose them. */
  readonly acknowledgedOptOuts: AcknowledgedOptOuts
  readonly permits: Permits
  /**
   * Judges by another configuration from the next question on; what needs a restart must be the same in
   * it, and its rules be kept beside the journal. Throws as {@link replaceRules} does, and changes nothing then.
   */
  reconfigure(next: Configuration, versions: ConfigurationVersions): void
}

export interface OpenCallgateOptions extends OpenAppOptions {
  /** Absent while traces are not exported. */
  readonly tracing?: Tracing | undefined
}

export async function openCallgate(
  settings: Settings,
  runtime: Runtime,
  options: OpenCallgateOptions = {},
): Promise<Callgate> {
  const foundation = await openAppContext(settings, runtime, options)
  try {
    return await buildCallgate(foundation, openReferenceData(settings, runtime), options.tracing)
  } catch (cause) {
    await foundation.close()
    throw cause
  }
}

async function buildCallgate(
  foundation: AppContext,
  data: ReferenceData,
  tracing: Tracing | undefined,
): Promise<Callgate> {
  const { runtime, changes, projects } = foundation
  const metrics = createMetrics({ version, processMetrics: runtime.processMetrics })
  const views = createAccountViews(foundation.settings, runtime, data)
  const viewOf = chooseByAccount(views)
  const acknowledgedOptOuts = createAcknowledgedOptOuts(foundation, () => services)
  const onOptOutStored = (optOut: AcknowledgedOptOut) => acknowledgedOptOuts.remember(optOut)
  const services = createDecisionServices(
    { ...foundation, onOptOutEnforced: metrics.recordOptOutEnforced, onOptOutStored },
    viewOf,
  )
  const ownFactsFor = (kind: 'real' | 'sandbox') =>
    createOwnFacts(foundation, { views, kind, services, metrics })
  const ownFacts = { real: ownFactsFor('real'), sandbox: ownFactsFor('sandbox') }
  const { settings, storage } = foundation
  const getSettings = () => callgate.settings
  const factSources = await openFactSources({ ...foundation, data, metrics, getSettings })
  const accountSubjects = createAccountServices(foundation, viewOf)
  const facts = createFactServices(foundation, { viewOf, factSources, metrics })
  foundation.webhookObserver.setObserver({
    onAttempt: (outcome) => metrics.countWebhookAttempt(outcome),
    onPending: (count) => metrics.setPendingWebhooks(count),
  })
  const remote = await createRemoteStack(foundation, { metrics, tracing, getSettings })
  // Subscribes before the caches, so that a repeated question does not see an outdated project.
  changes.subscribe({
    numbersChanged: () => undefined,
    everythingChanged: () => projects.clearCache(),
  })
  changes.subscribe(ownFacts.real)
  changes.subscribe(ownFacts.sandbox)
  const accounts = createGateAccounts(views, { ...factSources, ownFacts, remote })
  const warmup = createWarmup(foundation, { ownFacts, remote })
  const journal = createJournal(foundation, metrics)
  const projection = createDecisionProjection(foundation, journal, metrics)
  const versions = computeVersions(toConfiguration(settings, data))
  const rules = createGateRules({ settings, data, views, versions })
  const gateDeps = createGateDeps(foundation, { accounts, metrics, journal, ...rules })
  const gate = tracing ? new TracedGate(gateDeps, tracing) : new Gate(gateDeps)
  const callgate: Callgate = {
    ...foundation,
    permits: createPermits(foundation, { gate, metrics }),
    data,
    versions,
    service: { ...services, ...accountSubjects, ...facts.subjects },
    authenticate: createAuthenticator(foundation.keys, accountSubjects.tokens),
    factSources,
    backgroundJobs: facts.background,
    views,
    ownFacts,
    viewOf,
    remote,
    warmup,
    metrics,
    journal,
    sharedDecisions: await openSharedDecisions(storage),
    projection,
    acknowledgedOptOuts,
    gate,
    close: () =>
      closeInOrder([
        () => foundation.storage.abandonUnanswered(),
        () => acknowledgedOptOuts.close(),
        () => warmup.close(),
        // Cancels pending requests to the provider, which would delay the shutdown.
        () => factSources.provider?.close(),
        () => facts.background.close(),
        () => projection?.close(),
        () => factSources.close(),
        () => remote?.close(),
        () => journal.close(),
        () => foundation.close(),
      ]),
    reconfigure: (next, versions) => {
      replaceRules(next, runtime, { data, views })
      Object.assign(callgate, { settings: next.settings, versions })
      replaceGateRules(callgate)
      factSources.factsChanged()
      // Answers by the old rules, also those that are still being computed, are not cached.
      changes.everythingChanged()
    },
  }
  await followChanges(callgate)
  return callgate
}

/** Which lists are in force is known before the server is current again, and before answers are cached again. */
async function followChanges(callgate: Callgate): Promise<void> {
  const { storage, settings, data, changes, runtime, acknowledgedOptOuts } = callgate
  if (!storage.traits.isShared && !storage.traits.isCopy) return
  const { openListFiles, putInForce } = await import('./lists/list-files.js')
  const { readListsInForce, readListsNowhereInForce } = await import(
    '../storage/cluster/list-versions.js'
  )
  const place = openListFiles(settings)?.place
  const readInForce = async () => {
    const inForce = await readListsInForce(storage.reads)
    const needed = storage.traits.isCopy ? await readListsNowhereInForce(storage.reads) : []
    putInForce(inForce, { data, settings, place, needed })
  }
  // A command has no feed.
  if (!storage.feed) return await readInForce()
  const observer: FeedObserver = {
    numbersChanged: (accountId, numbers) => changes.numbersChanged(accountId, numbers),
    everythingChanged: async () => {
      await readInForce()
      changes.everythingChanged()
    },
  }
  await storage.feed.follow(observer, (lost) => {
    const path = writeLostChanges(settings.dataDir, lost)
    runtime.log.error(`a failover has lost ${lost.length} changes of opt-outs or others`, { path })
    acknowledgedOptOuts.writeAgain(lost)
  })
}

function createAcknowledgedOptOuts(
  { settings, storage, runtime: { log, clock } }: AppContext,
  getServices: () => Pick<Service, 'internalDnc'>,
): AcknowledgedOptOuts {
  return new AcknowledgedOptOuts({
    add: async (optOut) => {
      const { projectCode: projectId, onAllLists, numbers } = optOut
      const request = { projectId, onAllLists, numbers, ignoreInvalid: false }
      await getServices().internalDnc.add(optOut, request)
    },
    feed: storage.feed,
    onWritten: (optOut) => {
      writeRewrittenOptOut(settings.dataDir, optOut, clock.now())
      const { accountId, projectCode, numbers } = optOut
      const fields = { account: accountId, project: projectCode, numbers: numbers.length }
      log.warn('an opt-out that a failover had lost was written again', fields)
    },
    onRefused: ({ accountId, projectCode }, err) => {
      const fields = { account: accountId, project: projectCode, err }
      log.error('an opt-out that a failover has lost could not be written again', fields)
    },
  })
}

function createJournal(context: AppContext, metrics: Metrics): Journal {
  const { settings, storage, changeHead } = context
  const { log, clock } = context.runtime
  const journal = new Journal({
    dataDir: settings.dataDir,
    databaseFiles: storage.files,
    // What several servers have decided is searched in the blocks of their database.
    indexForm: storage.traits.isShared ? 'places' : 'searched',
    checkFault: () => storage.checkFault(),
    clock,
    version,
    installation: context.installation,
    ...settings.journal,
    observer: {
      onWritten: changeHead.observe.bind(changeHead),
      onFailure: () => metrics.countRecordFailure(),
      onUnrecorded: (decisionId, cause) =>
        log.error('a decision could not be recorded', { decisionId, err: cause }),
      onLoss: (count) => log.error('records were lost', { count }),
      onFlushed: metrics.recordJournalFlush,
      onIndexLag: metrics.setIndexLag,
      onIndexFailure: (cause) =>
        log.warn('the index of decisions could not be written; trying again', { err: cause }),
      onSegmentEvent: createSegmentObserver(context, metrics, () => journal.origin),
    },
  })
  storage.onFaultChange((fault) => journal.setFault(fault))
  metrics.observeJournal(journal)
  return journal
}

async function createRemoteStack(
  { settings, runtime, storage, projects }: AppContext,
  {
    tracing: tracer,
    ...deps
  }: Pick<Callgate, 'metrics'> & {
    readonly tracing: Tracing | undefined
    readonly getSettings: () => Settings
  },
): Promise<RemoteStack | undefined> {
  if (settings.source.kind === 'embedded') return undefined
  const { openRemoteStack } = await import('./remote-stack.js')
  const deadlineMs = resolveGateDeadlineMs(settings)
  return openRemoteStack({
    ...deps,
    settings,
    runtime,
    storage,
    gateDeadlineMs: deadlineMs,
    hasLoginRight: (accountId) => hasLoginRight(projects, accountId),
    tracer,
  })
}

/** The share of a source's queue that warmup may use. */
const maxWarmupQueueShare = 0.5

/** The sandbox has its own warmer, so that its jobs take no capacity from real accounts. */
function createWarmup(
  { settings, runtime }: AppContext,
  { ownFacts, remote }: Pick<Callgate, 'ownFacts' | 'remote'>,
): WarmupService {
  const { provider, secondProvider } = settings.source
  const maxQueued = Math.min(provider.maxQueued, secondProvider.maxQueued)
  const shareOfCache = remote ? 1 : 0.5
  const createWarmer = (cache: Pick<CachedCompliance, 'warmUp'>) =>
    new Warmer({
      warmUp: (question, freshForMs) => cache.warmUp(question, freshForMs),
      cache: settings.gate.cache,
      maxNumbers: Math.floor(settings.gate.cache.maxEntries * shareOfCache),
      maxInFlight: Math.max(1, Math.floor(maxQueued * maxWarmupQueueShare)),
      clock: runtime.clock,
      timers: runtime.timers,
      newId: runtime.newDecisionId,
    })
  const warmers = {
    real: createWarmer(remote?.cache ?? ownFacts.real),
    sandbox: createWarmer(ownFacts.sandbox),
  }
  return routeWarmupByAccount([warmers.sandbox, warmers.real], chooseByAccount(warmers))
}

function createGateRules({
  settings,
  data,
  views,
  versions,
}: Pick<Callgate, 'settings' | 'data' | 'views' | 'versions'>): GateRules {
  return {
    windows: views.real.hours.windows,
    callingRules: data.rules,
    rulesVersion: versions.rules,
    policy: buildPolicy(settings),
    settings: {
      ...settings.gate,
      maxStalenessMs: settings.cluster.maxStalenessMs,
      whileCutOff: toCutOffException(settings.edge),
      deadlineMs: resolveGateDeadlineMs(settings),
      serviceCodes: new Set(settings.gate.serviceCodes),
    },
  }
}

function replaceGateRules(callgate: Callgate): void {
  const rules = createGateRules(callgate)
  callgate.gate.replaceRules(rules)
}

function createPermits(
  { settings, storage, runtime, expiryClock, keys: apiKeys, attempts }: AppContext,
  { gate, metrics }: { readonly gate: Gate; readonly metrics: Metrics },
): Permits {
  const { clock, timers, randomBytes, log } = runtime
  const keys = new PermitKeys({ storage, clock, timers })
  const countEvent = metrics.countPermitEvent
  const findKey = apiKeys.find.bind(apiKeys)
  const recheck = gate.recheck.bind(gate)
  const deps = { storage, keys, recheck, clock, expiryClock, randomBytes, countEvent, log }
  return new Permits({ ...deps, findKey, attempts, settings: settings.permits })
}

function createGateDeps(
  { runtime, storage, changeHead, ...context }: AppContext,
  deps: GateRules & Pick<GateDeps, 'accounts' | 'metrics' | 'journal'>,
): GateDeps {
  const { shut, pauses, callerIds, abandonment, attempts, recentCalls } = context
  return {
    ...deps,
    clock: runtime.clock,
    watermark: changeHead,
    feed: storage.feed,
    ...{ shut, pauses, callerIds, abandonment, attempts, recentCalls },
    timers: runtime.timers,
    newId: runtime.newDecisionId,
    log: runtime.log,
  }
}
