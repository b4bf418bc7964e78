/**
 * A stranger's budget: 100 connections of somebody without a key at each address that answers one, in five
 * ways, beside 50 decisions a second. Counted is what must not be done for each request.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import { DefaultQueryExecutor } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createMcpHttpServer } from '../../../src/commands/mcp/mcp-http.js'
import { createLogger } from '../../../src/observability/log.js'
import { openEventServer } from '../../../src/proxy/events/event-server.js'
import { platforms } from '../../../src/proxy/platforms/platforms.js'
import { type Listener, listenOn } from '../../../src/runtime/listen.js'
import { systemTimers } from '../../../src/runtime/runtime.js'
import { openTestProxy } from '../../proxy/proxy-fixture.js'
import {
  clientSecret,
  oidcEnvironment,
  openIdentityProvider,
} from '../../support/identity-provider.js'
import {
  consoleAddresses,
  mainAddresses,
  type OpenAddress,
  otherPorts,
  refusing,
} from '../../support/open-addresses.js'
import { openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'
import { openTestWitness } from '../../support/test-witness.js'

const connectionsOfKind = 20
const requestsOfConnection = 5
const decisionEveryMs = 20

const folder = mkdtempSync(join(tmpdir(), 'callgate-strangers-'))
const secretFile = join(folder, 'client-secret')
writeFileSync(secretFile, `${clientSecret}\n`, { mode: 0o600 })

let running: TestCallgate
/** As they are registered: of the server, and of the console. */
let mainPaths: readonly string[]
let consolePaths: readonly string[]

beforeAll(async () => {
  const register = vi.spyOn(express.Router.prototype, 'route')
  const registered = () => register.mock.calls.splice(0).map(([path]) => String(path))
  const { issuer } = await openIdentityProvider()
  running = await openTestCallgate({
    environment: {
      ...oidcEnvironment(issuer, secretFile),
      CALLGATE_PERMITS_ISSUER: 'https://gate.example',
      CALLGATE_PERMITS_EDGES: '{ edge-a: {} }',
    },
  })
  mainPaths = registered()
  await fetch(`${running.url}/console/sign-in`)
  consolePaths = registered().map((path) => `/console${path === '/' ? '' : path}`)
  register.mockRestore()
})
afterAll(async () => {
  await running.end()
  rmSync(folder, { recursive: true, force: true })
})

/** Those where somebody without a key gets more than that a key is needed. */
async function findOpen(paths: readonly string[]): Promise<readonly string[]> {
  const open = new Set<string>()
  for (const path of paths) {
    for (const method of ['GET', 'POST']) {
      const address = running.url + path.replace(/:\w+/g, 'x')
      const response = await fetch(address, { method, redirect: 'manual' })
      await response.arrayBuffer()
      const isSentAway = response.headers.get('location') === '/console/sign-in'
      const isOfOtherSite = method === 'POST' && response.status === 403
      if (![401, 405].includes(response.status) && !isSentAway && !isOfOtherSite) open.add(path)
    }
  }
  return [...open]
}

const nameOf = ({ method, path }: Pick<OpenAddress, 'method' | 'path'>) => `${method} ${path}`

describe('the list of addresses that need no key', () => {
  it('has all of the main port', async () => {
    expect(mainPaths.length).toBeGreaterThan(80)
    const listed = mainAddresses.map(({ path }) => path)
    expect((await findOpen(mainPaths)).toSorted()).toEqual(listed.toSorted())
  })

  it('has all of the console but its style sheets and scripts', async () => {
    expect(consolePaths.length).toBeGreaterThan(30)
    const pages = consolePaths.filter((path) => !path.startsWith('/console/assets/'))
    const listed = consoleAddresses.map(({ path }) => path)
    expect((await findOpen(pages)).filter((path) => !listed.includes(path))).toEqual([])
    expect(listed.filter((path) => !pages.includes(path))).toEqual([])
  })

  it('has all ports', () => {
    const source = join(import.meta.dirname, '../../../src')
    const opening = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
      (path) =>
        path.endsWith('.ts') &&
        /from 'node:http'/.test(readFileSync(join(source, path), 'utf8')) &&
        /\bcreateServer\(/.test(readFileSync(join(source, path), 'utf8')),
    )
    // The fake vendor is for tests of others.
    const expected = [...Object.keys(otherPorts), 'http/server.ts']
    expect(opening.filter((path) => !path.startsWith('fake-vendor/')).sort()).toEqual(
      expected.sort(),
    )
  })
})

/** Sends texts, each after the answer to the one before it, and gives the statuses. */
function talk(
  url: string,
  texts: readonly string[],
  { isHead = false } = {},
): Promise<readonly string[]> {
  const statuses: string[] = []
  const socket = connectTo(url)
  let received = Buffer.alloc(0)
  let sent = 0
  const send = () => (sent < texts.length ? socket.write(texts[sent++] as string) : socket.end())
  socket.on('connect', send).on('data', (bytes) => {
    received = Buffer.concat([received, bytes])
    const length = answerLength(received, isHead)
    if (length === undefined) return
    statuses.push(received.toString('latin1', 9, 12))
    received = received.subarray(length)
    send()
  })
  return new Promise((resolve) => socket.once('close', () => resolve(statuses)))
}

function connectTo(url: string) {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname).on('error', () => undefined)
}

/** Of the whole answer at the start; `undefined` while it has not come. */
function answerLength(received: Buffer, isHead: boolean): number | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = received.toString('latin1', 0, end)
  if (isHead || / (?:304|204) /.test(head.slice(0, 20))) return end + 4
  const length = /^content-length: (\d+)$/im.exec(head)?.[1]
  if (length !== undefined) {
    return received.length >= end + 4 + Number(length) ? end + 4 + Number(length) : undefined
  }
  const last = received.indexOf('0\r\n\r\n', end)
  return last === -1 ? undefined : last + 5
}

const requestOf = (method: string, path: string, more = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`

/** Five kinds of sender, 100 connections in all. Gives the count of requests and the answers. */
async function attack(url: string, { method, path, example = path }: OpenAddress) {
  const form = `key=${'k'.repeat(44)}`
  const body =
    method === 'POST'
      ? `Origin: http://localhost\r\nContent-Length: ${form.length}\r\nContent-Type: application/x-www-form-urlencoded\r\n`
      : ''
  const sent = method === 'POST' ? form : ''
  const plain = requestOf(method, example, body) + sent
  const large = requestOf(method, example, `x: ${'y'.repeat(12_000)}\r\n${body}`) + sent
  const many = <Value>(value: Value, count = requestsOfConnection) =>
    Array.from({ length: count }, () => value)
  const held = many(undefined, 2 * connectionsOfKind).map((_, index) => {
    const socket = connectTo(url)
    // Half of a body, or answers that nobody reads.
    if (index % 2 === 0) {
      socket.write(`${requestOf('POST', example, 'Content-Length: 900\r\n')}{`)
      return socket.resume()
    }
    socket.pause().write(plain.repeat(3))
    return socket
  })
  const talks = many(undefined, connectionsOfKind).flatMap(() => [
    talk(url, many(plain)),
    talk(url, many(large)),
  ])
  const heads = many(requestOf('HEAD', example))
  const headTalks = many(undefined, connectionsOfKind).map(() => talk(url, heads, { isHead: true }))
  const statuses = (await Promise.all(talks)).flat()
  const count = statuses.length + (await Promise.all(headTalks)).flat().length + held.length
  for (const socket of held) socket.destroy()
  return { statuses, count }
}

async function decide(): Promise<string> {
  const response = await running.postJson('/v1/decisions', {
    number: '2125550106',
    callKind: 'manual',
  })
  const { decision, reason } = (await response.json()) as Record<string, unknown>
  return `${response.status} ${decision} ${reason}`
}

/** 50 a second. */
function decideMeanwhile(): { end(): Promise<readonly string[]> } {
  const answers: Promise<string>[] = []
  const timer = setInterval(() => answers.push(decide().catch(String)), decisionEveryMs)
  return {
    end() {
      clearInterval(timer)
      return Promise.all(answers)
    },
  }
}

describe('100 connections of strangers beside 50 decisions a second', () => {
  // The first ones find nothing in the caches.
  beforeAll(async () => {
    for (let made = 0; made < 10; made += 1) await decide()
  })

  const all = [...mainAddresses, ...consoleAddresses, ...refusing]

  it.each(all.map((address) => [nameOf(address), address] as const))(
    '%s',
    async (_name, address) => {
      const prototype = Object.getPrototypeOf(DefaultQueryExecutor.prototype)
      const queries = vi.spyOn(prototype, 'executeQuery')
      const renders = vi.spyOn(running.callgate.metrics, 'render')
      const linesBefore = running.logLines.length
      const startedAt = performance.now()
      const decisions = decideMeanwhile()
      const { statuses, count } = await attack(running.url, address)
      const decided = await decisions.end()
      const seconds = (performance.now() - startedAt) / 1_000
      const lines = running.logLines.slice(linesBefore).filter((line) => !isOfDecision(line))
      const sql = queries.mock.calls.map(([query]) => String((query as { sql?: string }).sql))
      const rendered = renders.mock.calls.length
      queries.mockRestore()
      renders.mockRestore()
      expect(statuses.filter((one) => ![String(address.status), ...spared].includes(one))).toEqual(
        [],
      )
      expect(statuses.length).toBe(2 * connectionsOfKind * requestsOfConnection)
      expect(decided.filter((one) => one !== '200 allow permitted')).toEqual([])
      expect(rendered).toBeLessThanOrEqual(11 + seconds)
      expect(sql.length, sql.join('\n')).toBeLessThan(count / 4 + 10 * seconds)
      expect(lines.length, lines.join('')).toBeLessThan(20)
    },
  )
})

/** What strangers may not have now. */
const spared = ['429', '503']
const isOfDecision = (line: string) => /"message":"decision"/.test(line)

describe('100 connections of strangers at another port', () => {
  const lines: string[] = []
  const log = createLogger('debug', { write: (line) => void lines.push(line) })
  const asked: unknown[] = []
  const ask = async () => {
    asked.push('gate')
    throw new Error('nobody may ask it')
  }
  const servers: Record<string, Listener> = {}
  beforeAll(async () => {
    const gate = { judge: ask, recordEvent: ask, report: async () => undefined, recordCalls: ask }
    const open = {
      'commands/mcp/mcp-http.ts': () =>
        listenOn(
          createMcpHttpServer({
            gate: { url: running.url, timeoutMs: 1_000 } as never,
            publicUrl: 'http://localhost',
            onError: (error) => void lines.push(String(error)),
          }),
          { host: '127.0.0.1', port: 0 },
        ),
      'evidence/witness/witness-server.ts': () => openTestWitness({ folder, log }),
      'proxy/events/event-server.ts': () =>
        openEventServer({
          ...{ platform: platforms.vapi, secrets: ['vapi-secret'], gate, log },
          ...{ deliveries: { add: () => undefined }, publicOrigin: 'https://events.example' },
          ...{ host: '127.0.0.1', port: 0, clock: { now: Date.now }, timers: systemTimers },
        }),
      'proxy/proxy-server.ts': () =>
        openTestProxy({
          ...{ platform: 'vapi', upstream: running.url, gate: { url: running.url, key: '' } },
        }),
    }
    for (const [name, start] of Object.entries(open)) servers[name] = await start()
  })
  afterAll(() => Promise.all(Object.values(servers).map((server) => server.close())))

  const all = Object.entries(otherPorts).flatMap(([file, addresses]) =>
    addresses.map((address) => [file, nameOf(address), address] as const),
  )
  it.each(all)('%s: %s', async (file, _name, address) => {
    lines.length = 0
    const { statuses } = await attack(servers[file]?.url ?? '', address)
    expect(new Set(statuses)).toEqual(new Set([String(address.status)]))
    // One that refuses a body without reading it closes the connection.
    expect(statuses.length).toBeGreaterThanOrEqual(2 * connectionsOfKind)
    expect(asked).toEqual([])
    expect(lines.length, lines.join('')).toBeLessThan(25)
  })
})
