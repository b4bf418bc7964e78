/** The scrub and what it stands on, over real rules and area codes and lists of a few numbers. */
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules.js'
import { type ListAges, listAges } from '../../src/data/number-list/list-ages.js'
import { openNumberingPlan } from '../../src/data/numbering/numbering-plan.js'
import { createPostalCodes } from '../../src/data/postal-codes/postal-codes.js'
import type { ScopeChoice } from '../../src/domain/caller.js'
import { type Clock, type Instant, parseDay } from '../../src/domain/clock.js'
import type { NumberSet } from '../../src/domain/number-set.js'
import type { PhoneNumber } from '../../src/domain/phone-number.js'
import type { NumberFacts, NumberingPlan } from '../../src/domain/place.js'
import { CallingHours } from '../../src/service/calling-hours/calling-hours.js'
import type { EbrRecord } from '../../src/service/consent/consent.js'
import type { InternalDncEntry } from '../../src/service/internal-dnc/internal-dnc.js'
import { ListFacts, type Lists } from '../../src/service/list-facts.js'
import type { ProjectScope } from '../../src/service/projects/project-scope.js'
import type { ScopeResolver } from '../../src/service/projects/projects.js'
import { Sandbox } from '../../src/service/sandbox/sandbox.js'
import { readSandboxFile } from '../../src/service/sandbox/sandbox-file.js'
import { Scrub, type ScrubParts } from '../../src/service/scrub/scrub.js'
import { ScrubJudge } from '../../src/service/scrub/scrub-judge.js'
import { instant } from './test-clock.js'

export const rules = loadCallingRules('config/calling-rules.yaml')
export const sandboxFile = readSandboxFile('config/sandbox.yaml')
export const postalCodes = createPostalCodes()

/** Area codes alone: no list of prefixes is imported. */
export const areaCodePlan: NumberingPlan = openNumberingPlan({
  folder: 'test/no-such-folder',
  unknownPrefix: 'area-code',
})

/** As {@link areaCodePlan}, with some numbers known better. */
export function planWith(
  known: Readonly<Record<string, Partial<NumberFacts & { status: 'ok' }>>>,
): NumberingPlan {
  return {
    lookup(number) {
      const facts = areaCodePlan.lookup(number)
      if (facts.status !== 'ok') return facts
      const originalClass = known[number]?.lineClass ?? facts.originalClass
      return { ...facts, originalClass, ...known[number] }
    },
    coverage: () => areaCodePlan.coverage(),
  }
}

export interface FakeList {
  readonly numbers?: readonly string[]
  /** Area codes it speaks for; absent is all. */
  readonly covers?: readonly string[]
  readonly asOf?: string
  /** Days of some of its numbers. */
  readonly days?: Readonly<Record<string, string>>
}

export function fakeLists(
  lists: Readonly<Record<string, FakeList>>,
  problems: ReturnType<Lists['problems']> = [],
): Lists {
  const sets = new Map<string, NumberSet>()
  for (const [name, list] of Object.entries(lists)) {
    const { numbers = [], covers, asOf = '2026-11-01', days = {} } = list
    sets.set(name, {
      name,
      size: numbers.length,
      version: 'test',
      asOf: instant(asOf),
      has: (number) => numbers.includes(number),
      covers: (number) => covers?.includes(number.slice(0, 3)) ?? true,
      dayOf: (number) => parseDay(days[number] ?? ''),
    })
  }
  return { get: (name) => sets.get(name), problems: () => problems }
}

const noAges = { usDnc: 0, canadaDnc: 0, stateDnc: 0, litigators: 0, ported: 0 }

/** As {@link listAges}, with limits for the named kinds alone. */
export function agesWith(
  maxAgeDays: Partial<typeof noAges>,
  maxAgeDaysOfState: Readonly<Record<string, number>> = {},
): ListAges {
  const days = { ...noAges, ...maxAgeDays }
  return listAges({ maxAgeDays: days, maxAgeDaysOfState, warnAtPercent: 80 })
}

export const ageless = agesWith({})

/** Lists under which any number that is on none of them is clean. */
export const cleanLists = { 'us-dnc': {}, 'canada-dnc': {}, litigators: {} }

export function testSandbox(clock: Clock, at?: Instant): Sandbox {
  return new Sandbox({ file: sandboxFile, clock, at })
}

export function hoursOver(
  numberingPlan: NumberingPlan,
  more: Partial<ConstructorParameters<typeof CallingHours>[0]> = {},
): CallingHours {
  return new CallingHours({
    rules,
    numberingPlan,
    postalCodes,
    proclaimedDays: [],
    emergencies: [],
    ...more,
  })
}

export function scopeOf(accountId: string, more: Partial<ProjectScope> = {}): ProjectScope {
  return {
    accountId,
    projectCode: accountId,
    campaignId: 1,
    internalDncList: accountId,
    ebrProject: accountId,
    industryExemption: false,
    voipRestricted: false,
    hours: [],
    ...more,
  }
}

/** Every account has its Master Project; other projects are as told. */
export function fakeProjects(
  projects: Readonly<Record<string, Partial<ProjectScope>>> = {},
): ScopeResolver {
  return {
    resolve(accountId, { projectId, campaignId }: ScopeChoice = {}) {
      if (campaignId !== undefined && campaignId !== '1') return undefined
      if (projectId === undefined || projectId === '') return scopeOf(accountId)
      const project = projects[projectId]
      return project && scopeOf(accountId, { projectCode: projectId, ...project })
    },
  }
}

export interface OnFile {
  /** By `list number`. */
  readonly entries?: Readonly<Record<string, InternalDncEntry>>
  /** By `project number`. */
  readonly records?: Readonly<Record<string, EbrRecord>>
}

/** Counts how often it is asked; the sandbox's fixed facts come where nothing is on file. */
export function fakeFile({ entries = {}, records = {} }: OnFile, sandbox: Sandbox) {
  const asked = { entries: 0, records: 0 }
  const found = <Fact>(
    numbers: readonly PhoneNumber[],
    find: (number: PhoneNumber) => Fact | undefined,
  ) => new Map(numbers.flatMap((number) => pairOf(number, find(number))))
  return {
    asked,
    internalDnc: {
      async entries(accountId: string, list: string, numbers: readonly PhoneNumber[]) {
        asked.entries += 1
        return found(numbers, (number) => {
          const fixed = sandbox.internalDncEntry(accountId, number)
          const standing = fixed && { ...fixed, removedAt: null, optedOutAt: fixed.addedAt }
          return entries[`${list} ${number}`] ?? (standing && { ...standing, optedOutSeq: 0 })
        })
      },
    },
    consent: {
      async inForce(accountId: string, project: string, numbers: readonly PhoneNumber[]) {
        asked.records += 1
        return found(
          numbers,
          (number) => records[`${project} ${number}`] ?? sandbox.ebrRecord(accountId, number),
        )
      },
    },
  }
}

function pairOf<Fact>(number: PhoneNumber, fact: Fact | undefined): [string, Fact][] {
  return fact === undefined ? [] : [[number, fact]]
}

export interface TestScrubOptions extends OnFile {
  readonly clock: Clock
  readonly sandboxAt?: Instant
  readonly lists?: Lists
  /** Lists have no age unless told otherwise. */
  readonly ages?: ListAges
  readonly plan?: NumberingPlan
  readonly projects?: ScopeResolver
  readonly hours?: CallingHours
}

export function testScrub(options: TestScrubOptions) {
  const { clock, plan = areaCodePlan, lists = fakeLists(cleanLists) } = options
  const sandbox = testSandbox(clock, options.sandboxAt)
  const callingHours = options.hours ?? hoursOver(plan)
  const listFacts = new ListFacts({ lists, ages: options.ages ?? ageless, sandbox, clock })
  const file = fakeFile(options, sandbox)
  const judge = new ScrubJudge({
    ...{ numberingPlan: plan, postalCodes, lists: listFacts },
    ...{ law: rules, callingHours, sandbox },
  })
  const parts: ScrubParts = {
    projects: options.projects ?? fakeProjects(),
    internalDnc: file.internalDnc,
    consent: file.consent,
    judge,
    callingHours,
    clockOf: (accountId) => sandbox.clockOf(accountId),
  }
  return { scrub: new Scrub(parts), asked: file.asked, sandbox, listFacts }
}
