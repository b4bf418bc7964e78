/** `callgate keys`: what a key is made with, how it is listed, and what is refused. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerKeys } from '../../src/commands/accounts/keys.js'
import { registerProjects } from '../../src/commands/accounts/projects.js'
import { runCommand } from '../support/run-command.js'

let dataDir: string

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-keys-'))
  const made = ['projects', 'create', 'SALES', '--name', 'Sales']
  expect((await runCommand(registerProjects, made, { dataDir })).err).toBe('')
})

afterAll(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const run = (...args: string[]) => runCommand(registerKeys, ['keys', ...args], { dataDir })

/** The line of `keys list` for a key that was just made, its columns separated by single blanks. */
async function listed(...args: string[]): Promise<string> {
  const { err } = await run('create', ...args)
  const id = /^key-[0-9a-f]+/.exec(err)?.[0] ?? 'none'
  const lines = (await run('list')).out.split('\n')
  return (lines.find((line) => line.startsWith(id)) ?? '').replace(/ +/g, ' ')
}

describe('callgate keys create', () => {
  it('makes a key that may do everything, as before, when nothing is said', async () => {
    expect(await listed()).toMatch(/^key-\w+ main Administrator all any any 1 \S+ - in force$/)
  })

  it('takes an option that is given twice for both values', async () => {
    const line = await listed(
      '--can',
      'decide',
      '--can',
      'consent',
      '--kinds',
      'ai',
      '--kinds',
      'manual',
    )
    expect(line).toContain(' decide,consent ')
    expect(line).toMatch(/ (?:ai,manual|manual,ai) /)
  })

  it('limits it to rights, projects and kinds, in any order and letter case', async () => {
    const line = await listed(
      '--can',
      'look-up, DECIDE,decide',
      '--projects',
      'sales,Main,SALES',
      '--kinds',
      'ai,manual',
      '--role',
      'Agent',
      '--label',
      'dialer 1',
    )
    expect(line).toMatch(
      /^key-\w+ main Agent decide,look-up SALES,main manual,ai 1 \S+ - in force dialer 1$/,
    )
  })

  it('says on standard error what it made, and prints the key alone', async () => {
    const { out, err } = await run(
      'create',
      '--can',
      'decide',
      '--projects',
      'sales',
      '--kinds',
      'ai',
      '--expires',
      '2070-01-31',
    )
    expect(out).toMatch(/^[\w-]{44}\n$/)
    expect(err).toMatch(
      /^key-\w+: Administrator of account main; can: decide; projects: SALES; kinds: ai; expires: 2070-01-31T00:00:00Z\. The key is not shown again\.\n$/,
    )
  })

  const ends: readonly (readonly [string, RegExp])[] = [
    ['2070-01-31', /expires 2070-01-31T00:00:00Z$/],
    ['2070-01-31T17:00:00-05:00', /expires 2070-01-31T22:00:00Z$/],
    ['90d', /expires 2\d{3}-\d\d-\d\dT[\d:.]+Z$/],
    ['12h', /expires 2\d{3}-\d\d-\d\dT[\d:.]+Z$/],
    ['30m', /expires 2\d{3}-\d\d-\d\dT[\d:.]+Z$/],
  ]
  for (const [when, state] of ends) {
    it(`takes --expires ${when}`, async () => {
      expect(await listed('--expires', when)).toMatch(state)
    })
  }

  it('is listed as expired afterwards, and as revoked when it was', async () => {
    const line = await listed('--expires', '1m')
    const id = line.split(' ')[0] ?? ''
    const database = new Database(join(dataDir, 'callgate.sqlite'))
    database.prepare('update api_keys set expires_at = 0 where id = ?').run(id)
    database.close()
    const state = async () => (await run('list')).out.split('\n').find((one) => one.startsWith(id))
    expect(await state()).toMatch(/expired 1970-01-01T00:00:00Z$/)
    expect((await run('revoke', id)).code).toBe(0)
    expect(await state()).toMatch(/revoked \S+$/)
  })

  const words = 'must be one or more of decide, look-up, records, consent, manage, edge, platform'
  const past = 'must be in the future, at most 50 years from now'
  const wrong: readonly (readonly [readonly string[], number, string])[] = [
    [['--can', 'dial'], 2, `--can 'dial': ${words}, separated by commas`],
    [['--can', 'decide,lookup'], 2, `--can 'lookup': ${words}`],
    [['--can', ''], 2, `--can '': ${words}`],
    [['--can', 'decide,'], 2, `--can '': ${words}`],
    [['--kinds', 'robot'], 2, "--kinds 'robot': must be one or more of manual, autodialed, ai"],
    [['--projects', 'NOPE'], 1, "projects 'NOPE': is not a project of account main"],
    [['--projects', 'SALES,'], 1, "projects '': is not a project of account main"],
    [['--projects', 'SALES', '--account', 'sandbox'], 1, "projects 'SALES': is not a project of"],
    [
      ['--attempts-per-hour', 'many'],
      2,
      "--attempts-per-hour 'many': must be a whole number, or any",
    ],
    [
      ['--attempts-per-hour', '0'],
      1,
      "attemptsPerHour '0': must be a whole number from 1 to 1000000",
    ],
    [['--cool-down', '8d'], 1, "coolDownSeconds '691200': must be a whole number from 1 to 604800"],
    [['--cool-down', '1'], 2, "--cool-down '1': must be a time such as 1h or 30m, or any"],
    [['--campaigns', '5'], 1, "campaigns '5': is not a campaign of account main"],
    [
      ['--caller-ids', '911'],
      1,
      "callerIds '911': is not a telephone number of the North American plan",
    ],
    ...['1111111111', '212-055-0199', '911-555-0199', '212-411-0199'].map((number) => {
      const text = `callerIds '${number}': is not a telephone number of the North American plan`
      return [['--caller-ids', number], 1, text] as const
    }),
    [['--regions', 'XX'], 1, "regions 'XX': is not the code of a state or province, such as NY"],
    [['--not-before', '2d', '--expires', '1d'], 1, 'must be before the key expires'],
    [['--approval', 'never'], 2, 'Allowed choices are always, first-contact, any'],
    [['--role', 'King'], 2, 'Allowed choices are Agent, Supervisor, Administrator'],
    [['--account', 'nobody'], 1, "account 'nobody': not found"],
    [['--for', 'robot'], 2, 'Allowed choices are ai-agent, dialer, service'],
    [['--expires', 'soon'], 2, "--expires 'soon': must be a day such as 2027-01-31"],
    [['--expires', '90'], 2, "--expires '90': must be a day"],
    [['--expires', '2027-02-30'], 2, "--expires '2027-02-30': must be a day"],
    [['--expires', '2001-01-01'], 1, `expires '2001-01-01T00:00:00Z': ${past}`],
    [['--expires', '0d'], 1, past],
    [['--expires', '99999d'], 1, past],
  ]
  for (const [args, code, text] of wrong) {
    it(`refuses ${args.join(' ')} and makes no key`, async () => {
      const before = (await run('list')).out
      const ended = await run('create', ...args)
      expect(ended.code).toBe(code)
      expect(ended.err).toContain(text)
      expect(ended.out).toBe('')
      expect((await run('list')).out).toBe(before)
    })
  }
})

describe('callgate keys create --for', () => {
  it('starts with the limits for such a client, each of which an option replaces', async () => {
    const { err } = await run('create', '--for', 'ai-agent', '--cool-down', '2h', '--kinds', 'any')
    expect(err).toMatch(
      /: Agent of account main; can: decide, records; caller IDs: any valid number; attempts an hour: 60; attempts a number and day: 3; cool-down in seconds: 7200; expires: /,
    )
  })
})

async function created(...args: string[]): Promise<string> {
  return /^key-[0-9a-f]+/.exec((await run('create', ...args)).err)?.[0] ?? 'none'
}

describe('callgate keys change', () => {
  it('makes a new version, and keeps what the key was limited to before', async () => {
    const id = await created('--kinds', 'ai', '--attempts-per-hour', '10')
    const changed = await run('change', id, '--attempts-per-hour', '5', '--regions', 'ny, nj')
    expect(changed.err).toBe(`${id}, version 2: kinds: ai; regions: NY, NJ; attempts an hour: 5\n`)
    expect((await run('change', id, '--regions', 'any', '--kinds', 'any')).code).toBe(0)
    const history = (await run('history', id)).out.replace(/ +/g, ' ')
    expect(history).toMatch(/\n1 \S+ \S+ kinds: ai; attempts an hour: 10\n/)
    expect(history).toMatch(/\n2 \S+ \S+ kinds: ai; regions: NY, NJ; attempts an hour: 5\n/)
    expect(history).toMatch(/\n3 \S+ \S+ attempts an hour: 5\n/)
  })

  it('changes nothing when something is wrong', async () => {
    const id = await created()
    const wrong = await run('change', id, '--attempts-per-hour', '5', '--regions', 'XX')
    expect(wrong.code).toBe(1)
    expect((await run('change', id)).code).toBe(2)
    expect((await run('change', 'key-none', '--kinds', 'ai')).err).toContain(
      "active key 'key-none' not found",
    )
    expect((await run('change', id, '--approval', 'first-contact')).err).toContain(
      'version 2: approval by a person: first-contact',
    )
    await run('revoke', id)
    expect((await run('change', id, '--kinds', 'ai')).code).toBe(1)
    expect((await run('history', id)).out.trim().split('\n')).toHaveLength(3)
  })
})

describe('callgate keys change --expires', () => {
  it('names what would outlast the key, and changes nothing', async () => {
    const id = await created('--not-before', '2d', '--expires', '9d')
    const { err, code } = await run('change', id, '--expires', '1d')
    expect(code).toBe(1)
    expect(err).toMatch(/^notBefore '2\S+': must be before the key expires$/)
    expect((await run('history', id)).out).not.toContain('\n2 ')
  })
})

describe('a key with limits that this version cannot read', () => {
  const damaged = async () => {
    const id = await created('--kinds', 'ai')
    const database = new Database(join(dataDir, 'callgate.sqlite'))
    const limits = '{"attemptsPerWeek":5}'
    database.prepare('update api_keys set call_limits = ? where id = ?').run(limits, id)
    database.close()
    return id
  }

  it('is listed as such beside the others, and can be revoked', async () => {
    const id = await damaged()
    const state = async () => (await run('list')).out.split('\n').find((one) => one.startsWith(id))
    expect(await state()).toMatch(/ refused: unreadable limits$/)
    expect((await run('history', id)).out).toMatch(/ unreadable\n/)
    expect((await run('revoke', id)).code).toBe(0)
    expect(await state()).toMatch(/ revoked \S+$/)
  })

  it('is not changed, since limits could be lost, and it is said what to do', async () => {
    const id = await damaged()
    const { code, err } = await run('change', id, '--kinds', 'ai')
    expect(code).toBe(1)
    expect(err).toBe(
      `key ${id} is refused, since this version cannot read its limits (attemptsPerWeek '5': is not a known field); ` +
        'change it with the version that has set them, or revoke it and create another',
    )
  })
})

describe('callgate keys pause', () => {
  it('pauses a key, the agents of an account or all AI calls, until they are resumed', async () => {
    const id = await created()
    for (const subject of [[id], ['--agents-of', 'main'], ['--ai-of', 'main'], ['--ai']]) {
      const pause = ['pause', ...subject, '--because', 'complaints']
      expect((await run(...pause)).err).toMatch(/: paused\n$/)
      expect((await run(...pause)).err).toMatch(/: paused already, nothing was changed\n$/)
    }
    const { out } = await run('list')
    expect(out).toMatch(new RegExp(`${id}.* paused `))
    expect(out).toMatch(/agents of account main: paused \S+ by \S+: complaints\n/)
    expect(out).toMatch(/all AI calls of account main: paused \S+ by \S+: complaints\n/)
    expect(out).toMatch(/all AI calls: paused \S+ by \S+: complaints\n/)
    for (const subject of [[id], ['--agents-of', 'main'], ['--ai-of', 'main'], ['--ai']]) {
      expect((await run('resume', ...subject)).code).toBe(0)
      expect((await run('resume', ...subject)).err).toContain('not paused')
    }
    expect((await run('list')).out).not.toContain('paused')
  })

  it.each([
    [[], 2, 'name one of: the id of a key, --agents-of, --ai-of, --ai'],
    [['key-1', '--ai'], 2, 'name one of'],
    [['key-none'], 1, "key 'key-none': not found"],
    [['--agents-of', 'nobody'], 1, "account 'nobody': not found"],
  ] as const)('refuses %j', async (args, code, text) => {
    const ended = await run('pause', ...args, '--because', 'x')
    expect(ended.code).toBe(code)
    expect(ended.err).toContain(text)
  })

  it('needs a reason', async () => {
    expect((await run('pause', '--ai')).err).toContain('--because')
    expect((await run('pause', '--ai', '--because', ' ')).err).toContain('because')
  })
})
