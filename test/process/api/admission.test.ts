/** What somebody without a key can cost: bytes that are read, parsed and held, and connections. */
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { tokenEndpoint } from '../../../src/api/accounts/authentication.js'
import { decideEndpoint } from '../../../src/api/gate/decisions.js'
import { createRoute } from '../../../src/api/route.js'
import { AppError } from '../../../src/errors.js'
import { createServiceRoutes } from '../../../src/service/service-routes.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { fakeService } from '../../support/fake-service.js'
import { randomFrom } from '../../support/hostile-requests.js'
import { admin, adminKey, openTestApp, type TestApp } from '../../support/test-app.js'

const bugs: unknown[] = []
const logger = {
  error: (_message: string, fields: unknown) => bugs.push(fields),
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
}
const routes = createServiceRoutes(fakeService(), { wrappedRows: false })
const app = await openTestApp({ routes, logger })

afterEach(() => {
  vi.restoreAllMocks()
  expect(bugs.splice(0)).toEqual([])
})

interface RawClient {
  readonly socket: Socket
  text(): string
  isClosed(): boolean
}

async function rawClient({ url }: Pick<TestApp, 'url'> = app): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  let isClosed = false
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1')
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isClosed = true
  })
  await new Promise((resolve) => socket.once('connect', resolve))
  return { socket, text: () => text, isClosed: () => isClosed }
}

const post = (path: string, headers: Readonly<Record<string, string>>) =>
  [`POST ${path} HTTP/1.1`, 'Host: x', ...Object.entries(headers).map((one) => one.join(': '))]
    .concat('', '')
    .join('\r\n')

const json = { 'Content-Type': 'application/json' }
const litigator = '/v1.5/Scrub/litigator'
const timeLegal = '/v1.5/GeoScrub/IsTimeLegalToCall'
const scrub = '/app/main/rpc/scrub'
const chunk = `${(65_536).toString(16)}\r\n${' '.repeat(65_536)}\r\n`

/** Sends chunks until the server cuts the connection; gives how many bytes it took at most. */
async function pourInto(path: string, maxBytes: number): Promise<number> {
  const { socket, isClosed, text } = await rawClient()
  socket.write(post(path, { ...json, 'Transfer-Encoding': 'chunked' }))
  let poured = 0
  while (!isClosed() && poured < maxBytes) {
    poured += chunk.length
    if (!socket.write(chunk)) {
      await Promise.race(
        ['drain', 'close'].map((name) => new Promise((go) => socket.once(name, go))),
      )
    }
  }
  expect(text()).toMatch(/^HTTP\/1\.1 401 |^$/)
  socket.destroy()
  return poured
}

describe('a body without a key', () => {
  test('is not parsed, however short it is', async () => {
    const parse = vi.spyOn(JSON, 'parse')
    const body = `[${'{"a":1},'.repeat(4_000)}1]`
    const answer = await fetch(`${app.url}${litigator}`, { method: 'POST', headers: json, body })
    expect(answer.status).toBe(401)
    expect(parse.mock.calls.filter(([text]) => text.length > 1_000)).toEqual([])
  })

  test.each([
    ['that may hold the key', litigator],
    ['that may not', timeLegal],
  ])('%s is cut and not read to its end', async (_case, path) => {
    // The kernel takes some megabytes before the server has read any of them.
    expect(await pourInto(path, 64 * 1024 * 1024)).toBeLessThan(48 * 1024 * 1024)
  })

  test.each([litigator, timeLegal, scrub])('of 8 MB is not parsed at %s', async (path) => {
    const parsed: number[] = []
    const parse = JSON.parse
    vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
      parsed.push(String(text).length)
      return parse(text, reviver)
    })
    const body = `{"PhoneList":"${'2125550100,'.repeat(700_000)}","a":${'[1],'.repeat(9)}1}`
    const sent = await app.post(path, body, { key: null }).catch(() => undefined)
    if (sent) expect(sent.status).toBe(path === timeLegal || path === scrub ? 401 : 413)
    expect(Math.max(0, ...parsed)).toBeLessThanOrEqual(65_536)
  })

  const numbers = Array.from({ length: 9_000 }, (_none, index) => 2_125_550_100 + index).join(',')
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  const boundary = 'XX'
  const multipart = { headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } }
  const part = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const asParts = (...names: readonly string[]) =>
    `${names.map((name) => part(name, name === 'phoneList' ? numbers : adminKey)).join('')}--${boundary}--\r\n`
  const asJson = (...names: readonly string[]) =>
    `{${names.map((name) => `"${name}":"${name === 'LoginId' ? adminKey : numbers}"`).join(', ')}}`
  test.each([
    ['JSON', litigator, asJson('LoginId', 'PhoneList'), asJson('PhoneList', 'LoginId'), {}],
    [
      ...(['a form', scrub, `loginId=${adminKey}&phoneList=${numbers}`] as const),
      ...([`phoneList=${numbers}&loginId=${adminKey}`, form] as const),
    ],
    [
      ...(['multipart', scrub, asParts('loginId', 'phoneList')] as const),
      ...([asParts('phoneList', 'loginId'), multipart] as const),
    ],
  ])(
    'of more than 64 KB in %s is read when its key comes first',
    async (_form, path, first, last, init) => {
      expect(first.length).toBeGreaterThan(65_536)
      expect((await app.post(path, first, { key: null, ...init })).status).toBe(200)
      const refused = await app.post(path, last, { key: null, ...init })
      expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('is missing')])
      expect(
        (await app.post(path, last.replace('LoginId', 'x'), { key: null, ...init })).status,
      ).toBe(401)
    },
  )

  test('in single bytes is refused after some hundred of them', async () => {
    const { socket, text } = await rawClient()
    socket.write(post(litigator, { ...json, 'Transfer-Encoding': 'chunked' }))
    socket.write('1\r\n \r\n'.repeat(1_000))
    await until('the answer', () => text().includes('413') && text().includes('small chunks'))
    socket.destroy()
  })

  test('in single bytes without an end is read no more, and cut a while later', async () => {
    const { socket, isClosed } = await rawClient()
    socket.write(post(litigator, { ...json, 'Transfer-Encoding': 'chunked' }))
    const pour = () => {
      while (!socket.destroyed && socket.write('1\r\n \r\n'.repeat(10_000)));
    }
    socket.on('drain', pour)
    pour()
    const mostTaken = await until('nothing more is taken', async () => {
      const before = socket.bytesWritten - socket.writableLength
      await new Promise((resolve) => setTimeout(resolve, 500))
      return socket.bytesWritten - socket.writableLength === before && before
    })
    expect(isClosed()).toBe(false)
    // The kernel takes some megabytes before the server has read any of them.
    expect(mostTaken).toBeLessThan(16 * 1024 * 1024)
    await until('the connection is cut', isClosed, { withinMs: 15_000 })
  })

  test('larger than the call takes is refused as soon as its length is announced', async () => {
    const token = await openTestApp({
      routes: [createRoute(tokenEndpoint, () => Promise.reject(new Error('is not to be asked')))],
    })
    const { socket, text } = await rawClient(token)
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    socket.write(post('/oauth/token', { ...headers, 'Content-Length': '16385' }))
    await until('the answer', () => text().startsWith('HTTP/1.1 413'))
    socket.destroy()
    expect(decideEndpoint.maxBodyBytes).toBe(16_384)
  })
})

describe('bodies with a key', () => {
  test('are refused with 503 and Retry-After when those under way hold all there may be', async () => {
    const small = await openTestApp({ routes, limits: { maxBodiesBytes: 1_048_576 } })
    const slow = await rawClient(small)
    const head = { ...json, loginId: adminKey, 'Content-Length': '400000' }
    slow.socket.write(`${post(scrub, head)}{"phoneList":"${'2'.repeat(250_000)}`)
    const body = JSON.stringify({ phoneList: '2'.repeat(200_000) })
    const refused = await until('a refusal', async () => {
      const answer = await small.post(scrub, body)
      return answer.status === 503 && answer
    })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.text).toContain('http.maxBodiesBytes')
    expect((await small.post(scrub, { phoneList: '2125550100' })).status).toBe(200)
    slow.socket.destroy()
    await until('room', async () => (await small.post(scrub, body)).status !== 503)
  })
})

describe('connections', () => {
  test('of idle senders give way, those with a key stay', async () => {
    const few = await openTestApp({ routes, limits: { maxConnections: 5 } })
    const known = await rawClient(few)
    known.socket.write(`GET ${litigator} HTTP/1.1\r\nHost: x\r\nloginId: ${adminKey}\r\n\r\n`)
    await until('the answer', () => known.text().startsWith('HTTP/1.1 400'))
    const idle: RawClient[] = []
    for (let opened = 0; opened < 40; opened += 1) {
      const client = await rawClient(few)
      client.socket.write('GET /healthz HTTP/1.1\r\nHos')
      idle.push(client)
    }
    await until('the others are gone', () => idle.filter(({ isClosed }) => !isClosed()).length <= 4)
    expect(known.isClosed()).toBe(false)
    expect((await few.send('/healthz')).status).toBe(200)
    for (const { socket } of [known, ...idle]) socket.destroy()
  })

  test('that have all shown a key and are idle give way, one that waits for its answer stays', async () => {
    const waiting: (() => void)[] = []
    const check = () => new Promise<[]>((resume) => waiting.push(() => resume([])))
    const few = await openTestApp({
      routes: createServiceRoutes(fakeService({ litigators: { check } }), { wrappedRows: false }),
      limits: { maxConnections: 3 },
    })
    const get = (query: string) =>
      `GET ${litigator}${query} HTTP/1.1\r\nHost: x\r\nloginId: ${adminKey}\r\n\r\n`
    const busy = await rawClient(few)
    busy.socket.write(get('?PhoneList=2125550100'))
    await until('it waits', () => waiting.length === 1)
    const idle = [await rawClient(few), await rawClient(few)]
    for (const { socket, text } of idle) {
      socket.write(get(''))
      await until('the answer', () => text().startsWith('HTTP/1.1 400'))
    }
    expect((await few.send('/healthz')).status).toBe(200)
    await until('the oldest is gone', () => idle[0]?.isClosed() === true)
    expect(idle[1]?.isClosed()).toBe(false)
    for (const resume of waiting) resume()
    await until('its answer', () => busy.text().startsWith('HTTP/1.1 200'))
    for (const { socket } of [busy, ...idle]) socket.destroy()
  })

  test('of one account leave half of all to others', async () => {
    const otherKey = 'o'.repeat(44)
    const few = await openTestApp({
      routes: createServiceRoutes(
        fakeService({ litigators: { check: () => new Promise(() => undefined) } }),
        { wrappedRows: false },
      ),
      authenticate: (key) => ({ ...admin, accountId: key === otherKey ? 'other' : 'main' }),
      limits: { maxConnections: 8 },
    })
    const ask = async (key: string, query: string) => {
      const client = await rawClient(few)
      client.socket.write(`GET ${litigator}${query} HTTP/1.1\r\nHost: x\r\nloginId: ${key}\r\n\r\n`)
      return client
    }
    const idle = await ask(adminKey, '')
    await until('the answer', () => idle.text().startsWith('HTTP/1.1 400'))
    const waiting: RawClient[] = []
    for (let opened = 0; opened < 4; opened += 1) {
      waiting.push(await ask(adminKey, '?PhoneList=2125550100'))
    }
    await until('the idle one gives way', idle.isClosed)
    const more = await ask(adminKey, '?PhoneList=2125550100')
    await until('a refusal', () => more.text().startsWith('HTTP/1.1 503'))
    expect(more.text()).toContain('half of http.maxConnections')
    const other = await ask(otherKey, '')
    await until('the answer', () => other.text().startsWith('HTTP/1.1 400'))
    expect(waiting.some(({ isClosed }) => isClosed())).toBe(false)
    for (const { socket } of [...waiting, more, other]) socket.destroy()
  })

  test.each([
    ['nothing', ''],
    ['half a line', 'POST /v1/deci'],
    ['half of the headers', 'POST /v1/decisions HTTP/1.1\r\nHost: x\r\nloginId: '],
  ])('that send %s are cut after the time for headers', async (_case, text) => {
    const strict = await openTestApp({ routes, limits: { headersTimeoutMs: 100 } })
    const client = await rawClient(strict)
    client.socket.write(text)
    await until('the connection is cut', client.isClosed, { withinMs: 10_000 })
  })

  test('that drip a body are cut after the time for a request', async () => {
    const limits = { headersTimeoutMs: 100, requestTimeoutMs: 200 }
    const client = await rawClient(await openTestApp({ routes, limits }))
    client.socket.write(post(scrub, { ...json, loginId: adminKey, 'Content-Length': '9' }))
    const drip = setInterval(() => client.socket.write(' '), 50)
    await until('the connection is cut', client.isClosed)
    clearInterval(drip)
  })

  test('with a key go on after a long request that is refused before its body is read', async () => {
    const busy = await openTestApp({
      routes,
      limitRate: () => {
        throw new AppError('rate-limited', 'Too many requests', { retryAfterSeconds: 1 })
      },
    })
    const client = await rawClient(busy)
    const body = JSON.stringify({ PhoneList: '2125550100,'.repeat(20_000) })
    const head = { ...json, loginId: adminKey, 'Content-Length': String(body.length) }
    const answers = () => client.text().split('HTTP/1.1 429').length - 1
    for (const sent of [1, 2, 3]) {
      client.socket.write(post(litigator, head) + body)
      await until('the answer', () => answers() === sent)
    }
    expect(client.isClosed()).toBe(false)
    client.socket.destroy()
  })

  test('that end their side after the request are answered', async () => {
    const slow = await openTestApp({
      routes: createServiceRoutes(
        fakeService({
          litigators: { check: () => new Promise((go) => setTimeout(() => go([]), 100)) },
        }),
        { wrappedRows: false },
      ),
    })
    const client = await rawClient(slow)
    const key = `loginId: ${adminKey}`
    client.socket.end(`GET ${litigator}?PhoneList=2125550100 HTTP/1.1\r\nHost: x\r\n${key}\r\n\r\n`)
    await until('the answer', () => client.text().startsWith('HTTP/1.1 200'))
    await until('the end', client.isClosed)
  })

  test('that are new may send more requests ahead when each has a key', async () => {
    const client = await rawClient()
    const key = `loginId: ${adminKey}`
    client.socket.write(`GET ${litigator} HTTP/1.1\r\nHost: x\r\n${key}\r\n\r\n`.repeat(12))
    await until('all answers', () => client.text().split('HTTP/1.1 400').length - 1 === 12)
    client.socket.destroy()
  })

  test('without a key that send requests ahead are answered the first few and read no more', async () => {
    const client = await rawClient()
    client.socket.write('GET /v1/none HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000))
    const answers = () => client.text().split('HTTP/1.1 404').length - 1
    await until('the first answers', () => answers() >= 4)
    expect((await app.send('/healthz')).status).toBe(200)
    expect([answers(), client.isClosed()]).toEqual([4, false])
    client.socket.destroy()
  })

  test('that send very many requests ahead are cut', async () => {
    const waiting = await openTestApp({
      routes: createServiceRoutes(
        fakeService({ litigators: { check: () => new Promise(() => undefined) } }),
        { wrappedRows: false },
      ),
      closeGraceMs: 100,
    })
    const client = await rawClient(waiting)
    const one = `GET ${litigator}?PhoneList=2125550100 HTTP/1.1\r\nHost: x\r\nloginId: ${adminKey}\r\n\r\n`
    client.socket.write(one.repeat(200))
    await until('the connection is cut', client.isClosed)
  })
})

test('random anonymous requests over raw sockets never end in an error', async () => {
  const seed = 20_261_122
  const random = randomFrom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const paths = routes.flatMap(({ endpoint }) => [...endpoint.paths])
  const some = (bytes: number) => pick(['{"a":', '[', '1,', 'x', '&a=1', '\0']).repeat(bytes / 5)
  const wire = () => {
    const size = Math.floor(random() ** 3 * 300_000)
    const text = some(size)
    const method = pick(['POST', 'POST', 'GET', 'PUT', 'DELETE'])
    const type = pick([
      'application/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=a',
      'x',
    ])
    const head = `${method} ${pick(paths)} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n`
    const whole = pick([
      `${head}Content-Length: ${text.length}\r\n\r\n${text}`,
      `${head}Content-Length: ${text.length * 9}\r\n\r\n${text}`,
      `${head}Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
      `${head}Transfer-Encoding: chunked\r\n\r\n${'1\r\n{\r\n'.repeat(size / 30)}`,
      `${head}Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${head}\r\n`.repeat(1 + size / 5_000),
      head,
    ])
    return random() < 0.2 ? whole.slice(0, random() * whole.length) : whole
  }
  const requests = 400
  const clients = new Set<RawClient>()
  let sent = 0
  for (let drawn = 0; drawn < requests; drawn += 1) {
    const client = await rawClient()
    const text = wire()
    sent += text.length
    client.socket.write(text, 'latin1')
    clients.add(client)
    if (clients.size <= 40) continue
    const [first] = clients
    first?.socket.destroy()
    if (first) clients.delete(first)
  }
  for (const { socket, text } of clients) {
    expect(text()).not.toMatch(/^HTTP\/1\.1 5/m)
    socket.destroy()
  }
  expect((await app.send('/healthz')).status).toBe(200)
  process.stdout.write(`hostile sockets: seed ${seed}, ${requests} requests, ${sent} bytes\n`)
})
