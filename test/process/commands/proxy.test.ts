/** `callgate proxy` as a process of its own, before a fake platform and with a running server as its gate. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Retell from 'retell-sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startChild } from '../../../scripts/children.mjs'
import { type FakeGate, openFakeGate } from '../../proxy/fake-gate.js'
import { callRequests } from '../../proxy/platform-requests.js'
import { type FakePlatform, openFakePlatform, sendRaw } from '../../proxy/proxy-fixture.js'
import { callgate, environmentOf, program, type Serving, serve } from '../../support/program.js'

const dataDir = mkdtempSync(join(tmpdir(), 'callgate-proxy-'))
const midday = `${new Date().toISOString().slice(0, 10)}T17:00:00Z`
let server: Serving
let gate: FakeGate
let upstream: FakePlatform
let proxy: { readonly url: string; readonly child: ChildProcess; output(): string }

beforeAll(async () => {
  server = await serve({ CALLGATE_DATA_DIR: dataDir, CALLGATE_SANDBOX_AT: midday })
  upstream = await openFakePlatform()
  gate = await openFakeGate({ url: server.url, key: server.keys.sandbox })
  const events = ['--events-listen', '127.0.0.1:0']
  proxy = await startProxy(
    ['--platform', 'retell', '--gate', gate.url, '--upstream', upstream.url, ...events],
    server.keys.sandbox,
  )
})
afterAll(async () => {
  proxy.child.kill('SIGKILL')
  await server.end('SIGTERM')
  await upstream.close()
  await gate.close()
  rmSync(dataDir, { recursive: true, force: true })
})

async function startProxy(options: readonly string[], key: string) {
  const child = startChild(
    process.execPath,
    [program, 'proxy', '--listen', '127.0.0.1:0', ...options],
    {
      env: environmentOf({
        CALLGATE_KEY: key,
        CALLGATE_EVENTS_SECRET: 'events-secret',
        CALLGATE_EVENTS_SECRET_PREVIOUS: 'old-secret',
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (bytes: Buffer) => {
      output += bytes.toString()
      const [, found] = /listens on (\S+)\n[\s\S]*\n/.exec(output) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`the proxy ended with ${code}:\n${output}`)))
  })
  return { url, child, output: () => output }
}

const { path, body, contentType } = callRequests.retell
const call = (number: string) => ({
  path,
  headers: [
    ['Content-Type', contentType],
    ['Authorization', 'Bearer platform-secret'],
  ] as const,
  body: body(number),
})

describe('the proxy', () => {
  test('forwards what the server allows, and refuses what it blocks', async () => {
    expect((await sendRaw(proxy.url, call('+12125550106'))).status).toBe(200)
    expect(upstream.received).toHaveLength(1)
    const blocked = await sendRaw(proxy.url, call('+12125550100'))
    expect(blocked.status).toBe(403)
    expect(JSON.parse(blocked.body)).toMatchObject({ reason: 'no-consent' })
    expect(upstream.received).toHaveLength(1)
    expect(proxy.output()).toContain('call forwarded')
    expect(proxy.output()).not.toContain('platform-secret')
    expect(proxy.output()).not.toContain(server.keys.sandbox)
  })

  test('hands on the events of the platform, and says what it can fetch', async () => {
    await gate.until(() => gate.stored['/v1/platform-reports'].length > 0)
    expect(gate.stored['/v1/platform-reports']).toEqual([{ platform: 'retell', canFetch: true }])
    const text = JSON.stringify({ event: 'call_ended', call: { call_id: 'c' } })
    const [, address = ''] = /come in on (\S+)\n/.exec(proxy.output()) ?? []
    const send = async (secret: string) =>
      await fetch(address, {
        method: 'POST',
        body: text,
        headers: {
          'content-type': 'application/json',
          'x-retell-signature': await Retell.sign(text, secret),
        },
      })
    expect((await send('another-secret')).status).toBe(401)
    expect((await send('events-secret')).status).toBe(200)
    expect((await send('old-secret')).status).toBe(200)
    expect(gate.stored['/v1/platform-events'].map(({ body }) => body)).toEqual([text, text])
    await gate.until(() => gate.stored['/v1/platform-reports'].length > 1)
    expect(gate.stored['/v1/platform-reports'][1]).toEqual({
      platform: 'retell',
      refusedSignatures: 1,
    })
    expect(proxy.output()).not.toContain('events-secret')
  })

  test('an opt-out is in force with the very next call', async () => {
    const optOut = '/app/main/rpc/pdnc?phoneList=2125550106&actionType=add'
    const headers = { loginId: server.keys.sandbox }
    expect((await fetch(`${server.url}${optOut}`, { headers })).status).toBe(200)
    const { length } = upstream.received
    expect((await sendRaw(proxy.url, call('+12125550106'))).status).toBe(403)
    expect(upstream.received).toHaveLength(length)
  })

  test('places no call without the server, and ends with status 0', async () => {
    const { length } = upstream.received
    server.signal('SIGSTOP')
    const reply = await sendRaw(proxy.url, call('+13055550106'))
    server.signal('SIGCONT')
    expect(reply.status).toBe(403)
    expect(JSON.parse(reply.body)).toMatchObject({ reason: 'undecided' })
    expect(upstream.received).toHaveLength(length)
    const ended = once(proxy.child, 'exit')
    proxy.child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })
})

test.each([
  [['--platform', 'other'], /'other' is invalid/],
  [['--platform', 'livekit'], /--upstream is missing/],
  [['--platform', 'vapi', '--upstream', 'https://a.example/v1'], /--upstream 'https:/],
  [['--platform', 'vapi', '--deadline', '0'], /--deadline '0'/],
  [['--platform', 'vapi', '--listen', '8485'], /--listen '8485'/],
  [['--platform', 'vapi', '--kind', 'robot'], /'robot' is invalid/],
])('%j is refused', async (options, message) => {
  const args = ['proxy', '--gate', 'http://127.0.0.1:1', ...options]
  const { code, err } = await callgate(args, { CALLGATE_KEY: 'key' })
  expect([code, err]).toEqual([2, expect.stringMatching(message)])
})

test.each([
  ['vapi', {}, /set CALLGATE_EVENTS_SECRET/],
  ['twilio', { CALLGATE_EVENTS_SECRET: 'x' }, /--events-url is missing/],
  ['livekit', { CALLGATE_EVENTS_SECRET: 'x' }, /<API key>:<API secret>/],
  ['telnyx', { CALLGATE_EVENTS_SECRET: 'x' }, /CALLGATE_EVENTS_SECRET: must be .*public key/],
  ['telnyx', { CALLGATE_EVENTS_SECRET_PREVIOUS: 'x' }, /CALLGATE_EVENTS_SECRET_PREVIOUS: must be/],
] as const)('the events of %s are refused with %j', async (platform, environment, message) => {
  const upstreamOption = ['--upstream', 'https://a.example']
  const args = ['proxy', '--gate', 'http://127.0.0.1:1', '--platform', platform, ...upstreamOption]
  const { code, err } = await callgate([...args, '--events-listen', '127.0.0.1:0'], {
    CALLGATE_KEY: 'key',
    ...environment,
  })
  expect([code, err]).toEqual([2, expect.stringMatching(message)])
})

test.each([
  ['livekit', 'key', /must not be set with --platform livekit, which keeps no words/],
  ['twilio', 'token', /must be <account or project id>:<token>/],
] as const)('a read key for %s is refused: %s', async (platform, key, message) => {
  const args = ['proxy', '--gate', 'http://127.0.0.1:1', '--platform', platform]
  const { code, err } = await callgate([...args, '--upstream', 'https://a.example'], {
    CALLGATE_KEY: 'key',
    CALLGATE_PLATFORM_READ_KEY: key,
  })
  expect([code, err]).toEqual([2, expect.stringMatching(message)])
})

test('a key is required', async () => {
  const args = ['proxy', '--gate', 'http://127.0.0.1:1', '--platform', 'vapi']
  const { code, err } = await callgate(args, {})
  expect([code, err]).toEqual([2, expect.stringMatching(/CALLGATE_KEY/)])
})
