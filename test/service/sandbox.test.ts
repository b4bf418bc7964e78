import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sandboxAccountId } from '../../src/domain/caller.js'
import { DataFileError } from '../../src/errors.js'
import { listAreaCodes } from '../../src/law/area-codes.js'
import { noListOwners } from '../../src/service/lists/list-rights.js'
import { readSandboxFile } from '../../src/service/sandbox/sandbox-file.js'
import { sandboxLines } from '../support/sandbox-lines.js'
import { fakeLists, planWith, testSandbox, testScrub } from '../support/scrub-parts.js'
import { n } from '../support/service-subjects.js'
import { instant, testClock } from '../support/test-clock.js'

const withFacts = sandboxLines.filter(({ letter }) => letter !== 'I')
const ordinary = withFacts.map(({ letter }) => letter).join(' ')
const wirelessBarred = 'C L Y D P D F O V E F P O L C C Y L L C'

/** The letters of 555-0100 to 555-0119. */
const tables: readonly {
  readonly areaCode: string
  readonly letters: string
  readonly why: string
}[] = [
  { areaCode: '212', letters: ordinary, why: 'New York' },
  { areaCode: '416', letters: ordinary, why: 'Ontario' },
  { areaCode: '850', letters: ordinary, why: 'Florida, in two zones' },
  { areaCode: '867', letters: ordinary, why: 'three territories of Canada' },
  { areaCode: '787', letters: ordinary, why: 'Puerto Rico' },
  { areaCode: '671', letters: ordinary, why: 'Guam' },
  { areaCode: '602', letters: wirelessBarred, why: 'Arizona' },
  { areaCode: '504', letters: wirelessBarred, why: 'Louisiana' },
  { areaCode: '214', letters: wirelessBarred, why: 'Texas' },
  { areaCode: '307', letters: wirelessBarred, why: 'Wyoming' },
  // These honour no sale of a real account; the fixed facts hold in every state alike.
  { areaCode: '201', letters: wirelessBarred, why: 'New Jersey' },
  { areaCode: '317', letters: ordinary, why: 'Indiana' },
  { areaCode: '414', letters: ordinary, why: 'Wisconsin' },
]

const noon = '2026-11-23T17:00:00Z'

async function lettersOf(areaCode: string, at: string | undefined, sandboxAt?: string) {
  const { scrub } = testScrub({
    clock: testClock('2026-11-20T12:00:00Z'),
    lists: fakeLists({}),
    ...(sandboxAt === undefined ? {} : { sandboxAt: instant(sandboxAt) }),
  })
  const rows = await scrub.listRows(sandboxAccountId, {
    items: withFacts.map(({ line }) => ({ phone: `${areaCode}555${line}` })),
    version: 8,
    at: at === undefined ? undefined : instant(at),
  })
  return rows.map((row) => row.letter).join(' ')
}

describe('letters of the sandbox lines, with nothing imported', () => {
  it.each(tables)('$areaCode ($why)', async ({ areaCode, letters }) => {
    expect(await lettersOf(areaCode, noon)).toBe(letters)
  })

  it.each([
    { when: 'now', at: undefined },
    { when: 'decades ago', at: '1999-07-01T12:00:00Z' },
    { when: 'in decades', at: '2049-07-01T12:00:00Z' },
  ])('hold when judged $when', async ({ at }) => {
    expect(await lettersOf('212', at)).toBe(ordinary)
  })

  it('hold under a sandbox clock set to another year', async () => {
    expect(await lettersOf('212', undefined, '2031-03-04T17:00:00Z')).toBe(ordinary)
  })

  it('are given for every area code in service', async () => {
    const { scrub } = testScrub({ clock: testClock(), lists: fakeLists({}) })
    const items = listAreaCodes().map((areaCode) => ({ phone: `${areaCode}5550100` }))
    const rows = await scrub.listRows(sandboxAccountId, { items, version: 8, at: instant(noon) })
    expect(items.length).toBeGreaterThan(400)
    expect(rows.filter((row) => row.letter !== 'C').map((row) => row.phone)).toEqual([])
  })
})

describe('the sandbox account', () => {
  const clock = testClock(noon)
  const sandbox = testSandbox(clock)

  it.each([
    { phone: '2125550120', letter: 'I', why: 'a fictional line without facts' },
    { phone: '2125550199', letter: 'I', why: 'a fictional line without facts' },
    { phone: '9995550100', letter: 'I', why: 'an area code that is not in service' },
    { phone: '8005550100', letter: 'I', why: 'toll-free' },
    { phone: '2127361000', letter: 'B', why: 'a real number, for which it has no lists' },
  ])('gives $letter for $why', async ({ phone, letter }) => {
    const { scrub } = testScrub({ clock })
    const [row] = await scrub.listRows(sandboxAccountId, { items: [{ phone }], version: 8 })
    expect(row?.letter).toBe(letter)
    expect(row?.detail).toEqual(expect.any(String))
  })

  it('lists three numbers of each area code internally', () => {
    const numbers = sandbox.internalDncNumbers()
    expect(numbers.filter((number) => number.startsWith('212'))).toEqual([
      '2125550104',
      '2125550111',
      '2125550112',
    ])
    expect(numbers).toHaveLength(listAreaCodes().length * 3)
  })

  it('sees its own numbers in the plan', () => {
    const number = n('2125550101')
    const plan = planWith({ [number]: { lineClass: 'voip' } })
    expect(sandbox.planOver(plan).lookup(number)).toMatchObject({
      lineClass: 'wireless',
    })
    expect(sandbox.planOver(plan).lookup(n('2127361000'))).toEqual(plan.lookup(n('2127361000')))
  })

  it('stands at the instant set for it', () => {
    const at = instant('2031-01-01')
    const standing = testSandbox(clock, at)
    expect(standing.clock.now()).toBe(at)
    expect(sandbox.clock.now()).toBe(clock.now())
  })

  it('has lists of its own, other accounts the imported ones', () => {
    const { listFacts, sandboxLists } = testScrub({ clock })
    expect(sandboxLists.checkNational(n('2125550103'), 'US').status).toBe('listed')
    expect(
      listFacts.checkNational(n('2125550103'), 'US', {
        accountId: 'main',
        listOwners: noListOwners,
      }).status,
    ).toBe('clear')
  })
})

describe('a sandbox file with mistakes', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'callgate-sandbox-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const cases = [
    { text: 'lines: {}', tells: ['listsAsOf', 'is missing'] },
    { text: 'listsAsOf: "2026-02-30"\nlines: {}', tells: ['listsAsOf', '2026-02-30'] },
    {
      text: 'listsAsOf: "2026-01-01"\nlines: { "0100": { about: x, lineClass: fax } }',
      tells: ['lines.0100.lineClass', 'fax', 'wireless, wireline, voip'],
    },
    {
      text: 'listsAsOf: "2026-01-01"\nlines: { "0200": { about: x, lineClass: voip } }',
      tells: ['0200', '0100 to 0199'],
    },
    {
      text: 'listsAsOf: "2026-01-01"\nlines: { "0100": { about: x, lineClass: voip, dnc: 1 } }',
      tells: ['lines.0100.dnc', 'not a known field'],
    },
    ...[
      { facts: 'lineStatus: gone', tells: ['lineStatus', 'gone', 'connected-75'] },
      { facts: 'resOrBusiness: X', tells: ['resOrBusiness', 'R, B, U'] },
      { facts: 'labels: [CarrierE]', tells: ['labels.0', 'CarrierE', 'CarrierD'] },
      { facts: 'disconnects: { own: { daysAgo: 0 } }', tells: ['disconnects.own.daysAgo', '0'] },
      { facts: 'disconnects: { own: always }', tells: ['disconnects.own', 'always', 'daysAgo'] },
      {
        facts: 'identity: { phoneType: L, ocn: zz1, telcoName: T, daysAgo: 1 }',
        tells: ['identity.ocn', 'zz1', '4 capital letters or digits'],
      },
      { facts: 'complaints: [{ daysAgo: 1 }]', tells: ['complaints.0.subject', 'is missing'] },
      { facts: 'carrier: x', tells: ['lookups.carrier', 'not a known field'] },
    ].map(({ facts, tells }) => ({
      text:
        'listsAsOf: "2026-01-01"\n' +
        `lines: { "0100": { about: x, lineClass: voip, lookups: { ${facts} } } }`,
      tells: ['lines.0100.lookups', ...tells],
    })),
  ]
  it.each(cases)('is refused, naming $tells', ({ text, tells }) => {
    const path = join(folder, 'sandbox.yaml')
    writeFileSync(path, text)
    for (const part of [path, ...tells]) expect(() => readSandboxFile(path)).toThrow(part)
    expect(() => readSandboxFile(path)).toThrow(DataFileError)
  })
})
