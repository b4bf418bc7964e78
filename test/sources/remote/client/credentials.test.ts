/** How a request shows who asks, over a transport in the test's hand. */
import { describe, expect, it } from 'vitest'
import { openCredentials } from '../../../../src/sources/remote/client/credentials.js'
import type { ProviderReply } from '../../../../src/sources/remote/client/transport.js'
import { about, fakeProvider, type SentRequest } from '../../../support/fake-provider.js'
import { nothingLeft, openAsker, textOf } from '../../../support/open-batch-client.js'

const oauth = { kind: 'oauth', clientId: 'account 7', clientSecret: 's&cret' } as const

let tokens = 0

/** A token request is answered with a new token each time. */
function giveToken(sent: SentRequest, seconds: unknown = 3_600): void {
  tokens += 1
  const token = { token_type: 'Bearer', expires_in: seconds, access_token: `token-${tokens}` }
  sent.reply({ body: JSON.stringify(token) })
}

const isTokenRequest = ({ request }: SentRequest) => request.url.startsWith('https://auth.test')

function open() {
  const provider = fakeProvider({ credentials: oauth })
  const credentials = openCredentials(provider.options, provider.transport)
  const key = () => credentials.getHeaders()?.authorization?.replace(/\d+/, 'N')
  return { ...provider, credentials, key }
}

describe('a login id', () => {
  it('is a header, the same for every request', () => {
    const { options, transport } = fakeProvider()
    const credentials = openCredentials(options, transport)
    expect(credentials.getHeaders()).toEqual({ loginId: 'the-secret-key' })
    expect(credentials.getHeaders()).toBe(credentials.getHeaders())
    expect([
      credentials.findProblem(),
      credentials.invalidate(credentials.getHeaders() ?? {}),
    ]).toEqual([...[undefined, false]])
  })
})

describe('an access token', () => {
  it('is had by a form, and sent as bearer', async () => {
    const { credentials, transport } = open()
    expect(credentials.getHeaders()).toBeUndefined()
    const had = credentials.obtain()
    expect(transport.sent[0]?.request).toEqual({
      method: 'POST',
      url: 'https://auth.test/oauth/token',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
      },
      body: 'grant_type=client_credentials&client_id=account+7&client_secret=s%26cret',
    })
    transport.sent[0]?.reply({
      body: '{"token_type":"bearer","expires_in":3600,"access_token":"abc.DEF-1"}',
    })
    await had
    expect(credentials.getHeaders()).toEqual({ authorization: 'Bearer abc.DEF-1' })
  })

  it('is had once for all who ask meanwhile', async () => {
    const { credentials, transport } = open()
    transport.onSend = giveToken
    await Promise.all([credentials.obtain(), credentials.obtain(), credentials.obtain()])
    expect(transport.sent).toHaveLength(1)
  })

  it('is renewed in use from four fifths of its life on, while the old one serves', async () => {
    const { credentials, transport, time, key } = open()
    transport.onSend = giveToken
    await credentials.obtain()
    const first = credentials.getHeaders()
    await time.advance(2_879_999)
    expect([credentials.getHeaders(), transport.sent.length]).toEqual([first, 1])
    transport.onSend = () => undefined
    await time.advance(1)
    expect([credentials.getHeaders(), credentials.getHeaders(), transport.sent.length]).toEqual([
      first,
      first,
      2,
    ])
    const second = transport.sent[1]
    if (second) giveToken(second)
    await time.settle()
    expect(credentials.getHeaders()).not.toEqual(first)
    expect(key()).toBe('Bearer token-N')
  })

  it('is never sent when its life has ended, counted from when it was asked for', async () => {
    const { credentials, transport, time } = open()
    transport.onSend = (sent) => void time.after(2_000, () => giveToken(sent, 10))
    const had = credentials.obtain()
    await time.advance(2_000)
    await had
    await time.advance(5_999)
    expect(credentials.getHeaders()).toBeDefined()
    transport.onSend = (sent) => sent.fail('unreachable')
    await time.advance(1_000)
    expect(credentials.getHeaders()).toBeDefined()
    await time.advance(1_001)
    expect(credentials.getHeaders()).toBeUndefined()
  })

  it('leaves no timer', async () => {
    const { credentials, transport, time } = open()
    transport.onSend = giveToken
    await credentials.obtain()
    expect(time.waiting()).toBe(0)
  })

  const odd: readonly (readonly [string, Partial<ProviderReply>, string, string])[] = [
    [
      'a status of 401',
      { status: 401, body: '{"error":"invalid_client"}' },
      'refused',
      'answered 401 invalid_client',
    ],
    ['a status of 400', { status: 400, body: 'secret s&cret' }, 'refused', 'answered 400'],
    ['a status of 429', { status: 429 }, 'source-failed', 'answered 429'],
    ['a status of 500', { status: 500, body: 'oops' }, 'source-failed', 'answered 500'],
    ['a redirect', { status: 302 }, 'source-failed', 'answered 302'],
    ['a login page', { body: '<html>' }, 'not-understood', 'the reply is not a JSON object'],
    ['nothing', { body: '' }, 'not-understood', 'the reply is not a JSON object'],
    ['null', { body: 'null' }, 'not-understood', 'the reply is not a JSON object'],
    ['no type', { body: '{"expires_in":1,"access_token":"a"}' }, 'not-understood', 'token_type'],
    [
      'another type',
      { body: '{"token_type":"mac","expires_in":1,"access_token":"a"}' },
      'not-understood',
      'token_type',
    ],
    [
      'no token',
      { body: '{"token_type":"Bearer","expires_in":1}' },
      'not-understood',
      'access_token',
    ],
    [
      'a token with a line end',
      { body: '{"token_type":"Bearer","expires_in":1,"access_token":"a\\nb: c"}' },
      'not-understood',
      'access_token',
    ],
    [
      'no life',
      { body: '{"token_type":"Bearer","access_token":"a"}' },
      'not-understood',
      'expires_in',
    ],
    [
      'a life in words',
      { body: '{"token_type":"Bearer","expires_in":"3600","access_token":"a"}' },
      'not-understood',
      'expires_in',
    ],
    [
      'a life of 0',
      { body: '{"token_type":"Bearer","expires_in":0,"access_token":"a"}' },
      'not-understood',
      'expires_in',
    ],
  ]
  for (const [name, reply, reason, detail] of odd) {
    it(`is not had by ${name}: ${reason}`, async () => {
      const { credentials, transport, lines } = open()
      transport.onSend = (sent) => sent.reply(reply)
      await credentials.obtain()
      expect(credentials.getHeaders()).toBeUndefined()
      expect(credentials.findProblem()).toEqual({
        reason,
        detail: expect.stringContaining(`no access token: ${detail}`),
      })
      expect(lines).toHaveLength(1)
      expect(lines[0]?.line.startsWith(reason === 'refused' ? 'error' : 'warn')).toBe(true)
      expect(JSON.stringify([lines, credentials.findProblem()])).not.toContain('cret')
    })
  }

  it('that had expired before it arrived is not used', async () => {
    const { credentials, transport, time } = open()
    transport.onSend = (sent) => void time.after(2_000, () => giveToken(sent, 1))
    const had = credentials.obtain()
    await time.advance(2_000)
    await had
    expect(credentials.findProblem()).toMatchObject({ reason: 'not-understood' })
  })

  it('request times out after ten seconds', async () => {
    const { credentials, transport, time } = open()
    void credentials.obtain()
    await time.advance(9_999)
    expect(transport.underWay()).toBe(1)
    await time.advance(1)
    expect([transport.underWay(), credentials.findProblem()?.reason]).toEqual([0, 'source-failed'])
  })

  it('that cannot be obtained is retried after growing delays, and logged once', async () => {
    const { credentials, transport, time, lines } = open()
    transport.onSend = (sent) => sent.fail('unreachable')
    const pauses: number[] = []
    for (let at = 0; at < 8; at += 1) {
      await credentials.obtain()
      const from = time.monotonicMs()
      while (credentials.findProblem()) await time.advance(250)
      pauses.push(time.monotonicMs() - from)
    }
    expect(pauses).toEqual([750, 1_500, 3_000, 6_000, 12_000, 24_000, 45_000, 45_000])
    expect(lines).toHaveLength(1)
    transport.onSend = giveToken
    await credentials.obtain()
    expect(lines.map(({ line }) => line)).toEqual([
      'warn: a provider issues no access token; trying again',
      'info: a provider issues access tokens again',
    ])
  })

  it('is not requested for as long as the provider asks', async () => {
    const { credentials, transport, time } = open()
    transport.onSend = (sent) => sent.reply({ status: 429, retryAfter: '30' })
    await credentials.obtain()
    await time.advance(29_999)
    expect(credentials.findProblem()).toBeDefined()
    await time.advance(1)
    expect(credentials.findProblem()).toBeUndefined()
  })

  it('serves to its end when it cannot be renewed, without hammering', async () => {
    const { credentials, transport, time } = open()
    transport.onSend = (sent) => giveToken(sent, 100)
    await credentials.obtain()
    transport.onSend = (sent) => sent.fail('unreachable')
    await time.advance(80_000)
    for (let at = 0; at < 199; at += 1) {
      expect(credentials.getHeaders()).toBeDefined()
      expect(credentials.findProblem()).toBeUndefined()
      await time.advance(100)
    }
    expect(transport.sent.length).toBeLessThan(7)
    await time.advance(100)
    expect(credentials.getHeaders()).toBeUndefined()
  })

  it('is dropped when it is the one that was refused', async () => {
    const { credentials, transport } = open()
    transport.onSend = giveToken
    await credentials.obtain()
    const first = credentials.getHeaders() ?? {}
    expect(credentials.invalidate(first)).toBe(true)
    expect(credentials.getHeaders()).toBeUndefined()
    await credentials.obtain()
    expect(credentials.invalidate(first)).toBe(true)
    expect(credentials.getHeaders()).toBeDefined()
  })

  it('is no longer waited for when closed', async () => {
    const { credentials, transport, time, lines } = open()
    void credentials.obtain()
    await credentials.close()
    expect([transport.underWay(), time.waiting(), lines]).toEqual([0, 0, []])
  })
})

describe('questions with an access token', () => {
  const asking = () => {
    const opened = openAsker({ credentials: oauth, limits: { circuitFailures: 3 } })
    const { transport } = opened
    const questions = () => transport.sent.filter((sent) => !isTokenRequest(sent))
    const tokenRequests = () => transport.sent.length - questions().length
    return { ...opened, questions, tokenRequests }
  }

  it('wait for it, and leave together', async () => {
    const { asker, time, transport, questions } = asking()
    const asked = asker.ask(about())
    await time.advance(500)
    void asker.ask(about())
    expect(transport.sent).toHaveLength(1)
    transport.onSend = (sent) => sent.answer()
    const [request] = transport.sent
    if (request) giveToken(request)
    await time.settle()
    expect(textOf(await asked)).toMatch(/^value/)
    expect(questions().map(({ numbers }) => numbers.length)).toEqual([2])
    expect(questions()[0]?.request.headers.authorization).toMatch(/^Bearer token-/)
  })

  it('fail at their deadline when no token arrives', async () => {
    const { asker, time, left } = asking()
    const asked = asker.ask(about())
    await time.advance(3_000)
    expect(textOf(await asked)).toBe('deadline')
    await time.advance(10_000)
    expect(left()).toEqual(nothingLeft)
  })

  it('fail at once while no token can be obtained', async () => {
    const { asker, time, transport, tokenRequests } = asking()
    transport.onSend = (sent) => sent.reply({ status: 401 })
    const asked = asker.ask(about())
    await time.advance(5)
    expect(await asked).toEqual({
      ok: false,
      reason: 'refused',
      source: 'vendor',
      says: [{ code: 'refused', quote: 'no access token: answered 401' }],
    })
    for (let at = 0; at < 50; at += 1) {
      expect(asker.ask(about())).toMatchObject({ reason: 'refused' })
      await time.advance(10)
    }
    expect(tokenRequests()).toBe(1)
  })

  it('are sent once more with a new token when the first is refused', async () => {
    const { asker, time, transport, questions, tokenRequests, requested, circuits } = asking()
    let isRefused = true
    transport.onSend = (sent) => {
      if (isTokenRequest(sent)) giveToken(sent)
      else if (isRefused) sent.reply({ status: 401 })
      else sent.answer()
      if (!isTokenRequest(sent)) isRefused = false
    }
    const asked = asker.ask(about())
    await time.advance(5)
    expect(textOf(await asked)).toMatch(/^value/)
    const keys = new Set(questions().map(({ request }) => request.headers.authorization))
    expect([keys.size, tokenRequests(), circuits]).toEqual([2, 2, []])
    expect(requested).toEqual(['scrub refused 0', 'scrub answered 0'])
  })

  it('are refused when the other is not accepted either; then it is left alone', async () => {
    const { asker, time, transport, questions, tokenRequests, lines } = asking()
    transport.onSend = (sent) =>
      isTokenRequest(sent) ? giveToken(sent) : sent.reply({ status: 401 })
    for (let at = 0; at < 20; at += 1) {
      const asked = asker.ask(about())
      await time.advance(5)
      expect(['refused', 'circuit-open']).toContain(textOf(await asked))
    }
    expect([questions().length, tokenRequests()]).toEqual([6, 6])
    expect(lines.map(({ line }) => line)).toEqual([
      'error: a provider refuses the key',
      'warn: requests to a provider are paused, since they keep failing',
    ])
    expect(JSON.stringify(lines)).not.toContain('token-')
  })

  it('are refused also when each request takes new questions along', async () => {
    const { asker, time, transport, circuits, tokenRequests } = asking()
    transport.onSend = (sent) => {
      if (isTokenRequest(sent)) time.after(50, () => giveToken(sent))
      else time.after(10, () => sent.reply({ status: 401 }))
    }
    for (let at = 0; at < 100; at += 1) {
      void asker.ask(about())
      await time.advance(10)
    }
    expect(circuits).toEqual(['scrub open'])
    expect(tokenRequests()).toBeLessThan(7)
  })

  it('under way together need one new token', async () => {
    const { asker, time, transport, questions, tokenRequests } = asking()
    transport.onSend = (sent) => (isTokenRequest(sent) ? giveToken(sent) : undefined)
    const asked = [asker.ask(about())]
    await time.advance(5)
    asked.push(asker.ask(about()))
    await time.advance(5)
    for (const sent of questions()) sent.reply({ status: 401 })
    transport.onSend = (sent) => (isTokenRequest(sent) ? giveToken(sent) : sent.answer())
    await time.advance(5)
    for (const one of asked) expect(textOf(await one)).toMatch(/^value/)
    expect(tokenRequests()).toBe(2)
  })
})
