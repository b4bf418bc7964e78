import { readdirSync, readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import type { BadLine } from '../../../src/data/feeds/bad-lines.js'
import {
  importNumbering,
  importOcnClasses,
} from '../../../src/data/numbering/import/numbering-import.js'
import { openNumberingPlan } from '../../../src/data/numbering/numbering-plan.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { fixedClock } from '../../../src/domain/time/clock.js'
import { cnacRows, cnacText, nanpaRows, nanpaText } from '../../data/sample-feeds.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { zipBytes } from '../../data/zip-bytes.js'
import { yearStart } from '../../data/zone-clocks.js'

const temp = useTempFolder()
const clock = fixedClock(yearStart)

const importUs = (path: string) =>
  importNumbering({ nanpa: path, cnac: undefined, folder: temp.path, clock })
const importCanada = (path: string) =>
  importNumbering({ nanpa: undefined, cnac: path, folder: temp.path, clock })

function lookUp(prefix: string) {
  const plan = openNumberingPlan({ folder: temp.path, unknownPrefix: 'area-code' })
  return plan.lookup(toPhoneNumber(`${prefix}2345`))
}

const preparedFiles = () => readdirSync(temp.path).filter((name) => name.endsWith('.cg'))

describe('a good import', () => {
  beforeEach(async () => {
    const nanpa = temp.write('co.txt', nanpaText(nanpaRows))
    const cnac = temp.write('co.csv', cnacText(cnacRows))
    await importNumbering({ nanpa, cnac, folder: temp.path, clock })
  })

  const zones: [prefix: string, region: string, zones: string[], why: string][] = [
    ['850550', 'FL', ['America/Chicago'], 'the rate centre settles it'],
    ['850551', 'FL', ['America/New_York'], 'the name is cut to ten letters'],
    ['850552', 'FL', ['America/New_York', 'America/Chicago'], 'there is no rate centre'],
    ['850556', 'FL', ['America/Chicago'], 'it takes effect today'],
    ['670550', 'MP', ['Pacific/Guam'], 'NN is how the list calls the Northern Marianas'],
    ['212550', 'NY', ['America/New_York'], 'the area code has one zone'],
    ['807550', 'ON', ['America/Winnipeg'], 'Kenora lies west of the line'],
    ['867550', 'NU', ['America/Iqaluit'], 'the exchange tells the zone of Nunavut'],
    ['867551', 'YT', ['America/Whitehorse'], 'the province alone settles it'],
  ]
  it.each(zones)('places %s in %s %j: %s', (prefix, region, expected) => {
    const place = { source: 'prefix', candidates: expected.map((zone) => ({ region, zone })) }
    expect(lookUp(prefix)).toMatchObject({ status: 'ok', place })
  })

  it.each([
    ['850553', 'unassigned'],
    ['850554', 'takes effect tomorrow'],
    ['850557', 'not listed'],
    ['807551', 'available'],
    ['807310', 'without a province'],
  ])('does not know %s: %s', (prefix) => {
    expect(lookUp(prefix)).toMatchObject({ status: 'unknown-prefix', areaCodeInUse: true })
  })

  it('names company and kind of line, and none for a code with several holders', () => {
    expect(lookUp('850550')).toMatchObject({
      carrier: { ocn: 'ZZ01', company: 'EXAMPLE WIRELESS LLC' },
      lineClass: 'wireless',
    })
    expect(lookUp('867550')).toMatchObject({ carrier: { company: 'Example North, Ltd.' } })
    expect(lookUp('212550')).toMatchObject({ carrier: undefined, lineClass: 'unknown' })
  })

  it('company classes imported later apply to the prefixes already there', async () => {
    const file = temp.write('ocn.csv', 'ocn,class,brand\n# theirs\nzz02,Wireline\nZZ01,voip,X\n')
    expect(await importOcnClasses({ file, folder: temp.path })).toMatchObject({
      read: 2,
      accepted: 2,
    })
    expect(lookUp('850551')).toMatchObject({ lineClass: 'wireline' })
    expect(lookUp('850550')).toMatchObject({ lineClass: 'voip' })
  })
})

describe('the summary', () => {
  it('accounts for every row, in the zip as downloaded', async () => {
    const zip = zipBytes([{ name: 'CoCode.txt', content: nanpaText(nanpaRows) }])
    const progress: [number, number][] = []
    const { US, CA } = await importNumbering({
      nanpa: temp.write('co.zip', zip),
      cnac: undefined,
      folder: temp.path,
      clock,
      onProgress: ({ bytesDone, bytesTotal }) => progress.push([bytesDone, bytesTotal]),
    })
    expect(CA).toBeUndefined()
    expect(US).toMatchObject({
      read: 8,
      accepted: 6,
      skipped: { 'not assigned': 1, 'not yet in effect': 1 },
      bad: [],
      undecidedZones: 1,
      asOf: Date.UTC(2026, 6, 6),
    })
    expect(US?.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(progress.at(-1)).toEqual([zip.length, zip.length])
  })

  const good = ['FL', '850-550', 'ZZ01', 'EXAMPLE', 'PENSACOLA']
  const us: [reason: RegExp, row: string[]][] = [
    [/^NPA-NXX '850550x': must be a prefix such as 850-550/, ['FL', '850550x', 'ZZ01', 'E', 'P']],
    [/^area code '150': must be three digits, the first 2 to 9/, ['FL', '150-550', 'ZZ01', '', '']],
    [/^exchange '150': must be/, ['FL', '850-150', 'ZZ01', 'E', 'P']],
    [/^Use 'QQ': must be AS/, ['FL', '850-551', 'ZZ01', 'E', 'P', 'QQ']],
    [/^State 'ON': must be a state/, ['ON', '850-551', 'ZZ01', 'E', 'P']],
    [/^OCN 'ZZ1': must be four/, ['FL', '850-551', 'ZZ1', 'E', 'P']],
    [/^EffectiveDate '31.12.2026': must be MM/, ['FL', '850-551', 'A', '', '', 'AS', '31.12.2026']],
    [/^prefix '850550': is a duplicate of line 2/, good],
    [/^row 'FL.*: has a misplaced or/, ['FL', '850-551', '"ZZ01', 'E', 'P']],
    [/^row 'FL.*: has a misplaced or/, ['FL', '850-551', 'ZZ01', 'E" X', 'P']],
    [/^row 'FL.*: has a misplaced or/, ['FL', '850-551', 'ZZ01', 'E', 'P"']],
  ]
  it.each(us)('reports a row of the US list with its line: %s', async (reason, row) => {
    const last = ['FL', '850-559', 'ZZ01', 'EXAMPLE', 'PENSACOLA']
    const path = temp.write('co.txt', nanpaText([good, row, last]))
    const { US } = await importUs(path)
    expect(US).toMatchObject({ read: 3, accepted: 2 })
    expect(US?.bad).toEqual([{ line: 3, reason: expect.stringMatching(reason) }])
  })

  it.each([
    ['doubled quotes', 'E ""X"" LLC', 'E "X" LLC'],
    ['the delimiter', 'E\tX', 'E\tX'],
    ['blanks at its ends', ' E X  ', 'E X'],
  ])('reads a quoted cell with %s', async (_what, written, company) => {
    const { US } = await importUs(
      temp.write('co.txt', nanpaText([['FL', '850-550', 'ZZ01', written, 'PENSACOLA']])),
    )
    expect(US).toMatchObject({ read: 1, accepted: 1, bad: [] })
    expect(lookUp('850550')).toMatchObject({ carrier: { company } })
  })

  it('reports a row that was cut off', async () => {
    const { US } = await importUs(temp.write('co.txt', `${nanpaText([good])}FL\t850-551\tZZ`))
    expect(US?.bad).toEqual([
      { line: 3, reason: "company 'FL\t850-551\tZZ': is missing: the row has 3 cells" },
    ])
  })

  const canada: [reason: RegExp, row: string][] = [
    [/^Status 'Gone': is not a known status, so.*not assigned/, '807,552,"Gone",,"ON","E","ZZ04",'],
    [/^Province 'FL': must be a province/, '807,552,"In Service","X","FL","E","ZZ04",'],
    [/^area code '': must be/, ',552,"In Service","X","ON","E","ZZ04",'],
  ]
  it.each(canada)('reports a row of the Canadian list: %s', async (reason, row) => {
    const { CA } = await importCanada(temp.write('c.csv', cnacText([...cnacRows, row])))
    expect(CA).toMatchObject({ read: 6, accepted: 3, asOf: Date.UTC(2026, 10, 18) })
    expect(CA?.bad).toEqual([{ line: 8, reason: expect.stringMatching(reason) }])
  })

  it('reports rows of a company table', async () => {
    const file = temp.write(
      'o.csv',
      'OCN;Type\n0001;voip\n0001;voip\n12;voip\n0002;fax\n0003;tollfree\n',
    )
    expect(await importOcnClasses({ file, folder: temp.path })).toMatchObject({
      read: 5,
      accepted: 1,
      skipped: { 'toll-free holder': 1 },
      bad: [
        { line: 3, reason: "ocn '0001': is a duplicate; the first row is used" },
        { line: 4, reason: "ocn '12': must be four letters or digits" },
        { line: 5, reason: "class 'fax': must be wireline, wireless, voip or tollfree" },
      ],
    })
  })
})

describe('a dry run', () => {
  const more = ['FL', '850-560', 'ZZ02', 'EXAMPLE TEL CO', 'PENSACOLA']
  const moved = ['FL', '850-551', 'ZZ09', 'ANOTHER TEL CO', 'TALLAHASSE']

  it('of prefixes says what is new, other and gone, and changes nothing', async () => {
    const path = temp.write('co.txt', nanpaText(nanpaRows))
    const options = { nanpa: path, cnac: undefined, folder: temp.path, clock }
    const none = { added: undefined, removed: undefined, dryRun: true }
    expect((await importNumbering({ ...options, dryRun: true })).US).toMatchObject(none)
    expect(preparedFiles()).toEqual([])
    expect((await importNumbering(options)).US).toMatchObject({ ...none, dryRun: false })
    const before = readFileSync(temp.file('numbering-us.cg'))
    const rows = [...nanpaRows.filter((row) => row[1] !== '850-550' && row[1] !== '850-551')]
    temp.write('co.txt', nanpaText([...rows, moved, more]))
    const changes = { added: 1, changed: 1, removed: 1 }
    const tried = await importNumbering({ ...options, dryRun: true })
    expect(tried.US).toMatchObject({ ...changes, dryRun: true })
    expect(readFileSync(temp.file('numbering-us.cg')).equals(before)).toBe(true)
    expect((await importNumbering(options)).US).toMatchObject({ ...changes, dryRun: false })
    expect(lookUp('850560')).toMatchObject({ status: 'ok' })
  })

  it('of company classes too', async () => {
    const file = temp.write('ocn.csv', 'ocn,class\nZZ01,voip\nZZ02,voip\nZZ03,voip\n')
    const none = { added: undefined, removed: undefined }
    const tried = await importOcnClasses({ file, folder: temp.path, dryRun: true })
    expect(tried).toMatchObject({ ...none, dryRun: true, accepted: 3 })
    expect(preparedFiles()).toEqual([])
    await importOcnClasses({ file, folder: temp.path })
    temp.write('ocn.csv', 'ocn,class\nZZ02,wireless\nZZ03,voip\nZZ04,voip\nZZ05,voip\n')
    const changed = await importOcnClasses({ file, folder: temp.path })
    expect(changed).toMatchObject({ added: 2, changed: 1, removed: 1, dryRun: false })
  })
})

describe('bad rows are told when they are met', () => {
  const told = async (run: (rejects: (bad: BadLine) => void) => Promise<unknown>) => {
    const bad: BadLine[] = []
    await run((one) => void bad.push(one))
    return bad
  }

  it('of either list of prefixes, with the file inside an archive', async () => {
    const nanpa = temp.write(
      'co.zip',
      zipBytes([
        { name: 'co.txt', content: nanpaText([...nanpaRows, ['FL', '8505', '', '', '']]) },
      ]),
    )
    const cnac = temp.write('co.csv', cnacText([...cnacRows, '807,552,"Gone",,"ON","E","ZZ04",']))
    const options = { nanpa, cnac, folder: temp.path, clock }
    expect(await told((rejects) => importNumbering({ ...options, rejects }))).toEqual([
      {
        file: 'co.zip/co.txt',
        line: 10,
        value: '8505',
        rule: 'NPA-NXX must be a prefix such as 850-550',
      },
      expect.objectContaining({ file: 'co.csv', line: 8, value: 'Gone' }),
    ])
  })

  it('of the table of companies, those without a cell too', async () => {
    const file = temp.write('ocn.csv', 'ocn,class\nZZ01,voip\nZZ02,fax\nZZ03\n')
    const { path: folder } = temp
    expect(await told((rejects) => importOcnClasses({ file, folder, rejects }))).toEqual([
      expect.objectContaining({ file: 'ocn.csv', line: 3, value: 'fax' }),
      {
        file: 'ocn.csv',
        line: 4,
        value: 'ZZ03',
        rule: 'lineClass is missing: the row has 1 cells',
      },
    ])
  })
})

describe('an import is refused', () => {
  const page = '<!DOCTYPE html>\n<html><body>Checking your browser</body></html>\n'
  const header = nanpaText([]).trim()
  const table: [what: string, content: string, message: RegExp][] = [
    ['a web page', page, /line 1 '<!DOCTYPE html>': this is a web page, not the file/],
    [
      'another report',
      'State\tNPA-NXX\nFL\t850-550\n',
      /line 1 'State.*: no column 'ocn', 'company'/,
    ],
    ['the Canadian list', cnacText(cnacRows), /no column 'state', 'npanxx'.*NANPA report/],
    ['an empty file', '', /is empty/],
    ['a header alone', header, /has no usable row/],
    ['no assigned code', nanpaText([nanpaRows[3] ?? []]), /has no usable row/],
    ['no lines', `State${'\t'.repeat(70_000)}`, /line 1 is longer than 65536 bytes/],
  ]
  it.each(table)('for %s', async (_, content, message) => {
    const path = temp.write('co.txt', content)
    await expect(importUs(path)).rejects.toThrow(message)
    await expect(importUs(path)).rejects.toMatchObject({ name: 'DataFileError', path })
    expect(preparedFiles()).toEqual([])
  })

  it('when a file is missing or no zip', async () => {
    await expect(importUs(temp.file('none.txt'))).rejects.toThrow(/none.txt.*ENOENT/)
    await expect(importUs(temp.write('co.zip', page))).rejects.toThrow(/is not a zip file/)
  })

  it('when fewer than half of the last good rows are left, and keeps those', async () => {
    await importUs(temp.write('co.txt', nanpaText(nanpaRows)))
    const half = temp.write('half.txt', nanpaText(nanpaRows.slice(0, 3)))
    expect((await importUs(half)).US).toMatchObject({ accepted: 3 })
    const one = temp.write('one.txt', nanpaText(nanpaRows.slice(0, 1)))
    await expect(importUs(one)).rejects.toThrow(/has 1 usable rows, fewer than half the 3/)
    expect(lookUp('850552')).toMatchObject({ status: 'ok' })
  })

  it('for both countries when one file is bad', async () => {
    const nanpa = temp.write('co.txt', nanpaText(nanpaRows))
    const cnac = temp.write('co.csv', page)
    const options = { nanpa, cnac, folder: temp.path, clock }
    await expect(importNumbering(options)).rejects.toThrow(/co.csv/)
    expect(preparedFiles()).toEqual([])
  })

  const limits: readonly (readonly [number, number | undefined, boolean])[] = [
    [100, undefined, false],
    [101, undefined, true],
    [3, 3, false],
    [3, 2, true],
    [1, 0, true],
  ]
  it.each(limits)('for %d bad rows where %j are allowed: %s', async (bad, allowed, refused) => {
    const rows = Array.from({ length: bad }, (_, nth) => `Z${nth},neither`)
    const file = temp.write('ocn.csv', `ocn,class\nZZ01,wireless\n${rows.join('\n')}\n`)
    const options = { file, folder: temp.path, badLinesAllowed: allowed }
    if (!refused) {
      expect(await importOcnClasses(options)).toMatchObject({ accepted: 1 })
      return
    }
    const rule = `ocn.csv: ${bad} rows are bad, ${allowed ?? 100} allowed (--bad-lines)`
    await expect(importOcnClasses(options)).rejects.toThrow(rule)
    expect(preparedFiles()).toEqual([])
  })

  it('for a company table of another form', async () => {
    const file = temp.write('ocn.csv', 'company,kind\nA,voip\n')
    await expect(importOcnClasses({ file, folder: temp.path })).rejects.toThrow(
      /line 1 'company,kind': no column 'ocn', 'class' or 'linetype' or 'type'/,
    )
  })
})

it('a damaged prepared file is replaced by a good import', async () => {
  temp.write('numbering-us.cg', 'cut off')
  temp.write('ocn.cg', 'cut off')
  await importUs(temp.write('co.txt', `\uFEFF${nanpaText(nanpaRows)}`))
  const file = temp.write('ocn.csv', 'ocn,class\nZZ02,wireline\n')
  await importOcnClasses({ file, folder: temp.path })
  expect(lookUp('850551')).toMatchObject({ status: 'ok', lineClass: 'wireline' })
})

it('the same files give the same prepared files', async () => {
  const path = temp.write('co.txt', nanpaText(nanpaRows))
  await importUs(path)
  const first = readFileSync(temp.file('numbering-us.cg'))
  await importUs(path)
  expect(readFileSync(temp.file('numbering-us.cg')).equals(first)).toBe(true)
})
