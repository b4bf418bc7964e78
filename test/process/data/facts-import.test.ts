import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  type FactFeedName,
  type FactRowOf,
  factFeeds,
  resolveFactFilePath,
} from '../../../src/data/facts/fact-feeds.js'
import type { ImportProgress } from '../../../src/data/files/source-progress.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { DataFileError } from '../../../src/errors.js'
import { lockFactFile, openFactFile } from '../../../src/storage/facts/fact-file.js'
import type { FactFileSchema, FactRow } from '../../../src/storage/facts/fact-file-schema.js'
import { at, day, factImports, now } from '../../data/facts-fixture.js'
import { numberText, seededRandom } from '../../data/random-numbers.js'
import { ftcRows, ftcText } from '../../data/sample-feeds.js'
import { useTempFolder } from '../../data/temp-folder.js'

const folder = useTempFolder()
const imports = factImports(folder)

const one = '8505550123'
const two = '8505550124'

/** What the file of a feed says of a number now. */
function rowsOf<Name extends FactFeedName>(feed: Name, number: string): readonly FactRowOf<Name>[] {
  const shape: FactFileSchema<FactRow> = factFeeds[feed].shape
  const file = openFactFile(resolveFactFilePath(imports.facts, feed), shape)
  const rows = file.findRows(toPhoneNumber(number))
  file.close()
  return rows as readonly FactRowOf<Name>[]
}

const infoOf = (feed: FactFeedName) => {
  const shape: FactFileSchema<FactRow> = factFeeds[feed].shape
  const file = openFactFile(resolveFactFilePath(imports.facts, feed), shape)
  const { info } = file
  const sources = file.listSources()
  file.close()
  return { ...info, sources }
}

const bytesOf = (feed: FactFeedName) => readFileSync(resolveFactFilePath(imports.facts, feed))

const statuses = `number,status\n${one},connected\n${two},busy\n`

describe('importFacts', () => {
  it('makes a file that holds what its files say, and says where that is from', async () => {
    const gz = gzipSync(`${two},disconnected\n`)
    const files = [
      imports.write('a.csv', `number,status\n${one},connected\n`, '2026-11-18T08:00:00Z'),
      imports.write('b.gz', gz, '2026-11-17T08:00:00Z'),
    ]
    const summary = await imports.load('line-status', files)
    const sha = createHash('sha256').update(gz).digest('hex')
    expect(summary).toMatchObject({
      feed: 'line-status',
      entries: 2,
      numbers: 2,
      rows: 2,
      facts: 2,
      skipped: {},
      path: folder.file('facts/line-status.sqlite'),
      difference: undefined,
      // The oldest of the files: none of it is newer than it is.
      asOf: at('2026-11-17T08:00:00Z'),
      importedAt: now,
      badLines: { maxAllowed: 0, count: 0, first: [] },
    })
    expect(summary.sources[1]).toEqual({
      file: 'b.gz',
      sha256: sha,
      rows: 1,
      asOf: at('2026-11-17T08:00:00Z'),
    })
    expect(infoOf('line-status')).toMatchObject({
      feed: 'line-status',
      entries: 2,
      numbers: 2,
      importedAt: now,
      asOf: summary.asOf,
      sources: [{ file: 'b.gz' }, { file: 'a.csv' }],
    })
    expect(rowsOf('line-status', two)[0]?.status).toBe('disconnected')
    expect(rowsOf('line-status', '8505550125')).toEqual([])
    expect(readdirSync(imports.facts).sort()).toEqual([
      '.line-status.sqlite.lock',
      'line-status.sqlite',
    ])
  })

  it('replaces what was there, and tells what became of it', async () => {
    await imports.text('line-status', `${statuses}8505550125,busy\n`)
    const { difference } = await imports.text(
      'line-status',
      `number,status\n${one},disconnected\n${two},busy\n8505550126,busy\n`,
    )
    expect(difference).toEqual({ added: 1, changed: 1, removed: 1 })
    expect(rowsOf('line-status', one)[0]?.status).toBe('disconnected')
    expect(rowsOf('line-status', '8505550125')).toEqual([])
  })

  const repeated: readonly (readonly [string, FactFeedName, string, FactRow[]])[] = [
    [
      'the newer',
      'line-status',
      `${one},busy,2026-11-18\n${one},connected,2026-11-17\n${one},pending\n`,
      [{ status: 'busy', errorText: '', checkedOn: day('2026-11-18') }],
    ],
    ['the last of one day', 'res-or-business', `${one},R\n${one},B\n`, [{ kind: 'B' }]],
    [
      'each source',
      'spam-labels',
      `${one},CarrierA,clean,2026-11-18\n${one},AppA,flagged\n${one},CarrierA,flagged,2026-11-17\n`,
      [
        { source: 'AppA', flagged: 1, observedOn: null },
        { source: 'CarrierA', flagged: 0, observedOn: day('2026-11-18') },
      ],
    ],
    [
      'each disconnect',
      'reassigned',
      `${one},2025-05-01\n${one},2026-05-01\n${one},2024-05-01\n`,
      ['2024-05-01', '2025-05-01', '2026-05-01'].map((text) => {
        return { said: 'disconnected', day: day(text), asOn: day('2026-11-18') }
      }),
    ],
    [
      'each no and each yes',
      'reassigned',
      `${one},2025-05-01,no\n${one},2023-05-01,yes\n${one},2026-05-01,no\n${one},2024-05-01,yes\n`,
      [
        { said: 'no', day: day('2025-05-01'), asOn: day('2026-11-18') },
        { said: 'no', day: day('2026-05-01'), asOn: day('2026-11-18') },
        { said: 'yes', day: day('2023-05-01'), asOn: day('2026-11-18') },
        { said: 'yes', day: day('2024-05-01'), asOn: day('2026-11-18') },
      ],
    ],
  ]
  it.each(repeated)(
    'of a number that comes again keeps %s (%s)',
    async (_what, feed, text, rows) => {
      await imports.text(feed, text)
      expect(rowsOf(feed, one)).toEqual(rows)
    },
  )

  it('agrees with a Map on many random rows', async () => {
    const random = seededRandom(5)
    const model = new Map<string, string>()
    const text = ['number,type']
    for (let nth = 0; nth < 60_000; nth += 1) {
      const number = numberText((200 + random(800)) * 1000 + 200 + random(800), random(3))
      const type = 'NLVWO'.charAt(random(5))
      model.set(number, type)
      text.push(`${number},${type}`)
    }
    const { entries, facts } = await imports.text('current-carrier', `${text.join('\n')}\n`)
    expect([entries, facts]).toEqual([model.size, 60_000])
    const file = openFactFile(
      resolveFactFilePath(imports.facts, 'current-carrier'),
      factFeeds['current-carrier'].shape,
    )
    const wrong = [...model].filter(
      ([number, type]) => file.findRows(toPhoneNumber(number))[0]?.phoneType !== type,
    )
    const absent = Array.from({ length: 2000 }, (_, nth) => numberText(nth, 7))
    expect(wrong).toEqual([])
    expect(absent.filter((number) => file.findRows(toPhoneNumber(number)).length > 0)).toEqual([])
    file.close()
  })

  it('tells how far it is', async () => {
    const told: ImportProgress[] = []
    const files = [imports.write('a.csv', statuses), imports.write('b.csv', statuses)]
    await imports.load('line-status', files, { onProgress: (progress) => told.push(progress) })
    const bytesTotal = 2 * statuses.length
    expect(told.at(-1)).toEqual({ bytesDone: bytesTotal, bytesTotal, rows: 4 })
  })

  it('a dry run says what would change and changes nothing', async () => {
    await imports.text('line-status', statuses)
    const before = bytesOf('line-status')
    const dry = await imports.text('line-status', `${one},pending\n`, { dryRun: true })
    expect(dry.difference).toEqual({ added: 0, changed: 1, removed: 1 })
    expect(bytesOf('line-status')).toEqual(before)
    expect(readdirSync(imports.facts).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  const refusals: readonly (readonly [string, string, string])[] = [
    ['a bad row', `number,status\n${one},asleep\n`, 'line 2'],
    ['a web page', '<html>\n', 'web page'],
    ['no row', 'number,status\n', '0 usable rows'],
    ['fewer than half', `${one},busy\n`, '1 usable rows, fewer than half the 3'],
  ]
  it.each(refusals)('%s leaves what was there', async (_what, content, rule) => {
    await imports.text('line-status', `${statuses}8505550125,busy\n`)
    const before = bytesOf('line-status')
    const refused = imports.text('line-status', content)
    await expect(refused).rejects.toThrow(DataFileError)
    await expect(refused).rejects.toThrow(rule)
    expect(bytesOf('line-status')).toEqual(before)
    expect(readdirSync(imports.facts).sort()).toEqual([
      '.line-status.sqlite.lock',
      'line-status.sqlite',
    ])
  })

  it('accepts fewer rows, or none, when told to', async () => {
    await imports.text('line-status', `${statuses}8505550125,busy\n`)
    const { entries } = await imports.text('line-status', 'number,status\n', { allowShrink: true })
    expect(entries).toBe(0)
    expect(rowsOf('line-status', one)).toEqual([])
  })

  it('counts and shows bad rows up to the number allowed, of all files together', async () => {
    const files = ['a.csv', 'b.csv'].map((name) => imports.write(name, `${statuses}oops,busy\n`))
    await expect(imports.load('line-status', files, { badLinesAllowed: 1 })).rejects.toThrow(
      '2 lines',
    )
    const { badLines, rows } = await imports.load('line-status', files, { badLinesAllowed: 2 })
    expect(rows).toBe(6)
    expect(badLines).toMatchObject({
      maxAllowed: 2,
      count: 2,
      first: [{ file: 'a.csv', line: 4 }, { file: 'b.csv' }],
    })
  })

  it('refuses wrong options by their names', async () => {
    const wrong = { asOf: now + 1, badLinesAllowed: -1, keepDays: 1.5 }
    const message = /files: at least one.*asOf '.*future.*badLinesAllowed '-1'.*keepDays '1.5'/
    await expect(imports.load('line-status', [], wrong)).rejects.toThrow(message)
  })

  it('is told the day of the content, or takes the oldest file', async () => {
    const asOf = at('2026-10-01')
    expect((await imports.text('line-status', statuses, { asOf })).asOf).toBe(asOf)
    expect(infoOf('line-status').asOf).toBe(asOf)
  })

  it('lets no second import of a feed run at the same time', async () => {
    await imports.text('line-status', statuses)
    const lock = lockFactFile(folder.file('facts/.line-status.sqlite.lock'))
    await expect(imports.text('line-status', statuses)).rejects.toThrow(
      'another import of this feed',
    )
    await imports.text('res-or-business', `${one},R\n`)
    lock.release()
    await imports.text('line-status', statuses)
  })

  it('a damaged file does not stand in the way of its replacement', async () => {
    await imports.text('line-status', `${statuses}8505550125,busy\n`)
    writeFileSync(resolveFactFilePath(imports.facts, 'line-status'), 'damaged')
    const { difference, entries } = await imports.text('line-status', `${one},busy\n`)
    expect([difference, entries]).toEqual([undefined, 1])
  })

  it('neither does one whose damage shows only when all of it is read', async () => {
    const rows = Array.from({ length: 3000 }, (_, nth) => `${8_505_550_000 + nth},busy\n`)
    await imports.text('line-status', rows.join(''))
    const bytes = bytesOf('line-status')
    bytes.fill(0xff, bytes.length - 8192)
    writeFileSync(resolveFactFilePath(imports.facts, 'line-status'), bytes)
    const { difference, entries } = await imports.text('line-status', rows.join(''))
    expect([difference, entries]).toEqual([undefined, 3000])
  })
})

describe.each(['reassigned', 'carrier-reassigned'] as const)('importing %s', (feed) => {
  const fact = (said: 'disconnected' | 'yes' | 'no', text: string, asOn: string) => {
    return { said, day: day(text), asOn: day(asOn) }
  }

  it('adds to what is known, each fact with its own day', async () => {
    const asOf = at('2026-10-01')
    await imports.text(feed, `${one},2026-05-01,no\n${two},2025-05-01,yes\n`, { asOf })
    await imports.text(feed, `${one},2026-06-01\n`, { asOf })
    const { difference } = await imports.text(feed, `${one},2024-05-01\n`)
    expect(difference).toEqual({ added: 1, changed: 0, removed: 0 })
    expect(rowsOf(feed, one)).toEqual([
      fact('disconnected', '2024-05-01', '2026-11-18'),
      fact('disconnected', '2026-06-01', '2026-10-01'),
      fact('no', '2026-05-01', '2026-10-01'),
    ])
    expect(rowsOf(feed, two)).toEqual([fact('yes', '2025-05-01', '2026-10-01')])
  })

  it('takes its day from --as-of or the name, never from the time stamp', async () => {
    const text = `${one},2026-05-01,no\n`
    const undated = imports.load(feed, [imports.write('answers.csv', text)])
    await expect(undated).rejects.toThrow('give the day with --as-of')
    const several = imports.write('2026-11-01 to 2026-11-02.csv', text)
    await expect(imports.load(feed, [several])).rejects.toThrow('give the day with --as-of')
    const ahead = imports.load(feed, [imports.write('2026-12-01.csv', text)])
    await expect(ahead).rejects.toThrow('is in the future')
    const dated = await imports.load(feed, [imports.write('answers_2026-11-02.csv', text)])
    expect(dated.asOf).toBe(at('2026-11-02'))
  })

  it('adds nothing to a damaged file', async () => {
    await imports.text(feed, `${one},2026-05-01\n`)
    writeFileSync(resolveFactFilePath(imports.facts, feed), 'damaged')
    await expect(imports.text(feed, `${two},2026-05-01\n`)).rejects.toThrow('move the file away')
  })
})

describe('importing complaints', () => {
  const daily = (date: string, rows: readonly string[]) =>
    imports.write(`DNC_Complaint_Numbers_${date}.csv`, ftcText(rows))
  const monday = () => daily('2026-11-16', ftcRows)
  const tuesday = () => daily('2026-11-17', [`${one},2026-11-17 11:00:00,,,,,Other,N`])

  it('adds daily files up, in one import or several', async () => {
    const { asOf, skipped } = await imports.load('ftc-complaints', [monday()])
    expect([asOf, skipped]).toEqual([at('2026-11-16'), { 'without a number': 1 }])
    const { difference, entries } = await imports.load('ftc-complaints', [tuesday()])
    expect([difference, entries]).toEqual([{ added: 1, changed: 0, removed: 0 }, 4])
    const several = infoOf('ftc-complaints')
    expect(several).toMatchObject({ asOf: at('2026-11-17'), entries: 4, numbers: 2 })
    expect(several.sources.map(({ file, rows }) => [file, rows])).toEqual([
      ['DNC_Complaint_Numbers_2026-11-16.csv', 4],
      ['DNC_Complaint_Numbers_2026-11-17.csv', 1],
    ])
    const rows = rowsOf('ftc-complaints', one)
    expect(rows.map(({ createdAt }) => createdAt)).toEqual([
      '2026-11-17 11:00:00',
      '2026-11-17 09:30:00',
      '2026-11-17 00:04:31',
    ])
    rmSync(resolveFactFilePath(imports.facts, 'ftc-complaints'))
    await imports.load('ftc-complaints', [tuesday(), monday()])
    expect(rowsOf('ftc-complaints', one)).toEqual(rows)
  })

  it('importing one twice, or an older one later, changes nothing', async () => {
    await imports.load('ftc-complaints', [monday(), tuesday()])
    const before = [
      infoOf('ftc-complaints'),
      rowsOf('ftc-complaints', one),
      rowsOf('ftc-complaints', two),
    ]
    const again = await imports.load('ftc-complaints', [monday(), monday()])
    expect(again.difference).toEqual({ added: 0, changed: 0, removed: 0 })
    expect([
      infoOf('ftc-complaints'),
      rowsOf('ftc-complaints', one),
      rowsOf('ftc-complaints', two),
    ]).toEqual(before)
  })

  it('drops what was filed longer ago than it is to keep', async () => {
    const old = ['2026-11-10', '2026-11-11', '2026-11-12'].map(
      (date) => `${two},${date} 23:59:59,,,,,Old,N`,
    )
    await imports.load('ftc-complaints', [daily('2026-11-13', old), monday()])
    const { difference, entries } = await imports.load('ftc-complaints', [tuesday()], {
      keepDays: 9,
    })
    expect([difference, entries]).toEqual([{ added: 1, changed: 0, removed: 1 }, 6])
    expect(rowsOf('ftc-complaints', two).map(({ createdAt }) => createdAt.slice(0, 10))).toEqual([
      '2026-11-17',
      '2026-11-12',
      '2026-11-11',
    ])
  })

  it('adds nothing to a damaged file', async () => {
    await imports.load('ftc-complaints', [monday()])
    const damaged = bytesOf('ftc-complaints').subarray(0, 5000)
    writeFileSync(resolveFactFilePath(imports.facts, 'ftc-complaints'), damaged)
    await expect(imports.load('ftc-complaints', [tuesday()])).rejects.toThrow(
      'move the file away to start over',
    )
    expect(bytesOf('ftc-complaints')).toEqual(damaged)
  })

  it('reads no more than the newest thousand of one number', async () => {
    const time = (nth: number) =>
      `2026-11-15 ${String(Math.floor(nth / 60)).padStart(2, '0')}:${String(nth % 60).padStart(2, '0')}:00`
    const rows = Array.from({ length: 1200 }, (_, nth) => `${one},${time(nth)},,,,,Other,N`)
    await imports.load('ftc-complaints', [daily('2026-11-16', rows)])
    const read = rowsOf('ftc-complaints', one)
    expect([read.length, read[0]?.createdAt, read.at(-1)?.createdAt]).toEqual([
      1000,
      time(1199),
      time(200),
    ])
  })
})
