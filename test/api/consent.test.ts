/** Relationship records over HTTP: what reaches the subject, what the edge refuses. */
import { describe, expect, test } from 'vitest'
import { serviceRoutes } from '../../src/service/service-routes.js'
import { fakeService } from '../support/fake-service.js'
import { openTestApp } from '../support/test-app.js'

const path = '/app/main/rpc/ebr'
const service = fakeService()
const app = await openTestApp({ routes: serviceRoutes(service, { wrappedRows: false }) })
const record = { phoneNumber: '2125550100', type: 'P', dateOfLastContact: '11/01/2026' }
const manyNumbers = (count: number) => Array.from({ length: count }, () => '2125550100').join(',')

describe('what reaches the subject', () => {
  test.each([
    [{ ebrList: [record] }, false, undefined, [record]],
    [{ EBRLIST: [record], keepBetterEBR: 1, projId: 7 }, true, '7', [record]],
    [{ ebrList: [record], keepbetterebr: '0', projId: '' }, false, undefined, [record]],
    [
      { ebrList: [{ PHONENUMBER: 5, Type: null }] },
      false,
      undefined,
      [{ phoneNumber: '5', type: null }],
    ],
  ])('%j', async (body, keepBetterEbr, projectId, records) => {
    const answer = await app.post(path, body)
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({ success: true })
    expect(service.asked.at(-1)?.with).toEqual({ keepBetterEbr, projectId, records })
  })
})

describe('the request is refused with 400 and a text', () => {
  test.each([
    [{}, 'ebrList: is required and must not be null'],
    [{ ebrList: null }, "ebrList 'null': is required and must not be null"],
    [{ ebrList: [] }, "ebrList 'a list of 0': must hold at least 1 record"],
    [{ ebrList: record }, "ebrList 'an object': must be a list"],
    [{ ebrList: [record, 'x'] }, "ebrList[1] 'x': must be an object of fields"],
    [{ ebrList: [record], keepBetterEBR: 2 }, "keepBetterEBR '2': must be 0, 1, true or false"],
    [
      { ebrList: [{ ...record, phone_number: '1' }] },
      "ebrList[0].phone_number '1': is not a field; known are phoneNumber,",
    ],
    [{ ebrList: [{ ...record, TYPE: 'S' }] }, "ebrList[0].TYPE 'S': is given twice"],
    [
      { ebrList: [{ ...record, phoneNumber: manyNumbers(10_001) }] },
      "ebrList 'a list of 1': must hold at most 10000 numbers in all its records",
    ],
    [
      { ebrList: Array.from({ length: 10_001 }, () => record) },
      "ebrList 'a list of 10001': must hold at most 10000 records",
    ],
  ])('%#', async (body, reason) => {
    const answer = await app.post(path, body)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(reason)
  })
})

test('a form is refused: the call takes JSON only', async () => {
  const answer = await app.send(path, {
    method: 'POST',
    body: new URLSearchParams({ ebrList: 'x' }),
  })
  expect(answer.status).toBe(415)
  expect(answer.text).toContain('send application/json')
})

test('ten thousand records are taken', async () => {
  const answer = await app.post(path, { ebrList: Array.from({ length: 10_000 }, () => record) })
  expect(answer.json()).toEqual({ success: true })
})
