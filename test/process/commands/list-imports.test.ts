import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { registerImport } from '../../../src/commands/import/import.js'
import { formatProgress, startProgress } from '../../../src/commands/progress.js'
import { openNumberList } from '../../../src/data/number-list/format/number-list.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { formatDay, formatInstant } from '../../../src/domain/time/dates.js'
import { blocksText } from '../../data/sample-blocks.js'
import { cnacRows, cnacText, nanpaRows, nanpaText } from '../../data/sample-feeds.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { runCommand } from '../../support/run-command.js'

const temp = useTempFolder()
const run = (...args: string[]) =>
  runCommand(registerImport, ['import', ...args], { dataDir: temp.path })

const today = Math.floor(Date.now() / 86_400_000)
const yesterday = formatDay(today - 1)
const asOf = ['--as-of', yesterday]
const asOfText = `as of ${formatInstant((today - 1) * 86_400_000)}`

const openList = (name: string) => openNumberList(temp.file(`lists/${name}.cglist`))
const listFiles = () => (existsSync(temp.file('lists')) ? readdirSync(temp.file('lists')) : [])
const importedLists = () => listFiles().filter((name) => name.endsWith('.cglist'))
const rejectFiles = () =>
  existsSync(temp.file('rejects')) ? readdirSync(temp.file('rejects')) : []

const numbers = '8505550123\n2125550123\n'
const csv = 'case,phone,court\n17,8505550123,N.D. Fla.\n18,2125550123,S.D.N.Y.\n'

interface Case {
  readonly args: readonly string[]
  readonly file?: string
  readonly content: string
  readonly list: string
  readonly covers: 'all' | readonly string[]
  readonly size?: number
}

describe('a list is imported by the command of its feed', () => {
  const cases: readonly Case[] = [
    {
      args: ['us-dnc'],
      content: '850,5550123\n212,5550123\n',
      list: 'us-dnc',
      covers: ['212', '850'],
    },
    {
      args: ['us-dnc', '--area-codes', '850,212,646'],
      content: numbers,
      list: 'us-dnc',
      covers: ['212', '646', '850'],
    },
    {
      args: ['canada-dnc', '--area-codes', 'all'],
      content: numbers,
      list: 'canada-dnc',
      covers: 'all',
    },
    { args: ['state-dnc', '--state', 'FL'], content: numbers, list: 'state-dnc-fl', covers: 'all' },
    { args: ['state-dnc', '--state', 'on'], content: numbers, list: 'state-dnc-on', covers: 'all' },
    { args: ['litigators'], content: numbers, list: 'litigators', covers: 'all' },
    { args: ['litigators'], content: csv, list: 'litigators', covers: 'all' },
    {
      args: ['litigators', '--column', 'tel'],
      content: csv.replace('case,phone', 'case,tel'),
      list: 'litigators',
      covers: 'all',
    },
    { args: ['list', 'custom-vip'], content: numbers, list: 'custom-vip', covers: ['212', '850'] },
    { args: ['list', 'us-dnc'], content: numbers, list: 'us-dnc', covers: ['212', '850'] },
    {
      args: ['ported'],
      file: 'WIRELINE-TO-WIRELESS-NORANGE.TXT',
      content: '8505550123\r\n2125550123\r\n',
      list: 'ported-wireless',
      covers: 'all',
    },
    {
      args: ['ported', '--to', 'wireline'],
      content: '8505550123|0130\n',
      list: 'ported-wireline',
      covers: 'all',
      size: 8,
    },
  ]
  it.each(cases)('$args: $list', async ({ args, file = 'numbers.txt', content, list, ...made }) => {
    const { size = 2, covers } = made
    const [feed = '', ...more] = args
    const { code, out, err } = await run(feed, ...more, temp.write(file, content), ...asOf)
    const spoken = covers === 'all' ? 'every area code' : `${covers.length} area codes`
    expect([code, err]).toEqual([0, ''])
    const { version, ...imported } = openList(list)
    const text = `${list}: ${size} numbers, covers ${spoken}, ${asOfText}, version ${version}\n`
    expect(out).toContain(text)
    expect(out).toMatch(/ {2}took \d+\.\d s, [\d,]+ rows? a second\n/)
    expect(imported).toMatchObject({ size, coverage: covers, feed, previous: null })
    expect(openList(list).has(toPhoneNumber('8505550123'))).toBe(true)
    expect(rejectFiles()).toEqual([])
    const isHeader = content === csv
    expect(out.includes("line 1 was read as a header: 'case,phone,court'\n")).toBe(isHeader)
  })

  it('but not when its first line is a number with a stray letter', async () => {
    const file = temp.write('numbers.txt', 'O125550123\n8505550123\n')
    const { code, err } = await run('us-dnc', file, ...asOf)
    expect(code).toBe(1)
    expect(err).toContain("numbers.txt line 1 'O125550123': number must be ten digits")
    expect(err).toContain('a header must not contain more than 6 digits')
    expect(importedLists()).toEqual([])
  })
})

describe('what an import says', () => {
  it('new and removed numbers, and the line that brings the old version back', async () => {
    await run('us-dnc', temp.write('a.txt', numbers), ...asOf)
    const first = openList('us-dnc').version
    const second = temp.write('a.txt', '8505550123\n8505550124\n8505550124\n8505550125\n')
    const { out, err } = await run('us-dnc', second, ...asOf)
    expect(err).toBe('')
    expect(out).toContain('  read 4 rows, 1 of them repeated\n  2 new, 1 removed\n')
    expect(out).toContain(
      `  version ${first} is kept; to restore it: callgate lists rollback us-dnc\n`,
    )
  })

  it('area codes without a number or a change, and a list older than the one it replaces', async () => {
    const codes = ['--area-codes', '850,212,646']
    const made = await run('us-dnc', temp.write('a.txt', numbers), ...codes, ...asOf)
    const silent = (what: string) => `  no ${what} of area codes it covers, is a file missing? `
    expect(made.out).toContain(`${silent('number')}646\n`)
    expect(made.out).not.toContain('older than')
    const day = ['--as-of', formatDay(today - 2)]
    const older = await run('us-dnc', temp.write('a.txt', numbers), ...codes, ...day)
    expect(older.out).toContain(`  older than the list it replaces, which is ${asOfText}\n`)
    const changed = await run('us-dnc-changes', temp.write('c.txt', `8505550199,${yesterday},A\n`))
    expect(changed.out).toContain(`${silent('change')}212, 646\n`)
  })

  it('that the bad lines could not be written where other things are', async () => {
    const file = temp.write('a.txt', `${numbers}x\n`)
    const { code, err } = await run('us-dnc', file, '--rejects', file)
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('already exists and is not a reject file'),
    ])
    expect(readFileSync(file, 'utf8')).toBe(`${numbers}x\n`)
  })

  it('that a full disk lost bad lines, of an import that stands', async () => {
    const file = temp.write('a.txt', `${numbers}x\n`)
    const { code, err } = await run('us-dnc', file, '--bad-lines', '1', '--rejects', '/dev/full')
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('not all bad lines could be written to /dev/full: ENOSPC'),
    ])
    expect(openList('us-dnc').size).toBe(2)
  })

  it('nothing of a way back when no versions are kept', async () => {
    const settings = { dataDir: temp.path, more: 'lists:\n  keepVersions: 0\n' }
    const importNumbers = (content: string) =>
      runCommand(
        registerImport,
        ['import', 'us-dnc', temp.write('a.txt', content), ...asOf],
        settings,
      )
    await importNumbers(numbers)
    const { code, out } = await importNumbers(`${numbers}8505550124\n`)
    expect([code, out]).toEqual([0, expect.stringContaining('  1 new, 0 removed\n')])
    expect(out).not.toContain('rollback')
    expect(existsSync(temp.file('lists/versions'))).toBe(false)
  })

  it('a dry run judges, counts and changes nothing', async () => {
    await run('us-dnc', temp.write('a.txt', numbers), ...asOf)
    const before = listFiles()
    const { version } = openList('us-dnc')
    const { code, out } = await run(
      'us-dnc',
      temp.write('b.txt', `${numbers}8505550125\n`),
      '--dry-run',
    )
    expect(code).toBe(0)
    expect(out).toMatch(/^us-dnc: 3 numbers, .* \(dry run: nothing was changed\)\n/)
    expect(out).toContain('  1 new, 0 removed\n')
    expect(out).not.toContain('rollback')
    expect([listFiles(), openList('us-dnc').version]).toEqual([before, version])
    const refused = await run('us-dnc', temp.write('b.txt', 'oops\n'), '--dry-run')
    expect(refused.code).toBe(1)
  })

  it('a list that is too old or soon will be', async () => {
    const file = temp.write('a.txt', numbers)
    const import31 = (age: number) => run('us-dnc', file, '--as-of', formatDay(today - age))
    expect((await import31(40)).err).toContain('us-dnc is older than its 31 days')
    expect((await import31(28)).err).toContain('us-dnc can be used until ')
    expect((await import31(3)).err).toBe('')
    expect((await run('list', 'custom-old', file, '--as-of', '2020-01-01')).err).toBe('')
  })
})

describe('bad lines', () => {
  const bad = `${numbers}oops\n"8505,"\n`

  it('are in a file of the data folder, also when they refuse the import', async () => {
    const refused = await run('us-dnc', temp.write('a.txt', bad))
    const [name = ''] = rejectFiles()
    expect(name).toMatch(/^us-dnc-\d{8}T\d{6,9}Z\.csv$/)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain(`bad lines are in ${temp.file(`rejects/${name}`)} (2)\n`)
    expect(refused.err).toContain("a.txt line 3 'oops'")
    const [head, first, second] = readFileSync(temp.file(`rejects/${name}`), 'utf8').split('\r\n')
    expect(head).toBe('file,line,value,reason')
    expect(first).toBe('a.txt,3,oops,number must be ten digits')
    expect(second).toMatch(/^a\.txt,4,"8505,",number must be ten digits/)
    expect(importedLists()).toEqual([])
  })

  it('go where --rejects says, and are in the summary when they are allowed', async () => {
    const rejects = temp.file('bad.csv')
    const args = [temp.write('a.txt', bad), '--bad-lines', '2', '--rejects', rejects]
    const { code, out } = await run('canada-dnc', ...args)
    expect(code).toBe(0)
    expect(out).toContain('  2 bad lines were left out, 2 allowed\n')
    expect(out).toContain(`  bad lines are in ${rejects} (2)\n`)
    expect(rejectFiles()).toEqual([])
  })

  const feeds: readonly (readonly [string, string])[] = [
    ['line-status', '8505550123,connected\noops,busy\n'],
    ['ported --to wireless', '8505550123\noops\n'],
    ['ocn', 'ocn,class\nZZ01,wireless\nZZ02,carrier pigeon\n'],
  ]
  it.each(feeds)('of %s as well', async (feed, content) => {
    const rejects = temp.file('bad.csv')
    const { out, err } = await run(
      ...feed.split(' '),
      temp.write('a.csv', content),
      '--rejects',
      rejects,
    )
    expect(out + err).toContain(`bad lines are in ${rejects} (1)\n`)
    expect(readFileSync(rejects, 'utf8')).toMatch(/^file,line,value,reason\r\na\.csv,[23],.*\r\n$/)
  })
})

describe('ported: both directions at once', () => {
  const toWireless = () => temp.write('WIRELINE-TO-WIRELESS.TXT', '8505550100|0103\n')
  const toWireline = (content: string) => temp.write('WIRELESS-TO-WIRELINE.TXT', content)

  it('become two lists', async () => {
    const { code, out } = await run('ported', toWireless(), toWireline('8505550200\n'))
    expect(code).toBe(0)
    expect(out).toMatch(/ported-wireless: 4 numbers, (.|\n)*ported-wireline: 1 number, /)
    expect(importedLists()).toEqual(['ported-wireless.cglist', 'ported-wireline.cglist'])
  })

  it('none of which is replaced when one is bad', async () => {
    const { code, err } = await run('ported', toWireless(), toWireline('8505550200\noops\n'))
    expect([code, err]).toEqual([1, expect.stringContaining("line 2 'oops'")])
    expect(importedLists()).toEqual([])
    expect(rejectFiles()).toHaveLength(1)
  })

  it('a bad line is in the file of bad lines once', async () => {
    const files = [toWireless(), toWireline('8505550200\noops\n')]
    const { code, out } = await run('ported', ...files, '--bad-lines', '1')
    expect([code, out]).toEqual([0, expect.stringMatching(/bad lines are in .* \(1\)\n/)])
  })
})

describe('us-dnc-changes', () => {
  const at = (daysAgo: number, time: string) => `${formatDay(today - daysAgo)}T${time}`
  const change = (...rows: string[]) => temp.write('changes.txt', `${rows.join('\n')}\n`)
  const importBase = (daysAgo = 1) =>
    run('us-dnc', temp.write('a.txt', numbers), '--as-of', formatDay(today - daysAgo))

  it('adds and deletes, and says what became of each row', async () => {
    await importBase()
    const first = openList('us-dnc').version
    const rows = [
      `8505550124,${at(1, '08:00:00')},A`,
      `8505550123,${at(1, '08:00:01')},D`,
      `212,5550123,${at(1, '08:00:02')},A`,
      `2125550123,${at(3, '08:00:00')},D`,
    ]
    const { code, out, err } = await run('us-dnc-changes', change(...rows), '--allow-gap')
    expect([code, err]).toEqual([0, ''])
    const list = openList('us-dnc')
    const latest = formatInstant(Date.parse(`${at(1, '08:00:02')}Z`))
    expect(out).toContain(`us-dnc: 2 numbers, as of ${latest}, version ${list.version}\n`)
    expect(out).toContain('  read 4 rows: ')
    expect(out).toContain('  1 new, 1 removed\n')
    expect(out).toContain(`version ${first} is kept; `)
    const listed = ['8505550123', '8505550124', '2125550123'].map((one) =>
      list.has(toPhoneNumber(one)),
    )
    expect(listed).toEqual([false, true, true])
  })

  it('refuses a gap unless it is allowed, and a dry run changes nothing', async () => {
    await importBase(9)
    const { version } = openList('us-dnc')
    const file = change(`8505550124,${at(1, '08:00:00')},A`)
    const refused = await run('us-dnc-changes', file)
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('--allow-gap')])
    const dry = await run('us-dnc-changes', file, '--allow-gap', '--dry-run')
    expect(dry.out).toContain('(dry run: nothing was changed)\n')
    expect(openList('us-dnc').version).toBe(version)
  })

  it('needs a list', async () => {
    const { code, err } = await run('us-dnc-changes', change(`8505550124,${at(1, '08:00:00')},A`))
    expect([code, err]).toEqual([1, expect.stringContaining('us-dnc')])
  })
})

describe('numbering, blocks and ocn', () => {
  /** Whether the others are in effect depends on the day. */
  const undated = nanpaRows.filter((row) => row.length < 7)
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ['numbering', [nanpaText(undated), cnacText(cnacRows)], 'US: 5 prefixes, as of 2026-07-06'],
    [
      'blocks',
      [blocksText([{ block: '8505513' }, { block: '8505514', status: 'AV' }])],
      '1 assigned thousands blocks of the US',
    ],
    ['ocn', ['ocn,class\nZZ01,wireless\nZZ02,wireline\n'], '2 operating companies'],
  ]
  it.each(cases)('%s: dry, then for good, then what it changes', async (feed, contents, told) => {
    const files = contents.map((content, index) => temp.write(`${feed}-${index}.csv`, content))
    const dry = await run(feed, ...files, '--dry-run')
    expect([dry.code, dry.err]).toEqual([0, ''])
    expect(dry.out).toContain(told)
    expect(dry.out).toContain('(dry run: nothing was changed)\n')
    expect(existsSync(temp.file('numbering')) ? readdirSync(temp.file('numbering')) : []).toEqual(
      [],
    )
    const first = await run(feed, ...files)
    expect(first.out).toContain(told)
    expect(first.out).not.toContain('dry run')
    expect((await run(feed, ...files)).out).toContain('  0 new, 0 changed, 0 removed\n')
  })
})

describe('wrong use is refused', () => {
  const cases: readonly (readonly [readonly string[], number, string])[] = [
    [['state-dnc', 'x'], 2, '--state <XX>'],
    [['state-dnc', 'x', '--state', 'Florida'], 2, "--state 'Florida': must be the two letters"],
    [['state-dnc', 'x', '--state', 'ZZ'], 2, "--state 'ZZ': must be the two letters"],
    [['ported', 'x.txt'], 2, 'x.txt: its name does not say which list it belongs to; use --to'],
    [['ported', 'x.txt', '--to', 'voip'], 2, 'Allowed choices are wireless, wireline'],
    [
      ['ported', 'WIRELESS-TO-WIRELINE.TXT', '--to', 'wireless'],
      2,
      'the name of WIRELESS-TO-WIRELINE.TXT says ported-wireline',
    ],
    [['us-dnc'], 2, "missing required argument 'file'"],
    [['us-dnc', 'x', '--state', 'FL'], 2, "unknown option '--state'"],
    [['us-dnc', '/no/such'], 1, '/no/such'],
    [['us-dnc', 'x', '--bad-lines', 'many'], 2, "--bad-lines 'many': must be a whole number"],
    [['us-dnc-changes', 'x', '--as-of', '9030-01-01'], 2, 'must not be in the future'],
    [['list', 'US DNC', 'x'], 1, "name 'US DNC': must be"],
    [['blocks', '/no/such'], 1, '/no/such'],
  ]
  it.each(cases)('%j', async (args, code, message) => {
    const ended = await run(...args)
    expect([ended.code, ended.out, ended.err]).toEqual([code, '', expect.stringContaining(message)])
  })

  it('--help has every command', async () => {
    const { code, out } = await run('--help')
    const commands = [
      'us-dnc',
      'us-dnc-changes',
      'canada-dnc',
      'state-dnc',
      'litigators',
      'ported',
      'list',
      'numbering',
      'blocks',
      'ocn',
    ]
    const told = commands.filter((name) => new RegExp(`^ {2}${name} .*\\S`, 'm').test(out))
    expect([code, told]).toEqual([0, commands])
  })
})

describe('the progress bar', () => {
  const half = { label: 'us-dnc', done: 500, total: 1000, seconds: 3 }
  const cases: readonly (readonly [Parameters<typeof formatProgress>[0], string])[] = [
    [{ ...half, rows: 1_200_000 }, ' 50% | 1,200,000 rows | 400,000 rows/s | 0:03 left'],
    [half, ' 50% | 0:03 left'],
    [{ ...half, done: 0, rows: 0 }, ' 0% | 0 rows | 0 rows/s | ? left'],
    [{ ...half, done: 1, seconds: 5 }, ' 0% | 1:23:15 left'],
    [{ ...half, done: 1000 }, ' 100% | checking and writing'],
    [{ ...half, done: 0, total: 0 }, ' 100% | checking and writing'],
  ]
  it.each(cases)('%j: %s', (standing, text) => {
    const line = formatProgress(standing)
    expect(line).toMatch(/^us-dnc [█░]{30} /)
    expect(line.endsWith(text)).toBe(true)
  })

  const drawn = (interactive: boolean) => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 120 })
    const progress = startProgress('us-dnc', { interactive }, stream)
    progress.update(500, 1000, 12)
    progress.stop()
    progress.stop()
    return String(stream.read() ?? '')
  }

  it('is drawn where a person watches, and nowhere else', () => {
    expect(drawn(true)).toMatch(/us-dnc █{15}░{15} 50% \| 12 rows/)
    expect(drawn(false)).toBe('')
  })

  it('leaves the cursor to be seen, since an interrupt ends the program at once', () => {
    expect(drawn(true)).not.toContain('\u001b[?25l')
  })
})
