/**
 * A call that we place and a call to us, as each platform reports them, in every order, with every event lost once and every
 * event twice: what the reader says of each event, joined as the gate joins it, never names our own number as the person's and
 * never lets an answered call fail.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CallEvent, EventOutcome } from '../../src/platform-events/call-event.js'
import { platformNames } from '../../src/platform-events/call-event.js'
import { createCallScripts, type EventFields } from '../support/call-scripts.js'
import { own, person, read, readEvents, wordsOf } from './reader.js'

const said = 'please stop calling me'
const decision = 'D-1'

const scripts = createCallScripts({ person, own, decision, id: '1', words: [said] })

interface JoinedCall {
  readonly people: ReadonlySet<string>
  readonly state: EventOutcome['state'] | undefined
  readonly words: string
}

/** As the gate joins events of one call: the direction from any of them, and an answer wins. */
function join(events: readonly CallEvent[]): JoinedCall {
  let direction: CallEvent['direction'] = 'unknown'
  let state: JoinedCall['state']
  for (const event of events) {
    if (event.isOtherLeg) continue
    if (event.direction !== 'unknown') direction = event.direction
    if (event.outcome && state !== 'answered' && event.outcome.state !== 'dialled')
      state = event.outcome.state
  }
  const people = events.flatMap((event) => {
    const { from, to } = event.unassigned ?? {}
    const number = event.person ?? (direction === 'inbound' ? from : to)
    return number !== undefined && (event.person !== undefined || direction !== 'unknown')
      ? [number]
      : []
  })
  return { people: new Set(people), state, words: events.map(wordsOf).join(' ').trim() }
}

const fewOrders = 720

/** All orders where there are few, else seeded shuffles. */
function listOrders<T>(items: readonly T[]): readonly (readonly T[])[] {
  const count = items.reduce((product, _item, index) => product * (index + 1), 1)
  if (count <= fewOrders) return permute(items)
  return fc.sample(fc.shuffledSubarray([...items], { minLength: items.length }), {
    numRuns: fewOrders,
    seed: 7,
  })
}

function permute<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length < 2) return [items]
  return items.flatMap((first, index) =>
    permute(items.toSpliced(index, 1)).map((rest) => [first, ...rest]),
  )
}

describe.each(platformNames)('a call of %s', (platform) => {
  const { placed, received, unanswered } = scripts[platform]
  const queryOf = (script: readonly EventFields[]) =>
    (platform === 'twilio' || platform === 'signalwire') && script !== received
      ? `callgateDecision=${decision}`
      : ''
  const readAll = (script: readonly EventFields[], order: readonly EventFields[]) =>
    order.map((body) => read(platform, body, queryOf(script)))
  const hasWords = platform !== 'livekit'

  test('that we place is answered by the person we called, in every order and with every event twice', () => {
    for (const order of listOrders(readAll(placed, placed))) {
      const joined = join(order)
      expect(joined).toMatchObject({ people: new Set([person]), state: 'answered' })
      if (hasWords) expect(joined.words).toContain(said)
      expect(join([...order, ...order])).toMatchObject({ state: 'answered' })
    }
  })

  test('never fails when an event is lost, and never names our number', () => {
    for (const [index] of placed.entries()) {
      const { state, people } = join(readAll(placed, placed.toSpliced(index, 1)))
      expect(state).not.toBe('failed')
      expect(people).not.toContain(own)
    }
  })

  test('to us is of the person who called, and no attempt', () => {
    for (const order of listOrders(readAll(received, received))) {
      const joined = join(order)
      expect(joined.people).toEqual(new Set([person]))
      if (hasWords) expect(joined.words).toContain(said)
    }
    for (const event of readAll(received, received)) {
      expect(event.person ?? person).toBe(person)
      expect(event.decisionId).toBeUndefined()
      if (event.direction === 'inbound') expect(event.outcome).toBeUndefined()
    }
  })

  test('that nobody answers has failed', () => {
    const events = readAll(unanswered, unanswered)
    const people = new Set([person])
    expect(join(events)).toMatchObject({ people, state: 'failed', words: '' })
    expect(events.at(-1)?.isEnd).toBe(true)
  })

  test('has our reference in the events of a call that we place', () => {
    const events = readAll(placed, placed)
    // Telnyx repeats the state of the client, which is the customer's own here.
    if (platform === 'telnyx') expect(events.every((event) => !event.decisionId)).toBe(true)
    else expect(new Set(events.map((event) => event.decisionId))).toEqual(new Set([decision]))
    expect(events.every((event) => event.callIds.length > 0)).toBe(true)
  })

  test('has nothing of the agent as the words of the person', () => {
    for (const event of readAll(placed, placed)) {
      expect(wordsOf(event)).not.toContain('You can say')
      expect(wordsOf(event)).not.toContain('means opt out')
    }
  })
})

describe('anything else', () => {
  const bytes = fc.oneof(
    fc.json({ maxDepth: 6 }),
    fc.string({ maxLength: 200 }),
    fc.webQueryParameters(),
  )

  /** Values of wrong types in the places of a real event. */
  const spoiled = fc
    .tuple(
      fc.constantFrom(...platformNames),
      fc.nat(),
      fc.array(fc.tuple(fc.nat(), fc.jsonValue({ maxDepth: 3 })), { minLength: 1, maxLength: 4 }),
    )
    .map(([platform, index, changes]) => {
      const { placed, received, unanswered } = scripts[platform]
      const bodies = [...placed, ...received, ...unanswered]
      const body = bodies[index % bodies.length] ?? {}
      return { platform, body: typeof body === 'string' ? body : spoil(body, changes) }
    })

  function spoil(body: object, changes: readonly (readonly [number, unknown])[]): object {
    const copy: unknown = JSON.parse(JSON.stringify(body))
    const places: (readonly [Record<string, unknown>, string])[] = []
    const visit = (value: unknown) => {
      if (typeof value !== 'object' || value === null) return
      for (const name of Object.keys(value)) {
        places.push([value as Record<string, unknown>, name])
        visit((value as Record<string, unknown>)[name])
      }
    }
    visit(copy)
    for (const [index, value] of changes) {
      const [holder, name] = places[index % places.length] ?? []
      if (holder && name !== undefined) holder[name] = value
    }
    return copy as object
  }

  const numRuns = process.argv.includes('--long') ? 200_000 : 1_000

  test('is read without an error', () => {
    fc.assert(
      fc.property(fc.constantFrom(...platformNames), bytes, bytes, (platform, body, query) => {
        for (const event of readEvents(platform, { body, query }))
          expect(event.type).toBeTypeOf('string')
      }),
      { numRuns },
    )
  })

  test('in the place of a value is read without an error, and makes no person of our number', () => {
    fc.assert(
      fc.property(spoiled, ({ platform, body }) => {
        const text = typeof body === 'string' ? body : JSON.stringify(body)
        const events = readEvents(platform, { body: text, query: '' })
        for (const event of events) {
          expect(event.type).toBeTypeOf('string')
          if (event.direction === 'unknown') expect(event.person ?? person).not.toBe(own)
          expect(JSON.parse(JSON.stringify(event))).toMatchObject({ type: event.type })
        }
      }),
      { numRuns },
    )
  })

  test.each(platformNames)(
    'is read without an error by %s: deep, long and special texts',
    (platform) => {
      const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
      const long = {
        call: {
          transcript_object: Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'a' })),
        },
      }
      const bodies = [
        ...[
          deep,
          `{"data":${deep}}`,
          `{"call":{"call_analysis":{"custom_analysis_data":${deep}}}}`,
        ],
        ...[
          JSON.stringify(long),
          '',
          '   ',
          '{',
          'null',
          '[1,null]',
          '"x"',
          '%',
          '=&=&%zz=%',
          '\u0000',
        ],
        ...[
          '{"__proto__":{"CallStatus":"x"}}',
          '{"CallStatus":"constructor","CallSid":"__proto__"}',
        ],
        ...[
          'CallStatus=toString&CallSid=valueOf&Direction=hasOwnProperty',
          '{"params":{"call_state":"toString"}}',
        ],
        ...['{"data":{"event_type":"call.initiated","payload":{"direction":"constructor"}}}'],
        `{"message":{"type":"status-update","status":"__proto__"}}`,
      ]
      for (const body of bodies)
        expect(readEvents(platform, { body, query: '' }).length).toBeLessThan(3)
    },
  )

  test('that is no event has the type unreadable', () => {
    for (const body of ['', '{', '[]', '{"a":', '[1,2]'])
      expect(readEvents('vapi', { body, query: '' })).toMatchObject([
        { type: 'unreadable', utterances: [] },
      ])
  })
})
