/** IsTimeLegalToCall over HTTP: batch errors, what an item may hold, both forms of the answer. */
import { describe, expect, test } from 'vitest'
import { createTimeLegalEndpoint } from '../../src/api/calling-hours/time-legal.js'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { fakeService } from '../support/fake-service.js'
import { openTestApp } from '../support/test-app.js'

const path = '/v1.5/GeoScrub/IsTimeLegalToCall'
const service = fakeService()
const flat = await openTestApp({ routes: createServiceRoutes(service, { wrappedRows: false }) })
const wrapped = await openTestApp({
  routes: createServiceRoutes(fakeService(), { wrappedRows: true }),
})

const item = { PhoneNumber: '2125550100' }
const items = (count: number) => ({ IsTimeLegalToCall: Array.from({ length: count }, () => item) })

describe('the batch is refused with 400 and a ReasonPhrase', () => {
  test.each([
    ['without a body', '', 'request: the body is missing; a JSON object is needed'],
    ['of null', 'null', 'request: the body must be a JSON object'],
    ['without the list', {}, 'IsTimeLegalToCall: is required and must not be null'],
    [
      'with a null list',
      { IsTimeLegalToCall: null },
      "IsTimeLegalToCall 'null': is required and must not be null",
    ],
    [
      'with an empty list',
      { IsTimeLegalToCall: [] },
      "IsTimeLegalToCall 'a list of 0': must have at least 1 item",
    ],
    ['with no list', { IsTimeLegalToCall: 'all' }, "IsTimeLegalToCall 'all': must be a list"],
    [
      'of 1001 phones',
      items(1001),
      "IsTimeLegalToCall 'a list of 1001': must have at most 1000 items",
    ],
    [
      'with an unknown field beside the list',
      { ...items(1), ProjId: 'x' },
      "ProjId 'x': is an unknown field; known fields are IsTimeLegalToCall",
    ],
  ])('%s', async (_case, body, reason) => {
    const answer = await flat.post(path, body)
    expect(answer.status).toBe(400)
    expect(answer.json()).toEqual({ ReasonPhrase: reason })
  })
})

describe('an item reaches the subject whatever its values are', () => {
  test.each([
    [item, '2125550100', undefined, undefined],
    [{ phonenumber: '1', DNCPROJID: 7, callProposedDateTimeInUtc: null }, '1', null, 7],
    [{ PhoneNumber: 2125550100, DNCProjId: true }, '2125550100', undefined, true],
    [{ PhoneNumber: null, CallProposedDateTimeInUTC: [1] }, null, [1], undefined],
    [{}, undefined, undefined, undefined],
    [{ ...item, Zone: 5 }, '2125550100', undefined, undefined],
    [{ ...item, DNCProjld: 7 }, '2125550100', undefined, { 'given as': 'DNCProjld' }],
    [{ ...item, ProjId: 7 }, '2125550100', undefined, { 'given as': 'ProjId' }],
    [{ ...item, CallTime: 1 }, '2125550100', { 'given as': 'CallTime' }, undefined],
    [
      { ...item, CallProposedDateTimeUTC: 1, TimeZone: 5 },
      ...(['2125550100', { 'given as': 'CallProposedDateTimeUTC' }, undefined] as const),
    ],
    ['2125550100', undefined, undefined, undefined],
    [null, undefined, undefined, undefined],
    [[item], undefined, undefined, undefined],
  ])('%j', async (sent, phoneNumber, proposedAt, projectId) => {
    service.asked.length = 0
    const answer = await flat.post(path, { istimelegaltocall: [sent] })
    expect(answer.status).toBe(200)
    const [asked] = service.asked
    expect(asked?.with).toEqual([{ phoneNumber, proposedAt, projectId }])
  })
})

const row = {
  PhoneNumber: '2125550100',
  IsCallPermitted: true,
  SecondsInCallWindow: 60,
  Status: 'OK',
  StatusMessage: null,
}

test('rows are a flat list, or wrapped by setting', async () => {
  expect((await flat.post(path, items(2))).json()).toEqual([row, row])
  expect((await wrapped.post(path, items(2))).json()).toEqual([{ Response: [row, row] }])
})

test('a thousand phones are answered', async () => {
  expect((await flat.post(path, items(1000))).json()).toHaveLength(1000)
})

test('the response schema reads both forms back', () => {
  const { response } = createTimeLegalEndpoint({ wrappedRows: false })
  const read = [
    { phoneNumber: '2125550100', permitted: true, secondsLeft: 60, status: 'OK', message: null },
  ]
  expect(response.parse([row])).toEqual(read)
  expect(response.parse([{ Response: [row] }])).toEqual(read)
  expect(response.safeParse([{ ...row, Status: 'MAYBE' }]).success).toBe(false)
})
