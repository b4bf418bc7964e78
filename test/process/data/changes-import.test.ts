import { appendFileSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openRejectFile } from '../../../src/data/feeds/reject-file.js'
import { openNumberList } from '../../../src/data/number-list/format/number-list.js'
import type { ChangesImportOptions } from '../../../src/data/number-list/import/changes-import.js'
import { withListLock } from '../../../src/data/number-list/import/list-lock.js'
import { mergeSources } from '../../../src/data/number-list/import/source-history.js'
import { rollBackList } from '../../../src/data/number-list/list-rollback.js'
import { findVersions } from '../../../src/data/number-list/list-version-files.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { fixedClock } from '../../../src/domain/time/clock.js'
import { formatInstant } from '../../../src/domain/time/dates.js'
import { at, listsFixture, now, numberLines, sha256 } from '../../data/lists-fixture.js'
import { numberText, seededRandom } from '../../data/random-numbers.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { zipBytes } from '../../data/zip-bytes.js'

const folder = useTempFolder()
const fixture = listsFixture(folder)
const { source, importing, changing, listed, path, state, files: listFiles, lists } = fixture

const asOf = '2026-11-18T08:00:00Z'
const [a, b, c, d] = ['2125550000', '2125550001', '2125550002', '2125550003'] as const

/** The list has a and b, and covers 212. */
function withList(more: { areaCodes?: 'all' | string[]; asOf?: number } = {}) {
  return importing({ files: [source('full.txt', numberLines(0, 2))], feed: 'us-dnc', ...more })
}

function changes(text: string, more: Partial<ChangesImportOptions> = {}) {
  return changing({ files: [source('changes.txt', text)], ...more })
}

describe('rows are applied in the order of their times', () => {
  const before = '2026-11-18T07:59:59'
  const same = '2026-11-18T08:00:00'
  const one = '2026-11-18T09:00:00'
  const two = '2026-11-18T10:00:00'
  const table: [what: string, rows: string[], listed: string[], counts: number[]][] = [
    // counts: added, removed, unchanged, outdated
    ['an addition', [`${c},${one},A`], [a, b, c], [1, 0, 0, 0]],
    ['a deletion', [`${a},${one},D`], [b], [0, 1, 0, 0]],
    ['an addition of what is there', [`${a},${one},A`], [a, b], [0, 0, 1, 0]],
    ['a deletion of what is not there', [`${c},${one},D`], [a, b], [0, 0, 1, 0]],
    ['added, then deleted', [`${c},${one},A`, `${c},${two},D`], [a, b], [0, 0, 0, 0]],
    [
      'the same, rows the other way round',
      [`${c},${two},D`, `${c},${one},A`],
      [a, b],
      [0, 0, 0, 0],
    ],
    ['deleted, then added', [`${a},${one},D`, `${a},${two},A`], [a, b], [0, 0, 0, 0]],
    [
      'the same, rows the other way round',
      [`${a},${two},A`, `${a},${one},D`],
      [a, b],
      [0, 0, 0, 0],
    ],
    ['of one time the addition', [`${c},${one},A`, `${c},${one},D`], [a, b, c], [1, 0, 1, 0]],
    ['of one time the addition again', [`${a},${one},D`, `${a},${one},A`], [a, b], [0, 0, 0, 0]],
    [
      'of one day the addition',
      [`${c},2026-11-19,A`, `${d},2026-11-19,D`, `${c},2026-11-19,D`, `${b},2026-11-19,D`],
      [a, c],
      [1, 1, 2, 0],
    ],
    [
      'of one time the addition, among rows out of order',
      [`${c},${two},A`, `${a},${one},D`, `${c},${two},D`, `${a},${one},A`],
      [a, b, c],
      [1, 0, 1, 0],
    ],
    ['an addition older than the list', [`${c},${before},A`], [a, b, c], [1, 0, 0, 0]],
    ['a deletion older than the list', [`${a},${before},D`], [a, b], [0, 0, 0, 1]],
    ['a deletion as old as the list', [`${a},${same},D`], [b], [0, 1, 0, 0]],
    ['a deletion of that day', [`${a},2026-11-18,D`], [a, b], [0, 0, 0, 1]],
    [
      'an addition and a later deletion, both older',
      [`${c},2026-11-18T07:00:00,A`, `${c},${before},D`],
      [a, b, c],
      [1, 0, 0, 1],
    ],
    [
      'several',
      [`${c},${one},A`, `${a},${one},D`, `${d},${two},A`, `${b},${two},A`],
      [b, c, d],
      [2, 1, 1, 0],
    ],
  ]
  it.each(table)('%s', async (_, rows, expected, [added, removed, unchanged, outdated]) => {
    const { version } = await withList()
    const text = `${rows.join('\n')}\n`
    const dry = await changes(text, { dryRun: true })
    const made = await changes(text)
    expect(listed([a, b, c, d])).toEqual(expected)
    expect(made).toMatchObject({ added, removed, unchanged, outdated, rows: rows.length })
    expect(made).toMatchObject({ size: expected.length, previous: version, dryRun: false })
    expect(dry).toEqual({ ...made, dryRun: true, version: 'none' })
  })

  it('over all files, whatever their order', async () => {
    await withList()
    const early = source('1.txt', `${c},${one},A\n${a},${one},D\n`)
    const late = source('2.gz', gzipSync(`${c},${two},D\n${a},${two},A\n`))
    await changing({ files: [late, early] })
    expect(listed([a, b, c])).toEqual([a, b])
  })

  it.each([false, true])(
    'and of one time the addition, whatever its file: %s',
    async (reversed) => {
      await withList()
      const files = [source('1.txt', `${c},${one},A\n`), source('2.txt', `${c},${one},D\n`)]
      await changing({ files: reversed ? files.reverse() : files })
      expect(listed([c])).toEqual([c])
    },
  )

  it('agrees with a model on many random rows', async () => {
    const random = seededRandom(5)
    const model = new Set<string>([a, b])
    await withList({ areaCodes: 'all' })
    const rows = Array.from({ length: 20_000 }, () => ({
      number: numberText(212_550 + random(3), random(2_000)),
      at: at(asOf) + random(70_000) * 1000,
      mark: random(2) === 0 ? 'A' : 'D',
    }))
    const text = rows.map(({ number, at, mark }) => `${number},${formatInstant(at)},${mark}\n`)
    const rank = ({ mark }: { readonly mark: string }) => (mark === 'A' ? 1 : 0)
    const inTime = rows.toSorted((x, y) => x.at - y.at || rank(x) - rank(y))
    for (const { number, mark } of inTime) {
      if (mark === 'A') model.add(number)
      else model.delete(number)
    }
    const { size } = await changes(text.join(''))
    expect(size).toBe(model.size)
    expect(listed([...model])).toHaveLength(model.size)
  })
})

describe('the list that comes of it', () => {
  it('is as of the latest row, of the same area codes, and names its files', async () => {
    await withList({ areaCodes: ['212', '646'] })
    const text = `${c},2026-11-19T07:00:00,A\n${d},2026-11-18T10:00:00,A\n`
    const summary = await changes(text)
    const list = openNumberList(path())
    expect(summary).toMatchObject({
      name: 'us-dnc',
      path: path(),
      version: list.version,
      asOf: at('2026-11-19T07:00:00Z'),
      importedAt: now,
      sources: [{ file: 'changes.txt', sha256: sha256(text), rows: 2 }],
      badLines: { maxAllowed: 0, count: 0, first: [] },
    })
    expect(list).toMatchObject({
      feed: 'us-dnc-changes',
      previous: summary.previous,
      asOf: summary.asOf,
      coverage: ['212', '646'],
    })
    expect(list.sources.map(({ file }) => file)).toEqual(['full.txt', 'changes.txt'])
  })

  it('is told of area codes without a change, whose files may be missing', async () => {
    await withList({ areaCodes: ['212', '646', '917'] })
    const text = `${c},2026-11-18T10:00:00,A\n9175550123,2026-11-18T10:00:00,D\n`
    expect((await changes(text)).areaCodesWithoutRows).toEqual(['646'])
    await withList({ areaCodes: 'all' })
    expect((await changes(text)).areaCodesWithoutRows).toEqual([])
  })

  it('is refused when the list is replaced while the changes are read', async () => {
    await withList()
    const files = [source('changes.txt', `${c},2026-11-18T09:00:00,A\n`)]
    const other = source('other.txt', numberLines(0, 4))
    const { version } = await importing({ files: [other], folder: folder.file('elsewhere') })
    const onProgress = () => copyFileSync(folder.file('elsewhere/us-dnc.cglist'), path())
    await expect(changing({ files, onProgress })).rejects.toThrow(
      `${path()}: is now version ${version}, but was`,
    )
    expect(openNumberList(path()).version).toBe(version)
    expect(listFiles()).toEqual(['us-dnc.cglist'])
  })

  const stamps: [stamp: string, asked: string | undefined, expected: string][] = [
    ['2026-11-18T07:00:00', undefined, asOf],
    ['2026-11-18T09:00:00', '2026-11-18T23:59:59Z', '2026-11-18T23:59:59Z'],
    ['2026-11-18T09:00:00', asOf, asOf],
  ]
  it.each(stamps)('with a row of %s and as of %s: as of %s', async (stamp, asked, expected) => {
    await withList()
    const given = asked === undefined ? {} : { asOf: at(asked) }
    expect((await changes(`${c},${stamp},A\n`, given)).asOf).toBe(at(expected))
  })

  it('is not of a time to come, though stamps may be a little ahead', async () => {
    await withList({ asOf: now - 1000 })
    expect((await changes(`${c},2026-11-20T20:00:00,A\n`)).asOf).toBe(now)
  })

  it('keeps the days of numbers', async () => {
    const csv = `phone,date\n${a},2026-11-02\n${b},2026-11-03\n`
    await importing({ files: [source('f.csv', csv)] })
    await changes(`${c},2026-11-18T09:00:00,A\n${a},2026-11-18T09:00:00,D\n`)
    const list = openNumberList(path())
    const days = [a, b, c].map((number) => list.dayOf(toPhoneNumber(number)))
    expect(days).toEqual([undefined, at('2026-11-03') / 86_400_000, undefined])
  })

  it('keeps the one it replaces, which comes back as it was', async () => {
    const { version } = await withList()
    await changes(`${c},2026-11-18T09:00:00,A\n`)
    expect(findVersions(lists(), 'us-dnc').map(({ size }) => size)).toEqual([3, 2])
    await rollBackList({ folder: lists(), name: 'us-dnc', keep: 2, clock: fixedClock(now) })
    expect(openNumberList(path()).version).toBe(version)
    expect(listed([a, b, c])).toEqual([a, b])
  })
})

describe('a missing day', () => {
  const table: [rows: string[], missing: string | null][] = [
    [['2026-11-19T08:00:00'], null],
    [['2026-11-19T08:00:01'], '2026-11-18T08:00:00Z and 2026-11-19T08:00:01Z'],
    [['2026-11-17', '2026-11-19'], null],
    [['2026-11-17T00:00:00'], null],
    [['2026-11-19', '2026-11-20'], null],
    [['2026-11-20', '2026-11-19'], null],
    [['2026-11-17', '2026-11-20'], '2026-11-18T08:00:00Z and 2026-11-20T00:00:00Z'],
    [['2026-11-18T09:00:00', '2026-11-20'], '2026-11-18T09:00:00Z and 2026-11-20T00:00:00Z'],
  ]
  it.each(table)('rows of %j: %s', async (stamps, missing) => {
    const { version } = await withList()
    const text = stamps.map((stamp) => `${c},${stamp},A\n`).join('')
    if (missing === null) {
      expect((await changes(text)).added).toBe(1)
      return
    }
    const rule = `no change between ${missing}, more than a day: files are missing after`
    await expect(changes(text)).rejects.toThrow(rule)
    await expect(changes(text, { dryRun: true })).rejects.toThrow('accept the gap with --allow-gap')
    expect(openNumberList(path()).version).toBe(version)
    expect((await changes(text, { allowGap: true })).added).toBe(1)
  })
})

describe('changes are refused', () => {
  const good = `${c},2026-11-18T09:00:00,A\n`
  const table: [what: string, text: string, message: string][] = [
    ['a bad line', `${good}x\n`, "changes.txt line 3 'x': must be a number, a timestamp"],
    [
      'an area code not covered',
      '6465550123,2026-11-18,A\n',
      'area code 646 is not covered by the list',
    ],
    ['a full list', numberLines(0, 3), 'must be a number, a timestamp and A or D'],
    ['a cut-off line', good.slice(0, -2), 'the last line is cut off'],
    ['a web page', '<html>\n', 'this is a web page'],
    ['nothing', '', 'changes.txt: has no change in it; if there were no changes, give the date'],
    ['an error text', 'No access\n', 'has lines but no change in it'],
  ]
  it.each(table)('with %s, and the list stays', async (_, text, message) => {
    await withList()
    const before = state()
    const wrong = text === '' || !/^\d/.test(text) ? text : good + text
    await expect(changes(wrong)).rejects.toThrow(message)
    expect(state()).toEqual(before)
  })

  it('but bad lines may be put up with, and are told', async () => {
    await withList()
    const rejects = openRejectFile(folder.file('r.csv'))
    const more = { badLinesAllowed: 1, rejects: rejects.add.bind(rejects) }
    const made = await changes(`${good}6465550123,2026-11-18,A\n`, more)
    expect(made).toMatchObject({ rows: 1, added: 1, badLines: { maxAllowed: 1, count: 1 } })
    expect(await rejects.close()).toBe(1)
    expect(readFileSync(folder.file('r.csv'), 'utf8')).toContain(
      'import the full list of that area code',
    )
  })

  it('every area code goes where the list covers all', async () => {
    await withList({ areaCodes: 'all' })
    expect((await changes('6465550123,2026-11-18T09:00:00,A\n')).added).toBe(1)
  })

  it('a day without changes is good when it is said until when', async () => {
    await withList()
    const day = { asOf: at('2026-11-19T08:00:00Z') }
    const made = await changes('# none\n', day)
    expect(made).toMatchObject({ rows: 0, added: 0, asOf: day.asOf, size: 2 })
    expect(openNumberList(path()).asOf).toBe(day.asOf)
  })

  it('without a whole list', async () => {
    const advice = `${path()}: does not exist, so there is nothing to change; import the full list`
    await expect(changes(good)).rejects.toThrow(advice)
    await withList()
    appendFileSync(path(), 'x')
    await expect(changes(good)).rejects.toThrow('cannot be changed; import the full list: ')
    writeFileSync(path(), 'x')
    await expect(changes(good)).rejects.toThrow('cannot be changed; import the full list: ')
  })

  it('while another import runs', async () => {
    await withList()
    await withListLock(lists(), 'us-dnc', fixedClock(now), async () => {
      await expect(changes(good)).rejects.toThrow("another import of 'us-dnc' is running")
      expect((await changes(good, { dryRun: true })).added).toBe(1)
    })
  })

  const options: [more: Partial<ChangesImportOptions>, message: string][] = [
    [{ name: 'us' }, "name 'us': must be us-dnc"],
    [{ files: [] }, 'files: at least one is needed'],
    [{ asOf: now + 1 }, 'must not be in the future'],
    [{ asOf: at(asOf) - 1 }, `must not be before that of the list, ${asOf}`],
    [{ badLinesAllowed: -1 }, "badLinesAllowed '-1'"],
    [{ keepVersions: 0.5 }, "keepVersions '0.5'"],
  ]
  it.each(options)('with options %j', async (more, message) => {
    await withList()
    await expect(changes(good, more)).rejects.toThrow(message)
    expect(listFiles()).toEqual(['us-dnc.cglist'])
  })
})

describe('the sources of a list that is changed each day', () => {
  const of = (file: string, rows = 1) => ({ file, sha256: sha256(file), rows })

  it('are named up to fifty, and the earlier ones counted', () => {
    let sources = mergeSources([of('full.txt', 1000)], [])
    for (let day = 1; day <= 120; day += 1) sources = mergeSources(sources, [of(`${day}.txt`, 10)])
    expect(sources).toHaveLength(51)
    expect(sources[0]).toMatchObject({ file: '71 earlier files', rows: 1700 })
    expect(sources[1]?.file).toBe('71.txt')
    expect(sources.reduce((sum, { rows }) => sum + rows, 0)).toBe(2200)
  })

  it('the earlier ones have a checksum of their checksums', () => {
    const files = Array.from({ length: 52 }, (_, nth) => of(`${nth}.txt`))
    const [first] = mergeSources(files, [])
    const digests = files.slice(0, 2).map(({ sha256: one }) => `${one}\n`)
    expect(first).toEqual({ file: '2 earlier files', sha256: sha256(digests.join('')), rows: 2 })
  })

  it('an archive counts as one', async () => {
    const members = ['212', '646'].map((code) => ({
      name: `${code}.txt`,
      content: `${code}5550123\n`,
    }))
    const zip = zipBytes(members)
    await importing({ files: [source('all.zip', zip)] })
    await changes(`${c},2026-11-18T09:00:00,A\n`)
    expect(openNumberList(path()).sources).toMatchObject([
      { file: 'all.zip (2 files)', sha256: sha256(zip), rows: 2 },
      { file: 'changes.txt', rows: 1 },
    ])
  })
})
