/** Whatever is wrong with a file, it is refused by name and reason, and never answers. */
import { createHash } from 'node:crypto'
import { readFileSync, renameSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { readCheckedFile, writeCheckedFile } from '../../../src/data/files/checked-file.js'
import {
  openNumberList,
  openNumberListInBackground,
} from '../../../src/data/number-list/format/number-list.js'
import { NumberListBuilder } from '../../../src/data/number-list/format/number-list-builder.js'
import {
  computeBodyLayout,
  type NumberListMeta,
  numberListFile,
  readNumberListHeader,
} from '../../../src/data/number-list/format/number-list-format.js'
import { type ListStore, openListStore } from '../../../src/data/number-list/list-store.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { DataFileError } from '../../../src/errors.js'
import { seededRandom } from '../../data/random-numbers.js'
import { useTempFolder } from '../../data/temp-folder.js'

const folder = useTempFolder()

const meta: NumberListMeta = {
  name: 'us-dnc',
  feed: 'list',
  previous: '0123456789abcdef',
  asOf: 1_790_000_000_000,
  importedAt: 1_790_000_500_000,
  coverage: ['212', '310'],
  sources: [{ file: 'a.txt', sha256: 'ab', rows: 703 }],
}

// A bitmap and an array of 212, an array of 310; the words end where the ranks may begin.
const bitmapPrefix = 212_555
const entries = 703
const announced = { blocks: 3, words: 628, size: entries, dated: true }
const layout = computeBodyLayout(announced)
const slotAt = (slot: number) => layout.slotsAt + slot * 4
const rankAt = (slot: number) => layout.ranksAt + slot * 4

/** Written by the first case. */
let good: Buffer
let goodVersion: string
let store: ListStore

async function buildGoodList(): Promise<void> {
  const path = folder.file('us-dnc.cglist')
  const builder = new NumberListBuilder()
  for (let line = 0; line < 700; line += 1) builder.addDigits(bitmapPrefix, line * 2, 20_000 + line)
  for (const line of [5, 9]) builder.addDigits(bitmapPrefix + 1, line, 19_000)
  builder.addDigits(310_200, 1)
  goodVersion = await builder.write(path, meta)
  good = readFileSync(path)
}

beforeEach(async () => {
  if (good === undefined) await buildGoodList()
  else folder.write('us-dnc.cglist', good)
  store = openListStore({ folder: folder.path })
})

/** Puts a file in the place of the good one and expects every way of reading it to refuse it. */
async function expectRefused(bytes: Buffer, reason: RegExp): Promise<void> {
  const path = folder.file('us-dnc.cglist')
  renameSync(folder.write('damaged', bytes), path)
  const error = errorOf(() => openNumberList(path))
  expect(error).toBeInstanceOf(DataFileError)
  expect(error).toMatchObject({ path, message: expect.stringMatching(reason) })
  expect(error.message).toContain(`${path}: `)
  const inBackground = openNumberListInBackground(path).catch((cause: unknown) => cause)
  expect(await inBackground).toMatchObject({ name: 'DataFileError', message: error.message })
  expectKept(error.message)
}

function errorOf(work: () => unknown): Error {
  try {
    work()
  } catch (cause) {
    if (cause instanceof Error) return cause
  }
  throw new Error('was accepted')
}

function expectKept(detail: string): void {
  store.refresh()
  expect(store.problems()).toMatchObject([{ name: 'us-dnc', detail, olderInUse: true }])
  const list = store.get('us-dnc')
  expect(list).toMatchObject({ version: goodVersion, size: entries })
  expect(list?.has(toPhoneNumber('2125550002'))).toBe(true)
  expect(list?.has(toPhoneNumber('2125550003'))).toBe(false)
  expect(list?.dayOf?.(toPhoneNumber('2125550002'))).toBe(20_001)
}

const checksumBytes = 32
const bodyStart = () => good.length - checksumBytes - layout.end

/** The parts of the file, each from where it starts to where the next one does. */
function parts(): Record<string, { from: number; to: number }> {
  const body = bodyStart()
  const end = good.length - checksumBytes
  return {
    magic: { from: 0, to: 8 },
    'length of the header': { from: 8, to: 12 },
    header: { from: 12, to: body },
    areas: { from: body, to: body + layout.slotsAt },
    slots: { from: body + layout.slotsAt, to: body + layout.wordsAt },
    words: { from: body + layout.wordsAt, to: body + layout.ranksAt },
    ranks: { from: body + layout.ranksAt, to: body + layout.daysAt },
    days: { from: body + layout.daysAt, to: end },
    checksum: { from: end, to: good.length },
  }
}
const partNames = [
  'magic',
  'length of the header',
  'header',
  'areas',
  'slots',
  'words',
  'ranks',
  'days',
  'checksum',
]

it('the layout of the good file is the one the damage aims at', () => {
  expect(readNumberListHeader(folder.file('us-dnc.cglist'))).toMatchObject(announced)
  expect(openNumberList(folder.file('us-dnc.cglist')).version).toBe(goodVersion)
  expect(Object.keys(parts())).toEqual(partNames)
})

describe('cut off', () => {
  it.each(partNames)('at the start and inside of: %s', async (name) => {
    const { from = 0, to = 0 } = parts()[name] ?? {}
    for (const length of new Set([from, from + 1, (from + to) >> 1, to - 1])) {
      await expectRefused(good.subarray(0, length), /truncated/)
      const path = folder.file('us-dnc.cglist')
      expect(() => readNumberListHeader(path)).toThrow(DataFileError)
    }
  })

  it('or longer than it was', async () => {
    await expectRefused(Buffer.concat([good, Buffer.alloc(1)]), /SHA-256 does not match/)
    expect(() => readNumberListHeader(folder.file('us-dnc.cglist'))).toThrow(/body has \d+ bytes/)
  })
})

describe('one bit flipped', () => {
  it.each(partNames)('in: %s', async (name) => {
    const { from = 0, to = 0 } = parts()[name] ?? {}
    const random = seededRandom(from)
    for (let nth = 0; nth < 12; nth += 1) {
      const bytes = Buffer.from(good)
      const at = from + random(to - from)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8))
      await expectRefused(
        bytes,
        name === 'magic' ? /is not a callgate data file/ : /SHA-256 does not match/,
      )
    }
  })
})

/** The good content with changes, under a checksum that is right. */
async function crafted(
  header: Record<string, unknown>,
  change: (body: Buffer) => Buffer = (body) => body,
  kind = numberListFile,
): Promise<Buffer> {
  const path = folder.file('us-dnc.cglist')
  const { header: before, body } = readCheckedFile(path, numberListFile)
  const { kind: _kind, formatVersion: _formatVersion, ...rest } = before
  const aside = folder.file('crafted')
  await writeCheckedFile(aside, kind, { ...rest, ...header }, [change(Buffer.from(body))])
  return readFileSync(aside)
}

describe('with a right checksum, but', () => {
  it('nothing is wrong with what the others are made of', async () => {
    const same = await crafted({})
    expect(same.equals(good)).toBe(true)
  })

  it.each([
    ['another kind', 'numbering', 2, /contains 'numbering', not 'number-list'/],
    ['another format', 'number-list', 2, /format version 2; .* reads 1\. Import it again/],
  ])('%s', async (_, kind, formatVersion, reason) => {
    await expectRefused(await crafted({}, undefined, { kind, formatVersion }), reason)
    expect(() => readNumberListHeader(folder.file('us-dnc.cglist'))).toThrow(reason)
  })

  it.each<[field: string, value: unknown, rule: string]>([
    ['name', 5, 'is not a text'],
    ['name', '', 'is not a text'],
    ['feed', undefined, 'is not a text'],
    ['feed', '', 'is not a text'],
    ['previous', undefined, "'undefined' is not a version"],
    ['previous', '', "'' is not a version"],
    ['previous', '../../../etc/pass', "'../../../etc/pass' is not a version"],
    ['dated', 'yes', 'is neither true nor false'],
    ['dated', undefined, 'is neither true nor false'],
    ['coverage', ['21'], "is neither 'all' nor area codes"],
    ['coverage', 'some', "is neither 'all' nor area codes"],
    ['sources', [{ file: 'a' }], 'is not a list of file, sha256 and rows'],
    ['sources', [null], 'is not a list of file, sha256 and rows'],
    ['size', '703', "'703' is not a whole number"],
    ['size', -1, "'-1' is not a whole number"],
    ['blocks', 1.5, "'1.5' is not a whole number"],
    ['words', null, "'null' is not a whole number"],
    ['asOf', 'today', "'today' is not a whole number"],
    ['importedAt', undefined, "'undefined' is not a whole number"],
  ])('header field %s is %j', async (field, value, rule) => {
    const reason = new RegExp(`header field ${field}: ${rule.replaceAll('.', '\\.')}`)
    await expectRefused(await crafted({ [field]: value }), reason)
    expect(() => readNumberListHeader(folder.file('us-dnc.cglist'))).toThrow(reason)
  })

  it.each<[what: string, header: Record<string, unknown>]>([
    ['fewer blocks', { blocks: 2 }],
    ['no block', { blocks: 0 }],
    ['more words', { words: 630 }],
    ['far more words', { words: 2 ** 50 }],
    ['fewer numbers', { size: 702 }],
    ['no days', { dated: false }],
  ])('%s than the body has', async (_, header) => {
    await expectRefused(await crafted(header), /body has \d+ bytes, not \d+/)
    expect(() => readNumberListHeader(folder.file('us-dnc.cglist'))).toThrow(/body has \d+ bytes/)
  })

  const put16 = (at: number, value: number) => (body: Buffer) => {
    body.writeUInt16LE(value, at)
    return body
  }
  const put32 = (at: number, value: number) => (body: Buffer) => {
    body.writeUInt32LE(value, at)
    return body
  }
  const slots = (from: number, to: number, value: number) => (body: Buffer) => {
    for (let slot = from; slot < to; slot += 1) body.writeUInt32LE(value, slotAt(slot))
    return body
  }
  const insert = (at: number, bytes: number) => (body: Buffer) =>
    Buffer.concat([body.subarray(0, at), Buffer.alloc(bytes), body.subarray(at)])
  const neitherForm = /a prefix of \d+ words is neither a list of lines nor a bitmap/
  const undated = (body: Buffer) => body.subarray(0, layout.ranksAt)
  const noDays = { dated: false }

  it.each<[string, (body: Buffer) => Buffer, Record<string, unknown>, RegExp]>([
    ['an area code points outside', put16(2 * 310, 3), {}, /outside the table of prefixes/],
    ['an area code points far outside', put16(2 * 999, 65_535), {}, /outside the table/],
    ['two area codes share a block', put16(2 * 213, 1), {}, /codes do not follow one another/],
    ['an area code has lost its block', put16(2 * 310, 0), {}, /codes do not span the table/],
    ['prefixes overlap', put32(slotAt(1500), 9), {}, /prefixes do not follow one another/],
    ['a prefix is too long', put32(slotAt(1556), 626), {}, neitherForm],
    ['a prefix has one line too many for a list', put32(slotAt(1556), 33), {}, neitherForm],
    ['a prefix ends far outside', put32(slotAt(1556), 2 ** 32 - 1), {}, neitherForm],
    ['the prefixes start late', slots(0, 1556, 1), {}, neitherForm],
    [
      'the prefixes end early',
      insert(layout.ranksAt, 4),
      { words: 630 },
      /do not span the numbers/,
    ],
    ['the empty block holds numbers', slots(501, 1556, 1), {}, neitherForm],
    ['the days start late', put32(rankAt(0), 1), {}, /days do not span the numbers/],
    ['the days end early', put32(rankAt(3000), 702), {}, /days do not span the numbers/],
    ['there are more days', insert(layout.end, 2), { size: 704 }, /days do not span the numbers/],
    ['a prefix has fewer days', put32(rankAt(1556), 624), {}, /days do not fit the numbers/],
    ['an array has more days', put32(rankAt(1556), 699), {}, /days do not fit the numbers/],
    ['days fall', put32(rankAt(2500), 5), {}, /days do not fit the numbers/],
    ['days lie far outside', put32(rankAt(1556), 2 ** 32 - 1), {}, /days do not fit the numbers/],
    [
      'there are too few numbers',
      undated,
      { ...noDays, size: 35 },
      /field size: '35' does not fit/,
    ],
    [
      'there are too many',
      undated,
      { ...noDays, size: 10_004 },
      /field size: '10004' does not fit/,
    ],
  ])('%s', async (_, change, header, reason) => {
    await expectRefused(await crafted(header, change), reason)
  })

  it('without its days it is a good list again', async () => {
    const path = folder.write('us-dnc.cglist', await crafted(noDays, undated))
    expect(openNumberList(path).has(toPhoneNumber('2125550002'))).toBe(true)
    expect(openNumberList(path).dayOf(toPhoneNumber('2125550002'))).toBeUndefined()
  })

  function sealed(json: string, claimed = Buffer.byteLength(json)): Buffer {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(claimed)
    const content = Buffer.concat([Buffer.from('CALLGATE'), length, Buffer.from(json)])
    return Buffer.concat([content, createHash('sha256').update(content).digest()])
  }

  it.each([
    ['is no JSON', '{"ki', undefined, /header that is not JSON/],
    ['is no object', 'null', undefined, /header that is not a JSON object/],
    ['is not aligned', '{ }', undefined, /header of an invalid length/],
    ['reaches past the end', '{  }', 1004, /header of an invalid length/],
    ['says nothing', '{  }', undefined, /contains 'undefined', not 'number-list'/],
  ])('a header that %s', async (_, json, claimed, reason) => {
    await expectRefused(sealed(json, claimed), reason)
    expect(() => readNumberListHeader(folder.file('us-dnc.cglist'))).toThrow(reason)
  })
})

describe('a file that an import was writing when it died', () => {
  const asides = ['.us-dnc.cglist.1.new', '..us-dnc.cglist.1.new.1.part']
  it.each(asides)('%s is not taken for the list', (file) => {
    const path = folder.write(file, good.subarray(0, good.length >> 1))
    expect(() => openNumberList(path)).toThrow(`${path}: is damaged or truncated`)
    expect(store.refresh()).toBe(false)
    expect(store.problems()).toEqual([])
    expect(store.all()).toMatchObject([{ name: 'us-dnc', version: goodVersion }])
    const restarted = openListStore({ folder: folder.path })
    expect(restarted.problems()).toEqual([])
    expect(restarted.all()).toMatchObject([{ name: 'us-dnc', version: goodVersion }])
  })
})
