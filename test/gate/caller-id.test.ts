/** What a call shows: which numbers may be shown at all, and what policy makes of the others. */
import { describe, expect, it } from 'vitest'
import { type CallRequest, callKinds } from '../../src/domain/decision.js'
import { answered, fakeCompliance } from '../support/fake-compliance.js'
import { strictPolicy } from '../support/strict-policy.js'
import { aCall, testGate } from '../support/test-gate.js'

const judge = (call: Partial<CallRequest>, more: Parameters<typeof testGate>[1] = {}) =>
  testGate(fakeCompliance(), more).gate.decide(aCall(call))

const pause = { pausedAt: 0, pausedBy: 'operator', because: 'new' }

describe('a caller ID', () => {
  it.each([
    ...['911', '411', '988', '+911', '0000000', '5550199', '212555010', '21255501000'],
    ...['0000000000', '1111111111', '+4721550199', '442079460000', '00442079460000'],
    ...['1125550199', '0125550199', '2121550199', '2120550199', '2119115019', '9112345678'],
    ...['2925550199', '3705550199', '9605550199', '9005550199', '2129760199', '+19005550199'],
    ...['+442079460000', '011442079460000', '"Acme" <2125550199>', '٢١٢٥٥٥٠١٩٩'],
  ])('that nobody can call back blocks the call: %s', async (callerId) => {
    for (const callKind of callKinds) {
      const decision = await judge({ callerId, callKind })
      expect(decision.decision).toBe('block')
      expect(decision.findings.at(-1)).toMatchObject({
        check: 'caller-id',
        verdict: 'deny',
        reason: 'caller-id-invalid',
      })
      expect(decision.nextAllowedAt).toBeUndefined()
    }
  })

  it.each([
    ...['2125550199', '+1 (212) 555-0199', '12125550199', 'tel:+1-212-555-0199', '8005550199'],
    ...[undefined, '', ' ', 'anonymous', 'Restricted', 'sip:anonymous@anonymous.invalid'],
  ])('that may be shown, or is withheld, has no finding: %s', async (callerId) => {
    const decision = await judge({ callerId })
    expect(decision).toMatchObject({ decision: 'allow', reason: 'permitted' })
    expect(decision.findings.some(({ check }) => check === 'caller-id')).toBe(false)
  })

  it.each([
    ...['101', '1', '12', '5551', '999999', '+1302', '*67', ' 100 ', 'alice', 'desk-12'],
    ...['sip:100@pbx.example', 'sip:100@192.0.2.10', 'sip:alice@pbx.example'],
  ])('that is the extension or the name of a telephone is none: %s', async (callerId) => {
    const decision = await judge({ callerId })
    expect(decision).toMatchObject({ decision: 'allow', reason: 'permitted' })
    expect(decision.findings.some(({ check }) => check === 'caller-id')).toBe(false)
  })

  it.each([
    ...[
      ['101', 'permitted'],
      ['alice', 'permitted'],
      ['0000000000', 'caller-id-invalid'],
    ],
    ...[
      ['+442079460000', 'caller-id-invalid'],
      ['911', 'caller-id-invalid'],
      ['9005550199', 'caller-id-invalid'],
    ],
  ])('is judged alike at every door: %s', async (callerId, reason) => {
    for (const via of ['http', 'predial', 'asterisk', 'check'] as const) {
      expect([via, (await judge({ callerId, via })).reason]).toEqual([via, reason])
    }
  })

  it.each(['911', '933', '311'])('never stops a call to %s', async (dialed) => {
    expect(await judge({ dialed, callerId: '911' })).toMatchObject({ reason: 'service-code' })
  })

  it('that nobody can call back is the reason if nothing else blocks the call', async () => {
    expect((await judge({ callerId: '911' })).reason).toBe('caller-id-invalid')
  })

  it('is not waited for', () => {
    const { gate } = testGate(fakeCompliance())
    expect(gate.judge(aCall({ callerId: '911' }))).not.toBeInstanceOf(Promise)
  })

  it('is a lesser reason than a list, and both are on record', async () => {
    const compliance = fakeCompliance({ litigator: () => answered({ isLitigator: true }) })
    const decision = await testGate(compliance).gate.decide(aCall({ callerId: '911' }))
    expect(decision.reason).toBe('litigator')
    expect(decision.findings.at(-1)).toMatchObject({ check: 'caller-id', verdict: 'deny' })
  })
})

describe('a caller ID that may not be shown, in shadow', () => {
  const reported = { decision: 'allow', effects: [{ check: 'caller-id', effect: 'shadowed' }] }

  it('by policy is reported', async () => {
    const policy = { ...strictPolicy, 'caller-id': { mode: 'shadow' } as const }
    expect(await judge({ callerId: '911' }, { policy })).toMatchObject(reported)
  })

  it.each([['caller-id'], ['caller-id', 'attempts']])(
    'for an account, with %s',
    async (...checks) => {
      const pauses = new Map(checks.map((check) => [`check:${check}:main`, pause]))
      const more = { pauses: { read: () => pauses } }
      expect(await judge({ callerId: '911' }, more)).toMatchObject(reported)
      const other = await judge({ callerId: '911', accountId: 'other' }, more)
      expect(other.reason).toBe('caller-id-invalid')
    },
  )

  it.each(['check:attempts:main', 'check:caller-id:other', 'ai'])(
    'for another check or account blocks the call: %s',
    async (subject) => {
      const pauses = { read: () => new Map([[subject, pause]]) }
      expect((await judge({ callerId: '911' }, { pauses })).reason).toBe('caller-id-invalid')
    },
  )
})
