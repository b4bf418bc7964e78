/**
 * Hostile requests against the whole program: whatever is sent, there is an answer, it is no 5xx, and
 * a refusal has the shape of its endpoint.
 */
import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../e2e/asterisk/lab/until.js'
import { shortOrLong } from '../support/long.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { type AnyEndpoint, endpoints, isRefusalIn } from '../support/walk-endpoints.js'
import { type DrawnRequest, drawnRequest } from './properties-requests.js'
import { anyText, seed } from './properties-support.js'

let running: TestCallgate

beforeAll(async () => {
  // Webhooks lead to this machine, where nobody listens; nothing is rationed.
  running = await openTestCallgate({
    environment: {
      CALLGATE_WEBHOOKS_ALLOW: '127.0.0.0/8',
      CALLGATE_LIMITS_SCRUB_PER_MINUTE: '0',
      CALLGATE_LIMITS_REPUTATION_PER_MINUTE: '0',
      CALLGATE_PERMITS_ISSUER: 'https://gate.example',
      CALLGATE_PERMITS_EDGES: '{ edge-a: { accounts: [sandbox] } }',
    },
  })
  const project = { accountId: 'sandbox', code: 'MINE', name: 'Mine' }
  await running.callgate.projects.create(project)
  // Until the index has the first record, nobody can say that a decision is unknown.
  const headers = { loginId: running.keys.sandbox }
  await until('the index is up to date', async () => {
    const { status } = await fetch(`${running.url}/v1/decisions/x`, { headers })
    return status === 404
  })
})

afterAll(async () => {
  await running.end()
})

const hasBody = (method: string) => method !== 'GET' && method !== 'HEAD'

function headersOf({ key, headers: given, content, method }: DrawnRequest): Headers {
  const headers = new Headers(given)
  const { sandbox } = running.keys
  if (key === 'valid') headers.set('loginId', sandbox)
  if (key === 'garbage') headers.set('loginId', 'x'.repeat(44))
  if (key === 'bearer') headers.set('authorization', `Bearer ${sandbox}`)
  if (key === 'basic') {
    headers.set('authorization', `Basic ${Buffer.from(`sandbox:${sandbox}`).toString('base64')}`)
  }
  if (content && hasBody(method)) headers.set('content-type', content.contentType)
  return headers
}

/** To a method that the path does not know, a neighbour may say the shape. */
function shapesOf({ endpoint, method }: DrawnRequest): readonly AnyEndpoint['errors'][] {
  if (method === endpoint.method) return [endpoint.errors]
  const paths = new Set(endpoint.paths)
  return [...endpoints.values()]
    .filter((other) => other.paths.some((path) => paths.has(path)))
    .map(({ errors }) => errors)
}

/** Of something that a server has made, or only over PostgreSQL: no drawn request gets more than a 404. */
const needsKnownId = ({ paths }: AnyEndpoint) =>
  paths.some((path) => /\/:id|^\/v1\/(?:edge|list-files)\/|^\/v1\/caller-ids\/end$/.test(path))

test('whatever is asked is answered, without a 5xx, and refused in the shape of the endpoint', async () => {
  const answered = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(drawnRequest, async (request) => {
      const { endpoint, method, path, query, content } = request
      const response = await fetch(`${running.url}${path}${query && `?${query}`}`, {
        method,
        headers: headersOf(request),
        redirect: 'manual',
        ...(content && hasBody(method) && { body: new Uint8Array(Buffer.from(content.body)) }),
      })
      const { status, statusText, headers } = response
      const contentType = headers.get('content-type')
      const answer = { status, statusText, contentType, text: await readText(response) }
      expect(status, answer.text).toBeLessThan(500)
      expect(status).toBeGreaterThanOrEqual(200)
      if (status < 300) answered.set(endpoint.name, (answered.get(endpoint.name) ?? 0) + 1)
      if (status >= 400 && method !== 'HEAD') {
        const inShape = shapesOf(request).some((shape) => isRefusalIn(shape, answer))
        expect(inShape, JSON.stringify(answer)).toBe(true)
      }
    }),
    { seed, numRuns: endpoints.size * shortOrLong(24, 40) },
  )
  expect(running.logLines.filter((line) => line.includes('request failed'))).toEqual([])
  // Else nothing but the front of the house was tried.
  const possible = [...endpoints.values()].filter((endpoint) => !needsKnownId(endpoint))
  expect(answered.size).toBeGreaterThan(possible.length * 0.6)
})

/** Of an answer that has no end by itself only the first part. */
async function readText(response: Response): Promise<string> {
  if (response.headers.get('content-type') !== 'text/event-stream') return await response.text()
  const reader = response.body?.getReader()
  const part = await reader?.read()
  await reader?.cancel()
  return Buffer.from(part?.value ?? []).toString()
}

/** Sends bytes as they are; gives what comes back until the other side is done. */
function exchange(bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(running.url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.end(bytes))
    let answer = ''
    socket.setTimeout(10_000, () => {
      answer += 'neither answered nor closed'
      socket.destroy()
    })
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(answer))
  })
}

test('bytes that are hardly HTTP are answered or dropped, never with a 5xx', async () => {
  const line = fc.oneof(
    { weight: 1, arbitrary: anyText },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        'Content-Length: 5',
        'Content-Length: -1',
        'Transfer-Encoding: chunked',
        ' folded',
        'Content-Type: application/json',
        'Expect: 100-continue',
        'Upgrade: websocket',
        `Cookie: ${'x'.repeat(20_000)}`,
        ': none',
        'X: é',
        'loginId: ',
        'Host: y',
      ),
    },
  )
  const target = fc.oneof(
    fc.constantFrom(...[...endpoints.values()].flatMap(({ paths }) => [...paths])),
    fc.constantFrom(
      '/',
      '*',
      '//',
      '/%',
      '/%00',
      'http://elsewhere/v1/decisions',
      '/\\..\\',
      '/a?%zz',
    ),
    anyText.map((text) => `/${text.replace(/\s/g, '')}`),
  )
  const method = fc.constantFrom('GET', 'GET', 'POST', 'POST', 'PUT', 'BREW', 'connect', '')
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(method, target, fc.array(line, { maxLength: 3 }), fc.boolean(), anyText),
      async ([verb, path, lines, host, body]) => {
        const usual = [...(host ? ['Host: x'] : []), `loginId: ${running.keys.sandbox}`]
        const head = [`${verb} ${path} HTTP/1.1`, 'Connection: close', ...usual, ...lines]
        const answer = await exchange(Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1'))
        expect(answer).not.toMatch(/^HTTP\/1\.1 5|neither answered nor closed/)
      },
    ),
    { seed, numRuns: shortOrLong(150, 600) },
  )
  expect((await running.get('/healthz')).status).toBe(200)
  expect(running.logLines.filter((one) => one.includes('request failed'))).toEqual([])
})
