/** Rows of laws that ask for a consent: which calls they are for, and which mistakes are refused. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { checkCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { CallToConsent } from '../../src/domain/consent/consent-records.js'
import { CallingRules } from '../../src/law/calling-rules.js'

const raw = parse(readFileSync('config/calling-rules.yaml', 'utf8')) as Record<string, unknown>
const row = {
  id: 'ut-test',
  region: 'UT',
  callKinds: ['ai'],
  liftedBy: ['permission'],
  citation: 'Utah Code 1',
  quote: 'words',
  confidence: 'secondary',
}

const check = (change: object) =>
  checkCallingRules({ ...raw, consentRequired: [{ ...row, ...change }] })

function find(change: object, call: Partial<CallToConsent>, at = '2026-11-23T17:00:00Z') {
  const checked = check(change)
  if (!checked.ok) throw new Error(JSON.stringify(checked.problems))
  const places = [{ region: 'UT', zone: 'America/Denver' }]
  const asked = { callKind: 'ai', purpose: 'telemarketing', number: '2125550100', places, ...call }
  const { requiredConsents } = new CallingRules(checked.document)
  return requiredConsents.find(asked as CallToConsent, Date.parse(at)).map(({ id }) => id)
}

describe('a row', () => {
  const elsewhere = [{ region: 'NY', zone: 'America/New_York' }]
  const both = [...elsewhere, { region: 'UT', zone: 'America/Denver' }]
  const yes = ['ut-test']
  it.each<[string, object, Partial<CallToConsent>, readonly string[]]>([
    ['of its kind', {}, {}, yes],
    ['of another kind', {}, { callKind: 'manual' }, []],
    ['for another purpose', {}, { purpose: 'charity' }, []],
    ['for one of its purposes', { purposes: ['charity'] }, { purpose: 'charity' }, yes],
    ['to another region', {}, { places: elsewhere }, []],
    ['to one of two places', {}, { places: both }, yes],
    ['to a number of the region, elsewhere', {}, { number: '8015550100', places: elsewhere }, []],
    [
      'to a number of the region, which counts',
      { numberCounts: 'area-code' },
      { number: '8015550100', places: elsewhere },
      yes,
    ],
    ['to a number whose place is not known', {}, { number: '8015550100', places: [] }, yes],
    ['to another number without a place', {}, { places: [] }, []],
  ])('is for a call %s, or not', (_, change, call, expected) => {
    expect(find(change, call)).toEqual(expected)
  })

  it('holds from its first to its last local day', () => {
    const dated = { from: '2026-11-23', until: '2026-11-24' }
    // Midnight in Utah is 07:00 UTC.
    const times = [
      '2026-11-23T06:59:59Z',
      '2026-11-23T07:00:00Z',
      '2026-11-25T06:59:59Z',
      '2026-11-25T07:00:00Z',
    ]
    expect(times.map((at) => find(dated, {}, at).length)).toEqual([0, 1, 1, 0])
  })

  it.each([
    [{ liftedBy: ['request'] }, 'consentRequired.0.liftedBy.0'],
    [{ liftedBy: undefined }, 'consentRequired.0.liftedBy'],
    [{ quote: 'x'.repeat(301) }, 'consentRequired.0.quote'],
    [{ quote: '' }, 'consentRequired.0.quote'],
    [{ region: 'ZZ' }, 'consentRequired.0.region'],
    [{ callKinds: [] }, 'consentRequired.0.callKinds'],
    [{ lines: ['pager'] }, 'consentRequired.0.lines.0'],
    [{ from: '2026-11-24', until: '2026-11-23' }, 'consentRequired.0.until'],
    [{ state: 'UT' }, 'consentRequired.0'],
  ])('is refused with %j', (change, field) => {
    const checked = check(change)
    const fields = checked.ok ? [] : checked.problems.map((problem) => problem.field)
    expect(
      fields.some((one) => one.startsWith(field)),
      fields.join(),
    ).toBe(true)
  })
})
