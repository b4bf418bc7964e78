/** `callgate mcp` as clients start it: the built program, its standard streams, and how it ends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startChild } from '../../../scripts/children.mjs'
import { findFreePorts } from '../../support/free-port.js'
import {
  type AnswerQuestion,
  callTool,
  clientKinds,
  connectMcp,
} from '../../support/mcp-clients.js'
import {
  callgate,
  environmentOf,
  forShortRuns,
  program,
  type Serving,
  serve,
} from '../../support/program.js'

let folder: string
let gate: Serving

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-mcp-'))
  gate = await serve({
    CALLGATE_DATA_DIR: join(folder, 'data'),
    // Not the time of this machine, so that the account's is what counts.
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    CALLGATE_PERMITS_ISSUER: 'https://gate.example',
    CALLGATE_PERMITS_EDGES: '{ edge-a: { accounts: [sandbox] } }',
  })
})
afterAll(async () => {
  await gate.end('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
})

describe.each(clientKinds)('client %s', (kind) => {
  const connect = async (key: string, answer?: AnswerQuestion) => {
    const start = {
      command: process.execPath,
      args: [...forShortRuns, program, 'mcp', '--url', gate.url],
      env: environmentOf({ CALLGATE_KEY: key }) as Record<string, string>,
      stderr: 'ignore' as const,
    }
    const transports = {
      current: () => new StdioClientTransport(start),
      old: () => new OldTransport(start),
    }
    const client = await connectMcp(kind, transports, answer)
    onTestFinished(() => client.close())
    return client
  }

  it('starts it and asks over its standard streams', async () => {
    const client = await connect(gate.keys.sandbox)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('may_i_dial')
    const result = await callTool(client, 'may_i_dial', { number: 2125550106 })
    expect(result.structuredContent).toMatchObject({ allowed: true })
  })

  it('is asked to have a call approved elsewhere, if it is of the revision that can wait for it', async () => {
    const data = { CALLGATE_DATA_DIR: join(folder, 'data') }
    const approved = ['--account', 'sandbox', '--approval', 'always']
    const { out: key } = await callgate(['--person', 'ann', 'keys', 'create', ...approved], data)
    const client = await connect(key.trim(), async (message) => {
      const [, command = ''] = /`callgate (approvals approve .*?)`/.exec(message) ?? []
      const { code, err } = await callgate(['--person', 'ben', ...command.split(' ')], data)
      return code === 0 ? 'accept' : Promise.reject(new Error(err))
    })
    const call = { number: '2125550106', callerId: '2125550199' }
    const result = await callTool(client, 'request_permit', call)
    const expected =
      kind === '2.4 auto' ? { status: 'granted', dial: call.number } : { status: 'approval_needed' }
    expect(result.structuredContent).toMatchObject(expected)
  })
})

describe('the program', () => {
  it('records an opt-out although its input ends before the answer', async () => {
    const key = gate.keys.sandbox
    const child = startChild(
      process.execPath,
      [...forShortRuns, program, 'mcp', '--url', gate.url],
      {
        env: environmentOf({ CALLGATE_KEY: key }),
        stdio: ['pipe', 'ignore', 'ignore'],
      },
    )
    const clientInfo = { name: 'test', version: '1' }
    const number = '2125550146'
    const messages = [
      {
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
      },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: { name: 'record_opt_out', arguments: { number } } },
    ]
    const lines = messages.map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }))
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.stdin.end(`${lines.join('\n')}\n`)
    expect(await ended).toBe(0)
    const reply = await fetch(`${gate.url}/v1/decisions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ number, callKind: 'ai' }),
    })
    expect(await reply.json()).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
  })

  it('writes nothing but messages to standard output, and ends with its input', async () => {
    const child = startChild(
      process.execPath,
      [...forShortRuns, program, 'mcp', '--url', gate.url],
      {
        env: environmentOf({ CALLGATE_KEY: gate.keys.sandbox }),
        stdio: ['pipe', 'pipe', 'ignore'],
      },
    )
    let out = ''
    const answered = new Promise<void>((resolve) => {
      child.stdout.on('data', (bytes: Buffer) => {
        out += bytes.toString()
        if (out.includes('"id":2')) resolve()
      })
    })
    const send = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const clientInfo = { name: 'test', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    send({ id: 1, method: 'initialize', params })
    child.stdin.write('no message\n')
    send({ method: 'notifications/initialized' })
    send({ id: 2, method: 'tools/list' })
    await answered
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.stdin.end()
    expect(await ended).toBe(0)
    for (const line of out.trimEnd().split('\n')) {
      expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
    }
  })

  it('serves HTTP until it is told to end', async () => {
    const [port] = await findFreePorts(1)
    const args = [
      ...forShortRuns,
      program,
      'mcp',
      '--url',
      gate.url,
      '--listen',
      `127.0.0.1:${port}`,
    ]
    const child = startChild(process.execPath, args, {
      env: environmentOf({}),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (bytes: Buffer) => {
        if (bytes.toString().includes('listens on')) resolve()
      })
    })
    const url = new URL(`http://127.0.0.1:${port}/mcp`)
    const requestInit = { headers: { authorization: `Bearer ${gate.keys.sandbox}` } }
    const client = await connectMcp('2.4 auto', {
      current: () => new StreamableHTTPClientTransport(url, { requestInit }),
      old: () => {
        throw new TypeError('not asked for')
      },
    })
    const result = await callTool(client, 'may_i_dial', { number: 2125550106 })
    expect(result.structuredContent).toMatchObject({ allowed: true })
    await client.close()
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })

  it.each([
    ['no key', {}, 2, 'an API key is required: set CALLGATE_KEY'],
    ['a wrong key', { CALLGATE_KEY: 'wrong' }, 1, 'the gate answered 401'],
  ])('ends with %s', async (_what, environment, code, message) => {
    const ended = await callgate(['mcp', '--url', gate.url], environment)
    expect(ended).toMatchObject({ code, out: '' })
    expect(ended.err).toContain(message)
  })

  it.each([
    [['--url', 'gate.example'], '--url'],
    [['--url', 'http://127.0.0.1:1', '--listen', '3100'], '--listen'],
    [['--url', 'http://127.0.0.1:1', '--listen', '0.0.0.0:3100'], '--public-url is missing'],
    [['--url', 'http://127.0.0.1:1', '--listen', 'localhost:0'], '--listen'],
  ])('refuses %s', async (args, message) => {
    const ended = await callgate(['mcp', ...args], { CALLGATE_KEY: 'x' })
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toContain(message)
  })
})
