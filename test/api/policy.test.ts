/** Policy from the settings to the answer, the record and the metrics of the running program. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DecisionReply } from '../../src/gate/record/decision-document.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate

/** The main account has no lists, so its permission and litigator checks cannot be answered. */
beforeAll(async () => {
  running = await openTestCallgate({
    environment: {
      CALLGATE_POLICY_PERMISSION_MODE: 'shadow',
      CALLGATE_POLICY_LITIGATOR_ON_UNKNOWN: 'allow',
      CALLGATE_POLICY_LITIGATOR_REASON: 'list is being bought; J. Doe',
      CALLGATE_POLICY_LITIGATOR_UNTIL: '2026-11-23T18:00:00Z',
    },
  })
})

afterAll(async () => {
  await running.end()
})

async function decide(number: string, key: string): Promise<DecisionReply> {
  const response = await running.postJson('/v1/decisions', { number, callKind: 'manual' }, key)
  expect(response.status).toBe(200)
  return (await response.json()) as DecisionReply
}

describe('a call that policy lets pass', () => {
  it('is allowed until the end, and answer, record and metrics say by what', async () => {
    running.clock.at = mondayNoon + 3_590_000
    const decision = await decide('2127365000', running.keys.main)
    expect(decision).toMatchObject({
      decision: 'allow',
      reason: 'permitted',
      validUntil: '2026-11-23T18:00:00Z',
      degraded: ['litigator'],
      policy: [
        {
          check: 'litigator',
          effect: 'unknown-allowed',
          because: 'list is being bought; J. Doe',
          until: '2026-11-23T18:00:00Z',
        },
        { check: 'permission', effect: 'shadowed' },
      ],
    })
    expect(decision.message).toContain('permission in shadow')
    const record = await running.get(`/v1/decisions/${decision.id}`, running.keys.main)
    expect(await record.json()).toEqual(decision)
    const metrics = await (await running.get('/metrics')).text()
    expect(metrics).toContain('callgate_degraded_decisions_total{check="litigator"} 1')
    expect(metrics).toContain('callgate_shadowed_decisions_total{check="permission"} 1')
    expect(running.logLines.join('')).toContain('"degraded":["litigator"]')
  })

  it('is blocked from the end on', async () => {
    running.clock.at = mondayNoon + 3_600_000
    expect(await decide('2127365000', running.keys.main)).toMatchObject({
      decision: 'block',
      reason: 'list-missing',
      degraded: [],
    })
  })

  it('passes no deny of a check that is enforced', async () => {
    await running.setBack(mondayNoon)
    expect(await decide('2125550105', running.keys.sandbox)).toMatchObject({
      decision: 'block',
      reason: 'litigator',
      degraded: [],
    })
  })
})
