/** The pages of keys and pauses: made and shown once, changed, paused, revoked; by whom; and with hostile texts. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { NewApiKey } from '../../src/service/accounts/api-keys.js'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
let running: TestCallgate
let admin: ConsoleClient
let count = 0

beforeAll(async () => {
  running = await openTestCallgate()
  admin = await openConsoleClient(running, running.keys.main)
})
beforeEach(async () => {
  for (const { subject } of await running.callgate.pauses.list('main')) {
    await running.callgate.pauses.resume(subject)
  }
})
afterAll(() => running.end())

const make = (limits: Partial<NewApiKey> = {}) =>
  running.callgate.keys.create({
    accountId: 'main',
    role: 'Administrator',
    label: `made-${count++}`,
    ...limits,
  })

const findKey = async (label: string) =>
  (await running.callgate.keys.list('main')).findLast((key) => key.label === label)

const newest = async (action: string) =>
  await running.callgate.storage.db
    .selectFrom('audit')
    .selectAll()
    .where('action', '=', action)
    .orderBy('seq', 'desc')
    .executeTakeFirstOrThrow()

const dialer = { role: 'Agent', rights: 'decide', kinds: 'ai' }

it('shows when a key was last used', async () => {
  const { id } = await make()
  expect((await admin.get(`/console/keys/${id}`)).text).toContain('none known')
  const use = { key_id: id, used_at: Date.parse('2026-11-20T16:59:00Z') }
  await running.callgate.storage.db.insertInto('key_uses').values(use).execute()
  for (const path of ['/console/keys', `/console/keys/${id}`]) {
    const { text } = await admin.get(path)
    expect(text).toContain('<time datetime="2026-11-20T16:59:00Z">')
  }
})

describe('making a key', () => {
  it('shows it once, and no page or address has it later', async () => {
    const form = { ...dialer, label: 'ai-agent-1', regions: 'ny, nj', attemptsPerHour: '60' }
    const made = await admin.post('/console/keys/new', { ...form, reason: 'spring' })
    expect(made.status).toBe(200)
    expect(made.headers.get('cache-control')).toBe('no-store')
    const key = /<code class="secret">([\w-]{44})<\/code>/.exec(made.text)?.[1] ?? ''
    const found = await findKey('ai-agent-1')
    expect((await running.callgate.authenticate(key, 'login-id'))?.keyId).toBe(found?.id)
    expect(found).toMatchObject({
      ...{ role: 'Agent', rights: ['decide'], callKinds: ['ai'] },
      calls: { regions: ['NY', 'NJ'], attemptsPerHour: 60 },
    })
    for (const path of ['/console/keys', `/console/keys/${found?.id}`, '/console/audit']) {
      const { status, text } = await admin.get(path)
      expect(status, path).toBe(200)
      expect(text).toContain('ai-agent-1')
      expect(text).not.toContain(key)
    }
    expect((await newest('key.created')).door).toBe('console /v1/keys')
    expect((await newest('key.created')).reason).toBe('spring')
    // The form may be sent again by a browser that loads the page again.
    const again = await admin.post('/console/keys/new', form)
    expect(again.status).toBe(409)
    expect(again.text).toContain('Nothing was done')
    expect(again.text).toContain('value="60"')
  })

  it('with every kind checked is not limited to kinds', async () => {
    const form = { ...dialer, label: 'all kinds', kinds: 'manual,autodialed,ai' }
    expect((await admin.post('/console/keys/new', form)).status).toBe(200)
    expect((await findKey('all kinds'))?.callKinds).toBeUndefined()
  })

  it.each([
    ['label', 'is required', { label: '' }],
    ['rights', 'must have at least 1', { rights: '' }],
    ['kinds', 'must have at least 1', { kinds: '' }],
    ['attemptsPerHour', 'must be a whole number, or null', { attemptsPerHour: 'many' }],
    ['campaigns', 'must be a whole number', { campaigns: '1, x' }],
    ['regions', 'is not the code of a state or province, such as NY', { regions: 'ZZ' }],
    [
      'expires',
      'must be in the future, at most 50 years from now',
      { expires: '2020-01-01T00:00' },
    ],
  ])('says at the field %s: %s', async (field, rule, wrong) => {
    const form = { ...dialer, label: 'wrong', reason: 'kept', ...wrong }
    const { status, text } = await admin.post('/console/keys/new', form)
    expect(status).toBe(400)
    expect(text).toContain(`<span class="problem" id="${field}-problem">${rule}</span>`)
    expect(text).toContain(`<a href="#${field}">`)
    expect(text).toContain('value="kept"')
    expect(await findKey('wrong')).toBeUndefined()
  })

  it('offers and gives no more than the own key may do', async () => {
    const { key } = await make({ rights: ['manage', 'decide'], callKinds: ['ai'] })
    const limited = await openConsoleClient(running, key)
    const { text } = await limited.get('/console/keys/new')
    expect(text).toContain('value="decide"')
    expect(text).not.toContain('value="consent"')
    expect(text).not.toContain('value="manual"')
    const form = { ...dialer, label: 'more', rights: 'consent' }
    const { status, text: refused } = await limited.post('/console/keys/new', form)
    expect(status).toBe(403)
    expect(refused).toContain('must be among')
    expect(await findKey('more')).toBeUndefined()
  })
})

describe('a key', () => {
  it('is changed where the form differs, and says so', async () => {
    const expiresAt = Date.UTC(2027, 0, 31, 12, 0, 30)
    const calls = { regions: ['NY'], coolDownSeconds: 60 } as const
    const { id } = await make({ label: 'changing', callKinds: ['ai'], calls, expiresAt })
    const path = `/console/keys/${id}/change`
    const shown = await admin.get(path)
    expect(shown.text).toContain('value="2027-01-31T12:00"')
    const form = {
      ...{ version: '1', rights: 'decide,records', kinds: 'ai', regions: '' },
      ...{ coolDownSeconds: '60', expires: '2027-01-31T12:00', reason: 'less' },
    }
    const changed = await admin.post(path, form)
    expect(changed.text).toContain('The limits of changing are changed')
    const [first, second] = await running.callgate.keys.listVersions(id)
    expect(first?.grant).toMatchObject({ calls, expiresAt })
    expect(second?.grant).toEqual({
      ...{ rights: ['decide', 'records'], callKinds: ['ai'], expiresAt },
      ...{ calls: { coolDownSeconds: 60 }, projects: undefined, notBefore: undefined },
    })
    expect((await newest('key.changed')).reason).toBe('less')
    const stale = await admin.post(path, { ...form, coolDownSeconds: '90' })
    expect(stale.status).toBe(409)
    expect(stale.text).toContain('is not the newest')
    expect(stale.text).toContain('value="90"')
  })

  it('is paused with a reason, and goes on', async () => {
    const { id } = await make({ label: 'pausing' })
    const path = `/console/keys/pauses/key%3A${id}`
    expect((await admin.get(path)).text).toContain('Pause all calls of key pausing')
    const missing = await admin.post(path, { reason: '' })
    expect(missing.status).toBe(400)
    expect(missing.text).toContain('id="reason-problem"')
    const paused = await admin.post(path, { reason: 'complaints' })
    expect(paused.path).toMatch(new RegExp(`^/console/keys/${id}`))
    expect(paused.text).toContain('Paused: all calls of key pausing.')
    expect(paused.text).toContain('complaints')
    expect((await newest('pause.ordered')).door).toBe('console /v1/pauses')
    expect((await admin.get(`${path}/end`)).text).toContain('complaints')
    const ended = await admin.post(`${path}/end`, { reason: 'settled' })
    expect(ended.text).toContain('No longer paused: all calls of key pausing.')
    expect((await newest('pause.ended')).reason).toBe('settled')
    expect((await admin.get(`${path}/end`)).text).toContain('Not paused.')
  })

  it('is revoked with a reason', async () => {
    const { id, key } = await make({ label: 'revoking' })
    const form = await admin.get(`/console/keys/${id}/revoke`)
    expect(form.text).toContain('cannot be brought back')
    const revoked = await admin.post(`/console/keys/${id}/revoke`, { reason: 'lost' })
    expect(revoked.text).toContain('revoking is revoked.')
    expect(await running.callgate.authenticate(key, 'login-id')).toBeUndefined()
    expect((await newest('key.revoked')).reason).toBe('lost')
    expect(revoked.text).not.toContain(`/console/keys/${id}"`)
    expect((await admin.get('/console/keys?revoked=true')).text).toContain(`/console/keys/${id}"`)
    const { text } = await admin.get(`/console/keys/${id}`)
    expect(text).toContain('✕ Revoked')
    expect(text).not.toContain(`/console/keys/${id}/change`)
  })

  it('leads to its decisions, and to what was done with it and to it', async () => {
    const { id, key } = await make({ label: 'seen' })
    await running.postJson('/v1/decisions', { number: '2125550106', callKind: 'manual' }, key)
    await running.callgate.journal.drain()
    await running.postJson('/v1/keys', { role: 'Agent', label: 'by seen' }, key)
    const { text } = await admin.get(`/console/keys/${id}`)
    const [decisions = '', done = '', about = ''] = [
      ...text.matchAll(/href="(\/console\/(?:search|audit)\/[^"]+)"/g),
    ].map(([, path = '']) => path)
    expect((await admin.get(decisions)).text).toContain('(212) 555-0106')
    expect((await admin.get(done)).text).toContain('by seen')
    const made = (await admin.get(about)).text
    expect(made).toContain('key.created')
    expect(made).not.toContain('by seen')
  })

  it('that revokes itself is signed out', async () => {
    const { id, key } = await make()
    const own = await openConsoleClient(running, key)
    expect((await own.get(`/console/keys/${id}/revoke`)).text).toContain('you will be signed out')
    expect((await own.post(`/console/keys/${id}/revoke`, {})).path).toBe('/console/sign-in')
  })
})

describe('all AI calls', () => {
  it('of the account are paused and go on', async () => {
    const path = '/console/keys/pauses/ai%3Amain'
    const { text } = await admin.post(path, { reason: 'stop it' })
    expect(text).toContain('Paused: all AI calls of account main.')
    expect(text).toContain('stop it')
    expect(await running.callgate.pauses.list('main')).toMatchObject([{ subject: 'ai:main' }])
    expect((await admin.post(`${path}/end`, {})).text).toContain('No longer paused')
  })

  it('of the installation are for account main alone, and others see the pause', async () => {
    const stranger = await openConsoleClient(running, running.keys.sandbox)
    expect((await stranger.get('/console/keys')).text).not.toContain('/console/keys/pauses/ai"')
    expect((await stranger.post('/console/keys/pauses/ai', { reason: 'x' })).status).toBe(403)
    expect((await admin.post('/console/keys/pauses/ai', { reason: 'all' })).status).toBe(200)
    const { text } = await stranger.get('/console/keys')
    expect(text).toContain('✕ Paused')
    expect(text).not.toContain('/console/keys/pauses/ai/end')
  })
})

it('another account finds nothing', async () => {
  const { id } = await make({ label: 'not theirs' })
  const stranger = await openConsoleClient(running, running.keys.sandbox)
  expect((await stranger.get('/console/keys')).text).not.toContain('not theirs')
  for (const path of [
    ...['', '/change', '/revoke'].map((end) => `/console/keys/${id}${end}`),
    `/console/keys/pauses/key%3A${id}`,
    '/console/keys/pauses/ai%3Amain',
    '/console/keys/pauses/everything',
  ]) {
    const { status, text } = await stranger.get(path)
    expect({ path, status }).toEqual({ path, status: 404 })
    expect(text).not.toContain('not theirs')
    if (path === `/console/keys/${id}`) continue
    expect((await stranger.post(path, { reason: 'x', version: '1' })).status).toBe(404)
  }
  expect((await findKey('not theirs'))?.revokedAt).toBeUndefined()
})

describe('a role', () => {
  it('Supervisor sees, and pauses, and nothing else', async () => {
    const supervisor = await openConsoleClient(running, (await make({ role: 'Supervisor' })).key)
    const { id } = await make()
    const { text } = await supervisor.get(`/console/keys/${id}`)
    expect(text).toContain('Pause')
    expect(text).not.toMatch(/\/revoke|\/console\/audit/)
    expect((await supervisor.get('/console/keys')).text).not.toContain('/console/keys/new')
    for (const path of [
      '/console/keys/new',
      `/console/keys/${id}/change`,
      `/console/keys/${id}/revoke`,
    ]) {
      expect((await supervisor.get(path)).status, path).toBe(403)
      expect((await supervisor.post(path, { ...dialer, label: 'no' })).status, path).toBe(403)
    }
    const pause = `/console/keys/pauses/key%3A${id}`
    expect((await supervisor.post(pause, { reason: 'x' })).status).toBe(200)
    expect((await supervisor.post(`${pause}/end`, {})).status).toBe(403)
  })

  it.each([
    ['Agent', {}],
    ['Administrator without the right manage', { rights: ['decide', 'look-up'] }],
    ['Administrator of one project', { projects: ['MAIN'] }],
  ] as const)('%s sees no key', async (name, limits) => {
    const role = name === 'Agent' ? 'Agent' : 'Administrator'
    const client = await openConsoleClient(running, (await make({ role, ...limits })).key)
    for (const path of ['/console/keys', '/console/keys/new', '/console/keys/pauses/ai%3Amain']) {
      const { status, text } = await client.post(path, { ...dialer, label: 'no', reason: 'x' })
      expect(text).not.toContain('made-')
      if (path !== '/console/keys') expect({ path, status }).toEqual({ path, status: 403 })
    }
    expect((await client.get('/console/keys')).status).toBe(403)
  })
})

it('hostile texts are shown as texts', async () => {
  const { id } = await make({ label: hostile })
  await running.callgate.pauses.pause({ subject: `key:${id}`, pausedBy: hostile, because: hostile })
  await running.callgate.pauses.pause({ subject: 'ai', pausedBy: hostile, because: hostile })
  const subject = `key%3A${id}`
  for (const path of [
    ...['/console/keys', `/console/keys/${id}`, `/console/keys/${id}/change`],
    ...[`/console/keys/${id}/revoke`, `/console/keys/pauses/${subject}`],
    `/console/keys/pauses/${subject}/end`,
  ]) {
    const { status, text } = await admin.get(path)
    expect({ path, status }).toEqual({ path, status: 200 })
    expect(text).toContain('&lt;script&gt;')
    expect(text).not.toMatch(/<img|<script>/)
  }
  const names = ['label', 'role', 'rights', 'kinds', 'projects', 'campaigns', 'callerIds']
  const more = ['regions', 'attemptsPerHour', 'approval', 'notBefore', 'expires', 'reason']
  const form = Object.fromEntries([...names, ...more].map((name) => [name, hostile]))
  const { status, text } = await admin.post('/console/keys/new', form)
  expect(status).toBe(400)
  expect(text).not.toMatch(/<img|<script>/)
})
