/** What voice platforms say of calls: stored first, joined to its call, in force for the person. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { msPerDay, msPerHour, msPerMinute } from '../../src/domain/time/dates.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

let lastNumber = 0
/** One that no other test calls. */
const nextNumber = () => `212555${String(1_000 + ++lastNumber)}`
let lastId = 0
const nextId = (prefix: string) => `${prefix}${++lastId}`

interface Decided {
  readonly id: string
  readonly decision: string
  readonly reason: string
  readonly message: string
}

async function decide(number: string, more: object = {}): Promise<Decided> {
  const call = { number, callKind: 'manual', ...more }
  return (await (await running.postJson('/v1/decisions', call)).json()) as Decided
}

async function register(platform: string, ...calls: readonly object[]): Promise<void> {
  const response = await running.postJson('/v1/platform-calls', { platform, calls })
  expect(await response.text()).toBe('{"recorded":true}')
}

async function send(platform: string, body: string, more: object = {}): Promise<void> {
  const receivedAt = new Date(running.clock.at).toISOString()
  const event = { platform, receivedAt, body, query: '', ...more }
  const response = await running.postJson('/v1/platform-events', event)
  expect(await response.text()).toBe('{"recorded":true}')
}

const spoken = (CallSid: string, transcript: string, more: object = {}) =>
  new URLSearchParams({
    ...{ TranscriptionEvent: 'transcription-content', CallSid, Track: 'inbound_track' },
    TranscriptionData: JSON.stringify({ transcript }),
    ...more,
  }).toString()

const retell = (call: object, event = 'call_ended') => JSON.stringify({ event, call })
const says = (...content: readonly string[]) => ({
  transcript_object: content.map((text) => ({ role: 'user', content: text })),
})

interface Unclear {
  readonly id: string
  readonly kind: string
  readonly number: string | null
  readonly said: string | null
  readonly decisionId: string | null
  readonly heldNumbers: number
}

async function list() {
  const response = await running.get('/v1/unclear-opt-outs')
  return (await response.json()) as {
    readonly unclear: readonly Unclear[]
    readonly platforms: readonly { readonly platform: string; readonly problem: string | null }[]
  }
}
const unclear = async () => (await list()).unclear
const resolve = (id: string, body: object) =>
  running.postJson(`/v1/unclear-opt-outs/${id}`, body)
const dismissAll = async () => {
  for (const { id } of await unclear()) await resolve(id, { action: 'dismiss' })
}

/** An allowed call that the proxy has passed on. */
async function place(platform: string, callIds?: readonly string[], number = nextNumber()) {
  const { id, decision, message } = await decide(number)
  expect([decision, message]).toEqual(['allow', expect.anything()])
  await register(platform, { decisionId: id, number })
  if (callIds) await register(platform, { decisionId: id, number, callIds })
  return { id, number }
}

const outcomeOf = async (id: string) =>
  ((await (await running.get(`/v1/decisions/${id}`)).json()) as { outcome?: { state: string } })
    .outcome

describe('an event', () => {
  it('is joined by the id of the call, and its opt-out is in force with the next decision', async () => {
    const sid = nextId('CA')
    const { id, number } = await place('twilio', [sid])
    await send('twilio', spoken(sid, 'please stop calling me'))
    expect(await decide(number)).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
    expect(await outcomeOf(id)).toMatchObject({ state: 'answered' })
    expect(await unclear()).toEqual([])
  })

  it('that comes before the id of its call is joined when that arrives', async () => {
    const sid = nextId('CA')
    const { id, number } = await place('twilio')
    await send('twilio', spoken(sid, 'please stop calling me'))
    expect(await unclear()).toMatchObject([{ kind: 'unjoined', number: null, heldNumbers: 1 }])
    expect(await decide(number)).toMatchObject({
      ...{ decision: 'block', reason: 'internal-dnc' },
      message: expect.stringContaining('it is not known yet in which call'),
    })
    await register('twilio', { decisionId: id, number, callIds: [sid] })
    expect(await unclear()).toEqual([])
    const next = await decide(number)
    expect(next).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
    expect(next.message).not.toContain('it is not known yet in which call')
    expect(await outcomeOf(id)).toMatchObject({ state: 'answered' })
  })

  it('is joined by the decision in it, by another event with the same id, and by the number', async () => {
    const first = await place('twilio')
    const sid = nextId('CA')
    await send('twilio', `CallStatus=ringing&CallSid=${sid}`, {
      query: `callgateDecision=${first.id}`,
    })
    await send('twilio', spoken(sid, 'take me off your list'))
    expect(await decide(first.number)).toMatchObject({ reason: 'internal-dnc' })

    const second = await place('retell')
    const call_id = nextId('call_')
    await send('retell', retell({ call_id, to_number: `+1${second.number}` }, 'call_started'))
    expect(await outcomeOf(second.id)).toMatchObject({ state: 'answered', leg: call_id })
    await send('retell', retell({ call_id, ...says('never call me again') }))
    expect(await decide(second.number)).toMatchObject({ reason: 'internal-dnc' })
    expect(await unclear()).toEqual([])
  })

  it('has one text of a speaker: words that two events split are found', async () => {
    const sid = nextId('CA')
    const { number } = await place('twilio', [sid])
    await send('twilio', spoken(sid, 'please stop'))
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    await send('twilio', spoken(sid, 'or press', { Track: 'outbound_track' }))
    await send('twilio', spoken(sid, 'calling me'))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
  })

  it('that has all words replaces those before it', async () => {
    const call_id = nextId('call_')
    const { number } = await place('retell', [call_id])
    const updated = (...words: readonly string[]) =>
      send('retell', retell({ call_id, ...says(...words) }, 'transcript_updated'))
    await updated('yes please', 'stop')
    await updated('yes please', 'stop by tomorrow')
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    await updated('yes please', 'stop by tomorrow', 'no, do not', 'call me')
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
  })

  it('that comes twice counts once', async () => {
    const sid = nextId('CA')
    const { number } = await place('twilio', [sid])
    for (let again = 0; again < 3; again += 1) await send('twilio', spoken(sid, 'stop calling me'))
    const { db } = running.callgate.storage
    const statements = db.selectFrom('opt_out_statements').selectAll().where('number', '=', number)
    expect(await statements.execute()).toMatchObject([
      { source: 'transcript', channel: 'call-voice', said: expect.stringContaining('stop calling') },
    ])
  })

  it.each([
    ['not JSON', 'retell', '{"event": "call_en', undefined],
    ['empty', 'retell', '', undefined],
    ['a form with a broken transcript', 'twilio', 'TranscriptionData={&CallSid=1', undefined],
    ['of a platform that nothing reads', 'bland', '\0\ud800 [', undefined],
    ['not JSON, with the words of an opt-out', 'retell', '{"x": "stop calling me', 'unjoined'],
    ['4 MB', 'retell', retell({ note: 'x'.repeat(4_000_000) }), undefined],
  ])('that is %s is stored whole', async (_, platform, body, kind) => {
    await send(platform, body)
    const rows = running.callgate.storage.db.selectFrom('platform_events').select('body')
    const stored = (await rows.execute()).map((row) => JSON.parse(row.body) as string)
    expect(stored.some((one) => one === body)).toBe(true)
    expect((await unclear()).map((one) => one.kind)).toEqual(kind ? [kind] : [])
    await dismissAll()
  })
})
