/**
 * Builds every object and hands each what it needs: the only file that picks engine, source and
 * checks. What is opened is closed last-in first-out.
 */
import { join } from 'node:path'
import type { Settings } from './config.js'
import { type CallingRules, loadCallingRules } from './data/calling-rules/calling-rules.js'
import { type ListStore, openListStore } from './data/number-list/list-store.js'
import { openNumberingPlan, type ReloadableNumberingPlan } from './data/numbering/numbering-plan.js'
import { createPostalCodes } from './data/postal-codes/postal-codes.js'
import { Changes } from './domain/changes.js'
import { orderedStamps } from './domain/clock.js'
import { strictPolicy } from './domain/decision.js'
import { assertZoneRulesAreCurrent } from './domain/zones.js'
import { allChecks } from './gate/checks/all-checks.js'
import { Gate } from './gate/gate.js'
import { Journal } from './gate/journal.js'
import { OutcomeJournal } from './gate/outcome-journal.js'
import { shippedOr } from './load-settings.js'
import { createMetrics, type Metrics } from './metrics.js'
import { Accounts } from './service/accounts/accounts.js'
import { ApiKeys } from './service/accounts/api-keys.js'
import { Projects } from './service/accounts/projects.js'
import { CallingHours } from './service/calling-hours/calling-hours.js'
import { TimeLegal } from './service/calling-hours/time-legal-batch.js'
import { Consent } from './service/consent/consent.js'
import { InternalDnc } from './service/internal-dnc/internal-dnc.js'
import { ListFacts } from './service/list-facts.js'
import { Litigators } from './service/litigator.js'
import { Sandbox, sandboxAccountId } from './service/sandbox/sandbox.js'
import { readSandboxFile } from './service/sandbox/sandbox-file.js'
import { Scrub } from './service/scrub/scrub.js'
import { ScrubJudge } from './service/scrub/scrub-judge.js'
import type { Service } from './service/service.js'
import { CachedCompliance } from './sources/cached.js'
import { Embedded } from './sources/embedded.js'
import { type OpenDatabase, openDatabase } from './storage/engine.js'
import { migrate } from './storage/migrate.js'
import { version } from './version.js'
import type { World } from './world.js'

export const mainAccountId = 'main'

/** Accounts, keys and projects over the database: all that the smaller commands need. */
export interface Foundation {
  readonly settings: Settings
  readonly world: World
  readonly storage: OpenDatabase
  readonly changes: Changes
  readonly accounts: Accounts
  readonly keys: ApiKeys
  readonly projects: Projects
  close(): Promise<void>
}

/** Opens and migrates the database, and makes the two accounts that are always there. */
export async function openFoundation(settings: Settings, world: World): Promise<Foundation> {
  const { clock } = world
  const storage = openDatabase({
    ...settings.storage,
    dataDir: settings.dataDir,
    blockForLockMs: world.mayBlock ? settings.storage.lockWaitMs : 0,
  })
  try {
    await migrate(storage.db)
    const { db } = storage
    const changes = new Changes()
    const accounts = new Accounts(db, clock)
    await accounts.ensure({ id: mainAccountId, kind: 'real', name: 'Main account' })
    await accounts.ensure({ id: sandboxAccountId, kind: 'sandbox', name: 'Sandbox' })
    const keys = new ApiKeys({ db, clock, randomBytes: world.randomBytes })
    const projects = new Projects({ storage, clock, changes })
    const close = () => storage.close()
    return { settings, world, storage, changes, accounts, keys, projects, close }
  } catch (cause) {
    await storage.close()
    throw cause
  }
}

/** Prepared reference data: lists, prefixes, postal codes, law, sandbox facts. */
export interface ReferenceData {
  readonly lists: ListStore
  readonly plan: ReloadableNumberingPlan
  readonly rules: CallingRules
  readonly sandbox: Sandbox
}

export const listsFolder = (settings: Settings): string => join(settings.dataDir, 'lists')
export const numberingFolder = (settings: Settings): string => join(settings.dataDir, 'numbering')

function openReferenceData(settings: Settings, { clock }: World): ReferenceData {
  assertZoneRulesAreCurrent()
  return {
    lists: openListStore({ folder: listsFolder(settings) }),
    plan: openNumberingPlan({
      folder: numberingFolder(settings),
      unknownPrefix: settings.numbering.unknownPrefix,
    }),
    rules: loadCallingRules(shippedOr(settings.callingHours.rulesFile)),
    sandbox: new Sandbox({
      file: readSandboxFile(shippedOr(settings.sandbox.file)),
      clock,
      at: settings.sandbox.at,
    }),
  }
}

/** The whole program but its doors. */
export interface Callgate extends Foundation {
  readonly data: ReferenceData
  readonly service: Service
  readonly compliance: CachedCompliance
  readonly metrics: Metrics
  readonly journal: Journal
  readonly outcomes: OutcomeJournal
  readonly gate: Gate
  /** Judges like {@link Callgate.gate} and records nothing. */
  readonly dryGate: Gate
}

export async function openCallgate(settings: Settings, world: World): Promise<Callgate> {
  const foundation = await openFoundation(settings, world)
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
  const compliance = createCompliance(foundation, data, { subjects, metrics })
  // Before the cache: what is asked anew must not be answered from an old project.
  changes.subscribe({ numbersChanged: () => undefined, everythingChanged: () => projects.forget() })
  changes.subscribe(compliance)
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
    service: subjects,
    compliance,
    metrics,
    journal,
    outcomes,
    gate: gateOver(journal),
    dryGate: gateOver(undefined),
    async close() {
      await journal.close()
      await outcomes.close()
      await foundation.close()
    },
  }
}

interface Subjects extends Service {
  readonly scrub: Scrub
  readonly internalDnc: InternalDnc
  readonly consent: Consent
  readonly lists: ListFacts
  readonly hoursOf: (accountId: string) => CallingHours
}

function createSubjects(foundation: Foundation, data: ReferenceData): Subjects {
  const { settings, storage, projects, accounts, changes } = foundation
  const { rules, sandbox, plan } = data
  const postalCodes = createPostalCodes()
  const { proclaimedDays, emergencies } = settings.callingHours
  const hoursOver = (accountId: string) =>
    new CallingHours({
      rules,
      numberingPlan: sandbox.planOf(accountId, plan),
      postalCodes,
      proclaimedDays,
      emergencies,
    })
  const realHours = hoursOver(mainAccountId)
  const sandboxHours = hoursOver(sandboxAccountId)
  const hoursOf = (accountId: string) => (sandbox.isSandbox(accountId) ? sandboxHours : realHours)
  const clockOf = (accountId: string) => sandbox.clockOf(accountId)
  const stamps = orderedStamps(foundation.world.clock)
  const shared = { storage, projects, changes, stamps, clockOf, overlay: sandbox }
  const internalDnc = new InternalDnc({ ...shared, accounts })
  const consent = new Consent({ ...shared, law: rules, numberingPlan: plan })
  const lists = new ListFacts(data.lists, sandbox)
  const judge = new ScrubJudge({
    numberingPlan: plan,
    postalCodes,
    lists,
    law: rules,
    callingHours: realHours,
    sandbox,
  })
  return {
    timeLegal: new TimeLegal({ projects, clockOf, hoursOf: hoursOf }),
    scrub: new Scrub({ projects, internalDnc, consent, judge, callingHours: realHours, clockOf }),
    internalDnc,
    consent,
    litigators: new Litigators(lists, projects),
    lists,
    hoursOf,
  }
}

interface ComplianceParts {
  readonly subjects: Subjects
  readonly metrics: Metrics
}

function createCompliance(
  { settings, world, projects }: Foundation,
  { sandbox }: ReferenceData,
  { subjects, metrics }: ComplianceParts,
): CachedCompliance {
  const clockOf = (accountId: string) => sandbox.clockOf(accountId)
  const source = new Embedded({
    ...subjects,
    projects,
    clockOf,
    onError: (question, cause) =>
      world.log.error('a question could not be answered', { question, err: cause }),
  })
  return new CachedCompliance(source, {
    settings: settings.gate.cache,
    clockOf,
    watch: {
      asked: (question, result) => metrics.cacheAsked('embedded', question, result),
      answered: (question, outcome, seconds) =>
        metrics.sourceAsked({ source: 'embedded', question, outcome, seconds }),
    },
  })
}

interface GateOver {
  readonly compliance: CachedCompliance
  readonly data: ReferenceData
  readonly metrics: Metrics
  readonly journal: Journal | undefined
}

/** A provider far away takes longer than our own service. */
function gateDeadlineMs({ gate, source }: Settings): number {
  return gate.deadlineMs ?? (source.kind === 'remote' ? 1_500 : 250)
}

function createGate({ settings, world }: Foundation, over: GateOver): Gate {
  const { compliance, data, metrics, journal } = over
  return new Gate({
    compliance,
    checks: allChecks,
    policy: strictPolicy,
    journal,
    settings: {
      ...settings.gate,
      deadlineMs: gateDeadlineMs(settings),
      serviceCodes: new Set(settings.gate.serviceCodes),
    },
    clock: world.clock,
    timers: world.timers,
    clockOf: (accountId) => data.sandbox.clockOf(accountId),
    newId: world.newDecisionId,
    metrics,
    log: world.log,
  })
}
