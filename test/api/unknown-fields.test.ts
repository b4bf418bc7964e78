/** Fields that clients send and the published calls do not know, or know by another form. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchMetrics } from '../support/fresh-metrics.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const rpc = '/app/main/rpc'
const clean = '2125550100'
const ignoredHeader = 'x-callgate-ignored-fields'

const get = async (path: string, key?: string) => answerOf(await running.get(path, key))
const post = async (path: string, body: unknown) => answerOf(await running.postJson(path, body))

async function answerOf(response: Response) {
  const { status, headers } = response
  return { status, ignored: headers.get(ignoredHeader), text: await response.text() }
}

async function metric(endpoint: string): Promise<number> {
  const text = await fetchMetrics(running.url)
  const line = text
    .split('\n')
    .find((one) => one.startsWith(`callgate_api_ignored_fields_total{endpoint="${endpoint}"}`))
  return Number(line?.split(' ').at(-1) ?? 0)
}

describe('an unknown field is passed over, named and counted', () => {
  test.each([
    ['scrub-get', `${rpc}/scrub?phoneList=${clean}&_=1&utm_source=x`, '_, utm_source'],
    ['pdnc-get', `${rpc}/pdnc?actionType=count&_=1`, '_'],
    ['litigator-get', `/v1.5/Scrub/litigator?phoneList=${clean}&colour=red&`, 'colour'],
    ['id-premium', `/v1.4/Data/IDPremium?phone=${clean}&phone2=1`, 'phone2'],
    ['project-get', '/v1.5/projects/sandbox?x=1', 'x'],
    ['legal-entities', '/v1.5/Reputation/GetAllLegalEntities?page=1', 'page'],
  ])('%s: %s', async (endpoint, path, names) => {
    const before = await metric(endpoint)
    const answer = await get(path)
    expect([answer.status, answer.ignored]).toEqual([200, names])
    // After many readings they are a second old.
    await expect
      .poll(() => metric(endpoint), { timeout: 10_000 })
      .toBe(before + names.split(', ').length)
  })

  test('in the items of lists, each name once', async () => {
    const item = { PhoneNumber: clean, Zone: 5 }
    const path = '/v1.5/GeoScrub/IsTimeLegalToCall'
    const answer = await post(path, { IsTimeLegalToCall: [item, item, { ...item, 'a,b\n': 1 }] })
    expect([answer.status, answer.ignored]).toEqual([
      200,
      'IsTimeLegalToCall[].Zone, IsTimeLegalToCall[].a?b?',
    ])
  })

  test('beside a field that is missing, which is refused all the same', async () => {
    const answer = await post(`${rpc}/scrub`, { numbers: [clean] })
    expect([answer.status, answer.ignored]).toEqual([400, 'numbers'])
    expect(answer.text).toContain('phoneList: is required')
  })

  test('is told to the log once a day for each key, never with a value that may be a key', async () => {
    const { key } = await running.callgate.keys.create({
      accountId: 'sandbox',
      role: 'Administrator',
      label: 'other',
    })
    const told = () =>
      running.logLines.filter((line) => line.includes('unknown request fields were ignored'))
    const before = told().length
    const ask = () => get(`${rpc}/scrub?phoneList=${clean}&${'k'.repeat(44)}&colour=red`, key)
    expect((await ask()).ignored).toBe('(long name), colour')
    await ask()
    const lines = told()
      .slice(before)
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([{ accountId: 'sandbox', endpoint: 'scrub-get' }])
    expect(lines[0].fields).toEqual(['(long name)', 'colour'])
    running.clock.at += 86_400_000
    await ask()
    expect(told()).toHaveLength(before + 2)
    running.clock.at -= 86_400_000
  })

  // As `curl -d 'loginId: KEY'` sends it, which was meant for a header.
  test('nor with a key beside which something else stands', async () => {
    const name = encodeURIComponent(`loginId: ${running.keys.main}`)
    const answer = await get(`${rpc}/scrub?phoneList=${clean}&${name}`, running.keys.main)
    expect([answer.status, answer.ignored]).toEqual([200, '(long name)'])
    expect(running.logLines.join('')).not.toContain(running.keys.main)
  })
})

test.each([
  `${rpc}/scrub?phoneList=${clean}&loginid=&keepBetterEBR=0`,
  `${rpc}/pdnc?actionType=count&version=v1.2&output=json&keepBetterEBR=0`,
  `${rpc}/pdnc?actionType=status&phoneList=${clean}&version=3&projId=&campaignId=`,
  `/v1.5/Scrub/litigator?phoneList=${clean}&version=3&output=json&project_code=`,
  `/v1.4/Data/IDPremium?phone=${clean}&projId=SPRING&version=5&project_code=SPRING`,
  `/v1.4/Data/ResOrBusiness?phone=${clean}&campaignId=7`,
  '/v1.5/Reputation/GetAll?projId=SPRING&version=5',
])('what clients send with every call is nothing to speak of: %s', async (path) => {
  expect(await get(path)).toMatchObject({ status: 200, ignored: null })
})

describe('what may be a slip for a known name is refused', () => {
  test.each([
    ['projld', `${rpc}/scrub?phoneList=${clean}&projld=SPRING`],
    ['proj_id', `${rpc}/scrub?phoneList=${clean}&proj_id=SPRING`],
    ['phone_list', `${rpc}/scrub?phoneList=${clean}&phone_list=${clean}`],
    ['phoneList[]', `${rpc}/scrub?phoneList[]=${clean}`],
    ['proejctId', `${rpc}/scrub?phoneList=${clean}&proejctId=SPRING`],
    ['projectId', `${rpc}/scrub?phoneList=${clean}&projectId=SPRING`],
    ['project', `${rpc}/pdnc?actionType=count&project=SPRING`],
    ['campaign', `${rpc}/pdnc?actionType=count&campaign=7`],
    ['project[projId]', `${rpc}/scrub?phoneList=${clean}&project[projId]=SPRING`],
    ['projId[id]', `${rpc}/scrub?phoneList=${clean}&projId[id]=SPRING`],
    ['projId[10]', `${rpc}/scrub?phoneList=${clean}&projId[10]=SPRING`],
    ['scrub.projId', `${rpc}/scrub?phoneList=${clean}&scrub.projId=SPRING`],
    ['amp;projId', `${rpc}/scrub?phoneList=${clean}&amp;projId=SPRING`],
    ['projectNumber', `${rpc}/scrub?phoneList=${clean}&projectNumber=SPRING`],
    ['camp_id', `${rpc}/scrub?phoneList=${clean}&camp_id=7`],
    ['project_code', `/v1.5/Scrub/litigator?phoneList=${clean}&project_code=SPRING`],
    ['verison', `${rpc}/scrub?phoneList=${clean}&verison=8`],
    ['day', '/v1.5/Reputation/FlagsRemovedSummary?day=30'],
  ])('%s', async (name, path) => {
    const answer = await get(path)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(`${name} '`)
  })

  test('but a company is no campaign', async () => {
    const answer = await get(`${rpc}/scrub?phoneList=${clean}&compId=7`)
    expect(answer).toMatchObject({ status: 200, ignored: 'compId' })
  })

  test('but another name of the project is passed over where the project is named', async () => {
    const query = `actionType=count&projId=sandbox&projectName=x&project=sandbox`
    expect(await get(`${rpc}/pdnc?${query}`)).toMatchObject({ status: 200 })
  })

  test('in an item whose rows stand for themselves it is the fault of its row', async () => {
    const path = '/v1.5/GeoScrub/IsTimeLegalToCall'
    const items = [
      { PhoneNumber: clean },
      { PhoneNumber: clean, DNCProjld: 'SPRING' },
      { PhoneNumber: clean, ProjId: 'SPRING' },
      { Phone_Number: clean },
    ]
    const answer = await post(path, { IsTimeLegalToCall: items })
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text).map((row: { Status: string }) => row.Status)).toEqual([
      'OK',
      'INVALID_PROJECT',
      'INVALID_PROJECT',
      'INVALID_PHONE',
    ])
  })
})

describe('a time that is passed over would make an answer about now', () => {
  const path = '/v1.5/GeoScrub/IsTimeLegalToCall'
  const night = '2026-11-24T06:00:00Z'
  const named = 'CallProposedDateTimeInUTC'
  const bare = { PhoneNumber: clean }

  test.each([named, 'date', 'CallTimestamp'])('%s beside the items is refused', async (name) => {
    const answer = await post(path, { IsTimeLegalToCall: [bare], [name]: night })
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(`${name} '`)])
  })

  test('in the address as well', async () => {
    const answer = await post(`${path}?${named}=${night}`, { IsTimeLegalToCall: [bare] })
    expect(answer.status).toBe(400)
  })

  test('but not where each item names its own', async () => {
    const items = [{ ...bare, [named]: night }]
    const answer = await post(path, { IsTimeLegalToCall: items, requestTime: night })
    expect(answer).toMatchObject({ status: 200, ignored: 'requestTime' })
  })

  test.each([
    { timestamp: night },
    { [named]: null, CallTime: night },
    { [named.toLowerCase()]: null, CallTime: night },
  ])('in an item it is the fault of its row: %j', async (item) => {
    const answer = await post(path, { IsTimeLegalToCall: [{ ...bare, ...item }] })
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toMatchObject([
      { IsCallPermitted: false, Status: 'INVALID_DATE' },
    ])
  })

  test('a scrub is judged now, whatever time stands beside it', async () => {
    const answer = await get(`${rpc}/scrub?phoneList=${clean}&timestamp=1795543200`)
    expect(answer).toMatchObject({ status: 200, ignored: 'timestamp' })
  })
})

describe('the same in another form', () => {
  test.each([
    ['a field twice with equal values', `${rpc}/scrub?phoneList=${clean}&phoneList=${clean}`],
    ['in two spellings', `${rpc}/scrub?phoneList=${clean}&PHONELIST=${clean}`],
    ['once empty', `${rpc}/pdnc?actionType=count&projId=&projid=sandbox`],
    ['the key twice', `${rpc}/scrub?phoneList=${clean}&loginId=x&LOGINID=x`],
    ['a comma at the end', `${rpc}/scrub?phoneList=${clean},`],
    ['an ampersand at the end', `${rpc}/scrub?phoneList=${clean}&`],
    ['version v1.2', `${rpc}/scrub?phoneList=${clean}&version=v1.2`],
    ['version v1.3', `${rpc}/scrub?phoneList=${clean}&version=V1.3`],
    ['version v1.5', `${rpc}/scrub?phoneList=${clean}&version=v1.5`],
  ])('by GET: %s', async (_what, path) => {
    expect(await get(path)).toMatchObject({ status: 200, ignored: null })
  })

  test.each<[string, string, unknown]>([
    ['a number in JSON', `${rpc}/scrub`, { phoneList: 2125550100, version: 5 }],
    ['in address and body', `${rpc}/scrub?phoneList=${clean}`, { phoneList: 2125550100 }],
    ['the version in the address', `${rpc}/ebr?version=5&projId=`, { ebrList: [saleOf(clean)] }],
    ['a number and a letter', `${rpc}/ebr`, { ebrList: [{ ...saleOf(2125550100), type: 's' }] }],
    ['numbers in a list', '/v1.5/Reputation/Get', [2125550100]],
    ['an id as text', '/v1.5/Reputation/Remove', [clean, 2125550100]],
    [
      'a number of a batch',
      '/v1.5/Data/EnhancedRND',
      [{ phoneNumber: 2125550100, date: '1/2/24' }],
    ],
  ])('by POST: %s', async (_what, path, body) => {
    expect(await post(path, body)).toMatchObject({ status: 200, ignored: null })
  })

  test('version v1.2 means 5', async () => {
    const ask = (version: string) =>
      get(`${rpc}/scrub?phoneList=${clean}&version=${version}&output=json`)
    expect((await ask('v1.2')).text).toBe((await ask('5')).text)
  })

  test.each([
    [`${rpc}/scrub?phoneList=${clean}&phoneList=2125550101`],
    [`${rpc}/pdnc?actionType=count&projId=A&projid=B`],
    [`${rpc}/scrub?phoneList=${clean}&loginId=x&LOGINID=y`],
  ])('two values are refused: %s', async (path) => {
    const answer = await get(path)
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringMatching(/is given twice|was sent twice/),
    ])
  })
})

test.each<[string, unknown]>([
  ['/v1/decisions', { number: clean, callKind: 'manual', colour: 'red' }],
  ['/v1/decisions?x=1', { number: clean, callKind: 'manual' }],
  ['/v1/warm', { numbers: [clean], colour: 'red' }],
  ['/v1/predial?number=2125550100&kind=manual&number=2125550100', {}],
  ['/v1/predial?number=2125550100&kind=manual&version=5', {}],
])("callgate's own calls stay strict: %s", async (path, body) => {
  expect((await post(path, body)).status).toBe(400)
})

function saleOf(phoneNumber: unknown) {
  return { phoneNumber, type: 'S', dateOfLastContact: '2026-01-15' }
}
