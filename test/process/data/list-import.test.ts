import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { loadCallingRules } from '../../../src/data/calling-rules/calling-rules-schema.js'
import type { ImportProgress } from '../../../src/data/files/source-progress.js'
import { openNumberList } from '../../../src/data/number-list/format/number-list.js'
import type { Coverage } from '../../../src/data/number-list/format/number-list-format.js'
import {
  importList,
  type ListImportOptions,
} from '../../../src/data/number-list/import/list-import.js'
import {
  describeNameRule,
  isListName,
  isUsedByChecks,
} from '../../../src/data/number-list/list-names.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { fixedClock, type Instant } from '../../../src/domain/time/clock.js'
import { parseInstant } from '../../../src/domain/time/dates.js'
import { findAreaCodePlace, listAreaCodes } from '../../../src/law/area-codes.js'
import { numberText, seededRandom } from '../../data/random-numbers.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { zipBytes } from '../../data/zip-bytes.js'

const folder = useTempFolder()

function at(text: string): Instant {
  const instant = parseInstant(text)
  if (instant === undefined) throw new Error(text)
  return instant
}

const now = at('2026-11-20T12:00:00Z')

function source(name: string, content: string | Buffer, written = '2026-11-18T08:00:00Z'): string {
  const path = folder.write(name, content)
  utimesSync(path, at(written) / 1000, at(written) / 1000)
  return path
}

function importing(more: Partial<ListImportOptions> & Pick<ListImportOptions, 'files'>) {
  const lists = folder.file('lists')
  return importList({ name: 'us-dnc', folder: lists, clock: fixedClock(now), ...more })
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

const numbers = '212,5550123\n2125550124\n9075550000\n2125550123\n'

describe('importList', () => {
  it('makes a list that holds exactly the numbers of all its files', async () => {
    const zip = zipBytes([{ name: 'b.csv', content: 'phone,reason\n3105550000,x\n' }])
    const gz = gzipSync('4155550000\n2125550124\n')
    const files = [source('a.txt', numbers), source('b.zip', zip), source('c.gz', gz)]
    const summary = await importing({ files })
    const list = openNumberList(summary.path)
    const asked = ['2125550123', '2125550124', '9075550000', '3105550000', '4155550000']
    expect(asked.filter((number) => !list.has(toPhoneNumber(number)))).toEqual([])
    expect(list.has(toPhoneNumber('2125550125'))).toBe(false)
    expect(summary).toEqual({
      name: 'us-dnc',
      path: folder.file('lists/us-dnc.cglist'),
      version: list.version,
      previousAsOf: undefined,
      emptyAreaCodes: [],
      previous: null,
      dryRun: false,
      size: 5,
      added: undefined,
      removed: undefined,
      rows: 7,
      coverage: ['212', '310', '415', '907'],
      asOf: at('2026-11-18T08:00:00Z'),
      importedAt: now,
      sources: [
        { file: 'a.txt', sha256: sha256(numbers), rows: 4 },
        { file: 'b.zip/b.csv', sha256: sha256(zip), rows: 1 },
        { file: 'c.gz', sha256: sha256(gz), rows: 2 },
      ],
      badLines: { maxAllowed: 0, count: 0, first: [] },
      headers: [{ file: 'b.zip/b.csv', line: 1, value: 'phone,reason' }],
      unreadDays: 0,
      leftOut: 0,
      notes: [],
      uncoveredAreaCodes: [],
    })
    expect(list.sources).toEqual(summary.sources)
    expect(readdirSync(folder.file('lists'))).toEqual(['us-dnc.cglist'])
  })

  it('agrees with a Set on a large random file', async () => {
    const random = seededRandom(11)
    const model = new Set<string>()
    let text = ''
    for (let nth = 0; nth < 300_000; nth += 1) {
      const number = numberText(212_200 + random(300), random(10_000))
      model.add(number)
      text += random(2) === 0 ? `${number}\n` : `${number.slice(0, 3)},${number.slice(3)}\r\n`
    }
    const { path, size } = await importing({ files: [source('large.txt', text)] })
    expect(size).toBe(model.size)
    const list = openNumberList(path)
    const wrong: string[] = []
    for (let prefix = 212_199; prefix < 212_501; prefix += 1) {
      for (let line = 0; line < 10_000; line += 7) {
        const number = numberText(prefix, line)
        if (list.has(toPhoneNumber(number)) !== model.has(number)) wrong.push(number)
      }
    }
    expect(wrong).toEqual([])
  })

  it('tells how far it is', async () => {
    const told: ImportProgress[] = []
    const files = [source('a.txt', numbers), source('b.txt', numbers)]
    await importing({ files, onProgress: (progress) => told.push(progress) })
    const bytesTotal = 2 * numbers.length
    expect(told.at(-1)).toEqual({ bytesDone: bytesTotal, bytesTotal, rows: 8 })
    expect(told.every((progress) => progress.bytesTotal === bytesTotal)).toBe(true)
  })

  it.each(['us-dnc', 'canada-dnc', 'litigators', 'state-dnc-tx', 'custom-1'])(
    'one bad line of %s refuses it, and is told when it is allowed',
    async (name) => {
      const files = [source('a.txt', `${'2125550123\n'.repeat(5000)}oops\n`)]
      const told = "a.txt line 5001 'oops': number must be ten digits"
      await expect(importing({ name, files })).rejects.toThrow(told)
      const { badLines, size } = await importing({ name, files, badLinesAllowed: 2 })
      expect(size).toBe(1)
      expect(badLines).toMatchObject({ maxAllowed: 2, count: 1 })
      expect(badLines.first).toMatchObject([{ file: 'a.txt', line: 5001, value: 'oops' }])
    },
  )
})

describe('coverage', () => {
  const all = 'all'
  const table: [name: string, areaCodes: 'all' | string[] | undefined, expected: unknown][] = [
    ['us-dnc', undefined, ['212', '907']],
    ['canada-dnc', undefined, ['212', '907']],
    ['litigators', undefined, all],
    ['state-dnc-tx', undefined, all],
    ['us-dnc', all, all],
    ['us-dnc', ['415', '212', '415'], ['212', '415']],
    ['litigators', ['212'], ['212']],
    ['ported-wireless', undefined, all],
    ['ported-wireline', ['212'], ['212']],
    ['custom-vip', undefined, ['212', '907']],
  ]
  it.each(table)('%s with area codes %j: %j', async (name, areaCodes, expected) => {
    const { coverage, path } = await importing({
      name,
      areaCodes,
      files: [source('a.txt', numbers.replace(',', ''))],
    })
    expect(coverage).toEqual(expected)
    expect(openNumberList(path).coverage).toEqual(expected)
  })
})

describe('files without a number', () => {
  const notStated = 'a.txt: has no number in it; if the list is empty, name the area codes'
  const noData = 'a.txt: has lines but no number in it; a file of an empty list'
  const contents: [what: string, content: string, stated: string | null][] = [
    ['0 bytes', '', null],
    ['blank lines', '\r\n \n', null],
    ['comments', '# none\n#2125550123\n', null],
    ['a text that looks like a header', 'Access denied: quota exceeded\n', noData],
    ['the same without newline', 'Access denied: quota exceeded', noData],
    ['column names', 'phone,date\n', noData],
    ['a web page', '<!DOCTYPE html>\n<p>Log in</p>\n', 'a.txt: line 1'],
  ]
  const names = ['us-dnc', 'litigators', 'state-dnc-tx', 'custom-a']
  const cases = names.flatMap((name) => contents.map((row) => [name, ...row] as const))
  it.each(cases)('%s of %s', async (name, _, content, refused) => {
    const files = [source('a.txt', content)]
    await expect(importing({ name, files })).rejects.toThrow(refused ?? notStated)
    for (const areaCodes of ['all', ['212']] as const) {
      const reading = importing({ name, files, areaCodes, badLinesAllowed: 100 })
      if (refused === null) expect((await reading).size).toBe(0)
      else await expect(reading).rejects.toThrow(refused)
    }
  })

  it.each(contents)('%s beside a file with numbers', async (_, content, refused) => {
    const files = [source('b.txt', numbers), source('a.txt', content)]
    await expect(importing({ files, badLinesAllowed: 9 })).rejects.toThrow(refused ?? notStated)
    const reading = importing({ files, badLinesAllowed: 9, areaCodes: 'all' })
    if (refused === null) expect((await reading).size).toBe(3)
    else await expect(reading).rejects.toThrow(refused)
  })
})

describe('a list with fewer than half the numbers of the one in use', () => {
  const lines = (count: number) =>
    Array.from({ length: count }, (_, nth) => `${2_125_550_000 + nth}\n`).join('')
  const table: [before: number, now: number, refused: boolean][] = [
    [100, 49, true],
    [100, 50, false],
    [100, 300, false],
    [1, 0, true],
    [2, 1, false],
    [3, 1, true],
    [0, 0, false],
  ]
  it.each(table)('%d numbers, then %d: refused is %s', async (before, now, refused) => {
    const all = { areaCodes: 'all' } as const
    const { path } = await importing({ ...all, files: [source('old.txt', lines(before))] })
    // Repeated lines do not make up for numbers that are missing.
    const files = [source('new.txt', lines(now).repeat(3))]
    const reading = importing({ ...all, files })
    if (!refused) return expect((await reading).size).toBe(now)
    await expect(reading).rejects.toThrow(
      `new.txt: ${now} different numbers, fewer than half the ${before} of the list in use ` +
        `(${path}); to import it anyway, use --allow-shrink`,
    )
    expect(openNumberList(path).size).toBe(before)
    expect((await importing({ ...all, files, allowShrink: true })).size).toBe(now)
    expect(openNumberList(path).size).toBe(now)
  })

  it('another list, or one that is damaged, does not count', async () => {
    const name = 'canada-dnc'
    const { path } = await importing({ name, files: [source('old.txt', lines(100))] })
    const files = [source('new.txt', lines(10))]
    await importing({ files })
    appendFileSync(path, 'x')
    expect((await importing({ name, files })).size).toBe(10)
  })
})

describe('files an import left when it died', () => {
  const day = 86_400_000
  const dead = 4_194_305 // above the highest process id of Linux
  const mine = process.ppid
  const table: [file: string, ageMs: number, stays: boolean][] = [
    [`.us-dnc.cglist.${dead}.new`, 0, false],
    [`..us-dnc.cglist.${dead}.new.${dead}.part`, 0, false],
    [`.us-dnc.cglist.${mine}.new`, day - 1000, true],
    [`..us-dnc.cglist.${mine}.new.${mine}.part`, day - 1000, true],
    [`.us-dnc.cglist.${mine}.new`, day + 1000, false],
    [`..us-dnc.cglist.${mine}.new.${mine}.part`, day + 1000, false],
    ['.us-dnc.cglist.new', day - 1000, true],
    ['.us-dnc.cglist.new', day + 1000, false],
    [`.canada-dnc.cglist.${dead}.new`, 2 * day, true],
    [`.us-dnc.cglist.${dead}.old`, 2 * day, true],
    ['canada-dnc.cglist', 2 * day, true],
  ]
  it.each(table)('%s, %d ms old: stays is %s', async (file, ageMs, stays) => {
    mkdirSync(folder.file('lists'))
    folder.write(`lists/${file}`, 'half')
    const seconds = (now - ageMs) / 1000
    utimesSync(folder.file(`lists/${file}`), seconds, seconds)
    await importing({ files: [source('a.txt', numbers)] })
    const expected = [...(stays ? [file] : []), 'us-dnc.cglist']
    expect(readdirSync(folder.file('lists')).sort()).toEqual(expected.sort())
  })
})

describe('an area code with fewer than half the numbers it has in the list in use', () => {
  const lines = (areaCode: number, count: number) =>
    Array.from({ length: count }, (_, nth) => `${areaCode * 10_000_000 + 5_550_000 + nth}\n`).join(
      '',
    )
  const both = ['212', '646']
  const table: [before: number, now: number, areaCodes: Coverage | undefined, refused: boolean][] =
    [
      [1000, 0, both, true],
      [1000, 499, both, true],
      [1000, 0, 'all', true],
      [1000, 499, undefined, true],
      [1000, 500, both, false],
      [999, 0, both, false],
      // Nobody is told that its numbers are absent.
      [1000, 0, undefined, false],
      [1000, 0, ['212'], false],
    ]
  it.each(table)('%d, then %d, for %j: refused is %s', async (before, now, areaCodes, refused) => {
    const many = lines(212, 2000)
    const old = source('old.txt', many + lines(646, before))
    const { path } = await importing({ files: [old], areaCodes })
    const given = { files: [source('new.txt', many + lines(646, now))], areaCodes }
    if (!refused) return expect((await importing(given)).size).toBe(2000 + now)
    const rule =
      `new.txt: area code 646 has ${now} different numbers, fewer than half the ${before} it has ` +
      `in the list in use (${path}); is a file missing?; to import it anyway, use --allow-shrink`
    await expect(importing({ ...given, dryRun: true })).rejects.toThrow(rule)
    await expect(importing(given)).rejects.toThrow(rule)
    expect((await importing({ ...given, allowShrink: true })).size).toBe(2000 + now)
  })
})

describe('a list older than the one in use', () => {
  const inUse = '2126460000\n2126460001\n2126460002\n'
  const table: readonly (readonly [string, string, string, boolean])[] = [
    ['lacks a number and is of weeks before', '2126460000\n2126460001\n', '2026-10-30', true],
    ['lacks a number and is of the day before', '2126460000\n2126460001\n', '2026-11-17', false],
    ['lacks none', inUse, '2026-10-30', false],
  ]
  it.each(table)('%s', async (_, content, day, refused) => {
    const { path, version } = await importing({
      files: [source('new.txt', inUse)],
      asOf: Date.parse('2026-11-18T00:00:00Z'),
    })
    const older = { files: [source('old.txt', content)], asOf: Date.parse(`${day}T00:00:00Z`) }
    if (!refused) {
      expect(await importing(older)).toMatchObject({ asOf: older.asOf })
      return
    }
    const rule =
      `old.txt: is as of ${day}T00:00:00Z, older than the list in use (${path}, as of ` +
      '2026-11-18T00:00:00Z), and lacks 1 of its numbers'
    await expect(importing({ ...older, dryRun: true })).rejects.toThrow(rule)
    await expect(importing(older)).rejects.toThrow(rule)
    expect(openNumberList(path).version).toBe(version)
    expect(await importing({ ...older, allowOlder: true })).toMatchObject({ asOf: older.asOf })
  })
})

it('area codes that are stated and have no number are told', async () => {
  const files = [source('a.txt', '2125550123\n')]
  expect((await importing({ files, areaCodes: ['646', '212', '917'] })).emptyAreaCodes).toEqual([
    '646',
    '917',
  ])
  expect((await importing({ files, areaCodes: 'all' })).emptyAreaCodes).toEqual([])
})

describe('as of', () => {
  const table: [written: string[], asOf: string | undefined, expected: string][] = [
    [['2026-11-17T08:00:00Z', '2026-11-18T09:00:00Z'], undefined, '2026-11-17T08:00:00Z'],
    [['2026-11-18T09:00:00Z'], '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z'],
    [['2026-12-24T00:00:00Z'], undefined, '2026-11-20T12:00:00Z'],
  ]
  it.each(table)('files written %j, told %s: %s', async (written, asOf, expected) => {
    const files = written.map((time, nth) => source(`${nth}.txt`, numbers, time))
    const told = asOf === undefined ? {} : { asOf: at(asOf) }
    expect((await importing({ files, ...told })).asOf).toBe(at(expected))
  })
})

describe('options that break a rule', () => {
  const table: [what: string, more: Partial<ListImportOptions>, message: string][] = [
    ['an upper-case name', { name: 'US-DNC' }, "name 'US-DNC': must be us-dnc, canada"],
    ['a name with a path', { name: '../us' }, "name '../us'"],
    ['a name that ends in a hyphen', { name: 'us-' }, "name 'us-'"],
    ['an empty name', { name: '' }, "name ''"],
    ['no files', { files: [] }, 'files: at least one is needed'],
    ['a time to come', { asOf: now + 1 }, `asOf '${now + 1}': must not be in the future`],
    ['a time that is none', { asOf: Number.NaN }, "asOf 'NaN'"],
    ['no area codes', { areaCodes: [] }, 'areaCodes: at least one is needed'],
    ['a strange area code', { areaCodes: ['212', '21'] }, "areaCodes '21': is not an area code"],
    ['an area code nobody has', { areaCodes: ['999'] }, "areaCodes '999': is not an area code"],
    ['an area code from 0', { areaCodes: ['012'] }, "areaCodes '012'"],
    ['half a bad line', { badLinesAllowed: 0.5 }, "badLinesAllowed '0.5': must be a whole"],
    ['fewer than no versions', { keepVersions: -1 }, "keepVersions '-1': must be a whole"],
    ['fewer than no bad lines', { badLinesAllowed: -1 }, "badLinesAllowed '-1'"],
    ['two at once', { name: 'A', files: [] }, "name 'A': must be us-dnc"],
  ]
  it.each(table)('%s', async (_, more, message) => {
    const given = { files: [source('a.txt', numbers)], ...more }
    await expect(importing(given)).rejects.toThrow(message)
    await expect(importing(given)).rejects.toMatchObject({ kind: 'invalid-request' })
  })
})

describe('names', () => {
  const table: [name: string, legal: boolean, readByChecks: boolean, meant?: string][] = [
    ['us-dnc', true, true],
    ['canada-dnc', true, true],
    ['litigators', true, true],
    ['state-dnc-tx', true, true],
    ['state-dnc-pr', true, true],
    ['state-dnc-on', true, true],
    ['ported-wireless', true, true],
    ['ported-wireline', true, true],
    ['ported', false, false],
    ['wireless-ported', false, false, 'ported-wireless'],
    ['ported_wireline', false, false, 'ported-wireline'],
    ['custom-list2', true, false],
    ['custom-us-dnc', true, false],
    [`custom-${'a'.repeat(53)}`, true, false],
    [`custom-${'a'.repeat(54)}`, false, false],
    ['custom-', false, false],
    ['custom-a--b', false, false, 'custom-a-b'],
    ['custom-a_b', false, false, 'custom-a-b'],
    ['custom-a.b', false, false, 'custom-a-b'],
    ['custom-../a', false, false, 'custom-a'],
    ['Custom-VIP', false, false, 'custom-vip'],
    ['state-dnc-texas', false, false, 'state-dnc-tx'],
    ['state-dnc-TX', false, false, 'state-dnc-tx'],
    ['state-tx', false, false, 'state-dnc-tx'],
    ['tx-dnc', false, false, 'state-dnc-tx'],
    ['New York do not call list', false, false, 'state-dnc-ny'],
    ['state-dnc-district-of-columbia', false, false, 'state-dnc-dc'],
    ['state-dnc-xx', false, false],
    ['state-dnc-', false, false],
    ['state-dnc-tx-2', false, false],
    ['US-DNC', false, false, 'us-dnc'],
    ['us_dnc', false, false, 'us-dnc'],
    ['national-dnc', false, false, 'us-dnc'],
    ['dncl', false, false, 'canada-dnc'],
    ['litigator', false, false, 'litigators'],
    ['us-dnc2', false, false],
    ['vip', false, false],
    ['', false, false],
  ]
  it.each(table)('%s: legal %s, read by checks %s, meant is %s', (name, legal, read, meant) => {
    expect(isListName(name)).toBe(legal)
    expect(isUsedByChecks(name)).toBe(read)
    if (!legal) expect(/; use (.*)$/.exec(describeNameRule(name))?.[1]).toBe(meant)
  })

  const rules = loadCallingRules('config/calling-rules.yaml')
  const regions = listAreaCodes().flatMap(
    (code) => findAreaCodePlace(code)?.candidates.map(({ region }) => region) ?? [],
  )

  it.each([...new Set(regions)])('%s is known by its letters and by its name', (region) => {
    const list = `state-dnc-${region.toLowerCase()}`
    expect(isUsedByChecks(list)).toBe(true)
    const name = rules.findRegion(region)?.name.replaceAll('.', '') ?? ''
    expect(describeNameRule(`state-dnc-${name}`)).toMatch(`; use ${list}`)
  })
})

describe('an import that fails leaves the list that was there', () => {
  const bad = '2125550123\nbad\n'
  const table: [what: string, content: string | Buffer, message: string, fileName?: string][] = [
    ['too many bad lines', bad, "new.txt line 2 'bad': number must be ten digits"],
    ['no numbers', '# nothing\nphone\n', 'has lines but no number in it'],
    ['an empty file', '', 'has no number in it'],
    ['a cut-off last line', '2125550123\n212555', "line 2 '212555': the last line may be cut off"],
    ['a change list', '2125550123,2026-11-18T08:00:00,D\n', 'is a row of a change list'],
    ['a cut gzip', gzipSync(numbers).subarray(0, 20), 'new.gz: cannot be read', 'new.gz'],
    ['a cut zip', zipBytes([{ name: 'a', content: bad }]).subarray(0, 40), 'new.zip', 'new.zip'],
  ]
  it.each(table)('%s', async (_, content, message, fileName = 'new.txt') => {
    const { path, version } = await importing({ files: [source('old.txt', numbers)] })
    const files = [source('more.txt', numbers), source(fileName, content)]
    await expect(importing({ files })).rejects.toThrow(message)
    expect(openNumberList(path).version).toBe(version)
    expect(readdirSync(folder.file('lists'))).toEqual(['us-dnc.cglist'])
  })

  it('a file that is not there', async () => {
    await expect(importing({ files: [folder.file('none.txt')] })).rejects.toThrow(/none\.txt/)
  })

  it('a file that grows while it is read', async () => {
    const path = source('a.txt', numbers)
    let grown = false
    const onProgress = () => {
      if (!grown) appendFileSync(path, '4155550000\n')
      grown = true
    }
    await expect(importing({ files: [path], onProgress })).rejects.toThrow(/changed while it was/)
    expect(() => readFileSync(folder.file('lists/us-dnc.cglist'))).toThrow(/ENOENT/)
  })

  it('bad lines alone are no empty list, whatever is allowed', async () => {
    const files = [source('a.txt', '-\n-\n')]
    const given = { files, areaCodes: ['212'], badLinesAllowed: 10 }
    await expect(importing(given)).rejects.toThrow('has lines but no number in it')
  })
})
