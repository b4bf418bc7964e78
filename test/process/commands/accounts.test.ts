/** `callgate accounts ...` as an operator runs it, by itself and beside a running server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { registerAccounts } from '../../../src/commands/accounts/accounts.js'
import { CommandFailure } from '../../../src/commands/command.js'
import { AppError } from '../../../src/errors.js'
import { callgate, type Ended, serve } from '../../support/program.js'

let dataDir: string

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-accounts-'))
  vi.stubEnv('CALLGATE_DATA_DIR', join(dataDir, 'data'))
})

afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Runs the command in this process; a process of its own is slow to start. */
async function run(...args: string[]): Promise<Ended> {
  const said = { out: '', err: '' }
  const say = (stream: 'out' | 'err') => (text: string) => {
    said[stream] += text
  }
  const terminal = { out: say('out'), note: say('err'), interactive: false }
  const program = new Command('callgate').exitOverride()
  program.configureOutput({ writeErr: terminal.note, writeOut: terminal.out })
  registerAccounts(program, terminal)
  try {
    await program.parseAsync(args, { from: 'user' })
    return { code: 0, ...said }
  } catch (error) {
    if (error instanceof CommanderError) return { code: 2, ...said }
    const { out } = said
    if (error instanceof CommandFailure) return { code: error.exitCode, out, err: error.message }
    if (error instanceof AppError) return { code: 1, out, err: error.message }
    throw error
  }
}

/** Rows of `accounts list`, cells parted by two spaces or more. */
const listed = async () =>
  (await run('accounts', 'list')).out
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
const rowOf = async (id: string) => (await listed()).find(([first]) => first === id)

/** The row of an account that was created without options. */
function newRow(
  id: string,
  { kind = 'real', created, name }: { kind?: string; created: unknown; name: string },
) {
  const options = [
    'US',
    'no',
    'yes',
    'unlimited',
    'no',
    'ends-consent',
    '10000',
    'no',
    '-',
    'US,CA',
  ]
  return [id, kind, ...options, created, name]
}

describe('callgate accounts list', () => {
  it('shows what each account may do', async () => {
    const time = expect.stringMatching(/^\d{4}-\S+Z$/)
    expect(await listed()).toEqual([
      [
        'id',
        'kind',
        'country',
        'agents may remove numbers',
        'may scan',
        'scan credits',
        'auto prefix',
        'repeated add',
        'numbers per scrub',
        'AI keeps voice windows',
        'in shadow',
        'calls',
        'created',
        'name',
      ],
      newRow('main', { created: time, name: 'Main account' }),
      newRow('sandbox', { kind: 'sandbox', created: time, name: 'Sandbox' }),
    ])
  })
})

describe('callgate accounts create', () => {
  it('makes another account, which may do what any may', async () => {
    expect(await run('accounts', 'create', 'acme-2', '--name', 'Acme, Inc.')).toEqual({
      code: 0,
      out: 'acme-2\n',
      err: expect.stringContaining('import its own with --account acme-2'),
    })
    const created = expect.stringMatching(/Z$/)
    expect(await rowOf('acme-2')).toEqual(newRow('acme-2', { created, name: 'Acme, Inc.' }))
  })

  it.each([
    [['main', '--name', 'x'], 1, "account 'main' already exists"],
    [['a b', '--name', 'x'], 1, "accountId 'a b': must be 1 to 40 letters"],
    [['acme', '--name', ' '], 1, "name ' ': must be 1 to 200 characters"],
    [['acme'], 2, '--name'],
  ])('refuses %j', async (args, code, text) => {
    const ended = await run('accounts', 'create', ...args)
    expect(ended).toMatchObject({ code, out: '' })
    expect(ended.err).toContain(text)
  })
})

describe('callgate accounts set', () => {
  it('lets agents remove numbers, and takes it back', async () => {
    const setRemoval = (choice: string) =>
      run('accounts', 'set', 'main', '--agents-may-remove', choice)
    expect(await setRemoval('yes')).toEqual({
      code: 0,
      out: '',
      err: 'main: agents may remove numbers: yes\n',
    })
    expect([(await rowOf('main'))?.[3], (await rowOf('sandbox'))?.[3]]).toEqual(['yes', 'no'])
    expect((await setRemoval('no')).err).toBe('main: agents may remove numbers: no\n')
    expect((await rowOf('main'))?.[3]).toBe('no')
  })

  it('has a repeated add ignored, and takes it back', async () => {
    const setRepeated = (choice: string) => run('accounts', 'set', 'main', '--repeated-add', choice)
    expect((await setRepeated('ignored')).err).toBe('main: repeated add: ignored\n')
    expect((await rowOf('main'))?.[7]).toBe('ignored')
    await setRepeated('ends-consent')
    expect((await rowOf('main'))?.[7]).toBe('ends-consent')
  })

  it('lets a scrub hold more numbers, and its AI flag keep the hours of recorded voices', async () => {
    const setTerms = (numbers: string, keeps: string) =>
      run(
        'accounts',
        'set',
        'main',
        '--numbers-per-scrub',
        numbers,
        '--ai-keeps-voice-windows',
        keeps,
      )
    expect((await setTerms('60000', 'yes')).err).toBe(
      'main: numbers per scrub: 60000\nmain: AI keeps voice windows: yes\n',
    )
    expect((await rowOf('main'))?.slice(8, 10)).toEqual(['60000', 'yes'])
    await setTerms('10000', 'no')
    expect((await rowOf('main'))?.slice(8, 10)).toEqual(['10000', 'no'])
  })

  it('changes several things at once and leaves the rest', async () => {
    const ended = await run(
      'accounts',
      'set',
      'main',
      '--country',
      'CA',
      '--scan-credits',
      '250',
      '--may-scan',
      'no',
      '--auto-prefix',
      'yes',
    )
    expect(ended).toEqual({
      code: 0,
      out: '',
      err: 'main: country: CA\nmain: may scan: no\nmain: scan credits: 250\nmain: auto prefix: yes\n',
    })
    expect((await rowOf('main'))?.slice(2, 7)).toEqual(['CA', 'no', 'no', '250', 'yes'])
    await run('accounts', 'set', 'main', '--scan-credits', 'unlimited')
    expect((await rowOf('main'))?.slice(2, 7)).toEqual(['CA', 'no', 'no', 'unlimited', 'yes'])
    expect((await rowOf('sandbox'))?.slice(2, 5)).toEqual(['US', 'no', 'yes'])
  })

  it.each([
    [['nobody', '--country', 'CA'], "account 'nobody' not found"],
    [['main', '--agents-may-remove', 'maybe'], 'Allowed choices are yes, no'],
    [['main', '--repeated-add', 'no'], 'Allowed choices are ends-consent, ignored'],
    [['main', '--country', 'MX'], 'Allowed choices are US, CA'],
    [['main', '--scan-credits', '-1'], "--scan-credits '-1': must be a whole number or unlimited"],
    [['main', '--scan-credits', 'many'], "--scan-credits 'many': must be a whole number"],
    [['main', '--numbers-per-scrub', '9999'], 'must be 10000 (as published) to 100000'],
    [['main', '--numbers-per-scrub', '100001'], 'must be 10000 (as published) to 100000'],
    [['main'], 'nothing to change: give at least one of --agents-may-remove, --country'],
  ])('refuses %j', async (args, text) => {
    const before = await listed()
    const ended = await run('accounts', 'set', ...args)
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toContain(text)
    expect(await listed()).toEqual(before)
  })
})

describe('callgate accounts webhook-secret', () => {
  const secretOf = async (...args: string[]) => {
    const { code, out, err } = await run('accounts', 'webhook-secret', ...args)
    expect([code, err]).toEqual([0, ''])
    return out
  }

  it('prints one secret for ever, and another after it is rotated', async () => {
    const first = await secretOf('main')
    expect(first).toMatch(/^whsec_[\w-]{43}\n$/)
    expect(await secretOf('main')).toBe(first)
    expect(await secretOf('sandbox')).not.toBe(first)
    const rotated = await secretOf('main', '--rotate')
    expect(rotated).toMatch(/^whsec_[\w-]{43}\n$/)
    expect(rotated).not.toBe(first)
    expect(await secretOf('main')).toBe(rotated)
    expect(JSON.stringify(await listed())).not.toContain(rotated.trim())
  })

  it('refuses an account that does not exist', async () => {
    for (const more of [[], ['--rotate']]) {
      const ended = await run('accounts', 'webhook-secret', 'nobody', ...more)
      expect(ended).toMatchObject({ code: 2, out: '' })
      expect(ended.err).toContain("account 'nobody' not found")
    }
  })
})

describe('a running server', () => {
  it('follows at once, for the account alone that is changed', async () => {
    const environment = { CALLGATE_DATA_DIR: join(dataDir, 'served') }
    const server = await serve(environment)
    const program = async (...args: string[]) => (await callgate(args, environment)).out.trim()
    await program('accounts', 'create', 'acme', '--name', 'Acme')
    const keys = {
      main: await program('keys', 'create', '--role', 'Agent'),
      acme: await program('keys', 'create', '--role', 'Agent', '--account', 'acme'),
    }
    const remove = async (key: string) => {
      const url = `${server.url}/app/main/rpc/pdnc?phoneList=2127365009&actionType=remove`
      return (await fetch(url, { headers: { loginId: key } })).status
    }
    expect([await remove(keys.main), await remove(keys.acme)]).toEqual([403, 403])
    await program('accounts', 'set', 'acme', '--agents-may-remove', 'yes')
    expect([await remove(keys.main), await remove(keys.acme)]).toEqual([403, 200])
    expect(await server.end('SIGTERM')).toBe(0)
  })
})
