/**
 * Recorded decisions judged again from their records: with the same configuration each gives its record
 * byte for byte, and with one rule changed exactly the calls flip that the rule is about.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Configuration } from '../../src/app/configuration.js'
import { readConfiguration } from '../../src/app/read-configuration.js'
import { prepareRules, type Rules, rejudge } from '../../src/commands/rehearse/rejudge.js'
import { parseInstant } from '../../src/domain/time/dates.js'
import type { DecisionDocument, FindingDocument } from '../../src/gate/record/decision-document.js'
import { listRecordedPlaces, readRecord } from '../../src/gate/record/read-record.js'
import { writeDecision } from '../../src/gate/record/write-record.js'
import type { PermissionFacts } from '../../src/judge/facts.js'
import { recordsIn } from '../support/journal.js'
import { shortOrLong } from '../support/long.js'
import {
  type ReplayCalls,
  type ReplayEnvironment,
  recordReplayCalls,
} from '../support/replay-calls.js'

interface Recorded {
  readonly body: string
  readonly document: DecisionDocument
  /** Of the settings that it was decided by. */
  readonly phase: number
}

const count = shortOrLong(2_000, 100_000)
let calls: ReplayCalls
let recorded: readonly Recorded[]

beforeAll(async () => {
  calls = await recordReplayCalls(count, 7)
  const phaseOf = (document: DecisionDocument) => {
    const at = parseInstant(document.decidedAt) ?? 0
    return calls.phases.findLastIndex(({ from }) => from <= at)
  }
  recorded = recordsIn(calls.dataDir)
    .filter(({ kind }) => kind === 'decision')
    .map(({ body }) => {
      const document = readRecord('decision', { body })
      return { body, document, phase: phaseOf(document) }
    })
}, 600_000)

afterAll(async () => {
  await calls.end()
})

/** Reading the rules takes longer than judging a hundred calls by them. */
const configurations = new Map<ReplayEnvironment, Configuration>()

function configure(environment: ReplayEnvironment): Configuration {
  const known = configurations.get(environment)
  if (known) return known
  const { configuration, problems } = readConfiguration({ environment })
  if (!configuration) throw new Error(problems.join())
  configurations.set(environment, configuration)
  return configuration
}

/** One for each phase, each with its configuration changed. */
function prepareAll(
  change: (configuration: Configuration) => Configuration = (same) => same,
): readonly Rules[] {
  return calls.phases.map(({ environment }) => prepareRules(change(configure(environment))))
}

describe('the recorded calls', () => {
  it('are many, of every kind, and with every reason that random facts give', () => {
    expect(recorded).toHaveLength(count)
    const reasons = new Set(recorded.map(({ document }) => document.reason))
    for (const reason of [
      'permitted',
      'litigator',
      'internal-dnc',
      'consent-revoked',
      'national-dnc',
      'wireless-state',
      'list-stale',
      'no-consent',
      'unknown-project',
      'restricted-day',
      'outside-calling-hours',
      'service-code',
      'invalid-number',
      'foreign-number',
      'policy-allows',
      'unknown-prefix',
      'check-unanswered',
    ]) {
      expect(reasons).toContain(reason)
    }
    const effects = recorded.flatMap(({ document }) => document.policy?.map((one) => one.effect))
    expect(new Set(effects)).toEqual(new Set([undefined, 'shadowed', 'unknown-allowed']))
  })
})

/** Of the calls whose decision is another one by the changed configuration. */
function findFlips(change: (configuration: Configuration) => Configuration): readonly string[] {
  const all = prepareAll(change)
  return recorded.flatMap(({ document, phase }) => {
    const found = rejudgeBy(all[phase], document)
    const isFlip = found?.kind === 'judged' && found.decision.decision !== document.decision
    return isFlip ? [document.id] : []
  })
}

/** The clock of another library than the rules use. */
const newYorkHour = new Intl.DateTimeFormat('en', {
  timeZone: 'America/New_York',
  hour: 'numeric',
  hourCycle: 'h23',
})

/** The letter that a permission finding says; empty if it says none. */
function letterOf(finding: Pick<FindingDocument, 'says'> | undefined): string {
  const said = finding?.says.find(({ code }) => code === 'scrub-letter')
  return typeof said?.params?.letter === 'string' ? said.params.letter : ''
}

/** The permission finding as the record has it, and the facts that it rests on if the number is in service. */
function permissionOf({ document }: Recorded): {
  readonly letter: string
  readonly facts: PermissionFacts | undefined
} {
  const found = document.findings.find(({ check }) => check === 'permission')
  const permission = document.facts?.own?.permission
  const known = permission === 'not-asked' ? undefined : permission?.value
  return { letter: letterOf(found), facts: known?.lists && known }
}

function rejudgeBy(rules: Rules | undefined, document: DecisionDocument) {
  if (rules === undefined) throw new Error(`no settings at ${document.decidedAt}`)
  return rejudge(rules, document)
}

/** The second policy has the check in shadow, the last one the sandbox. */
function isAllowedByPermission({ document, phase }: Recorded): boolean {
  const isShadowed = phase === 1 || (phase === 3 && document.accountId === 'sandbox')
  return document.decision === 'allow' && !isShadowed
}

/** The check that is in shadow also says whether the permission overrides an opt-out, which is not in shadow. */
function liftsOptOutInShadow({ document, phase }: Recorded): boolean {
  const entry = document.findings.find(({ check }) => check === 'internal-dnc')
  const own = document.facts?.own?.entry
  const isListed = own !== undefined && own !== 'not-asked' && own.value?.removedAt === null
  const isLifted = entry?.verdict === 'pass' && isListed
  return phase === 1 && document.decision === 'allow' && isLifted
}

const lettersWithoutSale: Readonly<Record<string, string>> = {
  E: 'R',
  G: 'W',
  F: 'L',
  O: 'D',
  H: 'D',
  V: 'D',
}

const otherPostalCodes: ReadonlySet<string> = new Set(['35203', '90210', 'T2P 1J9'])

describe('with one rule changed', () => {
  it('blocks the calls of the last hour when the window of a state ends an hour earlier', () => {
    const expected = recorded
      .filter(({ document, phase }) => {
        const { decision, accountId, projectId, postalCode = '', callKind } = document
        // A postal code whose place is known replaces the place of the number for a person's call.
        const isReplaced = callKind === 'manual' && otherPostalCodes.has(postalCode)
        const isOfNumber = document.number.startsWith('212') && !isReplaced
        const isInNewYork = postalCode === '10001' || isOfNumber
        // The last policy has the sandbox in shadow, and lets the project's hours go beyond the law.
        const isByState = phase < 3 || (projectId !== 'HOURS' && accountId !== 'sandbox')
        const isLate = newYorkHour.format(new Date(document.judgedAt)) === '20'
        // An emergency number is not.
        const isChecked = document.findings.length > 0
        return decision === 'allow' && isChecked && isInNewYork && isByState && isLate
      })
      .map(({ document }) => document.id)
    const flips = findFlips(({ rules, ...more }) => {
      const changed = structuredClone(rules) as { regions: Record<string, { hours?: object }> }
      const closing = { start: 8 * 3_600, end: 20 * 3_600 }
      const state = changed.regions.NY
      if (state) state.hours = { monFri: closing, sat: closing, sun: closing }
      return { ...more, rules: changed as typeof rules }
    })
    expect(flips).toEqual(expected)
    expect(expected.length).toBeGreaterThan(0)
  })

  it('blocks calls to mobile numbers when a state comes to ban them', () => {
    const expected = recorded
      .filter((one) => {
        const { letter, facts } = permissionOf(one)
        const { number } = one.document.facts?.own ?? {}
        const line = number?.status === 'ok' ? number.lineClass : 'wireless'
        const isMobile = line !== 'wireline' && (line !== 'voip' || facts?.voipRestricted)
        const isInNewYork = listRecordedPlaces(one.document).some(({ region }) => region === 'NY')
        const isBanned = isInNewYork && isMobile && /[WGHY]/.test(letter)
        return isBanned && (isAllowedByPermission(one) || liftsOptOutInShadow(one))
      })
      .map(({ document }) => document.id)
    const flips = findFlips(({ rules, ...more }) => {
      const { NY: state, ...others } = rules.regions
      if (state === undefined) throw new Error('the rules have no New York')
      const banned = { ...state, wirelessProhibited: [{ citation: 'a new law' }] }
      return {
        ...more,
        rules: { ...rules, regions: { ...others, NY: banned as unknown as typeof state } },
      }
    })
    expect(flips.toSorted()).toEqual(expected.toSorted())
    expect(expected.length).toBeGreaterThan(0)
  })

  it('finds the other letter where a sale or an inquiry no longer exempts', () => {
    const none = [{ S: 0, I: 0, obligationExempts: false }]
    const all = prepareAll(({ rules, ...more }) => {
      const { US, CA } = rules.baselines
      const regions = Object.entries(rules.regions).map(([code, { ebr, ...region }]) => [
        code,
        region,
      ])
      const baselines = { US: { ...US, ebr: none }, CA: { ...CA, ebr: none } }
      return { ...more, rules: { ...rules, baselines, regions: Object.fromEntries(regions) } }
    })
    const seen: Record<string, number> = {}
    for (const one of recorded) {
      const { letter, facts } = permissionOf(one)
      const found = rejudgeBy(all[one.phase], one.document)
      if (found?.kind !== 'judged' || facts === undefined) continue
      const isEnded = /[SI]/.test(facts.record?.type ?? '') && facts.record?.isFixed !== true
      const expected = (isEnded && lettersWithoutSale[letter]) || letter
      const now = found.decision.findings.find(({ check }) => check === 'permission')
      const isExempt = facts.industryExemption === true && expected === 'D'
      if (!isExempt) expect(letterOf(now), one.body).toBe(expected)
      if (isEnded) seen[letter] = (seen[letter] ?? 0) + 1
    }
    expect(seen).toMatchObject({ G: expect.any(Number), H: expect.any(Number) })
  })

  it('allows what a policy that only measures would let pass', () => {
    const expected = recorded
      .filter(({ document }) => document.decision === 'block' && document.findings.length > 0)
      .map(({ document }) => document.id)
    const flips = findFlips(({ settings, ...more }) => ({
      ...more,
      settings: {
        ...settings,
        gate: { ...settings.gate, shadow: { ...settings.gate.shadow, all: true } },
      },
    }))
    expect(flips).toEqual(expected)
  })
})

describe('rejudging', () => {
  it(`gives each of ${count} records byte for byte`, () => {
    const all = prepareAll()
    const wrong: unknown[] = []
    let judged = 0
    for (const { body, document, phase } of recorded) {
      const found = rejudgeBy(all[phase], document)
      if (found?.kind !== 'judged') {
        if (found?.kind !== 'by-gate') wrong.push([found, body])
        continue
      }
      judged += 1
      const text = writeDecision(found.decision)
      if (text !== body) wrong.push([text, body])
    }
    expect(wrong.slice(0, 1)).toEqual([])
    expect(judged).toBeGreaterThan(count * 0.95)
  })
})
