/** The litigator check over HTTP: the paths of all versions, limits, both output formats. */
import { describe, expect, test } from 'vitest'
import { litigatorPost } from '../../src/api/lookups/litigator.js'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { fakeService } from '../support/fake-service.js'
import { openTestApp } from '../support/test-app.js'

const paths = [
  '/v1.5/Scrub/litigator',
  '/v1.4/scrub/litigator',
  '/v1.3/scrub/Litigator',
  '/V1.2/SCRUB/LITIGATOR',
  '/apiLatest/scrub/litigator',
]
const service = fakeService()
const app = await openTestApp({ routes: createServiceRoutes(service, { wrappedRows: false }) })
const numbers = (count: number) => Array.from({ length: count }, () => '2125550100').join(',')
const rows = [
  { Phone: 2125550101, IsLitigator: false },
  { Phone: 2125550100, IsLitigator: false },
]

describe.each(paths)('%s', (path) => {
  const list = '2125550101,2125550100'
  test.each([
    ['JsonArray by default', {}, rows],
    ['JsonArray', { OutputFormat: 'JsonArray' }, rows],
    ['JsonObject', { OutputFormat: 'JsonObject' }, { Response: rows }],
    ['JsonObject in other letter case', { outputformat: 'jsonobject' }, { Response: rows }],
    ['ids of both kinds', { CampaignId: 12, ProjId: 'P1' }, rows],
  ])('%s, by POST and GET', async (_case, more, expected) => {
    expect((await app.post(path, { PhoneList: list, ...more })).json()).toEqual(expected)
    expect((await app.post(path, { phoneList: list, ...more })).json()).toEqual(expected)
    const query = new URLSearchParams({ phoneList: list })
    for (const [name, value] of Object.entries(more)) query.set(name, String(value))
    expect((await app.send(`${path}?${query}`)).json()).toEqual(expected)
    expect(service.asked.at(-1)?.with).toEqual(['2125550101', '2125550100'])
  })
})

describe('the request is refused with 400 and problem details', () => {
  const [path = ''] = paths
  const json = (body: unknown): RequestInit => ({
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  test.each<[string, string, RequestInit]>([
    ['PhoneList: is required', path, json({})],
    ['PhoneList: is required', path, {}],
    ["PhoneList ',': has no numbers", `${path}?phoneList=,`, {}],
    [
      'has more than 100 numbers, the maximum with GET; use POST',
      `${path}?phoneList=${numbers(101)}`,
      {},
    ],
    ['has more than 10000 numbers', path, json({ PhoneList: numbers(10_001) })],
    [
      "OutputFormat 'xml': must be one of JsonArray, JsonObject",
      `${path}?phoneList=1&outputFormat=xml`,
      {},
    ],
    [
      "CampaignId 'true': must be text or a whole number",
      path,
      json({ PhoneList: '1', CampaignId: true }),
    ],
    ["PhoneLst '1': is an unknown field", path, json({ PhoneLst: '1' })],
    ['PhoneList: is required', path, json({ Phones: '1' })],
    ["'2': is given twice", `${path}?phoneList=1`, json({ PhoneList: '2' })],
  ])('%s', async (detail, where, init) => {
    const answer = await app.send(where, init)
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    const problem = answer.json() as { readonly detail: string }
    expect(problem).toMatchObject({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      instance: path,
    })
    expect(problem.detail).toContain(detail)
  })
})

test('the response schema reads both formats back', () => {
  const read = [
    { phone: '2125550101', isLitigator: false },
    { phone: '2125550100', isLitigator: false },
  ]
  expect(litigatorPost.response.parse(rows)).toEqual(read)
  expect(litigatorPost.response.parse({ Response: rows })).toEqual(read)
})
