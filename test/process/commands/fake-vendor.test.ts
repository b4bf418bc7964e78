/** The command as a user's CI runs it: a process of its own, told what to do over HTTP. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { startChild } from '../../../scripts/children.mjs'
import { openRaw } from '../../fake-vendor/raw-client.js'
import { callgate } from '../../support/program.js'

const main = join(import.meta.dirname, '../../../dist/main.js')

interface Running {
  readonly url: string
  readonly output: string
  end(signal: NodeJS.Signals): Promise<number | string>
}

let folder = ''
let child: ChildProcess | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-test-'))
})
afterEach(() => {
  child?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

function start(...args: readonly string[]): Promise<Running> {
  const started = startChild(process.execPath, [main, 'fake-vendor', '--port', '0', ...args], {
    // Settings of a callgate under test, which are none of its own.
    env: { ...process.env, TMPDIR: folder, CALLGATE_SOURCE_KIND: 'remote' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child = started
  const ended = new Promise<number | string>((resolve) =>
    started.once('exit', (code, by) => resolve(code ?? by ?? 'unknown')),
  )
  const end = (signal: NodeJS.Signals) => {
    started.kill(signal)
    return ended
  }
  let output = ''
  return new Promise((resolve, reject) => {
    started.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString()
      const url = /listens on (http:\/\/[^;]+);[\s\S]*fake-vendor\n$/.exec(output)?.[1]
      if (url !== undefined) resolve({ url, output, end })
    })
    void ended.then((code) => reject(new Error(`ended with ${code}:\n${output}`)))
  })
}

const scrub = (url: string, key: string) =>
  fetch(`${url}/app/main/rpc/scrub?phoneList=2125550103`, { headers: { loginId: key } })

describe('callgate fake-vendor', () => {
  it('prints the settings of a callgate that asks it', async () => {
    const { url, output, end } = await start()
    const block = /(\n {2}source:[\s\S]*?)\n\n/.exec(output)?.[1] ?? ''
    const { source } = parse(block) as {
      source: { kind: string; provider: { baseUrl: string; loginId: string } }
    }
    expect(source.kind).toBe('remote')
    expect(source.provider.baseUrl).toBe(url)
    const variables = Object.fromEntries(
      [...output.matchAll(/(CALLGATE_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
    )
    expect(variables).toEqual({
      CALLGATE_SOURCE_KIND: 'remote',
      CALLGATE_SOURCE_PROVIDER_BASE_URL: url,
      CALLGATE_SOURCE_PROVIDER_LOGIN_ID: source.provider.loginId,
    })
    const answer = await scrub(url, source.provider.loginId)
    expect([answer.status, answer.headers.get('x-fake-vendor')]).toEqual([200, 'callgate'])
    expect(await answer.text()).toMatch(/^2125550103,D,/)
    expect(await end('SIGTERM')).toBe(0)
  })

  it('has the faults it is started with, and those it is told of', async () => {
    const { url, end } = await start(
      '--login-id',
      'test-key',
      '--fault',
      'scrub=server-error:502,times=1',
      '--fault',
      'litigator=silent',
      '--requests-per-minute',
      '2',
    )
    const statuses = []
    for (let each = 0; each < 3; each += 1) statuses.push((await scrub(url, 'test-key')).status)
    expect(statuses).toEqual([502, 200, 429])
    const body = JSON.stringify({ scrub: { kind: 'unauthorized' } })
    await fetch(`${url}/fake-vendor/reset`, { method: 'POST' })
    await fetch(`${url}/fake-vendor/faults`, { method: 'PUT', body })
    expect((await scrub(url, 'test-key')).status).toBe(401)
    expect(await end('SIGINT')).toBe(0)
  })

  it('ends at once while requests hang, and leaves no data', async () => {
    const { url, end } = await start('--login-id', 'k', '--fault', 'all=silent')
    expect(readdirSync(folder)).toHaveLength(1)
    const connection = await openRaw(url)
    connection.send('GET /app/main/rpc/scrub?phoneList=2125550100 HTTP/1.1\r\nhost: v\r\n\r\n')
    const counted = async () =>
      (await (await fetch(`${url}/fake-vendor`)).text()).includes('"none":1')
    await expect.poll(counted).toBe(true)
    expect(await end('SIGTERM')).toBe(0)
    expect(await connection.ended()).not.toBe('open')
    expect(readdirSync(folder)).toEqual([])
  })

  const wrong: readonly (readonly [readonly string[], string])[] = [
    [['--port', 'http'], "--port 'http': must be a whole number from 0 to 65535"],
    [['--latency', '-1'], "--latency '-1': must be a whole number from 0 to 600000"],
    [['--requests-per-minute', '0'], "--requests-per-minute '0': must be a whole number from 1"],
    [['--at', 'noon'], "--at 'noon': must be an instant such as"],
    [['--login-id', 'a b'], '--login-id: must be 1 to 200 visible ASCII characters'],
    [['--fault', 'scrub=quiet'], "--fault 'scrub=quiet': scrub.kind 'quiet': must be one of"],
  ]
  it.each(wrong)('refuses %j', async (args, message) => {
    const { code, err, out } = await callgate(['fake-vendor', ...args], {})
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
  })

  it('says which port is taken', async () => {
    const { url, end } = await start()
    const { port } = new URL(url)
    const { code, err } = await callgate(['fake-vendor', '--port', port], {})
    expect(code).toBe(1)
    expect(err).toContain(`--host '127.0.0.1', --port ${port}: cannot listen: `)
    expect(await end('SIGTERM')).toBe(0)
  })
})
