/** The questions about a call go to the source of its account, and to no other. */
import { describe, expect, it } from 'vitest'
import { fixedClock } from '../../src/domain/time/clock.js'
import { fakeCompliance, noon } from '../support/fake-compliance.js'
import { aCall, testGate, withoutReassigned } from '../support/test-gate.js'

describe('the account of a call', () => {
  it('answers all four questions itself, the sandbox and real accounts apart', async () => {
    const sandbox = fakeCompliance()
    const real = fakeCompliance()
    const shared = { clock: fixedClock(noon), reassigned: withoutReassigned }
    const accounts = {
      real: { ...shared, compliance: real },
      sandbox: { ...shared, compliance: sandbox },
    }
    const { gate } = testGate(fakeCompliance(), { accounts })
    const each = ['litigator', 'internalDnc', 'legalTime', 'scrub']
    await gate.decide(aCall({ accountId: 'sandbox' }))
    expect([sandbox.asked, real.asked]).toEqual([each, []])
    await gate.decide(aCall({ accountId: 'main' }))
    await gate.decide(aCall({ accountId: 'other' }))
    expect([sandbox.asked, real.asked]).toEqual([each, [...each, ...each]])
  })
})
