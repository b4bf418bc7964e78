/**
 * Calls that we place and calls to us, as each platform reports them, at the door of the gate: in every order, with every event
 * lost once, and with every event twice.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { msPerHour } from '../../src/domain/time/dates.js'
import { type PlatformName, platformNames } from '../../src/platform-events/call-event.js'
import { createCallScripts, type EventFields, toForm } from '../support/call-scripts.js'
import { shortOrLong } from '../support/long.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
  const added = await running.postJson('/v1/caller-ids', {
    callerIds: [{ number: ourCallerId, owner: 'us', proof: 'bill' }],
  })
  expect(added.status).toBe(200)
  const lines = shortOrLong(1, 4)
  const candidates = ['0106', '0108', '0107', '0112']
    .slice(0, lines)
    .flatMap((line) => areaCodes.map((area) => `${area}555${line}`))
  people.push(...(await keepAllowed(candidates)))
  expect(people.length).toBeGreaterThan(shortOrLong(180, 400))
})
afterAll(() => running.end())

/** Neither is an opt-out alone. */
const halves = ['please do not', 'call me again'] as const
const said = halves.join(' ')

const ourCallerId = '2125550100'
/** Of ours, too, but nobody has said so. */
const ourUnlistedNumber = '2125550101'
const areaCodes = Array.from({ length: 800 }, (_, index) => index + 200)

/** Numbers of the sandbox that an AI voice may call; each is called once. */
const people: string[] = []
let lastId = 0

async function keepAllowed(numbers: readonly string[]): Promise<readonly string[]> {
  const allowed: string[] = []
  for (let at = 0; at < numbers.length; at += 100) {
    const response = await running.postJson('/v1/decisions/preview', {
      numbers: numbers.slice(at, at + 100),
      callKind: 'ai',
      callerId: ourCallerId,
    })
    const { rows } = (await response.json()) as {
      readonly rows: readonly { readonly number: string; readonly decision: string }[]
    }
    allowed.push(...rows.flatMap((one) => (one.decision === 'allow' ? [one.number] : [])))
  }
  return allowed
}

interface Decided {
  readonly id: string
  readonly decision: string
  readonly reason: string
  readonly message: string
}

async function decide(number: string, callKind = 'ai'): Promise<Decided> {
  return (await (
    await running.postJson('/v1/decisions', { number, callKind, callerId: ourCallerId })
  ).json()) as Decided
}

const optedOut = /^(?:internal-dnc|consent-revoked)$/

async function expectRecorded(path: string, body: object): Promise<void> {
  running.clock.at += 1
  const response = await running.postJson(path, body)
  expect(await response.text()).toBe('{"recorded":true}')
}

interface Call {
  readonly platform: PlatformName
  readonly person: string
  readonly own: string
  readonly decisionId: string
  readonly id: string
  /** As the platform answers to the dial request. */
  readonly callIds: readonly string[]
  readonly script: ReturnType<typeof createCallScripts>[PlatformName]
}

/** Allowed and noted by the proxy. `isReferred`: the platform repeats our reference. */
async function place(platform: PlatformName, own: string, isReferred = true): Promise<Call> {
  const person = people.pop() ?? ''
  const { id: decisionId, decision, message } = await decide(person)
  expect([decision, message]).toEqual(['allow', expect.anything()])
  await register(platform, { decisionId, number: person })
  return { ...scriptCall(platform, person, own, isReferred ? decisionId : 'theirs'), decisionId }
}

function scriptCall(platform: PlatformName, person: string, own: string, decision = ''): Call {
  const id = `${platform}-${++lastId}`
  const call = { person: `+1${person}`, own: `+1${own}`, decision, id, words: halves }
  return {
    ...{ platform, person, own, decisionId: decision, id },
    callIds: {
      twilio: [`CA${id}`],
      telnyx: [`v3:${id}`, `leg-${id}`, `session-${id}`],
      retell: [`call-${id}`],
      vapi: [`call-${id}`],
      livekit: [`PA_${id}`, `SCL_${id}`],
      elevenlabs: [`conv_${id}`, `CA${id}`],
      bland: [`b-${id}`],
      signalwire: [`s-${id}`],
    }[platform],
    script: createCallScripts(call)[platform],
  }
}

const register = (platform: PlatformName, call: object) =>
  expectRecorded('/v1/platform-calls', { platform, calls: [call] })

const toText = (event: EventFields) => (typeof event === 'string' ? event : JSON.stringify(event))

async function send(platform: PlatformName, event: EventFields, more: object = {}): Promise<void> {
  const receivedAt = new Date(running.clock.at).toISOString()
  const body = toText(event)
  await expectRecorded('/v1/platform-events', { platform, receivedAt, body, query: '', ...more })
}

/** The answer to the dial request, which the proxy hands on. */
const dialAnswer = 'the answer to the dial request'
type Step = EventFields

async function run(call: Call, steps: readonly Step[]): Promise<void> {
  const { platform, decisionId, person: number, callIds } = call
  for (const step of steps) {
    if (step === dialAnswer) await register(platform, { decisionId, number, callIds })
    else {
      // The address of a transcription is in the TwiML, which is the customer's.
      const hasReference = typeof step === 'string' && step.includes('CallStatus=')
      await send(platform, step, {
        query: hasReference && decisionId !== '' ? `callgateDecision=${decisionId}` : '',
      })
    }
  }
}

const readable = (step: Step) => decodeURIComponent(toText(step).replaceAll('+', ' '))
const isExplicit = (step: Step) => /"digit":"9"|do_not_call|"opt_out":true/.test(readable(step))
const hasWords = (step: Step) => halves.some((half) => readable(step).includes(half))
const tellOptOut = (steps: readonly Step[]) =>
  steps.some((step) => isExplicit(step) || readable(step).includes(said)) ||
  halves.every((half) => steps.some((step) => readable(step).includes(half)))

/** Nobody has answered yet when these are sent, or they do not tell. */
const withoutAnswer =
  /initiated|ringing|"created"|participant_joined|call\.hangup|the answer to the dial request/
const tellAnswer = (steps: readonly Step[]) =>
  steps.some((step) => !withoutAnswer.test(readable(step)))

async function stateOf({ decisionId }: Call): Promise<string | undefined> {
  const response = await running.get(`/v1/decisions/${decisionId}`)
  return ((await response.json()) as { outcome?: { state: string } }).outcome?.state
}

interface Unclear {
  readonly id: string
  readonly kind: string
  readonly number: string | null
}

async function takeUnclear(): Promise<readonly Unclear[]> {
  const listed = (await (await running.get('/v1/unclear-opt-outs')).json()) as {
    readonly unclear: readonly Unclear[]
  }
  for (const { id } of listed.unclear) {
    await running.postJson(`/v1/unclear-opt-outs/${id}`, { action: 'dismiss' })
  }
  return listed.unclear
}

/** What holds whatever has arrived. */
async function expectHolds(call: Call, arrived: readonly Step[]): Promise<void> {
  const found = {
    unjoined: (await takeUnclear()).filter(({ kind }) => kind !== 'summary'),
    isOptedOut: optedOut.test((await decide(call.person)).reason),
    isOurNumberBlocked: optedOut.test((await decide(call.own, 'manual')).reason),
    isAnswered: (await stateOf(call)) === 'answered',
    hasFailed: (await stateOf(call)) === 'failed',
  }
  expect(found, arrived.map(readable).join('\n')).toEqual({
    unjoined: [],
    isOptedOut: tellOptOut(arrived),
    isOurNumberBlocked: false,
    isAnswered: tellAnswer(arrived),
    hasFailed: false,
  })
}

const seed = Number(process.env.CALLGATE_TEST_SEED ?? 7)
const shuffle = (steps: readonly Step[], count: number) =>
  fc.sample(fc.shuffledSubarray([...steps], { minLength: steps.length }), { numRuns: count, seed })

const orders = shortOrLong(6, 30)

describe.each(platformNames)('a call of %s that we place', (platform) => {
  it('ends in an opt-out and is answered, in every order and with every event twice', async () => {
    for (let order = 0; order < orders; order += 1) {
      const own = order % 2 === 0 ? ourCallerId : ourUnlistedNumber
      const call = await place(platform, own, order % 3 > 0)
      const steps = [dialAnswer, ...call.script.placed]
      const isTwice = order % 2 === 1
      const shuffled = shuffle(isTwice ? [...steps, ...steps] : steps, order + 1).at(-1) ?? []
      await run(call, shuffled)
      await expectHolds(call, steps)
    }
  })

  it('loses no more than the event that is lost', async () => {
    const count = scriptCall(platform, '', '').script.placed.length + 1
    for (let lost = 0; lost < count; lost += 1) {
      const call = await place(platform, lost % 2 === 0 ? ourCallerId : ourUnlistedNumber)
      const steps = [dialAnswer, ...call.script.placed]
      const [rest = []] = shuffle(
        steps.filter((step, index) => index !== lost && !/dtmf|insights/.test(toText(step))),
        1,
      )
      await run(call, rest)
      await expectHolds(call, rest)
    }
  })

  it('was answered if an event says so, also after one that says that it failed', async () => {
    const call = await place(platform, ourCallerId)
    await run(call, [dialAnswer, ...call.script.unanswered])
    expect(await stateOf(call)).toBe('failed')
    expect((await decide(call.person)).reason).not.toMatch(optedOut)
    await run(call, call.script.placed)
    expect(await stateOf(call)).toBe('answered')
    await takeUnclear()
  })
})

/** LiveKit's webhooks have no words: the agent sends opt-outs itself. */
const withWords = platformNames.filter((platform) => platform !== 'livekit')

describe.each(withWords)('a call to us on %s', (platform) => {
  it('ends in an opt-out of the caller, in every order, and with every event lost once', async () => {
    const { length } = scriptCall(platform, '', '').script.received
    for (let lost = -1; lost < length; lost += 1) {
      for (const own of [ourCallerId, ourUnlistedNumber]) {
        const person = people.pop() ?? ''
        const call = scriptCall(platform, person, own)
        const rest = call.script.received.filter(
          (step, index) => index !== lost && (lost < 0 || !/dtmf|insights/.test(toText(step))),
        )
        const [steps = []] = shuffle(rest, 1)
        await run(call, steps)
        const unjoined = (await takeUnclear()).filter(({ kind }) => kind === 'unjoined')
        const { reason } = await decide(person)
        const found = { isOptedOut: optedOut.test(reason), isShown: unjoined.length > 0 }
        // Which of two numbers called is not known without the event that says it, or a caller ID.
        const isNamed =
          own === ourCallerId || platform !== 'telnyx' || /initiated/.test(toText(steps))
        const isTold = tellOptOut(steps)
        expect(found, steps.map(readable).join('\n')).toEqual({
          isOptedOut: isTold && isNamed,
          isShown: isTold && !isNamed,
        })
        expect((await decide(own, 'manual')).reason).not.toMatch(optedOut)
      }
    }
  })
})

describe('words whose events were lost', () => {
  const fetched = (call: Call): EventFields => {
    const { platform, person, callIds, script } = call
    const [id = ''] = callIds
    const to = `+1${person}`
    if (platform === 'telnyx') {
      const payload = {
        ...{ call_control_id: id, to },
        message_history: [{ role: 'user', content: said }],
      }
      return { data: { event_type: 'call.ai_gather.ended', payload } }
    }
    if (platform !== 'twilio' && platform !== 'signalwire') return script.placed.at(-1) ?? ''
    return toForm({ CallSid: id, To: to, Direction: 'outbound-api', TranscriptionText: said })
  }

  it('are due, and end calls when the platform gives them', async () => {
    const start = running.clock.at
    const calls: Call[] = []
    for (const platform of withWords) {
      const call = await place(platform, ourCallerId)
      calls.push(call)
      const { placed } = call.script
      await run(call, [dialAnswer, ...placed.filter((one) => !hasWords(one) && !isExplicit(one))])
    }
    running.clock.at = start + 2 * msPerHour + 1_000
    for (const call of calls) {
      const { platform, person: number, decisionId, callIds } = call
      expect((await decide(number)).reason).not.toMatch(optedOut)
      const due = await running.get(`/v1/platform-calls?platform=${platform}&due=fetch`)
      const { calls: listed } = (await due.json()) as { calls: readonly object[] }
      expect(listed).toContainEqual({ decisionId, number, callIds: [...callIds].sort() })
      await send(platform, fetched(call), { delivery: 'fetched' })
      expect((await decide(number)).reason).toMatch(optedOut)
    }
    expect(await takeUnclear()).toEqual([])
    await running.setBack(start)
  })
})
