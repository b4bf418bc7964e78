import { describe, expect, it } from 'vitest'
import type { PlaceNames } from '../../src/data/numbering/import/place-names.js'
import { createPrefixZones } from '../../src/data/numbering/import/prefix-zones.js'
import { findMatchingNames, normalizeName } from '../../src/data/numbering/rate-center-name.js'
import { yearStart } from './zone-clocks.js'

describe('normaliseName', () => {
  it.each([
    ['Fort St. John', 'FTSTJOHN'],
    ['Saint-Henri-de-Lévis', 'STHENRIDELEVIS'],
    ['Sainte-Anne', 'STANNE'],
    ['Mount Vernon', 'MTVERNON'],
    ['  de Funiak Springs 2 ', 'DEFUNIAKSPRINGS'],
  ])('%s becomes %s', (name, expected) => {
    expect(normalizeName(name)).toBe(expected)
  })
})

describe('matchingNames', () => {
  const places = new Set(
    [
      'Greenville',
      'Green',
      'Siloam Springs',
      'Tallahassee',
      'Marianna',
      'Mariannaville',
      'Chattanooga',
      'Crestview',
      'Crestview Heights',
      'Mount Dora',
      'Boston',
      'Austin',
    ].map(normalizeName),
  )
  const table: [rateCentre: string, expected: string[], why: string][] = [
    ['MARIANNA', ['MARIANNA'], 'equal, though another name begins with it'],
    ['GREENVL', ['GREENVILLE'], 'an ending written out'],
    ['SILOAMSPGS', ['SILOAMSPRINGS'], 'an ending written out'],
    ['TALLAHASSE', ['TALLAHASSEE'], 'cut to ten letters'],
    ['CRESTVW', ['CRESTVIEW'], 'letters left out, first and last kept'],
    ['CRESTV', ['CRESTVIEW'], 'the shortest of those it begins'],
    ['MOUNT DORA', ['MTDORA'], 'a common word'],
    ['CHATTNOOGA', ['CHATTANOOGA'], 'an alias'],
    ['BOTN', ['BOSTON'], 'letters left out'],
    ['XENIA', [], 'nothing alike'],
    ['', [], 'no name'],
  ]
  it.each(table)('%s leads to %j: %s', (rateCentre, expected) => {
    expect(findMatchingNames('TN', rateCentre, places)).toEqual(expected)
  })
})

describe('the zone of a rate centre', () => {
  const towns: Record<string, [name: string, zone: string][]> = {
    FL: [
      ['Pensacola', 'America/Chicago'],
      ['Crestview', 'America/Chicago'],
      ['Crestview', 'America/New_York'],
      ['Elsewhere', 'America/Denver'],
      ...Array.from({ length: 9 }, (): [string, string] => ['Panama City', 'America/Chicago']),
      ['Panama City', 'America/New_York'],
      ...Array.from({ length: 3 }, (): [string, string] => ['Bristol', 'America/New_York']),
      ['Bristol', 'America/Chicago'],
    ],
    IN: [['Tell City', 'America/Indiana/Tell_City']],
  }
  const gazetteer: PlaceNames = {
    findPlaces: (region) =>
      (towns[region] ?? []).map(([name, zone]) => ({ name: normalizeName(name), zone })),
  }
  const zones = createPrefixZones(gazetteer, yearStart)
  const both = ['America/New_York', 'America/Chicago']
  const table: [areaCode: string, region: string, name: string, expected: string[], why: string][] =
    [
      ['850', 'FL', 'PENSACOLA', ['America/Chicago'], 'one place, one zone'],
      ['850', 'FL', 'CRESTVIEW', both, 'namesakes in both zones'],
      ['850', 'FL', 'PANAMACITY', ['America/Chicago'], 'nine namesakes of ten'],
      ['850', 'FL', 'BRISTOL', both, 'too few namesakes for a majority'],
      ['850', 'FL', 'ELSEWHERE', both, 'the area code cannot have that zone'],
      ['850', 'FL', 'NOWHERE', both, 'no such place'],
      ['850', 'FL', '', both, 'no rate centre'],
      ['305', 'FL', 'PENSACOLA', ['America/New_York'], 'the area code has one zone'],
      ['812', 'IN', 'TELL CITY', ['America/Chicago'], 'a zone of the same clock'],
      ['928', 'AZ', 'PAGE', ['America/Phoenix', 'America/Denver'], 'no places of the state'],
    ]
  it.each(table)('%s %s %s is %j: %s', (areaCode, region, name, expected) => {
    expect(zones.findZones({ areaCode, region, name })).toEqual(expected)
  })
})
