/** Several books as one: who is asked, who is believed, and what becomes of one that fails. */
import { describe, expect, it } from 'vitest'
import type { LineStatusAnswer, LookupSource } from '../../src/domain/lookups.js'
import type {
  Complaint,
  ComplaintSource,
  LabelSource,
  NumberLabels,
} from '../../src/domain/spam-labels.js'
import { CombinedComplaints, CombinedLabels } from '../../src/service/lookups/combined-labels.js'
import { CombinedLookups } from '../../src/service/lookups/combined-lookups.js'
import { createReassignedAnswer } from '../../src/service/lookups/reassigned-answer.js'
import { n } from '../support/service-subjects.js'

const number = n('2127365001')
const down = async (): Promise<never> => {
  throw new Error('the source is down')
}
const slow = async (): Promise<never> => {
  throw Object.assign(new Error('no answer within 5000 ms'), { name: 'TimeoutError' })
}
const broken: LookupSource = {
  identity: down,
  lineStatus: down,
  resOrBusiness: down,
  reassigned: down,
}

function book(parts: Partial<LookupSource> = {}): LookupSource {
  const nothing = async () => undefined
  return {
    identity: nothing,
    lineStatus: nothing,
    resOrBusiness: nothing,
    reassigned: async (asked) => asked.map(() => undefined),
    ...parts,
  }
}

const named = <Book>(books: readonly Book[]) =>
  books.map((one, place) => ({ name: place === 0 ? 'acme' : `file ${place}`, source: one }))

function join(...books: LookupSource[]) {
  const failures: string[] = []
  const lookups = new CombinedLookups(named(books), (what, cause) => {
    failures.push(`${what}: ${cause instanceof Error ? cause.message : 'no error'}`)
  })
  return { lookups, failures }
}

const wireless = { phoneType: 'W', ocn: 'ZZ02', telcoName: 'Example', on: 20_000 } as const
const landline = { ...wireless, phoneType: 'L' } as const

describe('identity and residential-or-business', () => {
  it.each([
    ['the first that has a fact', [wireless, landline], 'W'],
    ['the second where the first has none', [undefined, landline], 'L'],
    ['nobody', [undefined, undefined], undefined],
    ['nobody, without books', [], undefined],
  ] as const)('are told by %s', async (_who, facts, expected) => {
    const { lookups } = join(...facts.map((fact) => book({ identity: async () => fact })))
    expect((await lookups.identity(number))?.phoneType).toBe(expected)
  })

  it('are told by the next where a source cannot be asked', async () => {
    const second = book({ identity: async () => wireless, resOrBusiness: async () => 'B' })
    const { lookups, failures } = join(broken, second)
    expect([await lookups.identity(number), await lookups.resOrBusiness(number)]).toEqual([
      wireless,
      'B',
    ])
    expect(failures).toEqual([
      'identity from acme: the source is down',
      'res-or-business from acme: the source is down',
    ])
  })

  it('are no fact where nobody can be asked', async () => {
    const { lookups } = join(broken, broken)
    expect([await lookups.identity(number), await lookups.resOrBusiness(number)]).toEqual([
      undefined,
      undefined,
    ])
  })

  it('take an undetermined record for no fact', async () => {
    const undetermined = book({ resOrBusiness: async () => 'U' })
    const second = book({ resOrBusiness: async () => 'R' })
    expect(await join(undetermined, second).lookups.resOrBusiness(number)).toBe('R')
    expect(await join(undetermined).lookups.resOrBusiness(number)).toBeUndefined()
  })
})

describe('the line status', () => {
  const says = (status: LineStatusAnswer['status']) =>
    book({ lineStatus: async () => ({ status, errorText: status === 'ERROR' ? 'no data' : '' }) })
  const late = book({ lineStatus: slow })

  it.each<[string, readonly LookupSource[], string | undefined]>([
    ['the first fact', [says('connected'), says('disconnected')], 'connected'],
    ['a busy line, which is a fact', [says('busy'), says('connected')], 'busy'],
    ['the second, where the first is not done', [says('pending'), says('connected')], 'connected'],
    ['the second, where the first is down', [broken, says('disconnected')], 'disconnected'],
    ['the second, where the first is late', [late, says('connected')], 'connected'],
    ['connected, where a second knows', [says('invalid-phone'), says('connected')], 'connected'],
    ['disconnected likewise', [says('invalid phone'), says('disconnected')], 'disconnected'],
    ['busy likewise', [says('invalid-format'), says('busy')], 'busy'],
    ['invalid, where no second knows', [says('invalid-phone'), book(), broken], 'invalid-phone'],
    ['invalid also by a second', [broken, says('invalid-phone')], 'invalid-phone'],
    ['pending, where the first is late', [late, book()], 'pending'],
    ['pending, where the first says so', [says('pending'), book()], 'pending'],
    ['unavailable, where the first is down', [broken, book()], 'serverunavailable'],
    ['the first trouble of several', [late, broken], 'pending'],
    ['no data of the second', [book(), says('ERROR')], 'ERROR'],
    ['nothing', [book(), book()], undefined],
  ])('is %s', async (_what, books, expected) => {
    expect((await join(...books).lookups.lineStatus(number))?.status).toBe(expected)
  })
})

describe('reassigned', () => {
  const asked = [
    { number, consentOn: 20_000 },
    { number: n('2127365002'), consentOn: 20_001 },
    { number: n('2127365003'), consentOn: 20_002 },
  ]
  const saying = (...answers: (ReturnType<typeof createReassignedAnswer> | undefined)[]) =>
    book({ reassigned: async () => answers })

  it('joins what all of them say, in order', async () => {
    const provider = saying(createReassignedAnswer(false, null), undefined, undefined)
    const feed = saying(
      createReassignedAnswer(true, null),
      createReassignedAnswer(null, false),
      undefined,
    )
    expect(await join(provider, feed).lookups.reassigned(asked)).toEqual([
      createReassignedAnswer(true, null),
      createReassignedAnswer(null, false),
      undefined,
    ])
  })

  it('is told by those that can be asked', async () => {
    const { lookups, failures } = join(
      broken,
      saying(createReassignedAnswer(true, true), undefined, undefined),
    )
    expect(await lookups.reassigned(asked)).toEqual([
      createReassignedAnswer(true, true),
      undefined,
      undefined,
    ])
    expect(failures).toEqual(['reassigned from acme: the source is down'])
  })

  it('is no fact where nobody can be asked', async () => {
    expect(await join(broken).lookups.reassigned(asked)).toEqual([undefined, undefined, undefined])
  })

  it('does without the rows that a source leaves out', async () => {
    const short = book({ reassigned: async () => [createReassignedAnswer(true, null)] })
    expect(await join(short).lookups.reassigned(asked)).toEqual([
      createReassignedAnswer(true, null),
      undefined,
      undefined,
    ])
  })
})

it('a failure is told once, and again after it had ended', async () => {
  let isDown = true
  const { lookups, failures } = join(book({ identity: async () => (isDown ? down() : undefined) }))
  for (let time = 0; time < 3; time += 1) await lookups.identity(number)
  expect(failures).toHaveLength(1)
  isDown = false
  await lookups.identity(number)
  isDown = true
  await lookups.identity(number)
  expect(failures).toHaveLength(2)
})

describe('labels', () => {
  const [one, two, three] = [n('2127365001'), n('2127365002'), n('2127365003')]
  const wanted = ['CarrierA', 'AppA'] as const
  const labelBook = (facts: Readonly<Record<string, NumberLabels>>) => {
    const asked: string[][] = []
    const labels: LabelSource['labels'] = async (numbers) => {
      asked.push([...numbers])
      return new Map(numbers.flatMap((each) => (facts[each] ? [[each, facts[each]] as const] : [])))
    }
    return { labels, asked }
  }
  const joinLabels = (...books: LabelSource[]) => new CombinedLabels(named(books), () => undefined)

  it('of the first are believed, and the second is asked for what is left', async () => {
    const first = labelBook({
      [one]: { CarrierA: true, AppA: false },
      [two]: { CarrierA: false },
    })
    const second = labelBook({
      [two]: { CarrierA: true, AppA: true, AppB: true },
      [three]: { AppA: false },
    })
    const found = await joinLabels(first, second).labels([one, two, three], wanted)
    expect(Object.fromEntries(found)).toEqual({
      [one]: { CarrierA: true, AppA: false },
      [two]: { CarrierA: false, AppA: true },
      [three]: { AppA: false },
    })
    expect(second.asked).toEqual([[two, three]])
  })

  it('are not asked of a second that is not needed', async () => {
    const second = labelBook({})
    await joinLabels(labelBook({ [one]: { CarrierA: true, AppA: true } }), second).labels(
      [one],
      wanted,
    )
    expect(second.asked).toEqual([])
  })

  it('of the second count where the first cannot be asked', async () => {
    const second = labelBook({ [one]: { CarrierA: true } })
    const found = await joinLabels({ labels: down }, second).labels([one], wanted)
    expect([...found]).toEqual([[one, { CarrierA: true }]])
  })

  it('cannot be asked where nobody can, and are none without books', async () => {
    const nobody = joinLabels({ labels: down }, { labels: down })
    await expect(nobody.labels([one], wanted)).rejects.toThrow('the source is down')
    expect([...(await joinLabels().labels([one], wanted))]).toEqual([])
  })
})

describe('complaints', () => {
  const complaint = (id: string, createdDate: string): Complaint => ({
    id,
    createdDate,
    violationDate: createdDate,
    phone: number,
    city: '',
    state: 'NY',
    areaCode: '212',
    subject: 'Other',
    recordedMessageOrRobocall: 'N',
  })
  const filed = (...complaints: Complaint[]): ComplaintSource => ({
    complaints: async () => new Map(complaints.length > 0 ? [[number, complaints]] : []),
  })
  const joinComplaints = (...books: ComplaintSource[]) =>
    new CombinedComplaints(named(books), () => undefined)
  const old = complaint('a', '12/31/2024 23:59:59')
  const young = complaint('b', '01/02/2025 00:00:00')
  const between = complaint('c', '01/01/2025 10:00:00')

  it('of all books come once each, newest first', async () => {
    const found = await joinComplaints(filed(young, old), filed(between, old)).complaints([number])
    expect(found.get(number)?.map(({ id }) => id)).toEqual(['b', 'c', 'a'])
  })

  it('of the others count where one cannot be asked', async () => {
    const found = await joinComplaints({ complaints: down }, filed(old)).complaints([number])
    expect(found.get(number)).toEqual([old])
    const nobody = joinComplaints({ complaints: down })
    await expect(nobody.complaints([number])).rejects.toThrow('the source is down')
    expect([...(await joinComplaints(filed()).complaints([number]))]).toEqual([])
  })
})
