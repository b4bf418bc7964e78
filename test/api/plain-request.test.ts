/**
 * Requests that are answered without `node:http`: they must be read as it reads them, and answered as it
 * answers them, whatever else is sent on the connection.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DecisionFinalizer } from '../../src/domain/decision.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import type { TraceContext } from '../../src/domain/trace/trace-context.js'
import { encodeReply } from '../../src/gate/record/write-record.js'
import type { Authenticate } from '../../src/http/authenticate.js'
import { createDecisionRoutes } from '../../src/http/decision-routes.js'
import { readPlainRequest } from '../../src/http/request/plain-request.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import { closeAtEnd } from '../support/close-at-end.js'
import { fakeCompliance, noon } from '../support/fake-compliance.js'
import { noPermits, noRecentCalls, noRepeats } from '../support/no-permits.js'
import { admin, adminKey, openTestApp } from '../support/test-app.js'
import { testGate } from '../support/test-gate.js'

interface SentRequest {
  readonly number?: string
  readonly headers?: readonly string[]
}

const bodyOf = (number: string) => JSON.stringify({ number, callKind: 'manual' })

function decide({ number = '2125550100', headers = [] }: SentRequest = {}): string {
  const body = bodyOf(number)
  const all = [
    'POST /v1/decisions HTTP/1.1',
    'Host: gate',
    `loginId: ${adminKey}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ]
  return `${all.join('\r\n')}\r\n\r\n${body}`
}

const predial = `GET /v1/predial?number=2125550100&kind=manual HTTP/1.1\r\nHost: gate\r\nloginId: ${adminKey}\r\n\r\n`

/** Whether each judged call came by the HTTP parser, and the decisions of which a test decides when they end. */
async function open({
  isHeld = false,
  authenticate = (key) => (key === adminKey ? admin : undefined),
}: {
  readonly isHeld?: boolean
  readonly authenticate?: Authenticate
} = {}) {
  const { gate } = testGate(fakeCompliance())
  const held: (() => void)[] = []
  const measured: string[] = []
  const traces: (TraceContext | undefined)[] = []
  const judge = async (call: Parameters<typeof gate.judge>[0]): Promise<DecisionFinalizer> => {
    traces.push(call.trace)
    if (isHeld) await new Promise<void>((resolve) => held.push(resolve))
    if (call.reference === 'fail') throw new Error('a bug')
    return await gate.judge(call)
  }
  let parsed = 0
  const decisionRoutes = createDecisionRoutes({
    permits: noPermits,
    journal: { durableSeq: 0 },
    repeats: noRepeats,
    recentCalls: noRecentCalls,
    shut: { problem: undefined },
    authenticate,
    logger: silentLogger,
    maxBodyBytes: 10_000,
    serviceCodes: new Set<string>(),
    clock: fixedClock(noon),
    gate: { judge, allowUnrecorded: (call) => gate.allowUnrecorded(call) },
    encode: encodeReply,
  }).map((route) => ({
    ...route,
    handle: (...exchange: Parameters<typeof route.handle>) => {
      parsed += 1
      return route.handle(...exchange)
    },
  }))
  const app = await openTestApp({
    routes: [],
    decisionRoutes,
    metrics: {
      recordApiRequest: (endpoint, status) => measured.push(`${endpoint} ${status}`),
    },
  })
  const parsedCount = () => parsed
  return { app, held, measured, traces, parsedCount }
}

/** A connection of which every answer is read whole. */
class Client {
  readonly socket: Socket
  #text = ''
  #isEnded = false

  constructor(url: string) {
    this.socket = connect(Number(new URL(url).port), '127.0.0.1')
    closeAtEnd(async () => void this.socket.destroy())
    this.socket.setEncoding('utf8').on('data', (text) => {
      this.#text += text
    })
    this.socket.on('end', () => {
      this.#isEnded = true
    })
    this.socket.on('error', () => undefined)
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  send(text: string): void {
    this.socket.write(text)
  }

  async receive(): Promise<string> {
    for (;;) {
      const [head = ''] = this.#text.split('\r\n\r\n', 1)
      const length = /content-length: (\d+)/i.exec(head)?.[1]
      const end = head.length + 4 + Number(length)
      if (length !== undefined && this.#text.length >= end) {
        const answer = this.#text.slice(0, end)
        this.#text = this.#text.slice(end)
        return answer
      }
      await once(this.socket, 'data')
    }
  }

  async ask(text: string): Promise<string> {
    this.send(text)
    return await this.receive()
  }
}

/** The first request of a connection, which the parser reads. */
async function showKey(client: Client, held: readonly (() => void)[]): Promise<void> {
  client.send(decide())
  await expect.poll(() => held.length).toBe(1)
  held[0]?.()
  await client.receive()
}

const withoutIdAndDate = (answer: string) =>
  answer
    .replace(/"id":"\w+"|:\w+:end/, 'id')
    .replace(/Date: .*/, (line) => line.replace(/\d|[A-Z][a-z]{2}/g, 'x'))

const numberIn = (answer: string) => /"number":"(\d+)"/.exec(answer)?.[1]

describe('a usual request', () => {
  it.each([
    ['a decision', decide()],
    ['a pre-dial call', predial],
    [
      'a pre-dial call with the number as sent',
      predial.replace('number=2125550100', 'format=sent&number=12125550100'),
    ],
  ])('is answered in the same way with and without the parser: %s', async (_, request) => {
    const { app, parsedCount, measured } = await open()
    const client = new Client(app.url)
    const first = await client.ask(request)
    expect([first.slice(0, 15), parsedCount()]).toEqual(['HTTP/1.1 200 OK', 1])
    const second = await client.ask(request)
    expect([withoutIdAndDate(second), parsedCount()]).toEqual([withoutIdAndDate(first), 1])
    await expect.poll(() => measured).toEqual([measured[0], measured[0]])
  })

  it.each([
    ['a wrong key', decide().replace(adminKey, 'x'.repeat(44)), 401],
    ['no key', decide().replace(/loginId.*\r\n/, ''), 401],
    ['an emergency number', decide({ number: '911' }), 200],
    ['an unknown field', decide().replace('callKind', 'callknd_'.slice(0, 8)), 400],
    ['a wrong type', decide().replace('application/json', 'text/plain'), 415],
    ['a query', decide().replace('/v1/decisions', '/v1/decisions?x=1'), 400],
    ['another path', decide().replace('/v1/decisions', '/v1/decision'), 404],
    [
      'no body',
      decide()
        .replace(/\r\n\r\n.*/, '\r\n\r\n')
        .replace(/Length: \d+/, 'Length: 0'),
      400,
    ],
  ])('is parsed with %s, and the next one is not', async (_, request, status) => {
    const { app, parsedCount } = await open()
    const client = new Client(app.url)
    await client.ask(decide())
    const answer = await client.ask(request)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const before = parsedCount()
    expect(await client.ask(decide())).toContain('"decision":"allow"')
    expect(parsedCount()).toBe(before)
  })

  it('whose key cannot be looked up is answered by the parser, with the failure', async () => {
    let isBroken = false
    const authenticate = (key: string) =>
      isBroken ? Promise.reject(new Error('no database')) : key === adminKey ? admin : undefined
    const { app } = await open({ authenticate })
    const client = new Client(app.url)
    await client.ask(decide())
    isBroken = true
    // An unhandled rejection would fail the run.
    expect(await client.ask(decide())).toMatch(/^HTTP\/1.1 500 /)
    isBroken = false
    expect(await client.ask(decide())).toMatch(/^HTTP\/1.1 200 /)
  })

  it('with a traceparent has its trace, with and without the parser', async () => {
    const { app, traces, parsedCount } = await open()
    const client = new Client(app.url)
    const [traceId, spanId] = ['a'.repeat(32), 'b'.repeat(16)]
    const header = `TraceParent: 00-${traceId}-${spanId}-01`
    const trace = { traceId, spanId, isSampled: true }
    for (const headers of [[header], [header], ['traceparent: 00-nonsense'], []])
      await client.ask(decide({ headers }))
    expect([traces, parsedCount()]).toEqual([[trace, trace, undefined, undefined], 1])
    // The parser joins them.
    await client.ask(decide({ headers: [header, header] }))
    expect([traces.at(-1), parsedCount()]).toEqual([undefined, 2])
  })

  it('that fails by a bug is answered as such', async () => {
    const { app, measured } = await open()
    const client = new Client(app.url)
    await client.ask(decide())
    const body = JSON.stringify({ number: '2125550100', callKind: 'manual', reference: 'fail' })
    const failing = decide()
      .replace(/Length: \d+/, `Length: ${body.length}`)
      .replace(/\{.*/, body)
    expect(await client.ask(failing)).toMatch(/^HTTP\/1.1 500 [\s\S]*the cause has been logged/)
    await expect.poll(() => measured).toEqual(['decide 200', 'decide 500'])
  })
})

describe('answers leave in the order of their requests', () => {
  const numbers = ['2125550101', '2125550102', '2125550103', '2125550104']

  it('when they come in one piece, or cut anywhere', async () => {
    const { app } = await open()
    const text = numbers.map((number) => decide({ number })).join('')
    for (let cut = 0; cut < text.length; cut += 37) {
      const client = new Client(app.url)
      await client.ask(decide())
      client.send(text.slice(0, cut))
      await new Promise((resolve) => setImmediate(resolve))
      client.send(text.slice(cut))
      const answers: (string | undefined)[] = []
      for (const _ of numbers) answers.push(numberIn(await client.receive()))
      expect(answers).toEqual(numbers)
      client.socket.destroy()
    }
  })

  it('when one comes while another is judged', async () => {
    const { app, held } = await open({ isHeld: true })
    const client = new Client(app.url)
    await showKey(client, held)
    client.send(decide({ number: numbers[0] ?? '' }))
    await expect.poll(() => held.length).toBe(2)
    for (const number of numbers.slice(1)) client.send(decide({ number }))
    await new Promise((resolve) => setTimeout(resolve, 20))
    // Nothing more is judged before the answer has left.
    expect(held.length).toBe(2)
    for (let judged = 2; judged <= 5; judged += 1) {
      await expect.poll(() => held.length).toBeGreaterThanOrEqual(judged)
      held[judged - 1]?.()
      expect(numberIn(await client.receive())).toBe(numbers[judged - 2])
    }
  })

  it('when the parser reads the one before', async () => {
    const { app, held, parsedCount } = await open({ isHeld: true })
    const client = new Client(app.url)
    const escaped = decide({ number: numbers[0] ?? '' }).replace('manual', 'manua\\u006c')
    client.send(escaped.replace(/Length: \d+/, `Length: ${bodyOf('2125550101').length + 5}`))
    await expect.poll(() => held.length).toBe(1)
    held[0]?.()
    await client.receive()
    client.send(escaped.replace(/Length: \d+/, `Length: ${bodyOf('2125550101').length + 5}`))
    await expect.poll(() => held.length).toBe(2)
    client.send(decide({ number: numbers[1] ?? '' }))
    await expect.poll(() => held.length).toBe(3)
    held[2]?.()
    await new Promise((resolve) => setTimeout(resolve, 20))
    held[1]?.()
    expect(numberIn(await client.receive())).toBe(numbers[0])
    await client.receive()
    expect(parsedCount()).toBe(3)
  })
})

it('a request that ends the head of another is not taken for one', async () => {
  const { app, parsedCount } = await open()
  const client = new Client(app.url)
  await client.ask(decide())
  client.send('POST /v1/decisions HTTP/1.1\r\nX-Rest: ')
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(await client.ask(decide())).toMatch(/^HTTP\/1.1 200 /)
  expect(parsedCount()).toBe(2)
})

it('a key after 2,000 headers is read, with and without the parser', async () => {
  const { app, parsedCount } = await open()
  const client = new Client(app.url)
  const many = decide().replace('loginId:', `${'a:\r\n'.repeat(2_000)}loginId:`)
  expect(Buffer.byteLength(many)).toBeLessThan(8_192 + 64)
  for (const text of [many, many.replaceAll('a:\r\n', '')]) {
    expect(await client.ask(text)).toContain('HTTP/1.1 200')
    expect(await client.ask(text)).toContain('HTTP/1.1 200')
  }
  expect(parsedCount()).toBeGreaterThan(0)
})

it('a length with a tab behind it has the answer of the parser, which not every version of Node.js refuses', async () => {
  const { app, parsedCount } = await open()
  const withTab = decide().replace(/Content-Length: (\d+)/, 'Content-Length: $1\t')
  const askWith = async (client: Client) => {
    client.send(withTab)
    const [answer] = await once(client.socket, 'data')
    return String(answer).split(' ', 2).join(' ')
  }
  const parsed = await askWith(new Client(app.url))
  expect(parsed).toMatch(/^HTTP\/1\.1 (?:200|400)$/)
  const used = new Client(app.url)
  await used.ask(decide())
  const before = parsedCount()
  expect(await askWith(used)).toBe(parsed)
  if (parsed === 'HTTP/1.1 200') expect(parsedCount()).toBe(before + 1)
})

it('a request inside the body of another is not taken for one', async () => {
  const { app, measured } = await open()
  const client = new Client(app.url)
  await client.ask(decide())
  const inner = decide()
  const start = decide().replace(/Length: \d+/, `Length: ${inner.length}`)
  client.send(start.slice(0, start.indexOf('{')))
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(await client.ask(inner)).toMatch(/^HTTP\/1.1 400 /)
  expect(await client.ask(decide())).toMatch(/^HTTP\/1.1 200 /)
  await expect.poll(() => measured).toEqual(['decide 200', 'decide 400', 'decide 200'])
})

describe('the end of a connection', () => {
  it('that sends no more gets its answer', async () => {
    const { app, held } = await open({ isHeld: true })
    const client = new Client(app.url)
    await showKey(client, held)
    client.socket.end(decide({ number: '2125550107' }))
    await expect.poll(() => held.length).toBe(2)
    held[1]?.()
    expect(numberIn(await client.receive())).toBe('2125550107')
    await expect.poll(() => client.isEnded).toBe(true)
  })

  it('of the client before the answer is counted as such', async () => {
    const { app, held, measured } = await open({ isHeld: true })
    const client = new Client(app.url)
    await showKey(client, held)
    client.send(decide())
    await expect.poll(() => held.length).toBe(2)
    client.socket.resetAndDestroy()
    await new Promise((resolve) => setTimeout(resolve, 50))
    held[1]?.()
    await expect.poll(() => measured).toEqual(['decide 200', 'decide 499'])
  })

  it('of the server waits for the answer, which says so', async () => {
    const { app, held } = await open({ isHeld: true })
    const client = new Client(app.url)
    await showKey(client, held)
    client.send(decide())
    await expect.poll(() => held.length).toBe(2)
    const closing = app.close()
    await new Promise((resolve) => setImmediate(resolve))
    held[1]?.()
    expect(await client.receive()).toMatch(/\r\nConnection: close\r\n/)
    await expect.poll(() => client.isEnded).toBe(true)
    await closing
  })
})

it('a client that reads no answers is not read either', async () => {
  const { app, measured } = await open()
  const client = new Client(app.url)
  await client.ask(decide())
  client.socket.pause()
  const requests = 20_000
  for (let sent = 0; sent < requests; sent += 1) client.send(decide())
  await expect.poll(() => measured.length, { interval: 200 }).toSatisfy(isSteady())
  expect(measured.length).toBeLessThan(requests)
})

/** Whether a number was the same three times in a row. */
function isSteady() {
  const seen: number[] = []
  return (value: number) => {
    seen.push(value)
    return seen.length > 3 && seen.slice(-4).every((one) => one === value)
  }
}

/** What `node:http` reads of these bytes: a request for each that is whole. */
async function parse(bytes: Buffer): Promise<readonly string[]> {
  const found: string[] = []
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    let body = ''
    request.setEncoding('latin1').on('data', (text) => {
      body += text
    })
    request.on('end', () => {
      const { loginid = '', 'content-type': type = '' } = headers
      found.push(JSON.stringify([`${method} ${url}`, String(loginid), type, body]))
      response.end()
    })
  })
  // As the server has it.
  server.maxHeadersCount = 0
  server.on('checkContinue', () => found.push('continue'))
  const wire = new Wire()
  server.emit('connection', wire)
  wire.push(bytes)
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  const isKept = !wire.destroyed && !wire.writableEnded
  wire.destroy()
  return isKept ? found : [...found, 'closed']
}

class Wire extends Duplex {
  setTimeout = () => this
  setNoDelay = () => this
  destroySoon = () => this.destroy()

  override _read(): void {
    // Nothing is asked for.
  }

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done()
  }
}

const lines = fc.constantFrom(
  'Host: gate',
  'host:gate',
  'Host: ',
  'Connection: keep-alive',
  'connection: Keep-Alive',
  'Connection: close',
  'Connection: upgrade',
  'Content-Length: 2',
  'Content-Length: 02',
  'Content-Length: 2\t',
  'Content-Length: 2 ',
  'Content-Length:\t2',
  'Content-Length: 2 \t',
  'Host: gate\t',
  `${'a:\r\n'.repeat(1_999)}a:`,
  'Content-Length: +2',
  'Content-Length: 2, 2',
  'Content-Length : 2',
  'content-length: 0',
  'Content-Type: application/json',
  'loginId: key',
  'LOGINID:  key \t',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  'Content-Encoding: gzip',
  'Expect: 100-continue',
  'Upgrade: h2c',
  'Proxy-Connection: close',
  'TE: trailers',
  'Accept: */*',
  'X-Text: a  b\tc',
  'X-Letter: \u00e9',
  'X-Empty:',
  'X-Control: \u0001',
  ' folded',
  'no colon',
  ': no name',
  'b@d: name',
  '',
)
const requestLines = fc.constantFrom(
  'POST /v1/decisions HTTP/1.1',
  'GET /v1/predial?number=2125550100 HTTP/1.1',
  'POST /v1/decisions HTTP/1.0',
  'POST  /v1/decisions HTTP/1.1',
  'POST /v1/decisions  HTTP/1.1',
  'GET http://gate/ HTTP/1.1',
  'GET /\u00e9 HTTP/1.1',
  'post / HTTP/1.1',
  'CONNECT gate:80 HTTP/1.1',
  'OPTIONS * HTTP/1.1',
)
const someBytes = fc
  .tuple(
    requestLines,
    fc.array(lines, { maxLength: 6 }),
    fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r'),
    fc.constantFrom('', '{}', '{}', '{}x', '{', '{}GET / HTTP/1.1\r\n\r\n'),
  )
  .map(([first, more, lineEnd, body]) =>
    Buffer.from(`${[first, 'Host: a', ...more].join(lineEnd)}\r\n\r\n${body}`, 'latin1'),
  )
const someUsualBytes = fc
  .tuple(fc.constantFrom('GET', 'POST'), fc.uniqueArray(lines, { maxLength: 4 }))
  .map(([method, more]) =>
    Buffer.from(`${[`${method} /a HTTP/1.1`, 'Host: a', ...more].join('\r\n')}\r\n\r\n`, 'latin1'),
  )

it('whatever is plain is one whole request, which node:http reads in the same way', async () => {
  let plain = 0
  const property = fc.asyncProperty(fc.oneof(someBytes, someUsualBytes), async (bytes) => {
    const request = readPlainRequest(bytes, undefined)
    if (request === undefined) return
    plain += 1
    const { target, headers, body } = request
    const read = JSON.stringify([target, headers.loginId, headers.contentType, body])
    expect(await parse(bytes)).toEqual([read])
  })
  await fc.assert(property, { numRuns: 4_000 })
  expect(plain).toBeGreaterThan(200)
})

it('no headers take many times as long as usual ones of their length', () => {
  const head = (value: string) =>
    Buffer.from(`GET /a HTTP/1.1\r\nHost: a\r\nX:${value}\r\n\r\n`, 'latin1')
  const cpuOf = (bytes: Buffer) => {
    const before = process.cpuUsage()
    for (let read = 0; read < 100; read += 1) readPlainRequest(bytes, undefined)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const usual = head('a'.repeat(8_000))
  cpuOf(usual)
  const usualCpu = Math.max(1_000, cpuOf(usual))
  for (const text of [' ', 'a ', 'a\t \t', ': ', '\ta']) {
    const value = `${text.repeat(8_000 / text.length)}\u0001`
    expect(cpuOf(head(value)) / usualCpu, JSON.stringify(text)).toBeLessThan(100)
  }
})

it('headers like the last ones are read as those were', () => {
  const first = readPlainRequest(Buffer.from(decide()), undefined)
  const second = readPlainRequest(Buffer.from(decide({ number: '2125550199' })), first?.headers)
  expect(second?.headers).toBe(first?.headers)
  expect(second?.body).toBe(bodyOf('2125550199'))
  // The same head with a shorter body is not whole.
  expect(readPlainRequest(Buffer.from(decide().slice(0, -1)), first?.headers)).toBeUndefined()

  const get = (target: string) => Buffer.from(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)
  const one = readPlainRequest(get('/a?number=1'), undefined)
  const other = readPlainRequest(get('/a?number=2'), one?.headers)
  expect(other).toEqual({ target: 'GET /a?number=2', headers: one?.headers, body: '' })
  expect(other?.headers).toBe(one?.headers)
})
