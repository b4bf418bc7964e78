/** Beside a provider, our own facts only forbid. */
import { expect, it } from 'vitest'
import { callingHoursRule } from '../../src/judge/rules/calling-hours.js'
import { internalListRule } from '../../src/judge/rules/internal-list.js'
import { litigatorRule } from '../../src/judge/rules/litigator.js'
import { answered, cleanRow } from '../support/fake-compliance.js'
import { aJudged, knownFacts } from '../support/own-facts.js'

/** As if they had forbidden the call when the questions were chosen, and permit it now that the answers are there. */
it.each([
  ['hours', callingHoursRule],
  ['litigator', litigatorRule],
  ['internal list', internalListRule],
] as const)('a question about the %s that was not asked is unknown', (_, rule) => {
  const own = { ...knownFacts(), permission: 'not-asked' } as const
  const provider = {
    litigator: undefined,
    internalDnc: undefined,
    legalTime: undefined,
    scrub: answered(cleanRow),
  }
  const about = aJudged({ own, provider })
  expect(rule.judge(about)).toMatchObject({ verdict: 'unknown' })
  expect(rule.judge(aJudged({ own: knownFacts() }))).toMatchObject({ verdict: 'pass' })
})
