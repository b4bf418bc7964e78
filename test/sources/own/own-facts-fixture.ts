/** What is stored and imported here, from plain values, and what the rules say by it. */
import type { Question } from '../../../src/domain/compliance.js'
import {
  type CallKind,
  type CallPurpose,
  type CheckName,
  type Finding,
  telemarketing,
} from '../../../src/domain/decision.js'
import type { Instant } from '../../../src/domain/time/clock.js'
import type { Sources } from '../../../src/judge/facts.js'
import type { Judged, JudgeSettings } from '../../../src/judge/judged.js'
import type { InternalDncEntry } from '../../../src/law/records/opt-out.js'
import { type OwnFactsDeps, OwnFactsSource } from '../../../src/sources/own/own-facts.js'
import { OwnFactsReader, type ReaderDeps } from '../../../src/sources/own/read-own-facts.js'
import { aJudged, judgeNumberRules } from '../../support/own-facts.js'
import {
  areaCodePlan,
  fakeFile,
  fakeProjects,
  hoursOver,
  postalCodes,
  rules,
  type TestScrubOptions,
  testSandbox,
  testScrub,
} from '../../support/scrub-parts.js'
import { virtualTime } from '../../support/virtual-time.js'

const { windows } = hoursOver(areaCodePlan)

export interface JudgedAs {
  readonly callKind?: CallKind | undefined
  readonly stated?: CallPurpose
  readonly settings?: Partial<JudgeSettings> | undefined
  /** When the facts were read, unless told otherwise. */
  readonly now?: Instant
}

export function createJudged(
  question: Question,
  sources: Sources,
  { callKind = 'manual', stated, settings, now = sources.own.asOf }: JudgedAs = {},
): Judged {
  const { number, at = now, ...scope } = question
  return aJudged({
    law: rules,
    windows,
    settings: settings ?? {},
    call: { ...scope, dialed: number, callKind, via: 'http' },
    stated,
    purpose: stated ? rules.purposes.find(stated) : telemarketing,
    at,
    now,
    ...sources,
  })
}

/** The findings by their check, and our own row. */
export function judgeSources(question: Question, sources: Sources, as?: JudgedAs) {
  const about = createJudged(question, sources, as)
  const findings = judgeNumberRules(about)
  const { row } = about.derived
  const find = (check: CheckName): Finding => {
    const found = findings.find((one) => one.check === check)
    if (found === undefined) throw new TypeError(`there is no finding of ${check}`)
    return found
  }
  return {
    litigator: find('litigator'),
    internalDnc: find('internal-dnc'),
    legalTime: find('calling-hours'),
    permission: find('permission'),
    row,
  }
}

/** An opt-out that stands. */
export function entryOf(at: Instant): InternalDncEntry {
  return { addedAt: at, removedAt: null, optedOutAt: at, optedOutSeq: 1 }
}

export interface ReaderOptions
  extends TestScrubOptions,
    Partial<Pick<ReaderDeps, 'internalDnc' | 'ebrRecords'>> {
  readonly besideProvider?: boolean
}

/** A reader for real accounts; `errors` has what it reports. */
export function openReader({ besideProvider = false, ...options }: ReaderOptions) {
  const { views, sandbox } = testScrub(options)
  const file = fakeFile(options, sandbox)
  const errors: string[] = []
  const reader = new OwnFactsReader({
    internalDnc: options.internalDnc ?? file.internalDnc,
    ebrRecords: options.ebrRecords ?? file.ebrRecords,
    projects: options.projects ?? fakeProjects(),
    postalCodes,
    views,
    kind: 'real',
    besideProvider,
    onError: (cause) => errors.push(String(cause)),
  })
  return { reader, errors }
}

export const allowMs = 300_000

export interface SourceOptions extends Partial<ReaderOptions> {
  readonly settings?: Partial<OwnFactsDeps['settings']>
}

/** A source in time that passes when the test says so, over a file whose answers a test may replace. */
export function openSource({ settings, clock: ofAccount, ...options }: SourceOptions = {}) {
  const time = virtualTime()
  const clock = ofAccount ?? time
  const file = fakeFile(options, testSandbox(clock))
  const stored: StoredFacts = {
    findEntry: file.internalDnc.findEntry,
    findRecord: file.ebrRecords.findRecord,
  }
  const asked: string[] = []
  const { reader, errors } = openReader({
    clock,
    internalDnc: {
      findEntry: (...about) => {
        asked.push(`entry of ${about[1]}`)
        return stored.findEntry(...about)
      },
    },
    ebrRecords: {
      findRecord: (...about) => {
        asked.push(`record of ${about[1]}`)
        return stored.findRecord(...about)
      },
    },
    ...options,
  })
  const seen: string[] = []
  const read: string[] = []
  const own = new OwnFactsSource({
    reader,
    settings: { maxEntries: 1_000, allowMs, blockMs: allowMs, ...settings },
    timers: time,
    observer: {
      countLookup: (result) => void seen.push(result),
      onRead: (outcome) => void read.push(outcome),
    },
  })
  return { own, reader, stored, time, asked, seen, read, errors }
}

/** What stands in for the database. */
interface StoredFacts {
  findEntry: ReaderDeps['internalDnc']['findEntry']
  findRecord: ReaderDeps['ebrRecords']['findRecord']
}

/** Answers when the test says so. */
export function held<Value>() {
  const waiting: { resolve(value: Value): void; reject(cause: Error): void }[] = []
  return {
    wait: () => new Promise<Value>((resolve, reject) => waiting.push({ resolve, reject })),
    answer: (value: Value) => waiting.shift()?.resolve(value),
    fail: () => waiting.shift()?.reject(new Error('the database is away')),
  }
}
