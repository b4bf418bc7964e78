/** The client with a running callgate, and what is a misuse of it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Allowed, type Call, type Client, createClient } from '../../src/client/client.js'
import {
  type HostileGate,
  hostileKey,
  openHostileGate,
  soundBody,
} from '../support/hostile-gate.js'
import { createPersonKey } from '../support/person-keys.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let hostile: HostileGate
let client: Client
beforeAll(async () => {
  running = await openTestCallgate({
    at: Date.now(),
    environment: { CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z' },
  })
  hostile = await openHostileGate()
  client = createClient({ url: running.url, key: running.keys.sandbox, deadlineMs: 20_000 })
})
afterAll(async () => {
  await hostile.close()
  await running.end()
})
afterEach(() => vi.restoreAllMocks())

const call: Call = { number: '2125550106', callKind: 'ai' }

async function allow(): Promise<Allowed> {
  const result = await createClient({
    url: `${hostile.url}/sound`,
    key: hostileKey,
    deadlineMs: 20_000,
  }).decide(call)
  if (result.kind !== 'allowed') throw new Error(JSON.stringify(result))
  return result
}

describe('decide', () => {
  it.each(['2125550106', '+1 (212) 555-0106', '1.212.555.0106', '911', '+911'])(
    'returns what may be dialed: %s',
    async (number) => {
      const result = await client.decide({ number, callKind: 'ai', reference: 'lead-7' })
      if (!result.mayDial) throw new Error(JSON.stringify(result))
      const dialed = number.length > 4 ? '2125550106' : '911'
      expect(await result.dial(async (text) => text)).toBe(dialed)
      expect(result.number).toBe(dialed)
    },
  )

  it('returns why not, and what the checks found', async () => {
    const result = await client.decide({ number: '2125550100', callKind: 'ai' })
    expect(result).toMatchObject({ kind: 'blocked', mayDial: false, reason: 'no-consent' })
    if (result.kind !== 'blocked') return
    expect(result.findings.map(({ check }) => check)).toContain('permission')
  })

  it.each([
    ['an unknown key', { key: 'a'.repeat(44) }, { status: 401 }],
    ['a bad field', { call: { ...call, postalCode: 'x' } }, { status: 400 }],
    ['a number that is a URI', { call: { ...call, number: 'sip:911@x' } }, { status: undefined }],
  ])(
    'returns undecided for %s',
    async (_, {
      key = running.keys.sandbox,
      call: other = call,
    }: { key?: string; call?: Call }, expected) => {
      const result = await createClient({ url: running.url, key, deadlineMs: 20_000 }).decide(other)
      expect(result).toMatchObject({ kind: 'undecided', mayDial: false, ...expected })
    },
  )

  it('returns undecided when nothing listens, and when the caller gives up', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const nobody = createClient({ url: `http://127.0.0.1:${port}`, key: hostileKey })
    expect(await nobody.decide(call)).toMatchObject({
      cause: 'network',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    const silent = createClient({
      url: `${hostile.url}/silent`,
      key: hostileKey,
      deadlineMs: 60_000,
    })
    const controller = new AbortController()
    const deciding = silent.decide(call, { signal: controller.signal })
    controller.abort()
    expect(await deciding).toMatchObject({ mayDial: false, cause: 'aborted' })
    const early = await silent.decide(call, { signal: AbortSignal.abort() })
    expect(early).toMatchObject({ mayDial: false, cause: 'aborted' })
  })
})

it.each([
  [false, { kind: 'allowed' }],
  [true, { kind: 'undecided', cause: 'aborted' }],
])('when the caller gives up while the last bytes are read (%s)', async (givesUp, expected) => {
  const controller = new AbortController()
  const body = new ReadableStream<Uint8Array>(
    {
      pull(stream) {
        stream.enqueue(Buffer.from(JSON.stringify(soundBody(call))))
        stream.close()
        if (givesUp) controller.abort()
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { date: new Date().toUTCString(), 'content-type': 'application/json' }
  vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(body, { headers }))
  expect(await client.decide(call, { signal: controller.signal })).toMatchObject(expected)
})

it.each([true, false])(
  'says whether a call may be placed at that time at the latest: %s',
  async (isLatest) => {
    const nextAllowedAt = '2026-12-23T17:00:00Z'
    const latest = isLatest ? { nextAllowedAtLatest: true } : {}
    const body = {
      ...soundBody(call),
      dial: undefined,
      decision: 'block',
      reason: 'abandonment-rate',
      nextAllowedAt,
      ...latest,
    }
    const headers = { date: new Date().toUTCString(), 'content-type': 'application/json' }
    vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(JSON.stringify(body), { headers }))
    const result = await client.decide(call)
    expect(result).toMatchObject({ kind: 'blocked', nextAllowedAt, nextAllowedAtLatest: isLatest })
  },
)

describe('a key with limits', () => {
  it('is told which approval a call waits for, and uses it once', async () => {
    const { key } = await running.callgate.keys.create({
      accountId: 'sandbox',
      role: 'Agent',
      label: '',
      rights: ['decide'],
      calls: { approval: 'always', attemptsPerHour: 3 },
    })
    const agent = createClient({ url: running.url, key, deadlineMs: 20_000 })
    const waiting = await agent.decide(call)
    if (waiting.kind !== 'blocked') throw new Error(JSON.stringify(waiting))
    expect(waiting).toMatchObject({
      reason: 'approval-needed',
      approval: { id: expect.stringMatching(/^ap-/), expiresAt: expect.stringMatching(/Z$/) },
    })
    const { id = '' } = waiting.approval ?? {}
    const listed = await running.get('/v1/approvals', running.keys.sandbox)
    const { approvals } = (await listed.json()) as { approvals: { subjectHash: string }[] }
    const verdict = { verdict: 'approve', subjectHash: approvals[0]?.subjectHash }
    const person = await createPersonKey(running, 'ann', { accountId: 'sandbox' })
    const given = await running.postJson(`/v1/approvals/${id}`, verdict, person.key)
    expect(given.status).toBe(200)
    const allowed = await agent.decide({ ...call, approvalId: id })
    if (!allowed.mayDial) throw new Error(JSON.stringify(allowed))
    expect(allowed.remaining).toEqual({ hour: 2 })
    const again = await agent.decide({ ...call, approvalId: id })
    expect(again).toMatchObject({ reason: 'approval-needed', approval: undefined })
  })

  it('may be an access token', async () => {
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'sandbox',
      client_secret: running.keys.sandbox,
      authorization_details: JSON.stringify([{ type: 'callgate_dial', kinds: ['ai'] }]),
    })
    const answer = await fetch(`${running.url}/oauth/token`, { method: 'POST', body })
    const { access_token: key } = (await answer.json()) as { access_token: string }
    const agent = createClient({ url: running.url, key, deadlineMs: 20_000 })
    expect(await agent.decide(call)).toMatchObject({ mayDial: true, remaining: {} })
    const other = await agent.decide({ ...call, callKind: 'manual' })
    expect(other).toMatchObject({ kind: 'blocked', reason: 'key-kind' })
  })
})

describe('an allow', () => {
  it('is dialed once, also when two try at the same time', async () => {
    const allowed = await allow()
    const place = vi.fn((number: string) => number)
    const tries = await Promise.allSettled([allowed.dial(place), allowed.dial(place)])
    expect(tries.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await expect(allowed.dial(place)).rejects.toThrow(/was used/)
    expect(place).toHaveBeenCalledOnce()
  })

  it('is used up by a call that failed', async () => {
    const allowed = await allow()
    const place = vi.fn().mockRejectedValue(new Error('trunk down'))
    await expect(allowed.dial(place)).rejects.toThrow('trunk down')
    await expect(allowed.dial(place)).rejects.toThrow(/was used/)
  })

  it.each([
    ['monotonic', performance],
    ['wall', Date],
  ] as const)('is not dialed after its time by the %s clock', async (_, clock) => {
    const allowed = await allow()
    const later = clock.now() + 60_000
    vi.spyOn(clock, 'now').mockReturnValue(later)
    const place = vi.fn()
    await expect(allowed.dial(place)).rejects.toThrow(/was valid until/)
    expect(place).not.toHaveBeenCalled()
  })

  it('does not depend on a correct clock here', async () => {
    const wrong = Date.now() + 10 * 365 * 86_400_000
    vi.spyOn(Date, 'now').mockReturnValue(wrong)
    const result = await createClient({
      url: running.url,
      key: running.keys.sandbox,
      deadlineMs: 20_000,
    }).decide(call)
    // The service of this test reads the same clock, through its own.
    expect(result.mayDial).toBe(true)
  })

  it('cannot be made or changed by anyone else', async () => {
    const allowed = await allow()
    const Made = allowed.constructor as new (...given: unknown[]) => Allowed
    const parts = {
      answered: allowed,
      number: '2125550199',
      degraded: [],
      remaining: {},
      disclosures: [],
      validity: { since: {}, forMs: 1e9 },
    }
    expect(() => new Made(Symbol('made by decide'), parts)).toThrow(/only from decide/)
    const forged = Object.assign(Object.create(Made.prototype) as Allowed, { number: '2125550199' })
    await expect(forged.dial((number) => number)).rejects.toThrow(TypeError)
    expect(() => Object.assign(allowed, { number: '2125550199' })).toThrow(TypeError)
    const copied = { ...allowed, dial: allowed.dial }
    await expect(copied.dial((number) => number)).rejects.toThrow(TypeError)
  })

  it('is not in what the module exports', async () => {
    const exported = await import('../../src/client/client.js')
    expect(Object.keys(exported).sort()).toEqual(['CallgateError', 'DialRefused', 'createClient'])
  })
})

describe('optOut and explain', () => {
  it('enforce and explain', async () => {
    const number = '3035550100'
    await client.optOut(['+1 303 555 0100', '303-555-0101'])
    const result = await client.decide({ number, callKind: 'manual' })
    if (result.kind !== 'blocked') throw new Error(JSON.stringify(result))
    expect(result.reason).toBe('internal-dnc')
    expect(await client.explain(result.id)).toMatchObject({ id: result.id, number, via: 'http' })
    await expect(client.explain('../../healthz')).rejects.toMatchObject({ status: 404 })
    await expect(client.explain('nothing')).rejects.toThrow(/no such decision/)
  })

  it('hold for every project, and keep the words', async () => {
    const { projects, storage } = running.callgate
    await projects.create({ accountId: 'sandbox', code: 'OWN', name: 'Own' })
    await client.optOut('303-555-0103', { said: 'stop calling me' })
    const call = { number: '3035550103', callKind: 'manual' } as const
    for (const projectId of [undefined, 'OWN']) {
      const decided = await client.decide({ ...call, projectId })
      expect(decided).toMatchObject({ kind: 'blocked', reason: 'internal-dnc' })
    }
    const words = storage.db.selectFrom('opt_out_statements').select(['said', 'number'])
    expect(await words.execute()).toContainEqual({ said: 'stop calling me', number: '3035550103' })
  })

  it('reject what was not acknowledged', async () => {
    await expect(client.optOut('12345')).rejects.toThrow(TypeError)
    await expect(client.optOut([])).rejects.toThrow(TypeError)
    const { key } = await running.callgate.keys.create({
      accountId: 'sandbox',
      role: 'Agent',
      label: 'asks only',
      rights: ['decide'],
    })
    const without = createClient({ url: running.url, key })
    await expect(without.optOut('3035550102')).rejects.toThrow(/'records'/)
  })

  it('are acknowledged for a project that is not known, and hold for every project', async () => {
    await client.optOut('3035550104', { projectId: 'nobody' })
    const decided = await client.decide({ number: '3035550104', callKind: 'manual' })
    expect(decided).toMatchObject({ kind: 'blocked', reason: 'internal-dnc' })
  })
})

describe('misuse', () => {
  const url = 'http://127.0.0.1:8480'
  it.each([
    { url, key: '' },
    { url },
    { url, key: 'a\r\nb: c' },
    { url, key: 'schlüssel' },
    { key: 'k' },
    { url: 'callgate', key: 'k' },
    { url: 'ftp://x', key: 'k' },
    { url: 'http://u:p@x', key: 'k' },
    { url: 'http://x?y=1', key: 'k' },
    { url, key: 'k', deadlineMs: 0 },
    { url, key: 'k', deadlineMs: Number.NaN },
    { url, key: 'k', deadlineMs: '5' },
    { url, key: 'k', timeout: 5 },
    {},
  ])('throws for %j', (options) => {
    expect(() => createClient(options as never)).toThrow(TypeError)
  })

  it.each([
    undefined,
    {},
    { number: 2_125_550_106, callKind: 'ai' },
    { number: '911', callKind: 'robot' },
  ])('rejects the call %j', async (misused) => {
    await expect(client.decide(misused as never)).rejects.toThrow(TypeError)
  })

  it('keeps the key out of what is printed', () => {
    expect(JSON.stringify(client)).not.toContain(running.keys.sandbox)
    expect(Object.keys(client)).toEqual(['decide', 'optOut', 'explain'])
  })
})
