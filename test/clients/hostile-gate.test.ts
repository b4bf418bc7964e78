/** Whatever a server answers, only a sound allow of this very call may be dialed. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Call, type Client, createClient } from '../../src/client/client.js'
import { normalizeNumber, readDecision } from '../../src/client/decision.js'
import { parseJson } from '../../src/client/json.js'
import { parseDialString } from '../../src/domain/phone-number.js'
import {
  type HostileGate,
  hostileCases,
  hostileKey,
  openHostileGate,
  soundBody,
} from '../support/hostile-gate.js'
import { shortOrLong } from '../support/long.js'

const call: Call = { number: '2125550106', callKind: 'ai' }
let hostile: HostileGate
beforeAll(async () => {
  hostile = await openHostileGate()
})
afterAll(() => hostile.close())

const clientOf = (name: string, deadlineMs: number): Client =>
  createClient({ url: `${hostile.url}/${name}`, key: hostileKey, deadlineMs })

describe('a hostile server', () => {
  it.each(Object.entries(hostileCases))('%s', async (name, { expected }) => {
    const result = await clientOf(name, expected === 'timeout' ? 200 : 20_000).decide(call)
    const isTimeout = result.kind === 'undecided' && result.cause === 'timeout'
    expect(isTimeout ? 'timeout' : result.kind, JSON.stringify(result)).toBe(expected)
    expect(result.mayDial).toBe(expected === 'allowed')
    expect('dial' in result).toBe(expected === 'allowed')
    expect(JSON.stringify(result)).not.toContain(hostileKey)
    expect(hostile.counts.get(name)).toBe(1)
  })

  it('follows no redirect', async () => {
    const before = hostile.counts.get('sound')
    await clientOf('redirect-307', 20_000).decide(call)
    expect(hostile.counts.get('sound')).toBe(before)
  })

  it.each(Object.keys(hostileCases))(
    'acknowledges no opt-out and explains nothing: %s',
    async (name) => {
      const { expected } = hostileCases[name]!
      const client = clientOf(name, expected === 'timeout' ? 200 : 20_000)
      const failure = await client.optOut('2125550106').catch((error: Error) => error)
      expect(failure).toMatchObject({ name: 'CallgateError' })
      const other = await client.explain('another').catch((error: Error) => error)
      expect(other).toMatchObject({ name: 'CallgateError' })
      expect(`${failure} ${other}`).not.toContain(hostileKey)
    },
  )
})

const answerOf = (text: string) => ({
  ok: true as const,
  status: 200,
  headers: new Headers({ date: new Date().toUTCString(), 'content-type': 'application/json' }),
  text,
  sentAt: { monotonicMs: performance.now(), wallMs: Date.now() },
})

describe('readDecision', () => {
  /** Members whose value decides; the others are text for people, or not read. */
  const deciding = [
    ...['decision', 'number', 'dial', 'callKind', 'whatIf', 'findings', 'degraded'],
    ...['decidedAt', 'judgedAt', 'validUntil'],
  ] as const

  it('believes the answer that is changed below', () => {
    expect(readDecision(call, answerOf(JSON.stringify(soundBody(call)))).mayDial).toBe(true)
  })

  it('believes none with another value in a member that decides', () => {
    fc.assert(
      fc.property(fc.constantFrom(...deciding), fc.jsonValue(), (name, value) => {
        const isList = Array.isArray(value) && value.length === 0
        fc.pre(!(isList && /^(findings|degraded)$/.test(name)) && !(name === 'whatIf' && !value))
        fc.pre(!(name === 'degraded' && Array.isArray(value)))
        const text = JSON.stringify(soundBody(call, { [name]: value }))
        expect(readDecision(call, answerOf(text)).mayDial).toBe(false)
      }),
      { numRuns: shortOrLong(500, 50_000) },
    )
  })

  it('believes none for another number', () => {
    const number = fc.stringMatching(/^[2-9]\d{9}$/)
    fc.assert(
      fc.property(number, number, (asked, answered) => {
        const text = JSON.stringify(soundBody({ number: answered, callKind: 'ai' }))
        const { mayDial } = readDecision({ number: asked, callKind: 'ai' }, answerOf(text))
        expect(mayDial).toBe(asked === answered)
      }),
    )
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(readDecision(call, answerOf(text)).mayDial).toBe(false)
      }),
    )
  })
})

describe('normalizeNumber', () => {
  it('agrees with the service on every number that both read', () => {
    const separator = fc.constantFrom('', '', ' ', '-', '.', '(', ')', '/')
    const prefix = fc.constantFrom('', '1', '+1', '0111', '001', '011', '00', '+', '+44', '044')
    const text = fc
      .tuple(
        prefix,
        fc.array(fc.tuple(separator, fc.constantFrom(...'0123456789')), { maxLength: 16 }),
      )
      .map(([first, rest]) => first + rest.flat().join(''))
    fc.assert(
      fc.property(text, (dialed) => {
        const parsed = parseDialString(dialed)
        const normalized = normalizeNumber(dialed)
        if (parsed.kind === 'nanp') expect(normalized).toBe(parsed.number)
        if (parsed.kind === 'service-code') expect(normalized).toBe(parsed.code)
        if (parsed.kind === 'foreign' || parsed.kind === 'extension') {
          expect(normalized).toBe(normalizeNumber(parsed.digits))
        }
      }),
      { numRuns: shortOrLong(2_000, 200_000) },
    )
  })

  it.each([
    'sip:12125550106@pbx.example',
    'tel:+12125550106',
    '2125550106;x=1',
    '٢125550106',
    '',
    '+',
  ])('reads no %s', (text) => expect(normalizeNumber(text)).toBeUndefined())
})

describe('parseJson', () => {
  it('reads what JSON.parse reads, unless a name is given twice', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('refuses a name twice at any depth', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(20), fc.jsonValue(), (name, depth, value) => {
        const twice = `{${JSON.stringify(name)}:1,"\\u0061${name.length}x":${JSON.stringify(value)},${JSON.stringify(name)} :2}`
        fc.pre(name !== `a${name.length}x`)
        expect(() => parseJson('[{"a":'.repeat(depth) + twice + '}]'.repeat(depth))).toThrow(
          /twice/,
        )
      }),
    )
  })
})
