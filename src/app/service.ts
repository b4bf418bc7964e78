/** Builds the embedded service: reference data, services, and the source for the gate. */

import { resolveShippedFile } from '../config/load.js'
import type { Settings } from '../config/settings.js'
import { loadCallingRules } from '../data/calling-rules/calling-rules-schema.js'
import { type FactStore, openFactStore } from '../data/facts/fact-store.js'
import { loadOptOutReader } from '../data/files/opt-out-phrases.js'
import { createListAges, type ListAges } from '../data/number-list/list-ages.js'
import { type ListStore, openListStore } from '../data/number-list/list-store.js'
import {
  openNumberingPlan,
  PortAwarePlan,
  type PortedLists,
  type ReloadableNumberingPlan,
} from '../data/numbering/numbering-plan.js'
import { createPostalCodes } from '../data/postal-codes/postal-codes.js'
import type { ChangeObserver } from '../domain/change-notifier.js'
import type { Compliance } from '../domain/compliance.js'
import type { ReassignedSource } from '../domain/lookups.js'
import type { NumberingPlan, PostalCodes } from '../domain/place.js'
import { assertZoneRulesAreCurrent } from '../domain/time/time-zones.js'
import type { GateDeps } from '../gate/gate-deps.js'
import { ownSource } from '../judge/facts.js'
import { CallingRules } from '../law/calling-rules.js'
import type { Metrics } from '../observability/metrics.js'
import type { Runtime } from '../runtime/runtime.js'
import type { AccountView } from '../service/account-view.js'
import { AuditTrail } from '../service/audit/audit-trail.js'
import { createReadLog } from '../service/audit/read-log.js'
import { CallingHours } from '../service/calling-hours/calling-hours.js'
import { LegalCallTimes } from '../service/calling-hours/legal-call-times.js'
import { TimeLegalCheck } from '../service/calling-hours/time-legal-check.js'
import { TimeZoneInfo } from '../service/calling-hours/time-zone-info.js'
import { ConsentHistories } from '../service/consent/consent-history.js'
import { EbrRecordList } from '../service/consent/ebr-record-list.js'
import { EbrRecords } from '../service/consent/ebr-records.js'
import { InternalDnc, type InternalDncOptions } from '../service/internal-dnc/internal-dnc.js'
import { OptOuts } from '../service/internal-dnc/opt-outs.js'
import { ListFacts, type Lists } from '../service/lists/list-facts.js'
import { LitigatorCheck } from '../service/lists/litigator-check.js'
import type { ScopeResolver } from '../service/projects/project-scope.js'
import { Sandbox } from '../service/sandbox/sandbox.js'
import { readSandboxFile } from '../service/sandbox/sandbox-file.js'
import { SandboxLists } from '../service/sandbox/sandbox-lists.js'
import { Scrub } from '../service/scrub/scrub.js'
import type { CallServices } from '../service/service.js'
import { OwnFactsSource } from '../sources/own/own-facts.js'
import { OwnFactsReader } from '../sources/own/read-own-facts.js'
import type { ThreadDatabase } from '../storage/open-database.js'
import type { AppContext } from './app-context.js'
import type { Configuration } from './configuration.js'
import { getFactsFolder, getListsFolder, getNumberingFolder } from './data-folders.js'

/** The prepared data that rows and verdicts are computed from: lists, prefixes, law, sandbox facts. */
export interface CallData<ListSource> {
  readonly lists: ListSource
  readonly listAges: ListAges
  readonly plan: ReloadableNumberingPlan
  readonly rules: CallingRules
  readonly sandbox: Sandbox
}

export interface ReferenceData extends CallData<ListStore> {
  /** Imported facts about numbers. */
  readonly facts: FactStore
}

export function openReferenceData(settings: Settings, runtime: Runtime): ReferenceData {
  assertZoneRulesAreCurrent()
  const { document: rules } = loadCallingRules(resolveShippedFile(settings.callingHours.rulesFile))
  const sandboxFile = readSandboxFile(resolveShippedFile(settings.sandbox.file))
  const lists = openListStore({ folder: getListsFolder(settings) })
  return {
    ...openCallData({ settings, rules, sandboxFile }, runtime, lists),
    facts: openFactStore({ folder: getFactsFolder(settings) }),
  }
}

export function openCallData<ListSource>(
  configuration: Configuration,
  runtime: Pick<Runtime, 'clock'>,
  lists: ListSource,
): CallData<ListSource> {
  const { settings } = configuration
  return {
    ...createConfiguredData(configuration, runtime),
    lists,
    plan: openNumberingPlan({
      folder: getNumberingFolder(settings),
      unknownPrefix: settings.numbering.unknownPrefix,
    }),
  }
}

function createConfiguredData(
  { settings, rules, sandboxFile: file }: Configuration,
  { clock }: Pick<Runtime, 'clock'>,
): Pick<CallData<unknown>, 'rules' | 'listAges' | 'sandbox'> {
  return {
    rules: new CallingRules(rules),
    listAges: createListAges(settings.lists),
    sandbox: new Sandbox({ file, clock, at: settings.sandbox.at }),
  }
}

/** The services that decisions depend on. */
export interface DecisionServices extends CallServices {
  readonly postalCodes: PostalCodes
  readonly scrub: Scrub
  readonly internalDnc: InternalDnc
  readonly ebrRecords: EbrRecords
}

export interface AccountViews {
  readonly real: AccountView
  readonly sandbox: AccountView
  /** Views that a reload has replaced no longer follow changes of the lists. */
  readonly close: () => void
}

/** Creates the view shared by all real accounts, and that of the sandbox. Throws as {@link CallingHours} does. */
export function createAccountViews(
  settings: Settings,
  { clock }: Pick<Runtime, 'clock'>,
  data: CallData<Lists & PortedLists>,
): AccountViews {
  const { rules, listAges, sandbox: fixedFacts } = data
  const { proclaimedDays, emergencies } = settings.callingHours
  const postalCodes = createPostalCodes()
  const hoursOver = (numberingPlan: NumberingPlan) =>
    new CallingHours({ rules, numberingPlan, postalCodes, proclaimedDays, emergencies })
  const plan = new PortAwarePlan(data.plan, data.lists, {
    isStale: (list) => clock.now() >= listAges.computeStaleAt(list),
  })
  const sandboxPlan = fixedFacts.planOver(plan)
  const listFacts = new ListFacts({ lists: data.lists, ages: listAges, clock })
  return {
    real: {
      clock,
      numberingPlan: plan,
      hours: hoursOver(plan),
      law: rules,
      lists: listFacts,
      fixedFacts: undefined,
    },
    sandbox: {
      clock: fixedFacts.clock,
      numberingPlan: sandboxPlan,
      hours: hoursOver(sandboxPlan),
      law: rules,
      lists: new SandboxLists(fixedFacts),
      fixedFacts,
    },
    close: () => {
      plan.close()
      listFacts.close()
    },
  }
}

/**
 * Replaces the rules in `data` and `views` between two turns of the event loop: a request that has looked up
 * its view keeps it, and the next one uses the new rules. Throws a `RangeError`, and replaces nothing, for
 * an invalid proclaimed day or emergency.
 */
export function replaceRules(
  configuration: Configuration,
  runtime: Pick<Runtime, 'clock'>,
  { data, views }: { readonly data: CallData<Lists & PortedLists>; readonly views: AccountViews },
): void {
  const replaced = createConfiguredData(configuration, runtime)
  const next = createAccountViews(configuration.settings, runtime, { ...data, ...replaced })
  views.close()
  Object.assign(data, replaced)
  Object.assign(views, next)
}

interface DecisionServicesDeps
  extends Pick<AppContext, 'accounts' | 'changeHead' | 'changeRequests'> {
  readonly storage: ThreadDatabase
  readonly runtime: Pick<Runtime, 'clock'>
  readonly projects: ScopeResolver
  readonly changes: ChangeObserver
  readonly onOptOutEnforced?: InternalDncOptions['onOptOutEnforced']
  readonly onOptOutStored?: InternalDncOptions['onOptOutStored']
}

export function createDecisionServices(
  { accounts, runtime, onOptOutEnforced, onOptOutStored, ...context }: DecisionServicesDeps,
  viewOf: (accountId: string) => AccountView,
): DecisionServices {
  const { storage, projects, changes, changeHead, changeRequests } = context
  const shared = { storage, projects, changes, changeHead, viewOf }
  const internalDnc = new InternalDnc({
    ...{ ...shared, accounts, changeRequests, onOptOutEnforced, onOptOutStored },
  })
  const ebrRecords = new EbrRecords({ ...shared, internalDnc, changeRequests })
  const scrubDeps = { projects, internalDnc, ebrRecords, viewOf }
  const postalCodes = createPostalCodes()
  const recordRead = createReadLog(storage, runtime.clock)
  return {
    timeLegal: new TimeLegalCheck({ projects, viewOf }),
    callTimes: new LegalCallTimes({ projects, viewOf }),
    timeZones: new TimeZoneInfo({ viewOf }),
    postalCodes,
    scrub: new Scrub({ ...scrubDeps, postalCodes }),
    internalDnc,
    ebrRecords,
    ebrRecordList: new EbrRecordList(shared),
    consentHistories: new ConsentHistories({ ...shared, ebrRecords, internalDnc }),
    litigators: new LitigatorCheck(viewOf, projects),
    audit: new AuditTrail(storage, recordRead),
    recordRead,
  }
}

interface OwnFactsDeps {
  readonly views: AccountViews
  readonly kind: 'real' | 'sandbox'
  readonly services: DecisionServices
  readonly metrics: Metrics
}

/** What is stored and imported here about the numbers that the accounts of one view call. */
export function createOwnFacts(
  { settings, runtime, projects }: AppContext,
  { views, kind, services, metrics }: OwnFactsDeps,
): OwnFactsSource {
  const reader = new OwnFactsReader({
    ...services,
    projects,
    views,
    kind,
    besideProvider: kind === 'real' && settings.source.kind === 'remote',
    onError: (err) => runtime.log.error('facts about a number could not be read', { err }),
  })
  const { timers } = runtime
  const countLookup = metrics.countCacheLookups(ownSource, 'facts')
  const onRead = metrics.recordSourceRequest.bind(metrics, ownSource, 'facts')
  const observer = { countLookup, onRead }
  return new OwnFactsSource({ reader, settings: settings.gate.cache, timers, observer })
}

/** What the gate needs of the accounts; a provider answers for lists and consent of real ones. */
export function createGateAccounts(
  views: AccountViews,
  {
    reassigned,
    ownFacts,
    remote,
  }: {
    readonly reassigned: { readonly real: ReassignedSource; readonly sandbox: ReassignedSource }
    readonly ownFacts: { readonly real: OwnFactsSource; readonly sandbox: OwnFactsSource }
    readonly remote: { readonly compliance: Compliance } | undefined
  },
): GateDeps['accounts'] {
  const create = (kind: 'real' | 'sandbox', provider?: Compliance) => ({
    clock: views[kind].clock,
    sources: { own: ownFacts[kind], provider },
    reassigned: reassigned[kind],
  })
  return { real: create('real', remote?.compliance), sandbox: create('sandbox') }
}

interface OptOutsContext {
  readonly service: { readonly internalDnc: Pick<InternalDnc, 'add'> }
  readonly projects: ScopeResolver
  readonly viewOf: (accountId: string) => AccountView
  /** Replaced by a reload. */
  readonly settings: Pick<Settings, 'optOuts'>
  readonly data: { readonly rules: Pick<CallingRules, 'revocation'> }
  readonly metrics: Pick<Metrics, 'recordOptOutReceived'>
}

/** Throws a `DataFileError` for a mistake in the file of phrases. */
export function createOptOuts(context: OptOutsContext): OptOuts {
  const { service, projects, viewOf, metrics } = context
  return new OptOuts({
    internalDnc: service.internalDnc,
    projects,
    viewOf,
    readWords: loadOptOutReader(resolveShippedFile(context.settings.optOuts.phrasesFile)),
    getSettings: () => context.settings.optOuts,
    getRules: () => context.data.rules.revocation,
    onInForce: metrics.recordOptOutReceived,
  })
}
