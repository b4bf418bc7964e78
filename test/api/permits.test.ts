/** Permits over the API: given with an allow, used once, and not after an opt-out or without their key. */
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import {
  calculateJwkThumbprint,
  decodeJwt,
  decodeProtectedHeader,
  importJWK,
  type JWK,
  jwtVerify,
} from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Right } from '../../src/domain/caller.js'
import { permitEvents } from '../../src/observability/service-metrics.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { isPostgres } from '../support/test-engine.js'

const noon = '2026-11-23T17:00:00Z'
const environment = {
  CALLGATE_SANDBOX_AT: noon,
  CALLGATE_PERMITS_ISSUER: 'https://gate.example',
  CALLGATE_PERMITS_EDGES:
    '{ edge-a: { accounts: [sandbox] }, edge-b: { freshness: 10, accounts: [sandbox] } }',
}
const [callable, litigator, callerId] = ['2125550106', '2125550105', '2125550199']

/** What the answers hold that the cases read. */
interface Body {
  readonly id: string
  readonly keyId: string
  readonly decision: string
  readonly state: string
  readonly detail: string
  readonly judgedAt: string
  readonly decidedAt: string
  readonly validUntil: string
  readonly permit: Permit
}

interface Permit {
  readonly id: string
  readonly edge: string
  readonly header: string
  readonly value: string
  readonly expiresAt: string
}

let app: TestCallgate

beforeAll(async () => {
  app = await openTestCallgate({ environment })
})
afterAll(() => app.end())

const call = { number: callable, callKind: 'manual', callerId, edge: 'edge-a' }

const ask = (more: object = {}, key?: string) => send('/v1/permits', { ...call, ...more }, key)

async function getPermit(more: object = {}): Promise<Permit> {
  const { body } = await ask(more)
  expect(body).toMatchObject({ decision: 'allow', permit: { header: 'X-Callgate-Permit' } })
  return body.permit
}

async function send(path: string, body: object, key = app.keys.sandbox) {
  const response = await app.postJson(path, body, key)
  return { status: response.status, body: (await response.json()) as Body }
}

const use = (value: string, more: object = {}, key?: string) =>
  send('/v1/permits/use', { value, number: callable, callerId, ...more }, key)

const read = async (id: string) => (await (await app.get(`/v1/permits/${id}`)).json()) as Body
const stateOf = async (id: string) => (await read(id)).state

const newKey = (
  accountId: string,
  more: { rights?: Right[]; projects?: string[]; expiresAt?: number } = {},
) => app.callgate.keys.create({ accountId, role: 'Administrator', label: '', ...more })

const readKeys = async () => {
  const response = await fetch(`${app.url}/.well-known/jwks.json`)
  return ((await response.json()) as { keys: (JWK & { kid: string })[] }).keys
}

const publicKeyOf = async (edge: string) =>
  createPublicKey(await (await fetch(`${app.url}/permits/${edge}.pem`)).text())

/** At the sandbox: opt-outs, removed at the end. */
async function whileOptedOut(work: () => Promise<void>) {
  const send = async (actionType: string) => {
    const response = await app.postJson('/app/main/rpc/pdnc', { phoneList: callable, actionType })
    expect(response.status).toBe(200)
  }
  await send('add')
  try {
    await work()
  } finally {
    await send('remove')
  }
}

describe('an edge', () => {
  it('is that of the accounts it names, and of nobody by default', async () => {
    const { key } = await newKey('main')
    for (const edge of ['edge-a', undefined]) {
      const { status, body } = await send('/v1/permits', { ...call, edge }, key)
      expect([status, JSON.stringify(body)]).toEqual([
        404,
        expect.stringContaining('no edge with account main in its accounts'),
      ])
    }
    const own = await openTestCallgate({
      environment: { ...environment, CALLGATE_PERMITS_EDGES: '{ edge-a: {} }' },
    })
    const refused = await own.postJson('/v1/permits', call, own.keys.sandbox)
    expect(refused.status).toBe(404)
    await own.end()
  })
})

describe('a permit', () => {
  it('is used with all that it was judged by', async () => {
    const about = { personId: 'p-1' }
    const { id } = await getPermit(about)
    const { db } = app.callgate.storage
    const row = await db
      .selectFrom('permits')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    expect(row).toMatchObject({ person: 'p-1', purpose: null, subject: null })
  })

  it('is used with the purpose it was given for, which allows what a sale would not', async () => {
    const purposes = await openTestCallgate({
      environment: {
        ...environment,
        CALLGATE_GATE_PURPOSES: JSON.stringify([
          {
            ...{ account: 'sandbox', purpose: 'telemarketing', setBy: 'Ada' },
            requestsMay: ['informational'],
          },
        ]),
      },
    })
    const post = async (path: string, body: object) => {
      const answer = await purposes.postJson(path, body, purposes.keys.sandbox)
      return (await answer.json()) as Body
    }
    // A landline on the national list.
    const listed = { ...call, number: '2125550103' }
    expect(await post('/v1/permits', listed)).toMatchObject({ decision: 'block' })
    const { permit } = await post('/v1/permits', { ...listed, purpose: 'informational' })
    const used = { value: permit.value, number: listed.number, callerId }
    expect(await post('/v1/permits/use', used)).toMatchObject({ state: 'used' })
    await purposes.end()
  })

  it('is a PASSporT of five claims in their order, signed for its edge', async () => {
    const { body } = await ask({ number: '+1 (212) 555-0106', callerId: '1-212-555-0199' })
    const { permit } = body
    const [jws = '', ...parameters] = permit.value.split(';')
    const x5u = 'https://gate.example/permits/edge-a.pem'
    expect(parameters).toEqual([`info=<${x5u}>`, 'alg=ES256', 'ppt=shaken'])
    const [header, payload] = jws.split('.').map((part: string) => Buffer.from(part, 'base64url'))
    expect(String(header)).toBe(`{"alg":"ES256","ppt":"shaken","typ":"passport","x5u":"${x5u}"}`)
    const { iat } = decodeJwt(jws)
    expect(String(payload)).toBe(
      `{"attest":"A","dest":{"tn":["12125550106"]},"iat":${iat},"orig":{"tn":"12125550199"},"origid":"${permit.id}"}`,
    )
    expect(permit.id).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    )
    // Whenever an edge takes it, the decision is valid.
    const validMs = Date.parse(body.validUntil) - Date.parse(body.judgedAt)
    const lastSecond = (iat ?? 0) + 60
    expect((lastSecond + 1) * 1_000).toBeLessThanOrEqual(Date.parse(body.decidedAt) + validMs)
    expect(Date.parse(permit.expiresAt)).toBe(lastSecond * 1_000)
    const currentDate = app.clock.at
    const checks = { algorithms: ['ES256'], typ: 'passport', currentDate: new Date(currentDate) }
    await jwtVerify(jws, await publicKeyOf('edge-a'), { ...checks, maxTokenAge: 60 })
    await expect(jwtVerify(jws, await publicKeyOf('edge-b'), checks)).rejects.toThrow('signature')
  })

  it('may be a JWT that names its edge and its end', async () => {
    const permit = await getPermit({ format: 'jwt' })
    const { kid } = decodeProtectedHeader(permit.value)
    const jwk = (await readKeys()).find((one) => one.kid === kid) ?? {}
    expect(await calculateJwkThumbprint(jwk)).toBe(kid)
    const key = await importJWK(jwk)
    const { payload } = await jwtVerify(permit.value, key, {
      algorithms: ['ES256'],
      typ: 'dial-permit+jwt',
      issuer: 'https://gate.example',
      audience: 'edge-a',
      currentDate: new Date(app.clock.at),
    })
    expect(payload).toMatchObject({
      jti: permit.id,
      callKind: 'manual',
      dest: { tn: ['12125550106'] },
    })
    expect((payload.exp ?? 0) * 1_000).toBe(Date.parse(permit.expiresAt))
    expect((await use(permit.value)).status).toBe(200)
  })

  it('is not given with a block, without a caller id, or for an edge that is none', async () => {
    const blocked = await ask({ number: litigator })
    expect(blocked).toMatchObject({ status: 200, body: { decision: 'block', reason: 'litigator' } })
    expect(blocked.body).not.toHaveProperty('permit')
    for (const field of [
      { callerId: undefined },
      { callerId: null },
      { callerId: '' },
      { callerId: '911' },
      { callerId: '101' },
      { callerId: '0000000000' },
      { callerId: '1125550199' },
      { callerId: '2121150199' },
      { callerId: '+442079460000' },
      { edge: undefined },
      { edge: 'edge-c' },
      { edge: 'toString' },
      { format: 'xml' },
      { at: noon },
    ]) {
      const { status, body } = await ask(field)
      expect([status, body.detail], JSON.stringify(field)).toEqual([
        400,
        expect.stringContaining(Object.keys(field)[0] ?? ''),
      ])
    }
  })

  it('is not needed for emergency calls', async () => {
    const { status, body } = await ask(
      { number: '911', callerId: undefined, edge: 'none' },
      'no key',
    )
    expect([status, body.decision, body.permit]).toEqual([200, 'allow', undefined])
  })

  it('is not given when the call may be placed for less than 5 s', async () => {
    // Eastern calling hours end at 21:00.
    const late = await openTestCallgate({
      environment: { ...environment, CALLGATE_SANDBOX_AT: '2026-11-24T01:59:54.500Z' },
    })
    const response = await late.postJson('/v1/permits', call)
    const body = (await response.json()) as Body
    expect(body).toMatchObject({ decision: 'block', reason: 'permit-too-short' })
    expect(body).not.toHaveProperty('permit')
    const record = await (await late.get(`/v1/decisions/${body.id}`)).json()
    expect(record).toMatchObject({ decision: 'block', reason: 'permit-too-short' })
    await late.end()
  })

  it.skipIf(isPostgres())(
    'is not given when it cannot be stored (locks the file of SQLite)',
    async () => {
      const locking = new Sqlite(join(app.dataDir, 'callgate.sqlite'))
      locking.exec('begin immediate')
      const { body } = await ask()
      locking.exec('rollback')
      locking.close()
      expect(body).toMatchObject({ decision: 'block', reason: 'not-recorded' })
      expect(body).not.toHaveProperty('permit')
      expect((await getPermit()).id).not.toBe('')
    },
  )

  it('names its decision and its key, and is read by its account alone', async () => {
    const { body } = await ask()
    expect(await read(body.permit.id)).toMatchObject({
      state: 'issued',
      decisionId: body.id,
      keyId: body.keyId,
      callerId,
    })
    const other = await app.get(`/v1/permits/${body.permit.id}`, app.keys.main)
    expect(other.status).toBe(404)
  })
})

describe('a use', () => {
  it('is granted once', async () => {
    const { id, value } = await getPermit()
    const first = await use(value, { edge: 'edge-a' })
    expect(first).toMatchObject({ status: 200, body: { id, state: 'used', number: callable } })
    expect((await use(value)).status).toBe(409)
    expect((await send(`/v1/permits/${id}/use`, { number: callable, callerId })).status).toBe(409)
    expect(await stateOf(id)).toBe('used')
  })

  it('by the id is granted once too, as a form as well', async () => {
    const { id } = await getPermit()
    const body = new URLSearchParams({ number: `+1${callable}`, callerId })
    const headers = { loginId: app.keys.sandbox }
    const sendForm = () =>
      fetch(`${app.url}/v1/permits/${id}/use`, { method: 'POST', body, headers })
    expect([(await sendForm()).status, (await sendForm()).status]).toEqual([200, 409])
  })

  it('of many at the same time is granted to one', async () => {
    const { value } = await getPermit()
    const uses = await Promise.all(Array.from({ length: 20 }, () => use(value)))
    const statuses = uses.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([200, ...Array(19).fill(409)])
  })

  it.each([
    ['another number', { number: litigator }],
    ['another caller id', { callerId: '2125550198' }],
    ['another edge', { edge: 'edge-b' }],
  ])('for %s is refused, and does not use it up', async (_, more) => {
    const { value } = await getPermit()
    expect((await use(value, more)).status).toBe(409)
    expect((await use(value)).status).toBe(200)
  })

  it('of another account is not found, and neither is a forged one', async () => {
    const { id, value } = await getPermit()
    expect((await use(value, {}, app.keys.main)).status).toBe(404)
    const body = { number: callable, callerId }
    expect((await send(`/v1/permits/${id}/use`, body, app.keys.main)).status).toBe(404)
    expect((await send(`/v1/permits/${id}/release`, {}, app.keys.main)).status).toBe(404)
    for (const text of ['', 'x', 'a.b.c', `${value} `, value.replace('shaken', 'div')]) {
      expect((await use(text)).status, text).toBe(404)
    }
    expect(await stateOf(id)).toBe('issued')
  })

  it('needs the right to decide, and no other', async () => {
    const { value } = await getPermit()
    const lookUp = await newKey('sandbox', { rights: ['look-up', 'records'] })
    expect((await use(value, {}, lookUp.key)).status).toBe(403)
    const decide = await newKey('sandbox', { rights: ['decide'] })
    expect((await use(value, {}, decide.key)).status).toBe(200)
  })

  it('by a key that is limited to other projects is refused, and does not use it up', async () => {
    await app.postJson('/v1.5/projects', { ProjectCode: 'SALES', ProjectName: 'Sales' })
    const { id, value } = await getPermit()
    const { key } = await newKey('sandbox', { projects: ['SALES'] })
    expect((await use(value, {}, key)).status).toBe(403)
    expect((await send(`/v1/permits/${id}/release`, {}, key)).status).toBe(403)
    expect((await app.get(`/v1/permits/${id}`, key)).status).toBe(403)
    expect((await use(value)).status).toBe(200)
  })

  it('is refused after an opt-out of the number, for good', async () => {
    const { id, value } = await getPermit()
    await whileOptedOut(async () => {
      const refused = await use(value)
      expect([refused.status, refused.body.detail]).toEqual([
        409,
        expect.stringContaining('consent-revoked'),
      ])
      expect(await stateOf(id)).toBe('void')
    })
    expect((await use(value)).status).toBe(409)
  })

  it('is refused when its caller ID is no longer one of the account', async () => {
    const projectId = 'SPRING'
    await app.postJson('/v1.5/projects', { ProjectCode: projectId, ProjectName: 'Spring' })
    const own = { projectId, owner: 'Acme Inc.', proof: 'invoice 7' }
    const callerIds = [callerId, '2125550198'].map((number) => ({ ...own, number }))
    expect((await app.postJson('/v1/caller-ids', { callerIds })).status).toBe(200)
    const { id, value } = await getPermit({ projectId })
    const ended = await app.postJson('/v1/caller-ids/end', { number: callerId, projectId })
    expect(ended.status).toBe(200)
    expect(await use(value)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('caller-id-expired') },
    })
    expect(await stateOf(id)).toBe('void')
  })

  it('is refused when the key that asked for it is revoked or has expired', async () => {
    for (const end of ['revoke', 'expire']) {
      const expiresAt = app.clock.at + 20_000
      const asker = await newKey('sandbox', end === 'expire' ? { expiresAt } : {})
      const { body } = await ask({}, asker.key)
      if (end === 'revoke') await app.callgate.keys.revoke(asker.id)
      else app.clock.at += 20_000
      expect(await use(body.permit.value)).toMatchObject({
        status: 409,
        body: { detail: expect.stringContaining(asker.id) },
      })
      expect(await stateOf(body.permit.id)).toBe('void')
    }
  })

  it('is refused at its end', async () => {
    const permit = await getPermit()
    app.clock.at = Date.parse(permit.expiresAt)
    expect((await use(permit.value)).status).toBe(409)
    expect(await stateOf(permit.id)).toBe('expired')
    expect((await send(`/v1/permits/${permit.id}/release`, {})).status).toBe(409)
  })
})

describe('a release', () => {
  it('ends a permit that was not used, and may be repeated', async () => {
    const { id, value } = await getPermit()
    for (let times = 0; times < 2; times += 1) {
      const released = await send(`/v1/permits/${id}/release`, {})
      expect(released).toMatchObject({ status: 200, body: { state: 'released' } })
    }
    expect((await use(value)).status).toBe(409)
  })

  it('of a permit that was used is refused', async () => {
    const { id, value } = await getPermit()
    await use(value)
    expect((await send(`/v1/permits/${id}/release`, {})).status).toBe(409)
    expect(await stateOf(id)).toBe('used')
  })
})

describe('the keys', () => {
  it('are published without a key of the API, to be kept for 300 s', async () => {
    for (const path of ['/permits/edge-a.pem', '/.well-known/jwks.json']) {
      const response = await fetch(`${app.url}${path}`)
      expect([response.status, response.headers.get('cache-control')]).toEqual([
        200,
        'public, max-age=300',
      ])
      expect(await response.text()).not.toContain('PRIVATE')
    }
    expect((await fetch(`${app.url}/permits/edge-c.pem`)).status).toBe(404)
    expect((await fetch(`${app.url}/permits/edge-a.next.pem`)).status).toBe(404)
  })

  it('are replaced without a permit that fails', async () => {
    const { permits } = app.callgate
    const kids = async () => (await readKeys()).map(({ kid }) => kid)
    const old = await publicKeyOf('edge-a')
    const before = await getPermit()
    const [kidA, kidB] = await kids()
    const next = await permits.keys.rotate('edge-a', { atOnce: false })
    await expect(permits.keys.rotate('edge-a', { atOnce: false })).rejects.toThrow('waits to sign')
    expect(await kids()).toEqual([kidA, next.kid, kidB])
    expect((await publicKeyOf('edge-a.next')).equals(next.publicKey)).toBe(true)
    expect((await publicKeyOf('edge-a')).equals(old)).toBe(true)
    expect((await use(before.value)).status).toBe(200)
    app.clock.at += 599_000
    const last = await getPermit()
    app.clock.at += 1_000
    expect((await publicKeyOf('edge-a')).equals(next.publicKey)).toBe(true)
    const first = await getPermit()
    for (const { value } of [last, first]) expect((await use(value)).status).toBe(200)
    app.clock.at += 310_000
    expect(await kids()).toEqual([next.kid, kidB])
  })

  it('are replaced at once if the old one is not to be trusted', async () => {
    const stolen = await getPermit()
    await app.callgate.permits.keys.rotate('edge-a', { atOnce: true })
    expect((await use(stolen.value)).status).toBe(404)
    expect((await use((await getPermit()).value)).status).toBe(200)
  })
})

it('signs with keys of its own: a permit of another key is refused', async () => {
  const { value } = await getPermit()
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const [header, payload] = value.split('.')
  const input = Buffer.from(`${header}.${payload}`)
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  const signature = sign('sha256', input, key)
  expect(verify('sha256', input, { ...key, key: publicKey }, signature)).toBe(true)
  expect((await use(`${input}.${signature.toString('base64url')}`)).status).toBe(404)
})

it('counts and logs what happens to permits, without their numbers', async () => {
  const { body } = await app.callgate.metrics.render()
  for (const event of permitEvents) {
    expect(body).toMatch(new RegExp(`callgate_permits_total\\{event="${event}"\\} [1-9]`))
  }
  const lines = app.logLines.filter((line) => line.includes('"permit '))
  expect(lines.length).toBeGreaterThan(10)
  expect(lines.filter((line) => line.includes(callable))).toEqual([])
})
