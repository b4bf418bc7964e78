import { readFileSync, utimesSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openRejectFile } from '../../../src/data/feeds/reject-file.js'
import { openNumberList } from '../../../src/data/number-list/format/number-list.js'
import type { ListImportOptions } from '../../../src/data/number-list/import/list-import.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { formatDay } from '../../../src/domain/time/dates.js'
import { at, listsFixture, now, numberLines, sha256 } from '../../data/lists-fixture.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { zipBytes } from '../../data/zip-bytes.js'

const folder = useTempFolder()
const { source, importing, listed, path, state, files } = listsFixture(folder)

describe('what an import changes against the list in use', () => {
  type Range = [from: number, count: number]
  const table: [before: Range, now: Range, expected: number[]][] = [
    [
      [0, 5],
      [0, 5],
      [0, 0],
    ],
    [
      [0, 5],
      [2, 5],
      [2, 2],
    ],
    [
      [0, 5],
      [0, 9],
      [4, 0],
    ],
    [
      [3, 6],
      [0, 4],
      [3, 5],
    ],
    [
      [0, 4],
      [10, 4],
      [4, 4],
    ],
    [
      [9_990, 20],
      [9_995, 20],
      [5, 5],
    ],
  ]
  it.each(table)('%j, then %j: added and removed %j', async (before, then, expected) => {
    const first = await importing({ files: [source('a.txt', numberLines(...before))] })
    expect([first.previous, first.added, first.removed]).toEqual([null, undefined, undefined])
    const given = { files: [source('b.txt', numberLines(...then))] }
    const dry = await importing({ ...given, dryRun: true })
    const second = await importing(given)
    for (const { added, removed, previous } of [dry, second]) {
      expect([added, removed, previous]).toEqual([...expected, first.version])
    }
    const list = openNumberList(path())
    expect([list.previous, list.feed]).toEqual([first.version, 'list'])
  })

  it('cannot be told of a damaged list, which has no version to go back to', async () => {
    await importing({ files: [source('a.txt', numberLines(0, 5))] })
    folder.write('lists/us-dnc.cglist', 'x')
    const { added, removed, previous } = await importing({
      files: [source('b.txt', numberLines(0, 5))],
    })
    expect([added, removed, previous]).toEqual([undefined, undefined, null])
  })

  it('names the importer in the header', async () => {
    await importing({ files: [source('a.txt', numberLines(0, 5))], feed: 'us-dnc' })
    expect(openNumberList(path()).feed).toBe('us-dnc')
  })
})

describe('a dry run', () => {
  it('tells all the real run tells, and changes nothing', async () => {
    await importing({ files: [source('a.txt', numberLines(0, 5))] })
    await importing({ files: [source('a.txt', numberLines(0, 6))] })
    folder.write('lists/.us-dnc.cglist.4194305.new', 'half')
    const before = state()
    const given = { files: [source('b.txt', `${numberLines(3, 8)}x\n`)], badLinesAllowed: 1 }
    const dry = await importing({ ...given, dryRun: true })
    expect(state()).toEqual(before)
    const real = await importing(given)
    expect(dry).toEqual({ ...real, dryRun: true, version: 'none' })
  })

  it('makes no folder and takes no lock', async () => {
    await importing({ files: [source('a.txt', numberLines(0, 5))], dryRun: true })
    expect(files()).toEqual([])
    expect(() => readFileSync(folder.file('lists'))).toThrow('ENOENT')
  })

  it('refuses what the real run refuses', async () => {
    await importing({ files: [source('a.txt', numberLines(0, 5))] })
    const refused: [content: string, message: string][] = [
      [numberLines(0, 1), 'fewer than half the 5'],
      [`${numberLines(0, 5)}x\n`, '1 line is bad'],
      ['', 'has no number in it'],
    ]
    for (const [content, message] of refused) {
      const dry = importing({ files: [source('b.txt', content)], dryRun: true })
      await expect(dry).rejects.toThrow(message)
    }
  })
})

describe('an archive of several files', () => {
  const zip = zipBytes([
    { name: 'ReadMe.txt', content: 'notes' },
    { name: '212.txt', content: '212,5550123\n212,5550124\n' },
    { name: '646.txt', content: '646,5550123\n' },
  ])

  it('is read whole, each file named with its rows', async () => {
    const file = source('national.zip', zip)
    const { sources, rows, coverage } = await importing({ files: [file] })
    expect(sources).toEqual([
      { file: 'national.zip/212.txt', sha256: sha256(zip), rows: 2 },
      { file: 'national.zip/646.txt', sha256: sha256(zip), rows: 1 },
    ])
    expect([rows, coverage]).toEqual([3, ['212', '646']])
    expect(listed(['2125550123', '6465550123', '6465550124'])).toEqual(['2125550123', '6465550123'])
  })

  const table: [what: string, name: string, content: string | Buffer, message: string][] = [
    ['a bad line', '646.txt', '646555\n', "national.zip/646.txt line 1 '646555'"],
    ['a cut-off line', '646.txt', '646555', "national.zip/646.txt: line 1 '646555': the last line"],
    [
      'an empty file',
      '646.txt',
      '',
      'national.zip/646.txt: has no number in it; if the list is empty',
    ],
    ['a web page', '646.txt', '<html>', 'national.zip/646.txt: line 1'],
    ['an archive', '646.zip', zip, 'national.zip/646.zip: is an archive inside an archive; unpack'],
    ['a gzip', '646.gz', gzipSync('6465550123\n'), 'national.zip/646.gz: is an archive inside an'],
  ]
  it.each(table)('with %s is refused whole', async (_, name, content, message) => {
    const members = [
      { name: '212.txt', content: '2125550123\n' },
      { name, content },
    ]
    const file = source('national.zip', zipBytes([...members, { name: 'x.txt', content: '' }]))
    await expect(importing({ files: [file] })).rejects.toThrow(message)
    expect(files()).toEqual([])
  })
})

describe('bad lines', () => {
  it('are told as they are met, also when they refuse the import', async () => {
    const rejects = openRejectFile(folder.file('rejects.csv'))
    const given: Pick<ListImportOptions, 'files' | 'rejects'> = {
      files: [source('a.txt', `${numberLines(0, 2)}"x,y"\n`), source('b.txt', '-\n')],
      rejects: (bad) => rejects.add(bad),
    }
    await expect(importing(given)).rejects.toThrow('1 line is bad')
    expect(await rejects.close()).toBe(1)
    const rule = 'number must be ten digits'
    expect(readFileSync(folder.file('rejects.csv'), 'utf8').split('\r\n').slice(1)).toEqual([
      `a.txt,3,"x,y",${rule}`,
      '',
    ])
  })
})

describe('columns', () => {
  const csv = 'case,phone,filed\n1,(212) 555-0123,2026-11-02\n2,646-555-0124,\n3,646-555-0125,x\n'

  it('are found by their names, days too', async () => {
    const file = source('l.csv', csv)
    const { rows, unreadDays } = await importing({
      name: 'litigators',
      files: [file],
      table: { columns: { day: ['Filed'] } },
    })
    expect([rows, unreadDays]).toEqual([3, 1])
    const list = openNumberList(path('litigators'))
    const days = ['2125550123', '6465550124', '6465550125', '6465550126'].map((number) =>
      list.dayOf(toPhoneNumber(number)),
    )
    expect(days.map((day) => day && formatDay(day))).toEqual([
      '2026-11-02',
      undefined,
      undefined,
      undefined,
    ])
    expect(list.size).toBe(3)
  })

  it('have to be there when they are asked for', async () => {
    const given = {
      name: 'litigators',
      files: [source('l.csv', csv)],
      table: { columns: { number: ['tel'] } },
    }
    await expect(importing(given)).rejects.toThrow("has no column 'tel'")
  })
})

describe('ported numbers', () => {
  const ranges = 'Start|End\r\n8505550100|0102\r\n2125550000|\r\n'

  it('may come in ranges', async () => {
    const given = { name: 'ported-wireless', feed: 'ported', files: [source('p.txt', ranges)] }
    expect(await importing(given)).toMatchObject({ size: 4, rows: 4, coverage: 'all' })
    const asked = ['8505550099', '8505550100', '8505550102', '8505550103', '2125550000']
    expect(listed(asked, 'ported-wireless')).toEqual(['8505550100', '8505550102', '2125550000'])
  })

  it('of the other direction are refused by the name of their file', async () => {
    const name = 'WIRELESS-TO-WIRELINE.TXT'
    const zip = zipBytes([{ name, content: ranges }])
    for (const file of [source(name, ranges), source('snapshots.zip', zip)]) {
      const given = { name: 'ported-wireless', files: [file] }
      await expect(importing(given)).rejects.toThrow(
        'belongs to the list ported-wireline, by its name, not to ported-wireless',
      )
    }
    expect(files()).toEqual([])
  })
})

it('a file that changes while it is read is refused, though it was hashed on the way', async () => {
  const file = source('a.txt', numberLines(0, 5))
  const onProgress = () => utimesSync(file, now / 1000, at('2026-11-19T00:00:00Z') / 1000)
  await expect(importing({ files: [file], onProgress })).rejects.toThrow(/changed while it was/)
})
