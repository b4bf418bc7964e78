import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { BadLine } from '../../../src/data/feeds/bad-lines.js'
import {
  type BlocksImportOptions,
  importBlocks,
  importNumbering,
  importOcnClasses,
} from '../../../src/data/numbering/import/numbering-import.js'
import { openNumberingPlan } from '../../../src/data/numbering/numbering-plan.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { fixedClock } from '../../../src/domain/time/clock.js'
import { type Block, blocksText } from '../../data/sample-blocks.js'
import { nanpaText } from '../../data/sample-feeds.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { zipBytes } from '../../data/zip-bytes.js'
import { yearStart } from '../../data/zone-clocks.js'

const temp = useTempFolder()
const clock = fixedClock(yearStart)

const prefixes = [
  ['FL', '850-550', 'ZZ02', 'EXAMPLE TEL CO', 'PENSACOLA'],
  ['FL', '850-551', 'ZZ02', 'EXAMPLE TEL CO', 'TALLAHASSE'],
  ['FL', '850-552', 'ZZ02', 'EXAMPLE TEL CO', 'XXXXXXXXXX'],
]

const importText = (text: string, more: Partial<BlocksImportOptions> = {}) =>
  importBlocks({ file: temp.write('blocks.csv', text), folder: temp.path, clock, ...more })
const importThese = (blocks: readonly Block[], more?: Partial<BlocksImportOptions>) =>
  importText(blocksText(blocks), more)

async function importPrefixes(rows: readonly string[][] = prefixes): Promise<void> {
  const nanpa = temp.write('co.txt', nanpaText(rows))
  await importNumbering({ nanpa, cnac: undefined, folder: temp.path, clock })
}

const openPlan = () => openNumberingPlan({ folder: temp.path, unknownPrefix: 'area-code' })
const lookUp = (block: string) => openPlan().lookup(toPhoneNumber(`${block}345`))

const west = [{ region: 'FL', zone: 'America/Chicago' }]
const east = [{ region: 'FL', zone: 'America/New_York' }]
const tel = { ocn: 'ZZ02', company: 'EXAMPLE TEL CO' }

describe('an assigned block goes before its prefix', () => {
  temp.startWith(async () => {
    await importPrefixes()
    const file = temp.write('ocn.csv', 'ocn,class\nZZ02,wireline\nZZ03,voip\n')
    await importOcnClasses({ file, folder: temp.path })
    await importThese([
      { block: '8505501', ocn: 'ZZ01', company: 'EXAMPLE WIRELESS LLC' },
      { block: '8505502', ocn: 'ZZ03', company: 'EXAMPLE VOICE, INC.' },
      { block: '8505503', ocn: 'ZZ02', company: 'EXAMPLE TEL CO' },
      { block: '8505504', status: 'AV', ocn: 'ZZ01', company: 'EXAMPLE WIRELESS LLC' },
      { block: '8505505', effective: '11/21/2026' },
      { block: '8505506', effective: '11/20/2026' },
      { block: '8505507', ocn: 'MULT', company: 'MULTIPLE OCN LISTING' },
      { block: '8505508', rateCentre: 'TALLAHASSEE' },
      { block: '8505509', rateCentre: 'XXXXXXXXXX' },
      { block: '8505510', rateCentre: 'TALLAHASSEE' },
      { block: '8505511', rateCentre: 'NOWHERE' },
      { block: '8505520', rateCentre: 'PENSACOLA' },
      { block: '8505590', ocn: 'ZZ01' },
    ])
  })

  const wireless = { carrier: { ocn: 'ZZ01', company: 'EXAMPLE WIRELESS LLC' } }
  const table: [block: string, what: string, expected: object][] = [
    ['8505500', 'a block the report does not list', { carrier: tel, lineClass: 'wireline' }],
    ['8505501', 'another company', { ...wireless, lineClass: 'wireless', locality: 'PENSACOLA' }],
    ['8505502', 'a class of the table', { carrier: { ocn: 'ZZ03' }, lineClass: 'voip' }],
    ['8505503', 'the company of the prefix', { carrier: tel, lineClass: 'wireline' }],
    ['8505504', 'a block nobody has', { carrier: tel, lineClass: 'wireline' }],
    ['8505505', 'a block that takes effect tomorrow', { carrier: tel }],
    ['8505506', 'a block that takes effect today', { ...wireless, lineClass: 'wireless' }],
    ['8505507', 'several companies', { carrier: undefined, lineClass: 'unknown' }],
    ['8505508', 'another rate centre', { locality: 'TALLAHASSEE', place: { candidates: east } }],
    ['8505509', 'no rate centre', { locality: 'PENSACOLA', place: { candidates: west } }],
    ['8505510', 'the rate centre in full', { locality: 'TALLAHASSE', place: { candidates: east } }],
    [
      '8505511',
      'a rate centre that settles no zone',
      { locality: 'NOWHERE', place: { candidates: [...east, ...west] } },
    ],
    [
      '8505520',
      'a rate centre where the prefix has none',
      { locality: 'PENSACOLA', place: { candidates: west } },
    ],
    ['8505521', 'its neighbour', { locality: '', place: { candidates: [...east, ...west] } }],
    ['8505590', 'a prefix that is not assigned', { status: 'unknown-prefix' }],
  ]
  it.each(table)('%s: %s', (block, _, expected) => {
    expect(lookUp(block)).toMatchObject({ status: 'ok', ...expected })
  })

  it('the class it was assigned with is told beside the one that counts', () => {
    expect(lookUp('8505501')).toMatchObject({ lineClass: 'wireless', originalClass: 'wireless' })
    expect(lookUp('8505501')).not.toHaveProperty('ported')
  })

  it('numbers share the facts of their block, and blocks without one those of their prefix', () => {
    const plan = openPlan()
    const facts = (number: string) => plan.lookup(toPhoneNumber(number))
    expect(facts('8505501000')).toBe(facts('8505501999'))
    expect(facts('8505501000')).toBe(facts('8505506000'))
    expect(facts('8505500000')).toBe(facts('8505503000'))
    expect(facts('8505500000')).not.toBe(facts('8505501000'))
    expect(plan.coverage().US).toMatchObject({ prefixes: 3, blocks: 11 })
  })

  it('classes and prefixes imported later count for the blocks that are there', async () => {
    const plan = openPlan()
    const file = temp.write('ocn.csv', 'ocn,class\nZZ01,voip\nZZ02,wireline\n')
    await importOcnClasses({ file, folder: temp.path })
    await importPrefixes([...prefixes, ['FL', '850-559', 'ZZ02', 'EXAMPLE TEL CO', 'PENSACOLA']])
    expect(await plan.reloadIfChanged()).toBe(true)
    const later = (block: string) => plan.lookup(toPhoneNumber(`${block}345`))
    expect(later('8505501')).toMatchObject({ lineClass: 'voip' })
    expect(later('8505590')).toMatchObject({ status: 'ok', carrier: { ocn: 'ZZ01' } })
    expect(later('8505591')).toMatchObject({ carrier: tel, lineClass: 'wireline' })
  })

  it('a new report replaces the old one in a running plan', async () => {
    const plan = openPlan()
    expect(await plan.reloadIfChanged()).toBe(false)
    const same = Array.from({ length: 9 }, (_, at) => ({ block: `850551${at}`, ocn: 'ZZ03' }))
    await importThese(same)
    expect(await plan.reloadIfChanged()).toBe(true)
    const [now, before] = [toPhoneNumber('8505510345'), toPhoneNumber('8505501345')]
    expect(plan.lookup(now)).toMatchObject({ carrier: { ocn: 'ZZ03' } })
    expect(plan.lookup(before)).toMatchObject({ carrier: tel })
  })

  it('a damaged file is refused, and what was there goes on', async () => {
    const plan = openPlan()
    const path = temp.file('blocks-us.cg')
    const good = readFileSync(path)
    for (const [length, message] of [
      [good.length - 9, /blocks-us.cg: is damaged or truncated/],
      [3, /blocks-us.cg: is not a callgate data file/],
    ] as const) {
      writeFileSync(path, good.subarray(0, length))
      expect(await plan.reloadIfChanged()).toBe(true)
      expect(plan.problems()).toMatchObject([{ path, olderInUse: true, blocked: [] }])
      expect(plan.problems()[0]?.detail).toMatch(message)
    }
    expect(plan.lookup(toPhoneNumber('8505501345'))).toMatchObject({ lineClass: 'wireless' })
    writeFileSync(path, good)
    expect(await plan.reloadIfChanged()).toBe(true)
    expect(plan.problems()).toEqual([])
  })

  it('a file that is damaged at the start blocks the US, where the prefix alone may be wrong', async () => {
    const path = temp.file('blocks-us.cg')
    const good = readFileSync(path)
    writeFileSync(path, good.subarray(0, good.length - 9))
    const plan = openPlan()
    expect(plan.coverage()).toMatchObject({ US: { mode: 'damaged' }, CA: { mode: 'area-code' } })
    for (const number of ['8505501345', '8505512345', '2122002345']) {
      expect(plan.lookup(toPhoneNumber(number))).toMatchObject({
        status: 'unknown-prefix',
        areaCodeInUse: true,
        says: [
          {
            code: 'prefixes-unusable',
            params: { country: 'US' },
            quote: expect.stringMatching(/blocks-us.cg: is damaged/),
          },
        ],
      })
    }
    writeFileSync(path, good)
    expect(await plan.reloadIfChanged()).toBe(true)
    expect(plan.lookup(toPhoneNumber('8505501345'))).toMatchObject({ lineClass: 'wireless' })
  })
})

it('without a list of prefixes blocks change nothing', async () => {
  const before = lookUp('8502001')
  await importThese([{ block: '8502001' }])
  expect(lookUp('8502001')).toEqual(before)
})

describe('the summary', () => {
  const rows: readonly Block[] = [
    { block: '8505501' },
    { block: '8505502', status: 'AV' },
    { block: '8505503', status: 'RT' },
    { block: '8505504', status: 'AV' },
    { block: '8505505', effective: '11/21/2026' },
    { block: '8505506', rateCentre: 'NOWHERE' },
  ]

  it('accounts for every row, in the zip as downloaded', async () => {
    const zip = zipBytes([{ name: 'Blocks.csv', content: blocksText(rows) }])
    const progress: object[] = []
    const summary = await importBlocks({
      file: temp.write('blocks.zip', zip),
      folder: temp.path,
      clock,
      onProgress: (done) => progress.push(done),
    })
    expect(summary).toMatchObject({
      read: 6,
      accepted: 2,
      undecidedZones: 1,
      bad: [],
      dryRun: false,
      skipped: { 'status AV': 2, 'status RT': 1, 'not yet in effect': 1 },
      added: undefined,
      removed: undefined,
    })
    expect(summary.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(progress.at(-1)).toMatchObject({ bytesDone: zip.length, bytesTotal: zip.length })
  })

  it('says what is new, other and gone, also in a dry run, which changes nothing', async () => {
    await importThese([{ block: '8505501' }, { block: '8505502' }, { block: '8505503' }])
    const file = readFileSync(temp.file('blocks-us.cg'))
    const next = [
      ...[
        { block: '8505502', ocn: 'ZZ09' },
        { block: '8505503', rateCentre: 'TALLAHASSEE' },
      ],
      { block: '8505504' },
      { block: '8505505' },
    ]
    const changes = { added: 2, changed: 2, removed: 1 }
    expect(await importThese(next, { dryRun: true })).toMatchObject({ ...changes, dryRun: true })
    expect(readFileSync(temp.file('blocks-us.cg')).equals(file)).toBe(true)
    expect(await importThese(next)).toMatchObject({ ...changes, dryRun: false })
    expect(await importThese(next)).toMatchObject({ added: 0, changed: 0, removed: 0 })
  })

  it('reads the columns by their names, in any order and spelling', async () => {
    await importPrefixes()
    const text =
      'OCN\tNPA\tNXX\tBlock\tBlock Holder\tRateCenter\tSTATE\tStatus\tMore\n' +
      'ZZ01\t850\t550\t4\t"EXAMPLE ""X"" WIRELESS"\tPENSACOLA\tFL\tAS\t?\n' +
      'ZZ01\t850\t550\t5\t "EXAMPLE, WIRELESS" \tPENSACOLA\tFL\tAS\t?\n'
    expect(await importText(text)).toMatchObject({ read: 2, accepted: 2 })
    expect(lookUp('8505504')).toMatchObject({ carrier: { company: 'EXAMPLE "X" WIRELESS' } })
    expect(lookUp('8505505')).toMatchObject({ carrier: { company: 'EXAMPLE, WIRELESS' } })
  })

  const bad: [rule: RegExp, value: string, row: Block][] = [
    [/^area code must be three digits/, '150', { block: '1505501' }],
    [/^exchange must be three digits/, '150', { block: '8501501' }],
    [/^X must be one digit/, 'A', { block: '850550A' }],
    [/^block is a duplicate; the first row is used/, '8505501', { block: '8505501' }],
    [/^STATUS must be two letters/, '', { block: '8505502', status: '' }],
    [/^Block Effective Date must be/, 'soon', { block: '8505502', effective: 'soon' }],
    [/^State must be a state/, 'ON', { block: '8505502', state: 'ON' }],
    [/^OCN must be four/, 'ZZ1', { block: '8505502', ocn: 'ZZ1' }],
  ]
  it.each(bad)('refuses a file with a bad row unless it is allowed: %s', async (...wrong) => {
    const [rule, value, row] = wrong
    const rejects: BadLine[] = []
    const blocks = [{ block: '8505501' }, row, { block: '8505503' }]
    const refused = importThese(blocks, { rejects: (one) => void rejects.push(one) })
    await expect(refused).rejects.toThrow(/1 line is bad, 0 allowed/)
    const told = { file: 'blocks.csv', line: 3, value, rule: expect.stringMatching(rule) }
    expect(rejects).toEqual([told])
    expect(readdirSync(temp.path)).not.toContain('blocks-us.cg')
    const allowed = await importThese(blocks, { badLinesAllowed: 1 })
    expect(allowed).toMatchObject({ read: 3, accepted: 2, bad: [{ line: 3 }] })
  })
})

describe('an import is refused', () => {
  const table: [what: string, content: string, message: RegExp][] = [
    ['a web page', '<!DOCTYPE html>\n', /line 1 '<!DOCTYPE html>': this is a web page/],
    ['the list of prefixes', nanpaText(prefixes), /no column 'npa', .*report of thousands blocks/],
    ['a header alone', blocksText([]), /has no usable row/],
    ['no assigned block', blocksText([{ block: '8505501', status: 'AV' }]), /has no usable row/],
    ['an empty file', '', /is empty/],
  ]
  it.each(table)('for %s', async (_, content, message) => {
    await expect(importText(content)).rejects.toThrow(message)
    expect(readdirSync(temp.path)).toEqual(['blocks.csv'])
  })

  it('when fewer than half the blocks of the last one are left, in a dry run too', async () => {
    await importThese([{ block: '8505501' }, { block: '8505502' }, { block: '8505503' }])
    for (const dryRun of [true, false]) {
      const refused = importThese([{ block: '8505501' }], { dryRun })
      await expect(refused).rejects.toThrow(/has 1 usable rows, fewer than half the 3.*blocks-us/)
    }
  })

  it('and a damaged prepared file does not stand in the way of the next', async () => {
    temp.write('blocks-us.cg', 'cut off')
    expect(await importThese([{ block: '8505501' }])).toMatchObject({
      accepted: 1,
      added: undefined,
    })
  })
})
