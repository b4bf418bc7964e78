/** Builds the embedded service: reference data, services, and the source for the gate. */

import { resolveShippedFile } from '../config/load.js'
import type { Settings } from '../config/settings.js'
import { type CallingRules, loadCallingRules } from '../data/calling-rules/calling-rules.js'
import { type FactStore, openFactStore } from '../data/facts/fact-store.js'
import { createListAges, type ListAges } from '../data/number-list/list-ages.js'
import { type ListStore, openListStore } from '../data/number-list/list-store.js'
import {
  openNumberingPlan,
  PortAwarePlan,
  type PortedLists,
  type ReloadableNumberingPlan,
} from '../data/numbering/numbering-plan.js'
import { createPostalCodes } from '../data/postal-codes/postal-codes.js'
import type { NumberingPlan } from '../domain/place.js'
import { assertZoneRulesAreCurrent } from '../domain/time/time-zones.js'
import type { Metrics } from '../observability/metrics.js'
import type { Runtime } from '../runtime/runtime.js'
import type { AccountView } from '../service/account-view.js'
import { CallingHours } from '../service/calling-hours/calling-hours.js'
import { LegalCallTimes } from '../service/calling-hours/legal-call-times.js'
import { TimeLegalCheck } from '../service/calling-hours/time-legal-check.js'
import { TimeZoneInfo } from '../service/calling-hours/time-zone-info.js'
import { Consent } from '../service/consent/consent.js'
import { ConsentRecords } from '../service/consent/consent-records.js'
import { InternalDnc, type InternalDncOptions } from '../service/internal-dnc/internal-dnc.js'
import { ListFacts, type Lists } from '../service/lists/list-facts.js'
import { LitigatorCheck } from '../service/lists/litigator-check.js'
import type { ScopeResolver } from '../service/projects/project-scope.js'
import { chooseByAccount, Sandbox } from '../service/sandbox/sandbox.js'
import { readSandboxFile, type SandboxFile } from '../service/sandbox/sandbox-file.js'
import { SandboxLists } from '../service/sandbox/sandbox-lists.js'
import { Scrub } from '../service/scrub/scrub.js'
import { ScrubEvaluator } from '../service/scrub/scrub-evaluator.js'
import type { CallServices } from '../service/service.js'
import { CachedCompliance } from '../sources/cache/cached-compliance.js'
import { EmbeddedCompliance } from '../sources/embedded-compliance.js'
import type { AppContext } from './app-context.js'
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
  return {
    ...openCallData(settings, runtime, {
      lists: openListStore({ folder: getListsFolder(settings) }),
      rules: loadCallingRules(resolveShippedFile(settings.callingHours.rulesFile)),
      sandboxFile: readSandboxFile(resolveShippedFile(settings.sandbox.file)),
    }),
    facts: openFactStore({ folder: getFactsFolder(settings) }),
  }
}

interface CallDataSources<ListSource> {
  readonly lists: ListSource
  readonly rules: CallingRules
  readonly sandboxFile: SandboxFile
}

export function openCallData<ListSource>(
  settings: Settings,
  { clock }: Pick<Runtime, 'clock'>,
  { lists, rules, sandboxFile }: CallDataSources<ListSource>,
): CallData<ListSource> {
  return {
    lists,
    rules,
    listAges: createListAges(settings.lists),
    plan: openNumberingPlan({
      folder: getNumberingFolder(settings),
      unknownPrefix: settings.numbering.unknownPrefix,
    }),
    sandbox: new Sandbox({ file: sandboxFile, clock, at: settings.sandbox.at }),
  }
}

/** The services that decisions depend on. */
export interface DecisionServices extends CallServices {
  readonly evaluator: ScrubEvaluator
  readonly scrub: Scrub
  readonly internalDnc: InternalDnc
  readonly consent: Consent
}

export interface AccountViews {
  readonly real: AccountView
  readonly sandbox: AccountView
}

/** Creates the view shared by all real accounts, and that of the sandbox. */
export function createAccountViews(
  settings: Settings,
  { clock }: Pick<Runtime, 'clock'>,
  data: CallData<Lists & PortedLists>,
): AccountViews {
  const { rules, sandbox: fixedFacts } = data
  const { proclaimedDays, emergencies } = settings.callingHours
  const postalCodes = createPostalCodes()
  const hoursOver = (numberingPlan: NumberingPlan) =>
    new CallingHours({ rules, numberingPlan, postalCodes, proclaimedDays, emergencies })
  const plan = new PortAwarePlan(data.plan, data.lists, {
    isStale: (list) => clock.now() >= data.listAges.computeStaleAt(list),
  })
  const sandboxPlan = fixedFacts.planOver(plan)
  return {
    real: {
      clock,
      numberingPlan: plan,
      hours: hoursOver(plan),
      lists: new ListFacts({ lists: data.lists, ages: data.listAges, clock }),
      fixedFacts: undefined,
    },
    sandbox: {
      clock: fixedFacts.clock,
      numberingPlan: sandboxPlan,
      hours: hoursOver(sandboxPlan),
      lists: new SandboxLists(fixedFacts),
      fixedFacts,
    },
  }
}

interface DecisionServicesDeps
  extends Pick<AppContext, 'storage' | 'accounts' | 'changes' | 'changeHead'> {
  readonly projects: ScopeResolver
  readonly onOptOutEnforced?: InternalDncOptions['onOptOutEnforced']
}

export function createDecisionServices(
  { storage, projects, accounts, changes, changeHead, onOptOutEnforced }: DecisionServicesDeps,
  { rules }: Pick<ReferenceData, 'rules'>,
  views: AccountViews,
): DecisionServices {
  const { numberingPlan, hours: callingHours } = views.real
  const viewOf = chooseByAccount(views)
  const shared = { storage, projects, changes, changeHead, viewOf }
  const internalDnc = new InternalDnc({ ...shared, accounts, onOptOutEnforced })
  const consent = new Consent({ ...shared, internalDnc, law: rules, numberingPlan })
  const scrubDeps = { projects, internalDnc, consent, callingHours, viewOf }
  const postalCodes = createPostalCodes()
  const evaluator = new ScrubEvaluator({ ...scrubDeps, postalCodes, law: rules })
  return {
    timeLegal: new TimeLegalCheck({ projects, viewOf }),
    callTimes: new LegalCallTimes({ projects, viewOf }),
    timeZones: new TimeZoneInfo({ viewOf }),
    evaluator,
    scrub: new Scrub({ ...scrubDeps, evaluator }),
    internalDnc,
    consent,
    consentRecords: new ConsentRecords(shared),
    litigators: new LitigatorCheck(viewOf, projects),
  }
}

interface EmbeddedComplianceDeps {
  readonly account: AccountView
  readonly services: DecisionServices
  readonly metrics: Metrics
}

/** The cached service in this process for the accounts of one view. */
export function createEmbeddedCompliance(
  { settings, runtime, projects }: AppContext,
  { account, services, metrics }: EmbeddedComplianceDeps,
): CachedCompliance {
  const source = new EmbeddedCompliance({
    ...services,
    projects,
    account,
    onError: (question, cause) =>
      runtime.log.error('a question could not be answered', { question, err: cause }),
  })
  return new CachedCompliance(source, {
    settings: { ...settings.gate.cache, refreshAheadMs: 0 },
    staleForMs: { scrub: 0, 'internal-dnc': 0, litigator: 0, 'legal-time': 0 },
    staleAfterMs: Number.POSITIVE_INFINITY,
    timers: runtime.timers,
    dependsOnLegalTimeOptions: true,
    clock: account.clock,
    observer: {
      onLookup: metrics.recordCacheLookup.bind(metrics, 'embedded'),
      onAnswer: metrics.recordSourceRequest.bind(metrics, 'embedded'),
    },
  })
}
