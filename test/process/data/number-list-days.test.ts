import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  type NumberList,
  openNumberList,
} from '../../../src/data/number-list/format/number-list.js'
import { NumberListBuilder } from '../../../src/data/number-list/format/number-list-builder.js'
import {
  maxListedLines,
  type NumberListMeta,
  readNumberListHeader,
} from '../../../src/data/number-list/format/number-list-format.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { numberText, seededRandom } from '../../data/random-numbers.js'
import { useTempFolder } from '../../data/temp-folder.js'

const folder = useTempFolder()

const meta: NumberListMeta = {
  name: 'ported-wireless',
  feed: 'ported',
  previous: null,
  asOf: 1_790_000_000_000,
  importedAt: 1_790_000_500_000,
  coverage: 'all',
  sources: [],
}

async function write(builder: NumberListBuilder): Promise<NumberList> {
  await builder.write(folder.file('a.cglist'), meta)
  return openNumberList(folder.file('a.cglist'))
}

function dayOf(list: NumberList, number: string): number | undefined {
  return list.dayOf(toPhoneNumber(number))
}

describe('days', () => {
  it.each([
    ['in arrays', 3, 20],
    ['in the longest arrays and the sparsest bitmaps', 3, maxListedLines],
    ['in bitmaps', 3, 3000],
    ['of all lines', 1, 10_000],
  ])('are found %s', async (_, prefixes, linesEach) => {
    const random = seededRandom(linesEach)
    const builder = new NumberListBuilder()
    const days = new Map<string, number | undefined>()
    for (let prefix = 212_554; prefix < 212_554 + prefixes; prefix += 1) {
      for (let nth = 0; nth < linesEach + (prefix % 2); nth += 1) {
        const line = linesEach === 10_000 ? nth % 10_000 : random(10_000)
        const number = numberText(prefix, line)
        if (days.has(number)) continue
        const day = random(3) === 0 ? undefined : 1 + random(65_535)
        days.set(number, day)
        builder.addDigits(prefix, line, day)
      }
    }
    const list = await write(builder)
    expect(list).toMatchObject({ dated: true, size: days.size })
    const wrong = [...days].filter(([number, day]) => dayOf(list, number) !== day)
    expect(wrong).toEqual([])
    const absent = Array.from({ length: 10_000 }, (_, line) => numberText(212_554, line))
    const made = absent.filter((number) => !days.has(number) && dayOf(list, number) !== undefined)
    expect(made).toEqual([])
    expect(dayOf(list, '3105550000')).toBeUndefined()
  })

  it.each([
    ['an odd number of words', ['2125550001']],
    ['an even number of words', ['2125550001', '2125550002']],
  ])('of a list with %s', async (_, numbers) => {
    const builder = new NumberListBuilder()
    for (const number of numbers) builder.add(toPhoneNumber(number), 20_000)
    const list = await write(builder)
    expect(numbers.map((number) => dayOf(list, number))).toEqual(numbers.map(() => 20_000))
  })

  it.each<[what: string, days: (number | undefined)[], expected: number | undefined]>([
    ['the later of two', [20_001, 20_000], 20_001],
    ['the later of two, last', [20_000, 20_001], 20_001],
    ['a known one before', [20_000, undefined], 20_000],
    ['a known one after', [undefined, 20_000], 20_000],
    ['a known one, not 0', [20_000, 0], 20_000],
    ['the first there may be', [1], 1],
    ['the last there may be', [65_535], 65_535],
    ['none for 0', [0], undefined],
  ])('%s counts', async (_, days, expected) => {
    const builder = new NumberListBuilder()
    builder.add(toPhoneNumber('3105550001'), 5)
    const added = days.map((day) => builder.add(toPhoneNumber('2125550001'), day))
    expect(added).toEqual(days.map((_day, nth) => nth === 0))
    const list = await write(builder)
    expect(list.size).toBe(2)
    expect(dayOf(list, '2125550001')).toBe(expected)
    expect(dayOf(list, '3105550001')).toBe(5)
  })

  it('a list in which no day is known is not dated, nor larger', async () => {
    const plain = new NumberListBuilder()
    plain.add(toPhoneNumber('2125550001'))
    const { version } = await write(plain)
    const zero = new NumberListBuilder()
    zero.add(toPhoneNumber('2125550001'), 0)
    const list = await write(zero)
    expect(list).toMatchObject({ dated: false, version })
    expect(dayOf(list, '2125550001')).toBeUndefined()
    expect(list.daysOf(212_555)).toHaveLength(0)
  })

  it.each([-1, 65_536, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('%d is refused', (day) => {
    const builder = new NumberListBuilder()
    expect(() => builder.addDigits(212_555, 1, day)).toThrow(`day ${day} is not one of 0 to 65535`)
    expect(builder.size).toBe(0)
  })
})

describe('compareWith', () => {
  it.each([
    ['few numbers', 30, 200],
    ['arrays against bitmaps', 600, 30],
    ['bitmaps', 4000, 8],
  ])('counts as sets do: %s', async (_, linesEach, prefixes) => {
    const random = seededRandom(prefixes)
    const draw = () => {
      const builder = new NumberListBuilder()
      const numbers = new Set<string>()
      for (let nth = 0; nth < linesEach * prefixes; nth += 1) {
        const prefix = 212_900 + random(prefixes)
        const line = random(linesEach * 2)
        builder.addDigits(prefix, line)
        numbers.add(numberText(prefix, line))
      }
      return { builder, numbers }
    }
    const before = draw()
    const after = draw()
    const list = await write(before.builder)
    const onlyIn = (one: Set<string>, other: Set<string>) =>
      [...one].filter((number) => !other.has(number)).length
    expect(after.builder.compareWith(list)).toEqual({
      added: onlyIn(after.numbers, before.numbers),
      removed: onlyIn(before.numbers, after.numbers),
    })
    expect(before.builder.compareWith(list)).toEqual({ added: 0, removed: 0 })
    expect(new NumberListBuilder().compareWith(list)).toEqual({ added: 0, removed: list.size })
  })
})

describe('readNumberListHeader', () => {
  it.each([
    ['without days', undefined],
    ['with days', 20_000],
  ])('tells what opening the list does, %s', async (_, day) => {
    const builder = new NumberListBuilder()
    builder.add(toPhoneNumber('2125550001'), day)
    const { name, feed, previous, size, version, dated } = await write(builder)
    const header = readNumberListHeader(folder.file('a.cglist'))
    expect(header).toEqual({
      ...meta,
      name,
      feed,
      previous,
      size,
      version,
      dated,
      blocks: 2,
      words: 1,
    })
    expect(dated).toBe(day !== undefined)
  })

  it('passes on that there is no such file', () => {
    expect(() => readNumberListHeader(folder.file('a.cglist'))).toThrow(/ENOENT/)
  })
})

describe('before the swap', () => {
  it('the new file is there, verified, and the old one in its place', async () => {
    const path = folder.file('a.cglist')
    const builder = new NumberListBuilder()
    builder.add(toPhoneNumber('2125550001'))
    const before = await write(builder)
    builder.add(toPhoneNumber('2125550002'))
    const seen: string[] = []
    const version = await builder.write(path, meta, () => {
      for (const file of readdirSync(folder.path))
        seen.push(openNumberList(folder.file(file)).version)
    })
    expect(seen).toEqual([version, before.version])
    expect(openNumberList(path).version).toBe(version)
  })

  it('an error keeps the old file and leaves nothing else', async () => {
    const path = folder.file('a.cglist')
    const builder = new NumberListBuilder()
    const before = await write(builder)
    builder.add(toPhoneNumber('2125550002'))
    const writing = builder.write(path, meta, () => {
      throw new Error('no room to keep the old one')
    })
    await expect(writing).rejects.toThrow('no room to keep the old one')
    expect(openNumberList(path).version).toBe(before.version)
    expect(readdirSync(folder.path)).toEqual(['a.cglist'])
  })
})
