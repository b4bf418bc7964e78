/** The dialplan that asks by HTTP ends a blocked call as the one that is asked over ARI does. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createVerdictVariables } from '../../src/asterisk/gate/verdict-variables.js'
import { type ReasonCode, reasonCodes } from '../../src/domain/checks.js'
import type { Decision } from '../../src/domain/decision.js'

/** Answers that are no 200, so that the dialplan sees no line of them. */
const withoutLine: ReadonlySet<ReasonCode> = new Set([
  ...(['overloaded', 'not-recorded', 'invalid-request'] as const),
])

describe('the cause of a blocked call in gate-curl.conf', () => {
  it('is 42 for the same reasons as over ARI', () => {
    const conf = readFileSync('config/asterisk/gate-curl.conf', 'utf8')
    const line = conf.split('\n').find((one) => one.includes('?42:21'))
    const named = [...(line ?? '').matchAll(/"\$\{CALLGATE_REASON\}" = "([a-z-]+)"/g)]
    const causeOf = (reason: ReasonCode) => {
      const block = { decision: 'block', reason, number: '', id: '', effects: [], request: {} }
      return createVerdictVariables(block as unknown as Decision, '').CALLGATE_CAUSE
    }
    const reasons = reasonCodes.filter(
      (reason) => causeOf(reason) === '42' && !withoutLine.has(reason),
    )
    expect(named.map(([, reason]) => reason).sort()).toEqual(reasons.sort())
  })
})
