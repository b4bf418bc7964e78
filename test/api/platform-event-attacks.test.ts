/** Events of voice platforms that come late, fail, are odd, or could be of several calls. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openErasures } from '../../src/app/journal/erasures.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { msPerHour, msPerMinute } from '../../src/domain/time/dates.js'
import { createPlatformDoor, spoken } from '../support/platform-door.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const { nextNumber, nextId, decide, register, send, place, unclear, dismissAll, outcomeOf } =
  createPlatformDoor(() => running)

const status = (CallSid: string, CallStatus: string, number: string) =>
  new URLSearchParams({
    ...{ CallSid, CallStatus, Direction: 'outbound-api', To: `+1${number}`, From: '+12125550117' },
  }).toString()
const telnyx = (event_type: string, payload: object) =>
  JSON.stringify({ data: { event_type, payload } })

/** As a server leaves them that ends before it has worked on what it has read. */
async function leave(events: readonly object[]): Promise<void> {
  const { db } = running.callgate.storage
  const at = running.clock.at
  const rows = events.map((event) => ({
    stored: { account_id: 'sandbox', platform: 'twilio', received_at: at, stored_at: at },
    id: nextId('left-'),
    content: JSON.stringify({ type: 'x', kind: 'call', direction: 'unknown', ...event }),
  }))
  const read = { key_id: 'key-x', body: '""', query: '""', read_at: at }
  await db
    .insertInto('platform_events')
    .values(rows.map(({ stored, id }) => ({ ...stored, ...read, id })))
    .execute()
  const part = { part: 0, state: 'new' as const, is_whole: 0 }
  await db
    .insertInto('platform_event_parts')
    .values(rows.map(({ stored, id, content }) => ({ ...stored, ...part, event_id: id, content })))
    .execute()
}

const restartAt = async (at: number) => {
  const { dataDir } = running
  await running.stop()
  running = await openTestCallgate({ dataDir, at })
}

describe('two calls to a number within four hours', () => {
  it('keep their outcomes when the id of the first comes after the second was allowed', async () => {
    const number = nextNumber()
    const first = await place('twilio', undefined, number)
    running.clock.at += msPerMinute
    const second = await place('twilio', undefined, number)
    const sid = nextId('CA')
    await send('twilio', status(sid, 'ringing', number))
    await register('twilio', { decisionId: first.id, number, callIds: [sid] })
    await send('twilio', status(sid, 'in-progress', number))
    expect(await outcomeOf(first.id)).toMatchObject({ state: 'answered' })
    expect(await outcomeOf(second.id)).toBeUndefined()
  })
})

describe.each([true, false])('numbers that one request of Telnyx dials', (hasOurState) => {
  it(`are told apart in one session, ${hasOurState ? 'with' : 'without'} our state`, async () => {
    const calls = [await place('telnyx'), await place('telnyx')] as const
    const callgateDecision = Object.fromEntries(calls.map(({ id, number }) => [`+1${number}`, id]))
    const state = hasOurState ? { callgateDecision } : { lead: 7 }
    const client_state = Buffer.from(JSON.stringify(state)).toString('base64')
    const call_session_id = nextId('session-')
    const legs = calls.map(({ number }) => ({
      ids: { call_control_id: nextId('v3:'), call_session_id, client_state },
      numbers: { from: '+12125550117', to: `+1${number}` },
    }))
    const tell = (leg: number, event_type: string, more: object = {}) =>
      send('telnyx', telnyx(event_type, { ...legs[leg]?.ids, ...more }))
    await tell(0, 'call.initiated', { ...legs[0]?.numbers, direction: 'outgoing' })
    // Without our state, nothing tells it from a key of the target of a transfer.
    if (hasOurState) await tell(1, 'call.dtmf.received', { digit: '9' })
    await tell(1, 'call.initiated', { ...legs[1]?.numbers, direction: 'outgoing' })
    await tell(1, 'call.answered', legs[1]?.numbers)
    await tell(0, 'call.hangup', { ...legs[0]?.numbers, hangup_cause: 'originator_cancel' })
    await tell(1, 'call.transcription', { transcription_data: { transcript: 'stop calling me' } })
    expect(await outcomeOf(calls[0].id)).toMatchObject({ state: 'failed' })
    expect(await outcomeOf(calls[1].id)).toMatchObject({ state: 'answered' })
    expect(await decide(calls[0].number)).toMatchObject({ decision: 'allow' })
    expect(await decide(calls[1].number)).toMatchObject({ reason: 'internal-dnc' })
    expect(await unclear()).toEqual([])
  })
})

describe('an opt-out', () => {
  it('that is said again after it was taken back ends calls again', async () => {
    const sid = nextId('CA')
    const { number } = await place('twilio', [sid])
    await send('twilio', spoken(sid, 'please stop calling me', { SequenceId: '1' }))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    await running.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=remove`)
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    // What was said before is no new opt-out.
    await send('twilio', spoken(sid, 'hello', { SequenceId: '2' }))
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    running.clock.at += 1_000
    await send('twilio', spoken(sid, 'no I said stop calling me', { SequenceId: '3' }))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
  })

  it.each(['0000000000', '9995550100', '2121115555', '8005550100'])(
    'from %s, which nobody has, is in force',
    async (number) => {
      const text = `MessageSid=${nextId('SM')}&From=%2B1${number}&To=%2B12125550117&Body=stop+calling+me`
      await send('twilio', text)
      const { db } = running.callgate.storage
      const said = db.selectFrom('opt_out_statements').selectAll().where('number', '=', number)
      expect(await said.execute()).toHaveLength(1)
    },
  )

  it.each(['a\0b', 'ünï', '\u{1f600}'.repeat(100), '__proto__', 'constructor', '   z'])(
    'in a call with the id %j is in force',
    async (call_id) => {
      const { number, id } = await place('retell')
      const started = { call_id, direction: 'outbound', metadata: { callgate_decision: id } }
      await send('retell', JSON.stringify({ event: 'call_started', call: started }))
      const transcript_object = [{ role: 'user', content: 'stop calling me' }]
      const updated = { call_id, transcript_object }
      await send('retell', JSON.stringify({ event: 'transcript_updated', call: updated }))
      expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    },
  )
})

describe('a hold', () => {
  it('does not end when the number is erased, but when the id of the call is known', async () => {
    const { id: decisionId, number } = await place('telnyx')
    const call_control_id = nextId('v3:')
    await send('telnyx', telnyx('call.dtmf.received', { call_control_id, digit: '9' }))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    const noDecisions = { includesAllowed: false, keepYears: 5 }
    const asked = { accountId: undefined, requestedBy: 'tester', reason: undefined }
    const erasures = openErasures(running.callgate)
    await erasures.request({ number: toPhoneNumber(number), ...asked, ...noDecisions })
    running.callgate.pauses.forget()
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    await register('telnyx', { decisionId, number, callIds: [call_control_id] })
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    expect(await unclear()).toEqual([])
  })
})

describe('a text that is neither JSON nor a form', () => {
  it('is listed if it has the words of an opt-out', async () => {
    for (const text of ['stop calling me', '"stop calling me now"']) {
      await send('vapi', text)
      expect(await unclear()).toMatchObject([{ kind: 'unjoined' }])
      await dismissAll()
    }
  })
})

describe('a list of thousands of events', () => {
  it('is one that nobody can read', async () => {
    await send('retell', `[${'{},'.repeat(3_000)}{"x":"stop calling me"}]`)
    const { db } = running.callgate.storage
    const parts = db.selectFrom('platform_event_parts').select('part').where('part', '>', 0)
    expect(await parts.execute()).toEqual([])
    expect(await unclear()).toMatchObject([{ kind: 'unjoined' }])
    await dismissAll()
  })
})

describe('the calls that are due', () => {
  const due = async () => {
    const response = await running.get('/v1/platform-calls?platform=retell&due=fetch')
    const { calls } = (await response.json()) as { calls: readonly { decisionId: string }[] }
    return calls.map(({ decisionId }) => decisionId)
  }

  it('are first those that have ended, however many last', async () => {
    const start = running.clock.at
    const lasting = Array.from({ length: 100 }, () => ({
      ...{ decisionId: nextId('later-'), number: '2125550100', callIds: [nextId('c')] },
    }))
    await register('retell', ...lasting)
    const callId = nextId('c')
    const { id } = await place('retell', [callId])
    await send('retell', JSON.stringify({ event: 'call_ended', call: { call_id: callId } }))
    running.clock.at = start + 2 * msPerHour
    expect((await due())[0]).toBe(id)
    await running.setBack(start)
  })
})

describe('after a restart', () => {
  it('what was pressed is in force although the id of the call comes a day later', async () => {
    const call_control_id = nextId('v3:')
    const { id: decisionId, number } = await place('telnyx')
    await send('telnyx', telnyx('call.dtmf.received', { call_control_id, digit: '9' }))
    expect(await unclear()).toMatchObject([{ kind: 'unjoined' }])
    await restartAt(running.clock.at + 25 * msPerHour)
    // The events that wait have been looked at.
    await expect
      .poll(async () => (await running.get('/metrics')).text())
      .toMatch(/callgate_unclear_opt_outs\{[^}]*telnyx[^}]*\} 1/)
    await register('telnyx', { decisionId, number, callIds: [call_control_id] })
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    expect(await unclear()).toEqual([])
  })

  it('a hundred events that fail do not keep out the next', async () => {
    const failing = Array.from({ length: 101 }, () => nextId('CA'))
    const calls = failing.map((id) => ({
      ...{ decisionId: nextId('gone-'), number: '2125550100', callIds: [id] },
    }))
    await register('twilio', ...calls)
    const outcome = { state: 'answered' }
    await leave(failing.map((id) => ({ callIds: [id], utterances: [], outcome })))
    running.clock.at += 1_000
    const sid = nextId('CA')
    const { number } = await place('twilio', [sid])
    const utterances = [{ speaker: 'person', text: 'stop calling me' }]
    await leave([{ callIds: [sid], utterances }])
    await restartAt(running.clock.at)
    await expect.poll(async () => (await decide(number)).reason).toBe('internal-dnc')
  })
})
