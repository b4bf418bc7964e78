/** What a call is for chooses the rules that are asked of it, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DecisionReply } from '../../src/gate/record/decision-document.js'
import { sandboxLines } from '../support/sandbox-lines.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const noon = '2026-11-23T17:00:00Z'

const rows = [
  {
    account: 'sandbox',
    project: 'SANDBOX',
    campaign: 7,
    purpose: 'political',
    setBy: 'no campaign',
  },
  {
    account: 'sandbox',
    purpose: 'informational',
    requestsMay: ['telemarketing', 'emergency', 'charity', 'debt-collection'],
    setBy: 'Ada Nowak',
  },
  { account: 'other', purpose: 'political', setBy: 'somebody else' },
  { account: 'main', project: 'SALES', purpose: 'telemarketing', setBy: 'Ada Nowak' },
  { account: 'main', purpose: 'informational', setBy: 'Ada Nowak' },
]

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate({
    environment: { CALLGATE_GATE_PURPOSES: JSON.stringify(rows) },
  })
})

afterAll(async () => {
  await running.end()
})

async function decide(body: Record<string, unknown>, key?: string): Promise<DecisionReply> {
  const response = await running.postJson('/v1/decisions', { callKind: 'manual', ...body }, key)
  expect(response.status).toBe(200)
  return (await response.json()) as DecisionReply
}

const reasonsOf = async (line: string, more: Record<string, unknown> = {}) => {
  const reasons: string[] = []
  for (const callKind of ['manual', 'autodialed', 'ai']) {
    const { reason } = await decide({ number: `212555${line}`, callKind, at: noon, ...more })
    reasons.push(reason)
  }
  return reasons
}

describe('a call that the settings say is informational', () => {
  const [permitted, noConsent] = ['permitted', 'no-consent']
  it.each([
    ['0100', 'a landline', [permitted, permitted, noConsent]],
    ['0101', 'a mobile number', [permitted, noConsent, noConsent]],
    ['0102', 'a VoIP number', [permitted, noConsent, noConsent]],
    ['0103', 'a landline on the national list', [permitted, permitted, noConsent]],
    ['0104', 'on the internal list', ['internal-dnc', 'internal-dnc', 'internal-dnc']],
    ['0105', 'a litigator', ['litigator', 'litigator', 'litigator']],
    ['0106', 'a mobile number with a permission record', [permitted, permitted, permitted]],
    ['0108', 'the same on the national list', [permitted, permitted, permitted]],
    ['0110', 'a mobile number with a sale', [permitted, noConsent, noConsent]],
    ['0111', 'with a revoked permission', Array(3).fill('consent-revoked')],
    ['0120', 'an exchange not in service', Array(3).fill('unknown-prefix')],
  ])('to %s, %s: %j', async (line, _, reasons) => {
    expect(await reasonsOf(line)).toEqual(reasons)
  })

  it('names its purpose and who set it, in the answer and in the record', async () => {
    const { id, purpose, purposeSetBy } = await decide({ number: '2125550103' })
    expect([purpose, purposeSetBy]).toEqual(['informational', 'Ada Nowak'])
    const read = async () => {
      const response = await running.get(`/v1/decisions/${id}`)
      return response.status === 200 ? ((await response.json()) as DecisionReply) : undefined
    }
    await expect.poll(read).toMatchObject({ purpose: 'informational', purposeSetBy: 'Ada Nowak' })
  })

  it.each([
    ['2055550100', '2026-11-22T18:00:00Z', 'on a Sunday in Alabama'],
    ['2055550100', '2026-11-26T18:00:00Z', 'on Thanksgiving in Alabama'],
    ['2055550100', '2026-11-24T02:30:00Z', 'after 20:00 in Alabama'],
  ])('to %s at %s, %s, is allowed, and one for a sale is not', async (number, at) => {
    expect(await decide({ number, at })).toMatchObject({ reason: 'permitted' })
    const sale = await decide({ number, at, purpose: 'telemarketing' })
    expect(sale).toMatchObject({ decision: 'block', purposeSetBy: 'request' })
    const charity = await decide({ number, at, purpose: 'charity' })
    expect(charity.decision).toBe('block')
  })

  it('keeps to its own hours, and says from when it may be placed', async () => {
    const late = await decide({ number: '2055550100', at: '2026-11-22T03:30:00Z' })
    expect(late).toMatchObject({
      reason: 'outside-calling-hours',
      nextAllowedAt: '2026-11-22T14:00:00Z',
    })
    expect(late.message).toContain('informational rule: house rule')
  })
})

describe('a request', () => {
  it.each(sandboxLines.map(({ line, reasons }) => [line, reasons] as const))(
    'for a sale to %s has the answers of one without a purpose elsewhere: %j',
    async (line, reasons) => {
      expect(await reasonsOf(line, { purpose: 'telemarketing' })).toEqual(reasons)
    },
  )

  it('for an emergency may be at any hour to any line, but never to one that asked not to be called', async () => {
    const at = '2026-11-23T08:00:00Z'
    const emergency = { at, purpose: 'emergency', callKind: 'ai' }
    expect(await decide({ number: '2125550101', ...emergency })).toMatchObject({
      decision: 'allow',
      purposeSetBy: 'request',
    })
    expect(await decide({ number: '2125550104', ...emergency })).toMatchObject({
      reason: 'internal-dnc',
    })
    const { disclosures } = await decide({ number: '2125550101', ...emergency })
    expect(disclosures?.map(({ key }) => key)).toEqual(['identity'])
  })

  it('about a debt has to be said to be one', async () => {
    const debt = { number: '2125550100', purpose: 'debt-collection', at: noon, subject: 'debt 1' }
    const { decision, disclosures } = await decide(debt)
    expect(decision).toBe('allow')
    expect(disclosures?.map(({ key }) => key)).toEqual(['debt-collector'])
  })

  it('may say only what the settings let it say; the refusal is on record', async () => {
    const refused = await decide({ number: '2125550100', purpose: 'political' })
    expect(refused).toMatchObject({
      decision: 'block',
      reason: 'purpose-not-allowed',
      findings: [],
    })
    expect(refused.message).toContain(
      'gate.purposes allows informational, telemarketing, emergency, charity, debt-collection for this call, not political',
    )
    const elsewhere = await decide(
      { number: '2125550100', projectId: 'sales', purpose: 'informational' },
      running.keys.main,
    )
    expect(elsewhere.message).toContain('allows telemarketing for this call, not informational')
    expect(elsewhere).not.toHaveProperty('purpose')
  })

  it('that names its campaign alone has to name its project, since the campaign may be one of another', async () => {
    const call = { number: '2125550100', campaignId: '12' }
    const refused = await decide(call, running.keys.main)
    expect(refused).toMatchObject({ decision: 'block', reason: 'purpose-not-allowed' })
    expect(refused.message).toContain('name its project, not only its campaign')
    const named = await decide({ ...call, projectId: 'sales' }, running.keys.main)
    expect(named.reason).not.toBe('purpose-not-allowed')
  })

  it.each([[''], [null], [' Informational ']])(
    'with %j has the purpose of the settings',
    async (purpose) => {
      expect(await decide({ number: '2125550103', purpose })).toMatchObject({
        reason: 'permitted',
        purpose: 'informational',
      })
    },
  )

  it.each([['sales'], [7], ['telemarketing,political']])(
    'with the unknown %j is refused',
    async (purpose) => {
      const body = { number: '2125550100', callKind: 'manual', purpose }
      const response = await running.postJson('/v1/decisions', body)
      expect(response.status).toBe(400)
      const text = await response.text()
      expect(text).toContain('purpose')
      expect(text).toContain('must be one of telemarketing, informational')
    },
  )

  it('to 911 is allowed whatever it says', async () => {
    expect(await decide({ number: '911', purpose: 'political' })).toMatchObject({
      decision: 'allow',
      reason: 'service-code',
    })
  })

  it('of a dialplan names it in its address', async () => {
    const ask = async (purpose: string) =>
      await (
        await running.get(`/v1/predial?number=2125550103&kind=manual&purpose=${purpose}`)
      ).text()
    expect(await ask('informational')).toMatch(/^allow:/)
    expect(await ask('telemarketing')).toMatch(/^block:national-dnc:/)
    expect(await ask('political')).toMatch(/^block:purpose-not-allowed:/)
  })
})

it('is counted by what it is for, without what-ifs', async () => {
  await decide({ number: '2125550101', purpose: 'emergency' })
  const text = await (await running.get('/metrics')).text()
  expect(text).toMatch(
    /callgate_purpose_decisions_total\{purpose="emergency",decision="allow"\} 1\n/,
  )
})
