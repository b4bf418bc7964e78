/** The questions about a call go to the sources of its account, and to no others. */
import { describe, expect, it } from 'vitest'
import { fixedClock } from '../../src/domain/time/clock.js'
import { fakeCompliance, noon } from '../support/fake-compliance.js'
import { aCall, nothingOwn, testGate, withoutReassigned } from '../support/test-gate.js'

describe('the account of a call', () => {
  it('answers all questions itself, the sandbox and real accounts apart', async () => {
    const sandbox = fakeCompliance()
    const real = fakeCompliance()
    const create = (provider: typeof real) => {
      const find = () => {
        provider.asked.push('own')
        return { facts: nothingOwn }
      }
      const sources = { own: { find }, provider }
      return { clock: fixedClock(noon), reassigned: withoutReassigned, sources }
    }
    const accounts = { real: create(real), sandbox: create(sandbox) }
    const { gate } = testGate(fakeCompliance(), { accounts })
    const each = ['own', 'litigator', 'internalDnc', 'legalTime', 'scrub']
    await gate.decide(aCall({ accountId: 'sandbox' }))
    expect([sandbox.asked, real.asked]).toEqual([each, []])
    await gate.decide(aCall({ accountId: 'main' }))
    await gate.decide(aCall({ accountId: 'other' }))
    expect([sandbox.asked, real.asked]).toEqual([each, [...each, ...each]])
  })
})
