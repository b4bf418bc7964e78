/** Beside a provider, our own facts only forbid. */
import { expect, it } from 'vitest'
import { judgeCallingHours } from '../../src/judge/rules/calling-hours.js'
import { judgeInternalList } from '../../src/judge/rules/internal-list.js'
import { judgeLitigator } from '../../src/judge/rules/litigator.js'
import { answered, cleanRow } from '../support/fake-compliance.js'
import { aNumberCall, knownFacts } from '../support/own-facts.js'

/** As if they had forbidden the call when the questions were chosen, and permit it now that the answers are there. */
it.each([
  ['hours', judgeCallingHours],
  ['litigator', judgeLitigator],
  [
    'internal list',
    (about: Parameters<typeof judgeCallingHours>[0]) => judgeInternalList(about, () => undefined),
  ],
] as const)('a question about the %s that was not asked is unknown', (_, judge) => {
  const own = { ...knownFacts(), permission: 'not-asked' } as const
  const provider = {
    litigator: undefined,
    internalDnc: undefined,
    legalTime: undefined,
    scrub: answered(cleanRow),
  }
  const about = aNumberCall({ own, provider })
  expect(judge(about)).toMatchObject({ verdict: 'unknown' })
  expect(judge(aNumberCall({ own: knownFacts() }))).toMatchObject({ verdict: 'pass' })
})
