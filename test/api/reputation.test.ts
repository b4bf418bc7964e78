/** The reputation monitor over HTTP: both versions' paths, limits, exact texts and fields. */
import { beforeEach, describe, expect, test } from 'vitest'
import { flagsRemovedSummary } from '../../src/api/reputation/flags-removed.js'
import {
  reputationAdd,
  reputationGet,
  reputationGetAll,
  reputationGetPost,
  reputationRemove,
} from '../../src/api/reputation/monitor.js'
import { createRoute } from '../../src/api/route.js'
import { type Caller, noLimits } from '../../src/domain/caller.js'
import type { Complaint } from '../../src/domain/spam-labels.js'
import { maxRecordsPerReply } from '../../src/service/reputation/number-records.js'
import { allClean, type MonitorParts, monitorParts } from '../service/reputation-fixture.js'
import { useDatabase } from '../support/database.js'
import { n } from '../support/service-subjects.js'
import { adminKey, openTestApp } from '../support/test-app.js'

const database = useDatabase()
let parts: MonitorParts

beforeEach(async () => {
  parts = await monitorParts(database.storage)
})

const limited: string[] = []
const otherKey = 'o'.repeat(44)
const callers: Readonly<Record<string, Caller>> = {
  [adminKey]: { accountId: 'main', role: 'Agent', keyId: 'k1', limits: noLimits },
  [otherKey]: { accountId: 'other', role: 'Administrator', keyId: 'k2', limits: noLimits },
}

const admin: Caller = { accountId: 'main', role: 'Administrator', keyId: 'k1', limits: noLimits }

const app = await openTestApp({
  authenticate: (key) => callers[key],
  limitRate: (accountId, rate) => void limited.push(`${accountId}:${rate}`),
  routes: [
    createRoute(reputationAdd, (caller, request) => parts.monitor.add(caller, request)),
    createRoute(reputationGet, (caller, request) => parts.monitor.get(caller, request)),
    createRoute(reputationGetPost, (caller, request) => parts.monitor.get(caller, request)),
    createRoute(reputationGetAll, (caller, request) => parts.monitor.all(caller, request)),
    createRoute(reputationRemove, (caller, request) => parts.monitor.remove(caller, request)),
    createRoute(flagsRemovedSummary, (caller, request) => parts.flags.summary(caller, request)),
  ],
})

const [a, b, c] = ['2125550100', '2125550101', '2125550102']

const complaint: Complaint = {
  id: '0a1b2c',
  phone: n('2125550100'),
  createdDate: '11/02/2026 14:05:00',
  violationDate: '11/01/2026 09:30:00',
  city: 'Albany',
  state: 'NY',
  areaCode: '518',
  subject: 'Reducing your debt',
  recordedMessageOrRobocall: 'Y',
}

const fresh = (phone: string | undefined, response: string) => ({
  Response: response,
  Phone: phone,
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
})

const added = 'Phone number added to monitor'
const current = 'Phone number current score'
const removed = 'Phone number removed from monitor'
const notMonitored = 'Phone number is not monitored'

interface Edition {
  readonly add: string
  readonly get: string
  readonly all: string
  readonly remove: string
}

const editions: readonly Edition[] = [
  {
    add: '/v1.4/reputation/add',
    get: '/v1.4/reputation/get',
    all: '/v1.4/reputation/getAll',
    remove: '/v1.4/reputation/remove',
  },
  {
    add: '/v1.5/Reputation/Add',
    get: '/v1.5/Reputation/Get',
    all: '/v1.5/Reputation/GetAll',
    remove: '/v1.5/Reputation/Remove',
  },
  {
    add: '/V1.5/reputation/ADD',
    get: '/v1.5/REPUTATION/get',
    all: '/v1.5/reputation/getall',
    remove: '/v1.4/Reputation/REMOVE',
  },
]

describe.each(editions)('$add and its siblings', (path) => {
  test('without complaints while their book fails', async () => {
    parts.complaints.get = () => {
      throw new Error('the file is damaged')
    }
    const answer = await app.post(path.add, [{ Phone: a }])
    expect([answer.status, answer.json()]).toEqual([200, [fresh(a, added)]])
    const got = await app.post(path.get, [a])
    expect([got.status, got.json()]).toEqual([200, [fresh(a, current)]])
    const all = await app.send(path.all)
    expect(all.status).toBe(200)
    expect(JSON.stringify(all.json())).toContain('"FTCComplaints":null')
  })

  test('add, look, get, get all, remove', async () => {
    parts.complaints.set(n('2125550100'), [complaint])
    parts.entities.add('main:12')
    const answer = await app.post(path.add, [
      { Phone: a, Label: 'Sales', LegalEntityId: 12, ServiceType: 'any' },
      { phone: b },
    ])
    expect(answer.status).toBe(200)
    const wireComplaint = {
      FTCComplaintId: '0a1b2c',
      Phone: a,
      CreatedDate: '11/02/2026 14:05:00',
      ViolationDate: '11/01/2026 09:30:00',
      City: 'Albany',
      State: 'NY',
      AreaCode: '518',
      Subject: 'Reducing your debt',
      RecordedMessageOrRobocall: 'Y',
    }
    expect(answer.json()).toEqual([
      { ...fresh(a, added), LegalEntityId: 12, FTCComplaints: [wireComplaint] },
      fresh(b, added),
    ])

    parts.book.facts.set('2125550100', { ...allClean, CarrierB: true, AppB: true })
    await parts.checkAll()
    const known = {
      ...fresh(a, current),
      LegalEntityId: 12,
      FTCComplaints: [wireComplaint],
      CurrScore: 'Medium',
      MaxScore: 'Medium',
      HistoricalScore: '2',
      CarrierAScore: 'Clean',
      CarrierBScore: 'Flagged',
      CarrierCScore: 'Clean',
      AppAStatus: 'Clean',
      AppBStatus: 'Flagged',
    }
    const three = [known, { Response: notMonitored, Phone: c }, fresh(b, current)]
    expect((await app.send(`${path.get}?phoneList=${a},${c},${b}`)).json()).toEqual(three)
    expect((await app.post(path.get, [a, c, b])).json()).toEqual(three)

    const all = await app.send(path.all)
    expect(all.status).toBe(200)
    expect(all.headers.get('x-total-count')).toBe('2')
    expect(all.json()).toEqual([known, fresh(b, current)])
    const one = await app.send(`${path.all}?maxRecords=1`)
    expect(one.headers.get('x-total-count')).toBe('2')
    expect(one.json()).toEqual([known])

    expect((await app.post(path.remove, [c, a])).json()).toEqual([
      { Phone: c, Response: notMonitored },
      { Phone: a, Response: removed },
    ])
    expect((await app.send(path.all)).json()).toEqual([fresh(b, current)])
  })

  test("another account's key sees, changes and removes nothing", async () => {
    await app.post(path.add, [{ Phone: a }])
    const key = otherKey
    const hidden = [{ Response: notMonitored, Phone: a }]
    expect((await app.send(`${path.get}?phoneList=${a}`, { key })).json()).toEqual(hidden)
    expect((await app.post(path.get, [a], { key })).json()).toEqual(hidden)
    expect((await app.post(path.remove, [a], { key })).json()).toEqual([
      { Phone: a, Response: notMonitored },
    ])
    const all = await app.send(path.all, { key })
    expect([all.headers.get('x-total-count'), all.json()]).toEqual(['0', []])
    expect((await app.send(path.all)).json()).toEqual([fresh(a, current)])
  })

  test('no call is answered without a key, and each counts as a reputation request', async () => {
    for (const answer of [
      await app.post(path.add, [{ Phone: a }], { key: null }),
      await app.post(path.get, [a], { key: null }),
      await app.send(`${path.get}?phoneList=${a}`, { key: 'wrong' }),
      await app.send(path.all, { key: null }),
      await app.post(path.remove, [a], { key: null }),
    ]) {
      expect(answer.status).toBe(401)
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
    }
    limited.length = 0
    await app.post(path.add, [{ Phone: a }])
    await app.send(path.all, { key: otherKey })
    expect(limited).toEqual(['main:reputation', 'other:reputation'])
  })
})

const tooManyItems = Array.from({ length: 51 }, () => ({ Phone: a }))
const text = (value: unknown) => JSON.stringify(value)
const post = (value: unknown): RequestInit => ({
  method: 'POST',
  body: typeof value === 'string' ? value : text(value),
  headers: { 'content-type': 'application/json' },
})

describe('refused with 400 and problem details that name field, value and rule', () => {
  const path = editions[1] as Edition
  const summary = '/v1.5/Reputation/FlagsRemovedSummary'
  test.each<[string, string, RequestInit]>([
    ['a JSON list or object is needed', path.add, post('')],
    ['not well-formed JSON', path.add, post('[')],
    ['the body must be a JSON list or object', path.add, post('"2125550100"')],
    ['body: is required; a list of items', path.add, post({})],
    ['body: is required; a list of items', path.add, post({ Phone: a })],
    ["body 'a list of 0': must have at least 1 item", path.add, post([])],
    ["body 'a list of 51': must have at most 50 items", path.add, post(tooManyItems)],
    ["body[0] '2125550100': must be an object of fields", path.add, post([a])],
    ["body[0] 'null': must be an object of fields", path.add, post([null])],
    ["body[0] 'a list of 1': must be an object of fields", path.add, post([[a]])],
    ['body[0].Phone: must be text: exactly 10 digits', path.add, post([{}])],
    ["body[1].Phone '212555010': must be", path.add, post([{ Phone: a }, { Phone: '212555010' }])],
    ["body[0].Phone '212555010': must be text", path.add, post([{ Phone: 212555010 }])],
    ["body[0].Phone '+12125550100': must be", path.add, post([{ Phone: '+12125550100' }])],
    ["body[0].Phone '2125550100\n': must be", path.add, post([{ Phone: `${a}\n` }])],
    ["body[0].phone '2125550100': is given twice", path.add, post([{ Phone: b, phone: a }])],
    [
      'must not be longer than 50 characters',
      path.add,
      post([{ Phone: a, Label: 'x'.repeat(51) }]),
    ],
    ["body[0].Label '7': must be text", path.add, post([{ Phone: a, Label: 7 }])],
    [
      "body[0].LegalEntityId '1.5': must be a whole number",
      path.add,
      post([{ Phone: a, LegalEntityId: 1.5 }]),
    ],
    [
      "body[0].LegalEntityId 'x': must be a whole number",
      path.add,
      post([{ Phone: a, LegalEntityId: 'x' }]),
    ],
    [
      "body[0].LegalEntityId '-1': must be a legal entity of the account",
      path.add,
      post([{ Phone: a, LegalEntityId: -1 }]),
    ],
    ["body[0].Lable 'red': is an unknown field", path.add, post([{ Phone: a, Lable: 'red' }])],
    ['phoneList: is required', path.get, {}],
    ["phoneList ',': has no numbers", `${path.get}?phoneList=,`, {}],
    ["phoneList[1] '123': must be exactly 10 digits", `${path.get}?phoneList=${a},123,${b}`, {}],
    ["phoneList[1] '': must be exactly 10 digits", `${path.get}?phoneList=${a},,${b}`, {}],
    [
      'has more than 200 numbers, the maximum with GET; use POST',
      `${path.get}?phoneList=${Array(201).fill(a).join(',')}`,
      {},
    ],
    ["body 'a list of 0': must have at least 1 number", path.get, post([])],
    ["body[1] '123': must be text: exactly 10 digits", path.get, post([a, '123'])],
    ["body[0] '212555010': must be text", path.get, post([212555010])],
    ["body[0] 'an object': must be text", path.get, post([{ Phone: a }])],
    ["body 'x': must be a list of 10-digit texts", path.get, post({ body: 'x' })],
    ["body[0] 'null': must be text", path.remove, post([null])],
    ['body: is required', path.remove, post({})],
    ["maxRecords '0': must be a whole number of at least 1", `${path.all}?maxRecords=0`, {}],
    ["maxRecords '-1': must be", `${path.all}?maxRecords=-1`, {}],
    ["maxRecords '1.5': must be", `${path.all}?maxRecords=1.5`, {}],
    ["maxRecords '1e3': must be", `${path.all}?maxRecords=1e3`, {}],
    ["maxRecords 'all': must be", `${path.all}?maxRecords=all`, {}],
    ['maxRecords: is given twice', `${path.all}?maxRecords=1&maxRecords=2`, {}],
    ["max_records '1': is an unknown field", `${path.all}?max_records=1`, {}],
    ["days '0': must be a whole number from 1 to 90", `${summary}?days=0`, {}],
    ["days '91': must be", `${summary}?days=91`, {}],
    ["days '-7': must be", `${summary}?days=-7`, {}],
    ["days '7.5': must be", `${summary}?days=7.5`, {}],
    ["days 'week': must be", `${summary}?days=week`, {}],
    ["days '99999999999999999999': must be", `${summary}?days=99999999999999999999`, {}],
  ])('%s', async (detail, where, init) => {
    const answer = await app.send(where, init)
    expect([answer.status, answer.text]).toEqual([400, expect.any(String)])
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    const problem = answer.json() as { readonly detail: string }
    expect(problem).toMatchObject({
      title: 'Bad Request',
      status: 400,
      instance: where.split('?')[0],
    })
    expect(problem.detail).toContain(detail)
    expect((await parts.monitor.all(admin, { maxRecords: 1 })).total).toBe(0)
  })
})

describe('at the limits', () => {
  const path = editions[1] as Edition

  test('50 items, 200 numbers and 50 characters are served', async () => {
    const numbers = Array.from({ length: 200 }, (_, at) => `2125560${String(at).padStart(3, '0')}`)
    const items = numbers.slice(0, 50).map((Phone) => ({ Phone, Label: 'x'.repeat(50) }))
    expect((await app.post(path.add, items)).json()).toHaveLength(50)
    const found = await app.send(`${path.get}?phoneList=${numbers.join(',')},`)
    expect(found.json()).toHaveLength(200)
    expect((await app.post(path.get, [...numbers, ...numbers, a])).json()).toHaveLength(201)
  })

  test('null and empty particulars are not given', async () => {
    const item = { Phone: a, Label: null, LegalEntityId: null, ServiceType: '' }
    expect((await app.post(path.add, [item])).json()).toEqual([fresh(a, added)])
  })

  test.each(['', '15000', String(maxRecordsPerReply)])('maxRecords %j is served', async (most) => {
    const answer = await app.send(`${path.all}?maxRecords=${most}`)
    expect([answer.status, answer.json()]).toEqual([200, []])
  })

  test.each([String(maxRecordsPerReply + 1), '999999999999999'])(
    'maxRecords %s is too many: 413',
    async (most) => {
      const answer = await app.send(`${path.all}?maxRecords=${most}`)
      expect(answer.status).toBe(413)
      expect(answer.json()).toMatchObject({
        status: 413,
        detail: `Too many records requested: maxRecords '${most}' must not be more than ${maxRecordsPerReply}`,
      })
    },
  )

  test('a long list that is wholly wrong is refused in few words', async () => {
    const answer = await app.post(path.get, Array(100_000).fill('x'))
    expect(answer.status).toBe(400)
    expect(answer.text.length).toBeLessThan(2_000)
  })

  test('form bodies are refused', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await app.post(path.remove, `body=${a}`, { headers })).status).toBe(415)
  })
})

describe('the flags-removed summary', () => {
  const path = '/v1.5/reputation/flagsremovedsummary'

  test('counts by carrier', async () => {
    await app.post('/v1.4/reputation/add', [{ Phone: a }])
    parts.book.facts.set('2125550100', { ...allClean, CarrierA: true, CarrierB: true })
    await parts.checkAll()
    parts.book.facts.set('2125550100', allClean)
    parts.clock.advance(86_400_000)
    await parts.checkAll()
    parts.clock.advance(86_400_000)
    const none = { CarrierA: 0, CarrierB: 0, CarrierC: 0, CarrierD: 0, Total: 0 }
    const two = { ...none, CarrierA: 1, CarrierB: 1, Total: 2 }
    expect((await app.send(path)).json()).toEqual(two)
    expect((await app.send(`${path}?days=90`)).json()).toEqual(two)
    expect((await app.send(`${path}?Days=1`)).json()).toEqual(two)
    parts.clock.advance(1000)
    expect((await app.send(`${path}?days=1`)).json()).toEqual(none)
    expect((await app.send(path, { key: otherKey })).json()).toEqual(none)
  })

  test('needs a key', async () => {
    expect((await app.send(path, { key: null })).status).toBe(401)
  })
})

describe('the response schemas read back what is written', () => {
  test('records', async () => {
    parts.complaints.set(n('2125550100'), [complaint])
    await parts.monitor.add(admin, { items: [{ phone: n('2125550100') }] })
    const asked = { numbers: [n('2125550101'), n('2125550100')] }
    const records = await parts.monitor.get(admin, asked)
    expect(reputationGetPost.encodeRequest?.(asked)).toEqual({ json: asked.numbers })
    const reply = await reputationGetPost.encode?.(records, { request: asked, jsonRequested: true })
    const wire: unknown = JSON.parse(JSON.stringify((reply as { json: unknown }).json))
    expect(reputationGetPost.response.parse(wire)).toEqual(records)
    expect(reputationGetAll.response.parse(wire)).toEqual({ records, total: undefined })
  })

  test('a record with a score nobody knows is no record', () => {
    const wire = [{ ...fresh(a, current), CurrScore: 'Fine' }]
    expect(reputationGetPost.response.safeParse(wire).success).toBe(false)
  })

  test('removals and the summary', () => {
    const rows = [
      { Phone: a, Response: removed },
      { Phone: b, Response: notMonitored },
    ]
    expect(reputationRemove.response.parse(rows)).toEqual([
      { phone: a, removed: true },
      { phone: b, removed: false },
    ])
    const summary = { CarrierA: 1, CarrierB: 2, CarrierC: 3, CarrierD: 0, Total: 6 }
    const { Total, ...byCarrier } = summary
    expect(flagsRemovedSummary.response.parse(summary)).toEqual({ byCarrier, total: Total })
  })
})
