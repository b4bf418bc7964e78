/** What voice platforms say of calls: stored first, joined to its call, in force for the person. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatInstant, msPerHour, msPerMinute } from '../../src/domain/time/dates.js'
import { fetchMetrics } from '../support/fresh-metrics.js'
import { createPlatformDoor, spoken } from '../support/platform-door.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
  const callerIds = [{ number: callerId, owner: 'us', proof: 'bill' }]
  expect((await running.postJson('/v1/caller-ids', { callerIds })).status).toBe(200)
})
afterAll(() => running.end())

/** Of ours. */
const callerId = '2125550117'

const door = createPlatformDoor(() => running)
const { nextNumber, nextId, decide, register, send, place } = door
const { list, unclear, resolve, dismissAll, outcomeOf } = door

const retell = (call: object, event = 'call_ended') => JSON.stringify({ event, call })
const says = (...content: readonly string[]) => ({
  transcript_object: content.map((text) => ({ role: 'user', content: text })),
})

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
      message: expect.stringContaining('in a call that is not known yet'),
    })
    await register('twilio', { decisionId: id, number, callIds: [sid] })
    expect(await unclear()).toEqual([])
    const next = await decide(number)
    expect(next).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
    expect(next.message).not.toContain('in a call that is not known yet')
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
    await send('twilio', spoken(sid, 'please do not'))
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    running.clock.at += 1
    await send('twilio', spoken(sid, 'or press', { Track: 'outbound_track' }))
    running.clock.at += 1
    await send('twilio', spoken(sid, 'call me again'))
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
      {
        source: 'transcript',
        channel: 'call-voice',
        said: expect.stringContaining('stop calling'),
      },
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

describe('the person', () => {
  const ours = nextNumber()

  it.each([
    [
      'calls us',
      (from: string) =>
        retell({
          direction: 'inbound',
          call_id: nextId('call_'),
          from_number: from,
          to_number: ours,
          ...says('stop calling me'),
        }),
      'retell',
    ],
    [
      'calls us, and the words come later',
      (from: string) =>
        retell(
          {
            direction: 'inbound',
            call_id: nextId('call_'),
            from_number: from,
            to_number: ours,
            ...says('stop calling me'),
          },
          'call_analyzed',
        ),
      'retell',
    ],
    [
      'writes to us',
      (from: string) =>
        `MessageSid=${nextId('SM')}&From=%2B1${from}&To=%2B1${ours}&Body=stop+calling+me`,
      'twilio',
    ],
    [
      'writes what the platform takes for an opt-out',
      (from: string) =>
        `MessageSid=${nextId('SM')}&From=%2B1${from}&To=%2B1${ours}&Body=Basta&OptOutType=STOP`,
      'twilio',
    ],
  ])('is the one who %s', async (_, write, platform) => {
    const number = nextNumber()
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    await send(platform, write(number))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    expect(await decide(ours)).toMatchObject({ decision: 'allow' })
    expect(await unclear()).toEqual([])
  })

  it('is the one of the decision, whatever number an event of its call names', async () => {
    const { id, number } = await place('retell')
    const other = nextNumber()
    const metadata = { callgate_decision: id }
    await send(
      'retell',
      retell({ call_id: nextId('c'), metadata, to_number: other, ...says('stop calling me') }),
    )
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    expect(await decide(other)).toMatchObject({ decision: 'allow' })
  })

  it('is never one of our own numbers: that is unclear until a person names the right one', async () => {
    const own = nextNumber()
    const person = nextNumber()
    const added = await running.postJson('/v1/caller-ids', {
      callerIds: [{ number: own, owner: 'us', proof: 'bill' }],
    })
    expect([added.status, await added.text()]).toEqual([200, expect.anything()])
    await send(
      'retell',
      retell({
        ...{ direction: 'outbound', call_id: nextId('call_'), to_number: own },
        ...says('stop calling me'),
      }),
    )
    await send(
      'twilio',
      `MessageSid=${nextId('SM')}&From=%2B1${ours}&To=%2B1${ours}&Body=stop+calling+me`,
    )
    const found = await unclear()
    expect(found).toMatchObject([
      { kind: 'own-number', number: null },
      { kind: 'own-number', number: null },
    ])
    expect(await decide(own)).toMatchObject({ decision: 'allow' })
    const id = found[0]?.id ?? ''
    const refused = await resolve(id, { action: 'confirm' })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('must be a North American telephone number')
    expect((await resolve(id, { action: 'confirm', number: person })).status).toBe(200)
    expect(await decide(person)).toMatchObject({ reason: 'internal-dnc' })
    expect((await resolve(id, { action: 'dismiss' })).status).toBe(404)
    await dismissAll()
  })
})

const telnyx = (event_type: string, payload: object) =>
  JSON.stringify({ data: { event_type, payload } })
const telnyxSays = (ids: object, transcript: string, more: object = {}) =>
  telnyx('call.transcription', { ...ids, transcription_data: { transcript, ...more } })
const telnyxIds = (session = nextId('session-')) => ({
  call_control_id: nextId('v3:'),
  call_leg_id: nextId('leg-'),
  call_session_id: session,
})
const unlisted = '2125550118'

describe('the direction of a call', () => {
  it('is known by a number that the platform was allowed to dial', async () => {
    for (const direction of ['to', 'from'] as const) {
      const { id, number } = await place('telnyx')
      const ids = telnyxIds()
      const [from, to] = direction === 'to' ? [unlisted, number] : [number, unlisted]
      await send('telnyx', telnyxSays(ids, 'stop calling me'))
      expect(await unclear()).toMatchObject([{ kind: 'unjoined' }])
      await send('telnyx', telnyx('call.answered', { ...ids, from: `+1${from}`, to: `+1${to}` }))
      expect(await unclear()).toEqual([])
      expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
      // A call back is no call of ours.
      const outcome = direction === 'to' ? { state: 'answered' } : undefined
      expect(await outcomeOf(id)).toEqual(outcome && expect.objectContaining(outcome))
    }
    expect(await decide(unlisted)).toMatchObject({ decision: 'allow' })
  })

  it('is known by a caller ID of ours', async () => {
    for (const person of ['from', 'to'] as const) {
      const number = nextNumber()
      const numbers = { from: `+1${callerId}`, to: `+1${callerId}`, [person]: `+1${number}` }
      const [from_number, to_number] = [numbers.from, numbers.to]
      await send(
        'retell',
        retell({ call_id: nextId('call_'), from_number, to_number, ...says('stop calling me') }),
      )
      expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
      expect(await unclear()).toEqual([])
    }
    expect(await decide(callerId)).toMatchObject({ decision: 'allow' })
  })

  it('is known by another event of the call, whichever comes first', async () => {
    for (const isFirst of [true, false]) {
      const number = nextNumber()
      const ids = { ...telnyxIds(), from: `+1${number}`, to: `+1${unlisted}` }
      const events = [
        telnyx('call.initiated', { ...ids, direction: 'incoming' }),
        telnyx('call.dtmf.received', { ...ids, digit: '9' }),
        telnyx('call.hangup', { ...ids, hangup_cause: 'normal_clearing' }),
      ]
      for (const event of isFirst ? events : events.reverse()) await send('telnyx', event)
      expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
      expect(await unclear()).toEqual([])
    }
    expect(await decide(unlisted)).toMatchObject({ decision: 'allow' })
  })

  it('is unknown, and nobody opts out, if nothing tells which of two numbers is ours', async () => {
    const numbers = [nextNumber(), nextNumber()]
    const [from_number, to_number] = numbers.map((number) => `+1${number}`)
    await send(
      'retell',
      retell({ call_id: nextId('call_'), from_number, to_number, ...says('stop calling me') }),
    )
    expect(await unclear()).toMatchObject([{ kind: 'unjoined', number: null }])
    for (const number of numbers) {
      expect(await decide(number)).toMatchObject({ decision: 'allow' })
    }
    await dismissAll()
  })
})

describe('another leg of a session', () => {
  const session = nextId('session-')
  const target = telnyxIds(session)

  it.each([
    ['says', telnyxSays(target, 'stop calling me')],
    ['presses', telnyx('call.dtmf.received', { ...target, digit: '9' })],
    ['answers', telnyx('call.answered', target)],
    ['is called', telnyx('call.initiated', { ...target, direction: 'outgoing', to: unlisted })],
  ])('does not count for the person, whatever it %s', async (_, event) => {
    const ids = telnyxIds(nextId('session-'))
    const { id, number } = await place('telnyx', Object.values(ids))
    await send('telnyx', event.replaceAll(session, ids.call_session_id))
    expect(await outcomeOf(id)).not.toMatchObject({ state: 'answered' })
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    expect(await unclear()).toEqual([])
    await send('telnyx', telnyxSays(ids, 'stop calling me'))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
  })

  it('is none of a person who called us either', async () => {
    const number = nextNumber()
    const ids = telnyxIds()
    const calls = { ...ids, from: `+1${number}`, to: `+1${unlisted}`, direction: 'incoming' }
    await send('telnyx', telnyx('call.initiated', calls))
    await send('telnyx', telnyxSays(telnyxIds(ids.call_session_id), 'stop calling me'))
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    expect(await unclear()).toEqual([])
    await send('telnyx', telnyxSays(ids, 'stop calling me'))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
  })
})

describe('words', () => {
  it('that are not final are read alone', async () => {
    const sid = nextId('CA')
    const { number } = await place('twilio', [sid])
    await send('twilio', spoken(sid, 'please do not', { Final: 'false' }))
    await send('twilio', spoken(sid, 'call me again', { Final: 'true' }))
    await send('twilio', spoken(sid, 'tomorrow', { Final: 'false' }))
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    await send('twilio', spoken(sid, 'please do not call me again', { Final: 'false' }))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
  })

  it('are read in the order in which they were said', async () => {
    const sid = nextId('CA')
    const { number } = await place('twilio', [sid])
    await send('twilio', spoken(sid, 'call me again', { SequenceId: '3' }))
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    await send('twilio', spoken(sid, 'please do not', { SequenceId: '2' }))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
  })

  it('are found although a list of all words came between them', async () => {
    const call = { id: nextId('call-') }
    const { number } = await place('vapi', [call.id])
    const message = (fields: object) =>
      send('vapi', JSON.stringify({ message: { call, ...fields } }))
    const say = (transcript: string) =>
      message({ type: 'transcript', role: 'user', transcriptType: 'final', transcript })
    await say('please do not')
    const messages = [{ role: 'user', message: 'hello' }]
    running.clock.at += 1
    await message({ type: 'conversation-update', messages })
    running.clock.at += 1
    await say('call me again')
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
  })

  it.each([
    ['null', null],
    ['empty', ''],
    ["the customer's own", 'eyJsZWFkIjo3fQ=='],
    ['not Base64', '%%%'],
  ])('are joined by the id of the call where the state of the client is %s', async (_, state) => {
    const ids = telnyxIds()
    const { id, number } = await place('telnyx', Object.values(ids))
    await send('telnyx', telnyxSays({ ...ids, client_state: state }, 'please stop calling me'))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    expect(await outcomeOf(id)).toMatchObject({ state: 'answered' })
    expect(await unclear()).toEqual([])
  })
})

const livekit = (disconnectReason: string, callStatus: string) => (id: string) =>
  JSON.stringify({
    event: 'participant_left',
    participant: {
      sid: id,
      attributes: { 'sip.callID': `SCL_${id}`, 'sip.callStatus': callStatus },
      disconnectReason,
    },
  })
const vapiEnd =
  (endedReason: string, artifact: object = {}) =>
  (id: string) =>
    JSON.stringify({ message: { type: 'end-of-call-report', endedReason, call: { id }, artifact } })
const retellEnd = (disconnection_reason: string, more: object) => (call_id: string) =>
  retell({ call_id, disconnection_reason, ...more })

describe('a call that ends with an error', () => {
  it.each<readonly [string, string, (id: string) => string, string]>([
    [
      'with words after 40 seconds',
      'retell',
      retellEnd('error_asr', { ...says('hello'), duration_ms: 40_000 }),
      'answered',
    ],
    ['without words', 'retell', retellEnd('error_asr', { duration_ms: 40_000 }), 'answered'],
    ['nobody has heard of', 'retell', retellEnd('error_of_tomorrow', {}), 'answered'],
    [
      'in progress',
      'vapi',
      vapiEnd('call.in-progress.error-providerfault-openai-llm-failed'),
      'answered',
    ],
    ['in progress, in the air', 'vapi', vapiEnd('call.in-progress.error-sip-inbound'), 'answered'],
    ['nobody has heard of', 'vapi', vapiEnd('error-of-tomorrow'), 'answered'],
    ['CONNECTION_TIMEOUT', 'livekit', livekit('CONNECTION_TIMEOUT', 'active'), 'answered'],
    ['SIP_TRUNK_FAILURE', 'livekit', livekit('SIP_TRUNK_FAILURE', 'active'), 'answered'],
    ['while it rings', 'livekit', livekit('USER_UNAVAILABLE', 'ringing'), 'failed'],
    ['nobody answers', 'retell', retellEnd('dial_no_answer', {}), 'failed'],
    ['nobody answers', 'vapi', vapiEnd('customer-did-not-answer'), 'failed'],
  ])('%s on %s is what the platform shows of it', async (_, platform, write, state) => {
    const callId = nextId('c')
    const { id } = await place(platform, [callId])
    await send(platform, write(callId))
    expect(await outcomeOf(id)).toMatchObject({ state })
  })

  it.each([['failed'], ['busy'], ['no-answer'], ['canceled']])(
    'was answered if another event says so, although %s came first',
    async (status) => {
      const sid = nextId('CA')
      const { id } = await place('twilio', [sid])
      await send('twilio', `CallSid=${sid}&CallStatus=${status}`)
      expect(await outcomeOf(id)).toMatchObject({ state: 'failed' })
      await send('twilio', `CallSid=${sid}&CallStatus=in-progress`)
      expect(await outcomeOf(id)).toMatchObject({ state: 'answered' })
      await send('twilio', `CallSid=${sid}&CallStatus=failed&again=1`)
      expect(await outcomeOf(id)).toMatchObject({ state: 'answered' })
    },
  )
})

describe('an unclear opt-out', () => {
  it('is a summary: in force only when a person confirms it', async () => {
    const call_id = nextId('call_')
    const { id, number } = await place('retell', [call_id])
    const call_analysis = { call_summary: 'The customer said to stop calling.' }
    for (let again = 0; again < 2; again += 1) {
      await send('retell', retell({ call_id, call_analysis }, 'call_analyzed'))
    }
    const [found, ...others] = await unclear()
    expect(others).toEqual([])
    expect(found).toMatchObject({ kind: 'summary', number, decisionId: id, heldNumbers: 0 })
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    expect((await resolve(found?.id ?? '', { action: 'confirm' })).status).toBe(200)
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    expect(await unclear()).toEqual([])
  })

  it('that is dismissed does not come again with the same event', async () => {
    const call_id = nextId('call_')
    const { number } = await place('retell', [call_id])
    const event = retell(
      { call_id, call_analysis: { call_summary: 'do not call' } },
      'call_analyzed',
    )
    await send('retell', event)
    await dismissAll()
    await send('retell', event)
    expect(await unclear()).toEqual([])
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
  })

  it('is not known to another account, which can neither confirm nor dismiss it', async () => {
    await send('twilio', spoken(nextId('CA'), 'stop calling me'))
    const [{ id = '' } = {}] = await unclear()
    const other = running.keys.main
    const listed = await running.get('/v1/unclear-opt-outs', other)
    expect(await listed.json()).toMatchObject({ unclear: [] })
    const path = `/v1/unclear-opt-outs/${id}`
    expect((await running.postJson(path, { action: 'dismiss' }, other)).status).toBe(404)
    expect((await unclear()).map((one) => one.id)).toEqual([id])
    await dismissAll()
  })
})

describe('a hold', () => {
  it('is on the numbers that the platform was allowed to dial in four hours, and has no id of', async () => {
    const start = running.clock.at
    const old = await place('twilio')
    running.clock.at = start + 4 * msPerHour + msPerMinute
    const [held, named, elsewhere] = [
      await place('twilio'),
      await place('twilio', [nextId('CA')]),
      await place('retell'),
    ]
    await send('twilio', spoken(nextId('CA'), 'stop calling me'))
    running.clock.at += 1
    const later = await place('twilio')
    expect(await decide(held.number)).toMatchObject({ reason: 'internal-dnc' })
    for (const { number } of [old, named, elsewhere, later]) {
      expect(await decide(number)).toMatchObject({ decision: 'allow' })
    }
    const preview = await running.postJson('/v1/decisions/preview', {
      numbers: [held.number],
      callKind: 'manual',
    })
    expect(await preview.text()).toContain('internal-dnc')
    await dismissAll()
    expect(await decide(held.number)).toMatchObject({ decision: 'allow' })
    await running.setBack(start)
  })

  it('ends for a call whose id is known to be another', async () => {
    const { id, number } = await place('twilio')
    await send('twilio', spoken(nextId('CA'), 'stop calling me'))
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    await register('twilio', { decisionId: id, number, callIds: [nextId('CA')] })
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    expect(await unclear()).toMatchObject([{ kind: 'unjoined' }])
    await dismissAll()
  })

  it('survives a restart, and what was stored and not read is read', async () => {
    const { callgate } = running
    const sid = nextId('CA')
    const { id, number } = await place('twilio')
    const other = await place('twilio', [nextId('CA')])
    await send('twilio', spoken(sid, 'stop calling me'))
    // As a server leaves it that ends between storing and reading.
    const [otherSid] = await callgate.storage.db
      .selectFrom('platform_call_ids')
      .select('call_id')
      .where('call', '=', other.id)
      .execute()
    await callgate.storage.db
      .insertInto('platform_events')
      .values({
        ...{ account_id: 'sandbox', id: 'left', platform: 'twilio', key_id: 'key-x' },
        ...{ received_at: running.clock.at, stored_at: running.clock.at },
        body: JSON.stringify(spoken(otherSid?.call_id ?? '', 'stop calling me')),
        query: '""',
      })
      .execute()
    const { dataDir } = running
    await running.stop()
    running = await openTestCallgate({ dataDir, at: running.clock.at })
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    await register('twilio', { decisionId: id, number, callIds: [sid] })
    expect(await unclear()).toEqual([])
    expect(await decide(number)).toMatchObject({ reason: 'internal-dnc' })
    await expect.poll(async () => (await decide(other.number)).reason).toBe('internal-dnc')
  })
})

describe('the calls that are due', () => {
  const due = async (platform: string) => {
    const response = await running.get(`/v1/platform-calls?platform=${platform}&due=fetch`)
    return ((await response.json()) as { calls: readonly { decisionId: string }[] }).calls
  }

  it('are those of which no words have come, ten minutes after the end or two hours after the allow', async () => {
    const start = running.clock.at
    const ids = [nextId('v'), nextId('v'), nextId('v'), nextId('v')]
    const [ended, heard, silent, asked, batch] = [
      await place('retell', [ids[0] ?? '']),
      await place('retell', [ids[1] ?? '']),
      await place('retell', [ids[2] ?? '']),
      await place('retell', [ids[3] ?? '']),
      await place('retell'),
    ]
    await send('retell', retell({ call_id: ids[0] }))
    await send('retell', retell({ call_id: ids[1], ...says('hello') }))
    const mine = async () => {
      const own = new Set([ended, heard, silent, asked, batch].map(({ id }) => id))
      return (await due('retell')).filter(({ decisionId }) => own.has(decisionId))
    }
    expect(await mine()).toEqual([])
    running.clock.at = start + 10 * msPerMinute
    expect(await mine()).toEqual([
      { decisionId: ended.id, number: ended.number, callIds: [ids[0]] },
    ])
    running.clock.at = start + 2 * msPerHour
    await register('retell', {
      ...asked,
      decisionId: asked.id,
      id: undefined,
      fetchedAt: formatInstant(running.clock.at),
    })
    expect((await mine()).map(({ decisionId }) => decisionId)).toEqual([
      ended.id,
      silent.id,
      batch.id,
    ])
    expect((await mine()).at(-1)).toEqual({
      decisionId: batch.id,
      number: batch.number,
      callIds: [],
    })
    await send('retell', retell({ call_id: ids[2], ...says('stop calling me') }), {
      delivery: 'fetched',
    })
    expect(await decide(silent.number)).toMatchObject({ reason: 'internal-dnc' })
    await running.setBack(start)
  })
})

describe('a platform', () => {
  it('is deaf when no event comes, or no word in twenty answered calls', async () => {
    const start = running.clock.at
    for (let call = 0; call < 3; call += 1) await place('elevenlabs')
    running.clock.at = start + msPerHour
    const problems = async () =>
      new Map((await list()).platforms.map(({ platform, problem }) => [platform, problem]))
    expect((await problems()).get('elevenlabs')).toBe(
      '3 calls were placed in the last day, but no event has come',
    )
    for (let call = 0; call < 20; call += 1) {
      const sid = nextId('CA')
      await place('signalwire', [sid])
      await running.callgate.storage.db
        .updateTable('platform_calls')
        .set({ answered_at: running.clock.at + call, ended_at: running.clock.at + call })
        .where('platform', '=', 'signalwire')
        .where('answered_at', 'is', null)
        .execute()
    }
    expect((await problems()).get('signalwire')).toBe(
      'none of the last 20 answered calls had words of a person',
    )
    await running.setBack(start)
  })

  it('reports refused signatures, which are counted, and whether it can be asked', async () => {
    const report = (body: object) => running.postJson('/v1/platform-reports', body)
    expect((await report({ platform: 'bland', canFetch: false })).status).toBe(200)
    const metrics = () => fetchMetrics(running.url)
    const counter = 'callgate_platform_refused_signatures_total{platform="bland"}'
    expect(await metrics()).toContain(`${counter} 0`)
    expect((await report({ platform: 'bland', refusedSignatures: 3 })).status).toBe(200)
    expect(await metrics()).toContain(`${counter} 3`)
    expect((await list()).platforms).toContainEqual(
      expect.objectContaining({ platform: 'bland', canFetch: false }),
    )
    expect((await report({ platform: 'carrier pigeon' })).status).toBe(400)
    expect((await report({ platform: 'bland', refusedSignatures: -1 })).status).toBe(400)
  })
})
