/** A preview of many numbers: what decisions would say, without a trace of having asked. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { maxPreviewNumbers } from '../../src/api/gate/preview.js'
import { callKinds } from '../../src/domain/decision.js'
import type { DecisionReply } from '../../src/gate/record/decision-document.js'
import { shortOrLong } from '../support/long.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate({
    environment: { CALLGATE_GATE_SERVICE_CODES: '["7005550000"]' },
  })
})

afterAll(async () => {
  await running.end()
})

type Row = Pick<
  DecisionReply,
  'dialed' | 'number' | 'postalCode' | 'decision' | 'reason' | 'message' | 'nextAllowedAt'
> & { readonly callingHours?: string | undefined }

interface Preview {
  readonly allowed: number
  readonly blocked: number
  readonly reasons: Readonly<Record<string, number>>
  readonly rows: readonly Row[]
}

type Body = Readonly<Record<string, unknown>>

async function preview(body: Body, key?: string): Promise<Preview> {
  const response = await running.postJson('/v1/decisions/preview', body, key)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text) as Preview
}

async function decide(body: Body, key?: string): Promise<DecisionReply> {
  const response = await running.postJson('/v1/decisions', body, key)
  expect(response.status).toBe(200)
  return (await response.json()) as DecisionReply
}

function toRow(document: DecisionReply): Row {
  const { dialed, number, postalCode, decision, reason, message, nextAllowedAt } = document
  const hours = document.findings.find(({ check }) => check === 'calling-hours')
  const judged = { dialed, number, postalCode, decision, reason, message, nextAllowedAt }
  const hasRule = /^(?:permitted|outside-calling-hours|restricted-day)$/.test(hours?.reason ?? '')
  const row = { ...judged, callingHours: hasRule ? hours?.detail : undefined }
  return Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== undefined),
  ) as unknown as Row
}

async function readCacheHits(): Promise<number> {
  const { body } = await running.callgate.metrics.render()
  const hits =
    /^callgate_cache_requests_total\{source="embedded",question="facts",result="hit"\} (\d+)$/m
  return Number(hits.exec(body)?.[1] ?? 0)
}

const noon = '2026-11-23T17:00:00Z'
const night = '2026-11-24T03:00:00Z'

const areaCodes = ['212', '205', '206', '317', '416', '787', '808', '800', '555']
const dialed = fc
  .oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(fc.constantFrom(...areaCodes), fc.integer({ min: 100, max: 120 })),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...areaCodes), fc.integer({ min: 0, max: 9999 })),
    },
  )
  .map(([areaCode, line]) => `${areaCode}555${String(line).padStart(4, '0')}`)
const otherText = fc.oneof(
  fc.constantFrom(
    '911',
    '988',
    '7005550000',
    '+442071838750',
    '1001',
    'sip:12125550106@pbx',
    '1 212',
  ),
  fc.string({ minLength: 1, maxLength: 30 }).filter((text) => text.trim() !== ''),
)
const item = fc.record({
  number: fc.oneof({ weight: 4, arbitrary: dialed }, { weight: 1, arbitrary: otherText }),
  postalCode: fc.option(fc.constantFrom('10001', '90210', '09001', 'K1A 0B1'), { nil: undefined }),
})
/** Absent, or an instant of the years in which the rules apply. */
const at = fc.option(
  fc
    .integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2028, 0, 1) })
    .map((instant) => new Date(instant).toISOString()),
  { nil: undefined },
)

describe('the rows of a preview', () => {
  it('are what decisions about the same numbers say', async () => {
    const request = fc.record({
      numbers: fc.array(item, { minLength: 1, maxLength: 12 }),
      callKind: fc.constantFrom(...callKinds),
      at,
      account: fc.constantFrom('sandbox' as const, 'main' as const),
    })
    await fc.assert(
      fc.asyncProperty(request, async ({ numbers, callKind, at, account }) => {
        const key = running.keys[account]
        const { rows } = await preview({ numbers, callKind, at }, key)
        const decisions = await Promise.all(
          numbers.map((one) => decide({ ...one, callKind, at }, key)),
        )
        expect(rows).toEqual(decisions.map(toRow))
      }),
      { numRuns: shortOrLong(60, 1_000) },
    )
  })

  it('are in the order of the numbers, with counts by reason', async () => {
    const numbers = ['2125550105', '2125550106', '2125550100', '2125550107', 'nobody']
    const { rows, ...counts } = await preview({ numbers, callKind: 'ai', at: noon })
    expect(rows.map((row) => row.dialed)).toEqual(numbers)
    expect(counts).toEqual({
      allowed: 2,
      blocked: 3,
      reasons: { permitted: 2, litigator: 1, 'no-consent': 1, 'invalid-number': 1 },
    })
  })

  it('say from when a call may be placed', async () => {
    const { rows } = await preview({ numbers: ['2125550106'], callKind: 'ai', at: night })
    expect(rows).toMatchObject([
      {
        reason: 'outside-calling-hours',
        nextAllowedAt: '2026-11-24T13:00:00Z',
        callingHours: expect.stringMatching(
          /^New York \(NY\), .*; calls 08:00-21:00; state rule: /,
        ),
      },
    ])
  })

  it('use the postal code of the request unless the number has its own', async () => {
    const numbers = ['2125550106', { number: '2125550106', postalCode: '10001' }]
    const request = { callKind: 'manual', postalCode: '90210', at: '2026-11-24T02:30:00Z' }
    const { rows } = await preview({ numbers, ...request })
    expect(rows.map(({ postalCode, decision }) => [postalCode, decision])).toEqual([
      ['90210', 'allow'],
      ['10001', 'block'],
    ])
  })

  it('include each item that is no number, and say why', async () => {
    const numbers = [
      null,
      '',
      [1],
      { number: '2125550100', zip: '10001' },
      'x'.repeat(300),
      {},
      7.5,
    ]
    const more = [{ number: '2125550100', postalCode: '123' }, '2125550100', 911, 2125550100]
    const request = { numbers: [...numbers, ...more], callKind: 'manual', at: noon }
    const { rows, reasons } = await preview(request)
    expect(reasons).toEqual({ 'invalid-request': 8, permitted: 2, 'service-code': 1 })
    expect(rows.map(({ message }) => message.replace(/^[^:]*: /, ''))).toEqual([
      expect.stringContaining('must be text, or an object with number and postalCode'),
      expect.stringContaining('must not be empty'),
      expect.stringContaining('must be text, or an object with number and postalCode'),
      expect.stringContaining("zip '10001': is an unknown field"),
      expect.stringContaining('must not be longer than'),
      expect.stringContaining('number: is required'),
      expect.stringContaining('must be text, or an object with number and postalCode'),
      expect.stringContaining("postalCode '123': must be"),
      expect.any(String),
      expect.any(String),
      expect.any(String),
    ])
  })
})

describe('a preview', () => {
  it('is neither recorded, nor logged, nor counted as decisions', async () => {
    const { callgate, logLines } = running
    const readCounts = async () => {
      const { body } = await callgate.metrics.render()
      const own =
        /^callgate_(?:decisions|shadowed|degraded|findings|decision|account)[a-z_]*[{ ].*$/gm
      return body.match(own)
    }
    const before = await readCounts()
    const append = vi.spyOn(callgate.journal, 'append')
    const lines = logLines.length
    await preview({ numbers: ['2125550105', '2125550106', '911', 'x', 5], callKind: 'ai' })
    expect(await readCounts()).toEqual(before)
    expect(append).not.toHaveBeenCalled()
    expect(logLines.slice(lines)).toEqual([])
  })

  it('leaves the cached answers of another account where they are', async () => {
    const { callgate, keys } = running
    await callgate.accounts.ensure({ id: 'other', kind: 'real', name: 'Other' })
    const { key } = await callgate.keys.create({
      accountId: 'other',
      role: 'Administrator',
      label: 'test',
    })
    const call = { number: '2127365678', callKind: 'manual' }
    await decide(call, keys.main)
    const before = await readCacheHits()
    await decide(call, keys.main)
    expect(await readCacheHits()).toBe(before + 1)
    const numbers = Array.from({ length: maxPreviewNumbers }, (_, index) =>
      String(2_127_360_000 + index),
    )
    await preview({ numbers, callKind: 'manual' }, key)
    await decide(call, keys.main)
    expect(await readCacheHits()).toBe(before + 2)
  })

  it('of as many numbers as allowed lets decisions pass, and one more is refused', async () => {
    const numbers = Array.from({ length: maxPreviewNumbers }, (_, index) =>
      String(2_125_550_000 + index),
    )
    const { rows } = await preview({ numbers, callKind: 'manual', at: noon })
    expect(rows).toHaveLength(maxPreviewNumbers)
    const tooMany = { numbers: [...numbers, '911'], callKind: 'manual' }
    const refused = await running.postJson('/v1/decisions/preview', tooMany)
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain(`must have at most ${maxPreviewNumbers} numbers`)
  })

  it.each([
    [{ callKind: 'ai' }, 'numbers: is required and must be a list of numbers'],
    [{ numbers: [], callKind: 'ai' }, 'must have at least 1 number'],
    [{ numbers: ['2125550100'] }, 'callKind: is required and must be one of'],
    [{ numbers: ['2125550100'], callKind: 'ai', at: 'noon' }, "at 'noon': must be an instant"],
    [{ numbers: ['2125550100'], callKind: 'ai', at: '2500-01-01' }, 'must be within 50 years'],
    [{ numbers: ['2125550100'], callKind: 'ai', number: '911' }, "number '911': is an unknown"],
  ])('refuses %j', async (body, rule) => {
    const response = await running.postJson('/v1/decisions/preview', body)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(rule)
  })

  it('takes the fields of a decision that only a record has', async () => {
    const fields = { callerId: '2125550199', reference: 'lead-7', callKind: 'manual', at: noon }
    const { rows } = await preview({ numbers: ['2125550100'], ...fields })
    expect(rows).toMatchObject([{ decision: 'allow' }])
  })

  it('is refused beyond the projects and kinds of its key', async () => {
    const { key } = await running.callgate.keys.create({
      accountId: 'sandbox',
      role: 'Agent',
      label: 'limited',
      rights: ['decide'],
      callKinds: ['manual'],
    })
    const ask = (callKind: string) =>
      running.postJson('/v1/decisions/preview', { numbers: ['2125550100'], callKind }, key)
    expect((await ask('manual')).status).toBe(200)
    expect((await ask('ai')).status).toBe(403)
  })

  it('blocks by the lists of its own account alone', async () => {
    const number = '2127361234'
    const { keys } = running
    await running.postJson(
      '/app/main/rpc/pdnc',
      { actionType: 'add', phoneList: number },
      keys.main,
    )
    const body = { numbers: [number], callKind: 'manual', at: noon }
    expect((await preview(body, keys.main)).reasons).toEqual({ 'internal-dnc': 1 })
    expect((await preview(body)).reasons).not.toHaveProperty('internal-dnc')
  })
})
