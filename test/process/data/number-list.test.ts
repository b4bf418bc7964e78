import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { verifyCheckedFile } from '../../../src/data/files/checked-file.js'
import {
  type NumberList,
  openNumberList,
  openNumberListInBackground,
} from '../../../src/data/number-list/format/number-list.js'
import { NumberListBuilder } from '../../../src/data/number-list/format/number-list-builder.js'
import type {
  Coverage,
  NumberListMeta,
} from '../../../src/data/number-list/format/number-list-format.js'
import { maxListedLines } from '../../../src/data/number-list/format/number-list-format.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { numberText, seededRandom } from '../../data/random-numbers.js'
import { useTempFolder } from '../../data/temp-folder.js'

const folder = useTempFolder()

const meta: NumberListMeta = {
  name: 'us-dnc',
  feed: 'list',
  previous: '0123456789abcdef',
  asOf: 1_790_000_000_000,
  importedAt: 1_790_000_500_000,
  coverage: 'all',
  sources: [{ file: 'a.txt', sha256: 'ab', rows: 3 }],
}

async function listOf(numbers: Iterable<string>, coverage: Coverage = 'all'): Promise<NumberList> {
  const builder = new NumberListBuilder()
  for (const number of numbers) builder.add(toPhoneNumber(number))
  await builder.write(folder.file('us-dnc.cglist'), { ...meta, coverage })
  return openNumberList(folder.file('us-dnc.cglist'))
}

function has(list: NumberList, number: string): boolean {
  return list.has(toPhoneNumber(number))
}

describe('a list agrees with a Set', () => {
  const densities: [what: string, prefixes: number, linesEach: number][] = [
    ['one line per prefix', 400, 1],
    ['a few lines per prefix', 200, 20],
    ['the longest array', 12, maxListedLines],
    ['the sparsest bitmap', 12, maxListedLines + 1],
    ['one line more', 12, maxListedLines + 2],
    ['a bitmap as long as its lines', 12, 625],
    ['dense', 8, 6000],
    ['full', 3, 10_000],
  ]
  it.each(densities)('%s', async (_, prefixes, linesEach) => {
    const random = seededRandom(prefixes * 10_007 + linesEach)
    const touched = Array.from({ length: prefixes }, () => 200_200 + random(799_800))
    const model = new Set<string>()
    for (const prefix of touched) {
      for (const line of someLines(random, linesEach)) model.add(numberText(prefix, line))
    }
    const list = await listOf(model)
    const wrong: string[] = []
    const check = (number: string) => {
      if (has(list, number) !== model.has(number)) wrong.push(number)
    }
    for (const number of model) check(number)
    for (const prefix of touched) {
      for (let line = 0; line < 10_000; line += 1) check(numberText(prefix, line))
      check(numberText(prefix - 1, random(10_000)))
      check(numberText(prefix + 1, random(10_000)))
    }
    for (let nth = 0; nth < 20_000; nth += 1) check(numberText(random(1_000_000), random(10_000)))
    expect(wrong).toEqual([])
    expect(list.size).toBe(model.size)
  })

  function someLines(random: (below: number) => number, count: number): Set<number> {
    const lines = new Set<number>()
    while (lines.size < count) lines.add(count === 10_000 ? lines.size : random(10_000))
    return lines
  }
})

describe('edges', () => {
  const edges = ['2002000000', '2002009999', '5555550000', '9999990000', '9999999999']
  const outside = ['2001999999', '2002000001', '2002009998', '9999989999', '9999999998']
  const filler = (prefix: string) =>
    Array.from({ length: 700 }, (_, nth) => `${prefix}${String(2000 + nth)}`)

  it.each([
    ['arrays', []],
    ['bitmaps', ['200200', '555555', '999999'].flatMap(filler)],
  ])('lines 0000 and 9999 of the first and last prefix in %s', async (_, more) => {
    const list = await listOf([...edges, ...more])
    expect(edges.filter((number) => !has(list, number))).toEqual([])
    expect(outside.filter((number) => has(list, number))).toEqual([])
  })

  it('a set of ten digits may begin with zero', async () => {
    const list = await listOf(['0000000000', '0010010001'])
    expect(has(list, '0000000000')).toBe(true)
    expect(has(list, '0010010001')).toBe(true)
    expect(has(list, '0000000001')).toBe(false)
    expect(has(list, '0010010000')).toBe(false)
  })

  it('an empty list has nothing', async () => {
    const list = await listOf([])
    expect(list.size).toBe(0)
    expect(has(list, '2125550123')).toBe(false)
  })

  it('duplicates count once', async () => {
    const builder = new NumberListBuilder()
    const added = ['2125550123', '2125550124', '2125550123'].map((number) =>
      builder.add(toPhoneNumber(number)),
    )
    expect(added).toEqual([true, true, false])
    expect(builder.size).toBe(2)
    await builder.write(folder.file('a.cglist'), meta)
    expect(openNumberList(folder.file('a.cglist')).size).toBe(2)
  })

  it.each([
    [1_000_000, 0],
    [-1, 0],
    [Number.NaN, 0],
    [212_555, 10_000],
    [212_555, -1],
    [212_555, Number.NaN],
  ])('the builder refuses prefix %d, line %d', (prefix, line) => {
    expect(() => new NumberListBuilder().addDigits(prefix, line)).toThrow(RangeError)
  })
})

describe('coverage', () => {
  const table: [coverage: Coverage, number: string, covered: boolean][] = [
    ['all', '2125550123', true],
    ['all', '9075550123', true],
    [['212', '907'], '2125550123', true],
    [['212', '907'], '9075550123', true],
    [['212', '907'], '2135550123', false],
    [['212', '907'], '9995550123', false],
  ]
  it.each(table)('%j: %s is covered: %s', async (coverage, number, covered) => {
    const list = await listOf(['2135550000'], coverage)
    expect(list.covers(toPhoneNumber(number))).toBe(covered)
  })

  it('an entry outside the coverage is still found', async () => {
    expect(has(await listOf(['2135550000'], ['212']), '2135550000')).toBe(true)
  })
})

it('a file gives back what it was made with', async () => {
  const written = await listOf(['2125550123'], ['212'])
  const read = openNumberList(folder.file('us-dnc.cglist'))
  const made = { coverage: ['212'], size: 1, dated: false, version: written.version }
  expect({ ...read }).toEqual({ ...meta, ...made })
  expect(read.version).toMatch(/^[0-9a-f]{16}$/)
})

it('reading in the background gives the same list, however many pieces its file has', async () => {
  const builder = new NumberListBuilder()
  for (let nth = 0; nth < 1_400_000; nth += 1) {
    builder.addDigits(212_200 + Math.floor(nth / 700), nth % 700)
  }
  const path = folder.file('us-dnc.cglist')
  await builder.write(path, meta)
  expect(statSync(path).size).toBeGreaterThan(2 * 1024 * 1024)
  const list = await openNumberListInBackground(path)
  expect({ ...list }).toEqual({ ...openNumberList(path) })
  const asked = ['2122000000', '2122000699', '2122000700', '2141990699', '2142000000']
  expect(asked.map((number) => has(list, number))).toEqual([true, true, false, true, false])
})

it('the version changes with the content', async () => {
  const first = await listOf(['2125550123'])
  const second = await listOf(['2125550124'])
  expect(second.version).not.toBe(first.version)
})

it('a builder may be written again with more numbers', async () => {
  const builder = new NumberListBuilder()
  const path = folder.file('us-dnc.cglist')
  builder.add(toPhoneNumber('2125550123'))
  const version = await builder.write(path, meta)
  expect(openNumberList(path)).toMatchObject({ size: 1, version })
  builder.add(toPhoneNumber('3105550123'))
  await builder.write(path, meta)
  expect(has(openNumberList(path), '2125550123')).toBe(true)
  expect(has(openNumberList(path), '3105550123')).toBe(true)
})

describe('a write that fails leaves nothing behind', () => {
  it('because of what is said about the list: the old file stays', async () => {
    const before = await listOf(['2125550123'])
    const path = folder.file('us-dnc.cglist')
    const writing = new NumberListBuilder().write(path, { ...meta, coverage: ['31'] })
    await expect(writing).rejects.toThrow(/us-dnc\.cglist: header field coverage/)
    expect(openNumberList(path).version).toBe(before.version)
    expect(readdirSync(folder.path)).toEqual(['us-dnc.cglist'])
  })

  it('because its place is taken by a folder', async () => {
    mkdirSync(folder.file('us-dnc.cglist'))
    await expect(listOf(['2125550123'])).rejects.toThrow(/EISDIR/)
    expect(readdirSync(folder.path)).toEqual(['us-dnc.cglist'])
  })
})

describe('verifyCheckedFile', () => {
  it('accepts what was written and refuses any other content', async () => {
    const path = folder.file('a.cglist')
    const numbers = ['2125550123', '9999999999']
    await listOf(numbers)
    const whole = readFileSync(folder.file('us-dnc.cglist'))
    const digest = whole.subarray(-32).toString('hex')
    folder.write('a.cglist', whole)
    await expect(verifyCheckedFile(path, digest)).resolves.toBeUndefined()
    for (const at of [0, 50, 1000, whole.length - 33, whole.length - 32, whole.length - 1]) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      folder.write('a.cglist', bytes)
      await expect(verifyCheckedFile(path, digest)).rejects.toThrow(
        /a\.cglist: is not what was written/,
      )
      folder.write('a.cglist', whole.subarray(0, at))
      await expect(verifyCheckedFile(path, digest)).rejects.toThrow(
        /a\.cglist: is not what was written/,
      )
    }
  })
})
