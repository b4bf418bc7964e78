/** How a provider of look-ups is treated: its pace, its outages, its key, its end. */
import { describe, expect, it } from 'vitest'
import { lookupNames } from '../../../../src/sources/remote/lookups/lookup-options.js'
import type { SentRequest } from '../../../support/fake-provider.js'
import { mostInAMinute } from '../../../support/rate-proof.js'
import { n } from '../../../support/service-subjects.js'
import { openLookups, secretKey } from './lookup-fixture.js'

const numberOf = (index: number) => n(`${2_127_360_000 + index}`)

/** One question of each kind about one number. */
const ask: Readonly<
  Record<
    (typeof lookupNames)[number],
    (provider: ReturnType<typeof openLookups>['provider'], index: number) => Promise<unknown>
  >
> = {
  identity: (provider, index) => provider.identity(numberOf(index)),
  'line-status': (provider, index) => provider.lineStatus(numberOf(index)),
  'res-or-business': (provider, index) => provider.resOrBusiness(numberOf(index)),
  reassigned: (provider, index) =>
    provider.reassigned([{ number: numberOf(index), consentOn: 19_000 }]),
  labels: (provider, index) => provider.labels([numberOf(index)], ['CarrierA']),
}

const ignored = () => undefined

describe.each(lookupNames)('%s', (name) => {
  it('leaves no faster than the limit, in any minute', async () => {
    const { provider, transport, time } = openLookups({ requestsPerMinute: 30 })
    transport.onSend = (sent) => sent.reply({ status: 404 })
    for (let index = 0; index < 1_500; index += 1) {
      if (index % 10 === 0) await time.advance(1_000)
      ask[name](provider, index).catch(ignored)
    }
    await time.advance(120_000)
    const times = transport.sent.map(({ atMs }) => atMs)
    expect(times.length).toBeGreaterThan(60)
    expect(mostInAMinute(times)).toBeLessThanOrEqual(30)
    await provider.close()
  })

  it('is paused after repeated failures', async () => {
    const { provider, transport, circuits, time, outcome } = openLookups()
    transport.onSend = (sent) => sent.fail('unreachable')
    for (let index = 0; index < 20; index += 1) {
      expect(await outcome(ask[name](provider, index), 1_000)).toHaveProperty('error')
    }
    const sent = transport.sent.length
    expect(sent).toBeLessThan(12)
    expect(circuits[0]).toBe(`${name} open`)
    expect(provider.listCircuits().filter(({ open }) => open)).toEqual([
      { question: name, open: true, detail: 'fake unreachable' },
    ])
    const again = await outcome(ask[name](provider, 50), 0)
    expect(String((again as { error: Error }).error)).toContain('requests are paused')
    await time.advance(60_000)
    transport.onSend = (last) => last.reply({ status: 404 })
    await outcome(ask[name](provider, 51))
    expect(transport.sent.length).toBeGreaterThan(sent)
    expect(provider.listCircuits().some(({ open }) => open)).toBe(false)
  })

  it('ends with the provider, leaving nothing', async () => {
    const { provider, transport, time } = openLookups()
    const told = ask[name](provider, 1).then(ignored, (error: Error) => error.message)
    await time.advance(300)
    expect(transport.underWay()).toBe(1)
    transport.onSend = ignored
    const closed = provider.close()
    await time.settle()
    await closed
    expect(await told).toBe('acme: the source failed: closing')
    expect([transport.underWay(), time.waiting(), transport.isClosed]).toEqual([0, 0, true])
    await expect(ask[name](provider, 2)).rejects.toThrow('closing')
  })
})

it('labels keep to the limit of all reputation calls together', async () => {
  const { provider, transport, time } = openLookups({ requestsPerMinute: 6_000 })
  transport.onSend = (sent) => sent.reply({ body: '[]' })
  for (let index = 0; index < 3_000; index += 1) {
    if (index % 25 === 0) await time.advance(1_000)
    ask.labels(provider, index).catch(ignored)
  }
  await time.advance(120_000)
  expect(mostInAMinute(transport.sent.map(({ atMs }) => atMs))).toBeLessThanOrEqual(100)
  await provider.close()
})

it('waits as long as the provider says when it was asked too often', async () => {
  const { provider, transport, time, lines } = openLookups()
  transport.onSend = (sent) => sent.reply({ status: 429, retryAfter: '30' })
  await expect(ask.identity(provider, 1)).rejects.toThrow('no request may be sent for 30 s')
  await expect(ask.identity(provider, 2)).rejects.toThrow('no request may be sent')
  await time.advance(29_000)
  expect(transport.sent).toHaveLength(1)
  expect(lines.join()).toContain('because of its rate limit')
})

describe('an access token', () => {
  const isTokenRequest = ({ request }: SentRequest) => request.url.includes('oauth')
  const oauth = { kind: 'oauth', clientId: 'main', clientSecret: secretKey } as const

  it.each([
    [undefined, 'https://acme.test/oauth/token'],
    ['https://auth.test/v1.5/oauth/token', 'https://auth.test/v1.5/oauth/token'],
  ])('is had before anything is asked (%s)', async (authUrl, url) => {
    const { provider, transport, outcome } = openLookups({ credentials: oauth, authUrl })
    transport.onSend = (sent) => {
      if (!isTokenRequest(sent)) return sent.reply({ status: 404 })
      const body = { token_type: 'Bearer', expires_in: 3600, access_token: 'a-token-of-acme' }
      sent.reply({ body: JSON.stringify(body) })
    }
    await outcome(ask.identity(provider, 1))
    await outcome(ask['line-status'](provider, 1))
    expect(transport.sent.map(({ request }) => request.url)[0]).toBe(url)
    const keys = transport.sent.slice(1).map(({ request }) => request.headers.authorization)
    expect(keys).toEqual(['Bearer a-token-of-acme', 'Bearer a-token-of-acme'])
  })

  it('that cannot be had leaves everything unasked, and shows in the circuits', async () => {
    const { provider, transport, lines, outcome } = openLookups({ credentials: oauth })
    transport.onSend = (sent) => sent.reply({ status: 401, body: `{"error":"${secretKey}"}` })
    expect(await outcome(ask.identity(provider, 1), 500)).toHaveProperty('error')
    expect(provider.listCircuits().every(({ open }) => open)).toBe(true)
    expect(lines.join()).not.toContain('very-secret')
    expect(JSON.stringify(provider.listCircuits())).not.toContain('very-secret')
  })
})
