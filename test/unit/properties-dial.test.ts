/**
 * Every digit that was handed in is in the number that may be dialed, or the call is blocked: searched
 * at random through the parser, the gate and the calls that decide. `DIAL_SEARCH_COUNT` and
 * `DIAL_SEARCH_SEED` ask for more texts, or for those of another run.
 */

import { afterAll, describe, expect, test } from 'vitest'
import { parseDialString } from '../../src/domain/phone-number.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import { encodeReply, replyTo } from '../../src/gate/record/write-record.js'
import { createDecisionRoutes } from '../../src/http/decision-routes.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import { seededRandom } from '../data/random-numbers.js'
import { fakeCompliance, noon } from '../support/fake-compliance.js'
import { shortOrLong } from '../support/long.js'
import { noPermits, noRecentCalls, noRepeats } from '../support/no-permits.js'
import { admin, adminKey, openTestApp } from '../support/test-app.js'
import { aCall, testGate, withoutJournal } from '../support/test-gate.js'
import { handedIn, isAllHandedIn, ownCodes, type Random, randomDialed } from './dialed-texts.js'

const count = Number(process.env.DIAL_SEARCH_COUNT ?? shortOrLong(10_000, 100_000))
const seed = Number(process.env.DIAL_SEARCH_SEED ?? 20_261_123)

const told: string[] = []
afterAll(() => {
  process.stdout.write(`dial strings, seed ${seed}: ${told.join('; ')}\n`)
})

/** What a door made of a text: what may be dialed, `undefined` for a block. */
type Dialed = { readonly dial: string; readonly isServiceCode: boolean } | undefined

const wrong = (text: string, { dial }: NonNullable<Dialed>) =>
  new Error(`${JSON.stringify(text)} gives ${dial}, but hands in ${JSON.stringify(handedIn(text))}`)

/** Everything permits, extensions and other countries too. */
const openGate = () =>
  testGate(fakeCompliance(), {
    settings: { nonNanp: 'allow', serviceCodes: ownCodes, maxPending: count },
    journal: withoutJournal,
  }).gate

describe('no digit that was handed in is lost', () => {
  test('by the parser', { timeout: 3_600_000 }, () => {
    const random = seededRandom(seed)
    const kinds = new Map<string, number>()
    for (let turn = 0; turn < count; turn += 1) {
      const text = randomDialed(random)
      const dialed = parseDialString(text, ownCodes)
      kinds.set(dialed.kind, (kinds.get(dialed.kind) ?? 0) + 1)
      if (dialed.kind === 'invalid') continue
      const isServiceCode = dialed.kind === 'service-code'
      const dial = isServiceCode
        ? dialed.code
        : dialed.kind === 'nanp'
          ? dialed.number
          : dialed.digits
      if (!isAllHandedIn(text, dial, isServiceCode)) throw wrong(text, { dial, isServiceCode })
    }
    told.push(`parser ${count} (${[...kinds].map((one) => one.reverse().join(' ')).join(', ')})`)
    // Enough of each kind, so that a search in which all is refused is none.
    expect([...kinds.keys()].sort()).toEqual([
      'extension',
      'foreign',
      'invalid',
      'nanp',
      'service-code',
    ])
    for (const found of kinds.values()) expect(found).toBeGreaterThan(count / 200)
  })

  test('by the gate', { timeout: 3_600_000 }, async () => {
    const random = seededRandom(seed + 1)
    const gate = openGate()
    const calls = Math.ceil(count / 10)
    let allowed = 0
    for (let turn = 0; turn < calls; turn += 1) {
      const text = randomDialed(random)
      const { decision, reason, dial } = replyTo(await gate.decide(aCall({ dialed: text })))
      expect(dial !== undefined).toBe(decision === 'allow')
      if (dial === undefined) continue
      allowed += 1
      const isServiceCode = reason === 'service-code'
      if (!isAllHandedIn(text, dial, isServiceCode)) throw wrong(text, { dial, isServiceCode })
    }
    told.push(`gate ${calls} (${allowed} allowed)`)
    expect(allowed).toBeGreaterThan(calls / 50)
  })

  test('by the calls that decide, with a key and without', { timeout: 3_600_000 }, async () => {
    const random = seededRandom(seed + 2)
    const gate = openGate()
    const { send } = await openTestApp({
      routes: [],
      decisionRoutes: createDecisionRoutes({
        permits: noPermits,
        journal: { durableSeq: 0 },
        repeats: noRepeats,
        recentCalls: noRecentCalls,
        shut: { problem: undefined },
        authenticate: (key) => (key === adminKey ? admin : undefined),
        gate,
        encode: encodeReply,
        serviceCodes: ownCodes,
        maxBodyBytes: 10_000,
        clock: fixedClock(noon),
        logger: silentLogger,
      }),
    })
    const requests = Math.ceil(count / 200)
    let allowed = 0
    for (let turn = 0; turn < requests; turn += 1) {
      const { path, body, texts } = randomRequest(random)
      const method = body === undefined ? 'GET' : 'POST'
      const key = random(2) === 0 ? adminKey : null
      const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
      const { text: answer } = await send(path, { method, headers, ...(body && { body }), key })
      const { decision, dial = '' } = readAnswer(answer)
      if (decision !== 'allow') continue
      allowed += 1
      const isServiceCode = dial.length === 3 || ownCodes.has(dial)
      for (const text of texts) {
        const found = { dial, isServiceCode }
        if (!isAllHandedIn(text, dial, isServiceCode))
          throw wrong(`${method} ${path}: ${text}`, found)
      }
    }
    told.push(`requests ${requests} (${allowed} allowed)`)
    expect(allowed).toBeGreaterThan(requests / 100)
  })
})

interface RandomRequest {
  readonly path: string
  /** A form, or JSON as text; a GET has none. */
  readonly body?: URLSearchParams | string
  /** All that was handed in as the number. */
  readonly texts: readonly string[]
}

/** A document, a problem or a line. */
function readAnswer(text: string): { readonly decision?: string; readonly dial?: string } {
  if (text.startsWith('{')) return JSON.parse(text)
  const [decision = '', dial = ''] = text.split(':')
  return { decision, dial }
}

function randomRequest(random: Random): RandomRequest {
  const number = sendable(randomDialed(random))
  if (random(3) === 0) {
    const path = '/v1/decisions'
    const call = random(2) === 0 ? { number, callKind: 'manual' } : { number }
    if (random(3) > 0) return { path, body: JSON.stringify(call), texts: [number] }
    const other = sendable(randomDialed(random))
    const texts = [number, other]
    if (random(2) === 0) return { path, body: JSON.stringify({ ...call, Number: other }), texts }
    return {
      path: `${path}?number=${encodeURIComponent(other)}`,
      body: JSON.stringify(call),
      texts,
    }
  }
  const at = `/v1/predial?kind=manual`
  if (random(3) === 0) {
    const body = new URLSearchParams({ number })
    if (random(3) > 0) return { path: at, body, texts: [number] }
    const other = sendable(randomDialed(random))
    return { path: `${at}&number=${encodeURIComponent(other)}`, body, texts: [number, other] }
  }
  // As careless programs write it; a fetch leaves out what follows `#`, and escapes are decoded.
  const isPlain = /^[\x21-\x7e]*$/.test(number) && !/[%#]/.test(number)
  if (!isPlain || random(2) === 0) {
    return { path: `${at}&number=${encodeURIComponent(number)}`, texts: [number] }
  }
  const [first = '', ...more] = number.replaceAll('+', ' ').split('&')
  // What follows an `&` is another field; its name may be the rest of what was dialed.
  const names = more.map((field) => field.split('=')[0] ?? '').join('')
  return { path: `${at}&number=${number}`, texts: [first + names] }
}

/** Lone surrogates have no form in UTF-8. */
function sendable(text: string): string {
  return text.replace(/\p{Cs}/gu, '?')
}
