/** The questions put to a callgate: it understands its own replies, at any hour and in any zone. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Question } from '../../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../../src/domain/phone-number.js'
import type { Instant } from '../../../../src/domain/time/clock.js'
import { listAreaCodes } from '../../../../src/law/area-codes.js'
import type { BatchQuestion } from '../../../../src/sources/remote/batch-question.js'
import { internalDncQuestion } from '../../../../src/sources/remote/questions/internal-dnc-question.js'
import { legalTimeQuestion } from '../../../../src/sources/remote/questions/legal-time-question.js'
import { litigatorQuestion } from '../../../../src/sources/remote/questions/litigator-question.js'
import { scrubQuestion } from '../../../../src/sources/remote/questions/scrub-question.js'
import { shortOrLong } from '../../../support/long.js'
import { openTestCallgate, type TestCallgate } from '../../../support/test-callgate.js'
import { instant } from '../../../support/test-clock.js'
import { problem } from './wire-rows.js'

const lines = ['0100', '0103', '0106', '0109', '0112', '0199']

/** One line of every area code, another in each. */
const questions: readonly Question[] = listAreaCodes().map((areaCode, index) => ({
  accountId: 'sandbox',
  number: toPhoneNumber(`${areaCode}555${lines[index % lines.length]}`),
}))

let callgate: TestCallgate
beforeAll(async () => {
  callgate = await openTestCallgate()
})
afterAll(() => callgate.end())

async function ask<Value>(
  question: BatchQuestion<Question, Value>,
  at: Instant,
  asked: readonly Question[] = questions,
) {
  callgate.clock.at = at
  const { method, path, wire } = question.buildRequest(asked)
  const query = new URLSearchParams(wire.query)
  const headers = { loginId: callgate.keys.sandbox, 'content-type': 'application/json' }
  const sent = wire.json === undefined ? {} : { body: JSON.stringify(wire.json) }
  const reply = await fetch(`${callgate.url}${path}?${query}`, { method, headers, ...sent })
  expect(reply.status).toBe(200)
  const contentType = reply.headers.get('content-type')?.split(';')[0] ?? ''
  return question.parseReply({ body: await reply.text(), contentType, askedAt: at }, asked)
}

type AnyQuestion = BatchQuestion<Question, unknown>
type Read = Awaited<ReturnType<typeof ask<unknown>>>[number]

/** Of an answer that permits some kind of call; `false` for one that permits none. */
function flagsOf(read: Read): unknown {
  if (!('value' in read)) return read
  const { allowed, permitted } = read.value as {
    readonly allowed?: Readonly<Record<string, boolean>>
    readonly permitted?: boolean
  }
  return allowed ? Object.values(allowed).some(Boolean) && allowed : permitted
}

function untilOf(read: Read | undefined): Instant | undefined {
  if (!read || !('value' in read) || flagsOf(read) === false) return undefined
  return read.holdsUntil
}

function ends(read: readonly Read[]): readonly Instant[] {
  const found = read.map(untilOf).filter((until) => until !== undefined)
  return [...new Set(found)]
}

/** Whole hours, instants beside them, days on which clocks are changed, and holidays. */
const hours = [
  ...Array.from({ length: 24 }, (_, hour) => instant('2026-11-28T00:00:00Z') + hour * 3_600_000),
  ...['2026-11-24T01:59:59Z', '2026-11-24T02:00:00Z', '2026-11-24T13:00:00Z'].map(instant),
  ...['2026-03-08T06:59:59Z', '2026-03-08T07:00:00Z', '2026-11-01T06:00:00Z'].map(instant),
  ...['2026-11-26T18:00:00Z', '2026-12-25T18:00:00Z', '2026-11-29T18:00:00Z'].map(instant),
]

describe('a callgate is understood', () => {
  test('by every scrub row, at every hour', async () => {
    const letters = new Set<string>()
    for (const at of hours.filter((_, index) => index % shortOrLong(3, 1) === 0)) {
      const read = await ask(scrubQuestion, at)
      expect(read.map(problem).filter((found) => found !== undefined)).toEqual([])
      for (const one of read) {
        if (!('value' in one)) continue
        letters.add(one.value.letter)
        expect(one.holdsUntil ?? Number.POSITIVE_INFINITY).toBeGreaterThan(at)
        if (one.value.opensAt !== undefined) expect(one.value.opensAt).toBeGreaterThan(at)
      }
    }
    expect([...letters].sort()).toEqual(expect.arrayContaining(['C', 'D', 'E', 'G', 'I', 'O']))
  })

  test.each([
    ['scrub', scrubQuestion as AnyQuestion, flagsOf],
    ['legal time', legalTimeQuestion as AnyQuestion, flagsOf],
  ])('and an answer of %s that permits is the same a second before it ends', async (...row) => {
    const [, question, permitted] = row
    for (const at of [hours[3], hours[12], hours[20], hours[24], hours[27], hours[31]]) {
      if (at === undefined) continue
      const before = await ask(question, at)
      for (const until of ends(before)) {
        const bound = questions.filter((_, index) => untilOf(before[index]) === until)
        const after = await ask(question, until - 1000, bound)
        const then = before.filter((one) => untilOf(one) === until)
        expect(after.map(permitted)).toEqual(then.map(permitted))
      }
    }
  })

  test.each([
    ['internal list', internalDncQuestion as AnyQuestion],
    ['litigator', litigatorQuestion as AnyQuestion],
    ['legal time', legalTimeQuestion as AnyQuestion],
  ])('by every row of %s', async (_name, question) => {
    for (const at of hours.slice(0, 6)) {
      const read = await ask(question, at)
      expect(read.map(problem).filter((found) => found !== undefined)).toEqual([])
    }
  })
})
