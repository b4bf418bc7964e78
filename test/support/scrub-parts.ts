/** The scrub and what it stands on, over real rules and area codes and lists of a few numbers. */

import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { createListAges, type ListAges } from '../../src/data/number-list/list-ages.js'
import { openNumberingPlan } from '../../src/data/numbering/numbering-plan.js'
import { createPostalCodes } from '../../src/data/postal-codes/postal-codes.js'
import type { ScopeChoice } from '../../src/domain/caller.js'
import { sandboxAccountId } from '../../src/domain/caller.js'
import type { NumberSet } from '../../src/domain/number-set.js'
import type { PhoneNumber } from '../../src/domain/phone-number.js'
import type { NumberFacts, NumberingPlan } from '../../src/domain/place.js'
import type { Clock, Instant } from '../../src/domain/time/clock.js'
import { parseDay } from '../../src/domain/time/dates.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import type { InternalDncEntry } from '../../src/law/records/opt-out.js'
import { CallingHours } from '../../src/service/calling-hours/calling-hours.js'
import { ListFacts, type Lists } from '../../src/service/lists/list-facts.js'
import { noListOwners } from '../../src/service/lists/list-rights.js'
import type { ProjectScope, ScopeResolver } from '../../src/service/projects/project-scope.js'
import { chooseByAccount, Sandbox } from '../../src/service/sandbox/sandbox.js'
import { readSandboxFile } from '../../src/service/sandbox/sandbox-file.js'
import { SandboxLists } from '../../src/service/sandbox/sandbox-lists.js'
import { Scrub } from '../../src/service/scrub/scrub.js'
import { OwnFactsReader } from '../../src/sources/own/read-own-facts.js'
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
  /** Area codes it covers; absent is all. */
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
  return {
    all: () => [...sets.values()],
    needed: new Set(),
    problems: () => problems,
    onChange: () => () => undefined,
  }
}

const noAges = { usDnc: 0, canadaDnc: 0, stateDnc: 0, litigators: 0, ported: 0 }

/** As {@link createListAges}, with limits for the named kinds alone. */
export function agesWith(
  maxAgeDays: Partial<typeof noAges>,
  maxAgeDaysOfState: Readonly<Record<string, number>> = {},
): ListAges {
  const days = { ...noAges, ...maxAgeDays }
  return createListAges({ maxAgeDays: days, maxAgeDaysOfState, warnAtPercent: 80 })
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

function scopeOf(accountId: string, more: Partial<ProjectScope> = {}): ProjectScope {
  return {
    accountId,
    projectCode: accountId,
    campaignId: 1,
    internalDncList: accountId,
    ebrProject: accountId,
    industryExemption: false,
    voipRestricted: false,
    hours: [],
    listOwners: noListOwners,
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
  const entryOf = (accountId: string, list: string, number: PhoneNumber) => {
    const fixed = accountId === sandboxAccountId ? sandbox.internalDncEntry(number) : undefined
    const standing = fixed && { ...fixed, removedAt: null, optedOutAt: fixed.addedAt }
    return entries[`${list} ${number}`] ?? (standing && { ...standing, optedOutSeq: 0 })
  }
  const recordOf = (accountId: string, project: string, number: PhoneNumber) =>
    records[`${project} ${number}`] ??
    (accountId === sandboxAccountId ? sandbox.ebrRecord(number) : undefined)
  return {
    asked,
    internalDnc: {
      findEntry: entryOf,
      async findEntries(accountId: string, list: string, numbers: readonly PhoneNumber[]) {
        asked.entries += 1
        return foundOf(numbers, (number) => entryOf(accountId, list, number))
      },
    },
    ebrRecords: {
      findRecord: recordOf,
      async findRecords(accountId: string, project: string, numbers: readonly PhoneNumber[]) {
        asked.records += 1
        return foundOf(numbers, (number) => recordOf(accountId, project, number))
      },
    },
  }
}

function foundOf<Fact>(
  numbers: readonly PhoneNumber[],
  find: (number: PhoneNumber) => Fact | undefined,
): ReadonlyMap<string, Fact> {
  const found = new Map<string, Fact>()
  for (const number of numbers) {
    const fact = find(number)
    if (fact !== undefined) found.set(number, fact)
  }
  return found
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
  const law = { hours: options.hours ?? hoursOver(plan), law: rules }
  const listFacts = new ListFacts({ lists, ages: options.ages ?? ageless, clock })
  const sandboxLists = new SandboxLists(sandbox)
  const file = fakeFile(options, sandbox)
  const views = {
    real: { ...law, clock, numberingPlan: plan, lists: listFacts, fixedFacts: undefined },
    sandbox: {
      ...law,
      clock: sandbox.clock,
      numberingPlan: sandbox.planOver(plan),
      lists: sandboxLists,
      fixedFacts: sandbox,
    },
  }
  const parts = {
    projects: options.projects ?? fakeProjects(),
    internalDnc: file.internalDnc,
    ebrRecords: file.ebrRecords,
    postalCodes,
  }
  const scrub = new Scrub({ ...parts, viewOf: chooseByAccount(views) })
  /** Of the real accounts, as decisions read their facts. */
  const createReader = (besideProvider = false) =>
    new OwnFactsReader({
      ...parts,
      views,
      kind: 'real',
      besideProvider,
      onError: () => undefined,
    })
  return { scrub, createReader, views, asked: file.asked, sandbox, listFacts, sandboxLists }
}
