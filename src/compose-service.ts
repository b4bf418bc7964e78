/** Builds the service in this process: reference data, subjects, and the source over them. */
import { type Foundation, mainAccountId } from './compose-foundation.js'
import type { Settings } from './config.js'
import { type CallingRules, loadCallingRules } from './data/calling-rules/calling-rules.js'
import { type FactStore, openFactStore } from './data/facts/fact-store.js'
import { type ListAges, listAges } from './data/number-list/list-ages.js'
import { type ListStore, openListStore } from './data/number-list/list-store.js'
import { openNumberingPlan, type ReloadableNumberingPlan } from './data/numbering/numbering-plan.js'
import { portAware } from './data/numbering/ported-plan.js'
import { createPostalCodes } from './data/postal-codes/postal-codes.js'
import { factsFolder, listsFolder, numberingFolder } from './data-folders.js'
import { assertZoneRulesAreCurrent } from './domain/zones.js'
import { shippedOr } from './load-settings.js'
import type { Metrics } from './metrics.js'
import { LegalCallTimes } from './service/calling-hours/call-times-batch.js'
import { CallingHours } from './service/calling-hours/calling-hours.js'
import { TimeLegal } from './service/calling-hours/time-legal-batch.js'
import { TimeZoneInfo } from './service/calling-hours/time-zone-info.js'
import { Consent } from './service/consent/consent.js'
import { ConsentRecords } from './service/consent/consent-records.js'
import { InternalDnc } from './service/internal-dnc/internal-dnc.js'
import { ListFacts } from './service/list-facts.js'
import { Litigators } from './service/litigator.js'
import { Sandbox, sandboxAccountId } from './service/sandbox/sandbox.js'
import { readSandboxFile } from './service/sandbox/sandbox-file.js'
import { Scrub } from './service/scrub/scrub.js'
import { ScrubJudge } from './service/scrub/scrub-judge.js'
import type { CallSubjects } from './service/service.js'
import { CachedCompliance } from './sources/cached.js'
import { Embedded } from './sources/embedded.js'
import type { World } from './world.js'

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

export function openReferenceData(settings: Settings, { clock }: World): ReferenceData {
  assertZoneRulesAreCurrent()
  return {
    lists: openListStore({ folder: listsFolder(settings) }),
    listAges: listAges(settings.lists),
    plan: openNumberingPlan({
      folder: numberingFolder(settings),
      unknownPrefix: settings.numbering.unknownPrefix,
    }),
    facts: openFactStore({ folder: factsFolder(settings) }),
    rules: loadCallingRules(shippedOr(settings.callingHours.rulesFile)),
    sandbox: new Sandbox({
      file: readSandboxFile(shippedOr(settings.sandbox.file)),
      clock,
      at: settings.sandbox.at,
    }),
  }
}

/** What decides calls: the service's own lists, records and rules. */
export interface Subjects extends CallSubjects {
  readonly scrub: Scrub
  readonly internalDnc: InternalDnc
  readonly consent: Consent
  readonly lists: ListFacts
  readonly hoursOf: (accountId: string) => CallingHours
}

export function createSubjects(foundation: Foundation, data: ReferenceData): Subjects {
  const { settings, storage, projects, accounts, changes } = foundation
  const { rules, sandbox } = data
  const plan = portAware(data.plan, data.lists, {
    isStale: (list) => foundation.world.clock.now() >= data.listAges.staleAt(list),
  })
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
  const { changeHead } = foundation
  const shared = { storage, projects, changes, changeHead, clockOf, overlay: sandbox }
  const internalDnc = new InternalDnc({ ...shared, accounts })
  const consent = new Consent({ ...shared, internalDnc, law: rules, numberingPlan: plan })
  const { clock } = foundation.world
  const lists = new ListFacts({ lists: data.lists, ages: data.listAges, sandbox, clock })
  const judge = new ScrubJudge({
    numberingPlan: plan,
    postalCodes,
    lists,
    law: rules,
    callingHours: realHours,
    sandbox,
  })
  return {
    timeLegal: new TimeLegal({ projects, clockOf, hoursOf }),
    callTimes: new LegalCallTimes({ projects, clockOf, hoursOf }),
    timeZones: new TimeZoneInfo({ clockOf, hoursOf }),
    scrub: new Scrub({ projects, internalDnc, consent, judge, callingHours: realHours, clockOf }),
    internalDnc,
    consent,
    consentRecords: new ConsentRecords(shared),
    litigators: new Litigators(lists, projects),
    lists,
    hoursOf,
  }
}

interface OwnParts {
  readonly subjects: Subjects
  readonly metrics: Metrics
}

export function createOwnCompliance(
  { settings, world, projects }: Foundation,
  { sandbox }: ReferenceData,
  { subjects, metrics }: OwnParts,
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
    settings: { ...settings.gate.cache, refreshAheadMs: 0 },
    staleForMs: { scrub: 0, 'internal-dnc': 0, litigator: 0, 'legal-time': 0 },
    staleAfterMs: Number.POSITIVE_INFINITY,
    timers: world.timers,
    standardsMatter: true,
    clockOf,
    watch: {
      asked: (question, result) => metrics.cacheAsked('embedded', question, result),
      answered: (question, outcome, seconds) =>
        metrics.sourceAsked({ source: 'embedded', question, outcome, seconds }),
    },
  })
}
