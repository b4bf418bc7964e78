/** Recorded decisions of which the answers came from elsewhere, are old, or are gone. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfiguration } from '../../src/app/read-configuration.js'
import {
  prepareRules,
  type Rules,
  rejudge as rejudgeRecord,
} from '../../src/commands/rehearse/rejudge.js'
import type { Compliance } from '../../src/domain/compliance.js'
import type { Decision } from '../../src/domain/decision.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import type {
  DecisionDocument,
  DecisionReply,
  FindingDocument,
} from '../../src/gate/record/decision-document.js'
import { readRecord } from '../../src/gate/record/read-record.js'
import { encodeReply, writeDecision } from '../../src/gate/record/write-record.js'
import type { InternalDncEntry } from '../../src/law/records/opt-out.js'
import {
  answered,
  cleanRow,
  type FakeAnswers,
  fakeCompliance,
  noon,
  openHours,
  unanswered,
} from '../support/fake-compliance.js'
import { readRecorded } from '../support/journal.js'
import { readAll } from '../support/own-facts.js'
import { quoted } from '../support/said.js'
import { testScrub } from '../support/scrub-parts.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { aCall, type TestGateOptions, testGate } from '../support/test-gate.js'

let running: TestCallgate

beforeAll(async () => {
  // Reading the settings again and again keeps the process busy.
  const environment = { CALLGATE_GATE_DEADLINE_MS: '60000' }
  running = await openTestCallgate({ at: noon, environment })
})
afterAll(async () => {
  await running.end()
})

const unknownAllowed = {
  CALLGATE_POLICY_LITIGATOR_ON_UNKNOWN: 'allow',
  CALLGATE_POLICY_LITIGATOR_REASON: 'outage',
  CALLGATE_POLICY_LITIGATOR_UNTIL: '2026-12-01T00:00:00Z',
}

function rulesOf(
  environment: Readonly<Record<string, string>> = {},
  closed: readonly string[] = [],
): Rules {
  const { configuration } = readConfiguration({ environment })
  if (!configuration) throw new Error('the settings are wrong')
  const { rules } = configuration
  const none = { monFri: undefined, sat: undefined, sun: undefined }
  const regions = Object.entries(rules.regions).map(([code, region]) => [
    code,
    closed.includes(code) ? { ...region, hours: none } : region,
  ])
  return prepareRules({
    ...configuration,
    rules: { ...rules, regions: Object.fromEntries(regions) },
  })
}

const dialed = '2127365000'

async function decide(compliance: Compliance, more: TestGateOptions = {}): Promise<Decision> {
  const clock = fixedClock(noon)
  const { gate } = testGate(compliance, { clock, accountClock: clock, ...more })
  return await gate.decide(aCall({ dialed }))
}

/** Our own facts, which can only forbid beside a provider. */
function besideProvider(entry?: InternalDncEntry): TestGateOptions {
  const entries = entry ? { [`main ${dialed}`]: entry } : {}
  const { createReader, views } = testScrub({ clock: fixedClock(noon), entries })
  const own = readAll(createReader(true), { accountId: 'main', number: toPhoneNumber(dialed) })
  if (own instanceof Promise) throw new Error('nothing has to be waited for')
  return { own, windows: views.real.hours.windows }
}

function rejudge(rules: Rules, decision: Decision): Decision {
  const found = rejudgeRecord(rules, documentOf(decision))
  if (found.kind !== 'judged') throw new Error(JSON.stringify(found))
  return found.decision
}

/** As it is read from its record. */
const documentOf = (decision: Decision): DecisionDocument =>
  readRecord('decision', { id: decision.id, body: writeDecision(decision) })

const second = 1_000

/** The answers of a provider, beside which our own hours and list apply. */
const providers: readonly (readonly [string, Partial<FakeAnswers>])[] = [
  ['permits', {}],
  ['is slow', { scrub: () => unanswered('deadline') }],
  ['does not know the campaign', { scrub: () => unanswered('bad-question') }],
  ['has no list of litigators', { litigator: () => unanswered('list-missing') }],
  [
    'permits by an old answer',
    {
      litigator: () =>
        answered(
          { isLitigator: false },
          { asOf: noon - 90 * second, holdsUntil: noon + 30 * second, notRenewed: quoted('down') },
        ),
    },
  ],
  ['permits for a while', { scrub: () => answered(cleanRow, { holdsUntil: noon + second }) }],
  [
    'is closed, and does not say until when',
    { legalTime: () => answered({ ...openHours, permitted: false, opensAt: undefined }) },
  ],
  [
    'is closed for an hour, and its row too',
    {
      legalTime: () => answered({ ...openHours, permitted: false, opensAt: noon + 3_600 * second }),
      scrub: () =>
        answered({
          ...cleanRow,
          allowed: { manual: false, autodialed: false, ai: false },
          opensAt: noon + 7_200 * second,
        }),
    },
  ],
  [
    'lists the number',
    { internalDnc: () => answered({ onList: true, addedAt: noon - 86_400 * second }) },
  ],
]

describe('a decision by the answers of a provider', () => {
  it.each(providers)('that %s gives its record byte for byte', async (_, answers) => {
    const provider = fakeCompliance(answers)
    for (const own of [{}, besideProvider()]) {
      const decision = await decide(provider, own)
      const again = rejudge(rulesOf(), decision)
      expect(writeDecision(again)).toBe(writeDecision(decision))
      expect(encodeReply(again)).toBe(encodeReply(decision))
    }
  })

  it('beside an entry of our own list gives its record byte for byte', async () => {
    const [addedAt, removedAt] = [noon - 86_400 * second, null]
    const entry = { addedAt, removedAt, optedOutAt: addedAt, optedOutSeq: 0 }
    const decision = await decide(fakeCompliance(), besideProvider(entry))
    expect(decision.reason).toBe('internal-dnc')
    expect(writeDecision(rejudge(rulesOf(), decision))).toBe(writeDecision(decision))
  })

  it('is judged by other rules of ours, which apply beside it', async () => {
    const decision = await decide(fakeCompliance(), besideProvider())
    expect(decision.decision).toBe('allow')
    const closed = rejudge(rulesOf({}, ['NY']), decision)
    expect(closed).toMatchObject({ decision: 'block', reason: 'outside-calling-hours' })
    expect(rejudge(rulesOf({}, ['NJ']), decision).decision).toBe('allow')
  })

  it('keeps what the provider found, whatever our rules are', async () => {
    const decision = await decide(fakeCompliance())
    expect(rejudge(rulesOf({}, ['NY']), decision).decision).toBe('allow')
  })

  it('is judged by another policy on unknown, except for an error of the request', async () => {
    const verdictOf = async (reason: 'deadline' | 'bad-question') => {
      const compliance = fakeCompliance({ litigator: () => unanswered(reason) })
      return rejudge(rulesOf(unknownAllowed), await decide(compliance)).decision
    }
    expect(await verdictOf('deadline')).toBe('allow')
    expect(await verdictOf('bad-question')).toBe('block')
  })
})

describe('a decision by what the call is for', () => {
  const row = { account: 'sandbox', purpose: 'informational', requestsMay: ['political'] }
  const informational = { CALLGATE_GATE_PURPOSES: JSON.stringify([{ ...row, setBy: 'Ada' }]) }
  // On the national list, at a time that is closed for sales: a Sunday in Alabama.
  const call = { number: '2055550103', callKind: 'manual', at: '2026-11-22T18:00:00Z' }
  const ask = async (fields: object = {}) => {
    const response = await running.postJson('/v1/decisions', { ...call, ...fields })
    return readRecorded(running, (await response.json()) as DecisionReply)
  }
  const judgeAgain = (document: DecisionDocument, environment = {}) => {
    const found = rejudgeRecord(rulesOf(environment), document)
    if (found.kind !== 'judged') throw new Error(JSON.stringify(found))
    return found.decision
  }

  it('is judged by what other settings say that it is for, and the other way round', async () => {
    const sale = await ask()
    expect(sale.reason).toBe('national-dnc')
    const other = judgeAgain(sale, informational)
    expect(other).toMatchObject({
      decision: 'allow',
      purpose: { purpose: 'informational', setBy: 'Ada' },
    })
    const again = documentOf(other)
    expect(judgeAgain(again, informational)).toMatchObject({ decision: 'allow' })
    expect(judgeAgain(again)).toMatchObject({ reason: 'national-dnc', purpose: undefined })
  })

  it('that a request said is not what other settings allow it to say', async () => {
    const said = { ...(await ask()), purpose: 'political', purposeSetBy: 'request' }
    expect(judgeAgain(said, informational)).toMatchObject({
      decision: 'allow',
      purpose: { purpose: 'political', setBy: 'request' },
    })
    expect(judgeAgain(said)).toMatchObject({ decision: 'block', reason: 'purpose-not-allowed' })
  })
})

it.each(['911', 'abc', '+442071838750'])(
  'a call to %s is for what it was for then',
  async (number) => {
    const call = { number, callKind: 'manual', purpose: 'telemarketing' }
    const response = await running.postJson('/v1/decisions', call)
    const found = rejudgeRecord(
      rulesOf(),
      await readRecorded(running, (await response.json()) as DecisionReply),
    )
    const purpose = { purpose: 'telemarketing', setBy: 'request' }
    expect(found).toMatchObject({ kind: 'judged', decision: { purpose } })
  },
)

it('is about the number that was dialed, whatever the record says', async () => {
  const document = documentOf(await decide(fakeCompliance()))
  const changed = { ...document, dialed: '2127365001' }
  const found = rejudgeRecord(rulesOf(), changed)
  expect(found).toMatchObject({ kind: 'judged', decision: { number: '2127365001' } })
})

it('says of entries on our lists what follows from them, whatever the record says', async () => {
  const response = await running.postJson('/v1/decisions', {
    number: '2125550106',
    callKind: 'manual',
  })
  const document = await readRecorded(running, (await response.json()) as DecisionReply)
  const changed = document.findings.map((one) => ({ ...one, says: [{ code: 'name-the-project' }] }))
  const found = rejudgeRecord(rulesOf(), { ...document, findings: changed })
  if (found.kind !== 'judged') throw new Error(JSON.stringify(found))
  const said = documentOf(found.decision).findings.map(({ says }) => says)
  expect(said).toEqual(document.findings.map(({ says }) => says))
})

const passed: FindingDocument = {
  ...{ check: 'litigator', verdict: 'pass', reason: 'permitted', says: [] },
  ...{ source: 'embedded', ageMs: 0 },
}

describe('a record that does not say what the rules were applied to', () => {
  it.each([
    [{ recordVersion: 2 }, 'newer-record'],
    [{ findings: [{ ...passed, check: 'of-2030' }] }, 'newer-record'],
    [{ findings: [{ ...passed, reason: 'of-2030' }] }, 'newer-record'],
    [{ erased: true }, 'erased'],
    [{ findings: [], dialed: '2127365000' }, 'not-checked'],
  ] as const)('%j is not guessed', async (more, why) => {
    const document = { ...documentOf(await decide(fakeCompliance())), ...more }
    expect(rejudgeRecord(rulesOf(), document)).toEqual({ kind: 'unjudged', why })
  })

  it('a call that the gate itself blocked stays blocked', async () => {
    const document = documentOf(await decide(fakeCompliance()))
    const late = { ...document, decision: 'block', reason: 'overloaded' } as const
    expect(rejudgeRecord(rulesOf(), late)).toEqual({ kind: 'by-gate' })
  })
})
