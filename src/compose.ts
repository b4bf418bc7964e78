/**
 * Builds every object and hands each what it needs, with the three files beside it: nothing else
 * picks engine, source and checks. What is opened is closed last-in first-out.
 */
import { createAccountSubjects, createFactSubjects } from './compose-account.js'
import type { Background } from './compose-background.js'
import { type Foundation, type OpenOptions, openFoundation } from './compose-foundation.js'
import { type OutsideFacts, openOutsideFacts } from './compose-outside.js'
import { openRemoteStack, type RemoteStack } from './compose-remote.js'
import {
  createOwnCompliance,
  createSubjects,
  openReferenceData,
  type ReferenceData,
} from './compose-service.js'
import { gateDeadlineMs, type Settings } from './config.js'
import { closeInOrder } from './domain/close-in-order.js'
import type { Compliance } from './domain/compliance.js'
import { callKinds } from './domain/decision.js'
import { standardsOf } from './gate/call-questions.js'
import { allChecks } from './gate/checks/all-checks.js'
import { Gate } from './gate/gate.js'
import { Journal } from './gate/journal.js'
import { OutcomeJournal } from './gate/outcome-journal.js'
import { policyOf } from './gate/policy-of.js'
import type { Authenticate } from './http/authenticate.js'
import { createMetrics, type Metrics } from './metrics.js'
import { authenticateBy } from './service/accounts/access-tokens.js'
import type { Service } from './service/service.js'
import { byAccount } from './sources/by-account.js'
import type { CachedCompliance } from './sources/cached.js'
import { warmByAccount } from './sources/warm-by-account.js'
import { Warmer, type Warming } from './sources/warmer.js'
import { version } from './version.js'
import type { World } from './world.js'

/** The whole program but its doors. */
export interface Callgate extends Foundation {
  readonly data: ReferenceData
  readonly service: Service
  /** Knows who shows a key or a token. */
  readonly authenticate: Authenticate
  /** Facts from outside, and the provider that is asked for them. */
  readonly outside: OutsideFacts
  /** Started by a server. */
  readonly background: Background
  /** The service in this process, with its cache. */
  readonly own: CachedCompliance
  /** The providers of `source.kind: remote`. */
  readonly remote: RemoteStack | undefined
  readonly warmer: Warming
  readonly metrics: Metrics
  readonly journal: Journal
  readonly outcomes: OutcomeJournal
  readonly gate: Gate
  /** Judges like {@link Callgate.gate} and records nothing. */
  readonly dryGate: Gate
}

export async function openCallgate(
  settings: Settings,
  world: World,
  options: OpenOptions = {},
): Promise<Callgate> {
  const foundation = await openFoundation(settings, world, options)
  try {
    return assemble(foundation, openReferenceData(settings, world))
  } catch (cause) {
    await foundation.close()
    throw cause
  }
}

function assemble(foundation: Foundation, data: ReferenceData): Callgate {
  const { world, storage, changes, projects } = foundation
  const metrics = createMetrics({ version, processMetrics: world.processMetrics })
  const subjects = createSubjects(foundation, data)
  const own = createOwnCompliance(foundation, data, { subjects, metrics })
  const outside = openOutsideFacts({ settings: foundation.settings, world, data, metrics })
  const accountSubjects = createAccountSubjects(foundation)
  const facts = createFactSubjects(foundation, { data, outside, metrics })
  foundation.webhookNews.tell({
    attempted: (outcome) => metrics.webhookAttempted(outcome),
    pending: (count) => metrics.webhooksPending(count),
  })
  const remote = createRemote(foundation, { own, metrics })
  // Before the cache: what is asked anew must not be answered from an old project.
  changes.subscribe({ numbersChanged: () => undefined, everythingChanged: () => projects.forget() })
  changes.subscribe(own)
  const compliance = remote
    ? byAccount((accountId) => (data.sandbox.isSandbox(accountId) ? own : remote.compliance))
    : own
  const warmer = createWarmer(foundation, data, { own, remote })
  const journal = new Journal(storage, {
    pending: (count) => metrics.recordsPending(count),
    failed: () => metrics.recordFailed(),
    lost: (count) => world.log.error('records of decisions are lost', { count }),
  })
  const outcomes = new OutcomeJournal(storage, {
    failed: (cause) => world.log.warn('outcomes could not be written; tried again', { err: cause }),
    lost: (count) => world.log.error('outcomes of calls are lost', { count }),
  })
  const gateOver = (records: Journal | undefined) =>
    createGate(foundation, { compliance, data, metrics, journal: records })
  return {
    ...foundation,
    data,
    service: { ...subjects, ...accountSubjects, ...facts.subjects },
    authenticate: authenticateBy(foundation.keys, accountSubjects.tokens),
    outside,
    background: facts.background,
    own,
    remote,
    warmer,
    metrics,
    journal,
    outcomes,
    gate: gateOver(journal),
    dryGate: gateOver(undefined),
    close: () =>
      closeInOrder([
        () => warmer.close(),
        // Ends requests to the provider that are under way, which would delay the stop.
        () => outside.provider?.close(),
        () => facts.background.close(),
        () => outside.close(),
        () => remote?.close(),
        () => journal.close(),
        () => outcomes.close(),
        () => foundation.close(),
      ]),
  }
}

function createRemote(
  { settings, world }: Foundation,
  { own, metrics }: { readonly own: Compliance; readonly metrics: Metrics },
): RemoteStack | undefined {
  if (settings.source.kind === 'embedded') return undefined
  const deadlineMs = gateDeadlineMs(settings)
  return openRemoteStack({ settings, world, metrics, own, gateDeadlineMs: deadlineMs })
}

/** Of the numbers that wait at a source, warming takes no more than half. */
const shareOfWarming = 0.5

/** A job of the sandbox takes nothing from real accounts: no room, no turns, no pace. */
function createWarmer(
  { settings, world }: Foundation,
  { sandbox }: ReferenceData,
  { own, remote }: Pick<Callgate, 'own' | 'remote'>,
): Warming {
  const { provider, secondProvider } = settings.source
  const mostQueued = Math.min(provider.maxQueued, secondProvider.maxQueued)
  const shareOfCache = remote ? 1 : 0.5
  const over = (cache: CachedCompliance) =>
    new Warmer({
      warm: (question, freshForMs) => cache.warm(question, freshForMs),
      standards: callKinds.map((kind) => standardsOf(settings.gate, kind)),
      cache: settings.gate.cache,
      mostNumbers: Math.floor(settings.gate.cache.maxEntries * shareOfCache),
      mostUnderWay: Math.max(1, Math.floor(mostQueued * shareOfWarming)),
      clock: world.clock,
      timers: world.timers,
      newId: world.newDecisionId,
    })
  const ofSandbox = over(own)
  const ofReal = over(remote?.cache ?? own)
  return warmByAccount([ofSandbox, ofReal], (accountId) =>
    sandbox.isSandbox(accountId) ? ofSandbox : ofReal,
  )
}

interface GateOver {
  readonly compliance: Compliance
  readonly data: ReferenceData
  readonly metrics: Metrics
  readonly journal: Journal | undefined
}

function createGate({ settings, world, changeHead }: Foundation, over: GateOver): Gate {
  const { compliance, data, metrics, journal } = over
  return new Gate({
    compliance,
    checks: allChecks,
    policy: policyOf(settings.policy),
    journal,
    settings: {
      ...settings.gate,
      deadlineMs: gateDeadlineMs(settings),
      serviceCodes: new Set(settings.gate.serviceCodes),
    },
    clock: world.clock,
    newestStored: changeHead,
    timers: world.timers,
    clockOf: (accountId) => data.sandbox.clockOf(accountId),
    newId: world.newDecisionId,
    metrics,
    log: world.log,
  })
}
