/** The doors of the gate for the proxy of a voice platform, for tests: calls that were allowed, and events about them. */
import { expect } from 'vitest'
import type { TestCallgate } from './test-callgate.js'

interface Decided {
  readonly id: string
  readonly decision: string
  readonly reason: string
  readonly message: string
}

interface Unclear {
  readonly id: string
  readonly kind: string
  readonly number: string | null
  readonly said: string | null
  readonly decisionId: string | null
  readonly heldNumbers: number
}

interface ListedUnclear {
  readonly unclear: readonly Unclear[]
  readonly platforms: readonly { readonly platform: string; readonly problem: string | null }[]
}

const areaCodes = [212, 646, 917, 718, 347, 929, 315, 516, 518, 585, 607, 631, 716, 845, 914]

/** `get` returns the callgate of the moment, since a test may restart it. */
export function createPlatformDoor(get: () => TestCallgate) {
  // Numbers of the sandbox that a person may call.
  const numbers = ['0100', '0101', '0102', '0114', '0115', '0119'].flatMap((line) =>
    areaCodes.map((area) => `${area}555${line}`),
  )
  /** A number that no other test calls. */
  const nextNumber = () => numbers.pop() ?? ''
  let lastId = 0
  const nextId = (prefix: string) => `${prefix}${++lastId}`

  async function decide(number: string, more: object = {}): Promise<Decided> {
    const call = { number, callKind: 'manual', ...more }
    return (await (await get().postJson('/v1/decisions', call)).json()) as Decided
  }

  async function register(platform: string, ...calls: readonly object[]): Promise<void> {
    const response = await get().postJson('/v1/platform-calls', { platform, calls })
    expect(await response.text()).toBe('{"recorded":true}')
  }

  async function send(platform: string, body: string, more: object = {}): Promise<void> {
    const receivedAt = new Date(get().clock.at).toISOString()
    const event = { platform, receivedAt, body, query: '', ...more }
    const response = await get().postJson('/v1/platform-events', event)
    expect(await response.text()).toBe('{"recorded":true}')
  }

  /** A call that was allowed and that the proxy has forwarded. */
  async function place(platform: string, callIds?: readonly string[], number = nextNumber()) {
    const { id, decision, message } = await decide(number)
    expect([decision, message]).toEqual(['allow', expect.anything()])
    await register(platform, { decisionId: id, number })
    if (callIds) await register(platform, { decisionId: id, number, callIds })
    return { id, number }
  }

  const list = async () => (await (await get().get('/v1/unclear-opt-outs')).json()) as ListedUnclear
  const unclear = async () => (await list()).unclear
  const resolve = (id: string, body: object) => get().postJson(`/v1/unclear-opt-outs/${id}`, body)
  const dismissAll = async () => {
    for (const { id } of await unclear()) await resolve(id, { action: 'dismiss' })
  }
  const outcomeOf = async (id: string) =>
    ((await (await get().get(`/v1/decisions/${id}`)).json()) as { outcome?: { state: string } })
      .outcome

  return {
    ...{ nextNumber, nextId, decide, register, send, place },
    ...{ list, unclear, resolve, dismissAll, outcomeOf },
  }
}

/** What Twilio transcribes of the person in real time. */
export const spoken = (CallSid: string, transcript: string, more: object = {}) =>
  new URLSearchParams({
    ...{ TranscriptionEvent: 'transcription-content', CallSid, Track: 'inbound_track' },
    TranscriptionData: JSON.stringify({ transcript }),
    ...more,
  }).toString()
