/** The console without a browser: who is let in, what a browser may send, and what its frame says. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openConsoleClient, sameOrigin } from '../support/console-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const signIn = (key: string, headers: Record<string, string> = sameOrigin) =>
  fetch(`${running.url}/console/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ key }),
    headers,
    redirect: 'manual',
  })

describe('signing in', () => {
  it('is where every page leads without a session, and the root to a page to try calls on', async () => {
    const root = await fetch(`${running.url}/`, { redirect: 'manual' })
    expect(root.headers.get('location')).toBe('/console')
    expect((await fetch(`${running.url}/console`)).url).toBe(`${running.url}/console/try`)
    for (const path of ['/search', '/numbers', '/nowhere']) {
      const page = await fetch(`${running.url}/console${path}`)
      expect(page.url).toBe(`${running.url}/console/sign-in`)
      expect(await page.text()).toContain('API key')
    }
  })

  it('says what is wrong with a key, and never shows it', async () => {
    for (const key of ['', 'wrong', 'x'.repeat(44), '"><script>']) {
      const refused = await signIn(key)
      const text = await refused.text()
      expect(refused.status).toBe(401)
      expect(text).toContain(key === '' ? 'is required' : 'is not valid')
      if (key !== '') expect(text).not.toContain(key)
      expect(refused.headers.get('set-cookie')).toBeNull()
    }
  })

  it('gives a cookie that no script and no other site gets, and never the key', async () => {
    const answer = await signIn(running.keys.main)
    const cookie = answer.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/^callgate-session=[\w-]{86}; Path=\/; HttpOnly; SameSite=Lax$/)
    const rows = await running.callgate.storage.db
      .selectFrom('console_sessions')
      .selectAll()
      .execute()
    const secret = /=([\w-]{86});/.exec(cookie)?.[1] ?? 'none'
    expect(JSON.stringify(rows)).not.toContain(secret)
    const audited = await running.get('/v1/audit?action=session.began', running.keys.main)
    expect(await audited.text()).toContain('"door":"console"')
  })

  it('is refused from another site, also without a header that tells', async () => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      {},
    ]) {
      expect((await signIn(running.keys.main, headers)).status).toBe(403)
    }
    expect((await signIn(running.keys.main, { origin: running.url })).status).toBe(303)
    expect((await signIn(running.keys.main, { origin: 'http://evil.example' })).status).toBe(403)
    expect((await signIn(running.keys.main, { origin: 'null' })).status).toBe(403)
  })

  it('takes the line of a key as the file of the first keys has it', async () => {
    expect((await signIn(`main: ${running.keys.main}\n`, sameOrigin)).status).toBe(303)
  })

  it('is refused after too many wrong keys', async () => {
    const own = await openTestCallgate()
    const tryKey = () =>
      fetch(`${own.url}/console/sign-in`, {
        method: 'POST',
        body: new URLSearchParams({ key: 'wrong' }),
        headers: sameOrigin,
      })
    for (let count = 0; count < 20; count += 1) expect((await tryKey()).status).toBe(401)
    const refused = await tryKey()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    await own.end()
  })
})

describe('a session', () => {
  it('ends when it is signed out, unused for half an hour, after twelve hours, and with its key', async () => {
    const { keys } = running.callgate
    const begin = async () => {
      const made = await keys.create({ accountId: 'main', role: 'Agent', label: 'session' })
      return { made, client: await openConsoleClient(running, made.key) }
    }
    const isIn = async (client: Awaited<ReturnType<typeof begin>>['client']) =>
      (await client.get('/console/search')).path === '/console/search'

    const signedOut = await begin()
    expect(await isIn(signedOut.client)).toBe(true)
    await signedOut.client.post('/console/sign-out', {})
    expect(await isIn(signedOut.client)).toBe(false)

    const revoked = await begin()
    await keys.revoke(revoked.made.id)
    expect(await isIn(revoked.client)).toBe(false)

    const idle = await begin()
    const busy = await begin()
    const minute = 60_000
    for (let minutes = 0; minutes < 29; minutes += 1) running.clock.at += minute
    expect([await isIn(busy.client)]).toEqual([true])
    running.clock.at += 2 * minute
    expect([await isIn(idle.client), await isIn(busy.client)]).toEqual([false, true])
    for (let hours = 0; hours < 23; hours += 1) {
      running.clock.at += 29 * minute
      expect(await isIn(busy.client)).toBe(true)
    }
    running.clock.at += 29 * minute
    expect(await isIn(busy.client)).toBe(false)
  })

  it('is no key for the API, nor is a key one for the console', async () => {
    const client = await openConsoleClient(running, running.keys.main)
    const asked = await fetch(`${running.url}/v1/decisions`, { headers: { cookie: client.cookie } })
    expect(asked.status).toBe(401)
    const page = await fetch(`${running.url}/console/search`, {
      headers: { loginId: running.keys.main },
    })
    expect(page.url).toBe(`${running.url}/console/sign-in`)
  })
})

describe('a form', () => {
  it('is refused from another site, and without the token of its session', async () => {
    const client = await openConsoleClient(running, running.keys.main)
    const other = await openConsoleClient(running, running.keys.sandbox)
    const otherToken = /name="formToken" value="([^"]+)"/.exec(
      (await other.get('/console/search')).text,
    )
    const send = (form: Record<string, string>, headers: Record<string, string>) =>
      fetch(`${running.url}/console/opt-outs`, {
        method: 'POST',
        body: new URLSearchParams({ number: '2125550188', ...form }),
        headers: { cookie: client.cookie, ...headers },
        redirect: 'manual',
      })
    expect((await send({}, sameOrigin)).status).toBe(403)
    expect((await send({ formToken: otherToken?.[1] ?? '' }, sameOrigin)).status).toBe(403)
    const ownToken = /name="formToken" value="([^"]+)"/.exec(
      (await client.get('/console/search')).text,
    )
    const formToken = ownToken?.[1] ?? ''
    expect((await send({ formToken }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await send({ formToken }, sameOrigin)).status).toBe(303)
  })

  it('that is too long or broken is refused with a page', async () => {
    const client = await openConsoleClient(running, running.keys.main)
    const long = await client.post('/console/opt-outs', { said: 'x'.repeat(500_000) })
    expect([long.status, long.text.includes('400000 bytes')]).toEqual([413, true])
    const broken = await fetch(`${running.url}/console/opt-outs`, {
      method: 'POST',
      body: 'nothing of it',
      headers: {
        cookie: client.cookie,
        ...sameOrigin,
        'content-type': 'multipart/form-data; boundary=x',
      },
    })
    expect(broken.status).toBe(400)
  })

  it('refuses a form in an encoding that it does not read, and says so', async () => {
    for (const more of [
      { 'content-type': 'application/x-www-form-urlencoded; charset=utf-7' },
      { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'foo' },
    ]) {
      const headers = { ...sameOrigin, ...more }
      const sent = { method: 'POST', body: 'key=x', headers }
      const answer = await fetch(`${running.url}/console/sign-in`, sent)
      expect([answer.status, await answer.text()]).toEqual([
        400,
        expect.stringContaining('The form could not be read'),
      ])
    }
  })

  it('takes no other sealed text for what was done, or for a number', async () => {
    const client = await openConsoleClient(running, running.keys.sandbox)
    const { path } = await client.post('/console/numbers', { number: 'You have won' })
    const sealed = path.split('/').at(-1)
    const { text } = await client.get(`/console/search?done=${sealed}`)
    expect(text).not.toContain('You have won')
    const about = await client.get('/console/numbers')
    expect(about.status).toBe(200)
    const added = { number: '2125550107', reason: 'x' }
    const { path: outcome } = await client.post('/console/opt-outs', added)
    const done = /done=([^&]+)/.exec(outcome)?.[1]
    expect(done).toBeDefined()
    for (const page of [
      'search',
      'numbers',
      'attempts',
      'audit',
      'evidence/about',
      'caller-ids/end',
    ]) {
      const { status } = await client.get(`/console/${page}/${done}`)
      expect([page, status]).toEqual([page, 404])
    }
  })
})

describe('every page', () => {
  it('is for this host alone, so that no other name leads to it', async () => {
    const { Agent, request } = await import('undici')
    const ask = async (host: string) => {
      const answer = await request(`${running.url}/console/sign-in`, {
        headers: { host },
        dispatcher: new Agent(),
      })
      await answer.body.dump()
      return answer.statusCode
    }
    expect(await ask('evil.example')).toBe(421)
    expect(await ask('localhost:8480')).toBe(200)
    expect(await ask('127.0.0.1')).toBe(200)
    expect(await ask('[::1]:8480')).toBe(200)
    expect(await ask('127.0.0.1.evil.example')).toBe(421)
  })

  it('has headers that keep it to itself', async () => {
    const { headers } = await fetch(`${running.url}/console/sign-in`)
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('content-security-policy')).not.toContain('unsafe')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
  })

  it('says so if there is none, and shows in the navigation what the key may use', async () => {
    const client = await openConsoleClient(running, running.keys.main)
    const missing = await client.get('/console/nowhere')
    expect([missing.status, missing.text.includes('There is no page /console/nowhere')]).toEqual([
      404,
      true,
    ])
    const { key } = await running.callgate.keys.create({
      accountId: 'main',
      role: 'Agent',
      label: 'opt-outs',
      rights: ['records'],
    })
    const limited = await openConsoleClient(running, key)
    const page = await limited.get('/console')
    expect(page.path).toBe('/console/opt-outs')
    expect(page.text).not.toContain('>Search</a>')
    expect((await limited.get('/console/search')).status).toBe(403)
  })
})

it('is at https alone where its address is not a loopback one', async () => {
  const away = await openTestCallgate({
    environment: { CALLGATE_CONSOLE_PUBLIC_URL: 'https://callgate.example' },
  })
  const answer = await fetch(`${away.url}/console/sign-in`)
  expect([answer.status, await answer.text()]).toEqual([
    421,
    'The console answers only at https://callgate.example/console. The API is at /docs\n',
  ])
  await away.end()
})

it('is at a loopback address where the server listens on all, as in a container', async () => {
  for (const publicUrl of ['', 'http://localhost:8480']) {
    const contained = await openTestCallgate({
      environment: { CALLGATE_HTTP_HOST: '0.0.0.0', CALLGATE_CONSOLE_PUBLIC_URL: publicUrl },
    })
    const address = `http://127.0.0.1:${new URL(contained.url).port}`
    const { request } = await import('undici')
    const ask = async (host: string) => {
      const answer = await request(`${address}/console/try`, { headers: { host } })
      return [answer.statusCode, await answer.body.text()] as const
    }
    // A port that Docker publishes or kubectl forwards may be another one.
    for (const host of ['localhost:18480', '127.0.0.1:8480']) {
      expect((await ask(host))[0]).toBe(200)
    }
    const [status, text] = await ask('10.0.0.5:8480')
    expect(status).toBe(421)
    expect(text).toMatch(/loopback address, such as http:\/\/localhost:8480.*console\.publicUrl/)
    await contained.end()
  }
})

describe('trying a call', () => {
  it('needs no key: each line and kind of call now, and each hour of a day', async () => {
    const lines = await (await fetch(`${running.url}/console/try?area=310`)).text()
    expect(lines).toContain('(310) 555-0105')
    expect(lines).toContain('wireless, litigator')
    expect(lines).toMatch(/Now in California: Mon 2026-11-23 \d\d:\d\d \(America\/Los_Angeles\)/)
    expect(lines).toContain(`curl -s ${running.url}/v1/decisions`)
    const day = await (await fetch(`${running.url}/console/try/3105550106`)).text()
    expect(day).toContain('23:00')
    expect(day).toContain('The local time there is Mon 2026-11-23')
    expect(day).toContain('outside the lawful calling hours')
    expect(day).toMatch(/Allowed/)
    for (const path of ['/try?area=999', '/try/2025551234', '/try/2125550199', '/try/x']) {
      expect((await fetch(`${running.url}/console${path}`)).status, path).toBe(404)
    }
  })

  it('records nothing, and is on this machine alone', async () => {
    const answer = await running.get('/v1/decisions', running.keys.sandbox)
    expect(((await answer.json()) as { decisions: unknown[] }).decisions).toEqual([])
    const away = await openTestCallgate({
      environment: { CALLGATE_CONSOLE_PUBLIC_URL: 'https://callgate.example' },
    })
    const { request } = await import('undici')
    const page = await request(`${away.url}/console/try`, { headers: { host: 'callgate.example' } })
    await page.body.dump()
    expect([page.statusCode, page.headers.location]).toEqual([303, '/console/sign-in'])
    await away.end()
  })
})
