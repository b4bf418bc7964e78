import { execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
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
import type { DecisionDocument } from '../../../src/gate/decision-document.js'
import { callgate, environmentOf, program, serve } from '../../support/program.js'

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

  it('shows what policy sets aside', async () => {
    const args = ['check', '212-555-0105', '--kind', 'manual', '--at', noon]
    const { out } = await callgate(args, {
      ...environment,
      CALLGATE_POLICY_LITIGATOR_MODE: 'shadow',
    })
    expect(out).toMatch(/^BLOCK/)
    expect(out).toContain('  policy: litigator in shadow, would have blocked (linked to')
    const open = ['check', '212-555-0100', '--kind', 'ai', '--at', noon]
    const shadow = { ...environment, CALLGATE_POLICY_PERMISSION_MODE: 'shadow' }
    expect((await callgate(open, shadow)).out).toMatch(
      /^ALLOW(.|\n)*policy let it pass: permission/,
    )
  })

  it('explains a block, and when the call may be placed', async () => {
    const at = '2026-11-24T03:00:00Z'
    const { out } = await run('check', '212-555-0106', '--kind', 'ai', '--at', at)
    expect(out).toMatch(/^BLOCK {2}2125550106/)
    expect(out).toContain('may be called from 2026-11-24T13:00:00Z')
    expect(out).toContain('[NO] calling-hours')
  })

  it('gives the whole decision as JSON, and an exit code when asked', async () => {
    const args = ['check', '212-555-0100', '--kind', 'ai', '--at', noon, '--json', '--exit-code']
    const { code, out } = await run(...args)
    expect(code).toBe(3)
    expect(JSON.parse(out)).toMatchObject({ decision: 'block', reason: 'no-consent', whatIf: true })
  })

  it('records nothing', async () => {
    const { out } = await run('check', '212-555-0100', '--kind', 'manual', '--json')
    const { id } = JSON.parse(out) as DecisionDocument
    const server = await serve(environment)
    const key = (await run('keys', 'create', '--account', 'sandbox')).out.trim()
    const response = await fetch(`${server.url}/v1/decisions/${id}`, { headers: { loginId: key } })
    expect(response.status).toBe(404)
    expect(await server.end('SIGTERM')).toBe(0)
  })

  const wrong: readonly (readonly [readonly string[], string])[] = [
    [['check', '2125550100'], '--kind'],
    [['check', '2125550100', '--kind', 'robot'], 'Allowed choices are manual, autodialed, ai'],
    [['check', '2125550100', '--kind', 'ai', '--at', 'noon'], "--at 'noon': must be an instant"],
    [
      ['check', '2125550100', '--kind', 'ai', '--at', '2500-01-01'],
      "--at '2500-01-01T00:00:00Z': must be within 50 years of today",
    ],
    [
      ['check', '2125550100', '--kind', 'ai', '--postal', '1234'],
      "--postal '1234': must be a US ZIP code or a Canadian postal code",
    ],
    [
      ['check', '', '--kind', 'ai', '--postal', '1234'],
      "<number> '': is required and must not be empty; --postal '1234': must be",
    ],
    [['check', '2125550100', '--kind', 'ai', '--account', 'x'], "account 'x' not found"],
    [['chekc'], 'unknown command'],
  ]
  for (const [args, text] of wrong) {
    it(`refuses '${args.join(' ')}' with ${text}`, async () => {
      const { code, err, out } = await run(...args)
      expect(code).toBe(2)
      expect(err).toContain(text)
      expect(out).toBe('')
    })
  }
})

describe('callgate keys', () => {
  it('create prints the key and nothing else on standard output', async () => {
    const { code, out, err } = await run('keys', 'create', '--role', 'Agent', '--label', 'dialer 1')
    expect(code).toBe(0)
    expect(out).toMatch(/^[\w-]{44}\n$/)
    expect(err).toMatch(/^key-[0-9a-f]+: Agent of account main/)
  })

  it('list shows ids and never a key; revoke ends a key on a running server', async () => {
    const key = (await run('keys', 'create', '--account', 'sandbox')).out.trim()
    const list = (await run('keys', 'list', '--account', 'sandbox')).out
    expect(list).not.toContain(key)
    const id = list.trim().split('\n').at(-1)?.split(/\s+/)[0] ?? ''
    const server = await serve(environment)
    const status = async () => {
      const url = `${server.url}/v1/predial?number=2125550100&kind=manual`
      return (await fetch(url, { headers: { loginId: key } })).status
    }
    expect(await status()).toBe(200)
    expect((await run('keys', 'revoke', id)).code).toBe(0)
    await expect.poll(status, { timeout: 5_000 }).toBe(401)
    expect((await run('keys', 'revoke', id)).err).toContain('not found')
    expect(await server.end('SIGTERM')).toBe(0)
  })

  it('limited while the server runs holds there, and ends there within a second', async () => {
    const server = await serve(environment)
    const { out, err } = await run('keys', 'create', '--account', 'sandbox', '--can', 'look-up')
    const [key, id] = [out.trim(), err.split(':')[0] ?? '']
    const status = async (path: string) =>
      (await fetch(`${server.url}${path}`, { headers: { loginId: key } })).status
    const scrub = '/app/main/rpc/scrub?phoneList=2125550100'
    expect(await status(scrub)).toBe(200)
    expect(await status('/v1/predial?number=2125550100&kind=manual')).toBe(403)
    expect(await status('/v1/predial?number=911')).toBe(200)
    expect((await run('keys', 'revoke', id)).code).toBe(0)
    await expect.poll(() => status(scrub), { timeout: 5_000 }).toBe(401)
    expect(await status('/v1/predial?number=911')).toBe(200)
    expect(await server.end('SIGTERM')).toBe(0)
  })

  it('refuses a role or an account that does not exist', async () => {
    expect((await run('keys', 'create', '--role', 'King')).code).toBe(2)
    const { code, err } = await run('keys', 'create', '--account', 'nobody')
    expect(code).toBe(1)
    expect(err).toContain("account 'nobody': not found")
  })
})

describe('callgate import', () => {
  it('a list is used by a running server, without a restart', async () => {
    const server = await serve(environment)
    const key = (await run('keys', 'create')).out.trim()
    const reason = async () => {
      const response = await fetch(`${server.url}/v1/decisions`, {
        method: 'POST',
        headers: { loginId: key, 'content-type': 'application/json' },
        body: JSON.stringify({ number: '2127365001', callKind: 'manual', at: noon }),
      })
      return ((await response.json()) as DecisionDocument).reason
    }
    expect(await reason()).toBe('list-not-covering')
    const file = join(dataDir, 'registry.txt')
    writeFileSync(file, '# a registry\n212,7365001\n212,7365002\n212,7365002\n')
    const yesterday = formatDay(Math.floor(Date.now() / 86_400_000) - 1)
    const { code, out } = await run('import', 'us-dnc', file, '--as-of', yesterday)
    expect(code).toBe(0)
    expect(out).toContain(`us-dnc: 2 numbers, covers 1 area code, as of ${yesterday}T00:00:00Z`)
    await expect.poll(reason, { timeout: 5_000 }).toBe('national-dnc')
    expect(await server.end('SIGTERM')).toBe(0)
  })

  it('says what is wrong and leaves what was there', async () => {
    const before = readFileSync(join(dataDir, 'lists/us-dnc.cglist'))
    const file = join(dataDir, 'bad.txt')
    writeFileSync(file, 'abc\ndef\n')
    const bad = await run('import', 'list', 'us-dnc', file)
    expect(bad.code).toBe(1)
    expect(bad.err).toContain('bad.txt')
    expect(bad.err).not.toContain('    at ')
    const named = await run('import', 'list', 'US DNC', file)
    expect(named.code).toBe(1)
    expect(named.err).toMatch(/name 'US DNC': must be .*; use us-dnc/)
    expect((await run('import', 'list', 'us-dnc', '/no/such')).err).toContain('/no/such')
    expect((await run('import', 'numbering', file)).err).toContain('bad.txt')
    const early = await run('import', 'list', 'us-dnc', file, '--as-of', '9030-01-01')
    expect(early.code).toBe(2)
    expect(early.err).toContain("--as-of '9030-01-01': must not be in the future")
    expect(readFileSync(join(dataDir, 'lists/us-dnc.cglist'))).toEqual(before)
  })

  it('takes bad lines, a shorter list and a list no check reads only when told to', async () => {
    const file = join(dataDir, 'vip.txt')
    const importVip = (...more: string[]) => run('import', 'list', 'custom-vip', file, ...more)
    writeFileSync(file, '2127365001\n2127365002\n2127365003\noops\n')
    const refused = await importVip()
    expect(refused.code).toBe(1)
    expect(refused.err).toContain('1 line is bad, 0 allowed (--bad-lines allows more')
    const { out } = await importVip('--bad-lines', '2')
    expect(out).toContain('custom-vip: 3 numbers, ')
    expect(out).toContain('no check reads a list called custom-...\n')
    expect(out).toContain('1 bad lines were left out, 2 allowed\n')
    expect(out).toContain("vip.txt line 4 'oops'")
    writeFileSync(file, '2127365001\n')
    const shrunk = await importVip()
    expect(shrunk.code).toBe(1)
    expect(shrunk.err).toMatch(/vip\.txt: 1 different numbers, fewer than half the 3 .*--allow-shr/)
    expect((await importVip('--allow-shrink')).out).toContain('custom-vip: 1 number, ')
    const wrong = await importVip('--bad-lines', 'many')
    expect(wrong.code).toBe(2)
    expect(wrong.err).toContain("--bad-lines 'many': must be a whole number")
  })
})

describe('callgate projects', () => {
  it('a project’s own hours narrow its calls, and never widen the law', async () => {
    expect((await run('projects', 'create', 'late', '--account', 'sandbox')).out).toBe('LATE\n')
    const hours = (window: string) =>
      run(
        'projects',
        'hours',
        'LATE',
        'NY',
        '--account',
        'sandbox',
        '--mon-fri',
        window,
        '--sat',
        'none',
        '--sun',
        'none',
      )
    const judge = async (at: string) => {
      const args = ['check', '2125550100', '--kind', 'manual', '--project', 'LATE', '--json']
      const { out } = await run(...args, '--at', at)
      return (JSON.parse(out) as DecisionDocument).decision
    }
    await hours('13:00-14:00')
    expect(await judge(noon)).toBe('block')
    expect(await judge('2026-11-23T18:30:00Z')).toBe('allow')
    await hours('03:00-23:00')
    expect(await judge('2026-11-23T08:30:00Z')).toBe('block')
    expect(await judge(noon)).toBe('allow')
    expect((await run('projects', 'list', '--account', 'sandbox')).out).toContain('LATE')
    expect((await hours('25:00-26:00')).err).toContain("'25:00-26:00'")
  })
})

describe('callgate serve', () => {
  it('leaves the keys of a first start in a file of its owner, with a curl line that answers', async () => {
    const fresh = join(mkdtempSync(join(tmpdir(), 'callgate-fresh-')), "the owner's data")
    const first = await serve({ CALLGATE_DATA_DIR: fresh })
    const file = join(fresh, 'first-keys.txt')
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
    expect(await first.end('SIGINT')).toBe(0)
    const second = await serve({ CALLGATE_DATA_DIR: fresh })
    expect(second.output()).not.toContain('first-keys.txt')
    expect(await second.end('SIGTERM')).toBe(0)
    rmSync(dirname(fresh), { recursive: true, force: true })
  })

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
    await expect.poll(() => output, { timeout: 15_000 }).toMatch(/curl -s .*\r\n/)
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

  it('has every acknowledged write on disk when it is killed', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'callgate-killed-'))
    const killed = await serve({ CALLGATE_DATA_DIR: fresh })
    const headers = { loginId: killed.keys.sandbox }
    const numbers = Array.from({ length: 50 }, (_, index) => String(3_105_551_000 + index))
    const acknowledged: string[] = []
    const writes = numbers.map(async (number) => {
      const path = `/app/main/rpc/pdnc?phoneList=${number}&actionType=add`
      const response = await fetch(`${killed.url}${path}`, { headers }).catch(() => undefined)
      if (response?.status === 200) acknowledged.push(number)
      if (acknowledged.length === 20) void killed.end('SIGKILL')
    })
    await Promise.all(writes)
    expect(acknowledged.length).toBeGreaterThanOrEqual(20)
    const again = await serve({ CALLGATE_DATA_DIR: fresh })
    const path = `/app/main/rpc/pdnc?phoneList=${acknowledged.join(',')}&actionType=status`
    const text = await (await fetch(`${again.url}${path}`, { headers })).text()
    const listed = text
      .trim()
      .split('\n')
      .filter((line) => /^\d{10},\d{4}-/.test(line))
    expect(listed).toHaveLength(acknowledged.length)
    await again.end('SIGTERM')
    rmSync(fresh, { recursive: true, force: true })
  })

  it('is the only server over its data folder, until it ends', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'callgate-alone-'))
    const first = await serve({ CALLGATE_DATA_DIR: fresh })
    const second = await callgate(['serve'], { CALLGATE_DATA_DIR: fresh, CALLGATE_HTTP_PORT: '0' })
    expect(second.code).toBe(1)
    expect(second.err).toContain('another callgate is already serving this data folder')
    await first.end('SIGKILL')
    const third = await serve({ CALLGATE_DATA_DIR: fresh })
    expect(await third.end('SIGTERM')).toBe(0)
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

  it('teaches with --help', async () => {
    const { code, out } = await run('--help')
    expect(code).toBe(0)
    for (const word of ['serve', 'check', 'import', 'accounts', 'keys', 'projects', 'First']) {
      expect(out).toContain(word)
    }
    expect((await run('import', 'list', '--help')).out).toContain('us-dnc')
  })
})
