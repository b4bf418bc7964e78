/** What every endpoint does alike: keys, methods, paths, content types, sizes, shapes of errors. */
import { describe, expect, test } from 'vitest'
import { AppError } from '../../src/errors.js'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { fakeService } from '../support/fake-service.js'
import { adminKey, openTestApp } from '../support/test-app.js'

const logged: unknown[] = []
const measured: { endpoint: string; status: number }[] = []
const app = await openTestApp({
  routes: createServiceRoutes(
    fakeService({
      ebrRecords: { record: () => Promise.reject(new Error('disk on fire')) },
      litigators: {
        check: () => {
          throw new AppError('not-available', 'no list loaded')
        },
      },
    }),
    { wrappedRows: false },
  ),
  maxBodyBytes: 20_000,
  metrics: { recordApiRequest: (endpoint, status) => measured.push({ endpoint, status }) },
  logger: {
    error: (message, fields) => logged.push({ message, ...fields }),
    warn: () => undefined,
    info: () => undefined,
    debug: () => undefined,
  },
})

const timeLegal = '/v1.5/GeoScrub/IsTimeLegalToCall'
const scrub = '/app/main/rpc/scrub'
const pdnc = '/app/main/rpc/pdnc'
const ebr = '/app/main/rpc/ebr'
const litigator = '/v1.5/Scrub/litigator'

const valid = {
  [timeLegal]: { IsTimeLegalToCall: [{ PhoneNumber: '2125550100' }] },
  [scrub]: { phoneList: '2125550100' },
  [pdnc]: { phoneList: '2125550100', actionType: 'status' },
  [ebr]: { ebrList: [{ phoneNumber: '2125550100' }] },
  [litigator]: { PhoneList: '2125550100' },
}

/** How the message of an error is found in each endpoint's shape, for a JSON request. */
const messageIn: Record<string, (text: string) => unknown> = {
  [timeLegal]: (text) => JSON.parse(text).ReasonPhrase,
  [scrub]: (text) => text,
  [pdnc]: (text) => JSON.parse(text).error,
  [ebr]: (text) => text,
  [litigator]: (text) => JSON.parse(text).detail,
}

describe.each(Object.keys(valid))('%s', (path) => {
  const body = JSON.stringify(valid[path as keyof typeof valid])
  const message = messageIn[path] ?? String

  test.each([
    ['no key', 401, /missing/, { body, key: null }],
    ['a wrong key', 401, /not valid/, { body, key: 'nobody' }],
    [
      'a slip in a name',
      400,
      /is an unknown field/,
      { body: body.replace(/^\{"(\w+)(\w)"/, '{"$1":1,"$1$2"') },
    ],
    ['broken JSON', 400, /not well-formed JSON/, { body: body.slice(0, -1) }],
    ['bytes that are no UTF-8', 400, /UTF-8/, { body: new Uint8Array([0x7b, 0xff, 0x7d]) }],
    ['a list in place of an object', 400, /must be a JSON object/, { body: '[]' }],
    ['no body', 400, /missing|required/, { body: '' }],
    ['a body over the limit', 413, /larger than 20000/, { body: `{"a":"${'x'.repeat(20_000)}"}` }],
    ['endless nesting', 400, /deeper than/, { body: `{"a":${'['.repeat(9_000)}` }],
    ['a field twice', 400, /twice/, { body: body.replace(/^\{"(\w+)"/, '{"$1":1,"$1"') }],
    [
      'a field twice in two spellings',
      400,
      /twice/,
      {
        body: body.replace(
          /^\{"(\w+)"/,
          (_all, name) => `{"${name.toUpperCase()}":1,"${name.toLowerCase()}"`,
        ),
      },
    ],
    [
      'a content type it does not read',
      415,
      /'text\/plain' is not accepted; send application\/json/,
      { body, headers: { 'content-type': 'text/plain' } },
    ],
    [
      'a charset other than UTF-8',
      415,
      /UTF-8/,
      { body, headers: { 'content-type': 'application/json; charset=utf-16' } },
    ],
    [
      'a compressed body',
      415,
      /Content-Encoding 'gzip'/,
      { body, headers: { 'content-encoding': 'gzip' } },
    ],
  ])('%s is refused with %i in its own shape', async (_case, status, text, init) => {
    const {
      body: sent,
      key = adminKey,
      headers = {},
    } = init as {
      body: NonNullable<RequestInit['body']>
      key?: string | null
      headers?: Record<string, string>
    }
    const answer = await app.send(path, {
      method: 'POST',
      body: sent,
      key,
      headers: { 'content-type': 'application/json', ...headers },
    })
    expect(answer.status).toBe(status)
    if (status === 415 && path === pdnc) expect(answer.text).toMatch(text)
    else expect(message(answer.text)).toMatch(text)
  })

  test('another method is refused with 405 and Allow', async () => {
    const answer = await app.send(path, { method: 'DELETE' })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toMatch(/POST/)
    expect(answer.text).toMatch(/DELETE is not allowed/)
  })

  test.each([
    ['upper case', path.toUpperCase()],
    ['lower case', path.toLowerCase()],
    ['a slash at the end', `${path}/`],
  ])('the path is found in %s', async (_case, spelling) => {
    const answer = await app.post(spelling, '{"nope":1}')
    expect(answer.status).toBe(400)
    expect(message(answer.text)).toMatch(/is required/)
  })

  test.each(['application/json', 'text/json', 'application/vnd.x+json; charset=UTF-8'])(
    'a body of type %s is read as JSON',
    async (type) => {
      const answer = await app.post(path, body, { headers: { 'content-type': type } })
      expect(answer.status).not.toBe(415)
      expect(answer.status).not.toBe(400)
    },
  )

  test('the key may come as a bearer token', async () => {
    const answer = await app.post(path, body, {
      key: null,
      headers: { authorization: `Bearer ${adminKey}` },
    })
    expect(answer.status).not.toBe(401)
  })

  test('the answer tells nothing about the program and is not to be kept', async () => {
    const { headers } = await app.post(path, body)
    expect(headers.get('x-powered-by')).toBeNull()
    expect(headers.get('etag')).toBeNull()
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })
})

describe('where else the key may stand', () => {
  const form = (fields: Record<string, string>) => new URLSearchParams(fields)
  test.each([
    ['scrub: address', 200, `${scrub}?loginId=KEY&phoneList=2125550100`, undefined],
    ['scrub: address, other case', 200, `${scrub}?LOGINID=KEY&phoneList=2125550100`, undefined],
    ['scrub: form', 200, scrub, form({ loginId: adminKey, phoneList: '2125550100' })],
    ['pdnc: address', 200, `${pdnc}?loginid=KEY&actionType=count`, undefined],
    ['pdnc: form', 200, pdnc, form({ loginId: adminKey, actionType: 'count' })],
    ['litigator: address', 503, `${litigator}?loginId=KEY&phoneList=2125550100`, undefined],
    ['litigator: body', 503, litigator, JSON.stringify({ ...valid[litigator], LoginId: adminKey })],
    [
      'time-legal: not in the address',
      401,
      `${timeLegal}?loginId=KEY`,
      JSON.stringify(valid[timeLegal]),
    ],
    ['time-legal: not in the body', 401, timeLegal, JSON.stringify({ loginId: adminKey })],
    ['ebr: address', 500, `${ebr}?loginId=KEY`, JSON.stringify(valid[ebr])],
  ])('%s gives %i', async (_case, status, path, body) => {
    const answer = await app.send(path.replace('KEY', adminKey), {
      key: null,
      ...(body !== undefined && { method: 'POST', body }),
      ...(typeof body === 'string' && { headers: { 'content-type': 'application/json' } }),
    })
    expect(answer.status).toBe(status)
  })

  test('a key given twice is refused', async () => {
    const answer = await app.send(`${scrub}?loginId=a&LoginId=b&phoneList=1`, { key: null })
    expect(answer.status).toBe(400)
    expect(answer.text).toBe('loginId: was sent twice with different values; send it once')
  })

  test('a refused key is not repeated in the answer', async () => {
    const answer = await app.send(`${litigator}?loginId=secret-thing&phoneList=1`, { key: null })
    expect(answer.status).toBe(401)
    expect(answer.text).not.toContain('secret-thing')
  })
})

describe('paths that mean nothing', () => {
  test.each([
    ['/app/main/rpc/nothing', 'text/plain', /^\/app\/main\/rpc\/nothing not found; \/docs lists/],
    [
      '/v1.5/GeoScrub/Nothing',
      'application/json',
      /^\{"ReasonPhrase":"\/v1.5\/GeoScrub\/Nothing not found/,
    ],
    [
      '/v1.5/Scrub/nothing?loginId=x',
      'application/problem+json',
      /"instance":"\/v1.5\/Scrub\/nothing"/,
    ],
    ['/', 'application/problem+json', /"status":404/],
  ])('%s gives 404 as %s', async (path, type, text) => {
    const answer = await app.send(path)
    expect(answer.status).toBe(404)
    expect(answer.headers.get('content-type')).toContain(type)
    expect(answer.text).toMatch(text)
  })

  test('an address that cannot be decoded never gives a 5xx', async () => {
    const answer = await app.send('/v1/%zz/%ff')
    expect(answer.status).toBeLessThan(500)
  })
})

describe('what is not the caller’s fault', () => {
  test('a bug gives a bland 500 in the endpoint’s shape, and its cause goes to the log', async () => {
    logged.length = 0
    const answer = await app.post(ebr, valid[ebr])
    expect(answer.status).toBe(500)
    expect(answer.text).toBe('The request failed; the cause has been logged')
    expect(logged).toEqual([
      {
        message: 'request failed',
        endpoint: 'ebr',
        err: expect.objectContaining({ message: 'disk on fire' }),
      },
    ])
  })

  test('a missing list gives 503 with its reason as problem details', async () => {
    const answer = await app.post(litigator, valid[litigator])
    expect(answer.status).toBe(503)
    expect(answer.json()).toEqual({
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      detail: 'no list loaded',
      instance: litigator,
    })
  })
})

test('every answer is measured by endpoint and status', async () => {
  measured.length = 0
  await app.post(timeLegal, valid[timeLegal])
  await app.send(`${scrub}?phoneList=1&version=9`)
  await app.send('/nowhere/2125550100')
  await app.send(scrub, { method: 'PUT' })
  await expect
    .poll(() => measured)
    .toEqual([
      { endpoint: 'time-legal', status: 200 },
      { endpoint: 'scrub-get', status: 400 },
      { endpoint: 'unmatched', status: 404 },
      { endpoint: 'unmatched', status: 405 },
    ])
})
