/** Access tokens, the authentication check and roles over HTTP. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { accessCheckEndpoint, tokenEndpoint } from '../../src/api/accounts/authentication.js'
import { defineEndpoint, type ErrorShape } from '../../src/api/endpoint.js'
import { fields } from '../../src/api/fields.js'
import { createRoute, type Route } from '../../src/api/route.js'
import { type Role, roles } from '../../src/domain/caller.js'
import { createDecisionRoutes } from '../../src/http/decision-routes.js'
import { createLogger } from '../../src/observability/log.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import { openAccessApp } from '../support/access-app.js'
import { useDatabase } from '../support/database.js'
import { fakeCompliance } from '../support/fake-compliance.js'
import { noPermits, noRecentCalls, noRepeats } from '../support/no-permits.js'
import { caller } from '../support/service-subjects.js'
import { testGate } from '../support/test-gate.js'

const database = useDatabase()
const open = (more: Parameters<typeof openAccessApp>[1] = {}) =>
  openAccessApp(database.storage, more)
const hour = 3_600_000

const bearer = (token: string) => ({ key: null, headers: { authorization: `Bearer ${token}` } })
const basic = (id: string, secret: string) =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
const formOf = (key: string): Record<string, string> => ({
  grant_type: 'client_credentials',
  client_id: 'main',
  client_secret: key,
})
const multipart = (form: Record<string, string>) => {
  const data = new FormData()
  for (const [name, value] of Object.entries(form)) data.set(name, value)
  return data
}
const validate = '/v1.5/Auth/Validate'
/** What a key without limits may do. */
const unlimited = {
  Rights: ['decide', 'look-up', 'records', 'consent', 'manage', 'edge', 'platform'],
  CallKinds: ['manual', 'autodialed', 'ai'],
  Now: '2026-11-20T12:00:00Z',
}

describe('a token is issued', () => {
  test.each([
    ['/oauth/token', 'urlencoded'],
    ['/v1.5/oauth/token', 'urlencoded'],
    ['/v1.5/OAuth/token', 'multipart'],
    ['/OAUTH/TOKEN/', 'multipart'],
  ])('at %s for a form, %s', async (path, encoding) => {
    const { app, newKey } = await open()
    const { key } = await newKey()
    const body =
      encoding === 'multipart' ? multipart(formOf(key)) : new URLSearchParams(formOf(key))
    const answer = await app.send(path, { method: 'POST', body, key: null })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ])
    expect(answer.json()).toEqual({
      token_type: 'Bearer',
      expires_in: 3600,
      access_token: expect.stringMatching(/^cgt_[\w-]{44}$/),
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('pragma')).toBe('no-cache')
    const { token } = tokenEndpoint.response.parse(answer.json())
    expect((await app.send(validate, bearer(token))).status).toBe(200)
  })

  test.each([
    ['a scope', { scope: 'everything' }],
    ['an empty scope', { scope: '' }],
    ['fields of other grants and of none', { audience: 'x', username: 'u', ['__proto__']: 'p' }],
  ])('whatever else the form holds: %s', async (_case, more) => {
    const { app, newKey } = await open()
    const body = new URLSearchParams({ ...formOf((await newKey()).key), ...more })
    const answer = await app.send('/oauth/token', { method: 'POST', body, key: null })
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.json() as object)).not.toContain('scope')
  })

  test('whatever stands in header loginId: there it cannot be needed', async () => {
    const { app, newKey } = await open()
    const body = new URLSearchParams(formOf((await newKey()).key))
    for (const key of ['wrong', (await newKey('other')).key]) {
      const answer = await app.send('/oauth/token', { method: 'POST', body, key })
      expect(answer.status).toBe(200)
    }
  })

  test('to a client that shows itself by Authorization: Basic', async () => {
    const { app, newKey } = await open()
    const { key } = await newKey()
    const ask = (form: Record<string, string>, authorization = basic('main', key)) =>
      app.send('/oauth/token', {
        method: 'POST',
        body: new URLSearchParams(form),
        headers: { authorization },
        key: null,
      })
    const grant = { grant_type: 'client_credentials' }
    expect((await ask(grant)).status).toBe(200)
    expect((await ask({ ...grant, client_id: 'main' })).status).toBe(200)
    const encoded = basic(
      '%6Dain',
      key.replace(/./, (first) => `%${first.charCodeAt(0).toString(16)}`),
    )
    expect((await ask(grant, encoded)).status).toBe(200)
    for (const more of [{ client_secret: key }, { client_id: 'other' }]) {
      const answer = await ask({ ...grant, ...more })
      expect([answer.status, answer.json()]).toEqual([
        400,
        expect.objectContaining({ error: 'invalid_request' }),
      ])
    }
    for (const wrong of [
      basic('other', key),
      basic('main', 'x'),
      basic('main', '%'),
      'Basic bWFpbg==',
    ]) {
      const answer = await ask(grant, wrong)
      expect([answer.status, answer.json()]).toEqual([
        401,
        expect.objectContaining({ error: 'invalid_client' }),
      ])
      expect(answer.headers.get('www-authenticate')).toBe('Basic realm="callgate"')
    }
  })
})

describe('no token is issued', () => {
  const refusals: readonly (readonly [
    string,
    (key: string) => RequestInit,
    number,
    string,
    string,
  ])[] = [
    [
      'for another grant',
      (key) => ({ body: new URLSearchParams({ ...formOf(key), grant_type: 'password' }) }),
      ...([400, 'unsupported_grant_type', 'grant_type: must be client_credentials'] as const),
    ],
    [
      'without any field',
      () => ({ body: new URLSearchParams() }),
      ...([400, 'invalid_request', 'grant_type: is required; client_id: is required'] as const),
    ],
    [
      'without a body',
      () => ({}),
      ...([400, 'invalid_request', 'client_secret: is required'] as const),
    ],
    [
      'without a value',
      (key) => ({ body: new URLSearchParams({ ...formOf(key), client_id: '' }) }),
      ...([400, 'invalid_request', "client_id '': is required"] as const),
    ],
    [
      'for names in other letters',
      (key) => ({
        body: new URLSearchParams({ ...formOf(key), CLIENT_SECRET: key, client_secret: '' }),
      }),
      ...([400, 'invalid_request', "client_secret '': is required"] as const),
    ],
    [
      'for a field that is given twice',
      (key) => ({
        body: new URLSearchParams([...Object.entries(formOf(key)), ['client_secret', key]]),
      }),
      ...([400, 'invalid_request', 'client_secret: is given twice'] as const),
    ],
    [
      'for JSON',
      (key) => ({
        body: JSON.stringify(formOf(key)),
        headers: { 'content-type': 'application/json' },
      }),
      ...([400, 'invalid_request', "Content-Type 'application/json' is not accepted"] as const),
    ],
    [
      'for JSON that says it is a form',
      (key) => ({
        body: JSON.stringify(formOf(key)),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
      ...([400, 'invalid_request', 'grant_type: is required'] as const),
    ],
    [
      'for a broken form',
      (key) => ({
        body: `--x\r\n${key}`,
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
      }),
      ...([400, 'invalid_request', ''] as const),
    ],
    [
      'to an account that does not exist',
      (key) => ({ body: new URLSearchParams({ ...formOf(key), client_id: 'nobody' }) }),
      ...([401, 'invalid_client', 'client_id or client_secret is not valid'] as const),
    ],
    [
      'to another account',
      (key) => ({ body: new URLSearchParams({ ...formOf(key), client_id: 'other' }) }),
      ...([401, 'invalid_client', 'client_id or client_secret is not valid'] as const),
    ],
    [
      'for a key that is not known',
      (key) => ({ body: new URLSearchParams(formOf([...key].reverse().join(''))) }),
      ...([401, 'invalid_client', 'client_id or client_secret is not valid'] as const),
    ],
  ]
  test.each(refusals)('%s', async (_case, init, status, error, description) => {
    const { app, newKey } = await open()
    const { key } = await newKey()
    const answer = await app.send('/oauth/token', { method: 'POST', key: null, ...init(key) })
    expect([answer.status, answer.json()]).toEqual([
      status,
      { error, error_description: expect.stringContaining(description.replaceAll('"', "'")) },
    ])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('www-authenticate')).toBe(
      status === 401 ? 'Basic realm="callgate"' : null,
    )
    expect(answer.text).not.toContain(key)
    expect(answer.text).not.toContain([...key].reverse().join(''))
  })

  test('for fields in the address, which is logged in many places', async () => {
    const { app, newKey } = await open()
    const { key } = await newKey()
    const path = `/oauth/token?${new URLSearchParams(formOf(key))}`
    const answer = await app.send(path, { method: 'POST', key: null })
    expect([answer.status, answer.json()]).toMatchObject([400, { error: 'invalid_request' }])
    expect(answer.text).not.toContain(key)
  })

  test('by GET', async () => {
    const { app } = await open()
    const answer = await app.send('/v1.5/oauth/token', { key: null })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    expect(answer.json()).toMatchObject({ error: 'invalid_request' })
  })

  test('when the database cannot be read; the secret is neither answered nor logged', async () => {
    const lines: string[] = []
    const logger = createLogger('debug', { write: (line) => void lines.push(line) })
    const { app, newKey } = await open({ logger })
    const { key } = await newKey()
    await database.db.schema.dropTable('access_tokens').execute()
    const body = new URLSearchParams(formOf(key))
    const answer = await app.send('/oauth/token', { method: 'POST', body, key: null })
    expect([answer.status, answer.json()]).toMatchObject([500, { error: 'server_error' }])
    expect(lines.join('')).toContain('"endpoint":"token"')
    expect(`${answer.text}${lines.join('')}`).not.toContain(key)
  })
})

describe('a token is accepted', () => {
  test('as a bearer, and nowhere else', async () => {
    const { app, newKey, tokenFor } = await open()
    const { key } = await newKey('main', 'Supervisor')
    const token = await tokenFor(key)
    const answer = await app.send(validate, bearer(token))
    expect(answer.json()).toEqual({
      AcctId: 'main',
      IsValid: true,
      Role: 'Supervisor',
      ...unlimited,
    })
    const pdnc = '/app/main/rpc/pdnc'
    const elsewhere = [
      app.send(validate, { key: token }),
      app.send(`${validate}?loginId=${token}`, { key: null }),
      app.send(`${validate}?access_token=${token}`, { key: null }),
      app.send(`${pdnc}?actionType=count&loginId=${token}`, { key: null }),
      app.post(pdnc, { actionType: 'count', loginId: token }, { key: null }),
      app.send(validate, { key: null, headers: { authorization: token } }),
      app.send(validate, { key: null, headers: { authorization: basic('main', token) } }),
    ]
    for (const refused of await Promise.all(elsewhere)) {
      expect(refused.status).toBe(401)
      expect(refused.text).not.toContain(token)
    }
  })

  test('only for its own account', async () => {
    const { app, newKey, tokenFor, internalDnc } = await open()
    const token = await tokenFor((await newKey('other')).key, 'other')
    const add = '/app/main/rpc/pdnc?actionType=add&phoneList=2125550100'
    expect((await app.send(add, bearer(token))).status).toBe(200)
    const count = async (accountId: string) =>
      (await internalDnc.count(caller(accountId, 'Agent'))).count
    expect([await count('other'), await count('main')]).toEqual([1, 0])
  })

  test('only after loginId, which takes precedence', async () => {
    const { app, newKey, tokenFor } = await open()
    const { key } = await newKey()
    const headers = { authorization: `Bearer ${await tokenFor(key)}` }
    expect((await app.send(validate, { key: 'wrong', headers })).status).toBe(401)
    expect((await app.send(validate, { key, headers })).status).toBe(200)
  })

  test('until it expires; the key itself does not expire', async () => {
    const { app, clock, newKey, tokenFor } = await open()
    const { key } = await newKey()
    const token = await tokenFor(key)
    const status = async (shown: string) => (await app.send(validate, bearer(shown))).status
    clock.advance(hour - 1)
    expect([await status(token), await status(key)]).toEqual([200, 200])
    clock.advance(1)
    expect([await status(token), await status(key)]).toEqual([401, 200])
    expect(await status(await tokenFor(key))).toBe(200)
  })
})

/** One route for each shape that errors of routes have. */
const shapes = [
  ...(['reason-phrase', 'text', 'text-or-error', 'problem', 'oauth', 'reason-line'] as const),
] satisfies readonly ErrorShape[]
const shapeRoutes: readonly Route[] = shapes.map((shape) =>
  createRoute(
    defineEndpoint({
      name: shape,
      summary: 'Answers.',
      spec: 'none',
      method: 'GET',
      keyAlsoIn: [],
      paths: [`/v1/shapes/${shape}`],
      accepts: ['query'],
      errors: shape,
      rights: [],
      scopes: 'none',
      request: fields({}),
      response: z.object({}),
    }),
    () => ({}),
  ),
)

describe('a token that is no longer valid gets 401 in each error format', () => {
  const message = 'The access token or API key is not valid, or has expired'
  const bodies: Readonly<Record<(typeof shapes)[number], (text: string) => void>> = {
    'reason-phrase': (text) => expect(JSON.parse(text)).toEqual({ ReasonPhrase: message }),
    text: (text) => expect(text).toBe(message),
    'text-or-error': (text) => expect(text).toBe(message),
    problem: (text) =>
      expect(JSON.parse(text)).toEqual({
        type: 'about:blank',
        title: 'Unauthorized',
        status: 401,
        detail: message,
        instance: '/v1/shapes/problem',
      }),
    oauth: (text) =>
      expect(JSON.parse(text)).toEqual({ error: 'invalid_client', error_description: message }),
    'reason-line': (text) => expect(text).toBe(message),
  }
  test.each(shapes)('%s', async (shape) => {
    const { app, clock, apiKeys, newKey, tokenFor } = await open({ routes: shapeRoutes })
    const [lasting, revoked] = [await newKey(), await newKey()]
    const tokens = { expired: await tokenFor(lasting.key), revoked: await tokenFor(revoked.key) }
    const ask = (token: string) =>
      fetch(`${app.url}/v1/shapes/${shape}`, { headers: { authorization: `Bearer ${token}` } })
    expect((await ask(tokens.revoked)).status).toBe(200)
    await apiKeys.revoke(revoked.id)
    clock.advance(hour - 1000)
    const fresh = await tokenFor(lasting.key)
    clock.advance(1000)
    expect((await ask(fresh)).status).toBe(200)
    for (const token of Object.values(tokens)) {
      const answer = await ask(token)
      expect(answer.status).toBe(401)
      bodies[shape](await answer.text())
      if (shape === 'reason-line') expect(answer.statusText).toBe(message)
      const challenge = answer.headers.get('www-authenticate')
      expect(challenge).toBe(`${shape === 'oauth' ? 'Basic' : 'Bearer'} realm="callgate"`)
    }
  })

  test('block-line; an emergency number passes anyway', async () => {
    const opened = await open()
    const decisionRoutes = createDecisionRoutes({
      permits: noPermits,
      journal: { durableSeq: 0 },
      repeats: noRepeats,
      recentCalls: noRecentCalls,
      shut: { problem: undefined },
      authenticate: opened.authenticate,
      logger: silentLogger,
      maxBodyBytes: 1000,
      serviceCodes: new Set<string>(),
      clock: opened.clock,
      gate: {
        judge: () => Promise.reject(new Error('is not to be asked')),
        allowUnrecorded: (call) => testGate(fakeCompliance()).gate.allowUnrecorded(call),
      },
      encode: () => {
        throw new Error('is not to be written')
      },
    })
    const { app, clock, newKey, tokenFor } = await open({ decisionRoutes })
    const token = await tokenFor((await newKey()).key)
    clock.advance(hour)
    opened.clock.advance(hour)
    const ask = (number: string) =>
      app.send(`/v1/predial?number=${number}&kind=manual`, bearer(token))
    const refused = await ask('2125550100')
    expect([refused.status, refused.text]).toEqual([401, 'block:unauthenticated:-:end\n'])
    expect((await ask('911')).text).toBe('allow:911:-:end\n')
  })
})

describe('the authentication check', () => {
  const build = async () => {
    const opened = await open()
    await opened.projects.create({ accountId: 'main', code: 'MINE', name: 'Mine' })
    await opened.projects.create({ accountId: 'other', code: 'THEIRS', name: 'Theirs' })
    const campaign = async (accountId: string, projectCode: string) =>
      String(await opened.projects.createCampaign({ accountId, projectCode, name: 'C' }))
    return {
      ...opened,
      key: (await opened.newKey()).key,
      ids: { MINE: await campaign('main', 'MINE'), THEIRS: await campaign('other', 'THEIRS') },
    }
  }

  test.each(roles)('says whose the key is, for role %s', async (role) => {
    const { app, newKey } = await build()
    const { key } = await newKey('other', role)
    for (const path of [validate, validate.toLowerCase(), `${validate}?loginId=${key}`]) {
      const answer = await app.send(path, { key: path.includes('?') ? null : key })
      expect([answer.status, answer.json()]).toEqual([
        200,
        { AcctId: 'other', IsValid: true, Role: role, ...unlimited },
      ])
      expect(accessCheckEndpoint.response.parse(answer.json())).toMatchObject({
        accountId: 'other',
        role,
        now: Date.parse(unlimited.Now),
      })
    }
  })

  test('says what a limited key may do, and what a token of it may', async () => {
    const { app, apiKeys } = await build()
    const { key } = await apiKeys.create({
      accountId: 'main',
      role: 'Agent',
      label: '',
      rights: ['records', 'decide'],
      callKinds: ['ai', 'manual'],
    })
    const limits = { Rights: ['decide', 'records'], CallKinds: ['manual', 'ai'] }
    expect((await app.send(validate, { key })).json()).toMatchObject(limits)
    const details = JSON.stringify([{ type: 'callgate_dial', kinds: ['ai'] }])
    const body = new URLSearchParams({ ...formOf(key), authorization_details: details })
    const granted = await app.send('/oauth/token', { method: 'POST', body, key: null })
    const { access_token: token } = granted.json() as { access_token: string }
    expect((await app.send(validate, bearer(token))).json()).toMatchObject({
      ...limits,
      CallKinds: ['ai'],
    })
  })

  test.each([
    'projectId=MINE',
    'projId=mine',
    'PROJID=%20Mine%20',
    'projectId=MINE&projId=MINE',
    'projectId=main',
    'campaignId=$MINE',
    'projectId=MINE&campaignId=$MINE',
    'projectId=&campaignId=',
  ])('takes %s', async (query) => {
    const { app, key, ids } = await build()
    const answer = await app.send(`${validate}?${query.replace('$MINE', ids.MINE)}`, { key })
    expect([answer.status, answer.json()]).toMatchObject([200, { IsValid: true }])
  })

  test.each([
    ['projectId=THEIRS', "projectId 'THEIRS': is not an active project of this account"],
    ['projId=THEIRS', "projId 'THEIRS': is not an active project of this account"],
    ['projectId=NONE&campaignId=$MINE', "projectId 'NONE': is not"],
    ['campaignId=$THEIRS', "campaignId '$THEIRS': is not an active campaign of this account"],
    [
      'projectId=main&campaignId=$MINE',
      "campaignId '$MINE': is not an active campaign of this account and project",
    ],
    ['campaignId=99999999', "campaignId '99999999': is not an active campaign of this account"],
    ['campaignId=abc', "campaignId 'abc': is not an active campaign of this account"],
    ['projectId=MINE&projId=OTHER', "projId 'OTHER': must not differ from projectId"],
    [`projectId=${'x'.repeat(5000)}`, 'must not be longer than'],
    [
      'project=MINE',
      "project 'MINE': is an unknown field; known fields are campaignId, projectId, projId",
    ],
  ])('refuses %s as a problem', async (query, detail) => {
    const { app, key, ids } = await build()
    const filled = (text: string) => text.replace('$MINE', ids.MINE).replace('$THEIRS', ids.THEIRS)
    const answer = await app.send(`${validate}?${filled(query)}`, { key })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      400,
      'application/problem+json',
    ])
    expect(answer.json()).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      instance: validate,
      detail: expect.stringContaining(filled(detail)),
    })
  })

  test('answers a bad or missing key with problem details', async () => {
    const { app } = await build()
    for (const key of [null, 'x'.repeat(44), 'short']) {
      const answer = await app.send(`${validate}?projectId=MINE`, { key })
      expect([answer.status, answer.json()]).toEqual([
        401,
        {
          type: 'about:blank',
          title: 'Unauthorized',
          status: 401,
          instance: validate,
          detail: expect.stringMatching(/^The API key is (missing|not valid)/),
        },
      ])
    }
  })
})

describe('who may remove numbers from the internal list, by key and by token', () => {
  const path = '/app/main/rpc/pdnc'
  const text = 'You do not have sufficient permissions to perform: delete_pdnc'
  const cases: readonly (readonly [Role, boolean, 200 | 403])[] = [
    ['Agent', false, 403],
    ['Agent', true, 200],
    ['Supervisor', false, 200],
    ['Administrator', false, 200],
  ]
  test.each(cases)('%s, agents may remove: %s', async (role, agentsMayRemove, status) => {
    const { app, accounts, newKey, tokenFor } = await open()
    await accounts.set('main', { agentsMayRemove })
    // The switch of another account changes nothing here.
    await accounts.set('other', { agentsMayRemove: !agentsMayRemove })
    const { key } = await newKey('main', role)
    for (const shown of [{ key }, bearer(await tokenFor(key))]) {
      const act = (actionType: string) =>
        app.send(`${path}?actionType=${actionType}&phoneList=2125550100`, shown)
      expect((await act('add')).status).toBe(200)
      const removed = await act('remove')
      expect([removed.status, removed.text]).toEqual([status, status === 200 ? '' : text])
      const body = { actionType: 'remove', phoneList: '2125550100' }
      const typed = await app.post(path, body, shown)
      expect([typed.status, typed.json()]).toEqual([
        status,
        status === 200 ? { message: 'success' } : { error: text },
      ])
      const left = await act('status')
      expect(left.text).toMatch(status === 200 ? /^2125550100,,$/ : /^2125550100,\d{4}-/)
      expect((await act('count')).status).toBe(200)
    }
  })

  test('the switch is followed at once', async () => {
    const { app, accounts, newKey } = await open()
    const { key } = await newKey('main', 'Agent')
    const remove = async () =>
      (await app.send(`${path}?actionType=remove&phoneList=2125550100`, { key })).status
    expect(await remove()).toBe(403)
    await accounts.set('main', { agentsMayRemove: true })
    expect(await remove()).toBe(200)
    await accounts.set('main', { agentsMayRemove: false })
    expect(await remove()).toBe(403)
  })
})
