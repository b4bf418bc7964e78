/** The internal list over HTTP: actions, forms of the request, plain text and JSON answers. */
import { describe, expect, test } from 'vitest'
import { internalDncPost } from '../../src/api/records/internal-dnc.js'
import { AppError } from '../../src/errors.js'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { fakeService } from '../support/fake-service.js'
import { openTestApp } from '../support/test-app.js'

const path = '/app/main/rpc/pdnc'
const service = fakeService()
const app = await openTestApp({ routes: createServiceRoutes(service, { wrappedRows: false }) })
const asJson = { headers: { 'content-type': 'application/json' } }

const asked = () => service.asked.at(-1)

function address(fields: Record<string, string>): string {
  return `${path}?${new URLSearchParams(fields)}`
}

test('HEAD adds nothing: it is refused before the list is asked', async () => {
  const before = service.asked.length
  const url = address({ actionType: 'add', phoneList: '2125550100' })
  const answer = await app.send(url, { method: 'HEAD' })
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST'])
  expect(service.asked).toHaveLength(before)
})

test('ten thousand numbers are read, in order', async () => {
  const numbers = Array.from({ length: 10_000 }, (_, index) => String(2_125_550_000 + index))
  const fields = { actionType: 'add', phoneList: ` ${numbers.join(' , ')},` }
  const init = { method: 'POST', body: new URLSearchParams(fields) }
  expect((await app.send(path, init)).status).toBe(200)
  expect(asked()).toMatchObject({ with: { numbers } })
})

describe('the answer by action, as plain text and as JSON', () => {
  const known = {
    phone: '2125550100',
    onList: true,
    addedOn: '2026-01-02',
    lastModifiedOn: '2026-01-03',
  }
  const invalid = { phone: '12', onList: false, addedOn: null, lastModifiedOn: null, invalid: true }
  test.each([
    ['add', '2125550100', '', { message: 'success' }],
    ['remove', '2125550100', '', { message: 'success' }],
    ['status', '2125550100', '2125550100,2026-01-02,2026-01-03', [known]],
    ['status', '12,2125550100', '2125550100,2026-01-02,2026-01-03', [invalid, known]],
    ['status', '12', '', [invalid]],
    ['count', '', '2,2026-01-03', { count: 2, lastModifiedOn: '2026-01-03' }],
  ])('%s of "%s"', async (actionType, phoneList, text, json) => {
    const plain = await app.send(address({ actionType, phoneList }))
    expect(plain.status).toBe(200)
    expect(plain.text).toBe(text)
    expect(plain.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    const typed = await app.send(address({ actionType, phoneList }), asJson)
    expect(typed.json()).toEqual(json)
  })

  test('a number off the list has empty dates; a list never used has no day', async () => {
    const off = {
      phone: '2125550100',
      onList: false,
      addedOn: null,
      lastModifiedOn: null,
      invalid: false,
    }
    const subject = {
      ...service.internalDnc,
      readStatus: async () => [off, off],
      count: async () => ({ count: 0, lastModifiedOn: null }),
    }
    const other = await openTestApp({
      routes: createServiceRoutes(fakeService({ internalDnc: subject }), { wrappedRows: false }),
    })
    const status = await other.send(address({ actionType: 'status', phoneList: '2125550100' }))
    expect(status.text).toBe('2125550100,,\n2125550100,,')
    expect((await other.send(address({ actionType: 'count' }))).text).toBe('0,')
    expect((await other.send(address({ actionType: 'count' }), asJson)).json()).toEqual({
      count: 0,
      lastModifiedOn: null,
    })
  })
})

describe('the request in every form', () => {
  const sent = { phoneList: '2125550100, 12', actionType: 'ADD', projId: 'P1', ignoreInvalid: '1' }
  const read = {
    action: 'add',
    numbers: ['2125550100', '12'],
    projectId: 'P1',
    ignoreInvalid: true,
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(sent)) form.set(name, value)
  test.each<[string, string, RequestInit]>([
    ['GET', address(sent), {}],
    ['urlencoded', path, { method: 'POST', body: new URLSearchParams(sent) }],
    ['multipart', path, { method: 'POST', body: form }],
    [
      'JSON',
      path,
      { method: 'POST', body: JSON.stringify({ ...sent, ignoreInvalid: true }), ...asJson },
    ],
  ])('%s', async (_form, where, init) => {
    expect((await app.send(where, init)).status).toBe(200)
    expect(asked()).toEqual({ call: 'internalDnc.add', with: read })
  })

  test.each([
    ['0', false],
    ['false', false],
    ['FALSE', false],
    ['', false],
    ['1', true],
    ['true', true],
  ])('ignoreInvalid=%s is %s', async (ignoreInvalid, value) => {
    await app.send(address({ actionType: 'add', phoneList: '1', ignoreInvalid }))
    expect(asked()?.with).toMatchObject({ ignoreInvalid: value })
  })
})

describe('the request is refused, in the shape the request asks for', () => {
  test.each([
    [{ phoneList: '1' }, 'actionType: is required and must be one of add, remove, status, count'],
    [
      { phoneList: '1', actionType: 'purge' },
      "actionType 'purge': must be one of add, remove, status, count",
    ],
    [
      { actionType: 'add' },
      'phoneList: is required and must be text: 10-digit numbers separated by commas',
    ],
    [
      { actionType: 'status', phoneList: ',' },
      "phoneList ',': has no numbers; at least 1 is required",
    ],
    [
      { actionType: 'add', phoneList: '1', ignoreInvalid: '2' },
      "ignoreInvalid '2': must be 0, 1, true or false",
    ],
    [
      { actionType: 'add', phoneList: '1', ignoreInvalid: 'yes' },
      "ignoreInvalid 'yes': must be 0, 1, true or false",
    ],
    [
      { actionType: 'count', projld: 'SPRING' },
      "projld 'SPRING': is an unknown field; known fields are actionType, phoneList, projId, campaignId, ignoreInvalid, reason",
    ],
  ])('%j', async (fields, reason) => {
    const where = address(fields as Record<string, string>)
    const plain = await app.send(where)
    expect([plain.status, plain.text]).toEqual([400, reason])
    const typed = await app.send(where, asJson)
    expect([typed.status, typed.json()]).toEqual([400, { error: reason }])
  })

  test('more than 10,000 numbers', async () => {
    const phoneList = Array.from({ length: 10_001 }, () => '2125550100').join(',')
    const body = new URLSearchParams({ phoneList, actionType: 'add' })
    const answer = await app.send(path, { method: 'POST', body })
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('has more than 10000 numbers')
  })

  test('a role that may not remove gets 403 and the text as it is', async () => {
    const text = 'You do not have sufficient permissions to perform: delete_pdnc'
    const subject = {
      ...service.internalDnc,
      remove: () => Promise.reject(new AppError('forbidden', text)),
    }
    const other = await openTestApp({
      routes: createServiceRoutes(fakeService({ internalDnc: subject }), { wrappedRows: false }),
    })
    const where = address({ actionType: 'remove', phoneList: '2125550100' })
    const plain = await other.send(where)
    expect([plain.status, plain.text]).toEqual([403, text])
    const typed = await other.send(where, asJson)
    expect([typed.status, typed.json()]).toEqual([403, { error: text }])
  })
})

describe('the response schema reads the JSON forms back', () => {
  const item = { phone: '12', onList: false, addedOn: null, lastModifiedOn: null, invalid: true }
  test.each([
    [{ message: 'success' }, { done: true }],
    [[item], { items: [item] }],
    [
      { count: 0, lastModifiedOn: null },
      { count: 0, lastModifiedOn: null },
    ],
  ])('%j', (wire, read) => {
    expect(internalDncPost.response.parse(wire)).toEqual(read)
  })
})

test('takes thousands of numbers', async () => {
  const phoneList = Array.from({ length: 2_000 }, () => '2125550100').join(',')
  const answer = await app.post('/app/main/rpc/pdnc', { actionType: 'add', phoneList })
  expect([answer.status, answer.text]).toEqual([200, '{"message":"success"}'])
})
