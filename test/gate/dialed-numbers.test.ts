/** What was dialed: which numbers are looked up, which are not, and which may then be dialed. */
import { describe, expect, it } from 'vitest'
import { replyTo } from '../../src/gate/record/write-record.js'
import { answered, fakeCompliance } from '../support/fake-compliance.js'
import { aCall, testGate } from '../support/test-gate.js'

describe('the number that may be dialed', () => {
  it.each([
    ['+44 20 7183 8750', '+442071838750'],
    ['011 44 20 7183 8750', '011442071838750'],
    ['1911', '1911'],
    ['sip:1-212-555-0100@pbx', '2125550100'],
  ])('is the one judged, where policy lets it pass: %s', async (dialed, dial) => {
    const { gate } = testGate(fakeCompliance(), { settings: { nonNanp: 'allow' } })
    const document = replyTo(await gate.decide(aCall({ dialed })))
    expect(document).toMatchObject({ decision: 'allow', dial })
  })

  it('is in no allow that was withheld', async () => {
    const { gate } = testGate(fakeCompliance(), {
      journal: {
        append: (_, onWritten) => onWritten?.(new Error('disk full')),
        amend: () => undefined,
      },
    })
    const document = replyTo(await gate.decide(aCall()))
    expect(document.reason).toBe('not-recorded')
    expect(document.dial).toBeUndefined()
  })
})

describe('numbers that are not looked up', () => {
  const dialed = [
    ['911', 'allow', 'service-code'],
    ['+911', 'allow', 'service-code'],
    ['1911', 'block', 'extension'],
    ['+1911', 'block', 'invalid-number'],
    ['911;ext=2125550105', 'block', 'invalid-number'],
    ['611@2125550105', 'block', 'invalid-number'],
    ['sip:911@pbx.example', 'allow', 'service-code'],
    ['tel:988', 'allow', 'service-code'],
    ['933', 'allow', 'service-code'],
    ['411', 'allow', 'service-code'],
    ['112', 'allow', 'service-code'],
    ['1001', 'block', 'extension'],
    ['+442071838750', 'block', 'foreign-number'],
    ['+2125550100', 'block', 'invalid-number'],
    ['+0012125550100', 'block', 'invalid-number'],
    ['011442071838750', 'block', 'foreign-number'],
    ['12345678', 'block', 'invalid-number'],
    ['2125550100&5551234', 'block', 'invalid-number'],
    ['"', 'block', 'invalid-number'],
    ['', 'block', 'invalid-number'],
    ['2'.repeat(5000), 'block', 'invalid-number'],
  ] as const
  for (const [text, decision, reason] of dialed) {
    it(`${text.slice(0, 30)} gives ${decision}, ${reason}`, async () => {
      const compliance = fakeCompliance()
      const { gate, recorded } = testGate(compliance, {
        settings: { serviceCodes: new Set(['112']) },
      })
      const made = await gate.decide(aCall({ dialed: text }))
      expect(made).toMatchObject({ decision, reason, findings: [] })
      expect(compliance.asked).toEqual([])
      expect(recorded).toHaveLength(1)
    })
  }

  it('numbers of country code 1 are never foreign, whatever is dialled before them', async () => {
    const { gate } = testGate(
      fakeCompliance({ litigator: () => answered({ isLitigator: true }) }),
      {
        settings: { nonNanp: 'allow' },
      },
    )
    for (const text of ['01112125550100', '0012125550100', '+12125550100']) {
      expect(await gate.decide(aCall({ dialed: text }))).toMatchObject({
        number: '2125550100',
        reason: 'litigator',
      })
    }
    for (const text of ['+2125550100', '+0012125550100', '0111212555010', '011012125550100']) {
      expect(await gate.decide(aCall({ dialed: text }))).toMatchObject({
        decision: 'block',
        reason: 'invalid-number',
        number: '',
      })
    }
  })

  it('extensions and foreign numbers pass where policy says so', async () => {
    const { gate } = testGate(fakeCompliance(), { settings: { nonNanp: 'allow' } })
    for (const text of ['1001', '+442071838750', '011442071838750']) {
      expect(await gate.decide(aCall({ dialed: text }))).toMatchObject({
        decision: 'allow',
        reason: 'policy-allows',
        number: text,
      })
    }
  })
})
