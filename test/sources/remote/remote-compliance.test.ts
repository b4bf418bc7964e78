/** A provider as a whole: four questions, one key, one transport. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { systemTimers } from '../../../src/runtime/runtime.js'
import { RemoteCompliance } from '../../../src/sources/remote/remote-compliance.js'
import { about, fakeProvider, type ProviderSetup } from '../../support/fake-provider.js'
import { quoted } from '../../support/said.js'

function open(setup: ProviderSetup = {}) {
  const provider = fakeProvider(setup)
  return { ...provider, remote: new RemoteCompliance(provider.options) }
}

describe('a provider', () => {
  it('is asked each question at its own address, with the key in a header', async () => {
    const { remote, transport, time } = open()
    void remote.scrub(about())
    void remote.internalDnc(about())
    void remote.litigator(about())
    void remote.legalTime(about())
    await time.advance(5)
    expect(transport.sent.map(({ request }) => request.url.replace(/\?.*/, '')).sort()).toEqual([
      expect.stringMatching(/^https:\/\/base\.test\/v1\.5\//),
      expect.stringMatching(/^https:\/\/base\.test\/v1\.5\//),
      expect.stringMatching(/^https:\/\/rpc\.test\/app\/main\/rpc\/pdnc/),
      expect.stringMatching(/^https:\/\/rpc\.test\/app\/main\/rpc\/scrub/),
    ])
    for (const { request } of transport.sent) {
      expect(request.headers.loginId).toBe('the-secret-key')
      expect(`${request.url}${request.body}`).not.toContain('the-secret-key')
    }
    expect(remote.countPending()).toBe(4)
    await remote.close()
  })

  it('gets no more requests for a failing question, but still for the others', async () => {
    const { remote, transport, time } = open({ limits: { circuitFailures: 1, retries: 0 } })
    transport.onSend = (sent) => {
      if (sent.request.url.includes('/scrub')) sent.fail('unreachable', 'no connection (X)')
    }
    void remote.scrub(about())
    await time.advance(5)
    expect(remote.listCircuits()).toEqual([
      { question: 'scrub', open: true, detail: 'no connection (X)' },
      { question: 'internal-dnc', open: false },
      { question: 'litigator', open: false },
      { question: 'legal-time', open: false },
    ])
    expect(await remote.scrub(about())).toMatchObject({ reason: 'circuit-open', source: 'vendor' })
    void remote.internalDnc(about())
    await time.advance(5)
    expect(transport.sent).toHaveLength(2)
    await remote.close()
  })

  it('without an access token is as good as left alone, and asked for one only', async () => {
    const { remote, transport, time } = open({
      credentials: { kind: 'oauth', clientId: 'a', clientSecret: 'b' },
    })
    transport.onSend = (sent) => sent.reply({ status: 401 })
    const asked = [remote.scrub(about()), remote.legalTime(about())]
    await time.advance(5)
    for (const one of asked) expect(await one).toMatchObject({ reason: 'refused' })
    expect(remote.listCircuits()).toEqual(
      ['scrub', 'internal-dnc', 'litigator', 'legal-time'].map((question) => ({
        question,
        open: true,
        detail: 'no access token: answered 401',
      })),
    )
    expect(transport.sent).toHaveLength(1)
    await remote.close()
  })

  it('that is closed fails its pending questions and leaves nothing open', async () => {
    const { remote, transport, time } = open()
    const asked = [remote.scrub(about()), remote.litigator(about())]
    await time.advance(5)
    asked.push(remote.scrub(about()))
    await remote.close()
    for (const one of asked) {
      expect(await one).toMatchObject({ reason: 'source-failed', says: quoted('closing') })
    }
    expect([remote.countPending(), transport.underWay(), time.waiting()]).toEqual([0, 0, 0])
    expect(transport.isClosed).toBe(true)
  })
})

describe('a provider over real sockets', () => {
  it('that never answers leaves no socket, timer or promise', async () => {
    let open = 0
    const server = createServer(() => undefined)
    server.on('connection', (socket) => {
      open += 1
      socket.on('close', () => {
        open -= 1
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { options } = fakeProvider({
      question: { deadlineMs: 100, numbersPerRequest: 10 },
      limits: { retries: 0 },
    })
    const remote = new RemoteCompliance({
      ...options,
      transport: undefined,
      timers: systemTimers,
      addresses: { baseUrl: url, rpcUrl: url, monitorUrl: url, authUrl: `${url}/oauth/token` },
    })
    const asked = Array.from({ length: 50 }, () => remote.litigator(about()))
    const whys = (await Promise.all(asked)).map((one) => (one.ok ? '' : one.reason))
    expect(new Set(whys)).toEqual(new Set(['deadline']))
    expect(remote.countPending()).toBe(0)
    await remote.close()
    for (let at = 0; at < 100 && open > 0; at += 1) await wait(10)
    expect(open).toBe(0)
    await new Promise((resolve) => server.close(resolve))
  })
})
