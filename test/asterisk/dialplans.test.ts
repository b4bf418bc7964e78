/** The dialplans that ask over HTTP know the reasons of calls that may be retried, which they have from no program. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createVerdictVariables } from '../../src/asterisk/gate/verdict-variables.js'
import { type ReasonCode, reasonCodes } from '../../src/domain/checks.js'
import type { Decision } from '../../src/domain/decision.js'

/** Answers that are no 200, so that the dialplan sees no line of them. */
const withoutLine: ReadonlySet<ReasonCode> = new Set([
  ...(['overloaded', 'not-recorded', 'invalid-request'] as const),
])

function causeOf(reason: ReasonCode): string | undefined {
  const block = { decision: 'block', reason, number: '', id: '', effects: [], request: {} }
  return createVerdictVariables(block as unknown as Decision, '').CALLGATE_CAUSE
}

const named = /(?<="\$\{CALLGATE_REASON\}" = ")[a-z-]+/g
const alternatives = /(?<=\^\([a-z|-]*)[a-z-]+(?=[a-z|-]*\)\$)/g

describe('a blocked call may be retried for the same reasons as over ARI', () => {
  it.each([
    ['config/asterisk/gate-curl.conf', '?42:21', named],
    ['config/kamailio/callgate.cfg', 'check-unanswered', alternatives],
    ['config/opensips/callgate.cfg', 'check-unanswered', alternatives],
  ])('in %s', (file, mark, reason) => {
    const line = readFileSync(file, 'utf8')
      .split('\n')
      .find((one) => one.includes(mark))
    const expected = reasonCodes.filter((code) => causeOf(code) === '42' && !withoutLine.has(code))
    expect(line?.match(reason)?.sort()).toEqual(expected.toSorted())
  })
})
