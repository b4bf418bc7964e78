import { expect } from 'vitest'
import { calls, wrongKey } from './support/calls.js'
import { ask } from './support/client.js'
import { run } from './support/run.js'
import { scrubPath } from './support/scrubbed.js'
import { section, sentence, sentences } from './support/sentence.js'
import { askToken, bearer, goodForm, tokenAnswer } from './support/tokens.js'

/** These are rationed, and asked often enough. */
const limited = /reputation/i

section('authentication', () => {
  sentences(
    calls,
    ({ name }) => `a missing key gives 401: ${name}`,
    async ({ ask: asked }) => {
      expect((await ask({ ...asked, key: null })).status).toBe(401)
    },
  )

  sentences(
    calls.filter(({ ask: { json } }) => json !== undefined),
    ({ name }) => `a missing key gives 401 where the body is missing as well: ${name}`,
    async ({ ask: { json: _json, ...asked } }) => {
      expect((await ask({ ...asked, method: 'POST', key: null })).status).toBe(401)
    },
  )

  sentences(
    calls,
    ({ name }) => `an invalid key gives 401: ${name}`,
    async ({ ask: asked }) => {
      expect((await ask({ ...asked, key: wrongKey })).status).toBe(401)
    },
  )

  sentences(
    calls,
    ({ name }) => `a token sent as Authorization: Bearer is accepted: ${name}`,
    async ({ ask: asked }, needs) => {
      const headers = { ...asked.headers, ...(await bearer(needs)) }
      const { status } = await ask({ ...asked, key: null, headers })
      expect([401, 404, 405]).not.toContain(expectedOf(asked.path, status))
    },
  )

  sentences(
    calls.filter(({ ask: { path } }) => !limited.test(path)),
    ({ name }) => `no role rule is stated, so role Agent may ask: ${name}`,
    async ({ ask: asked }, needs) => {
      const key = needs(run.agentLoginId, '--agent-login-id')
      expect([401, 403]).not.toContain((await ask({ ...asked, key })).status)
    },
  )

  sentences(
    ['', ' ', 'null', "' or '1'='1", wrongKey.toLowerCase(), `${wrongKey}${wrongKey}`],
    (key) => `an invalid key gives 401: '${key}'`,
    async (key) => expect((await ask({ path: '/v1.5/Auth/Validate', key })).status).toBe(401),
  )

  sentence('a key is compared exactly', async () => {
    const other = run.loginId === run.loginId.toLowerCase() ? 'toUpperCase' : 'toLowerCase'
    const changed = [run.loginId[other](), run.loginId.slice(0, -1), `${run.loginId}x`]
    for (const key of changed) {
      expect((await ask({ path: '/v1.5/Auth/Validate', key })).status).toBe(401)
    }
  })

  sentence('a revoked key gives 401', async (needs) => {
    const key = needs(run.revokedLoginId, '--revoked-login-id')
    expect((await ask({ path: '/v1.5/Auth/Validate', key })).status).toBe(401)
  })

  sentence('a token is requested as a urlencoded form by POST', async (needs) => {
    expect((await tokenAnswer(needs)).access_token).toBeTypeOf('string')
  })

  sentences(
    ['grant_type', 'client_id', 'client_secret'],
    (field) => `token request: ${field} is required`,
    async (field, needs) => {
      const { [field]: _left, ...form } = await goodForm(needs)
      await expectNoToken(form)
    },
  )

  sentences(
    ['password', 'refresh_token', 'authorization_code', 'CLIENT_CREDENTIALS', ''],
    (grant_type) => `grant_type must be client_credentials, not '${grant_type}'`,
    async (grant_type, needs) => expectNoToken({ ...(await goodForm(needs)), grant_type }),
  )

  sentence('client_id is the account id, and another one gives no token', async (needs) => {
    await expectNoToken({ ...(await goodForm(needs)), client_id: 'no-such-account' })
  })

  sentence('client_secret is an API key, and a wrong one gives no token', async (needs) => {
    await expectNoToken({ ...(await goodForm(needs)), client_secret: wrongKey })
  })

  sentence('client_secret of another account gives no token', async (needs) => {
    const client_secret = needs(run.secondLoginId, '--second-login-id')
    await expectNoToken({ ...(await goodForm(needs)), client_secret })
  })

  sentence('a scrub call is answered with a token alone', async (needs) => {
    const query = { phoneList: '2125550100', version: '8', output: 'json' }
    const headers = await bearer(needs)
    expect((await ask({ at: 'rpc', path: scrubPath, query, key: null, headers })).status).toBe(200)
  })

  sentence('an access token is no API key', async (needs) => {
    const key = String((await tokenAnswer(needs)).access_token)
    await expectNoToken({ ...(await goodForm(needs)), client_secret: key })
  })

  sentence('a token expires after 3600 seconds', async (needs) => {
    expect((await tokenAnswer(needs)).expires_in).toBe(3600)
  })

  sentence('a token is renewed by requesting a new one', async (needs) => {
    const first = String((await tokenAnswer(needs)).access_token)
    const reply = await askToken(await goodForm(needs))
    const second = String((JSON.parse(reply.text) as { access_token: string }).access_token)
    expect(second).not.toBe(first)
    for (const token of [first, second]) {
      const headers = { authorization: `Bearer ${token}` }
      const { status } = await ask({ path: '/v1.5/Auth/Validate', key: null, headers })
      expect(status).toBe(200)
    }
  })

  sentence('an unknown token gives 401', async () => {
    const headers = { authorization: `Bearer ${wrongKey}` }
    expect((await ask({ path: '/v1.5/Auth/Validate', key: null, headers })).status).toBe(401)
  })
})

/** Unknown things answer with 404 where the path itself is known: that is no refusal of the key. */
function expectedOf(path: string, status: number): number {
  return path.startsWith('/v1.5/projects/') && status === 404 ? 200 : status
}

async function expectNoToken(form: Readonly<Record<string, string>>): Promise<void> {
  const { status, text } = await askToken(form)
  expect(`${status} ${text}`).toMatch(/^4(?:00|01|03) /)
  expect(text).not.toContain('access_token')
}
