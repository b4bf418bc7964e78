/** A provider's key in a reply: never kept, and a key of digits alone refuses no reply for it. */
import { describe, expect, it } from 'vitest'
import type { Question } from '../../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../../src/domain/phone-number.js'
import { fixedClock } from '../../../../src/domain/time/clock.js'
import { systemTimers } from '../../../../src/runtime/runtime.js'
import type { BatchQuestion } from '../../../../src/sources/remote/batch-question.js'
import { sendBatch } from '../../../../src/sources/remote/client/send-batch.js'
import { lineStatusQuestion } from '../../../../src/sources/remote/lookups/line-questions.js'
import { legalTimeQuestion } from '../../../../src/sources/remote/questions/legal-time-question.js'
import { scrubQuestion } from '../../../../src/sources/remote/questions/scrub-question.js'
import { landline, legalWire, noon, scrubWire } from '../questions/wire-rows.js'

const phone = toPhoneNumber('2125550100')

/** What comes of one question whose reply is `body`, under this key. */
async function ended<Value, Name extends string>(
  question: BatchQuestion<Question, Value, Name>,
  reply: { readonly key: string; readonly body: unknown; readonly status?: number },
) {
  const asks = [{ accountId: 'main', number: phone }]
  const { key, status = 200 } = reply
  const body = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body)
  return await sendBatch({
    question,
    questions: asks,
    request: question.buildRequest(asks),
    authHeaders: { loginId: key },
    transport: {
      send: async () => ({
        status,
        contentType: 'application/json',
        retryAfter: undefined,
        body,
      }),
      close: async () => undefined,
    },
    addresses: { baseUrl: 'b', rpcUrl: 'r', monitorUrl: 'm', authUrl: 'a' },
    clock: fixedClock(noon),
    timers: systemTimers,
    timeoutMs: 10_000,
    controller: new AbortController(),
  })
}

describe('a key of digits alone', () => {
  for (const key of ['2125550100', '12125550', '20261124', '99999999999999999999']) {
    it(`refuses no reply that holds its digits: ${key}`, async () => {
      const wirelessPortDate = { WirelessPortDate: '20261124' }
      const row = scrubWire(phone, { ...landline, ...wirelessPortDate, Reserved: `1${key}9` })
      expect(await ended(scrubQuestion, { key, body: [row] })).toMatchObject({
        answered: true,
        rows: [{ value: { letter: 'C', allowed: { manual: true } } }],
      })
    })

    it(`is kept of no text, whether a row is understood or not: ${key}`, async () => {
      const texts = [key, `key ${key} is blocked`, `1${key}2`, key + key]
      for (const text of texts) {
        const scrub = scrubWire(phone, { ...landline, Reason: text, ResultCode: 'B' })
        const legal = legalWire(phone, {
          IsCallPermitted: false,
          Status: 'INVALID',
          StatusMessage: text,
        })
        const status = { Phone: phone, Status: 'ERROR', ErrorText: text }
        const ends = [
          await ended(scrubQuestion, { key, body: [scrub] }),
          await ended(legalTimeQuestion, { key, body: [legal] }),
          await ended(lineStatusQuestion, { key, body: status }),
        ]
        for (const end of ends) expect(end.answered).toBe(true)
        const odd = [
          await ended(scrubQuestion, { key, body: text }),
          await ended(scrubQuestion, { key, body: { error: text } }),
          await ended(scrubQuestion, { key, body: [{ ...scrub, ResultCode: text }] }),
          await ended(scrubQuestion, { key, body: { detail: text }, status: 400 }),
        ]
        for (const end of [...ends, ...odd]) expect(JSON.stringify(end)).not.toContain(key)
      }
    })
  }
})

it('any other key in a reply refuses it, and is kept of nothing', async () => {
  const key = 'secret-key/with+more'
  for (const form of [key, key.toUpperCase(), key.replace('/', '\\/'), encodeURIComponent(key)]) {
    const row = JSON.stringify([scrubWire(phone, { ...landline, Reserved: 'HERE' })])
    const end = await ended(scrubQuestion, { key, body: row.replace('HERE', form) })
    expect(end).toMatchObject({ answered: false, detail: 'the reply repeats the key' })
  }
})
