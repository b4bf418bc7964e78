import { execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startChild } from '../../../scripts/children.mjs'
import { formatDay } from '../../../src/domain/time/dates.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { callgate, environmentOf, program, type Serving, serve } from '../../support/program.js'

let dataDir: string
let environment: Record<string, string>

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-program-'))
  environment = { CALLGATE_DATA_DIR: dataDir, CALLGATE_GATE_DEADLINE_MS: '5000' }
})

afterAll(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const run = (...args: string[]) => callgate(args, environment)
const noon = '2026-11-23T17:00:00Z'

describe('callgate check', () => {
  it('explains an allow: verdict, every check, the rule and its citation', async () => {
    const { code, out } = await run('check', '212-555-0100', '--kind', 'manual', '--at', noon)
    expect(code).toBe(0)
    expect(out).toMatch(/^ALLOW {2}2125550100 {2}manual call, account sandbox\n/)
    for (const check of ['litigator', 'internal-dnc', 'calling-hours', 'permission']) {
      expect(out).toContain(`[ok] ${check}`)
    }
    expect(out).toContain('399-z')
  })
})

describe('commands before a server and beside it', () => {
  let checkedId: string
  let server: Serving

  beforeAll(async () => {
    const args = ['check', '212-555-0100', '--kind', 'ai', '--at', noon, '--json', '--exit-code']
    const { code, out } = await run(...args)
    expect(code).toBe(3)
    const checked = JSON.parse(out) as DecisionDocument
    expect(checked).toMatchObject({ decision: 'block', reason: 'no-consent', whatIf: true })
    checkedId = checked.id
    server = await serve(environment)
  })

  afterAll(async () => {
    expect(await server.end('SIGTERM')).toBe(0)
  })

  const decide = async (key: string, body: object) => {
    const response = await fetch(`${server.url}/v1/decisions`, {
      method: 'POST',
      headers: { loginId: key, 'content-type': 'application/json' },
      body: JSON.stringify({ callKind: 'manual', ...body }),
    })
    return (await response.json()) as DecisionDocument
  }

  it('a check records nothing', async () => {
    const key = server.keys.sandbox
    const find = async (id: string) =>
      (await fetch(`${server.url}/v1/decisions/${id}`, { headers: { loginId: key } })).status
    const { id } = await decide(key, { number: '2125550100' })
    // Then it can be asked for whatever was recorded before.
    await expect.poll(() => find(id)).toBe(200)
    // Until every record before it is indexed, the answer is 503.
    await expect.poll(() => find(checkedId)).toBe(404)
  })

  it('a key that was created, limited, while the server runs holds there, and is revoked there', async () => {
    const { out, err } = await run('keys', 'create', '--account', 'sandbox', '--can', 'look-up')
    const [key, id] = [out.trim(), err.split(':')[0] ?? '']
    const status = async (path: string) =>
      (await fetch(`${server.url}${path}`, { headers: { loginId: key } })).status
    const scrub = '/app/main/rpc/scrub?phoneList=2125550100'
    expect(await status(scrub)).toBe(200)
    expect(await status('/v1/predial?number=2125550100&kind=manual')).toBe(403)
    expect(await status('/v1/predial?number=911')).toBe(200)
    const list = (await run('keys', 'list', '--account', 'sandbox')).out
    expect(list).toContain(id)
    expect(list).not.toContain(key)
    expect((await run('keys', 'revoke', id)).code).toBe(0)
    await expect.poll(() => status(scrub)).toBe(401)
    expect(await status('/v1/predial?number=911')).toBe(200)
    expect((await run('keys', 'revoke', id)).err).toContain('not found')
  })

  it('an imported list is used by the server, without a restart', async () => {
    const reason = async () =>
      (await decide(server.keys.main, { number: '2127365001', at: noon })).reason
    expect(await reason()).toBe('list-not-covering')
    const file = join(dataDir, 'registry.txt')
    writeFileSync(file, '# a registry\n212,7365001\n212,7365002\n212,7365002\n')
    const yesterday = formatDay(Math.floor(Date.now() / 86_400_000) - 1)
    const { code, out } = await run('import', 'us-dnc', file, '--as-of', yesterday)
    expect(code).toBe(0)
    expect(out).toContain(`us-dnc: 2 numbers, covers 1 area code, as of ${yesterday}T00:00:00Z`)
    await expect.poll(reason).toBe('national-dnc')
  })
})

describe('a first start', () => {
  let folder: string
  let first: Serving

  beforeAll(async () => {
    folder = join(mkdtempSync(join(tmpdir(), 'callgate-fresh-')), "the owner's data")
    first = await serve({ CALLGATE_DATA_DIR: folder })
  })

  afterAll(() => {
    rmSync(dirname(folder), { recursive: true, force: true })
  })

  it('leaves its keys in a file of its owner, with a curl line that answers', async () => {
    const file = join(folder, 'first-keys.txt')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    for (const key of Object.values(first.keys)) {
      expect(key).toHaveLength(44)
      expect(first.output()).not.toContain(key)
    }
    expect(first.output()).toContain(`keys of accounts main and sandbox: ${file}\n`)
    const named = first
      .output()
      .split('\n')
      .find((text) => text.includes('"file"'))
    expect(JSON.parse(named ?? '{}')).toMatchObject({ file })
    const line = /curl -s .*/.exec(first.output())?.[0] ?? ''
    const { stdout } = await promisify(execFile)('bash', ['-c', line])
    expect(JSON.parse(stdout)).toMatchObject({ number: '2125550100', callKind: 'manual' })
  })

  it('is the only server over its data folder, until it ends', async () => {
    const settings = { CALLGATE_DATA_DIR: folder, CALLGATE_HTTP_PORT: '0' }
    const second = await callgate(['serve'], settings)
    expect(second.code).toBe(1)
    expect(second.err).toContain('another callgate is already serving this data folder')
  })

  it('has every acknowledged write on disk when it is killed, and the next makes no keys', async () => {
    const headers = { loginId: first.keys.sandbox }
    const numbers = Array.from({ length: 50 }, (_, index) => String(3_105_551_000 + index))
    const acknowledged: string[] = []
    const writes = numbers.map(async (number) => {
      const path = `/app/main/rpc/pdnc?phoneList=${number}&actionType=add`
      const response = await fetch(`${first.url}${path}`, { headers }).catch(() => undefined)
      if (response?.status === 200) acknowledged.push(number)
      if (acknowledged.length === 20) void first.end('SIGKILL')
    })
    await Promise.all(writes)
    expect(acknowledged.length).toBeGreaterThanOrEqual(20)
    expect(await first.ended()).toBe('SIGKILL')
    const again = await serve({ CALLGATE_DATA_DIR: folder })
    const path = `/app/main/rpc/pdnc?phoneList=${acknowledged.join(',')}&actionType=status`
    const text = await (await fetch(`${again.url}${path}`, { headers })).text()
    const listed = text
      .trim()
      .split('\n')
      .filter((line) => /^\d{10},\d{4}-/.test(line))
    expect(listed).toHaveLength(acknowledged.length)
    expect(again.output()).not.toContain('first-keys.txt')
    expect(await again.end('SIGINT')).toBe(0)
  })
})

describe('callgate serve', () => {
  it('shows the keys of a first start at a terminal, once, and writes no file', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'callgate-terminal-'))
    const settings = environmentOf({ CALLGATE_DATA_DIR: fresh, CALLGATE_HTTP_PORT: '0' })
    const command = `'${process.execPath}' '${program}' serve`
    const terminal = startChild('script', ['-qec', command, '/dev/null'], { env: settings })
    let output = ''
    const keyOf = (account: string) =>
      new RegExp(`account ${account} \\(shown once\\): +(\\S{44})\\r?\\n`).exec(output)?.[1] ?? ''
    terminal.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString()
    })
    await expect.poll(() => output).toMatch(/curl -s .*\r\n/)
    const url = /listens on (\S+)/.exec(output)?.[1]
    const headers = { loginId: keyOf('main') }
    expect((await fetch(`${url}/v1.5/Auth/Validate`, { headers })).status).toBe(200)
    const line = /curl -s .*/.exec(output)?.[0] ?? ''
    const { stdout } = await promisify(execFile)('bash', ['-c', line])
    expect(JSON.parse(stdout)).toMatchObject({ accountId: 'sandbox' })
    expect(existsSync(join(fresh, 'first-keys.txt'))).toBe(false)
    terminal.stdin.write('\u0003')
    await once(terminal, 'exit')
    rmSync(fresh, { recursive: true, force: true })
  })

  it('makes no key that nobody can read: without its file there is no start', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'callgate-keyless-'))
    const file = join(fresh, 'first-keys.txt')
    mkdirSync(join(file, 'in-the-way'), { recursive: true })
    const settings = { CALLGATE_DATA_DIR: fresh, CALLGATE_HTTP_PORT: '0' }
    const { code, err } = await callgate(['serve'], settings)
    expect(code).toBe(1)
    expect(err).toContain(`${file}: the keys of the first start cannot be written: `)
    expect(readdirSync(fresh).filter((name) => name.startsWith('first-keys'))).toHaveLength(1)
    expect((await callgate(['keys', 'list'], settings)).out).not.toContain('first start')
    rmSync(file, { recursive: true })
    const server = await serve({ CALLGATE_DATA_DIR: fresh })
    const headers = { loginId: server.keys.main }
    expect((await fetch(`${server.url}/v1.5/Auth/Validate`, { headers })).status).toBe(200)
    expect(await server.end('SIGTERM')).toBe(0)
    rmSync(fresh, { recursive: true, force: true })
  })

  it('refuses bad settings with every problem at once, and does not start', async () => {
    const { code, err } = await callgate(['serve'], {
      ...environment,
      CALLGATE_HTTP_PORT: 'high',
      CALLGATE_GATE_DEADLINE_MS: '-1',
      CALLGATE_COLOUR: 'red',
    })
    expect(code).toBe(2)
    for (const part of ['http.port', 'gate.deadlineMs', "unknown setting 'CALLGATE_COLOUR'"]) {
      expect(err).toContain(part)
    }
  })

  it('refuses rules and sandbox files that cannot be used', async () => {
    const file = join(dataDir, 'rules.yaml')
    writeFileSync(file, 'regions: 5\n')
    for (const variable of ['CALLGATE_CALLING_HOURS_RULES_FILE', 'CALLGATE_SANDBOX_FILE']) {
      const { code, err } = await callgate(['serve'], { ...environment, [variable]: file })
      expect(code).not.toBe(0)
      expect(err).toContain('rules.yaml')
    }
  })

  it('refuses a command that does not exist', async () => {
    const { code, err, out } = await run('chekc')
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain('unknown command')
  })

  it('teaches with --help', async () => {
    const { code, out } = await run('--help')
    expect(code).toBe(0)
    for (const word of ['serve', 'check', 'import', 'accounts', 'keys', 'projects', 'First']) {
      expect(out).toContain(word)
    }
    expect((await run('import', 'list', '--help')).out).toContain('us-dnc')
  })
})
