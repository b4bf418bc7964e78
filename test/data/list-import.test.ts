import { createHash } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  type ImportProgress,
  importList,
  isListName,
  type ListImportOptions,
} from '../../src/data/number-list/list-import.js'
import { openNumberList } from '../../src/data/number-list/number-list.js'
import { fixedClock, type Instant, parseInstant } from '../../src/domain/clock.js'
import { phoneNumber } from '../../src/domain/phone-number.js'
import { numberText, seededRandom } from './random-numbers.js'
import { useTempFolder } from './temp-folder.js'
import { zipBytes } from './zip-bytes.js'

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
    expect(asked.filter((number) => !list.has(phoneNumber(number)))).toEqual([])
    expect(list.has(phoneNumber('2125550125'))).toBe(false)
    expect(summary).toEqual({
      name: 'us-dnc',
      path: folder.file('lists/us-dnc.cglist'),
      version: list.version,
      size: 5,
      rows: 7,
      coverage: ['212', '310', '415', '907'],
      asOf: at('2026-11-18T08:00:00Z'),
      importedAt: now,
      sources: [
        { file: 'a.txt', sha256: sha256(numbers), rows: 4 },
        { file: 'b.zip/b.csv', sha256: sha256(zip), rows: 1 },
        { file: 'c.gz', sha256: sha256(gz), rows: 2 },
      ],
      badLines: { count: 0, first: [] },
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
        if (list.has(phoneNumber(number)) !== model.has(number)) wrong.push(number)
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

  it('reports bad lines that are few enough', async () => {
    const files = [source('a.txt', `${'2125550123\n'.repeat(200)}oops\n`)]
    const { badLines, size } = await importing({ files })
    expect(size).toBe(1)
    expect(badLines.count).toBe(1)
    expect(badLines.first).toMatchObject([{ file: 'a.txt', line: 201, value: 'oops' }])
  })
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
  ]
  it.each(table)('%s with area codes %j: %j', async (name, areaCodes, expected) => {
    const { coverage, path } = await importing({
      name,
      areaCodes,
      files: [source('a.txt', numbers)],
    })
    expect(coverage).toEqual(expected)
    expect(openNumberList(path).coverage).toEqual(expected)
  })

  it.each([
    ['us-dnc', ['212']],
    ['us-dnc', 'all'],
    ['state-dnc-tx', undefined],
  ] as const)('an empty %s with area codes %j is legal', async (name, areaCodes) => {
    const { size } = await importing({ name, areaCodes, files: [source('a.txt', '# none\n')] })
    expect(size).toBe(0)
  })
})

describe('as of', () => {
  const table: [written: string[], asOf: string | undefined, expected: string][] = [
    [['2026-11-17T08:00:00Z', '2026-11-18T09:00:00Z'], undefined, '2026-11-18T09:00:00Z'],
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
    ['an upper-case name', { name: 'US-DNC' }, "name 'US-DNC': has to be lower case"],
    ['a name with a path', { name: '../us' }, "name '../us'"],
    ['a name that ends in a hyphen', { name: 'us-' }, "name 'us-'"],
    ['an empty name', { name: '' }, "name ''"],
    ['no files', { files: [] }, 'files: at least one is needed'],
    ['a time to come', { asOf: now + 1 }, `asOf '${now + 1}': must not lie in the future`],
    ['a time that is none', { asOf: Number.NaN }, "asOf 'NaN'"],
    ['no area codes', { areaCodes: [] }, 'areaCodes: at least one is needed'],
    ['a strange area code', { areaCodes: ['212', '21'] }, "areaCodes '21': has to be three digits"],
    ['an area code from 0', { areaCodes: ['012'] }, "areaCodes '012'"],
    ['two at once', { name: 'A', files: [] }, "name 'A': has to be lower case letters"],
  ]
  it.each(table)('%s', async (_, more, message) => {
    const given = { files: [source('a.txt', numbers)], ...more }
    await expect(importing(given)).rejects.toThrow(message)
    await expect(importing(given)).rejects.toMatchObject({ kind: 'invalid-request' })
  })

  it.each([
    ['us-dnc', true],
    ['state-dnc-tx', true],
    ['list2', true],
    ['a'.repeat(60), true],
    ['a'.repeat(61), false],
    ['a--b', false],
    ['-a', false],
    ['a_b', false],
    ['a.b', false],
  ])('%s may be a name: %s', (name, legal) => expect(isListName(name)).toBe(legal))
})

describe('an import that fails leaves the list that was there', () => {
  const bad = '2125550123\nbad\n'
  const table: [what: string, content: string | Buffer, message: string, fileName?: string][] = [
    ['too many bad lines', bad, "new.txt line 2 'bad': has to begin with a number"],
    ['no numbers', '# nothing\nphone\n', 'no number in it; say which area codes'],
    ['an empty file', '', 'no number in it'],
    ['a change list', '2125550123,2026-11-18T08:00:00,D\n', 'is a row of a change list'],
    ['a cut gzip', gzipSync(numbers).subarray(0, 20), 'new.gz: cannot be read', 'new.gz'],
    ['a cut zip', zipBytes([{ name: 'a', content: bad }]).subarray(0, 40), 'new.zip', 'new.zip'],
  ]
  it.each(table)('%s', async (_, content, message, fileName = 'new.txt') => {
    const { path, version } = await importing({ files: [source('old.txt', numbers)] })
    const files = [source('more.txt', '3105550000\n'.repeat(200)), source(fileName, content)]
    // Only the new list is short of numbers when all its files are.
    const given = message.startsWith('no number') ? files.slice(1) : files
    await expect(importing({ files: given })).rejects.toThrow(message)
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
    await expect(importing(given)).rejects.toThrow('no number in it')
  })
})
