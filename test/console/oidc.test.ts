/** Signing in at an identity provider, and what people may do then. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request as sendAs } from 'undici'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openConsoleClient, sameOrigin } from '../support/console-client.js'
import {
  clientSecret,
  oidcEnvironment,
  openIdentityProvider,
  type TestIdentityProvider,
} from '../support/identity-provider.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-oidc-'))
const secretFile = join(folder, 'client-secret')
writeFileSync(secretFile, `${clientSecret}\n`, { mode: 0o600 })

let provider: TestIdentityProvider
let running: TestCallgate
beforeAll(async () => {
  provider = await openIdentityProvider()
  running = await openTestCallgate({ environment: oidcEnvironment(provider.issuer, secretFile) })
})
afterAll(async () => {
  await running.end()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  provider.hasWrongKey = false
  provider.refusal = undefined
  provider.claims = { groups: ['see'], email: 'jane@example.com', email_verified: true }
})

interface Visit {
  readonly cookie: string
  /** Where the provider sends the browser back to. */
  readonly back: string
}

const cookieOf = (response: Response, index = 0) =>
  response.headers.getSetCookie().at(index)?.split(';')[0] ?? ''

/** Goes to the provider and signs in there. */
async function visit({ url }: Pick<TestCallgate, 'url'> = running, cookie = ''): Promise<Visit> {
  const left = await fetch(`${url}/console/oidc/sign-in`, {
    headers: { cookie },
    redirect: 'manual',
  })
  expect(left.status, await left.clone().text()).toBe(303)
  const there = await fetch(left.headers.get('location') ?? '', { redirect: 'manual' })
  expect(there.status, await there.clone().text()).toBe(302)
  return { cookie: cookieOf(left), back: there.headers.get('location') ?? '' }
}

const comeBack = ({ cookie, back }: Visit) =>
  fetch(back, { headers: { cookie }, redirect: 'manual' })

async function expectRefused(response: Response, status: number, ...texts: readonly string[]) {
  const text = await response.text()
  expect(response.status, text).toBe(status)
  for (const one of texts) expect(text).toContain(one)
  expect(text).toContain('API key')
  expect(response.headers.getSetCookie().filter((one) => one.includes('session='))).toEqual([])
}

/** A page of the console, with the cookie of a session. */
async function signIn(role?: string | readonly string[]): Promise<string> {
  if (role !== undefined) provider.claims.groups = role
  const back = await comeBack(await visit())
  expect([back.status, back.headers.get('location')], await back.clone().text()).toEqual([
    303,
    '/console',
  ])
  return cookieOf(back, -1)
}

async function getPage(path: string, cookie: string) {
  const response = await fetch(`${running.url}/console${path}`, { headers: { cookie } })
  return { status: response.status, url: response.url, text: await response.text() }
}

async function post(cookie: string, path: string, form: Readonly<Record<string, string>>) {
  const { text } = await getPage('/', cookie)
  const formToken = /name="formToken" value="([^"]+)"/.exec(text)?.[1] ?? ''
  return await fetch(`${running.url}/console${path}`, {
    method: 'POST',
    body: new URLSearchParams({ formToken, ...form }),
    headers: { ...sameOrigin, cookie },
    redirect: 'manual',
  })
}

const addOptOut = (cookie: string, number: string) => post(cookie, '/opt-outs', { number })

describe('signing in at a provider', () => {
  it('is offered beside the key, which goes on working', async () => {
    const page = await (await fetch(`${running.url}/console/sign-in`)).text()
    expect(page).toContain('Sign in with Example ID')
    expect((await openConsoleClient(running, running.keys.main)).cookie).toContain('session=')
    const without = await openTestCallgate()
    expect(await (await fetch(`${without.url}/console/sign-in`)).text()).not.toContain('oidc')
    const nowhere = await fetch(`${without.url}/console/oidc/callback`, { redirect: 'manual' })
    expect(nowhere.headers.get('location')).toBe('/console/sign-in')
    await without.end()
  })

  it('asks with state, nonce and PKCE, anew each time', async () => {
    await visit()
    await visit()
    const [one, two] = provider.visits.slice(-2)
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(one?.get(name)).toMatch(/^[\w-]{43}$/)
      expect(one?.get(name)).not.toBe(two?.get(name))
    }
    expect(one?.get('scope')).toBe('openid profile email')
    expect(one?.get('redirect_uri')).toBe(`${running.url}/console/oidc/callback`)
  })

  it('keeps nothing in the browser that it could read', async () => {
    const left = await fetch(`${running.url}/console/oidc/sign-in`, { redirect: 'manual' })
    expect(left.headers.get('set-cookie')).toMatch(
      /^callgate-session-sign-in=[\w-]+; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    const sealed = Buffer.from(cookieOf(left).split('=')[1] ?? '', 'base64url').toString('latin1')
    expect(sealed).not.toContain('nonce')
  })

  it('gives a new session, which ends that of before', async () => {
    const first = await openConsoleClient(running, running.keys.main)
    const planted = 'callgate-session=planted'
    for (const before of [first.cookie, planted]) {
      const { cookie, back } = await visit()
      const came = await comeBack({ cookie: `${cookie}; ${before}`, back })
      const session = cookieOf(came, -1)
      expect(session).toMatch(/^callgate-session=[\w-]{86}$/)
      expect(session).not.toBe(before)
    }
    expect((await first.get('/console/search')).path).toBe('/console/sign-in')
    expect((await getPage('/search', planted)).url).toContain('/sign-in')
  })

  it('is written to the audit, as the person, and so is the end', async () => {
    provider.claims = {
      groups: 'comply',
      email: 'audited@example.com',
      email_verified: true,
      sub: 'sub-of-audited',
    }
    const cookie = await signIn()
    const { text } = await getPage('/search', cookie)
    const formToken = /name="formToken" value="([^"]+)"/.exec(text)?.[1] ?? ''
    await fetch(`${running.url}/console/sign-out`, {
      method: 'POST',
      body: new URLSearchParams({ formToken }),
      headers: { ...sameOrigin, cookie },
      redirect: 'manual',
    })
    for (const action of ['session.began', 'session.ended']) {
      const audit = await running.get(`/v1/audit?action=${action}`, running.keys.main)
      const { records } = (await audit.json()) as { records: Record<string, unknown>[] }
      const own = records.find(({ who }) => who === 'person:audited@example.com')
      expect(own).toMatchObject({
        door: 'console',
        subject: { kind: 'session', id: `person:${provider.issuer} sub-of-audited` },
        after: { role: 'officer' },
      })
    }
  })

  it('has cookies of this host alone where its address is https', async () => {
    const publicUrl = 'https://callgate.example'
    const away = await openTestCallgate({
      environment: {
        ...oidcEnvironment(provider.issuer, secretFile),
        CALLGATE_CONSOLE_PUBLIC_URL: publicUrl,
      },
    })
    const ask = async (path: string, cookie = '') => {
      const answer = await sendAs(away.url + path, {
        headers: { host: 'callgate.example', cookie },
      })
      await answer.body.dump()
      const { location, 'set-cookie': cookies = [] } = answer.headers
      return { location, cookies: [cookies].flat() }
    }
    const left = await ask('/console/oidc/sign-in')
    expect(left.cookies).toEqual([
      expect.stringMatching(
        /^__Host-callgate-sign-in=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ])
    const there = await fetch(String(left.location), { redirect: 'manual' })
    const back = there.headers.get('location') ?? ''
    expect(back).toContain(`${publicUrl}/console/oidc/callback?`)
    const came = await ask(back.slice(publicUrl.length), left.cookies[0]?.split(';')[0])
    expect([came.location, came.cookies.at(-1)]).toEqual([
      '/console',
      expect.stringMatching(/^__Host-callgate=[\w-]{86}; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    ])
    await away.end()
  })
})

describe('signing in at a provider is refused', () => {
  it('without the cookie of this browser, or with one that was changed', async () => {
    const { cookie, back } = await visit()
    const [name = '', sealed = ''] = cookie.split('=')
    const changed = `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}`
    for (const given of ['', `${name}=`, `${name}=${changed}`, `${name}=${'A'.repeat(200)}`]) {
      const refused = await comeBack({ cookie: given, back })
      await expectRefused(refused, 401, 'has not begun to sign in here')
    }
    expect((await comeBack({ cookie, back })).status).toBe(303)
  })

  it('with the state of another browser', async () => {
    const [own, other] = [await visit(), await visit()]
    const came = await comeBack({ cookie: own.cookie, back: other.back })
    await expectRefused(came, 401, 'could not be accepted')
    expect(running.logLines.at(-1)).toContain('unexpected \\"state\\"')
  })

  it('a second time, though the browser has kept its cookie', async () => {
    const been = await visit()
    expect((await comeBack(been)).status).toBe(303)
    await expectRefused(await comeBack(been), 401, 'has not begun to sign in here')
  })

  it('with the code of another visit, whose PKCE is another one', async () => {
    const [own, other] = [new Map([['visit', await visit()]]), await visit()]
    const { cookie, back } = own.get('visit') as Visit
    const mixed = new URL(back)
    mixed.searchParams.set('code', new URL(other.back).searchParams.get('code') ?? '')
    await expectRefused(await comeBack({ cookie, back: mixed.href }), 401, 'could not be accepted')
    expect(running.logLines.at(-1)).toContain('invalid_grant')
  })

  it('after ten minutes at the provider', async () => {
    const been = await visit()
    running.clock.at += 10 * 60_000
    await expectRefused(await comeBack(been), 401, 'more than 10 minutes ago')
  })

  it.each([
    ['"nonce" claim value', { nonce: 'another' }],
    ['"nonce" (nonce) claim missing', { nonce: undefined }],
    ['"aud" (audience)', { aud: 'another-client' }],
    ['"iss" (issuer)', { iss: 'https://another.example' }],
    ['expiration is past', { iat: 1_000, exp: 2_000 }],
    ['"sub" (subject) claim missing', { sub: undefined }],
    ['"sub" is empty', { sub: '' }],
  ])('if the ID token is not right: %s', async (why, wrong) => {
    provider.claims = { ...provider.claims, ...wrong }
    await expectRefused(await comeBack(await visit()), 401, 'could not be accepted')
    expect(running.logLines.at(-1)).toContain(why.replaceAll('"', '\\"'))
  })

  it('if the ID token is signed by another key', async () => {
    provider.hasWrongKey = true
    await expectRefused(await comeBack(await visit()), 401, 'could not be accepted')
    expect(running.logLines.at(-1)).toContain('signature verification failed')
  })

  it('if the provider refuses, in its words', async () => {
    running.clock.at += 60_000
    provider.refusal = 'access_denied <script>'
    const refused = await comeBack(await visit())
    await expectRefused(refused, 401, 'access_denied &lt;script&gt;')
  })
})

it('is limited in how often it may fail', async () => {
  const own = await openTestCallgate({ environment: oidcEnvironment(provider.issuer, secretFile) })
  const come = () => fetch(`${own.url}/console/oidc/callback?code=x&state=y`)
  for (let count = 0; count < 20; count += 1) expect((await come()).status).toBe(401)
  const refused = await come()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
  expect((await openConsoleClient(own, own.keys.main)).cookie).toContain('session=')
  await own.end()
})

it('says that the provider is away, and the key goes on working', async () => {
  const away = await openIdentityProvider()
  await away.close()
  const own = await openTestCallgate({ environment: oidcEnvironment(away.issuer, secretFile) })
  const refused = await fetch(`${own.url}/console/oidc/sign-in`, { redirect: 'manual' })
  await expectRefused(refused, 503, 'Example ID does not answer now; sign in with an API key')
  expect(own.logLines.join()).toContain('ECONNREFUSED')
  expect((await openConsoleClient(own, own.keys.main)).cookie).toContain('session=')
  await own.end()
})

it('says that the provider has gone away on the way', async () => {
  const leaving = await openIdentityProvider()
  const own = await openTestCallgate({ environment: oidcEnvironment(leaving.issuer, secretFile) })
  const been = await visit(own)
  await leaving.close()
  await expectRefused(await comeBack(been), 503, 'does not answer now')
  await own.end()
})

describe('a role', () => {
  let own: TestCallgate
  beforeAll(async () => {
    own = running
    // Of another minute than the refusals above.
    running = await openTestCallgate({ environment: oidcEnvironment(provider.issuer, secretFile) })
  })
  afterAll(async () => {
    await running.end()
    running = own
  })

  it.each([
    ['a text', 'comply', 'officer'],
    ['a list', ['nothing', 'run it'], 'operator'],
    ['the highest of several', ['see', 'own <b>', 'comply'], 'admin'],
    ['a list with other things', [1, null, { see: true }, 'see'], 'viewer'],
  ])('is found in the claim as %s', async (_what, claim, role) => {
    const cookie = await signIn(claim as string[])
    const { text } = await getPage('/search', cookie)
    expect(text).toContain(`jane@example.com, ${role}`)
  })

  it.each([
    ['missing', undefined, 'is missing or empty'],
    ['another text', 'see,', 'has see,'],
    ['part of a text', 'see comply', 'has see comply'],
    ['an object', { see: true }, 'is missing or empty'],
    ['a name of every object', ['constructor', '__proto__'], 'has constructor, __proto__'],
    ['hostile', ['<img src=x>'], 'has &lt;img src=x&gt;'],
  ])('is needed, and the refusal says what was looked for: %s', async (_what, claim, has) => {
    provider.claims.groups = claim
    const refused = await comeBack(await visit())
    await expectRefused(
      refused,
      403,
      `the claim &#39;groups&#39; ${has}`,
      '&#39;own &lt;b&gt;&#39;',
    )
  })

  it.each([
    ['viewer', 'see', 403],
    ['operator', 'run it', 403],
    ['officer', 'comply', 303],
    ['admin', 'own <b>', 303],
  ])('decides what may be done: %s', async (_role: string, value, status) => {
    const cookie = await signIn(value)
    expect((await getPage('/search', cookie)).status).toBe(200)
    expect((await addOptOut(cookie, '2125550170')).status).toBe(status)
  })

  it('pauses calls from operator on, and ends a pause as admin alone, in the name of the person', async () => {
    const pause = { reason: 'a complaint' }
    const path = '/keys/pauses/ai:main'
    expect((await post(await signIn('see'), path, pause)).status).toBe(403)
    const operator = await signIn('run it')
    expect((await post(operator, path, pause)).status).toBe(303)
    expect((await post(operator, `${path}/end`, pause)).status).toBe(403)
    const listed = await running.get('/v1/pauses', running.keys.main)
    expect(await listed.json()).toMatchObject({
      pauses: [{ subject: 'ai:main', pausedBy: 'person jane@example.com' }],
    })
    expect((await post(await signIn('comply'), `${path}/end`, pause)).status).toBe(403)
    expect((await post(await signIn('own <b>'), `${path}/end`, pause)).status).toBe(303)
  })

  it('makes a key as admin alone, which may no more than the person', async () => {
    const key = { label: 'made by jane', role: 'Administrator', reason: 'x', kinds: 'ai' }
    for (const role of ['see', 'run it', 'comply']) {
      expect((await post(await signIn(role), '/keys/new', key)).status, role).toBe(403)
    }
    const admin = await signIn('own <b>')
    const tooMuch = await post(admin, '/keys/new', { ...key, rights: 'look-up,edge' })
    expect(tooMuch.status).toBe(403)
    expect(await tooMuch.text()).toContain('href="#rights">rights &#39;edge&#39;')
    expect((await post(admin, '/keys/new', { ...key, rights: 'look-up' })).status).toBeLessThan(400)
  })

  it('is of a person, whose name is in the audit', async () => {
    provider.claims.email = 'opt-outs@example.com'
    await addOptOut(await signIn('comply'), '2125550171')
    const audit = await running.get('/v1/audit?action=opt-out.added', running.keys.main)
    expect(await audit.text()).toContain('"who":"person:opt-outs@example.com"')
  })

  it.each([
    ['no name', { email: undefined }, 'sub-1'],
    ['an empty name', { email: '  ' }, 'sub-1'],
    [
      'an address that is not verified',
      { email: 'boss@example.com', email_verified: false },
      'sub-1',
    ],
    [
      'an address verified by a text',
      { email: 'boss@example.com', email_verified: 'false' },
      'sub-1',
    ],
    ['an address of which it says nothing', { email: 'boss@example.com' }, 'sub-1'],
    ['control characters', { email: 'a\nb@example.com' }, 'sub-1'],
    [
      'a hostile name',
      { email: '<script>alert(1)</script>', email_verified: true },
      '&lt;script&gt;alert(1)&lt;/script&gt;',
    ],
  ])('is of a person with %s', async (_what, claims, shown) => {
    provider.claims = { groups: 'see', sub: 'sub-1', ...claims }
    const { text } = await getPage('/search', await signIn())
    expect(text).toContain(`${shown}, viewer`)
    expect(text).not.toContain('boss@')
  })

  it('is for one account', async () => {
    const cookie = await signIn('comply')
    expect((await getPage('/search', cookie)).text).toContain('Account <b>main</b>')
  })

  it('is no key for the API', async () => {
    const cookie = await signIn('own <b>')
    const asked = await fetch(`${running.url}/v1/decisions`, { headers: { cookie } })
    expect(asked.status).toBe(401)
  })
})

describe('a session of a person', () => {
  it('ends after half an hour without use and after twelve hours', async () => {
    const isIn = async (cookie: string) =>
      (await getPage('/search', cookie)).url.endsWith('/console/search')
    const [idle, busy] = [await signIn(), await signIn()]
    const minute = 60_000
    running.clock.at += 29 * minute
    expect(await isIn(busy)).toBe(true)
    running.clock.at += 2 * minute
    expect([await isIn(idle), await isIn(busy)]).toEqual([false, true])
    for (let hours = 0; hours < 23; hours += 1) {
      running.clock.at += 29 * minute
      expect(await isIn(busy)).toBe(true)
    }
    running.clock.at += 29 * minute
    expect(await isIn(busy)).toBe(false)
  })

  it('ends when its role is not known, or people may not sign in to its account', async () => {
    const { db } = running.callgate.storage
    for (const change of [{ role: 'owner' }, { account_id: 'sandbox' }]) {
      const cookie = await signIn()
      expect((await getPage('/search', cookie)).status).toBe(200)
      await db.updateTable('console_sessions').set(change).where('person', 'is not', null).execute()
      expect((await getPage('/search', cookie)).url).toContain('/sign-in')
    }
  })
})

it('logs no token', () => {
  expect(provider.tokens.length).toBeGreaterThan(20)
  const log = running.logLines.join('\n')
  for (const token of provider.tokens) {
    expect(log).not.toContain(token)
    expect(log).not.toContain(token.split('.')[1] ?? token)
  }
})
