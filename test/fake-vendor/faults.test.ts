/** Every fault x every question: what arrives on the wire is what the fault's description says. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type FakeVendor, openFakeVendor } from '../../src/fake-vendor/fake-vendor.js'
import {
  type Fault,
  type FaultKind,
  faultDescriptions,
  faultKinds,
} from '../../src/fake-vendor/fault.js'
import { mondayNoon } from '../support/test-callgate.js'
import { type VirtualTime, virtualTime } from '../support/virtual-time.js'
import { openRaw, parseHead, type RawConnection } from './raw-client.js'
import { type Askable, partsOf, requestText } from './vendor-requests.js'

type Row = Readonly<Record<string, unknown>>

interface Struck {
  readonly question: Askable
  readonly connection: RawConnection
  /** The body without the fault. */
  readonly right: Buffer
  readonly rightRows: readonly Row[]
}

const phoneField: Readonly<Record<string, string>> = {
  scrub: 'Phone',
  'internal-dnc': 'phone',
  litigator: 'Phone',
  'legal-time': 'PhoneNumber',
}
const verdictField: Readonly<Record<string, string>> = {
  scrub: 'ResultCode',
  'internal-dnc': 'onList',
  litigator: 'IsLitigator',
  'legal-time': 'IsCallPermitted',
}
const wrongValues: Readonly<Record<string, Row>> = {
  scrub: { ResultCode: 'Q' },
  'internal-dnc': { onList: 'false' },
  litigator: { IsLitigator: 'false' },
  'legal-time': { Status: 'MAYBE' },
}

let time: VirtualTime
let vendor: FakeVendor
const open: RawConnection[] = []

beforeAll(async () => {
  time = virtualTime()
  vendor = await openFakeVendor({ at: mondayNoon, timers: time })
})
afterEach(() => {
  for (const connection of open.splice(0)) connection.close()
  vendor.reset()
})
afterAll(() => vendor.close())

async function send(question: Askable): Promise<RawConnection> {
  const connection = await openRaw(vendor.url)
  open.push(connection)
  connection.send(requestText(partsOf(question, vendor), vendor.loginId))
  return connection
}

async function rightBody(question: Askable): Promise<Buffer> {
  return (await (await send(question)).reply()).body
}

const rows = (body: Buffer) => JSON.parse(body.toString()) as readonly Row[]
const phones = (question: Askable, some: readonly Row[]) =>
  some.map((row) => row[phoneField[question] ?? ''])

/** A token is another at each request. */
const sameLength = (body: Buffer, right: Buffer) => expect(body.length).toBe(right.length)

async function refusedWith(status: number, { connection }: Struck) {
  const reply = await connection.reply()
  expect(reply.status).toBe(status)
  expect(reply.headers.get('x-fake-vendor')).toBe('callgate')
  return reply
}

async function struckRows({ connection }: Struck): Promise<readonly Row[]> {
  const reply = await connection.reply()
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-type')).toContain('json')
  return rows(reply.body)
}

/** The request has been dealt with: another, sent after it was counted, has been answered. */
async function dealtWith(): Promise<void> {
  await expect.poll(() => Object.keys(vendor.counts()).length).toBe(1)
  const other = await openRaw(vendor.url)
  open.push(other)
  other.send(requestText({ method: 'GET', path: '/fake-vendor' }, ''))
  await other.reply()
}

/** Half of the body that is announced; the right one but for a token. */
async function expectHalf({ connection, right }: Struck): Promise<void> {
  const half = Math.floor(right.length / 2)
  const arrived = () => {
    const head = parseHead(connection.received())
    return head ? connection.received().length - head.size : 0
  }
  await expect.poll(arrived).toBe(half)
  expect(parseHead(connection.received())?.headers.get('content-length')).toBe(`${right.length}`)
}

const onTheWire: Readonly<Record<FaultKind, (struck: Struck) => Promise<void>>> = {
  async silent({ connection }) {
    await dealtWith()
    expect(connection.received()).toHaveLength(0)
    expect(connection.ending()).toBe('open')
  },
  async reset({ connection }) {
    expect(await connection.ended()).toBe('reset')
    expect(connection.received()).toHaveLength(0)
  },
  async 'hang-up'({ connection }) {
    expect(await connection.ended()).toBe('fin')
    expect(connection.received()).toHaveLength(0)
  },
  async 'garbage-http'({ connection }) {
    expect(await connection.ended()).toBe('fin')
    expect(connection.received().length).toBeGreaterThan(10)
    expect(connection.received().toString('latin1')).not.toMatch(/^HTTP/)
  },
  async garbage(struck) {
    const { headers, body } = await refusedWith(200, struck)
    expect(headers.get('content-type')).toContain('application/json')
    expect(body.length).toBeGreaterThan(10)
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(body)).toThrow()
  },
  async empty(struck) {
    expect((await refusedWith(200, struck)).body).toHaveLength(0)
  },
  async 'login-page'(struck) {
    const { headers, body } = await refusedWith(200, struck)
    expect(headers.get('content-type')).toContain('text/html')
    expect(body.toString()).toMatch(/^<!DOCTYPE html>/)
  },
  async 'csv-error'(struck) {
    const { headers, body } = await refusedWith(200, struck)
    expect(headers.get('content-type')).toContain('text/plain')
    expect(body.toString()).toContain('is not a valid number')
  },
  async unauthorized(struck) {
    await refusedWith(401, struck)
  },
  async 'rate-limited'(struck) {
    expect((await refusedWith(429, struck)).headers.get('retry-after')).toBe('7')
  },
  async 'server-error'(struck) {
    await refusedWith(502, struck)
  },
  async redirect(struck) {
    const { headers } = await refusedWith(302, struck)
    expect(headers.get('location')).toBe(`${vendor.url}/elsewhere`)
  },
  async slow({ connection, right }) {
    await expect.poll(() => time.waiting()).toBe(1)
    await time.advance(1_999)
    expect(connection.received()).toHaveLength(0)
    await time.advance(1)
    sameLength((await connection.reply()).body, right)
  },
  async 'slow-body'({ connection, right }) {
    await expect.poll(() => parseHead(connection.received())?.status).toBe(200)
    await time.advance(899)
    const whole = (parseHead(connection.received())?.size ?? 0) + right.length
    expect(connection.received().length).toBeLessThan(whole)
    await time.advance(101)
    sameLength((await connection.reply()).body, right)
  },
  async 'half-closed'(struck) {
    await expectHalf(struck)
    expect(await struck.connection.ended()).toBe('fin')
  },
  async 'half-silent'(struck) {
    await expectHalf(struck)
    await dealtWith()
    expect(struck.connection.ending()).toBe('open')
    await expectHalf(struck)
  },
  async 'stale-keepalive'({ connection, right }) {
    const { headers, body } = await connection.reply()
    expect(headers.get('connection')).toBe('keep-alive')
    sameLength(body, right)
    expect(await connection.ended()).toBe('fin')
  },
  async 'missing-field'(struck) {
    const field = verdictField[struck.question] ?? ''
    for (const row of struck.rightRows) expect(row).toHaveProperty(field)
    for (const row of await struckRows(struck)) expect(row).not.toHaveProperty(field)
  },
  async 'wrong-letter'(struck) {
    const wrong = wrongValues[struck.question] ?? {}
    const expected = struck.rightRows.map((row) => ({ ...row, ...wrong }))
    expect(await struckRows(struck)).toEqual(expected)
  },
  async 'missing-row'(struck) {
    expect(await struckRows(struck)).toEqual(struck.rightRows.slice(1))
  },
  async 'extra-row'(struck) {
    const [first, ...others] = await struckRows(struck)
    expect(others).toEqual(struck.rightRows)
    const [phone] = phones(struck.question, [first ?? {}])
    expect(String(phone)).toMatch(/^\d{10}$/)
    expect(phones(struck.question, struck.rightRows)).not.toContain(phone)
  },
  async 'out-of-order'(struck) {
    expect(await struckRows(struck)).toEqual(struck.rightRows.toReversed())
  },
  async neighbour(struck) {
    const [first, ...others] = struck.rightRows
    expect(await struckRows(struck)).toEqual([...others, first])
  },
  async wrapped(struck) {
    expect(await struckRows(struck)).toEqual([{ Response: struck.rightRows }])
  },
  async 'wrapped-each'(struck) {
    expect(await struckRows(struck)).toEqual(struck.rightRows.map((row) => ({ Response: [row] })))
  },
}

const parameters: Readonly<Partial<Record<FaultKind, Row>>> = {
  slow: { ms: 2_000 },
  'slow-body': { ms: 1_000 },
  'rate-limited': { retryAfterSeconds: 7 },
  'server-error': { status: 502 },
}

const faultOf = (kind: FaultKind) => ({ kind, ...parameters[kind] }) as Fault

describe.each(['scrub', 'internal-dnc', 'litigator', 'legal-time', 'token'] as const)(
  'a fault of %s',
  (question) => {
    const possible = faultKinds.filter(
      (kind) => question !== 'token' || faultDescriptions[kind].affects !== 'rows',
    )
    it.each(possible)('%s', async (kind) => {
      const right = await rightBody(question)
      const rightRows = question === 'token' ? [] : rows(right)
      vendor.reset()
      vendor.setFault(question, faultOf(kind))
      const connection = await send(question)
      await onTheWire[kind]({ question, connection, right, rightRows })
      expect(vendor.counts()[question]?.requests).toBe(1)
      const sent = connection.received().toString('latin1').startsWith('HTTP')
      expect(vendor.requests()[0]?.status === 'none').toBe(!sent)
      const numbers = question === 'token' ? 0 : rightRows.length
      expect(vendor.requests()[0]?.numbers).toBe(numbers)
    })
  },
)

describe('a fault of rows', () => {
  it('leaves other questions, tokens and refusals as they are', async () => {
    vendor.setFault('all', { kind: 'wrapped' })
    expect((await (await send('token')).reply()).status).toBe(200)
    const connection = await openRaw(vendor.url)
    open.push(connection)
    connection.send(requestText(partsOf('scrub', vendor), 'another key'))
    expect((await connection.reply()).status).toBe(401)
  })

  it('names the field to leave out', async () => {
    vendor.setFault('scrub', { kind: 'missing-field', field: 'IsCallAllowedAI' })
    const body = rows(await rightBody('scrub'))
    for (const row of body) {
      expect(row).toHaveProperty('ResultCode')
      expect(row).not.toHaveProperty('IsCallAllowedAI')
    }
  })

  it('gives the only number another’s row', async () => {
    vendor.setFault('litigator', { kind: 'neighbour' })
    const connection = await openRaw(vendor.url)
    open.push(connection)
    connection.send(requestText(partsOf('litigator', vendor, ['2125550100']), vendor.loginId))
    expect(rows((await connection.reply()).body)).toEqual([
      { Phone: 2_125_550_101, IsLitigator: false },
    ])
  })
})
