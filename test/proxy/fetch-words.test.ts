/** Words that no event brought are fetched from the platform, in the form of its own event. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/observability/log.js'
import type { PlatformName } from '../../src/platform-events/call-event.js'
import { startFetching } from '../../src/proxy/fetch-words.js'
import { GateClient } from '../../src/proxy/gate-client.js'
import { platforms } from '../../src/proxy/platforms/platforms.js'
import { Upstream } from '../../src/proxy/upstream.js'
import { systemTimers } from '../../src/runtime/runtime.js'
import { openFakeGate } from './fake-gate.js'
import { openFakePlatform } from './proxy-fixture.js'

const gate = await openFakeGate({ url: 'http://127.0.0.1:1', key: 'gate-key' })
const upstream = await openFakePlatform()
const now = Date.UTC(2026, 10, 23, 17)
const number = '2125550106'
const stored = gate.stored['/v1/platform-events']
const logLines: string[] = []
let running: { close(): Promise<void> } | undefined
let nextRound: () => void = () => undefined

beforeEach(() => {
  for (const list of Object.values(gate.stored)) list.length = 0
  gate.due = []
  upstream.received.length = 0
  upstream.answers = undefined
  logLines.length = 0
})
afterEach(async () => {
  await running?.close()
})
afterAll(async () => {
  await upstream.close()
  await gate.close()
})

/** Fetches at once; resolves at the end of the first round. */
async function start(platform: PlatformName, readKey = 'read-key'): Promise<void> {
  const { fetching } = platforms[platform]
  if (!fetching) throw new Error(`${platform} keeps no words`)
  await round(() => {
    running = startFetching({
      ...{ fetching, readKey, clock: { now: () => now } },
      gate: new GateClient({
        ...{ platform, url: gate.url, key: gate.key, callKind: 'ai', deadlineMs: 1_000 },
        timers: systemTimers,
      }),
      upstream: new Upstream({ origin: upstream.url }),
      timers: {
        monotonicMs: systemTimers.monotonicMs,
        after(_ms, run) {
          nextRound = run
          endRound()
          return () => undefined
        },
      },
      log: createLogger('debug', { write: (line) => void logLines.push(line) }),
    })
  })
}

let endRound: () => void = () => undefined
const round = (begin: () => void) =>
  new Promise<void>((resolve) => {
    endRound = resolve
    begin()
  })

const marked = () =>
  gate.stored['/v1/platform-calls'].flatMap(({ calls }) =>
    calls.flatMap(({ decisionId, fetchedAt }) => (fetchedAt === undefined ? [] : [decisionId])),
  )

const said = [{ role: 'user', content: 'please stop calling me' }]

interface FetchCase {
  readonly platform: PlatformName
  readonly callIds: readonly string[]
  readonly readKey?: string
  readonly header: readonly [string, string]
  /** By the end of an address. */
  readonly answers: Readonly<Record<string, object>>
  readonly event: object | string
}

const cases: readonly FetchCase[] = [
  {
    platform: 'retell',
    callIds: ['call_1'],
    header: ['authorization', 'Bearer read-key'],
    answers: {
      '/v2/get-call/call_1': {
        ...{ call_id: 'call_1', call_status: 'ended', to_number: `+1${number}` },
        transcript_object: [{ ...said[0], words: [{ word: 'please', start: 1 }] }],
      },
    },
    event: {
      event: 'call_analyzed',
      call: {
        ...{ call_id: 'call_1', call_status: 'ended', to_number: `+1${number}` },
        transcript_object: said,
      },
    },
  },
  {
    platform: 'vapi',
    callIds: ['c-1'],
    header: ['authorization', 'Bearer read-key'],
    answers: {
      '/call/c-1': {
        ...{ id: 'c-1', status: 'ended', endedReason: 'customer-ended-call' },
        customer: { number: `+1${number}` },
        assistant: { model: {} },
        artifact: { messages: [{ role: 'user', message: 'stop' }], transcript: 'User: stop' },
        analysis: { structuredData: { optOut: true } },
      },
    },
    event: {
      message: {
        type: 'end-of-call-report',
        call: { id: 'c-1', customer: { number: `+1${number}` }, status: 'ended' },
        customer: { number: `+1${number}` },
        endedReason: 'customer-ended-call',
        analysis: { structuredData: { optOut: true } },
        artifact: { messages: [{ role: 'user', message: 'stop' }], transcript: 'User: stop' },
      },
    },
  },
  {
    platform: 'elevenlabs',
    callIds: ['conv_1', 'CA1'],
    header: ['xi-api-key', 'read-key'],
    answers: {
      '/v1/convai/conversations/conv_1': { status: 'done', transcript: [{ role: 'user' }] },
    },
    event: {
      type: 'post_call_transcription',
      data: { status: 'done', transcript: [{ role: 'user' }] },
    },
  },
  {
    platform: 'bland',
    callIds: ['b-1'],
    header: ['authorization', 'read-key'],
    answers: { '/v1/calls/b-1': { call_id: 'b-1', completed: true, transcripts: [] } },
    event: { call_id: 'b-1', completed: true, transcripts: [] },
  },
  {
    platform: 'telnyx',
    callIds: ['v3:c/1', 'leg'],
    header: ['authorization', 'Bearer read-key'],
    answers: {
      '/v2/ai/conversations?metadata-%3Ecall_control_id=eq.v3%3Ac%2F1': { data: [{ id: 'n-1' }] },
      '/v2/ai/conversations/n-1/messages?page%5Bsize%5D=100': {
        data: [{ role: 'user', text: 'stop', sent_at: 'x' }],
      },
    },
    event: {
      data: {
        event_type: 'call.ai_gather.ended',
        payload: {
          call_control_id: 'v3:c/1',
          to: `+1${number}`,
          message_history: [{ role: 'user', content: 'stop' }],
        },
      },
    },
  },
  {
    platform: 'twilio',
    callIds: ['CA1'],
    readKey: 'AC1:token',
    header: ['authorization', `Basic ${Buffer.from('AC1:token').toString('base64')}`],
    answers: {
      '/2010-04-01/Accounts/AC1/Calls/CA1/Recordings.json': { recordings: [{ sid: 'RE1' }] },
      '/2010-04-01/Accounts/AC1/Recordings/RE1/Transcriptions.json': {
        transcriptions: [{ transcription_text: 'stop' }, { transcription_text: null }],
      },
    },
    event: 'CallSid=CA1&To=%2B12125550106&Direction=outbound-api&TranscriptionText=stop',
  },
  {
    platform: 'signalwire',
    callIds: ['s-1'],
    readKey: 'project:token',
    header: ['authorization', `Basic ${Buffer.from('project:token').toString('base64')}`],
    answers: {
      '/api/laml/2010-04-01/Accounts/project/Calls/s-1/Recordings.json': {
        recordings: [{ sid: 'r-1' }],
      },
      '/api/laml/2010-04-01/Accounts/project/Recordings/r-1/Transcriptions.json': {
        transcriptions: [{ transcription_text: 'stop' }],
      },
    },
    event: 'CallSid=s-1&To=%2B12125550106&Direction=outbound-api&TranscriptionText=stop',
  },
]

describe.each(cases)('the words of a call of $platform', ({ platform, ...one }) => {
  test('are fetched and handed on once', async () => {
    gate.due = [{ decisionId: '0a', number, callIds: one.callIds }]
    upstream.answers = ({ url }) => one.answers[url]
    await start(platform, one.readKey)
    const [event] = stored
    expect(stored).toHaveLength(1)
    expect(event).toMatchObject({ platform, query: 'callgateDecision=0a', delivery: 'fetched' })
    expect(event?.receivedAt).toBe('2026-11-23T17:00:00Z')
    const body = event?.body ?? ''
    expect(typeof one.event === 'string' ? body : JSON.parse(body)).toEqual(one.event)
    expect(marked()).toEqual(['0a'])
    for (const { method, headers } of upstream.received) {
      expect([method, headers[one.header[0]]]).toEqual(['GET', one.header[1]])
    }
    expect(logLines.join('')).not.toContain(one.readKey ?? 'read-key')
  })

  test('are not asked for again if the platform does not have the call', async () => {
    gate.due = [
      { decisionId: '0a', number, callIds: one.callIds },
      { decisionId: '0b', number, callIds: [] },
    ]
    upstream.answers = () => undefined
    await start(platform, one.readKey)
    expect(stored).toEqual([])
    expect(marked()).toEqual(['0a', '0b'])
  })
})

test.each([
  ['retell', { call_id: 'x', call_status: 'ongoing' }],
  ['retell', { call_id: 'x', call_status: 'registered' }],
  ['retell', { call_id: 'x' }],
  ['vapi', { id: 'x', status: 'in-progress' }],
  ['vapi', { id: 'x', status: 'forwarding' }],
  ['elevenlabs', { status: 'processing' }],
  ['bland', { call_id: 'x', completed: false }],
] as const)(
  'a call of %s that lasts is asked about in the next round: %j',
  async (platform, call) => {
    gate.due = [{ decisionId: '0a', number, callIds: ['x'] }]
    upstream.answers = () => call
    await start(platform)
    expect([stored, marked()]).toEqual([[], []])
    const asked = upstream.received.length
    await round(nextRound)
    expect(upstream.received.length).toBe(asked * 2)
  },
)

test('a call of Retell is found by its decision, if no id is known or only that of a batch', async () => {
  gate.due = [
    { decisionId: '0a', number },
    { decisionId: '0b', number, callIds: ['batch_call_1'] },
  ]
  upstream.answers = ({ url, body }) => {
    const found = /"value":"(0[ab])"/.exec(body)?.[1]
    if (url === '/v3/list-calls') return { items: [{ call_id: `call_${found}` }] }
    const [, id] = /^\/v2\/get-call\/(call_0[ab])$/.exec(url) ?? []
    return id === undefined ? undefined : { call_id: id, call_status: 'ended' }
  }
  await start('retell')
  expect(stored.map(({ body }) => JSON.parse(body).call.call_id)).toEqual(['call_0a', 'call_0b'])
  const lists = upstream.received.filter(({ url }) => url === '/v3/list-calls')
  expect(JSON.parse(lists[0]?.body ?? '')).toEqual({
    filter_criteria: {
      metadata: [{ key: 'callgate_decision', type: 'string', op: 'eq', value: '0a' }],
    },
    limit: 1,
  })
})

describe('an error', () => {
  const call = { call_id: 'x', call_status: 'ended' }

  test.each([401, 403, 429, 500])('%d ends the round, and marks nothing', async (status) => {
    gate.due = ['0a', '0b'].map((decisionId) => ({ decisionId, number, callIds: ['x'] }))
    upstream.answer = { status, body: '{}' }
    await start('retell')
    expect(upstream.received).toHaveLength(1)
    expect(marked()).toEqual([])
    expect(logLines.join('')).toContain(`the platform answered with ${status}`)
    upstream.answers = () => call
    await round(nextRound)
    expect(marked().sort()).toEqual(['0a', '0b'])
  })

  test('of one call does not keep the words of the others away', async () => {
    gate.due = ['0a', '0b', '0c'].map((decisionId) => ({
      ...{ decisionId, number },
      callIds: [decisionId],
    }))
    upstream.answers = () => call
    gate.failing.set('/v1/platform-events', { status: 400, times: 1 })
    await start('retell')
    expect(marked()).toEqual([])
    await round(nextRound)
    expect(marked()).toEqual(['0b', '0c', '0a'])
  })

  test('in an answer or of the gate leaves the call due', async () => {
    gate.due = [{ decisionId: '0a', number, callIds: ['x'] }]
    upstream.answer = { status: 200, body: '<html>' }
    await start('retell')
    upstream.isBroken = true
    await round(nextRound)
    upstream.isBroken = false
    upstream.answers = () => call
    gate.failing.set('/v1/platform-events', { status: 500, times: 1 })
    await round(nextRound)
    gate.failing.set('/v1/platform-calls', { status: 500, times: 1 })
    await round(nextRound)
    expect([stored, marked()]).toEqual([[], []])
    await round(nextRound)
    expect([stored.length, marked()]).toEqual([1, ['0a']])
  })

  test('a round asks about sixty calls at most, and the next one about others', async () => {
    gate.due = Array.from({ length: 100 }, (_, index) => ({
      ...{ decisionId: `0a${index}`, number, callIds: [`x${index}`] },
    }))
    upstream.answers = () => ({ call_id: 'x', call_status: 'ongoing' })
    await start('retell')
    expect(upstream.received).toHaveLength(60)
    await round(nextRound)
    const asked = new Set(upstream.received.map(({ url }) => url))
    expect([upstream.received.length, asked.size]).toEqual([120, 100])
  })
})
