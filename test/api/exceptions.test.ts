/** Exceptions of the calling rules that an operator uses: what a relationship on file lifts, and what it never lifts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfiguration } from '../../src/app/read-configuration.js'
import type { DecisionReply } from '../../src/gate/record/decision-document.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const decided = { decidedBy: 'J. Doe, counsel', on: '2026-11-01' }
const inUse = [
  { id: 'or-customer', account: 'sandbox', ...decided },
  { id: 'ut-consent', ...decided, on: '2026-11-22' },
]

let using: TestCallgate
let notUsing: TestCallgate

const open = (exceptions: readonly object[]) =>
  openTestCallgate({ environment: { CALLGATE_GATE_EXCEPTIONS: JSON.stringify(exceptions) } })

beforeAll(async () => {
  using = await open(inUse)
  // Those of another account, of a later day, and of another project are not used either.
  notUsing = await open([
    { id: 'or-customer', ...decided, account: 'main' },
    { id: 'or-customer', ...decided, on: '2027-01-01' },
    { id: 'ut-consent', ...decided, project: 'SALES' },
  ])
})

afterAll(async () => {
  await using.end()
  await notUsing.end()
})

async function decide(
  { postJson }: TestCallgate,
  body: Record<string, unknown>,
): Promise<DecisionReply> {
  const response = await postJson('/v1/decisions', { callKind: 'manual', ...body })
  expect(response.status).toBe(200)
  return (await response.json()) as DecisionReply
}

const findingOf = ({ findings }: DecisionReply, name: string) =>
  findings.find(({ check }) => check === name)

// Each line is of the sandbox: 0100 has no record, 0106 a permission, 0109 and 0110 a sale of 30 days ago.
const oregon = '503555'
const utah = '801555'
const at2030 = '2026-11-24T04:30:00Z'
const sunday = '2026-11-22T18:00:00Z'
const thanksgiving = '2026-11-26T18:00:00Z'

describe('hours', () => {
  it.each([
    ['a sale, at 20:30 in Oregon', `${oregon}0109`, at2030, 'or-customer (ORS 646.563(1)(b)'],
    ['a sale to a mobile number', `${oregon}0110`, at2030, 'or-customer (ORS 646.563(1)(b)'],
    ['a consent, on a Sunday in Utah', `${utah}0106`, sunday, 'ut-consent (Utah Code 13-25a-103'],
    ['a consent, on Thanksgiving in Utah', `${utah}0106`, thanksgiving, 'ut-consent (Utah Code'],
  ])('are lifted by %s, if the exception is used', async (_, number, at, exception) => {
    const lifted = await decide(using, { number, at })
    expect(lifted).toMatchObject({ decision: 'allow', reason: 'permitted' })
    const { detail, verdict } = findingOf(lifted, 'calling-hours') ?? {}
    expect(verdict).toBe('pass')
    expect(detail).toContain('federal rule: 47 CFR 64.1200(c)(1)')
    expect(detail).toContain(`exception ${exception}`)
    expect(detail).toMatch(/by the (sale|permission) of 2026-.*, decided by J\. Doe, counsel$/)
    expect(await decide(notUsing, { number, at })).toMatchObject({ decision: 'block' })
  })

  it('fall back to those of the country, never to none', async () => {
    const at = '2026-11-24T05:30:00Z'
    const late = await decide(using, { number: `${oregon}0109`, at })
    expect(late).toMatchObject({
      reason: 'outside-calling-hours',
      nextAllowedAt: '2026-11-24T16:00:00Z',
    })
    expect(findingOf(late, 'calling-hours')?.detail).toContain('calls 08:00-21:00; federal rule')
  })

  it.each([
    ['without a record', `${oregon}0100`, at2030, 'manual', 'outside-calling-hours'],
    ['to a number on the internal list', `${oregon}0104`, at2030, 'manual', 'internal-dnc'],
    ['to a litigator', `${oregon}0105`, at2030, 'manual', 'litigator'],
    ['with a revoked consent', `${utah}0111`, sunday, 'manual', 'consent-revoked'],
    [
      'by a sale, where only a consent lifts',
      `${utah}0109`,
      sunday,
      'manual',
      'outside-calling-hours',
    ],
    [
      'by a consent, where only a sale lifts',
      `${oregon}0106`,
      at2030,
      'manual',
      'outside-calling-hours',
    ],
    ['of an AI agent without consent', `${oregon}0109`, at2030, 'ai', 'no-consent'],
    // The window of recorded voices is another rule.
    ['of an AI agent on a Sunday in Utah', `${utah}0106`, sunday, 'ai', 'outside-calling-hours'],
    [
      'in a state without the exception',
      '3055550109',
      '2026-11-24T01:30:00Z',
      'manual',
      'outside-calling-hours',
    ],
    [
      'on a Sunday before it is used',
      `${utah}0106`,
      '2026-11-15T18:00:00Z',
      'manual',
      'outside-calling-hours',
    ],
  ])('are not lifted %s', async (_, number, at, callKind, reason) => {
    expect(await decide(using, { number, at, callKind })).toMatchObject({
      decision: 'block',
      reason,
    })
  })
})

describe('the number of calls', () => {
  it('does not limit calls to a customer, which are counted and named all the same', async () => {
    const number = `${oregon}0109`
    const limited = []
    const lifted = []
    for (let call = 0; call < 4; call += 1) {
      limited.push(await decide(notUsing, { number }))
      lifted.push(await decide(using, { number }))
    }
    expect(limited.map(({ reason }) => reason)).toEqual([
      ...Array(3).fill('permitted'),
      'too-many-attempts',
    ])
    expect(lifted.map(({ reason }) => reason)).toEqual(Array(4).fill('permitted'))
    const found = findingOf(lifted[3] as DecisionReply, 'attempts')
    expect(found?.says).toEqual([
      { code: 'limit-lifted', params: { citation: 'ORS 646.563(1)(b)' } },
      {
        code: 'exception',
        params: {
          id: 'or-customer',
          citation: expect.stringMatching(/^ORS /),
          record: 'S',
          on: expect.stringMatching(/^2026-\d\d-\d\d$/),
          decidedBy: 'J. Doe, counsel',
        },
      },
    ])
    expect(found?.detail).toMatch(
      /^ORS 646\.563\(1\)\(b\) lifted; exception or-customer \(ORS .*\), by the sale of 2026-\d\d-\d\d, decided by J\. Doe, counsel$/,
    )
    const rows = await using.callgate.storage.db.selectFrom('attempts').selectAll().execute()
    expect(rows).toHaveLength(4)
  })

  it('limits calls without a record', async () => {
    const number = `${oregon}0100`
    const reasons = []
    for (let call = 0; call < 4; call += 1) reasons.push((await decide(using, { number })).reason)
    expect(reasons.at(-1)).toBe('too-many-attempts')
  })
})

describe('the setting', () => {
  it.each([
    [
      [{ id: 'or-custom', ...decided }],
      /gate\.exceptions: 'or-custom' must be an exception of .*: or-customer, ut-consent/,
    ],
    [[{ id: 'or-customer', on: '2026-11-01' }], /gate\.exceptions\.0\.decidedBy/],
    [
      [{ id: 'or-customer', decidedBy: 'J. Doe', on: 'soon' }],
      /gate\.exceptions\.0\.on: must be a date/,
    ],
  ])('%j is refused', (exceptions, message) => {
    const { problems } = readConfiguration({
      environment: { CALLGATE_GATE_EXCEPTIONS: JSON.stringify(exceptions) },
    })
    expect(problems.join('\n')).toMatch(message)
  })

  it('needs our own service', () => {
    const { problems } = readConfiguration({
      environment: {
        CALLGATE_GATE_EXCEPTIONS: JSON.stringify(inUse),
        CALLGATE_SOURCE_KIND: 'remote',
      },
    })
    expect(problems.join('\n')).toContain('gate.exceptions: must be empty with source.kind remote')
  })
})
