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
import { InternalDnc } from '../service/internal-dnc/internal-dnc.js'
import { ListFacts } from '../service/lists/list-facts.js'
import { LitigatorCheck } from '../service/lists/litigator-check.js'
import { chooseByAccount, Sandbox } from '../service/sandbox/sandbox.js'
import { readSandboxFile } from '../service/sandbox/sandbox-file.js'
import { SandboxLists } from '../service/sandbox/sandbox-lists.js'
import { Scrub } from '../service/scrub/scrub.js'
import { ScrubEvaluator } from '../service/scrub/scrub-evaluator.js'
import type { CallServices } from '../service/service.js'
import { CachedCompliance } from '../sources/cache/cached-compliance.js'
import { EmbeddedCompliance } from '../sources/embedded-compliance.js'
import type { AppContext } from './app-context.js'
import { getFactsFolder, getListsFolder, getNumberingFolder } from './data-folders.js'

/** Prepared reference data: lists, prefixes, postal codes, law, sandbox facts. */
export interface ReferenceData {
  readonly lists: ListStore
  readonly listAges: ListAges
  readonly plan: ReloadableNumberingPlan
  readonly rules: CallingRules
  readonly sandbox: Sandbox
  /** Imported facts about numbers. */
  readonly facts: FactStore
}

export function openReferenceData(settings: Settings, { clock }: Runtime): ReferenceData {
  assertZoneRulesAreCurrent()
  return {
    lists: openListStore({ folder: getListsFolder(settings) }),
    listAges: createListAges(settings.lists),
    plan: openNumberingPlan({
      folder: getNumberingFolder(settings),
      unknownPrefix: settings.numbering.unknownPrefix,
    }),
    facts: openFactStore({ folder: getFactsFolder(settings) }),
    rules: loadCallingRules(resolveShippedFile(settings.callingHours.rulesFile)),
    sandbox: new Sandbox({
      file: readSandboxFile(resolveShippedFile(settings.sandbox.file)),
      clock,
      at: settings.sandbox.at,
    }),
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
  { settings, runtime: { clock } }: AppContext,
  data: ReferenceData,
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

export function createDecisionServices(
  { storage, projects, accounts, changes, changeHead }: AppContext,
  { rules }: ReferenceData,
  views: AccountViews,
): DecisionServices {
  const { numberingPlan, hours: callingHours } = views.real
  const viewOf = chooseByAccount(views)
  const shared = { storage, projects, changes, changeHead, viewOf }
  const internalDnc = new InternalDnc({ ...shared, accounts })
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
