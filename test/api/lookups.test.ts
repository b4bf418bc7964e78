/** Carrier, line status and residential-or-business over HTTP. */
import { describe, expect, test } from 'vitest'
import {
  idPremium,
  realTimeDisconnect,
  resOrBusiness,
  wireIdentity,
  wireLineStatus,
  wireResOrBusiness,
} from '../../src/api/lookups/line-lookups.js'
import { verification } from '../../src/api/lookups/verification.js'
import { createRoute } from '../../src/api/route.js'
import {
  type LineIdentity,
  type LineStatusAnswer,
  type LookupSource,
  lineStatuses,
  type ResOrBusiness,
} from '../../src/domain/lookups.js'
import { parseDay } from '../../src/domain/time/dates.js'
import { CombinedLookups } from '../../src/service/lookups/combined-lookups.js'
import { Lookups } from '../../src/service/lookups/lookups.js'
import { areaCodePlan } from '../support/scrub-parts.js'
import { openTestApp } from '../support/test-app.js'

/** What the books of the account say next; a function may reject. */
const facts: {
  identity?: LineIdentity | undefined
  lineStatus?: () => Promise<LineStatusAnswer | undefined>
  kind?: ResOrBusiness | undefined
} = {}
const asked: string[] = []

const book: LookupSource = {
  identity: async (number) => {
    asked.push(number)
    return facts.identity
  },
  lineStatus: async (number) => {
    asked.push(number)
    return facts.lineStatus?.()
  },
  resOrBusiness: async () => facts.kind,
  reassigned: async () => [],
}

const lookups = new Lookups({
  lookupSourceFor: () => new CombinedLookups([{ name: 'book', source: book }], () => undefined),
  planOf: () => areaCodePlan,
})

const app = await openTestApp({
  routes: [
    createRoute(idPremium, (caller, request) => lookups.findIdentity(caller, request)),
    createRoute(realTimeDisconnect, (caller, request) => lookups.findLineStatus(caller, request)),
    createRoute(resOrBusiness, (caller, request) => lookups.findResOrBusiness(caller, request)),
    createRoute(verification, (caller, request) => lookups.verify(caller, request)),
  ],
})

const number = '2127365001'
const get = async (path: string) => (await app.send(path)).json()

describe('IDPremium', () => {
  const path = `/v1.4/Data/IDPremium?phone=${number}`
  const known = { phoneType: 'W', ocn: '6010', telcoName: 'Example', on: parseDay('2026-11-03') }

  test.each<[string, LineIdentity | undefined, Record<string, string>]>([
    [
      'with a fact',
      known as LineIdentity,
      { PhoneType: 'W', OCN: '6010', TelcoName: 'Example', ODate: '20261103' },
    ],
    [
      'without the day of the look-up',
      { ...known, on: undefined } as LineIdentity,
      { PhoneType: 'W', OCN: '6010', TelcoName: 'Example', ODate: '' },
    ],
    [
      'with a name that is too long',
      { ...known, telcoName: `${'x'.repeat(50)}yz` } as LineIdentity,
      { PhoneType: 'W', OCN: '6010', TelcoName: 'x'.repeat(50), ODate: '20261103' },
    ],
    ['without a fact', undefined, { PhoneType: 'N', OCN: '', TelcoName: '', ODate: '' }],
  ])('%s', async (_what, identity, expected) => {
    facts.identity = identity
    const row = await get(path)
    expect(row).toEqual({ Phone: number, ...expected })
    expect(Object.keys(row as object)).toEqual(['Phone', 'PhoneType', 'OCN', 'TelcoName', 'ODate'])
    expect(wireIdentity.schema.parse(row)).toMatchObject({ phone: number })
  })

  test('in any letter case, with blanks around the number', async () => {
    facts.identity = undefined
    expect(await get(`/V1.4/data/idpremium?PHONE=%20${number}%20`)).toMatchObject({ Phone: number })
  })
})

describe('ResOrBusiness', () => {
  test.each([
    ['R', 'R'],
    ['B', 'B'],
    ['U', 'U'],
    [undefined, 'U'],
  ] as const)('%s is %s', async (kind, expected) => {
    facts.kind = kind
    const row = await get(`/v1.4/Data/ResOrBusiness?phone=${number}`)
    expect(row).toEqual({ Phone: number, ResOrBusiness: expected })
    expect(wireResOrBusiness.schema.parse(row).resOrBusiness).toBe(expected)
  })
})

test.each([
  '/v1.2/data/IDPremium',
  '/v1.3/Data/idpremium',
  '/v1.5/Data/IDPremium',
  '/apiLatest/data/IDPremium',
  '/v1.2/data/ResOrBusiness',
  '/apiLatest/data/Verification',
])('%s is the same call', async (path) => {
  expect(await get(`${path}?phone=${number}`)).toMatchObject({ Phone: number })
})

describe('Verification', () => {
  const path = `/v1.4/Data/Verification?phone=${number}&FirstName=Ada&ConsentDate=20261122`

  test('knows of no person, and of the line what IDPremium knows', async () => {
    facts.identity = { phoneType: 'V', ocn: '', telcoName: '', on: undefined }
    const row = await get(`${path}&ReferenceID=r-1`)
    expect(row).toEqual({
      Phone: number,
      ReferenceID: 'r-1',
      VerificationCode: 'U',
      PhoneType: 'V',
      MatchType: '',
      MatchLevel: '',
    })
    expect(verification.response.parse(row)).toEqual({
      phone: number,
      reference: 'r-1',
      phoneType: 'V',
    })
    facts.identity = undefined
    expect(await get(path)).toMatchObject({ ReferenceID: '', PhoneType: 'N' })
  })
})

describe('RealTimeDisconnect', () => {
  const says = (status: LineStatusAnswer['status'], errorText = '') => ({
    phone: number,
    about: `a fact says ${status}`,
    lineStatus: async () => ({ status, errorText }),
  })
  const none = async () => undefined
  const down = async (): Promise<never> => {
    throw new Error('no connection')
  }
  const late = async (): Promise<never> => {
    throw Object.assign(new Error('late'), { name: 'TimeoutError' })
  }

  const cases: readonly {
    readonly about: string
    readonly phone: string
    readonly lineStatus: () => Promise<LineStatusAnswer | undefined>
    readonly status: LineStatusAnswer['status']
    readonly errorText?: RegExp
  }[] = [
    { ...says('connected'), status: 'connected' },
    { ...says('connected-75'), status: 'connected-75' },
    { ...says('disconnected'), status: 'disconnected' },
    { ...says('disconnected-70'), status: 'disconnected-70' },
    { ...says('busy'), status: 'busy' },
    { ...says('unreachable'), status: 'unreachable' },
    { ...says('restricted'), status: 'restricted' },
    { ...says('invalid phone', 'not valid'), status: 'invalid phone', errorText: /^not valid$/ },
    { ...says('bad-zip-code', 'no such ZIP'), status: 'bad-zip-code', errorText: /^no such ZIP$/ },
    { ...says('pending'), status: 'pending' },
    {
      about: 'the provider is late',
      phone: number,
      lineStatus: late,
      status: 'pending',
    },
    { ...says('serverunavailable'), status: 'serverunavailable' },
    {
      about: 'the provider is down',
      phone: number,
      lineStatus: down,
      status: 'serverunavailable',
      errorText: /is unavailable/,
    },
    ...['212736500', '12127365001', '212-736-5001', '+2127365001', 'abcdefghij', '٢١٢٧٣٦٥٠٠١'].map(
      (phone) => ({
        about: `'${phone}' is given`,
        phone,
        lineStatus: none,
        status: 'invalid-format' as const,
        errorText: /not exactly 10 digits/,
      }),
    ),
    ...['1127365001', '0127365001', '2121365001', '2120365001', '0000000000'].map((phone) => ({
      about: `${phone} cannot be`,
      phone,
      lineStatus: async () => says('connected') as never,
      status: 'invalid-phone' as const,
      errorText: /begin with 0 or 1/,
    })),
    {
      about: 'an area code that is not in use',
      phone: '9997365001',
      lineStatus: none,
      status: 'invalid-phone',
      errorText: /./,
    },
    {
      about: 'the same, and a fact nevertheless',
      phone: '9997365001',
      lineStatus: says('connected').lineStatus,
      status: 'connected',
    },
    {
      about: 'the same, and a provider without data',
      phone: '9997365001',
      lineStatus: says('ERROR', 'x').lineStatus,
      status: 'invalid-phone',
      errorText: /./,
    },
    {
      about: 'nobody has a fact',
      phone: number,
      lineStatus: none,
      status: 'ERROR',
      errorText: /no imported line-status data/,
    },
    { ...says('ERROR', 'out of order'), status: 'ERROR', errorText: /^out of order$/ },
    { ...says('ERROR'), status: 'ERROR', errorText: /no reason was given/ },
    {
      about: 'a toll-free number without a fact',
      phone: '8005551212',
      lineStatus: none,
      status: 'ERROR',
      errorText: /no imported line-status data/,
    },
  ]

  test.each(cases)('$status: $about', async ({ phone, lineStatus, status, errorText = /^$/ }) => {
    facts.lineStatus = lineStatus
    const query = new URLSearchParams({ phoneNumber: phone })
    const answer = await app.send(`/v1.4/Data/RealTimeDisconnect?${query}`)
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({
      Phone: phone,
      Status: status,
      ErrorText: expect.stringMatching(errorText),
    })
    expect(wireLineStatus.schema.parse(answer.json())).toMatchObject({ phone, status })
  })

  test('every status of the specification is in the table', () => {
    expect(new Set(cases.map(({ status }) => status))).toEqual(new Set(lineStatuses))
  })

  test('no source is asked about text that cannot be a number', async () => {
    asked.length = 0
    for (const phone of ['1127365001', '212736500']) {
      await get(`/v1.4/Data/RealTimeDisconnect?phoneNumber=${phone}`)
    }
    expect(asked).toEqual([])
  })
})

describe('is refused with 400 and problem details', () => {
  test.each([
    ['/v1.4/Data/IDPremium', 'phone: is required and must be exactly 10 digits'],
    ['/v1.4/Data/IDPremium?phone=', "phone '': must be exactly 10 digits"],
    ['/v1.4/Data/IDPremium?phone=12125550100', "phone '12125550100': must be exactly 10 digits"],
    ['/v1.4/Data/IDPremium?phone=1&phone=2', 'phone: is given twice'],
    [`/v1.4/Data/IDPremium?phoneNumber=${number}`, 'phone: is required'],
    ['/v1.4/Data/ResOrBusiness', 'phone: is required and must be exactly 10 digits'],
    ['/v1.4/Data/ResOrBusiness?phone=212-555-0100', "phone '212-555-0100': must be exactly"],
    ['/v1.4/Data/RealTimeDisconnect', 'phoneNumber: is required'],
    ['/v1.4/Data/RealTimeDisconnect?phoneNumber=%20', "phoneNumber '': must not be empty"],
  ])('%s', async (path, detail) => {
    const answer = await app.send(path)
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect((answer.json() as { detail: string }).detail).toContain(detail)
  })
})

describe.each([
  `/v1.4/Data/IDPremium?phone=${number}`,
  `/v1.4/Data/RealTimeDisconnect?phoneNumber=${number}`,
  `/v1.4/Data/ResOrBusiness?phone=${number}`,
])('%s', (path) => {
  test('needs a key, also in the address', async () => {
    for (const key of [null, 'wrong']) {
      const answer = await app.send(path, { key })
      expect(answer.status).toBe(401)
      expect(answer.json()).toMatchObject({ status: 401, title: 'Unauthorized' })
    }
    const inAddress = await app.send(`${path}&loginId=${'k'.repeat(44)}`, { key: null })
    expect(inAddress.status).toBe(200)
  })
})
