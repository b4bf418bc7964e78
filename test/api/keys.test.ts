/** The keys of an account and its pauses over HTTP: who may change them, and that no key makes a stronger one. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { NewApiKey } from '../../src/service/accounts/api-keys.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let count = 0

beforeAll(async () => {
  running = await openTestCallgate()
  const json = { ProjectCode: 'SPRING', ProjectName: 'Spring' }
  expect((await running.postJson('/v1.5/projects', json, running.keys.main)).status).toBe(201)
})
beforeEach(async () => {
  for (const { subject } of await running.callgate.pauses.list('main')) {
    await running.callgate.pauses.resume(subject)
  }
})
afterAll(() => running.end())

/** A key of account main, with all rights unless said otherwise. */
const make = (limits: Partial<NewApiKey> = {}) =>
  running.callgate.keys.create({
    accountId: 'main',
    role: 'Administrator',
    label: `made-${count++}`,
    ...limits,
  })

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

async function post(path: string, body: object, key = running.keys.main): Promise<Answer> {
  const answer = await running.postJson(path, body, key)
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

async function list(query = '', key = running.keys.main) {
  const answer = await running.get(`/v1/keys${query}`, key)
  const { keys = [] } = (await answer.json()) as { keys?: readonly Record<string, unknown>[] }
  return keys
}

async function lastAudit(action: string) {
  const db = running.callgate.storage.db
  return await db
    .selectFrom('audit')
    .selectAll()
    .where('action', '=', action)
    .orderBy('seq', 'desc')
    .executeTakeFirstOrThrow()
}

const dialer = { role: 'Agent', rights: ['decide', 'records'], kinds: ['ai'] }

describe('making a key', () => {
  it('gives its value once, with the limits asked for', async () => {
    const asked = {
      ...{ ...dialer, label: 'ai-agent-1', projects: ['spring'], regions: ['ny'] },
      ...{ callerIds: 'valid', attemptsPerHour: 60, coolDownSeconds: 3600 },
      ...{ approval: 'first-contact', expires: '2027-01-31T00:00:00Z', reason: 'new campaign' },
    }
    const { status, body } = await post('/v1/keys', asked)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toEqual({ id: expect.stringMatching(/^key-/), key: expect.any(String) })
    expect((await running.callgate.authenticate(String(body.key), 'login-id'))?.keyId).toBe(body.id)
    const [listed] = await list(`?id=${body.id}`)
    expect(listed).toEqual({
      ...{ id: body.id, label: 'ai-agent-1', role: 'Agent', state: 'in-force', version: 1 },
      ...{ rights: ['decide', 'records'], kinds: ['ai'], projects: ['SPRING'], regions: ['NY'] },
      ...{ callerIds: 'valid', attemptsPerHour: 60, coolDownSeconds: 3600 },
      ...{ approval: 'first-contact', expires: '2027-01-31T00:00:00Z' },
      createdAt: expect.stringMatching(/^2026-11-23T17:00:0/),
    })
    expect(JSON.stringify(await list())).not.toContain(body.key)
  })

  it('says when it was last used, once it was', async () => {
    const { id } = await make()
    expect((await list(`?id=${id}`))[0]).not.toHaveProperty('lastUsedAt')
    const use = { key_id: id, used_at: Date.parse('2026-11-23T16:59:00Z') }
    await running.callgate.storage.db.insertInto('key_uses').values(use).execute()
    expect((await list(`?id=${id}`))[0]).toMatchObject({ lastUsedAt: '2026-11-23T16:59:00Z' })
  })

  it('has a row that says which key asked, and why, and never the value', async () => {
    const admin = await make()
    const { body } = await post('/v1/keys', { ...dialer, label: 'x', reason: 'why' }, admin.key)
    const row = await lastAudit('key.created')
    expect(row).toMatchObject({ who: `key:${admin.id}`, door: 'api /v1/keys', reason: 'why' })
    expect(row).toMatchObject({ account_id: 'main', subject: body.id })
    expect(JSON.stringify(row)).not.toContain(body.key)
  })

  it('refuses a label that a key in force has, so that a form sent twice makes one key', async () => {
    const asked = { ...dialer, label: 'twice' }
    const first = await post('/v1/keys', asked)
    expect(await post('/v1/keys', asked)).toMatchObject({
      status: 409,
      body: {
        detail: `label 'twice': is that of ${first.body.id}, which is not revoked; choose another`,
      },
    })
    expect((await post(`/v1/keys/${first.body.id}/revoke`, {})).status).toBe(200)
    expect((await post('/v1/keys', asked)).status).toBe(200)
  })

  it('makes one of two that are asked for at the same time', async () => {
    const asked = { ...dialer, label: 'at once' }
    const answers = await Promise.all([post('/v1/keys', asked), post('/v1/keys', asked)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await list()).filter(({ label }) => label === 'at once')).toHaveLength(1)
  })

  it.each([
    ['label', {}],
    ['label', { label: ' ' }],
    ['label', { label: 'x'.repeat(101) }],
    ['role', { role: 'Boss' }],
    ['rights', { rights: [] }],
    ['rights', { rights: ['everything'] }],
    ['kinds', { kinds: ['fax'] }],
    ['projects', { projects: ['NONE'] }],
    ['campaigns', { campaigns: [99] }],
    ['callerIds', { callerIds: ['123'] }],
    ['callerIds', { callerIds: 'any' }],
    ['regions', { regions: ['ZZ'] }],
    ['attemptsPerHour', { attemptsPerHour: 0 }],
    ['concurrent', { concurrent: 1_000_001 }],
    ['approval', { approval: 'sometimes' }],
    ['expires', { expires: '2026-11-23T16:00:00Z' }],
    ['expires', { expires: 'tomorrow' }],
    ['notBefore', { notBefore: '2027-02-01T00:00:00Z', expires: '2027-01-01T00:00:00Z' }],
    ['limit', { limit: 5 }],
  ])('refuses %s of %j', async (field, wrong) => {
    const label = 'label' in wrong || field === 'label' ? {} : { label: `wrong-${count++}` }
    const { status, body } = await post('/v1/keys', { ...dialer, ...label, ...wrong })
    expect({ status, detail: body.detail }).toEqual({
      status: 400,
      detail: expect.stringMatching(new RegExp(`^${field}\\b`)),
    })
  })
})

describe('a key makes none that may do more than itself', () => {
  const limited: Partial<NewApiKey> = {
    rights: ['manage', 'decide'],
    callKinds: ['ai', 'manual'],
    calls: { regions: ['NY', 'NJ'], callerIds: ['2127365009'], campaigns: undefined },
    expiresAt: mondayNoon + 86_400_000,
  }

  it('and what is absent is as its own', async () => {
    const maker = await make(limited)
    const made = await post('/v1/keys', { label: 'as mine', role: 'Administrator' }, maker.key)
    expect(made.status).toBe(200)
    const [listed] = await list(`?id=${made.body.id}`)
    expect(listed).toMatchObject({
      rights: ['decide', 'manage'],
      kinds: ['manual', 'ai'],
      regions: ['NY', 'NJ'],
      callerIds: ['2127365009'],
      expires: '2026-11-24T17:00:00Z',
    })
  })

  it.each([
    ['rights', { rights: ['records'] }],
    ['rights', { rights: null }],
    ['kinds', { kinds: ['autodialed'] }],
    ['kinds', { kinds: null }],
    ['regions', { regions: ['NY', 'CA'] }],
    ['regions', { regions: null }],
    ['callerIds', { callerIds: 'valid' }],
    ['callerIds', { callerIds: ['2127365010'] }],
    ['callerIds', { callerIds: null }],
    ['expires', { expires: '2026-11-24T17:00:01Z' }],
    ['expires', { expires: null }],
  ])('%s: %j is refused', async (field, more) => {
    const maker = await make(limited)
    const asked = { label: `more-${count++}`, role: 'Agent', ...more }
    const made = await post('/v1/keys', asked, maker.key)
    expect(made.status, JSON.stringify(made.body)).toBe(403)
    expect(made.body.detail).toMatch(
      new RegExp(`^key ${maker.id} may give no more than it may do itself: ${field}\\b`),
    )
    const other = await make({ label: `other-${count++}`, ...limited, rights: ['decide'] })
    const changed = await post(`/v1/keys/${other.id}`, more, maker.key)
    expect(changed.status, JSON.stringify(changed.body)).toBe(403)
    expect((await list(`?id=${other.id}`))[0]?.version).toBe(1)
  })

  it('nor one whose calls are counted apart, or that could approve its own', async () => {
    for (const calls of [{ attemptsPerDay: 5 }, { approval: 'always' }] as const) {
      const maker = await make({ calls })
      const asked = { ...dialer, ...calls, label: `counted-${count++}` }
      expect(await post('/v1/keys', asked, maker.key)).toMatchObject({ status: 403 })
      const other = await make({ rights: ['decide'] })
      const more = { rights: ['decide', 'manage'] }
      expect((await post(`/v1/keys/${other.id}`, more, maker.key)).status).toBe(403)
      // Less than it had is no more than that.
      const less = { kinds: ['ai'], attemptsPerDay: 3 }
      expect((await post(`/v1/keys/${other.id}`, less, maker.key)).status).toBe(200)
    }
  })

  it('nor one of two that may each do a part of it', async () => {
    // It may make calls of every kind to New York; the other AI calls to anywhere.
    const maker = await make({ calls: { regions: ['NY'] } })
    const other = await make({ callKinds: ['ai'] })
    expect((await post(`/v1/keys/${other.id}`, { kinds: null }, maker.key)).status).toBe(403)
    const both = { kinds: null, regions: ['NY'] }
    expect((await post(`/v1/keys/${other.id}`, both, maker.key)).status).toBe(200)
  })

  it('while it is paused', async () => {
    const { id, key } = await make()
    const other = await make()
    await running.callgate.pauses.pause({ subject: `key:${id}`, pausedBy: 'ann', because: 'test' })
    for (const [path, body] of [
      ['/v1/keys', { ...dialer, label: 'escaped' }],
      [`/v1/keys/${other.id}`, { kinds: ['ai'] }],
      [`/v1/keys/${other.id}/revoke`, {}],
      ['/v1/pauses/end', { subject: `key:${id}` }],
    ] as const) {
      const answer = await post(path, body, key)
      expect(answer, path).toMatchObject({
        status: 403,
        body: { detail: expect.stringContaining(`key ${id} is paused`) },
      })
    }
  })

  it('as a token either', async () => {
    const { key } = await make()
    const form = new URLSearchParams({
      ...{ grant_type: 'client_credentials', client_id: 'main', client_secret: key },
      authorization_details: '[{"type":"callgate_dial","kinds":["ai"]}]',
    })
    const issued = await fetch(`${running.url}/oauth/token`, { method: 'POST', body: form })
    const { access_token } = (await issued.json()) as { access_token: string }
    const answer = await fetch(`${running.url}/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...dialer, label: 'by token' }),
    })
    expect(answer.status).toBe(403)
  })
})

describe('who may', () => {
  it.each([
    ['Agent', {}, [403, 403, 403, 403]],
    ['Supervisor', {}, [200, 403, 200, 403]],
    ['Administrator', {}, [200, 200, 200, 200]],
    ['Administrator', { projects: ['SPRING'] }, [403, 403, 403, 403]],
    ['Administrator', { rights: ['decide', 'consent'] }, [403, 403, 403, 403]],
  ] as const)('%s with %j: see, make, pause, end', async (role, limits, statuses) => {
    const { key } = await make({ role, ...limits })
    const { id } = await make({ role: 'Agent' })
    const subject = `key:${id}`
    const seen = (await running.get('/v1/keys', key)).status
    const made = await post('/v1/keys', { ...dialer, label: `who-${count++}` }, key)
    const paused = await post('/v1/pauses', { subject, reason: 'test' }, key)
    if (paused.status !== 200) {
      expect((await post('/v1/pauses', { subject, reason: 'test' })).status).toBe(200)
    }
    const ended = await post('/v1/pauses/end', { subject }, key)
    expect([seen, made.status, paused.status, ended.status]).toEqual(statuses)
    expect((await running.get('/v1/pauses', key)).status).toBe(seen)
    const { status } = await post(`/v1/keys/${id}/revoke`, {}, key)
    expect(status).toBe(statuses[1])
  })
})

describe('changing and revoking a key', () => {
  it('changes what is named, ends what is null, and has a row', async () => {
    const { id } = await make({ callKinds: ['ai'], calls: { regions: ['NY'], attemptsPerDay: 5 } })
    const admin = await make()
    const change = { attemptsPerDay: 7, regions: null, version: 1, reason: 'more people' }
    const changed = await post(`/v1/keys/${id}`, change, admin.key)
    expect(changed).toEqual({ status: 200, body: { id, version: 2 } })
    const [listed] = await list(`?id=${id}`)
    expect(listed).toMatchObject({ version: 2, kinds: ['ai'], attemptsPerDay: 7 })
    expect(listed).not.toHaveProperty('regions')
    const row = await lastAudit('key.changed')
    expect(row).toMatchObject({ who: `key:${admin.id}`, subject: id, reason: 'more people' })
  })

  it('changes nothing for who was shown an older version, nor for nothing', async () => {
    const { id } = await make()
    expect((await post(`/v1/keys/${id}`, { kinds: ['ai'], version: 1 })).status).toBe(200)
    expect(await post(`/v1/keys/${id}`, { kinds: null, version: 1 })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('the newest, which is 2') },
    })
    expect(await post(`/v1/keys/${id}`, { reason: 'none' })).toMatchObject({
      status: 400,
      body: { detail: 'request: must name a limit to change' },
    })
  })

  it('revokes for good, and shows it only who asks', async () => {
    const admin = await make()
    const { id, key } = await make()
    const revoked = await post(`/v1/keys/${id}/revoke`, { reason: 'lost' }, admin.key)
    expect(revoked).toEqual({ status: 200, body: { revoked: true } })
    expect(await running.callgate.authenticate(key, 'login-id')).toBeUndefined()
    expect(await lastAudit('key.revoked')).toMatchObject({
      ...{ who: `key:${admin.id}`, subject: id, reason: 'lost' },
    })
    expect(await list(`?id=${id}`)).toEqual([])
    expect(await list(`?id=${id}&revoked=true`)).toMatchObject([{ state: 'revoked' }])
    expect((await post(`/v1/keys/${id}/revoke`, {})).status).toBe(404)
    expect((await post(`/v1/keys/${id}`, { kinds: ['ai'] })).status).toBe(404)
  })

  it('is for keys of the own account alone', async () => {
    const { id } = await make()
    const theirs = running.keys.sandbox
    expect(await list('', theirs)).not.toContainEqual(expect.objectContaining({ id }))
    expect(await list(`?id=${id}`, theirs)).toEqual([])
    for (const path of [`/v1/keys/${id}`, `/v1/keys/${id}/revoke`]) {
      const body = path.endsWith(id) ? { kinds: ['ai'] } : {}
      const unknown = path.replace(id, 'key-0000000000')
      const answers = [await post(path, body, theirs), await post(unknown, body, theirs)]
      expect(answers).toMatchObject([{ status: 404 }, { status: 404 }])
    }
    expect((await list(`?id=${id}`))[0]).toMatchObject({ state: 'in-force', version: 1 })
  })
})

describe('a pause', () => {
  const call = (callKind: string, key: string) =>
    post('/v1/decisions', { number: '2125550106', callKind }, key)
  const reasonOf = async (callKind: string, key: string) => (await call(callKind, key)).body.reason

  it('of a key blocks its calls until it ends', async () => {
    const admin = await make()
    const { id, key } = await make({ rights: ['decide'] })
    const order = { subject: `key:${id}`, reason: 'complaints' }
    expect((await post('/v1/pauses', order, admin.key)).status).toBe(200)
    const { body } = await call('manual', key)
    expect(body).toMatchObject({ reason: 'key-paused' })
    expect(JSON.stringify(body)).toContain(`by key ${admin.id}: complaints`)
    expect((await list(`?id=${id}`))[0]).toMatchObject({
      state: 'paused',
      pause: { pausedBy: `key ${admin.id}`, reason: 'complaints' },
    })
    const again = await post('/v1/pauses', order)
    expect(again).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('already') },
    })
    expect(await lastAudit('pause.ordered')).toMatchObject({
      ...{ who: `key:${admin.id}`, account_id: 'main', subject: `key:${id}`, reason: 'complaints' },
    })
    const end = { subject: `key:${id}`, reason: 'settled' }
    expect((await post('/v1/pauses/end', end, admin.key)).status).toBe(200)
    expect(await lastAudit('pause.ended')).toMatchObject({
      who: `key:${admin.id}`,
      reason: 'settled',
    })
    expect(await reasonOf('manual', key)).not.toBe('key-paused')
    expect((await post('/v1/pauses/end', end)).status).toBe(404)
  })

  it('of the AI calls of an account blocks no others, and no other account’s', async () => {
    expect((await post('/v1/pauses', { subject: 'ai:main', reason: 'test' })).status).toBe(200)
    expect(await reasonOf('ai', running.keys.main)).toBe('ai-paused')
    expect(await reasonOf('manual', running.keys.main)).not.toBe('ai-paused')
    expect(await reasonOf('ai', running.keys.sandbox)).not.toBe('ai-paused')
    expect((await post('/v1/pauses/end', { subject: 'ai:main' })).status).toBe(200)
    expect(await reasonOf('ai', running.keys.main)).not.toBe('ai-paused')
  })

  it('of all AI calls is for account main, and everybody sees it', async () => {
    const order = { subject: 'ai', reason: 'all stop' }
    const theirs = running.keys.sandbox
    expect((await post('/v1/pauses', order, theirs)).status).toBe(403)
    expect((await post('/v1/pauses', order)).status).toBe(200)
    expect(await reasonOf('ai', theirs)).toBe('ai-paused')
    const seen = await (await running.get('/v1/pauses', theirs)).json()
    expect(seen).toMatchObject({ pauses: [{ subject: 'ai', reason: 'all stop' }] })
    expect((await post('/v1/pauses/end', { subject: 'ai' }, theirs)).status).toBe(403)
    expect((await post('/v1/pauses/end', { subject: 'ai' })).status).toBe(200)
  })

  it('of another account is refused as if that did not exist', async () => {
    const { id } = await make()
    for (const subject of [`key:${id}`, 'ai:main', 'agents:main']) {
      const theirs = { subject, reason: 'test' }
      const unknown = { subject: subject.replace(/:.*/, ':nobody'), reason: 'test' }
      const answers = [
        await post('/v1/pauses', theirs, running.keys.sandbox),
        await post('/v1/pauses', unknown, running.keys.sandbox),
      ]
      expect(answers.map(({ status }) => status)).toEqual([400, 400])
      const [first, second] = answers.map(({ body }) => String(body.detail).replace(/'.*'/, ''))
      expect(first).toBe(second)
      expect((await post('/v1/pauses', theirs)).status).toBe(200)
      expect((await post('/v1/pauses/end', { subject }, running.keys.sandbox)).status).toBe(400)
      expect((await post('/v1/pauses/end', { subject })).status).toBe(200)
    }
  })

  it.each([
    ['subject', { reason: 'test' }],
    ['subject', { subject: 'check:calling-hours:main', reason: 'test' }],
    ['subject', { subject: 'everything', reason: 'test' }],
    ['reason', { subject: 'ai:main' }],
    ['reason', { subject: 'ai:main', reason: '  ' }],
    ['reason', { subject: 'ai:main', reason: 'x'.repeat(201) }],
  ])('needs a %s, not %j', async (field, body) => {
    expect(await post('/v1/pauses', body)).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(new RegExp(`^${field}\\b`)) },
    })
  })
})
