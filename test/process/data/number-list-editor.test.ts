import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  type NumberList,
  openNumberList,
} from '../../../src/data/number-list/format/number-list.js'
import { NumberListBuilder } from '../../../src/data/number-list/format/number-list-builder.js'
import { NumberListEditor } from '../../../src/data/number-list/format/number-list-editor.js'
import type { NumberListMeta } from '../../../src/data/number-list/format/number-list-format.js'
import { maxListedLines } from '../../../src/data/number-list/format/number-list-format.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { numberText, seededRandom } from '../../data/random-numbers.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { shortOrLong } from '../../support/long.js'

const folder = useTempFolder()

const meta: NumberListMeta = {
  name: 'us-dnc',
  feed: 'us-dnc',
  previous: null,
  asOf: 1_790_000_000_000,
  importedAt: 1_790_000_500_000,
  coverage: 'all',
  sources: [],
}

/** Numbers to their days, 0 for none. */
type Model = Map<string, number>

async function built(model: Model, file: string): Promise<NumberList> {
  const builder = new NumberListBuilder()
  for (const [number, day] of model) builder.add(toPhoneNumber(number), day)
  await builder.write(folder.file(file), meta)
  return openNumberList(folder.file(file))
}

function bytesOf(file: string): string {
  return readFileSync(folder.file(file)).toString('hex')
}

function modelOf(numbers: Iterable<string>): Model {
  return new Map([...numbers].map((number) => [number, 0]))
}

describe('an edited list is the list a builder makes of the final numbers', () => {
  const prefixes = [200_000, 200_999, 201_000, 555_555, 999_000, 999_999, 310_200]
  // Around the entries at which an array becomes a bitmap, and both ends.
  const counts = [0, 1, 3, 28, maxListedLines, maxListedLines + 1, 34, 48, 9_990, 10_000]
  const rounds = Array.from({ length: shortOrLong(4, 12) }, (_, nth) => nth)

  it.each(rounds)('random changes, seed %d', async (seed) => {
    const random = seededRandom(1000 + seed)
    const dated = seed % 2 === 1
    const before: Model = new Map()
    for (const prefix of prefixes) {
      const count = counts[random(counts.length)] ?? 0
      const first = random(10_000)
      for (let nth = 0; nth < count; nth += 1) {
        const line = (first + nth * 7) % 10_000
        before.set(numberText(prefix, line), dated && random(4) > 0 ? 1 + random(65_535) : 0)
      }
    }
    if (dated) before.set('4155550100', 12_345)
    const editor = new NumberListEditor(await built(before, 'before.cglist'))
    const after: Model = new Map(before)
    for (let nth = 0; nth < 400; nth += 1) {
      const prefix = prefixes[random(prefixes.length)] ?? 0
      change(editor, { before, after, prefix, line: random(10_000), adds: random(2) === 0 })
    }
    await editor.write(folder.file('edited.cglist'), meta)
    await built(after, 'built.cglist')
    expect(bytesOf('edited.cglist')).toBe(bytesOf('built.cglist'))
    expect([editor.size, editor.added, editor.removed]).toEqual([
      after.size,
      [...after.keys()].filter((number) => !before.has(number)).length,
      [...before.keys()].filter((number) => !after.has(number)).length,
    ])
  })

  interface Change {
    readonly before: Model
    readonly after: Model
    readonly prefix: number
    readonly line: number
    readonly adds: boolean
  }

  function change(editor: NumberListEditor, { before, after, prefix, line, adds }: Change): void {
    const number = numberText(prefix, line)
    const there = after.has(number)
    if (adds) {
      expect(editor.add(prefix, line)).toBe(!there)
      after.set(number, after.get(number) ?? before.get(number) ?? 0)
    } else {
      expect(editor.remove(prefix, line)).toBe(there)
      after.delete(number)
    }
  }

  const lines = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, nth) => `${prefix}${String(nth * 3).padStart(4, '0')}`)
  const other = ['3105550100', '3105560100']

  const table: [what: string, before: string[], remove: string[], add: string[]][] = [
    ['no change', [...lines('212555', 700), ...other], [], []],
    ['an emptied array', ['2125550100', ...other], ['2125550100'], []],
    [
      'an emptied bitmap',
      [...lines('310555', maxListedLines + 1), ...other],
      lines('310555', maxListedLines + 1),
      [],
    ],
    ['an emptied area code', [...lines('212555', 3), ...other], lines('212555', 3), []],
    ['an emptied list', other, other, []],
    ['a new prefix', other, [], ['3105570000']],
    ['a new area code before', other, [], ['2125550000']],
    ['a new area code after', other, [], ['9995550000']],
    ['the first number', [], [], ['2125550000']],
    ['an array that becomes a bitmap', lines('212555', maxListedLines), [], ['2125559999']],
    ['a bitmap that becomes an array', lines('212555', maxListedLines + 1), ['2125550000'], []],
    ['a bitmap of a new prefix', other, [], lines('212555', 2000)],
    ['a number removed and added again', other, other, other],
    ['a number removed that was not there', other, ['2125550000', '3105550000'], []],
    ['a number added that was there', other, [], other],
    ['lines 0000 and 9999', ['2000000000'], ['2000000000'], ['2000009999', '9999999999']],
  ]
  it.each(table)('%s', async (_, numbers, remove, add) => {
    const before = await built(modelOf(numbers), 'before.cglist')
    const editor = new NumberListEditor(before)
    for (const number of remove) editor.remove(...digits(number))
    for (const number of add) editor.add(...digits(number))
    const left = new Set(numbers.filter((number) => !remove.includes(number)))
    const version = await editor.write(folder.file('edited.cglist'), meta)
    const list = await built(modelOf([...left, ...add]), 'built.cglist')
    expect(bytesOf('edited.cglist')).toBe(bytesOf('built.cglist'))
    expect(list).toMatchObject({ version, size: editor.size })
    expect(editor.size - editor.added + editor.removed).toBe(before.size)
  })
})

function digits(number: string): [prefix: number, line: number] {
  return [Number(number.slice(0, 6)), Number(number.slice(6))]
}

describe('days', () => {
  const model: Model = new Map([
    ['2125550001', 20_001],
    ['2125550002', 20_002],
    ['2125550003', 0],
    ['3105550001', 20_003],
  ])

  it('stay with what stays, and with what was removed and added again', async () => {
    const editor = new NumberListEditor(await built(model, 'before.cglist'))
    for (const line of [1, 2]) editor.remove(212_555, line)
    for (const line of [0, 1]) editor.add(212_555, line)
    await editor.write(folder.file('edited.cglist'), meta)
    const list = openNumberList(folder.file('edited.cglist'))
    const of = (number: string) => list.dayOf(toPhoneNumber(number))
    expect(['2125550000', '2125550001', '2125550002', '2125550003'].map(of)).toEqual([
      undefined,
      20_001,
      undefined,
      undefined,
    ])
    expect(of('3105550001')).toBe(20_003)
    expect([editor.added, editor.removed]).toEqual([1, 1])
  })

  it('a dated list stays one when its last day is gone', async () => {
    const editor = new NumberListEditor(await built(new Map([['2125550001', 5]]), 'before.cglist'))
    editor.remove(212_555, 1)
    editor.add(212_555, 2)
    await editor.write(folder.file('edited.cglist'), meta)
    const list = openNumberList(folder.file('edited.cglist'))
    expect(list).toMatchObject({ dated: true, size: 1 })
    expect(list.has(toPhoneNumber('2125550002'))).toBe(true)
    expect(list.dayOf(toPhoneNumber('2125550002'))).toBeUndefined()
  })
})

it.each([
  [1_000_000, 0],
  [-1, 0],
  [Number.NaN, 0],
  [212_555, 10_000],
  [212_555, -1],
  [212_555, Number.NaN],
])('prefix %d, line %d is refused', async (prefix, line) => {
  const editor = new NumberListEditor(await built(modelOf(['2125550001']), 'before.cglist'))
  expect(() => editor.add(prefix, line)).toThrow(RangeError)
  expect(() => editor.remove(prefix, line)).toThrow(RangeError)
  expect([editor.added, editor.removed]).toEqual([0, 0])
})

it('the result may take the place of the base, which stays usable', async () => {
  const base = await built(modelOf(['2125550001']), 'us-dnc.cglist')
  const editor = new NumberListEditor(base)
  editor.remove(212_555, 1)
  editor.add(212_555, 2)
  const path = folder.file('us-dnc.cglist')
  let kept = ''
  const version = await editor.write(path, { ...meta, previous: base.version }, () => {
    kept = openNumberList(path).version
  })
  expect(kept).toBe(base.version)
  const list = openNumberList(path)
  expect(list).toMatchObject({ version, previous: base.version, size: 1 })
  expect(base.has(toPhoneNumber('2125550001'))).toBe(true)
  expect(list.has(toPhoneNumber('2125550001'))).toBe(false)
  expect(list.has(toPhoneNumber('2125550002'))).toBe(true)
  expect(readdirSync(folder.path)).toEqual(['us-dnc.cglist'])
})

it('a write that fails keeps what was there', async () => {
  const base = await built(modelOf(['2125550001']), 'us-dnc.cglist')
  const path = folder.file('us-dnc.cglist')
  const editor = new NumberListEditor(base)
  editor.add(212_555, 2)
  await expect(editor.write(path, { ...meta, feed: '' })).rejects.toThrow(/header field feed/)
  await expect(
    editor.write(path, meta, () => {
      throw new Error('no room')
    }),
  ).rejects.toThrow('no room')
  expect(openNumberList(path).version).toBe(base.version)
  expect(readdirSync(folder.path)).toEqual(['us-dnc.cglist'])
})
