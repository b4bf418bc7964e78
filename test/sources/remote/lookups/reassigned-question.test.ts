/** Reassigned-number checks at a provider: batches, what a row says, what is unclear. */
import { describe, expect, it } from 'vitest'
import type { ReassignedAnswer } from '../../../../src/domain/lookups.js'
import type { LocalDay } from '../../../../src/domain/time/clock.js'
import { parseDay } from '../../../../src/domain/time/dates.js'
import { n } from '../../../support/service-subjects.js'
import { instant, testClock } from '../../../support/test-clock.js'
import { virtualTime } from '../../../support/virtual-time.js'
import { bodyOf, openLookups, replyJson, textOf } from './lookup-fixture.js'

const consentOn: LocalDay = parseDay('2024-01-31') ?? 0
const number = n('2127365001')
const one = [{ number, consentOn }]

interface Item {
  readonly phoneNumber: string
  readonly date: string
}

type Row = Readonly<Record<string, unknown>>
type Sent = Parameters<typeof bodyOf>[0]

const itemsOf = (sent: Sent) => (bodyOf(sent) as { Data: readonly Item[] }).Data
const isBasic = (sent: Sent) => sent.request.url.endsWith('/RNDBasic')

/** Rows of either call; `row` is that of the enhanced one. */
function answering(row: Row, national: boolean | null = null) {
  return (sent: Sent) =>
    replyJson(
      sent,
      itemsOf(sent).map(({ phoneNumber }) => ({
        PhoneNumber: phoneNumber,
        IsSandBox: false,
        HasSafeHarbor: false,
        ...(isBasic(sent) ? { IsReassigned: national } : row),
      })),
    )
}

const yes = { IsReassigned: true, OwnIsReassigned: true }
const no = { IsReassigned: false, OwnIsReassigned: false }

describe('a row', () => {
  /** Combined, own, harbour, what the national database says when asked; whether it was. */
  it.each<[boolean | null, boolean | null, boolean, boolean | null, boolean, ReassignedAnswer]>([
    [true, false, false, null, false, { national: true, own: false, hasSafeHarbor: false }],
    [true, null, false, null, false, { national: true, own: null, hasSafeHarbor: false }],
    [true, true, false, true, true, { national: true, own: true, hasSafeHarbor: false }],
    [true, true, false, false, true, { national: false, own: true, hasSafeHarbor: false }],
    [true, true, false, null, true, { national: null, own: true, hasSafeHarbor: false }],
    [false, null, true, null, false, { national: false, own: null, hasSafeHarbor: true }],
    [false, false, true, null, false, { national: false, own: false, hasSafeHarbor: true }],
    [false, null, false, null, false, { national: false, own: null, hasSafeHarbor: false }],
    [false, false, false, null, true, { national: null, own: false, hasSafeHarbor: false }],
    [false, false, false, false, true, { national: false, own: false, hasSafeHarbor: false }],
    [null, null, true, null, false, { national: null, own: null, hasSafeHarbor: true }],
  ])('%s, own %s, harbour %s, national %s', async (...row) => {
    const [isReassigned, own, harbour, national, isAsked, expected] = row
    const { provider, transport, outcome } = openLookups()
    const wire = { IsReassigned: isReassigned, OwnIsReassigned: own, HasSafeHarbor: harbour }
    transport.onSend = answering(wire, national)
    expect(await outcome(provider.reassigned(one))).toEqual({ value: [expected] })
    expect(transport.sent.map(textOf)).toEqual([
      'POST /v1.5/Data/EnhancedRND',
      ...(isAsked ? ['POST /v1.5/Data/RNDBasic'] : []),
    ])
  })

  it('without any word is no fact', async () => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = answering({ IsReassigned: null, OwnIsReassigned: null })
    expect(await outcome(provider.reassigned(one))).toEqual({ value: [undefined] })
  })

  it('stands without the national answer that cannot be had', async () => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) =>
      isBasic(sent) ? sent.reply({ status: 404 }) : answering(yes)(sent)
    expect(await outcome(provider.reassigned(one))).toEqual({
      value: [{ national: null, own: true, hasSafeHarbor: false }],
    })
  })

  it.each<[string, Row, boolean | null]>([
    ['test data', { ...no, HasSafeHarbor: true, IsSandBox: true }, null],
    ['a yes with a harbour', { ...yes, HasSafeHarbor: true }, null],
    ['a no, and a yes of the own data', { IsReassigned: false, OwnIsReassigned: true }, null],
    ['no answer, and a no of the own data', { ...no, IsReassigned: null }, null],
    ['no answer, and a yes of the own data', { ...yes, IsReassigned: null }, null],
    ['a no, and a yes of the national database', no, true],
    ['another number', { ...no, PhoneNumber: '2127365009' }, null],
    ['text for an answer', { ...no, IsReassigned: 'false' }, null],
    ['no harbour field', { ...no, HasSafeHarbor: undefined }, null],
    ['no own answer', { IsReassigned: false }, null],
  ])('is no fact with %s', async (_what, row, national) => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = answering(row, national)
    expect(await outcome(provider.reassigned(one))).toHaveProperty('error')
  })
})

describe('many', () => {
  const many = Array.from({ length: 2_500 }, (_, index) => ({
    number: n(`${2_127_360_000 + index}`),
    consentOn,
  }))

  it('are asked a thousand at a time and answered in their order', async () => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) =>
      replyJson(
        sent,
        itemsOf(sent).map(({ phoneNumber }) => ({
          PhoneNumber: phoneNumber,
          HasSafeHarbor: false,
          IsSandBox: false,
          IsReassigned: Number(phoneNumber) % 2 === 0 ? true : null,
          OwnIsReassigned: null,
        })),
      )
    const { value } = (await outcome(provider.reassigned(many))) as { value: unknown[] }
    expect(transport.sent.map((sent) => itemsOf(sent).length)).toEqual([1000, 1000, 500])
    expect(value).toEqual(
      many.map((_, index) =>
        index % 2 === 0 ? { national: true, own: null, hasSafeHarbor: false } : undefined,
      ),
    )
  })

  it('hold a number once in a request, with the day of consent in ISO form', async () => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = answering({ ...no, HasSafeHarbor: true })
    const twice = [...one, { number, consentOn: consentOn + 1 }, ...one]
    const { value } = (await outcome(provider.reassigned(twice))) as { value: unknown[] }
    expect(value).toHaveLength(3)
    expect(transport.sent.map(bodyOf)).toEqual([
      { Data: [{ phoneNumber: number, date: '2024-01-31' }] },
      { Data: [{ phoneNumber: number, date: '2024-02-01' }] },
    ])
  })

  it('are answered where some cannot be asked, and refused where none can', async () => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) =>
      replyJson(
        sent,
        itemsOf(sent).map(({ phoneNumber }, index) => ({
          PhoneNumber: index === 0 ? phoneNumber : '',
          HasSafeHarbor: true,
          ...no,
          IsSandBox: false,
        })),
      )
    expect(await outcome(provider.reassigned(many.slice(0, 3)))).toEqual({
      value: [{ national: false, own: false, hasSafeHarbor: true }, undefined, undefined],
    })
    transport.onSend = (sent) => replyJson(sent, [])
    expect(await outcome(provider.reassigned(many.slice(5, 8)))).toHaveProperty('error')
    expect(await outcome(provider.reassigned([]))).toEqual({ value: [] })
  })
})

describe('a refused question among others', () => {
  const refusing = (numbers: ReadonlySet<string>, status: number) => (sent: Sent) =>
    itemsOf(sent).some(({ phoneNumber }) => numbers.has(phoneNumber))
      ? replyJson(sent, { detail: 'the date is not one' }, status)
      : answering({ ...no, HasSafeHarbor: true })(sent)
  const many = Array.from({ length: 8 }, (_, index) => ({
    number: n(`${2_127_360_000 + index}`),
    consentOn,
  }))
  const fact = { national: false, own: false, hasSafeHarbor: true }

  /** Which are refused, how, which have facts, how many requests. */
  it.each<[string, readonly number[], number, number]>([
    ['the first', [0], 400, 7],
    ['the last', [7], 422, 7],
    ['two far apart', [0, 7], 400, 11],
  ])('%s alone has no fact', async (_what, refused, status, requests) => {
    const { provider, transport, outcome } = openLookups()
    const numbers = new Set<string>(refused.map((at) => many[at]?.number ?? ''))
    transport.onSend = refusing(numbers, status)
    // Two callers whose questions go together.
    const halves = Promise.all([
      provider.reassigned(many.slice(0, 4)),
      provider.reassigned(many.slice(4)),
    ])
    const { value } = (await outcome(halves)) as { value: unknown[][] }
    expect(value.flat()).toEqual(many.map((_, at) => (refused.includes(at) ? undefined : fact)))
    expect(transport.sent).toHaveLength(requests)
  })

  it.each([
    ['all, each is asked alone at the end', 400, 15],
    ['the call itself, nothing is asked again', 404, 1],
  ])('where the provider refuses %s', async (_what, status, requests) => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) => replyJson(sent, { detail: 'no' }, status)
    expect(await outcome(provider.reassigned(many))).toHaveProperty('error')
    expect(transport.sent).toHaveLength(requests)
  })

  it('is asked again at the rate, and no longer than the deadline', async () => {
    const { provider, transport, time, outcome } = openLookups({ requestsPerMinute: 60 })
    transport.onSend = (sent) => replyJson(sent, { detail: 'no' }, 400)
    const hundred = Array.from({ length: 100 }, (_, index) => ({
      number: n(`${2_127_370_000 + index}`),
      consentOn,
    }))
    const asked = provider.reassigned(hundred).catch(() => undefined)
    await time.advance(5_000)
    await asked
    const sent = transport.sent.length
    expect(sent).toBeLessThan(20)
    await outcome(Promise.resolve(), 60_000)
    expect(transport.sent).toHaveLength(sent)
  })
})

describe('the day of consent', () => {
  /** UTC now, the day asked about, the day sent. */
  it.each([
    ['2026-11-20T11:59:59Z', '2026-11-21', '2026-11-19'],
    ['2026-11-20T11:59:59Z', '2026-11-20', '2026-11-19'],
    ['2026-11-20T11:59:59Z', '2026-11-19', '2026-11-19'],
    ['2026-11-20T12:00:00Z', '2026-11-21', '2026-11-20'],
    ['2026-11-20T12:00:00Z', '2026-11-18', '2026-11-18'],
  ])('at %s of %s is sent as %s', async (now, asked, sent) => {
    const clock = testClock(now)
    const { provider, transport, outcome } = openLookups({ clock })
    transport.onSend = answering({ ...no, HasSafeHarbor: true })
    await outcome(provider.reassigned([{ number, consentOn: parseDay(asked) ?? 0 }]))
    expect(transport.sent.map(itemsOf)).toEqual([[{ phoneNumber: number, date: sent }]])
  })
})

it('test data is told of once, as of the key of a sandbox', async () => {
  const { provider, transport, lines, outcome } = openLookups()
  transport.onSend = answering({ ...no, HasSafeHarbor: true, IsSandBox: true })
  const asked = [...one, { number: n('2127365002'), consentOn }]
  for (let time = 0; time < 3; time += 1) await outcome(provider.reassigned(asked))
  expect(lines.filter((line) => line.includes('test data'))).toEqual([
    'error: a provider answers with test data: its key belongs to a sandbox account {"provider":"acme"}',
  ])
})

it('is kept by number and day, and what is no fact for a minute', async () => {
  const { provider, transport, time, outcome } = openLookups()
  transport.onSend = answering({ ...no, HasSafeHarbor: true })
  await outcome(provider.reassigned(one))
  await outcome(provider.reassigned(one))
  expect(transport.sent).toHaveLength(1)
  await outcome(provider.reassigned([{ number, consentOn: consentOn + 1 }]))
  expect(transport.sent).toHaveLength(2)
  transport.onSend = answering({ IsReassigned: null, OwnIsReassigned: null })
  const other = [{ number: n('2127365002'), consentOn }]
  await outcome(provider.reassigned(other), 10)
  await outcome(provider.reassigned(other), 59_900)
  expect(transport.sent).toHaveLength(3)
  await time.advance(100)
  await outcome(provider.reassigned(other), 10)
  expect(transport.sent).toHaveLength(4)
})

describe('a report is asked again', () => {
  const askedAfter = async (row: Row, until: string) => {
    const time = virtualTime('2026-11-16T12:00:00Z')
    const keepMs = 30 * 86_400_000
    const { provider, transport } = openLookups({ clock: time, timers: time, keepMs })
    transport.onSend = answering(row)
    const ask = async () => {
      const report = provider.report(number, consentOn, 'main')
      await time.advance(1_000)
      return await report
    }
    await ask()
    await time.advance(instant(until) - time.now())
    const report = await ask()
    return { requests: transport.sent.length, askedAt: report?.askedAt }
  }

  it('when the data of its release have been replaced, however long answers are kept', async () => {
    const denied = { ...no, HasSafeHarbor: true }
    expect(await askedAfter(denied, '2026-11-16T23:59:59Z')).toMatchObject({ requests: 1 })
    const until = '2026-11-17T00:00:00Z'
    expect(await askedAfter(denied, until)).toEqual({ requests: 2, askedAt: instant(until) })
  })

  it('never after a yes', async () => {
    const said = { IsReassigned: true, OwnIsReassigned: false }
    expect(await askedAfter(said, '2026-12-01T00:00:00Z')).toMatchObject({ requests: 1 })
  })
})

it.each([
  ['a no', { ...no, HasSafeHarbor: false }, { error: expect.any(Error) }],
  ['a yes', yes, { value: expect.objectContaining({ own: true, national: null }) }],
])(
  '%s of the own data, while the national database fails: the report',
  async (_what, row, result) => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) =>
      isBasic(sent) ? sent.reply({ status: 404 }) : answering(row)(sent)
    expect(await outcome(provider.report(number, consentOn, 'main'))).toEqual(result)
    expect(await outcome(provider.report(number, consentOn, 'main'), 10)).toEqual(result)
  },
)
