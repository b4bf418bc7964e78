/** What becomes of requests that fail: another attempt, a pause, a provider that is left alone. */
import { describe, expect, it } from 'vitest'
import type {
  ProviderReply,
  TransportError,
} from '../../../../src/sources/remote/client/transport.js'
import type { RequestOutcome } from '../../../../src/sources/remote/provider-options.js'
import { about, answerAfter, anyNumber, type SentRequest } from '../../../support/fake-provider.js'
import { nothingLeft, openAsker, textOf } from '../../../support/open-batch-client.js'

type End = Partial<ProviderReply> | TransportError['why']

function end(sent: SentRequest, how: End): void {
  if (typeof how === 'string') sent.fail(how)
  else sent.reply(how)
}

const unanswered: readonly {
  readonly how: End
  readonly reason: RequestOutcome
  readonly detail: string
  readonly isRetried: boolean
  readonly opens: boolean
}[] = [
  {
    how: 'unreachable',
    reason: 'source-failed',
    detail: 'fake unreachable',
    isRetried: true,
    opens: true,
  },
  {
    how: 'cut-off',
    reason: 'source-failed',
    detail: 'fake cut-off',
    isRetried: true,
    opens: true,
  },
  {
    how: { status: 500 },
    reason: 'source-failed',
    detail: 'answered 500',
    isRetried: true,
    opens: true,
  },
  {
    how: { status: 503, body: '<html>' },
    reason: 'source-failed',
    detail: 'answered 503',
    isRetried: true,
    opens: true,
  },
  {
    how: 'too-large',
    reason: 'source-failed',
    detail: 'fake too-large',
    isRetried: false,
    opens: true,
  },
  {
    how: 'unreadable',
    reason: 'not-understood',
    detail: 'fake unreadable',
    isRetried: false,
    opens: true,
  },
  {
    how: { body: 'garbage' },
    reason: 'not-understood',
    detail: '',
    isRetried: false,
    opens: true,
  },
  {
    how: { body: '<html>' },
    reason: 'refused',
    detail: 'a login page',
    isRetried: false,
    opens: true,
  },
  {
    how: { status: 401 },
    reason: 'refused',
    detail: 'answered 401: the key is not accepted',
    isRetried: false,
    opens: true,
  },
  {
    how: { status: 403, body: 'no' },
    reason: 'refused',
    detail: 'answered 403: the key is not accepted',
    isRetried: false,
    opens: true,
  },
  {
    how: { status: 302 },
    reason: 'source-failed',
    isRetried: false,
    opens: true,
    detail: 'answered 302, and redirects are not followed',
  },
  {
    how: { status: 404 },
    reason: 'bad-question',
    detail: 'answered 404',
    isRetried: false,
    opens: false,
  },
  {
    how: { status: 400, body: 'phone 2125550100\n is wrong: '.padEnd(99, 'so ') },
    detail: `answered 400: phone *** is wrong: ${'so '.repeat(12)}s...`,
    reason: 'bad-question',
    isRetried: false,
    opens: false,
  },
  {
    how: { status: 400, body: 'phone 2125550100\n of The-Secret-Key is wrong' },
    reason: 'bad-question',
    detail: 'answered 400',
    isRetried: false,
    opens: false,
  },
]

describe('a request that ends so', () => {
  for (const { how, reason, detail, isRetried, opens } of unanswered) {
    const name = typeof how === 'string' ? how : `${how.status ?? 200} ${how.body ?? ''}`
    it(`${name.slice(0, 30)}: ${reason}, again ${isRetried}, counts ${opens}`, async () => {
      const { asker, time, transport, requested, circuits } = openAsker({
        limits: { circuitFailures: 3, retries: 1 },
      })
      transport.onSend = (sent) => end(sent, how)
      const asked = asker.ask(about())
      await time.advance(1_000)
      expect(await asked).toMatchObject({ ok: false, reason, source: 'vendor' })
      const found = await asked
      expect(found.ok ? [] : found.says).toEqual([
        { code: reason, quote: expect.stringContaining(detail) },
      ])
      expect(requested).toEqual(Array(isRetried ? 2 : 1).fill(`scrub ${reason} 0`))
      for (const asks of [about(), about()]) {
        void asker.ask(asks)
        await time.advance(1_000)
      }
      expect(circuits).toEqual(opens ? ['scrub open'] : [])
    })
  }
})

describe('another attempt', () => {
  it('comes after a wait with chance in it, with what came meanwhile', async () => {
    const { asker, time, transport } = openAsker({ random: () => 0 })
    const asks = about()
    void asker.ask(asks)
    await time.advance(5)
    transport.sent[0]?.fail('cut-off')
    await time.advance(46)
    void asker.ask(about())
    await time.advance(3)
    expect(transport.sent).toHaveLength(1)
    await time.advance(1)
    expect(transport.sent.map(({ numbers }) => numbers.length)).toEqual([1, 2])
    expect(transport.sent[1]?.numbers[0]).toBe(asks.number)
  })

  it('may be the last of few', async () => {
    const { note, time, told, transport } = openAsker({ limits: { retries: 2 } })
    transport.onSend = (sent) => sent.fail('cut-off')
    note('a', about())
    await time.advance(3_000)
    expect(transport.sent.map(({ atMs }) => atMs)).toEqual([5, 80, 230])
    expect(told).toEqual(['a source-failed at 230'])
  })

  it('is not made when nobody would wait for it', async () => {
    const { note, time, told, transport } = openAsker({ question: { deadlineMs: 200 } })
    transport.onSend = (sent) => void time.after(150, () => sent.fail('cut-off'))
    note('a', about())
    await time.advance(3_000)
    expect([transport.sent.length, told]).toEqual([1, ['a source-failed at 155']])
  })

  it('waits as long as a 503 asks', async () => {
    const { note, time, told, transport } = openAsker()
    transport.onSend = (sent) => sent.reply({ status: 503, retryAfter: '2' })
    note('a', about())
    await time.advance(3_000)
    expect(transport.sent.map(({ atMs }) => atMs)).toEqual([5, 2_005])
    expect(told).toEqual(['a source-failed at 2005'])
  })

  it('takes a token of the bucket', async () => {
    const { asker, time, transport } = openAsker({
      question: { requestsPerMinute: 2, deadlineMs: 100_000 },
      limits: { retries: 9 },
    })
    transport.onSend = (sent) => sent.fail('cut-off')
    void asker.ask(about())
    await time.advance(100_000)
    expect(transport.sent.map(({ atMs }) => atMs)).toEqual([5, 80, 65_005])
  })

  it('is given up with those who gave up', async () => {
    const { asker, time, left } = openAsker({
      question: { deadlineMs: 100_000 },
      random: () => 1,
    })
    void asker.ask(about())
    await time.advance(5)
    await asker.close()
    expect(left()).toEqual(nothingLeft)
  })
})

describe('a provider that answers 429 (too many requests)', () => {
  it('is not asked for as long as it says; callers with an earlier deadline fail at once', async () => {
    const { note, asker, time, told, transport } = openAsker({
      question: { requestsPerMinute: 100 },
      limits: { maxRequests: 1 },
    })
    note('a', about())
    await time.advance(1_000)
    note('b', about())
    transport.sent[0]?.reply({ status: 429, retryAfter: '2' })
    transport.onSend = answerAfter(time, 10)
    await time.advance(500)
    note('c', about())
    // `a` could have waited until 3000, and not longer.
    expect(told).toEqual(['a rate-limited at 1000'])
    await time.advance(10_000)
    expect(transport.sent.map(({ atMs, numbers }) => `${numbers.length} at ${atMs}`)).toEqual([
      '1 at 5',
      '2 at 3000',
    ])
    expect(told.map((text) => text.replace(/ of \d+/, ''))).toEqual([
      'a rate-limited at 1000',
      'b value at 3010',
      'c value at 3010',
    ])
    expect(asker.countPending()).toBe(0)
  })

  it('is not asked meanwhile', async () => {
    const { asker, time, transport } = openAsker()
    void asker.ask(about())
    await time.advance(5)
    transport.sent[0]?.reply({ status: 429 })
    await time.settle()
    const asked = asker.ask(about())
    expect(asked).toEqual({
      ok: false,
      reason: 'rate-limited',
      source: 'vendor',
      says: [{ code: 'rate-limited', quote: 'no request may be sent for 10 s' }],
    })
    await time.advance(6_999)
    expect(asker.ask(about())).toMatchObject({ reason: 'rate-limited' })
    await time.advance(2)
    expect(asker.ask(about())).toBeInstanceOf(Promise)
  })

  it('opens no circuit', async () => {
    const { asker, time, transport, circuits } = openAsker()
    transport.onSend = (sent) => sent.reply({ status: 429, retryAfter: '1' })
    for (let at = 0; at < 20; at += 1) {
      void asker.ask(about())
      await time.advance(1_000)
    }
    expect([transport.sent.length > 10, circuits]).toEqual([true, []])
  })

  it('begins again with one request, not with a burst', async () => {
    const { asker, time, transport } = openAsker({
      question: { requestsPerMinute: 100, numbersPerRequest: 1 },
    })
    transport.onSend = (sent) => sent.reply({ status: 429, retryAfter: '2' })
    void asker.ask(about())
    await time.advance(5)
    transport.onSend = answerAfter(time, 1)
    for (let at = 0; at < 9; at += 1) void asker.ask(about())
    await time.advance(2_000)
    expect(transport.sent).toHaveLength(2)
  })

  it('is asked again about what it refused, as long as somebody waits', async () => {
    const { note, time, told, transport, left } = openAsker({ limits: { retries: 0 } })
    transport.onSend = (sent) => sent.reply({ status: 429, retryAfter: '8' })
    note('later', about(anyNumber(), { inBackground: true }))
    await time.advance(100_000)
    // After the pause it waits for half of the burst; the next pause would outlast its deadline.
    expect(transport.sent.map(({ atMs }) => atMs)).toEqual([250, 11_750, 23_250])
    expect(told).toEqual(['later rate-limited at 23250'])
    expect(left()).toEqual(nothingLeft)
  })

  it('fails every waiting question: queued, in background, and waiting for a retry', async () => {
    const { note, time, told, transport, left } = openAsker({
      question: { numbersPerRequest: 2 },
      limits: { maxRequests: 2 },
    })
    note('resting', about())
    note('later', about(anyNumber(), { inBackground: true }))
    note('busy', about(anyNumber(), { projectId: 'P' }))
    await time.advance(5)
    transport.sent[0]?.fail('cut-off')
    await time.settle()
    note('gathering', about())
    transport.sent[1]?.reply({ status: 429, retryAfter: '5' })
    await time.settle()
    expect(told.map((text) => text.replace('rate-limited at ', '')).sort()).toEqual([
      'busy 5',
      'gathering 5',
      'resting 5',
    ])
    transport.onSend = answerAfter(time, 1)
    await time.advance(9_000)
    expect(transport.sent.slice(2).map(({ numbers }) => numbers.length)).toEqual([1])
    expect(told[3]).toMatch(/^later value/)
    note('next', about())
    await time.advance(1_000)
    expect(told[4]).toMatch(/^next value/)
    expect(left()).toEqual(nothingLeft)
  })

  it('leaves no timer for questions that have failed', async () => {
    const { note, time, told, transport, left } = openAsker({ random: () => 1 })
    note('a', about())
    note('b', about(anyNumber(), { projectId: 'P' }))
    await time.advance(5)
    transport.sent[0]?.fail('cut-off')
    await time.settle()
    transport.sent[1]?.reply({ status: 429, retryAfter: '60' })
    await time.settle()
    expect(told).toEqual(['b rate-limited at 5', 'a rate-limited at 5'])
    expect(left()).toEqual(nothingLeft)
  })

  it('is asked as before after the pause, whatever was being gathered', async () => {
    const { note, time, told, transport } = openAsker()
    note('a', about())
    await time.advance(5)
    note('gathering', about())
    transport.sent[0]?.reply({ status: 429, retryAfter: '60' })
    await time.settle()
    expect(told).toHaveLength(2)
    transport.onSend = answerAfter(time, 1)
    await time.advance(60_000)
    note('next', about())
    await time.advance(6)
    expect(told[2]).toMatch(/^next value of \d+ at 60011$/)
  })

  it('may still answer what it was asked before', async () => {
    const { note, time, told, transport } = openAsker()
    note('a', about())
    note('b', about(anyNumber(), { projectId: 'P' }))
    await time.advance(5)
    transport.sent[0]?.reply({ status: 429, retryAfter: '60' })
    await time.settle()
    transport.sent[1]?.answer()
    await time.settle()
    expect(told[0]).toBe('a rate-limited at 5')
    expect(told[1]).toMatch(/^b value/)
  })
})

describe('a provider that fails', () => {
  const failing = (openMs = 5_000) => {
    const opened = openAsker({
      limits: { circuitFailures: 2, retries: 0, circuitOpenMs: openMs },
      random: () => 1,
    })
    opened.transport.onSend = (sent) => sent.fail('unreachable')
    const fail = async () => {
      for (const asks of [about(), about()]) {
        void opened.asker.ask(asks)
        await opened.time.advance(5)
      }
    }
    return { ...opened, fail }
  }

  it('is not asked, and every caller fails at once', async () => {
    const { asker, fail, transport, left } = failing()
    await fail()
    expect(asker.getCircuit()).toEqual({ open: true, detail: 'fake unreachable' })
    expect(asker.ask(about())).toEqual({
      ok: false,
      reason: 'circuit-open',
      source: 'vendor',
      says: [
        {
          code: 'circuit-open',
          quote: 'requests are paused after repeated failures: fake unreachable',
        },
      ],
    })
    expect([transport.sent.length, left()]).toEqual([2, nothingLeft])
  })

  it('gets no more requests: queued questions and retries fail', async () => {
    const { note, time, told, transport, left } = openAsker({
      limits: { circuitFailures: 2, maxRequests: 2 },
      question: { numbersPerRequest: 1 },
    })
    for (const name of ['a', 'b', 'c', 'd']) note(name, about())
    await time.advance(5)
    transport.sent[0]?.fail('cut-off')
    await time.settle()
    // `a` waits for another attempt, `c` has gone in its place.
    transport.sent[1]?.fail('cut-off')
    await time.settle()
    expect(told.sort()).toEqual([
      'a circuit-open at 5',
      'b source-failed at 5',
      'd circuit-open at 5',
    ])
    await time.advance(3_000)
    expect(left()).toEqual(nothingLeft)
  })

  it('is probed by one request; other questions fail until it succeeds', async () => {
    const { asker, fail, time, transport, note, told } = failing()
    await fail()
    await time.advance(5_000)
    transport.onSend = () => undefined
    note('a', about())
    note('other group', about(anyNumber(), { projectId: 'P' }))
    await time.advance(5)
    expect(transport.sent).toHaveLength(3)
    expect(told).toEqual(['other group circuit-open at 5015'])
    expect(asker.ask(about())).toMatchObject({ reason: 'circuit-open' })
    transport.sent[2]?.answer()
    await time.settle()
    expect(told[1]).toMatch(/^a value/)
    expect(asker.getCircuit()).toEqual({ open: false, detail: '' })
    expect(asker.ask(about())).toBeInstanceOf(Promise)
  })

  it('is asked what the probe asks, too', async () => {
    const { asker, fail, time, transport } = failing()
    await fail()
    await time.advance(5_000)
    transport.onSend = answerAfter(time, 100)
    const asks = about()
    void asker.ask(asks)
    await time.advance(50)
    const asked = asker.ask(asks)
    await time.advance(100)
    expect(textOf(await asked)).toMatch(/^value/)
  })

  it('is not asked for longer after a failed probe, which is not retried', async () => {
    const { asker, fail, time, transport } = failing()
    await fail()
    await time.advance(5_000)
    const asked = asker.ask(about())
    await time.advance(5)
    expect(textOf(await asked)).toBe('source-failed')
    await time.advance(9_990)
    expect(asker.ask(about())).toMatchObject({ reason: 'circuit-open' })
    await time.advance(10)
    expect(asker.ask(about())).toBeInstanceOf(Promise)
    expect(transport.sent).toHaveLength(3)
  })

  it('has recovered when a probe succeeds after its caller gave up', async () => {
    const { asker, fail, time, transport } = failing(100)
    await fail()
    await time.advance(100)
    transport.onSend = () => undefined
    const asked = asker.ask(about())
    await time.advance(3_000)
    expect(textOf(await asked)).toBe('deadline')
    expect(asker.ask(about())).toMatchObject({ reason: 'circuit-open' })
    transport.sent[2]?.answer()
    await time.settle()
    expect(asker.getCircuit().open).toBe(false)
  })

  it('is probed again when a probe never finishes', async () => {
    const { asker, fail, time, transport } = failing(100)
    await fail()
    await time.advance(100)
    transport.onSend = () => undefined
    void asker.ask(about())
    await time.advance(3_005)
    expect(asker.ask(about())).toMatchObject({ reason: 'circuit-open' })
    await time.advance(200)
    expect(asker.ask(about())).toBeInstanceOf(Promise)
  })

  it('and says it was asked too often is probed after the pause', async () => {
    const { asker, fail, time, transport, circuits } = failing()
    await fail()
    await time.advance(5_000)
    transport.onSend = (sent) => sent.reply({ status: 429, retryAfter: '2' })
    const asked = asker.ask(about())
    await time.advance(5)
    transport.onSend = answerAfter(time, 1)
    await time.advance(1_999)
    expect([transport.sent.length, asker.getCircuit().open]).toEqual([3, true])
    await time.advance(10)
    expect(textOf(await asked)).toMatch(/^value/)
    expect(circuits).toEqual(['scrub open', 'scrub closed'])
  })

  it('answers requests sent before the circuit opened', async () => {
    const { note, time, told, transport, asker } = openAsker({
      limits: { circuitFailures: 1, retries: 0 },
      question: { numbersPerRequest: 1 },
    })
    note('slow', about())
    note('failed', about())
    await time.advance(5)
    transport.sent[1]?.fail('cut-off')
    await time.settle()
    transport.sent[0]?.answer()
    await time.settle()
    expect(told[0]).toBe('failed source-failed at 5')
    expect(told[1]).toMatch(/^slow value/)
    expect(asker.getCircuit().open).toBe(true)
  })

  it('is logged once when it fails and once when it recovers', async () => {
    const { asker, fail, time, transport, lines, circuits } = failing()
    await fail()
    for (let at = 0; at < 30; at += 1) {
      void asker.ask(about())
      await time.advance(5_000)
    }
    transport.onSend = answerAfter(time, 1)
    await time.advance(60_000)
    void asker.ask(about())
    await time.advance(10)
    expect(lines).toEqual([
      {
        line: 'warn: requests to a provider are paused, since they keep failing',
        fields: { provider: 'vendor', question: 'scrub', detail: 'fake unreachable' },
      },
      {
        line: 'info: a provider is answering again',
        fields: { provider: 'vendor', question: 'scrub', detail: 'fake unreachable' },
      },
    ])
    expect(circuits).toEqual(['scrub open', 'scrub closed'])
  })

  it('that refuses the key is logged once until it accepts it', async () => {
    const { asker, fail, time, transport, lines } = failing()
    const errors = () => lines.filter(({ line }) => line.startsWith('error')).length
    transport.onSend = (sent) => sent.reply({ status: 401 })
    await fail()
    await time.advance(5_000)
    void asker.ask(about())
    await time.advance(20_000)
    expect(errors()).toBe(1)
    transport.onSend = answerAfter(time, 1)
    void asker.ask(about())
    await time.advance(10)
    transport.onSend = (sent) => sent.reply({ status: 401 })
    void asker.ask(about())
    await time.advance(10)
    expect(errors()).toBe(2)
    expect(JSON.stringify(lines)).not.toContain('the-secret-key')
  })
})
