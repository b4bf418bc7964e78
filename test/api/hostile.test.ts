/** Whatever is sent, the answer is a 2xx or a 4xx with a reason, and the server goes on. */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { fakeService } from '../support/fake-service.js'
import { hostileRequest, randomFrom } from '../support/hostile-requests.js'
import { shortOrLong } from '../support/long.js'
import { adminKey, openTestApp } from '../support/test-app.js'

const routes = createServiceRoutes(fakeService(), { wrappedRows: false })
const bugs: unknown[] = []
const app = await openTestApp({
  routes,
  logger: {
    error: (_message, fields) => bugs.push(fields),
    warn: () => undefined,
    info: () => undefined,
    debug: () => undefined,
  },
})
const paths = routes.flatMap(({ endpoint }) => [...endpoint.paths])

test('random requests never give a 5xx', async () => {
  const random = randomFrom(20_261_123)
  for (let drawn = 0; drawn < shortOrLong(500, 2_000); drawn += 1) {
    const request = hostileRequest(random, paths)
    const answer = await app.send(request.path, {
      method: request.method,
      ...(request.body && { body: request.body }),
      ...(request.contentType && { headers: { 'content-type': request.contentType } }),
      key: random() < 0.05 ? null : adminKey,
    })
    const told = { drawn, request, status: answer.status, text: answer.text }
    expect(answer.status, JSON.stringify(told)).toBeLessThan(500)
    if (answer.status >= 400) expect(answer.text.length, JSON.stringify(told)).toBeGreaterThan(0)
  }
  expect(bugs).toEqual([])
})

/** Sends bytes as they are and gives what comes back until the other side is done. */
function rawExchange(bytes: string): Promise<string> {
  const { hostname, port } = new URL(app.url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.end(bytes, 'latin1'))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(answer))
  })
}

test('broken HTTP is refused or dropped, and the server goes on', async () => {
  const random = randomFrom(911)
  const valid =
    `POST /app/main/rpc/scrub HTTP/1.1\r\nHost: x\r\nloginId: ${adminKey}\r\nConnection: close\r\n` +
    'Content-Type: application/json\r\nContent-Length: 26\r\n\r\n{"phoneList":"2125550100"}'
  for (let drawn = 0; drawn < shortOrLong(100, 300); drawn += 1) {
    const at = Math.floor(random() * valid.length)
    const junk = String.fromCharCode(Math.floor(random() * 256)).repeat(
      1 + Math.floor(random() * 5),
    )
    const cut =
      random() < 0.3 ? valid.slice(0, at) : valid.slice(0, at) + junk + valid.slice(at + 1)
    const answer = await rawExchange(cut)
    expect(answer, JSON.stringify({ drawn, cut })).not.toMatch(/^HTTP\/1\.1 5/)
  }
  expect((await app.send('/healthz')).status).toBe(200)
  expect(bugs).toEqual([])
})

test('fields named like members of every object are unknown fields', async () => {
  const body = '{"phoneList":"2125550100","__proto__":{"version":"8"},"constructor":1}'
  const answer = await app.post('/app/main/rpc/scrub', body)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-callgate-ignored-fields')).toBe('__proto__, constructor')
})

test('a field where none is known says so', async () => {
  const { text } = await app.send('/v1/pauses?limit=1')
  expect(text).toContain("limit '1': is an unknown field; none is known here")
})

test('a request with very many unknown fields gets a short answer', async () => {
  const fields = Array.from({ length: 900 }, (_none, index) => [`f${index}`, 'x'.repeat(1000)])
  const answer = await app.post('/app/main/rpc/scrub', Object.fromEntries(fields))
  expect(answer.text.length).toBeLessThan(3000)
  expect(answer.headers.get('x-callgate-ignored-fields')?.split(', ')).toHaveLength(20)
})
