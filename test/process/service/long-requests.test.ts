/**
 * Requests and answers of the greatest length that each endpoint takes are dealt with by service
 * threads; the main thread, which decides calls, is never held for long. An endpoint whose request or
 * answer holds a list needs a row in `longest`.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { getMaxBodyBytes } from '../../../src/api/endpoint.js'
import { formatInstant } from '../../../src/domain/time/dates.js'
import { environmentOf } from '../../support/program.js'
import { type AnyEndpoint, endpoints } from '../../support/walk-endpoints.js'

interface LongRequest {
  readonly query?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  readonly multipart?: Readonly<Record<string, string>>
  readonly status?: number
  /** Answered by the main thread. */
  readonly isShort?: true
  /** What goes on after the answer is ended by a request to this path. */
  readonly end?: (answer: { readonly id: string }) => string
}

interface Reading {
  readonly longestMs: number
  readonly inThreads: readonly string[]
}

/** What is not cut into slices takes longer on any machine; `npm run bench -- holds` measures how short the slices are. */
const maxHoldMs = 50

const list = (count: number) =>
  Array.from({ length: count }, (_, index) => String(3_035_000_000 + index))
const text = (count: number) => list(count).join(',')
const items = (count: number, more: object = {}) =>
  list(count).map((PhoneNumber) => ({ PhoneNumber, ...more }))
const records = (count: number) =>
  list(count).map((phoneNumber, index) => ({
    ...{ phoneNumber, type: 'P', dateOfLastContact: '11/20/2026', brand: 'Brand' },
    ...{ referenceNum: `reference ${index}`, email: `person${index}@example.com` },
  }))
const dated = list(1_000).map((phoneNumber) => ({ phoneNumber, date: '01/01/2025' }))
const scan = { NotificationURL: 'https://example.com', ScanType: 'carrier' }

/** By endpoint: the longest requests, and those with the longest answers. */
const longest: Readonly<Record<string, readonly LongRequest[]>> = {
  'scrub-get': [{ query: { phoneList: text(100) }, isShort: true }],
  'scrub-post': [
    { json: { phoneList: text(10_000), version: 8, output: 'json' } },
    { json: { phoneList: text(100_000) } },
    { form: { phoneList: text(10_000) } },
    { multipart: { phoneList: text(100_000) } },
    { json: { phoneList: text(100), ebrList: records(10_000) } },
  ],
  'litigator-get': [{ query: { PhoneList: text(100) }, status: 503, isShort: true }],
  'litigator-post': [{ json: { PhoneList: text(10_000) }, status: 503 }],
  'time-legal': [{ json: { IsTimeLegalToCall: items(1_000) } }],
  'legal-call-times': [
    { json: { LegalCallTimesForDate: items(1_000, { NumberOfDays: 31 }) } },
    { json: { LegalCallTimesForDate: items(40, { NumberOfDays: 31 }) }, isShort: true },
  ],
  'time-zone-info': [{ json: { PhoneList: list(1_000) } }],
  'pdnc-get': [{ query: { actionType: 'status', phoneList: text(1_300) } }],
  'pdnc-post': [
    { json: { actionType: 'add', phoneList: text(10_000) } },
    { form: { actionType: 'status', phoneList: text(10_000) } },
    { multipart: { actionType: 'remove', phoneList: text(10_000) } },
  ],
  'ebr-get': [{ query: { phoneList: text(500) } }],
  ebr: [{ json: { ebrList: records(10_000) } }],
  consents: [{ query: { number: text(1) } }],
  audit: [{}],
  lists: [{}],
  // What the main thread alone knows.
  status: [{ isShort: true }],
  rules: [{ query: { region: 'ON', kind: 'ai', compareDate: '2020-01-01' } }],
  journal: [{}],
  number: [{ query: {} }],
  'ebr-remove': [{ form: { phoneList: text(10_000) } }],
  'enhanced-rnd-post': [{ json: dated }],
  'rnd-basic-post': [{ json: { Data: dated } }],
  'reputation-add': [
    { json: list(50).map((Phone) => ({ Phone, Label: 'x'.repeat(50), ServiceType: 'x' })) },
  ],
  'reputation-get': [{ query: { phoneList: text(200) } }],
  'reputation-get-post': [{ json: list(200_000) }],
  'reputation-get-all': [{ query: { maxRecords: '50000' } }],
  'reputation-remove': [{ json: list(60_000).map((number) => number.replace('303', '404')) }],
  'scan-submit': [{ json: { ...scan, PhoneNumbers: list(10_000) } }],
  'scan-status': [{ query: { jobId: '11111111-1111-4111-8111-111111111111' } }],
  attempts: [
    {
      json: {
        attempts: list(1_000).map((number, index) => ({
          ...{ number, at: formatInstant(Date.now()), ref: `reference ${index}`.replace(' ', '-') },
          ...{ channel: 'call', personId: `person ${index}` },
        })),
      },
      isShort: true,
    },
  ],
  'platform-calls': [
    {
      json: {
        platform: 'retell',
        calls: list(1_000).map((number) => ({
          ...{ decisionId: `decision-${number}`, number, callIds: [`call-${number}`] },
        })),
      },
    },
  ],
  // In slices of the main thread, which asks the sources.
  preview: [
    { json: { numbers: list(1_000), callKind: 'ai' }, isShort: true },
    { json: { numbers: Array(1_000).fill({}), callKind: 'ai' }, isShort: true },
  ],
  'warm-start': [
    {
      json: { numbers: list(100_000), keepForMs: 0 },
      status: 202,
      end: ({ id }) => `/v1/warm/${id}/stop`,
    },
  ],
}

let server: ChildProcess
let address: { readonly url: string; readonly key: string }

function receive<Message>(): Promise<Message> {
  return new Promise((resolve, reject) => {
    const end = (code: number | null) => reject(new Error(`the server ended with ${code}`))
    server.once('exit', end).once('message', (message) => {
      server.off('exit', end)
      resolve(message as Message)
    })
  })
}

function ask<Message>(message: string): Promise<Message> {
  const answer = receive<Message>()
  server.send(message)
  return answer
}

beforeAll(async () => {
  const script = join(import.meta.dirname, '../../support/long-requests.mjs')
  server = fork(script, { env: environmentOf({}), stdio: 'inherit' })
  address = await receive()
})

afterAll(() => server.disconnect())

async function send(endpoint: AnyEndpoint, request: LongRequest): Promise<Response> {
  const { query = {}, json, form, multipart } = request
  const fields = new FormData()
  for (const [name, value] of Object.entries(multipart ?? {})) fields.set(name, value)
  const path = endpoint.paths[0]?.replace(':number', text(1))
  const url = `${address.url}${path}?${new URLSearchParams(query)}`
  const body =
    json === undefined ? form && new URLSearchParams(form) : (JSON.stringify(json) ?? undefined)
  return await fetch(url, {
    method: endpoint.method,
    headers: {
      loginId: address.key,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(endpoint.method !== 'GET' && { body: multipart ? fields : (body ?? null) }),
  })
}

/** Their answers hold a list that stays short. */
const shortLists: ReadonlySet<string> = new Set([
  // Checks of one call.
  ...['decide', 'predial-get', 'predial-post', 'decision', 'permit'],
  // At most 200 on a page, always in a service thread.
  'decisions',
  // At most 180 steps of some numbers.
  'live',
  // The newest hundred; at most a hundred; those that an account has bought.
  ...['approvals', 'changes', 'caller-id-add', 'caller-ids'],
  // The oldest hundred, and the oldest 200.
  ...['platform-calls-due', 'unclear-opt-outs'],
  // At most twenty.
  'evidence-bundles',
  // At most 500 keys; each list of a key has at most a hundred.
  ...['keys', 'key-create', 'key-change', 'pauses'],
  // What was said in one call; the rules in force, which are a few rows of a file.
  ...['outcome', 'opt-out'],
  // One object; the rights and kinds of a key.
  ...['token', 'auth-validate'],
  // The kinds of call and at most 20 purposes.
  'consent',
  // At most 800 area codes.
  'projects',
  ...['project-get', 'project-save', 'project-update'],
  // The refused ones are at most 1,000; the projects and legal entities are those of one account.
  ...['warm-start', 'rpc-project', 'rpc-project-get', 'legal-entities'],
  // At most a thousand rows; only over PostgreSQL. Long parts of a journal are parsed by a service thread.
  ...['edge-account', 'edge-records', 'edge-changes', 'edge-decisions'],
  // The limits of one call, and its 20 latest attempts.
  'attempts-get',
  // One call, and at most a hundred limits.
  'edge-attempts',
])

const hasList = (schema: z.ZodType) =>
  JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })).includes(
    '"array"',
  )

it('every endpoint with a list is measured below', () => {
  const withLists = [...endpoints.values()].filter(
    ({ request, response }) => hasList(request) || hasList(response),
  )
  const missing = withLists.filter(({ name }) => !longest[name] && !shortLists.has(name))
  expect(missing.map(({ name }) => name)).toEqual([])
})

/** The costliest JSON and form to parse, as long as an endpoint may take. */
function* fillBody(endpoint: AnyEndpoint): Generator<readonly [type: string, body: string]> {
  const length = getMaxBodyBytes(endpoint, 8_388_608)
  const lists = Math.min(24_000, length / 2 - 100)
  if (endpoint.accepts.includes('json')) {
    yield [
      'application/json',
      `{"a":[${Array(Math.floor(lists / 2))
        .fill('{}')
        .join(',')}]}`,
    ]
  }
  const form = Array.from({ length: 2_000 }, (_, index) => `${index}=%41%42%43%44`).join('&')
  if (endpoint.accepts.includes('form')) {
    yield ['application/x-www-form-urlencoded', form.slice(0, length)]
  }
}

describe('a body full of unknown fields', () => {
  const withBodies = [...endpoints.values()].filter(({ method }) => method !== 'GET')
  it.each(withBodies.map((one) => [one.name, one] as const))('%s', async (name, endpoint) => {
    for (const [type, body] of fillBody(endpoint)) {
      const path = endpoint.paths[0]?.replace(':id', 'x').replace(':code', 'x')
      const { readings } = await measure(() =>
        fetch(address.url + path, {
          method: endpoint.method,
          headers: { loginId: address.key, 'content-type': type },
          body,
        }),
      )
      report(`${name}, ${body.length} bytes of ${type}`, readings)
      expect(leastOf(readings)).toBeLessThan(maxHoldMs)
    }
  })
})

describe('the longest request', () => {
  for (const [name, requests] of Object.entries(longest)) {
    it.each(requests.map((request, index) => [index + 1, request] as const))(
      `${name} %i`,
      async (index, request) => {
        const endpoint = endpoints.get(name)
        if (!endpoint) throw new Error(`there is no endpoint '${name}'`)
        const { readings, statuses } = await measure(() => send(endpoint, request), request.end)
        report(`${name} ${index}`, readings)
        expect(new Set(statuses)).toEqual(new Set([request.status ?? 200]))
        const inThreads = endpoint.usesServiceThread ? [name] : []
        if (!request.isShort) {
          for (const reading of readings) expect(reading.inThreads).toEqual(inThreads)
        }
        expect(leastOf(readings)).toBeLessThan(maxHoldMs)
      },
    )
  }
})

/**
 * What the program does comes again in each round; what it compiles the first time, or what other programs do
 * to the processor, does not.
 */
const maxRounds = 10

/** Until a round holds the thread for a short time only. */
async function measure(request: () => Promise<Response>, end?: LongRequest['end']) {
  const readings: Reading[] = []
  const statuses: number[] = []
  while (readings.length < maxRounds && !(leastOf(readings) < maxHoldMs)) {
    await ask('measure')
    const response = await request()
    const answer = await response.text()
    readings.push(await ask<Reading>('read'))
    statuses.push(response.status)
    if (end) await stop(end(JSON.parse(answer)))
  }
  return { readings, statuses }
}

async function stop(path: string): Promise<void> {
  const headers = { loginId: address.key }
  const { status } = await fetch(address.url + path, { method: 'POST', headers })
  expect(status).toBe(200)
}

const leastOf = (readings: readonly Reading[]) => Math.min(...readings.map((one) => one.longestMs))

function report(what: string, readings: readonly Reading[]): void {
  const held = readings.map(({ longestMs }) => longestMs.toFixed(1)).join(', ')
  const threads = readings[0]?.inThreads.length === 0 ? 'main thread' : 'service thread'
  process.stdout.write(`${what}: ${held} ms, ${threads}\n`)
}
