/** What those who ask see: shared requests, shared answers, deadlines, bounds. */
import { describe, expect, it } from 'vitest'
import { about, answerAfter, anyNumber, rowsFor } from '../../../support/fake-provider.js'
import { nothingLeft, openAsker, textOf } from '../../../support/open-batch-client.js'
import { quoted } from '../../../support/said.js'

const many = (count: number) => Array.from({ length: count }, () => about())

const notUnderstood = (quote: string) => [{ code: 'not-understood', quote }]

describe('questions that come together', () => {
  it('are one request when the window has passed, and not before', async () => {
    const { asker, time, transport } = openAsker()
    const first = asker.ask(about())
    await time.advance(4)
    const second = asker.ask(about())
    expect(transport.sent).toHaveLength(0)
    await time.advance(1)
    expect(transport.sent.map(({ numbers, atMs }) => [numbers.length, atMs])).toEqual([[2, 5]])
    transport.sent[0]?.answer()
    expect((await first).ok && (await second).ok).toBe(true)
  })

  it('are sent at once when they fill a request', async () => {
    const { asker, transport, gathered } = openAsker({ question: { numbersPerRequest: 3 } })
    for (const asks of many(7)) void asker.ask(asks)
    expect(transport.sent.map(({ numbers }) => numbers.length)).toEqual([3, 3])
    await gathered(about())
    expect(transport.sent.map(({ numbers }) => numbers.length)).toEqual([3, 3, 2])
  })

  it('each get their own answer, with source, time and expiry', async () => {
    const { asker, time, sent, start } = openAsker()
    const numbers = [anyNumber(), anyNumber()]
    const asked = numbers.map((number) => asker.ask(about(number)))
    await time.advance(5)
    await time.advance(600)
    sent(0).answer()
    for (const [at, answer] of asked.entries()) {
      expect(await answer).toEqual({
        ok: true,
        value: `value of ${numbers[at]}`,
        source: 'vendor',
        asOf: start + 5,
        holdsUntil: start + 5 + 60_000,
      })
    }
  })

  it('do not get the answer of a neighbour', async () => {
    const { sent, gathered } = openAsker()
    const [one, two, three] = [anyNumber(), anyNumber(), anyNumber()] as const
    const { answers } = await gathered(about(one), about(two), about(three))
    const rows = [
      [one, 'yes'],
      [three, 'no'],
      [three, '?'],
    ]
    sent(0).reply({ body: JSON.stringify(rows) })
    expect(await answers).toMatchObject([
      { ok: true, value: 'yes' },
      { ok: false, reason: 'not-understood', says: notUnderstood('the row is not its own') },
      { ok: false, reason: 'not-understood' },
    ])
  })

  it('none of them is answered by a reply with fewer rows than questions', async () => {
    const parseReply = () => [{ value: 'yes', holdsUntil: 0 }]
    const { sent, gathered } = openAsker({ batch: { parseReply } })
    const { answers } = await gathered(about(), about())
    sent(0).answer()
    expect(await answers).toMatchObject([
      ...Array.from({ length: 2 }, () => ({
        reason: 'not-understood',
        says: notUnderstood('1 rows for 2 numbers'),
      })),
    ])
  })

  it('of different groups are different requests, the longest waiting first', async () => {
    const { asker, time, transport } = openAsker({ limits: { maxRequests: 1 } })
    const groups = ['B', 'A', 'B', 'C', 'A']
    for (const projectId of groups) void asker.ask(about(anyNumber(), { projectId }))
    await time.advance(5)
    for (const size of [2, 2, 1]) {
      expect(transport.sent.at(-1)?.numbers).toHaveLength(size)
      transport.sent.at(-1)?.answer()
      await time.settle()
    }
    expect(transport.sent).toHaveLength(3)
  })

  it('of a crowded group do not keep another waiting', async () => {
    const { asker, time, transport } = openAsker({
      limits: { maxRequests: 1 },
      question: { numbersPerRequest: 2 },
    })
    for (const asks of many(5)) void asker.ask(asks)
    const lonely = anyNumber()
    void asker.ask(about(lonely, { projectId: 'LONELY' }))
    while (transport.sent.length < 4) {
      await time.advance(5)
      for (const asks of many(2)) void asker.ask(asks)
      transport.sent.at(-1)?.answer()
      await time.settle()
    }
    expect(transport.sent[3]?.numbers).toEqual([lonely])
  })

  it('about one number in two ways are two requests', async () => {
    const { transport, gathered } = openAsker()
    const number = anyNumber()
    await gathered(about(number), about(number, { postalCode: '90001' }), about())
    expect(transport.sent.map(({ numbers }) => numbers.length)).toEqual([2, 1])
  })
})

describe('the same question', () => {
  it('asked at the same moment is one promise', async () => {
    const { asker } = openAsker()
    const asks = about()
    expect(asker.ask(asks)).toBe(asker.ask({ ...asks }))
    expect(asker.countPending()).toBe(1)
  })

  it('is asked once, also while it is under way', async () => {
    const { asker, time, transport, sent } = openAsker()
    const asks = about()
    const first = asker.ask(asks)
    await time.advance(500)
    const second = asker.ask({ ...asks })
    await time.advance(500)
    sent(0).answer()
    expect([await first, transport.sent.length]).toEqual([await second, 1])
  })

  it('is asked again when it was answered', async () => {
    const { asker, time, transport } = openAsker()
    transport.onSend = answerAfter(time, 10)
    const asks = about()
    void asker.ask(asks)
    await time.advance(100)
    void asker.ask(asks)
    await time.advance(100)
    expect(transport.sent).toHaveLength(2)
  })

  it('asked later has a later deadline', async () => {
    const { note, time, told, left } = openAsker({ limits: { retries: 0 } })
    const asks = about()
    note('first', asks)
    await time.advance(2_000)
    note('second', asks)
    await time.advance(10_000)
    expect(told).toEqual(['first deadline at 3000', 'second deadline at 3005'])
    expect(left()).toEqual(nothingLeft)
  })

  it('gets the answer that comes too late for who asked first', async () => {
    const { note, time, told, sent } = openAsker()
    const asks = about()
    note('first', asks)
    await time.advance(2_000)
    note('second', asks)
    await time.advance(1_003)
    sent(0).answer()
    await time.advance(0)
    expect(told[0]).toBe('first deadline at 3000')
    expect(told[1]).toMatch(/^second value of \d+ at 3003$/)
  })

  it('joins a request whose first caller gave up', async () => {
    const { note, time, told, transport } = openAsker()
    transport.onSend = answerAfter(time, 2_999)
    const asks = about()
    note('first', asks)
    await time.advance(3_001)
    note('second', asks)
    await time.advance(10)
    expect(transport.sent).toHaveLength(1)
    expect(told.map((text) => text.replace(/ of \d+/, ''))).toEqual([
      'first deadline at 3000',
      'second value at 3004',
    ])
  })

  it('that joined a request without a reply is sent again within its own deadline', async () => {
    const { note, time, told, transport } = openAsker()
    const asks = about()
    note('first', asks)
    await time.advance(2_000)
    note('second', asks)
    await time.advance(1_500)
    transport.sent.at(-1)?.answer()
    await time.advance(0)
    expect(transport.sent).toHaveLength(2)
    expect(told[1]).toMatch(/^second value of \d+ at 3500$/)
  })
})

describe('a deadline', () => {
  it('is kept to the millisecond, whatever the request does', async () => {
    const { note, time, told } = openAsker({ question: { deadlineMs: 700 } })
    note('a', about())
    await time.advance(3)
    note('b', about())
    await time.advance(2_000)
    expect(told).toEqual(['a deadline at 700', 'b deadline at 703'])
  })

  it.each([
    { sentFirst: true, quote: 'no answer within 3000 ms' },
    { sentFirst: false, quote: 'could not be asked within 3000 ms' },
  ])('tells how far the question came: sent $sentFirst', async ({ sentFirst, quote }) => {
    const { asker, time } = openAsker({ limits: { maxRequests: 1, retries: 0 } })
    if (!sentFirst) void asker.ask(about(anyNumber(), { projectId: 'FIRST' }))
    const asked = asker.ask(about())
    await time.advance(3_000)
    const says = [{ code: 'deadline', quote }]
    expect(await asked).toEqual({ ok: false, reason: 'deadline', says, source: 'vendor' })
  })

  it('needs no timer for each of 20,000 that wait', async () => {
    const { asker, time, left } = openAsker({ limits: { maxRequests: 1, retries: 0 } })
    const asked = many(20_000).map((asks) => asker.ask(asks))
    await time.advance(5)
    expect(time.waiting()).toBeLessThan(5)
    await time.advance(3_000)
    const reasons = new Set((await Promise.all(asked)).map(textOf))
    expect(reasons).toEqual(new Set(['deadline']))
    await time.advance(3_000)
    expect(left()).toEqual(nothingLeft)
  })

  it('ends the request a deadline after it was sent, and leaves nothing', async () => {
    const { gathered, time, sent, left } = openAsker({ limits: { retries: 0 } })
    await gathered(about())
    await time.advance(2_999)
    expect(sent(0).signal.aborted).toBe(false)
    await time.advance(1)
    expect([sent(0).signal.aborted, left()]).toEqual([true, nothingLeft])
  })

  it('loses to an answer of the same moment that came before', async () => {
    const { note, time, told, transport } = openAsker()
    transport.onSend = answerAfter(time, 2_995)
    note('a', about())
    await time.advance(10_000)
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(/ at 3000$/)
  })

  it('of a question that is still queued takes it out of the queue', async () => {
    const { asker, time, transport } = openAsker({
      limits: { maxRequests: 1, retries: 0 },
      question: { deadlineMs: 100 },
    })
    void asker.ask(about())
    void asker.ask(about(anyNumber(), { projectId: 'SECOND' }))
    await time.advance(1_000)
    expect(transport.sent).toHaveLength(1)
  })
})

describe('bounds', () => {
  it('the queue: one more is overloaded at once', async () => {
    const { asker, time } = openAsker({ limits: { maxQueued: 3 } })
    for (const asks of many(3)) void asker.ask(asks)
    expect(asker.ask(about())).toEqual({
      ok: false,
      reason: 'overloaded',
      source: 'vendor',
      says: [{ code: 'overloaded', quote: '3 questions are already waiting' }],
    })
    await time.advance(5)
    expect(asker.ask(about())).toBeInstanceOf(Promise)
  })

  it('the queue: answered questions free their places, exactly once', async () => {
    const { asker, time, transport } = openAsker({ limits: { maxQueued: 2 } })
    transport.onSend = answerAfter(time, 1)
    for (let at = 0; at < 3; at += 1) {
      for (const asks of many(2)) void asker.ask(asks)
      expect(asker.ask(about())).toMatchObject({ reason: 'overloaded' })
      await time.advance(10)
    }
  })

  it('the queue: a duplicate of a queued question is accepted when the queue is full', async () => {
    const { asker } = openAsker({ limits: { maxQueued: 1 } })
    const asks = about()
    expect(asker.ask(asks)).toBe(asker.ask(asks))
  })

  it('requests in flight, each filled to its maximum', async () => {
    const { asker, time, transport } = openAsker({
      limits: { maxRequests: 2 },
      question: { numbersPerRequest: 2 },
    })
    for (const asks of many(9)) void asker.ask(asks)
    await time.advance(500)
    expect([transport.sent.length, transport.underWay()]).toEqual([2, 2])
    transport.sent[0]?.answer()
    await time.settle()
    expect([transport.sent.length, transport.underWay()]).toEqual([3, 2])
  })

  it('the rate: the next request waits for its token and takes all that wait', async () => {
    const { asker, time, transport } = openAsker({ question: { requestsPerMinute: 100 } })
    transport.onSend = answerAfter(time, 1)
    for (let at = 0; at < 300; at += 1) {
      void asker.ask(about())
      await time.advance(10)
    }
    const numbers = transport.sent.reduce((sum, one) => sum + one.numbers.length, 0)
    expect(transport.sent.length).toBeLessThan(16)
    expect(numbers).toBeGreaterThan(230)
  })

  it('the rate: a question that cannot be sent before its deadline fails at once', async () => {
    const { gathered, asker } = openAsker({ question: { requestsPerMinute: 1 } })
    await gathered(about())
    expect(asker.ask(about())).toEqual({
      ok: false,
      reason: 'rate-limited',
      source: 'vendor',
      says: [{ code: 'rate-limited', quote: 'no request may be sent for 63 s' }],
    })
  })
})

describe('background questions', () => {
  const later = (number = anyNumber()) => about(number, { inBackground: true })

  it('fill the free places of a request, after urgent questions', async () => {
    const { asker, time, transport } = openAsker({
      question: { numbersPerRequest: 4, requestsPerMinute: 1 },
    })
    const background = [anyNumber(), anyNumber(), anyNumber()]
    for (const number of background.slice(0, 2)) void asker.ask(later(number))
    const urgent = anyNumber()
    void asker.ask(about(urgent))
    await time.advance(5)
    expect(transport.sent.map(({ numbers }) => numbers)).toEqual([
      [urgent, ...background.slice(0, 2)],
    ])
  })

  it('are gathered for longer, until an urgent question comes', async () => {
    const { asker, time, transport } = openAsker()
    const numbers = [anyNumber(), anyNumber(), anyNumber()]
    for (const number of numbers) {
      void asker.ask(later(number))
      await time.advance(80)
    }
    expect(transport.sent).toHaveLength(0)
    await time.advance(10)
    expect(transport.sent.map((sent) => sent.numbers)).toEqual([numbers])
    const [patient, urgent] = [anyNumber(), anyNumber()]
    void asker.ask(later(patient))
    await time.advance(20)
    void asker.ask(about(urgent))
    await time.advance(5)
    expect(transport.sent.map((sent) => sent.numbers)).toEqual([numbers, [urgent, patient]])
  })

  it('leave half of the burst and half of the connections to urgent questions', async () => {
    const { asker, time, transport } = openAsker({
      question: { numbersPerRequest: 1, requestsPerMinute: 100 },
      limits: { maxRequests: 100 },
    })
    for (let at = 0; at < 9; at += 1) void asker.ask(later())
    await time.advance(5)
    expect(transport.sent).toHaveLength(5)
    for (const asks of many(5)) void asker.ask(asks)
    await time.advance(5)
    expect(transport.sent).toHaveLength(10)
  })

  it('take half of the connections at most', async () => {
    const { asker, time, transport } = openAsker({ question: { numbersPerRequest: 1 } })
    for (let at = 0; at < 9; at += 1) void asker.ask(later())
    await time.advance(5)
    expect(transport.underWay()).toBe(4)
  })

  it('take half of the places at most', async () => {
    const { asker } = openAsker({ limits: { maxQueued: 6 } })
    for (let at = 0; at < 3; at += 1) void asker.ask(later())
    expect(asker.ask(later())).toMatchObject({ reason: 'overloaded' })
    expect(asker.ask(about())).toBeInstanceOf(Promise)
  })

  it('are sent when the burst has come back, and have ten times as long', async () => {
    const { note, asker, time, told, transport } = openAsker({
      question: { requestsPerMinute: 100, numbersPerRequest: 1 },
      limits: { maxRequests: 100 },
    })
    transport.onSend = answerAfter(time, 600)
    for (const asks of many(10)) void asker.ask(asks)
    await time.advance(5)
    note('later', later())
    // Six of ten tokens: one to take, and half of the burst that stays.
    await time.advance(10_000)
    expect([transport.sent.length, transport.sent[10]?.atMs]).toEqual([11, 4_154])
    expect(told[0]).toMatch(/^later value of \d+ at 4754$/)
  })

  it('fail after ten times the deadline', async () => {
    const { note, asker, time, told } = openAsker({
      limits: { maxRequests: 1, retries: 0, circuitFailures: 100 },
    })
    void asker.ask(about())
    note('later', about(anyNumber(), { inBackground: true, projectId: 'LATER' }))
    for (let at = 0; at < 40; at += 1) {
      await time.advance(1_000)
      void asker.ask(about())
    }
    expect(told).toEqual(['later deadline at 30000'])
  })

  it('fail after the last retry', async () => {
    const { note, time, told, left } = openAsker({ limits: { retries: 1 } })
    note('later', later())
    await time.advance(100_000)
    // Two requests of 3 s each, and the wait between them.
    expect(told).toEqual(['later deadline at 6325'])
    expect(left()).toEqual(nothingLeft)
  })

  it('become urgent when a caller asks the same, with the deadline of that caller', async () => {
    const { note, gathered, time, told, transport, sent } = openAsker({
      question: { requestsPerMinute: 20 },
      limits: { retries: 0 },
    })
    await gathered(about())
    sent(0).answer()
    const number = anyNumber()
    note('later', later(number))
    await time.advance(100)
    expect(transport.sent).toHaveLength(1)
    note('now', about(number))
    await time.advance(5)
    expect(transport.sent).toHaveLength(2)
    await time.advance(3_500)
    expect(told).toEqual(['now deadline at 3105', 'later deadline at 3110'])
  })
})

describe('an asker never throws', () => {
  const broken = () => {
    throw new Error('broken')
  }
  it.each([
    ['findRefusal', 'source-failed'],
    ['getIdentity', 'source-failed'],
    ['getGroup', 'source-failed'],
    ['buildRequest', 'source-failed'],
    ['parseReply', 'not-understood'],
  ] as const)('when %s does', async (part, reason) => {
    const { asker, time, transport, left } = openAsker({ batch: { [part]: broken } })
    transport.onSend = answerAfter(time, 1)
    const asked = asker.ask(about())
    await time.advance(10)
    const says = [{ code: reason, quote: 'broken' }]
    expect(await asked).toEqual({ ok: false, reason, says, source: 'vendor' })
    expect(left()).toEqual(nothingLeft)
  })

  it('when the provider’s API has no such question', () => {
    const { asker } = openAsker()
    expect(asker.ask(about(anyNumber(), { at: 0 }))).toEqual({
      ok: false,
      reason: 'not-askable',
      source: 'vendor',
      says: [{ code: 'not-askable', quote: 'cannot be asked of another instant' }],
    })
  })
})

describe('closing', () => {
  it('fails every question in every state, and leaves nothing open', async () => {
    const { asker, note, time, told, close, left, sent, gathered } = openAsker({
      limits: { maxRequests: 2 },
      question: { numbersPerRequest: 1 },
    })
    await gathered(about(), about())
    sent(0).reply({ status: 500 })
    await time.settle()
    note('joined', about(sent(1).numbers[0]))
    note('queued', about())
    note('later', about(anyNumber(), { inBackground: true }))
    await close()
    await time.settle()
    expect(told).toEqual([
      ...['joined', 'queued', 'later'].map((name) => `${name} source-failed at 5`),
    ])
    expect(left()).toEqual(nothingLeft)
    expect(asker.ask(about())).toMatchObject({ reason: 'source-failed', says: quoted('closing') })
    await time.advance(100_000)
    expect(left()).toEqual(nothingLeft)
  })

  it('ignores the replies of requests in flight', async () => {
    const { gathered, close, requested, lines, transport } = openAsker()
    const { answers } = await gathered(about())
    await close()
    expect(await answers).toMatchObject([{ reason: 'source-failed', says: quoted('closing') }])
    expect([requested, lines, transport.sent.length]).toEqual([[], [], 1])
  })
})

describe('without questions', () => {
  it('there is no timer', async () => {
    const { asker, time, transport, left } = openAsker({ question: { requestsPerMinute: 10 } })
    transport.onSend = (sent) => sent.reply({ body: rowsFor(sent.numbers) })
    for (const asks of [about(), about(anyNumber(), { inBackground: true })]) {
      void asker.ask(asks)
      await time.advance(7_000)
      expect(left()).toEqual(nothingLeft)
    }
  })

  it('there is no timer for a rate token once its questions have failed', async () => {
    const { asker, time, transport, left } = openAsker({ question: { requestsPerMinute: 10 } })
    transport.onSend = answerAfter(time, 1)
    for (const projectId of ['A', 'B', 'C']) void asker.ask(about(anyNumber(), { projectId }))
    await time.advance(3_000)
    expect([transport.sent.length, left()]).toEqual([2, nothingLeft])
  })
})
