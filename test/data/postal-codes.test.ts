import zoneAt from '@photostructure/tz-lookup'
import { describe, expect, it } from 'vitest'
import zipcodes, { type ZipCode } from 'zipcodes'
import { createPostalCodes } from '../../src/data/postal-codes/postal-codes.js'
import { correctedZips } from '../../src/data/postal-codes/zip-table.js'
import { findZipZone } from '../../src/data/postal-codes/zip-zones.js'
import { findRegionZones } from '../../src/law/area-codes.js'
import { files, lacks, rowsOf } from './test-data.js'
import { emptyTally, judge, share } from './zone-clocks.js'

const postalCodes = createPostalCodes()

function located(code: string): string | undefined {
  const place = postalCodes.locate(code)
  return place?.candidates.map(({ region, zone }) => `${region} ${zone}`).join(', ')
}

describe('the form of a code', () => {
  it.each(['10001', '10001-1234', '100011234', ' 10001 '])('%j is a ZIP', (text) => {
    expect(located(text)).toBe('NY America/New_York')
  })

  it.each(['K1A 0B1', 'k1a0b1', 'K1A-0B1'])('%j is a Canadian postal code', (text) => {
    expect(located(text)).toBe('ON America/Toronto')
  })

  it.each([
    '',
    '1000',
    '100012',
    '10001-123',
    '1000A',
    '10001 1234',
    'K1A 0B',
    'K1A  0B1',
    'D1A 0B1',
    'W1A 0B1',
    'Z1A 0B1',
    'K1O 0B1',
    'K1A',
  ])('%j is no code of either country', (text) => {
    expect(located(text)).toBeUndefined()
  })
})

describe('a US ZIP', () => {
  const table: [zip: string, expected: string | undefined, why: string][] = [
    ['10001', 'NY America/New_York', 'by the table of ZIP zones'],
    ['10001-1234', 'NY America/New_York', 'of nine digits'],
    ['32501', 'FL America/Chicago', 'in the western part of a two-zone state'],
    ['42519', 'KY America/New_York', 'in the eastern part of a two-zone state'],
    ['06390', 'NY America/New_York', 'of another state than its neighbours'],
    ['83414', 'WY America/Denver', 'of another state than its neighbours'],
    ['96950', 'MP Pacific/Saipan', 'of the Northern Marianas'],
    ['96799', 'AS Pacific/Pago_Pago', 'of American Samoa'],
    ['00901', 'PR America/Puerto_Rico', 'of Puerto Rico'],
    ['36872', 'AL America/Chicago, AL America/New_York', 'on which the sources disagree'],
    ['89883', 'NV America/Los_Angeles, NV America/Denver', 'on which the sources disagree'],
    ['37337', 'TN America/New_York, TN America/Chicago', 'of Grandview, next to the line'],
    ['42603', 'KY America/New_York, KY America/Chicago', 'of Alpha, next to the line'],
    ['57532', 'SD America/Chicago, SD America/Denver', 'of Fort Pierre: Central time by custom'],
    [
      '86016',
      'AZ America/Phoenix, AZ America/Denver',
      'of Gray Mountain, next to the Navajo Nation',
    ],
    ['58601', 'ND America/Denver', 'of Dickinson, away from the line'],
    ['89825', 'NV America/Los_Angeles, NV America/Denver', 'of Jackpot: Mountain time by custom'],
    ['89826', 'NV America/Los_Angeles, NV America/Denver', 'of Jarbidge: Mountain time by custom'],
    ['89831', 'NV America/Los_Angeles, NV America/Denver', 'of Mountain City: Mountain by custom'],
    ['89832', 'NV America/Los_Angeles, NV America/Denver', 'of Owyhee: Mountain time by custom'],
    ['89801', 'NV America/Los_Angeles', 'of Elko, away from the line'],
    ['32454', 'FL America/Chicago', 'that only coordinates place'],
    ['20505', 'DC America/New_York', 'without an entry, in a one-zone state'],
    ['42999', undefined, 'of no state'],
    ['42799', 'KY America/New_York, KY America/Chicago', 'without an entry, in a two-zone state'],
    ['57601', 'SD America/Chicago', 'of Mobridge, which the packages place across the Missouri'],
    ['47660', 'IN America/New_York, IN America/Chicago', 'of Oakland City, next to the line'],
    ['49807', 'MI America/Detroit, MI America/Menominee', 'of Bark River, next to the line'],
    ['42757', 'KY America/New_York, KY America/Chicago', 'of Magnolia, next to the line'],
    ['36863', 'AL America/New_York, AL America/Chicago', 'of Lanett: Eastern time by custom'],
    ['36869', 'AL America/New_York, AL America/Chicago', 'of Phenix City: Eastern by custom'],
    ['86045', 'AZ America/Phoenix, AZ America/Denver', 'of Tuba City and Moenkopi'],
    ['86047', 'AZ America/Phoenix, AZ America/Denver', 'of Winslow and Dilkon'],
    ['00840', 'VI America/St_Thomas', 'of the US Virgin Islands'],
    ['96910', 'GU Pacific/Guam', 'of Guam'],
    ['96898', 'HI Pacific/Wake', 'of Wake Island'],
    ...(['09001', '09899'] as const).map(nowhere('of the forces in Europe')),
    ...(['34001', '34099'] as const).map(nowhere('of the forces in the Americas')),
    ...(['96201', '96699'] as const).map(nowhere('of the forces in the Pacific')),
    ...(['96939', '96940'] as const).map(nowhere('of Palau')),
    ...(['96941', '96944'] as const).map(nowhere('of Micronesia')),
    ...(['96960', '96970'] as const).map(nowhere('of the Marshall Islands')),
    ['00000', undefined, 'of no state'],
    ['88888', undefined, 'of no state'],
  ]
  function nowhere(why: string): (zip: string) => [string, undefined, string] {
    return (zip) => [zip, undefined, why]
  }
  it.each(table)('%s is in %s: one %s', (zip, expected) => {
    expect(located(zip)).toBe(expected)
  })

  it('of the forces is nowhere, whichever of their codes it is', () => {
    const prefixes = ['340', ...range(90, 98), ...range(962, 966)]
    for (const prefix of prefixes) {
      for (const rest of range(0, 99)) expect(located(prefix + rest.slice(1))).toBeUndefined()
    }
  })
  function range(from: number, to: number): string[] {
    return Array.from({ length: to - from + 1 }, (_, step) => String(from + step).padStart(3, '0'))
  }
})

describe('a Canadian postal code', () => {
  const table: [code: string, expected: string | undefined][] = [
    ['A1A 1A1', 'NL America/St_Johns'],
    ...(['A0P', 'A0R', 'A2V'] as const).map(row('NL America/Goose_Bay')),
    ['A0K 1V0', 'NL America/Goose_Bay'],
    ['A0K 1N0', 'NL America/St_Johns, NL America/Goose_Bay'],
    ['A0K 2P0', 'NL America/St_Johns'],
    ['B3H 1A1', 'NS America/Halifax'],
    ['C1A 1A1', 'PE America/Halifax'],
    ['E1A 1A1', 'NB America/Halifax'],
    ...(['G1A', 'H2X', 'J1A'] as const).map(row('QC America/Toronto')),
    ['G4T 1A1', 'QC America/Halifax'],
    ['G0B 1A1', 'QC America/Toronto, QC America/Halifax'],
    ['G0G 1A1', 'QC America/Toronto, QC America/Blanc-Sablon'],
    ...(['G0C 2R0', 'G0C 1L0'] as const).map((code): [string, string] => [
      code,
      'QC America/Toronto, QC America/Halifax',
    ]),
    ['G0C 1E0', 'QC America/Toronto'],
    ...(['K1A', 'L1A', 'M1A', 'N1A', 'P1A'] as const).map(row('ON America/Toronto')),
    ...(['P0V', 'P0W', 'P0X', 'P0Y'] as const).map(row('ON America/Winnipeg')),
    ...(['P8N', 'P8T', 'P9A', 'P9N'] as const).map(row('ON America/Winnipeg')),
    ...(['P0V 1G0', 'P0V 1W0', 'P0V 1Y0'] as const).map((code): [string, string] => [
      code,
      'ON America/Toronto, ON America/Winnipeg',
    ]),
    ['P0T 1A1', 'ON America/Toronto, ON America/Winnipeg'],
    ['R3C 1A1', 'MB America/Winnipeg'],
    ['S4P 1A1', 'SK America/Regina'],
    ['S0P 1A1', 'SK America/Regina, SK America/Winnipeg'],
    ['S9V 1A1', 'SK America/Edmonton'],
    ['S0M 1A1', 'SK America/Regina, SK America/Edmonton'],
    ['T5A 1A1', 'AB America/Edmonton'],
    ['V5K 1A1', 'BC America/Vancouver'],
    ...(['V0A', 'V1A', 'V1C'] as const).map(row('BC America/Edmonton')),
    ['v0b1a1', 'BC America/Vancouver, BC America/Edmonton'],
    ...(['V1G', 'V1J'] as const).map(row('BC America/Dawson_Creek')),
    ['V0C 1A1', 'BC America/Vancouver, BC America/Dawson_Creek'],
    ['X1A 1A1', 'NT America/Edmonton'],
    ['X0A 1A1', 'NU America/Iqaluit'],
    ['X0A 0V0', 'NU America/Iqaluit, NU America/Resolute'],
    ['X0B 1A1', 'NU America/Cambridge_Bay'],
    ['X0C 1A1', 'NU America/Rankin_Inlet'],
    ['X0C 0C0', 'NU America/Rankin_Inlet, NU America/Atikokan'],
    ['Y1A 1A1', 'YT America/Whitehorse'],
    ['H0H 0H0', undefined],
    // Mail of the Canadian Forces: post offices and ships, wherever they are.
    ...(['K8N 5W6', 'B3K 5X5', 'V9A 7N2'] as const).map((code): [string, undefined] => [
      code,
      undefined,
    ]),
  ]
  function row(expected: string): (area: string) => [string, string] {
    return (area) => [`${area} 1A1`, expected]
  }
  it.each(table)('%s is in %s', (code, expected) => {
    expect(located(code)).toBe(expected)
  })
})

/** Kilometers from the middle of a ZIP within which people live who have the ZIP. */
const reachKm = 10
const kmPerDegree = 111

/** The zones of the middle of a ZIP and of eight points around it. */
function zonesAround({ latitude, longitude }: ZipCode): readonly string[] {
  const turns = Array.from({ length: 8 }, (_, step) => (step * Math.PI) / 4)
  const north = (turn: number) => (reachKm / kmPerDegree) * Math.cos(turn)
  const degreesEast = reachKm / kmPerDegree / Math.cos((latitude * Math.PI) / 180)
  return [
    zoneAt(latitude, longitude),
    ...turns.map((turn) =>
      zoneAt(latitude + north(turn), longitude + degreesEast * Math.sin(turn)),
    ),
  ]
}

/** The rule behind the ZIP tables, over the packages; `undefined` for a ZIP of no state of ours. */
function zonesByPackages(zip: ZipCode): readonly (string | undefined)[] | undefined {
  const zones = findRegionZones(zip.state)
  const byZip = findZipZone(zip.zip)
  if (zones.length === 0) return undefined
  if (zones.length === 1) return [byZip ?? zones[0]]
  const alike = (name: string) => zones.find((zone) => judge([name], zone) === 'right')
  const named = byZip === undefined ? [] : [byZip]
  const possible = new Set([...named, ...zonesAround(zip)].flatMap((zone) => alike(zone) ?? []))
  const isOfState = byZip === undefined || alike(byZip) !== undefined
  return isOfState && possible.size === 1 ? [byZip ?? [...possible][0]] : zones
}

it('the ZIP tables say what the packages they are made of say', () => {
  const corrected = new Set(Object.values(correctedZips).join(' ').split(' '))
  const zips = Object.values(zipcodes.codes).filter(
    ({ country, zip }) => country === 'US' && !corrected.has(zip),
  )
  const differing = zips.flatMap((zip) => {
    const place = postalCodes.locate(zip.zip)
    const got = place?.candidates.map(({ region, zone }) => `${region} ${zone}`).join()
    const expected = zonesByPackages(zip)
    const wanted = expected?.map((zone) => `${zip.state} ${zone}`).join()
    return got === wanted ? [] : [`${zip.zip}: is ${got}, must be ${wanted}`]
  })
  expect(zips.length).toBeGreaterThan(42_000)
  expect(differing).toEqual([])
})

describe.skipIf(lacks('zipOracle'))('against the zone polygons of a sample of ZIPs', () => {
  it('at least 99.9 % agree, and every state does', () => {
    const tally = emptyTally()
    const elsewhere: string[] = []
    for (const [zip = '', state, , zone] of rowsOf(files.zipOracle)) {
      const place = postalCodes.locate(zip)
      // Military ZIPs have no state in the sample and no place with us.
      if (!state) {
        expect(place).toBeUndefined()
        continue
      }
      const candidates = place?.candidates ?? []
      if (!candidates.some(({ region }) => region === state)) elsewhere.push(`${zip} ${state}`)
      const verdict = judge(
        candidates.map((candidate) => candidate.zone),
        zone!,
      )
      tally[verdict] += 1
      if (verdict === 'wrong') tally.examples.push(`${zip} ${zone}`)
    }
    expect(elsewhere).toEqual([])
    expect(share(tally, 'wrong'), tally.examples.join('\n')).toBeLessThanOrEqual(0.1)
    expect(share(tally, 'undecided')).toBeLessThanOrEqual(1)
  })
})
