/** What policy makes of a provider that does not answer, in answers, records, headers and metrics. */
import { describe, expect, it } from 'vitest'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import {
  findingOf,
  ofEachQuestion,
  type RemoteCallgate,
  withRemoteCallgate,
} from '../../support/remote-callgate.js'
import { mondayNoon } from '../../support/test-callgate.js'

const provider = { ...ofEachQuestion('DEADLINE_MS', '400'), RETRIES: '0' }

/** Of four checks at once: the end of a variable -> its value. */
function policy(settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const checks = ['LITIGATOR', 'INTERNAL_DNC', 'PERMISSION', 'CALLING_HOURS']
  const variables = checks.flatMap((check) =>
    Object.entries(settings).map(([name, value]) => [`CALLGATE_POLICY_${check}_${name}`, value]),
  )
  return Object.fromEntries(variables) as Readonly<Record<string, string>>
}

const untilOne = '2026-11-23T18:00:00Z'
const permissionMayBeUnknown = {
  CALLGATE_POLICY_PERMISSION_ON_UNKNOWN: 'allow',
  CALLGATE_POLICY_PERMISSION_REASON: 'vendor outage; J. Doe',
  CALLGATE_POLICY_PERMISSION_UNTIL: untilOne,
}

async function recordOf(remote: RemoteCallgate, { id }: DecisionDocument): Promise<unknown> {
  return (await remote.get(`/v1/decisions/${id}`, remote.keys.main)).json()
}

describe('an unknown that policy lets pass', () => {
  it('is shown in the answer, the record, the header and the metrics', async () => {
    const environment = permissionMayBeUnknown
    await withRemoteCallgate({ provider, environment }, async (remote) => {
      remote.vendor.setFault('scrub', { kind: 'silent' })
      const decision = await remote.decide('2127360001')
      expect(decision).toMatchObject({
        decision: 'allow',
        reason: 'permitted',
        degraded: ['permission'],
        policy: [
          {
            check: 'permission',
            effect: 'unknown-allowed',
            because: 'vendor outage; J. Doe',
            until: untilOne,
          },
        ],
      })
      expect(findingOf(decision, 'permission')).toMatchObject({
        verdict: 'unknown',
        source: 'acme',
      })
      expect(await recordOf(remote, decision)).toEqual(decision)
      const predial = await remote.get(
        '/v1/predial?number=2127360002&kind=manual',
        remote.keys.main,
      )
      expect(await predial.text()).toMatch(/^allow:2127360002:/)
      expect(predial.headers.get('x-callgate-degraded')).toBe('permission')
      expect(await remote.metrics()).toContain(
        'callgate_degraded_decisions_total{check="permission"} 2',
      )
    })
  })

  it.each([
    ['a deny of another check', '2125550105', 'litigator', 0],
    ['an entry of the internal list', '2125550104', 'internal-dnc', 0],
    ['the end of what was answered for', '2127360003', 'check-unanswered', 3_600_000],
  ])('does not outweigh %s', async (_name, number, reason, later) => {
    const environment = permissionMayBeUnknown
    await withRemoteCallgate({ provider, environment }, async (remote) => {
      remote.vendor.setFault('scrub', { kind: 'silent' })
      remote.clock.at = mondayNoon + later
      expect(await remote.decide(number)).toMatchObject({
        decision: 'block',
        reason,
        degraded: [],
      })
    })
  })

  it('does not speak for the other checks', async () => {
    const environment = permissionMayBeUnknown
    await withRemoteCallgate({ provider, environment }, async (remote) => {
      remote.vendor.setFault('all', { kind: 'login-page' })
      expect((await remote.decide('2127360004')).reason).toBe('check-unanswered')
    })
  })
})

describe('a check in shadow', () => {
  it.each([
    ['a no', '2125550103', undefined, 'result D'],
    ['an unknown', '2127360001', 'silent', 'no answer within 400 ms'],
  ] as const)('is recorded with %s of the provider, and blocks nothing', async (...row) => {
    const [, number, fault, because] = row
    const environment = { CALLGATE_POLICY_PERMISSION_MODE: 'shadow' }
    await withRemoteCallgate({ provider, environment }, async (remote) => {
      if (fault) remote.vendor.setFault('scrub', { kind: fault })
      const decision = await remote.decide(number)
      expect(decision).toMatchObject({
        decision: 'allow',
        degraded: [],
        policy: [
          {
            check: 'permission',
            effect: 'shadowed',
            because: expect.stringContaining(because),
          },
        ],
      })
      expect(await recordOf(remote, decision)).toEqual(decision)
      expect(await remote.metrics()).toContain(
        'callgate_shadowed_decisions_total{check="permission"} 1',
      )
    })
  })
})

describe('an answer past its age', () => {
  const stale = { provider, environment: policy({ STALE_FOR_MS: '3600000' }) }
  const minutes = (count: number) => mondayNoon + count * 60_000

  it('still permits while the vendor is silent, and tells its age', async () => {
    await withRemoteCallgate(stale, async (remote) => {
      const number = '2127360001'
      expect((await remote.decide(number)).degraded).toEqual([])
      remote.vendor.setFault('all', { kind: 'silent' })
      remote.clock.at = minutes(30)
      const decision = await remote.decide(number)
      expect(decision).toMatchObject({ decision: 'allow', reason: 'permitted' })
      const checks = ['litigator', 'internal-dnc', 'permission', 'calling-hours']
      expect([...decision.degraded].sort()).toEqual([...checks].sort())
      for (const check of checks) {
        expect(findingOf(decision, check), check).toMatchObject({
          verdict: 'pass',
          stale: true,
          ageMs: 1_800_000,
          detail: expect.stringContaining('acme gives no newer answer: '),
        })
      }
      expect(await recordOf(remote, decision)).toEqual(decision)
      const metrics = await remote.metrics()
      expect(metrics).toContain(
        'callgate_cache_requests_total{source="remote",question="scrub",result="stale"} 1',
      )
    })
  })

  it.each([
    ['past the age that policy gives it', stale.environment, 70],
    ['past its age without a policy', {}, 6],
  ])('is unknown %s', async (_name, environment, later) => {
    await withRemoteCallgate({ provider, environment }, async (remote) => {
      expect((await remote.decide('2127360001')).reason).toBe('permitted')
      remote.vendor.setFault('all', { kind: 'silent' })
      remote.clock.at = minutes(later)
      expect((await remote.decide('2127360001')).reason).toBe('check-unanswered')
    })
  })

  it.each([
    ['2125550103', 'national-dnc'],
    ['2125550104', 'internal-dnc'],
    ['2125550105', 'litigator'],
  ])('still forbids while the vendor is silent: %s %s', async (number, reason) => {
    await withRemoteCallgate({ provider }, async (remote) => {
      expect((await remote.decide(number)).reason).toBe(reason)
      remote.vendor.setFault('all', { kind: 'silent' })
      remote.clock.at = minutes(120)
      expect((await remote.decide(number)).reason).toBe(reason)
    })
  })

  it('is not used past the end of the calling window', async () => {
    const at = Date.UTC(2026, 10, 24, 1, 50)
    await withRemoteCallgate({ ...stale, at }, async (remote) => {
      expect((await remote.decide('2127360001')).reason).toBe('permitted')
      remote.vendor.setFault('all', { kind: 'silent' })
      remote.clock.at = Date.UTC(2026, 10, 24, 2)
      expect(await remote.decide('2127360001')).toMatchObject({ decision: 'block' })
    })
  })

  it('gives way to the answer of a vendor that is back', async () => {
    await withRemoteCallgate(stale, async (remote) => {
      const number = '2127360001'
      await remote.decide(number)
      remote.vendor.setFault('all', { kind: 'server-error' })
      remote.clock.at = minutes(30)
      expect((await remote.decide(number)).degraded).toHaveLength(4)
      remote.vendor.reset()
      const degraded = async () => (await remote.decide(number)).degraded
      await expect.poll(degraded).toEqual([])
    })
  })
})
