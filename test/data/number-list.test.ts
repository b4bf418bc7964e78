import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { verifyCheckedFile, writeCheckedFile } from '../../src/data/checked-file.js'
import {
  type NumberList,
  openNumberList,
  openNumberListInBackground,
} from '../../src/data/number-list/number-list.js'
import { NumberListBuilder } from '../../src/data/number-list/number-list-builder.js'
import type { Coverage, NumberListMeta } from '../../src/data/number-list/number-list-format.js'
import { phoneNumber } from '../../src/domain/phone-number.js'
import { DataFileError } from '../../src/errors.js'
import { numberText, seededRandom } from './random-numbers.js'
import { useTempFolder } from './temp-folder.js'

const folder = useTempFolder()

const meta: NumberListMeta = {
  name: 'us-dnc',
  asOf: 1_790_000_000_000,
  importedAt: 1_790_000_500_000,
  coverage: 'all',
  sources: [{ file: 'a.txt', sha256: 'ab', rows: 3 }],
}

async function listOf(numbers: Iterable<string>, coverage: Coverage = 'all'): Promise<NumberList> {
  const builder = new NumberListBuilder()
  for (const number of numbers) builder.add(phoneNumber(number))
  await builder.write(folder.file('us-dnc.cglist'), { ...meta, coverage })
  return openNumberList(folder.file('us-dnc.cglist'))
}

function has(list: NumberList, number: string): boolean {
  return list.has(phoneNumber(number))
}

describe('a list agrees with a Set', () => {
  // 624 lines still make an array and 625 a bitmap.
  const densities: [what: string, prefixes: number, linesEach: number][] = [
    ['one line per prefix', 400, 1],
    ['a few lines per prefix', 200, 20],
    ['the longest array', 12, 624],
    ['the sparsest bitmap', 12, 625],
    ['one line more', 12, 626],
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
      builder.add(phoneNumber(number)),
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
    expect(list.covers(phoneNumber(number))).toBe(covered)
  })

  it('an entry outside the coverage is still found', async () => {
    expect(has(await listOf(['2135550000'], ['212']), '2135550000')).toBe(true)
  })
})

it('a file gives back what it was made with', async () => {
  const written = await listOf(['2125550123'], ['212'])
  const read = openNumberList(folder.file('us-dnc.cglist'))
  expect({ ...read }).toEqual({ ...meta, coverage: ['212'], size: 1, version: written.version })
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

it('a header that is no JSON is damage, whatever the checksum says', async () => {
  const content = Buffer.from('CALLGATE\x04\x00\x00\x00{{{{', 'latin1')
  const digest = createHash('sha256').update(content).digest()
  const path = folder.write('a.cglist', Buffer.concat([content, digest]))
  expect(() => openNumberList(path)).toThrow(DataFileError)
  expect(() => openNumberList(path)).toThrow(/a\.cglist: has a header that is no JSON/)
})

it('the version changes with the content', async () => {
  const first = await listOf(['2125550123'])
  const second = await listOf(['2125550124'])
  expect(second.version).not.toBe(first.version)
})

describe('a damaged file is refused', () => {
  it('wherever it is cut', async () => {
    await listOf(['2125550123', '3105550000'])
    const whole = readFileSync(folder.file('us-dnc.cglist'))
    for (const length of [0, 7, 11, 40, whole.length - 5000, whole.length - 32, whole.length - 1]) {
      const path = folder.write('cut.cglist', whole.subarray(0, length))
      expect(() => openNumberList(path)).toThrow(/cut\.cglist: .*cut off/)
      await expect(openNumberListInBackground(path)).rejects.toThrow(/cut\.cglist: .*cut off/)
    }
  })

  it('whichever bit is flipped', async () => {
    await listOf(['2125550123'])
    const whole = readFileSync(folder.file('us-dnc.cglist'))
    const random = seededRandom(7)
    for (let nth = 0; nth < 200; nth += 1) {
      const bytes = Buffer.from(whole)
      const at = random(bytes.length)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8))
      const path = folder.write('flipped.cglist', bytes)
      expect(() => openNumberList(path)).toThrow(/flipped\.cglist: is /)
      await expect(openNumberListInBackground(path)).rejects.toThrow(/flipped\.cglist: is /)
    }
  })

  const goodHeader = { ...meta, size: 1, blocks: 2, words: 1 }
  const body = (more: { at: number; value: number }[] = []): Buffer => {
    const bytes = Buffer.alloc(2000 + 2001 * 4 + 2)
    bytes.writeUInt16LE(1, 2 * 212)
    bytes.writeUInt32LE(1, 2000 + 2000 * 4)
    for (const { at, value } of more) bytes.writeUInt32LE(value, at)
    return bytes
  }
  const areaOutside = body([{ at: 2 * 310, value: 2 }])
  const falling = body([{ at: 2000 + 1500 * 4, value: 2 }])
  const tooLong = body([{ at: 2000 + 2000 * 4, value: 626 }])
  const shortOfEnd = body([{ at: 2000 + 2000 * 4, value: 0 }])
  const lateStart = body(
    Array.from({ length: 2001 }, (_, nth) => ({ at: 2000 + nth * 4, value: 1 })),
  )
  const listKind = { kind: 'number-list', formatVersion: 1 }
  const otherKind = { kind: 'numbering', formatVersion: 1 }

  it.each([
    ['of another kind', otherKind, {}, body(), /holds 'numbering', not 'number-list'/],
    ['of a later version', { ...listKind, formatVersion: 2 }, {}, body(), /format version 2/],
    ['with no name', listKind, { name: 5 }, body(), /header field name/],
    ['with a size that is no number', listKind, { size: '1' }, body(), /size: '1' is not/],
    ['with a strange coverage', listKind, { coverage: ['21'] }, body(), /field coverage/],
    ['with strange sources', listKind, { sources: [{ file: 'a' }] }, body(), /field sources/],
    ['with a short body', listKind, { words: 2 }, body(), /has 10006 bytes, not 10008/],
    ['with an area code outside', listKind, {}, areaOutside, /outside the table of prefixes/],
    ['with prefixes that overlap', listKind, {}, falling, /do not follow one another/],
    ['with a prefix that is too long', listKind, {}, tooLong, /do not follow one another/],
    ['with prefixes that end early', listKind, {}, shortOfEnd, /do not span the numbers/],
    ['with prefixes that start late', listKind, {}, lateStart, /do not span the numbers/],
  ])('%s', async (_, kind, header, bytes, message) => {
    const path = folder.file('strange.cglist')
    await writeCheckedFile(path, kind, { ...goodHeader, ...header }, [bytes])
    expect(() => openNumberList(path)).toThrow(message)
    await writeCheckedFile(path, listKind, goodHeader, [body()])
    expect(openNumberList(path).has(phoneNumber('2129990000'))).toBe(true)
  })
})

it('a builder may be written again with more numbers', async () => {
  const builder = new NumberListBuilder()
  const path = folder.file('us-dnc.cglist')
  builder.add(phoneNumber('2125550123'))
  const version = await builder.write(path, meta)
  expect(openNumberList(path)).toMatchObject({ size: 1, version })
  builder.add(phoneNumber('3105550123'))
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
      await expect(verifyCheckedFile(path, digest)).rejects.toThrow(/a\.cglist: reads back other/)
      folder.write('a.cglist', whole.subarray(0, at))
      await expect(verifyCheckedFile(path, digest)).rejects.toThrow(/a\.cglist: reads back other/)
    }
  })
})
