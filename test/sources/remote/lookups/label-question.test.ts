/** Labels by a provider's reputation monitor: watched first, then told. */
import { describe, expect, it } from 'vitest'
import { labelIssuers } from '../../../../src/domain/spam-labels.js'
import { n } from '../../../support/service-subjects.js'
import { bodyOf, openLookups, replyJson, textOf } from './lookup-fixture.js'

type Sent = Parameters<typeof bodyOf>[0]
type Row = Readonly<Record<string, unknown>>

const processing = {
  LegalEntityId: null,
  CurrScore: 'Processing',
  MaxScore: 'Processing',
  HistoricalScore: '0',
  CarrierAScore: 'Processing',
  CarrierBScore: 'Processing',
  CarrierCScore: 'Processing',
  AppAStatus: 'Processing',
  AppBStatus: 'Processing',
  FTCComplaints: null,
}
const looked = {
  ...processing,
  CarrierAScore: 'Flagged',
  CarrierBScore: 'Clean',
  AppAStatus: 'Clean',
}

const actOf = ({ request }: Sent) => request.url.split('/').at(-1) ?? ''

function numbersOf(sent: Sent): readonly string[] {
  return (bodyOf(sent) as (string | { Phone: string })[]).map((one) =>
    typeof one === 'string' ? one : one.Phone,
  )
}

/** A monitor that says `looked` of what it watches, and leaves out what it does not. */
function monitor(leavesOut = true) {
  const watched = new Set<string>()
  return {
    watched,
    onSend(sent: Sent) {
      const numbers = numbersOf(sent)
      const act = actOf(sent)
      if (act === 'add') for (const number of numbers) watched.add(number)
      const scores = { add: processing, get: looked }[act]
      const known = leavesOut ? numbers.filter((one) => watched.has(one)) : numbers
      replyJson(
        sent,
        known.map((Phone) => ({
          Phone,
          Response: 'as told',
          ...(watched.has(Phone) && scores),
        })),
      )
    },
  }
}

const numbers = [n('2127365001'), n('2127365002'), n('2127365003')]
const [one, two] = [n('2127365001'), n('2127365002')]

describe.each([
  ['that leaves out what it does not watch', true],
  ['that says of each that it does not watch it', false],
])('a monitor %s', (_what, leavesOut) => {
  it('is asked to watch, and tells when it has looked', async () => {
    const { provider, transport, outcome } = openLookups()
    const vendor = monitor(leavesOut)
    transport.onSend = vendor.onSend
    expect(await outcome(provider.labels(numbers, labelIssuers))).toEqual({ value: new Map() })
    expect(transport.sent.map(textOf)).toEqual([
      'POST /v1.4/reputation/get',
      'POST /v1.4/reputation/add',
    ])
    expect(bodyOf(transport.sent[0] as Sent)).toEqual(numbers)
    expect(bodyOf(transport.sent[1] as Sent)).toEqual(numbers.map((Phone) => ({ Phone })))
    const told = { CarrierA: true, CarrierB: false, AppA: false }
    expect(await outcome(provider.labels(numbers, labelIssuers))).toEqual({
      value: new Map(numbers.map((number) => [number, told])),
    })
    expect(transport.sent.map(actOf)).toEqual(['get', 'add', 'get'])
  })
})

it('tells of what is wanted alone, and asks anew each time', async () => {
  const { provider, transport, outcome } = openLookups()
  const vendor = monitor()
  vendor.watched.add(one)
  transport.onSend = vendor.onSend
  expect(await outcome(provider.labels([one, one], ['CarrierA', 'CarrierD']))).toEqual({
    value: new Map([[one, { CarrierA: true }]]),
  })
  expect(await outcome(provider.labels([one], ['CarrierC', 'AppB']))).toEqual({ value: new Map() })
  expect(transport.sent).toHaveLength(2)
})

it('takes what the answer to the add says already', async () => {
  const { provider, transport, outcome } = openLookups()
  transport.onSend = (sent) =>
    replyJson(sent, actOf(sent) === 'get' ? [] : [{ ...looked, Phone: one, Response: 'added' }])
  expect(await outcome(provider.labels([one], ['CarrierA']))).toEqual({
    value: new Map([[one, { CarrierA: true }]]),
  })
})

it('asks for fifty numbers at a time', async () => {
  const { provider, transport, outcome } = openLookups()
  const vendor = monitor()
  transport.onSend = vendor.onSend
  const many = Array.from({ length: 120 }, (_, index) => n(`${2_127_360_000 + index}`))
  await outcome(provider.labels(many, labelIssuers), 120_000)
  const sizes = (act: string) =>
    transport.sent.filter((sent) => actOf(sent) === act).map((sent) => numbersOf(sent).length)
  expect(sizes('get')).toEqual([50, 50, 20])
  expect(Math.max(...sizes('add'))).toBeLessThanOrEqual(50)
  expect(vendor.watched.size).toBe(120)
})

describe('a number that the provider refuses', () => {
  it.each([
    ['of fifty', 50, 13],
    ['of two', 2, 3],
  ])('%s keeps no others without labels', async (_what, count, mostRequests) => {
    const { provider, transport, outcome } = openLookups()
    const many = Array.from({ length: count }, (_, index) => n(`${2_127_360_000 + index}`))
    const refused = many[1] ?? one
    const vendor = monitor()
    for (const number of many) vendor.watched.add(number)
    transport.onSend = (sent) =>
      numbersOf(sent).includes(refused)
        ? replyJson(sent, { detail: 'no such number' }, 400)
        : vendor.onSend(sent)
    const { value } = (await outcome(provider.labels(many, ['CarrierA']), 120_000)) as {
      value: ReadonlyMap<string, unknown>
    }
    expect([...value.keys()]).toEqual(many.filter((number) => number !== refused))
    expect(transport.sent.length).toBeLessThanOrEqual(mostRequests)
  })
})

describe('an odd answer', () => {
  const record = { ...looked, Phone: one, Response: 'score' }
  it.each<[string, unknown]>([
    ['of another number', [{ ...record, Phone: '2127365009' }]],
    ['without a number', [{ ...record, Phone: undefined }]],
    ['with one number twice', [record, record]],
    ['with an unknown score', [{ ...record, CarrierAScore: 'Spam' }]],
    ['without a score', [{ ...record, AppAStatus: undefined }]],
    ['that is an object', { error: 'no' }],
    ['with rows that are none', [null]],
    ['with words for rows', ['Clean']],
  ])('%s is no fact', async (_what, body) => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) => replyJson(sent, body)
    expect(await outcome(provider.labels([one], labelIssuers), 120_000)).toHaveProperty('error')
  })

  it('of one number spoils no other', async () => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) =>
      replyJson(sent, [
        { ...record, CarrierAScore: 'Spam' },
        { ...record, Phone: two },
      ])
    expect(await outcome(provider.labels([one, two], ['CarrierA']))).toEqual({
      value: new Map([[two, { CarrierA: true }]]),
    })
  })

  it('may be long: a number can have hundreds of complaints', async () => {
    const { provider, transport, outcome } = openLookups()
    let most = 0
    transport.onSend = (sent) => {
      most = sent.request.maxReplyBytes ?? 0
      replyJson(sent, [{ ...record }] satisfies Row[])
    }
    await outcome(provider.labels([one], ['CarrierA']))
    expect(most).toBeGreaterThan(300_000)
  })
})
