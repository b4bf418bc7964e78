/** Scrubs of more than 10,000 numbers: for accounts that may, and sent while their rows are made. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { defaultScrubLimits, type ScrubLimits } from '../../src/domain/caller.js'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { fakeService, scrubRow } from '../support/fake-service.js'
import { admin, adminKey, openTestApp } from '../support/test-app.js'

const path = '/app/main/rpc/scrub'
const numbers = Array.from({ length: 12_000 }, (_, index) =>
  String(2_125_550_000 + (index % 11_999)),
)
const scrub = { maxNumbers: 60_000, aiKeepsVoiceWindows: false }
const errors: unknown[] = []
const logger = {
  error: (message: string, fields: unknown) => errors.push([message, fields]),
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
}

const openWith = (service = fakeService(), terms: ScrubLimits = scrub) =>
  openTestApp({
    routes: createServiceRoutes(service, { wrappedRows: false }),
    authenticate: (key) => (key === adminKey ? { ...admin, scrub: terms } : undefined),
    logger,
  })

const app = await openWith()

const posted = (fields: Record<string, string>) => ({
  method: 'POST',
  body: new URLSearchParams(fields),
})

test('CSV has a line for each number, in order, duplicates kept', async () => {
  const answer = await app.send(path, posted({ phoneList: numbers.join(',') }))
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(answer.headers.has('content-length')).toBe(false)
  const lines = answer.text.trimEnd().split('\n')
  expect(lines.map((line) => line.split(',')[0])).toEqual(numbers)
})

test('JSON is one list of the same rows', async () => {
  const answer = await app.send(path, posted({ phoneList: numbers.join(','), output: 'json' }))
  const rows = answer.json() as { Phone: string }[]
  expect(rows.map(({ Phone }) => Phone)).toEqual(numbers)
})

test('what is said of all rows together comes after them', async () => {
  const lists = [{ name: 'us-dnc', version: 'abc', asOf: 0 }]
  const service = fakeService()
  const telling = fakeService({
    scrub: {
      ...service.scrub,
      async *streamRows() {
        yield [{ ...scrubRow, lists, warning: 'an opt-out ended a record' }]
      },
    },
  })
  const { url } = await openWith(telling)
  const client = httpRequest(`${url}${path}`, {
    method: 'POST',
    headers: { loginId: adminKey, 'content-type': 'application/x-www-form-urlencoded' },
  })
  client.end(new URLSearchParams({ phoneList: numbers.join(',') }).toString())
  const [reply] = (await once(client, 'response')) as [IncomingMessage]
  await once(reply.resume(), 'end')
  expect(reply.headers.trailer).toBe('X-Callgate-Lists, X-Callgate-Warning')
  expect(reply.trailers).toEqual({
    'x-callgate-lists': 'us-dnc=abc',
    'x-callgate-warning': 'an opt-out ended a record',
  })
})

test('rows that cannot be made cut the connection, so that no part is taken for the whole', async () => {
  const service = fakeService()
  const failing = fakeService({
    scrub: {
      ...service.scrub,
      async *streamRows() {
        yield [scrubRow]
        throw new Error('the disk is gone')
      },
    },
  })
  const { send } = await openWith(failing)
  await expect(send(path, posted({ phoneList: numbers.join(',') }))).rejects.toThrow()
  expect(errors.splice(0)).toEqual([
    ['an answer was cut short', { endpoint: 'scrub-post', err: new Error('the disk is gone') }],
  ])
})

test('a request refused before its first row gets the usual refusal', async () => {
  const service = fakeService()
  const failing = fakeService({
    scrub: {
      ...service.scrub,
      async *streamRows() {
        yield await Promise.reject(new Error('no database'))
      },
    },
  })
  const answer = await (await openWith(failing)).send(
    path,
    posted({ phoneList: numbers.join(',') }),
  )
  expect(answer.status).toBe(500)
  errors.splice(0)
})

test('HTTP/1.0 has no chunks, so the answer comes whole with its length', async () => {
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  const body = `loginId=${adminKey}&phoneList=${numbers.join(',')}`
  const type = 'application/x-www-form-urlencoded'
  socket.write(
    `POST ${path} HTTP/1.0\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes.toString()
  })
  await once(socket, 'close')
  const [head = '', rows = ''] = text.split('\r\n\r\n')
  expect(head).toMatch(/ 200 /)
  expect(Number(/content-length: (\d+)/i.exec(head)?.[1])).toBe(rows.length)
  expect(rows.trimEnd().split('\n')).toHaveLength(numbers.length)
})

test('no more rows are produced for an HTTP/1.0 client that has disconnected', async () => {
  const service = fakeService()
  let gone: () => void = () => undefined
  const hasGone = new Promise<void>((resolve) => {
    gone = resolve
  })
  let asked: () => void = () => undefined
  const wasAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  let ended: (batches: number) => void = () => undefined
  const wasEnded = new Promise<number>((resolve) => {
    ended = resolve
  })
  const counting = fakeService({
    scrub: {
      ...service.scrub,
      async *streamRows() {
        let made = 0
        try {
          for (; made < 20; made += 1) {
            yield [scrubRow]
            asked()
            await hasGone
          }
        } finally {
          ended(made)
        }
      },
    },
  })
  const { url } = await openWith(counting)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const body = `loginId=${adminKey}&phoneList=${numbers.join(',')}`
  const type = 'application/x-www-form-urlencoded'
  socket.write(
    `POST ${path} HTTP/1.0\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await wasAsked
  socket.resetAndDestroy()
  // The server has heard of it once it answers another connection.
  await app.send(path, posted({ phoneList: '2125550100' }))
  gone()
  expect(await wasEnded).toBeLessThan(20)
})

test('an account with the default maximum is told the maximum and how to raise it', async () => {
  const plain = await openWith(fakeService(), defaultScrubLimits)
  const answer = await plain.send(path, posted({ phoneList: numbers.join(',') }))
  expect(answer.status).toBe(400)
  expect(answer.text).toContain(
    'phoneList: has more than 10000 numbers, the maximum of account main',
  )
  expect(answer.text).toContain('callgate accounts set main --numbers-per-scrub <n>')
})
