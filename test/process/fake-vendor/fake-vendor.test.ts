/** What the vendor answers when nothing is wrong, what it counts, limits and takes as a key. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  type FakeVendor,
  type FakeVendorOptions,
  openFakeVendor,
} from '../../../src/fake-vendor/fake-vendor.js'
import { openRaw } from '../../fake-vendor/raw-client.js'
import { ask, partsOf, requestText } from '../../fake-vendor/vendor-requests.js'
import { mondayNoon } from '../../support/test-callgate.js'
import { instant } from '../../support/test-clock.js'
import { virtualTime } from '../../support/virtual-time.js'

let vendor: FakeVendor | undefined
afterEach(() => vendor?.close())

async function open(options: FakeVendorOptions = {}): Promise<FakeVendor> {
  vendor = await openFakeVendor({ at: mondayNoon, ...options })
  return vendor
}

type Row = Readonly<Record<string, unknown>>
const rowsOf = async (response: Response) => (await response.json()) as readonly Row[]

const statuses = async (questions: readonly Promise<Response>[]) =>
  (await Promise.all(questions)).map(({ status }) => status)

describe('the answers', () => {
  const numbers: readonly (readonly [string, string, string])[] = [
    ['2125550100', 'C', 'the clean landline'],
    ['2125550101', 'W', 'a wireless line'],
    ['2125550103', 'D', 'on the national list'],
    ['2125550104', 'P', 'on the internal list'],
    ['2125550105', 'D', 'a litigator'],
    ['4165550108', 'H', 'Canada has the lines too'],
    ['2125550150', 'I', 'a fictional line without facts'],
    ['2127365001', 'C', 'any other number is like line 0100'],
    ['8507365001', 'C', 'in every area code'],
    ['9997365001', 'I', 'an area code that is not in service'],
    ['8005550100', 'I', 'toll-free'],
    ['21273650', 'M', 'no number'],
  ]
  describe('to scrubs of one vendor', () => {
    let fake: FakeVendor
    beforeAll(async () => {
      fake = await openFakeVendor({ at: mondayNoon })
    })
    afterAll(() => fake.close())

    it.each(numbers)('%s has letter %s: %s', async (number, letter) => {
      const [row] = await rowsOf(await ask(fake, 'scrub', [number]))
      expect(row?.ResultCode).toBe(letter)
    })
  })

  it('any other number is answered as line 0100 of its area code is, to each question', async () => {
    const fake = await open()
    for (const question of ['scrub', 'internal-dnc', 'litigator', 'legal-time'] as const) {
      const [line, other] = await rowsOf(await ask(fake, question, ['8505550100', '8507365001']))
      const phone = question === 'legal-time' ? 'PhoneNumber' : 'Phone'
      const field = question === 'internal-dnc' ? 'phone' : phone
      const number = question === 'litigator' ? 8_507_365_001 : '8507365001'
      expect(other).toEqual({ ...line, [field]: number })
    }
  })

  it('are those of the instant it stands at', async () => {
    const legalAt = async (at: string) => {
      const fake = await openFakeVendor({ at: instant(at) })
      const [row] = await rowsOf(await ask(fake, 'legal-time', ['2125550100']))
      await fake.close()
      return row?.IsCallPermitted
    }
    expect(await legalAt('2026-11-23T17:00:00Z')).toBe(true)
    expect(await legalAt('2026-11-23T07:00:00Z')).toBe(false)
  })

  it('keep what is written, and know the projects they are told of', async () => {
    const fake = await open({ projects: ['SPRING-26'] })
    const pdnc = async (more: string) => {
      const url = `${fake.url}/app/main/rpc/pdnc?phoneList=2127365001&${more}`
      return await fetch(url, { headers: { loginId: fake.loginId } })
    }
    expect((await pdnc('actionType=add')).status).toBe(200)
    const [row] = await rowsOf(await ask(fake, 'scrub', ['2127365001']))
    expect(row?.ResultCode).toBe('P')
    expect((await pdnc('actionType=status&projId=SPRING-26')).status).toBe(200)
    expect((await pdnc('actionType=status&projId=AUTUMN-26')).status).toBe(400)
  })

  it('all say that they are a fake vendor’s, wrong paths and methods included', async () => {
    const fake = await open()
    const paths = [
      '/app/main/rpc/scrub',
      '/app/main/rpc/pdnc/',
      '/oauth/token',
      '/',
      '/fake-vendor',
    ]
    const replies = await Promise.all(
      paths.flatMap((path) => [
        fetch(`${fake.url}${path}`),
        fetch(`${fake.url}${path}`, { method: 'DELETE' }),
      ]),
    )
    expect(replies.map(({ headers }) => headers.get('x-fake-vendor'))).toEqual(
      replies.map(() => 'callgate'),
    )
    expect(replies.map(({ status }) => status)).toEqual([
      401, 405, 401, 405, 405, 405, 404, 404, 200, 404,
    ])
  })
})

describe('a key', () => {
  it('is needed, in header loginId or as a bearer', async () => {
    const fake = await open({ loginId: 'the-key' })
    const url = `${fake.url}/app/main/rpc/scrub?phoneList=2125550100`
    const with_ = (headers: Record<string, string>) => fetch(url, { headers })
    expect(
      await statuses([
        with_({ loginId: 'the-key' }),
        with_({ authorization: 'Bearer the-key' }),
        with_({ loginId: 'another' }),
        with_({}),
      ]),
    ).toEqual([200, 200, 401, 401])
  })

  it('is made up when none is given, another each time', async () => {
    const one = await openFakeVendor()
    const other = await open()
    await one.close()
    expect(one.loginId).toMatch(/^[\w-]{44}$/)
    expect(other.loginId).not.toBe(one.loginId)
  })
})

describe('a token', () => {
  const request = (fake: FakeVendor, form: Record<string, string>, path = '/oauth/token') =>
    fetch(`${fake.url}${path}`, { method: 'POST', body: new URLSearchParams(form) })
  const credentials = ({ clientId, clientSecret }: FakeVendor) => ({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })

  it('is accepted until it expires', async () => {
    const time = virtualTime()
    const fake = await open({ tokenSeconds: 60, timers: time })
    const response = await request(fake, credentials(fake), '/V1.5/OAuth/Token')
    const token = (await response.json()) as Record<string, unknown>
    expect(token).toMatchObject({ token_type: 'Bearer', expires_in: 60 })
    expect(response.headers.get('cache-control')).toBe('no-store')
    const status = async () => {
      const url = `${fake.url}/app/main/rpc/scrub?phoneList=2125550100`
      const headers = { authorization: `Bearer ${String(token.access_token)}` }
      return (await fetch(url, { headers })).status
    }
    expect(await status()).toBe(200)
    await time.advance(59_999)
    expect(await status()).toBe(200)
    await time.advance(1)
    expect(await status()).toBe(401)
  })

  const refusals: readonly (readonly [string, Record<string, string>, number, string])[] = [
    ['another grant', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['a missing field', { client_id: '' }, 400, 'invalid_request'],
    ['another client', { client_id: 'somebody' }, 401, 'invalid_client'],
    ['another secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
  ]
  it.each(refusals)('is refused for %s', async (_, change, status, error) => {
    const fake = await open()
    const response = await request(fake, { ...credentials(fake), ...change })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error })
  })

  it('is asked for by a form', async () => {
    const fake = await open()
    const response = await fetch(fake.authUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(credentials(fake)),
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: 'invalid_request' })
  })
})

describe('the limit', () => {
  it('holds in any 60 seconds, for each question by itself', async () => {
    const time = virtualTime()
    const fake = await open({ requestsPerMinute: 3, timers: time })
    const scrub = () => ask(fake, 'scrub')
    expect(await statuses([scrub()])).toEqual([200])
    await time.advance(40_000)
    expect(await statuses([scrub(), scrub()])).toEqual([200, 200])
    await time.advance(19_500)
    const refused = await scrub()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect((await ask(fake, 'litigator')).status).toBe(200)
    await time.advance(500)
    // The first has left the window; what was refused never was in it.
    expect(await statuses([scrub()])).toEqual([200])
    const again = await scrub()
    expect([again.status, again.headers.get('retry-after')]).toEqual([429, '40'])
    expect(fake.counts().scrub).toEqual({
      requests: 6,
      numbers: 18,
      mostInAMinute: 5,
      byStatus: { 200: 4, 429: 2 },
    })
  })

  it('goes before faults, and uses none up', async () => {
    const fake = await open({ requestsPerMinute: 1, timers: virtualTime() })
    fake.setFault('scrub', { kind: 'server-error', times: 2 })
    expect((await ask(fake, 'scrub')).status).toBe(503)
    expect((await ask(fake, 'scrub')).status).toBe(429)
    fake.reset()
    expect((await ask(fake, 'scrub')).status).toBe(200)
  })
})

describe('counts', () => {
  it('tell of each question, its numbers, and the busiest minute', async () => {
    const time = virtualTime()
    const fake = await open({ timers: time })
    await ask(fake, 'scrub', ['2125550100', '2125550100'])
    await time.advance(30_000)
    await ask(fake, 'scrub', ['2125550101'])
    await time.advance(30_000)
    await ask(fake, 'scrub', ['2125550102'])
    await ask(fake, 'legal-time')
    await ask(fake, 'token')
    await fetch(`${fake.url}/elsewhere`)
    await fetch(`${fake.url}/fake-vendor`)
    const ok = (requests: number, numbers: number, mostInAMinute = requests) => ({
      requests,
      numbers,
      mostInAMinute,
      byStatus: { 200: requests },
    })
    expect(fake.counts()).toEqual({
      scrub: ok(3, 4, 2),
      'legal-time': ok(1, 3),
      token: ok(1, 0),
      other: { ...ok(1, 0), byStatus: { 404: 1 } },
    })
    expect(fake.requests().slice(0, 3)).toEqual([
      { question: 'scrub', atMs: 0, numbers: 2, status: 200 },
      { question: 'scrub', atMs: 30_000, numbers: 1, status: 200 },
      { question: 'scrub', atMs: 60_000, numbers: 1, status: 200 },
    ])
    fake.reset()
    expect([fake.counts(), fake.requests()]).toEqual([{}, []])
  })
})

describe('latency', () => {
  it('is kept by every answer', async () => {
    const time = virtualTime()
    const fake = await open({ latencyMs: 600, timers: time })
    const answers = [ask(fake, 'scrub'), ask(fake, 'token')]
    await expect.poll(() => time.waiting()).toBe(2)
    await time.advance(599)
    expect(time.waiting()).toBe(2)
    await time.advance(1)
    expect(await statuses(answers)).toEqual([200, 200])
  })

  it('ends with the client that waits', async () => {
    const time = virtualTime()
    const fake = await open({ latencyMs: 600, timers: time })
    const connection = await openRaw(fake.url)
    connection.send(requestText(partsOf('scrub', fake), fake.loginId))
    await expect.poll(() => time.waiting()).toBe(1)
    connection.close()
    await expect.poll(() => time.waiting()).toBe(0)
    expect(fake.requests().map(({ status }) => status)).toEqual(['none'])
  })
})

describe('a fault', () => {
  it('is over after its times', async () => {
    const fake = await open()
    fake.setFault('scrub', { kind: 'server-error', times: 2 })
    const seen = []
    for (let each = 0; each < 3; each += 1) seen.push((await ask(fake, 'scrub')).status)
    expect(seen).toEqual([503, 503, 200])
  })

  it('strikes by chance', async () => {
    const draws = [0.1, 0.5, 0.49, 0.9]
    const fake = await open({ random: () => draws.shift() ?? 1 })
    fake.setFault('scrub', { kind: 'server-error', chance: 0.5, times: 2 })
    const seen = []
    for (let each = 0; each < 4; each += 1) seen.push((await ask(fake, 'scrub')).status)
    expect(seen).toEqual([503, 200, 503, 200])
    expect(draws).toEqual([0.9])
  })

  it('of a question stands before that of all, until it is ended', async () => {
    const fake = await open()
    fake.setFault('all', { kind: 'unauthorized' })
    fake.setFault('scrub', { kind: 'server-error' })
    expect(await statuses([ask(fake, 'scrub'), ask(fake, 'token')])).toEqual([503, 401])
    fake.setFault('scrub', undefined)
    expect(await statuses([ask(fake, 'scrub'), ask(fake, 'token')])).toEqual([401, 401])
    fake.setFault('all', undefined)
    expect(await statuses([ask(fake, 'scrub'), ask(fake, 'token')])).toEqual([200, 200])
  })

  it('that hides the answer also hides the write', async () => {
    const fake = await open()
    const onList = async () => (await rowsOf(await ask(fake, 'internal-dnc', ['2127365001'])))[0]
    fake.setFault('internal-dnc', { kind: 'server-error', times: 1 })
    const url = `${fake.url}/app/main/rpc/pdnc?phoneList=2127365001&actionType=add`
    expect((await fetch(url, { headers: { loginId: fake.loginId } })).status).toBe(503)
    expect(await onList()).toMatchObject({ onList: false })
  })

  it('of rows cannot be set for tokens', async () => {
    const fake = await open()
    expect(() => fake.setFault('token', { kind: 'wrapped' })).toThrow("token.kind 'wrapped'")
  })
})

describe('close', () => {
  // Other tests have vendors, and with them folders, at the same time.
  const usual = process.env.TMPDIR
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'callgate-test-'))
    process.env.TMPDIR = folder
  })
  afterEach(() => {
    if (usual === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = usual
    rmSync(folder, { recursive: true, force: true })
  })

  it('is at once, whatever still hangs, and removes the data', async () => {
    const fake = await openFakeVendor()
    expect(readdirSync(folder)).toHaveLength(1)
    fake.setFault('scrub', { kind: 'silent' })
    fake.setFault('litigator', { kind: 'slow', ms: 600_000 })
    fake.setFault('legal-time', { kind: 'slow-body', ms: 600_000 })
    const hung = await Promise.all(
      (['scrub', 'litigator', 'legal-time', 'internal-dnc'] as const).map(async (question) => {
        const connection = await openRaw(fake.url)
        connection.send(requestText(partsOf(question, fake), fake.loginId))
        return connection
      }),
    )
    await expect.poll(() => fake.requests().length).toBe(4)
    const closing = fake.close()
    expect(fake.close()).toStrictEqual(closing)
    await closing
    for (const connection of hung) expect(await connection.ended()).not.toBe('open')
    await expect(openRaw(fake.url)).rejects.toThrow('ECONNREFUSED')
    expect(readdirSync(folder)).toEqual([])
  })

  it('leaves nothing behind when it cannot listen', async () => {
    const fake = await open()
    await expect(openFakeVendor({ port: fake.port })).rejects.toThrow('EADDRINUSE')
    await fake.close()
    expect(readdirSync(folder)).toEqual([])
  })
})
