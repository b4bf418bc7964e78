import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { getTimeZone as zoneNamed } from '../../src/domain/time/time-zones.js'
import {
  findAreaCode,
  findAreaCodePlace,
  findCandidateZones,
  findRegionCountry,
  findRegionZones,
  listAreaCodes,
} from '../../src/law/area-codes.js'
import { files, lacks } from '../data/test-data.js'

describe('area codes', () => {
  const table: [code: string, expected: string][] = [
    ['212', 'NY America/New_York'],
    ['850', 'FL America/New_York, FL America/Chicago'],
    ['483', 'AL America/New_York, AL America/Chicago'],
    ['775', 'NV America/Denver, NV America/Los_Angeles'],
    ['928', 'AZ America/Phoenix, AZ America/Denver'],
    ['906', 'MI America/Detroit, MI America/Menominee'],
    ['670', 'MP Pacific/Guam'],
    ['787', 'PR America/Puerto_Rico'],
    ['604', 'BC America/Vancouver'],
    ['807', 'ON America/Toronto, ON America/Winnipeg, ON America/Atikokan'],
    ['306', 'SK America/Regina, SK America/Edmonton, SK America/Winnipeg'],
    [
      '250',
      'BC America/Vancouver, BC America/Edmonton, BC America/Creston, ' +
        'BC America/Dawson_Creek, BC America/Fort_Nelson',
    ],
    ['902', 'NS America/Halifax, PE America/Halifax'],
    [
      '867',
      'NT America/Edmonton, NU America/Iqaluit, NU America/Rankin_Inlet, ' +
        'NU America/Resolute, NU America/Cambridge_Bay, NU America/Atikokan, YT America/Whitehorse',
    ],
  ]
  it.each(table)('%s may reach %s', (code, expected) => {
    const { candidates } = findAreaCodePlace(code)!
    expect(candidates.map(({ region, zone }) => `${region} ${zone}`).join(', ')).toBe(expected)
  })

  const opened: [code: string, region: string][] = [
    ...([
      ['357', 'CA'],
      ['837', 'CA'],
      ['621', 'TX'],
      ['257', 'BC'],
      ['942', 'ON'],
    ] as const),
    ...([
      ['748', 'CO'],
      ['729', 'TN'],
      ['457', 'LA'],
      ['679', 'MI'],
      ['471', 'MS'],
    ] as const),
    ...([
      ['483', 'AL'],
      ['465', 'NY'],
    ] as const),
  ].map(([code, region]) => [code, region])
  it.each(opened)('%s of 2025 or 2026 is in %s', (code, region) => {
    expect(findAreaCodePlace(code)?.candidates.map((candidate) => candidate.region)).toContain(
      region,
    )
  })

  it.each([
    ['800', { kind: 'toll-free' }],
    ['500', { kind: 'non-geographic' }],
    ['876', { kind: 'other-country', country: 'Jamaica' }],
    ['885', undefined],
    ['273', undefined],
  ])('%s: %j', (code, expected) => {
    expect(findAreaCode(code)).toEqual(expected)
    expect(findAreaCodePlace(code)).toBeUndefined()
  })

  it('every zone is one of the packaged rules', () => {
    const zones = listAreaCodes().flatMap((code) => findAreaCodePlace(code)?.candidates ?? [])
    for (const { zone } of zones) expect(() => zoneNamed(zone)).not.toThrow()
  })
})

describe('the zones a prefix may have', () => {
  it.each([
    ['867', 'NT', ['America/Edmonton'], 'only those of its region'],
    ['613', 'QC', ['America/Toronto'], 'those of the code for a neighbouring region'],
    ['273', 'QC', ['America/Toronto', 'America/Blanc-Sablon', 'America/Halifax'], 'of its region'],
  ])('in %s, listed under %s, are %j: %s', (code, region, zones) => {
    expect([...findCandidateZones(code, region)].sort()).toEqual([...zones].sort())
  })
})

it('regions know their country and every zone of their area codes', () => {
  expect([findRegionCountry('GU'), findRegionCountry('NU'), findRegionCountry('NN')]).toEqual([
    'US',
    'CA',
    undefined,
  ])
  expect(findRegionZones('TN')).toEqual(['America/New_York', 'America/Chicago'])
  expect(findRegionZones('ZZ')).toEqual([])
})

it('lists the geographic codes in service in ascending order', () => {
  const codes = listAreaCodes()
  expect(codes).toHaveLength(433)
  expect(codes).toEqual([...codes].sort((one, other) => Number(one) - Number(other)))
  expect(codes.every((code) => findAreaCodePlace(code) !== undefined)).toBe(true)
  for (const code of ['800', '242', '500', '273', '911']) expect(codes).not.toContain(code)
})

describe.skipIf(lacks('areaCodes'))('against the area-code report of 2026-08', () => {
  let header: string[] = []
  let inService: string[][] = []
  const cell = (row: string[], name: string) => row[header.indexOf(name)] ?? ''

  beforeAll(() => {
    const lines = readFileSync(files.areaCodes, 'utf8').split(/\r?\n/).slice(1)
    const rows = lines.map((line) => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/))
    header = rows[0] ?? []
    inService = rows.filter((row) => cell(row, 'IN_SERVICE') === 'Y')
  })

  it('knows exactly the codes in service, each for what it is', () => {
    expect(inService).toHaveLength(485)
    const kindOf = (row: string[]) => {
      if (cell(row, 'USE') !== 'G') return /toll-free|non-geographic/
      return /^(?:US|CANADA)$/.test(cell(row, 'COUNTRY')) ? /^geographic/ : /other-country/
    }
    const wrong = inService.filter(
      (row) => !kindOf(row).test(findAreaCode(cell(row, 'NPA_ID'))?.kind ?? ''),
    )
    expect(wrong).toEqual([])
  })

  it('puts every US code into the state of the report', () => {
    const us = inService.filter((r) => cell(r, 'COUNTRY') === 'US' && cell(r, 'USE') === 'G')
    const wrong = us.filter((row) => {
      const state = cell(row, 'LOCATION').replace('CNMI', 'MP')
      return findAreaCodePlace(cell(row, 'NPA_ID'))?.candidates[0]?.region !== state
    })
    expect(us).toHaveLength(378)
    expect(wrong).toEqual([])
  })
})
