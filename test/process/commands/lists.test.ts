import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { DataOverview } from '../../../src/app/lists/data-overview.js'
import { registerImport } from '../../../src/commands/import/import.js'
import { registerLists } from '../../../src/commands/lists/lists.js'
import { openNumberList } from '../../../src/data/number-list/format/number-list.js'
import { formatDay } from '../../../src/domain/time/dates.js'
import { blocksText } from '../../data/sample-blocks.js'
import { cnacRows, cnacText, nanpaRows, nanpaText } from '../../data/sample-feeds.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { callgate } from '../../support/program.js'
import { runCommand } from '../../support/run-command.js'

const temp = useTempFolder()
const lists = (...args: string[]) =>
  runCommand(registerLists, ['lists', ...args], { dataDir: temp.path })

const today = Math.floor(Date.now() / 86_400_000)

async function importOne(feed: string, content: string, ...more: string[]): Promise<void> {
  const file = temp.write('source.csv', content)
  const args = ['import', ...feed.split(' '), file, ...more]
  const { code, err } = await runCommand(registerImport, args, { dataDir: temp.path })
  expect([code, err.includes('callgate:')]).toEqual([0, false])
}

const importList = (name: string, content: string, age = 1) =>
  importOne(`list ${name}`, content, '--as-of', formatDay(today - age), '--allow-shrink')

const pathOf = (name: string) => temp.file(`lists/${name}.cglist`)
const versionOf = (name: string) => openNumberList(pathOf(name)).version

function cutOff(path: string): void {
  const file = openSync(path, 'r+')
  ftruncateSync(file, statSync(path).size - 40)
  closeSync(file)
}

function flipOneBit(path: string): void {
  const bytes = readFileSync(path)
  const at = bytes.length - 40
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(path, bytes)
}

async function overview(...args: string[]): Promise<DataOverview & { readonly code: number }> {
  const { code, out } = await lists('--json', ...args)
  return { ...(JSON.parse(out) as DataOverview), code }
}

describe('callgate lists', () => {
  it('of nothing: says what is missing, and is no failure', async () => {
    const { code, out, err } = await lists()
    expect(code).toBe(0)
    expect(out).toBe('list  entries  as of  days  version  state\n')
    expect(err).toContain('us-dnc, canada-dnc, litigators\n')
  })

  interface Case {
    readonly name: string
    readonly age: number
    readonly state: string
    readonly shown: string
    readonly code: number
  }
  const cases: readonly Case[] = [
    { name: 'us-dnc', age: 3, state: 'fresh', shown: 'fresh, until ', code: 0 },
    {
      name: 'us-dnc',
      age: 27,
      state: 'soon-stale',
      shown: 'expires soon, used until ',
      code: 0,
    },
    { name: 'us-dnc', age: 33, state: 'stale', shown: 'too old: may be 31 days old, ', code: 1 },
    { name: 'ported-wireless', age: 17, state: 'stale', shown: 'too old: may be 15 days', code: 1 },
    { name: 'state-dnc-tx', age: 33, state: 'fresh', shown: 'fresh, until ', code: 0 },
    { name: 'litigators', age: 900, state: 'fresh', shown: 'fresh\n', code: 0 },
    { name: 'custom-vip', age: 900, state: 'unread', shown: 'not used by any check\n', code: 0 },
  ]
  it.each(cases)('$name of $age days: $state', async ({ name, age, state, shown, code }) => {
    await importList(name, '8505550123\n8505550124\n', age)
    const text = await lists()
    expect(text.out).toMatch(
      new RegExp(`^${name} +2 +\\S+Z +${age} +${versionOf(name)} +${shown}`, 'm'),
    )
    const { lists: rows, code: ended } = await overview()
    expect([text.code, ended]).toEqual([code, code])
    const asOf = `${formatDay(today - age)}T00:00:00Z`
    expect(rows).toMatchObject([{ name, entries: 2, asOf, ageDays: age, state, problem: null }])
  })

  it('tells prefixes, blocks, companies and facts below', async () => {
    const nanpa = temp.write('nanpa.txt', nanpaText(nanpaRows.filter((row) => row.length < 7)))
    const cnac = temp.write('cnac.csv', cnacText(cnacRows))
    const imported = ['import', 'numbering', nanpa, cnac]
    expect((await runCommand(registerImport, imported, { dataDir: temp.path })).code).toBe(0)
    await importOne('ocn', 'ocn,class\nZZ01,wireless\n')
    await importOne('blocks', blocksText([{ block: '8505513' }]))
    await importOne('line-status', '8505550123,connected\n', '--as-of', formatDay(today - 2))
    const { numbering, facts, code } = await overview()
    expect(code).toBe(0)
    expect(numbering.map(({ name, entries, state }) => [name, entries, state])).toEqual([
      ['US', 5, 'in-use'],
      ['CA', 3, 'in-use'],
      ['blocks', 1, 'in-use'],
      ['ocn', 1, 'in-use'],
    ])
    expect(facts).toMatchObject([{ name: 'line-status', entries: 1, ageDays: 2, state: 'in-use' }])
    const { out } = await lists('--verify')
    expect(out).toMatch(/^numbering +entries (.|\n)*^US +5 +2026-07-06(.|\n)*^line-status +1 /m)
  })

  it('a file that is cut off is damaged', async () => {
    await importList('us-dnc', '8505550123\n')
    cutOff(pathOf('us-dnc'))
    const { code, out } = await lists()
    expect(code).toBe(1)
    expect(out).toMatch(/^us-dnc +- +- +- +- +damaged$/m)
    expect(out).toContain(`us-dnc: ${pathOf('us-dnc')}: `)
  })

  it('a changed byte shows, except with --quick, which reads only the ends', async () => {
    await importList('us-dnc', '8505550123\n')
    flipOneBit(pathOf('us-dnc'))
    expect((await overview('--quick')).lists).toMatchObject([{ state: 'fresh' }])
    expect((await overview('--verify')).lists).toMatchObject([{ state: 'damaged' }])
    const { lists: rows, code } = await overview()
    expect([code, rows[0]?.state, rows[0]?.problem]).toEqual([
      1,
      'damaged',
      expect.stringContaining('SHA-256'),
    ])
  })

  it('files that are no lists, and lists under another name, are damaged', async () => {
    await importList('us-dnc', '8505550123\n')
    writeFileSync(pathOf('litigators'), readFileSync(pathOf('us-dnc')))
    writeFileSync(pathOf('canada-dnc'), 'not a list')
    mkdirSync(temp.file('facts'), { recursive: true })
    writeFileSync(temp.file('facts/line-status.sqlite'), 'nor this')
    const { lists: rows, facts, code } = await overview()
    expect([...rows, ...facts].map(({ name, state }) => [name, state])).toEqual([
      ['canada-dnc', 'damaged'],
      ['litigators', 'damaged'],
      ['us-dnc', 'fresh'],
      ['line-status', 'damaged'],
    ])
    expect(rows[1]?.problem).toContain("contains the list 'us-dnc'")
    expect(code).toBe(1)
  })
})

describe('callgate lists versions, rollback', () => {
  it('shows the versions, goes back and forth', async () => {
    await importList('us-dnc', '8505550123\n')
    const first = versionOf('us-dnc')
    await importList('us-dnc', '8505550123\n8505550124\n')
    const second = versionOf('us-dnc')
    const shown = async () => {
      const { code, out } = await lists('versions', 'us-dnc')
      expect(code).toBe(0)
      return out.split('\n').flatMap((line) => {
        const found = /^([0-9a-f]{16}) .* (in use|kept)$/.exec(line)
        return found ? [`${found[1]} ${found[2]}`] : []
      })
    }
    expect(await shown()).toEqual([`${second} in use`, `${first} kept`])
    const back = await lists('rollback', 'us-dnc')
    expect(back.out).toContain(`us-dnc: 1 number, as of `)
    expect(back.out).toContain(`version ${first} is in use again\n`)
    expect(back.err).toContain(`callgate lists rollback us-dnc --to ${second}\n`)
    expect(await shown()).toEqual([`${first} in use`, `${second} kept`])
    expect((await lists('rollback', 'us-dnc', '--to', second)).code).toBe(0)
    expect(versionOf('us-dnc')).toBe(second)
    const { out } = await lists('versions', 'us-dnc', '--json')
    expect(JSON.parse(out)).toMatchObject([
      { version: second, entries: 2, inUse: true, feed: 'list' },
      { version: first, entries: 1, inUse: false },
    ])
  })

  it('goes back from a damaged file, and says when the old list is too old', async () => {
    await importList('us-dnc', '8505550123\n', 60)
    await importList('us-dnc', '8505550124\n')
    cutOff(pathOf('us-dnc'))
    const { code, err } = await lists('rollback', 'us-dnc')
    expect([code, err]).toEqual([0, expect.stringContaining('us-dnc is older than its 31 days')])
    expect(openNumberList(pathOf('us-dnc')).size).toBe(1)
  })

  const wrong: readonly (readonly [readonly string[], number, string])[] = [
    [['versions', 'us-dnc'], 1, "list 'us-dnc' not found"],
    [['versions', '../us-dnc'], 2, "name '../us-dnc': must be"],
    [['rollback', '../us-dnc'], 2, "name '../us-dnc': must be"],
    [['rollback', 'us-dnc'], 1, 'us-dnc'],
    [['rollback', 'us-dnc', '--to', '0123456789abcdef'], 1, '0123456789abcdef'],
    [['rollbakc'], 2, 'too many arguments'],
  ]
  it.each(wrong)('%j is refused', async (args, code, message) => {
    const ended = await lists(...args)
    expect([ended.code, ended.out, ended.err]).toEqual([code, '', expect.stringContaining(message)])
  })
})

describe('the program', () => {
  it('imports, lists and rolls back, with exit codes for cron', async () => {
    const environment = { CALLGATE_DATA_DIR: temp.path }
    const program = (...args: string[]) => callgate(args, environment)
    const file = temp.write('registry.txt', '8505550123\n')
    const old = formatDay(today - 60)
    expect((await program('import', 'us-dnc', file, '--as-of', old)).code).toBe(0)
    const stale = await program('lists')
    expect([stale.code, stale.out]).toEqual([1, expect.stringContaining('too old: ')])
    expect(stale.err).not.toContain('callgate:')
    await program('import', 'us-dnc', file, '--as-of', formatDay(today - 1))
    expect((await program('lists', '--json')).code).toBe(0)
    expect((await program('lists', 'rollback', 'us-dnc')).code).toBe(0)
    expect((await program('lists')).code).toBe(1)
  })
})
