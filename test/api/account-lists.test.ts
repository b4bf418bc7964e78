/** Lists of accounts, as an operator imports and shares them beside a running server. */
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { registerImport } from '../../src/commands/import/import.js'
import { registerLists } from '../../src/commands/lists/lists.js'
import { refreshData } from '../../src/commands/serve/data-watch.js'
import { formatDay } from '../../src/domain/time/dates.js'
import type { DecisionDocument } from '../../src/gate/record/decision-document.js'
import { runCommand } from '../support/run-command.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const opened: TestCallgate[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.end()
})

const number = '2127361000'
const other = '2127361001'
const today = formatDay(Math.floor(Date.now() / 86_400_000))

interface Lab {
  readonly running: TestCallgate
  /** Of account acme. */
  readonly key: string
  command(...args: string[]): Promise<string>
  /** Fails as the command does. */
  refused(...args: string[]): Promise<string>
  import(name: string, numbers: readonly string[], ...options: string[]): Promise<string>
  decide(to: string, key?: string): Promise<DecisionDocument>
}

async function open(): Promise<Lab> {
  const running = await openTestCallgate({ at: Date.now() })
  opened.push(running)
  const { callgate, dataDir } = running
  for (const id of ['acme', 'beta']) await callgate.accounts.ensure({ id, kind: 'real', name: id })
  const { key } = await callgate.keys.create({
    accountId: 'acme',
    role: 'Administrator',
    label: 'test',
  })
  const run = (...args: string[]) =>
    runCommand(args[0] === 'import' ? registerImport : registerLists, args, { dataDir })
  const command = async (...args: string[]) => {
    const { code, out, err } = await run(...args)
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
    await refreshData(callgate)
    callgate.projects.clearCache()
    return out + err
  }
  return {
    running,
    key,
    command,
    refused: async (...args) => {
      const { code, err } = await run(...args)
      expect(code).not.toBe(0)
      return err
    },
    import: async (name, numbers, ...options) => {
      const file = join(dataDir, 'numbers.txt')
      writeFileSync(file, `${numbers.join('\n')}\n`)
      const codes = name === 'litigators' ? [] : ['--area-codes', '212']
      const list = name === 'state-dnc' ? [name, '--state', 'NY'] : [name]
      const all = [...list, file, ...codes, '--as-of', today, '--allow-shrink', ...options]
      return await command('import', ...all)
    },
    decide: async (to, by = key) => {
      const response = await running.postJson(
        '/v1/decisions',
        { number: to, callKind: 'manual' },
        by,
      )
      return (await response.json()) as DecisionDocument
    },
  }
}

const national = ({ findings }: DecisionDocument) =>
  findings.find(({ check }) => check === 'permission')
const reasonOf = (decision: DecisionDocument) => national(decision)?.reason
const listsOf = (decision: DecisionDocument) =>
  national(decision)?.lists?.map((list) => `${list.name} ${list.version}`)

describe('an account without lists of its own', () => {
  it('is not served from those of another one', async () => {
    const lab = await open()
    await lab.import('us-dnc', [number])
    await lab.import('litigators', [other])
    const decision = await lab.decide(number)
    expect(decision.decision).toBe('block')
    expect(national(decision)).toMatchObject({
      reason: 'list-not-covering',
      detail: expect.stringContaining("account acme has no list 'us-dnc'"),
    })
    expect(decision.findings.find(({ check }) => check === 'litigator')).toMatchObject({
      reason: 'list-missing',
      detail: expect.stringContaining("account acme has no list 'litigators'"),
    })
    expect(reasonOf(await lab.decide(number, lab.running.keys.main))).toBe('national-dnc')
  })

  it('is served by a right, as long as it is in force', async () => {
    const lab = await open()
    await lab.import('us-dnc', [number])
    expect(
      await lab.command('lists', 'share', 'us-dnc', '--with', 'acme', '--because', 'contract 12'),
    ).toBe('acme may use us-dnc of main\n')
    const decision = await lab.decide(number)
    expect(reasonOf(decision)).toBe('national-dnc')
    expect(listsOf(decision)).toEqual([expect.stringMatching(/^us-dnc [0-9a-f]{16}$/)])
    await lab.command('lists', 'unshare', 'us-dnc', '--with', 'acme')
    expect(reasonOf(await lab.decide(number))).toBe('list-not-covering')
    expect(await lab.command('lists', 'rights')).toMatch(
      /acme +us-dnc +main +\S+ +\S.* +\S+Z +\S.* +contract 12/,
    )
  })

  it('may be to the logins of providers, which are those of account main', async () => {
    const lab = await open()
    const share = ['--with', 'acme', '--because', 'contract 13']
    expect(await lab.command('lists', 'share', 'provider', ...share)).toBe(
      'acme may use the logins of providers of main\n',
    )
    expect(await lab.command('lists', 'share', 'all', ...share)).toBe(
      'acme may use every list and the logins of providers of main\n',
    )
    expect(await lab.command('lists', 'rights')).toMatch(/acme +provider +main .* contract 13/)
    expect(await lab.command('lists', 'unshare', 'provider', '--with', 'acme')).toBe(
      'the right of acme to the logins of providers has ended\n',
    )
  })

  it('may use those of any account', async () => {
    const lab = await open()
    await lab.import('us-dnc', [number], '--account', 'beta')
    const because = ['--because', 'same seller']
    await lab.command('lists', 'share', 'all', '--with', 'acme', '--from', 'beta', ...because)
    const decision = await lab.decide(number)
    expect(reasonOf(decision)).toBe('national-dnc')
    expect(listsOf(decision)).toEqual([expect.stringMatching(/^beta\/us-dnc /)])
    // What it has itself applies from then on.
    await lab.import('us-dnc', [other], '--account', 'acme')
    expect(reasonOf(await lab.decide(other))).toBe('national-dnc')
    expect(reasonOf(await lab.decide(number))).not.toBe('national-dnc')
  })

  it('is not covered where a state list of the operator is needed', async () => {
    const lab = await open()
    await lab.import('us-dnc', [], '--account', 'acme')
    await lab.import('litigators', [other], '--account', 'acme')
    const before = reasonOf(await lab.decide(number))
    await lab.import('state-dnc', [number], '--account', 'beta')
    expect(reasonOf(await lab.decide(number))).toBe(before)
    await lab.import('state-dnc', [number])
    expect(national(await lab.decide(number))).toMatchObject({
      reason: 'list-not-covering',
      detail: expect.stringContaining('state-dnc-ny'),
    })
  })
})

it('the same numbers are on disk and in memory once', async () => {
  const lab = await open()
  await lab.import('us-dnc', [number])
  const out = await lab.import('us-dnc', [number], '--account', 'acme')
  const { data, settings } = lab.running.callgate
  const [acme, main] = [data.lists.get('acme/us-dnc'), data.lists.get('us-dnc')]
  expect(acme?.version).toBe(main?.version)
  expect(out).toContain(`acme/us-dnc: 1 number`)
  expect(out).toContain(`version ${main?.version}`)
  const folder = join(settings.dataDir, 'lists')
  const paths = ['us-dnc.cglist', 'accounts/acme/us-dnc.cglist'].map((file) => join(folder, file))
  expect(new Set(paths.map((path) => statSync(path).ino)).size).toBe(1)
  const words = (name: string) => {
    const { tables } = (
      data.lists.get(name) as unknown as { share(): { tables: { words: Uint16Array } } }
    ).share()
    return tables.words.buffer
  }
  expect(words('acme/us-dnc')).toBe(words('us-dnc'))
  // A new list of one of them leaves that of the other as it is.
  await lab.import('us-dnc', [number, other], '--account', 'acme')
  expect(data.lists.get('us-dnc')?.version).toBe(main?.version)
  expect(data.lists.get('acme/us-dnc')?.size).toBe(2)
  expect(await lab.command('lists', 'versions', 'us-dnc', '--account', 'acme')).toMatch(
    new RegExp(`in use[^]*${main?.version}.*kept`),
  )
  await lab.command('lists', 'rollback', 'us-dnc', '--account', 'acme')
  expect(data.lists.get('acme/us-dnc')?.version).toBe(main?.version)
  expect(readdirSync(folder).sort()).toEqual(['accounts', 'us-dnc.cglist'])
})

it('other numbers, another day or other area codes are another list', async () => {
  const lab = await open()
  await lab.import('us-dnc', [number])
  const yesterday = formatDay(Math.floor(Date.now() / 86_400_000) - 1)
  const versionOf = () => lab.running.callgate.data.lists.get('acme/us-dnc')?.version
  const main = lab.running.callgate.data.lists.get('us-dnc')?.version
  await lab.import('us-dnc', [other], '--account', 'acme')
  expect(versionOf()).not.toBe(main)
  await lab.import('us-dnc', [number], '--account', 'acme', '--as-of', yesterday, '--allow-older')
  expect(versionOf()).not.toBe(main)
  await lab.import('us-dnc', [number], '--account', 'acme', '--area-codes', '212,646')
  expect(versionOf()).not.toBe(main)
  await lab.import('us-dnc', [number], '--account', 'acme')
  expect(versionOf()).toBe(main)
})

it('wrong input is refused with what to do', async () => {
  const lab = await open()
  const file = join(lab.running.dataDir, 'numbers.txt')
  writeFileSync(file, `${number}\n`)
  const share = (...args: string[]) => lab.refused('lists', 'share', ...args)
  const because = ['--because', 'contract']
  expect(await lab.refused('import', 'us-dnc', file, '--account', 'nobody')).toBe(
    "account 'nobody' not found (see: callgate accounts list)",
  )
  expect(await lab.refused('import', 'us-dnc', file, '--account', '../../x')).toContain('not found')
  expect(await lab.refused('import', 'us-dnc', file, '--account', 'sandbox')).toBe(
    '--account sandbox: its lists are built in',
  )
  expect(
    await lab.refused('import', 'list', 'ported-wireless', file, '--account', 'acme'),
  ).toContain('ported numbers are the same for all accounts')
  expect(await lab.refused('import', 'list', 'acme/us-dnc', file)).toContain("name 'acme/us-dnc'")
  expect(await share('us-dnc', '--with', 'nobody', ...because)).toContain("'nobody' not found")
  expect(await share('us-dnc', '--with', 'main', ...because)).toContain('its own lists')
  expect(await share('us-dnc', '--with', 'acme', '--from', 'acme', ...because)).toContain(
    'no right',
  )
  expect(await share('us-dnc', '--with', 'sandbox', ...because)).toContain('built in')
  expect(await share('custom-vip', '--with', 'acme', ...because)).toContain("name 'custom-vip'")
  expect(await share('ported-wireless', '--with', 'acme', ...because)).toContain('same for all')
  expect(await share('us-dnc', '--with', 'acme', '--because', ' ')).toContain('because')
  expect(await share('provider', '--with', 'acme', '--from', 'beta', ...because)).toContain(
    'must be main: the logins of other accounts are for themselves',
  )
  expect(await lab.refused('lists', 'unshare', 'us-dnc', '--with', 'acme')).toContain(
    "account 'acme' has no right to us-dnc",
  )
  expect(await lab.refused('lists', 'rollback', 'us-dnc', '--account', '..')).toContain('not found')
})
