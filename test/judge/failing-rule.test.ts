/** A rule, or what it is applied to, that fails: the call is blocked, and nothing is thrown. */
import { describe, expect, it } from 'vitest'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { NumberingPlan } from '../../src/domain/place.js'
import type { ListFacts } from '../../src/service/lists/list-facts.js'
import { fakeCompliance } from '../support/fake-compliance.js'
import { knownFacts, ownGate } from '../support/own-facts.js'
import { areaCodePlan, cleanLists, fakeLists, testScrub } from '../support/scrub-parts.js'
import { testClock } from '../support/test-clock.js'
import { aCall, type TestGateOptions, testGate } from '../support/test-gate.js'

const fail = () => {
  throw new TypeError('nobody thought of this')
}
const windows: NonNullable<TestGateOptions['windows']> = { evaluate: fail, findNextOpening: fail }
const unknown = [
  { check: 'litigator', verdict: 'pass' },
  { check: 'internal-dnc', verdict: 'pass' },
  { check: 'calling-hours', verdict: 'unknown', reason: 'check-unanswered' },
]

describe('hours that cannot be judged', () => {
  it('are unknown by our own facts', async () => {
    const { gate } = ownGate(() => knownFacts(), { windows })
    const decision = await gate.decide(aCall())
    expect(decision).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
    expect(decision.findings.slice(0, 3)).toMatchObject(unknown)
  })

  it('are unknown beside a provider', async () => {
    const own = { ...knownFacts(), permission: 'not-asked' } as const
    const { gate } = testGate(fakeCompliance(), { own, windows })
    const decision = await gate.decide(aCall())
    expect(decision).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
    expect(decision.findings.slice(0, 3)).toMatchObject(unknown)
  })
})

describe('facts that cannot be read', () => {
  const question = { accountId: 'main', number: toPhoneNumber('2127361000') }
  const clock = testClock('2026-11-24T17:00:00Z')

  it('are unknown where the numbering plan fails', () => {
    const plan: NumberingPlan = { ...areaCodePlan, lookup: fail }
    const reader = testScrub({ clock, plan }).createReader()
    expect(() => reader.read(question)).not.toThrow()
  })

  it.each(['checkNational', 'checkState', 'checkLitigator', 'findPortedEvidence'] as const)(
    'are unknown where %s fails',
    (name) => {
      const { createReader, listFacts } = testScrub({ clock, lists: fakeLists(cleanLists) })
      Object.assign(listFacts, { [name]: fail } satisfies Partial<ListFacts>)
      expect(() => createReader().read(question)).not.toThrow()
    },
  )
})
