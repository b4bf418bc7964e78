/** Rate centers near zone lines against the law there; those of Canada over the whole CNAC report. */
import { beforeAll, describe, expect, it } from 'vitest'
import { readCnac } from '../../src/data/feeds/numbering/cnac.js'
import { openPlaceNames } from '../../src/data/numbering/import/place-names.js'
import { createPrefixZones, type RateCenter } from '../../src/data/numbering/import/prefix-zones.js'
import { rateCenterZones } from '../../src/data/numbering/import/rate-center-zones.js'
import { normalizeName } from '../../src/data/numbering/rate-center-name.js'
import { getTimeZone as zoneNamed } from '../../src/domain/time/time-zones.js'
import { findCandidateZones, listAreaCodes } from '../../src/law/area-codes.js'
import { files, lacks } from './test-data.js'
import { yearStart } from './zone-clocks.js'

/** Where all prefixes of a province are, but for {@link exceptions}; Nunavut has no main zone. */
const mainZones: Readonly<Record<string, string>> = {
  AB: 'Edmonton',
  BC: 'Vancouver',
  MB: 'Winnipeg',
  NB: 'Halifax',
  NL: 'St_Johns',
  NS: 'Halifax',
  NT: 'Edmonton',
  ON: 'Toronto',
  PE: 'Halifax',
  QC: 'Toronto',
  SK: 'Regina',
  YT: 'Whitehorse',
}

/** Province, zones, rate centers: written down apart from the table, by the laws it names. */
const exceptionRows: readonly (readonly [region: string, zones: string, names: string])[] = [
  [
    'BC',
    'Edmonton',
    'Canal Flats, Cranbrook, Donald, Elkford, Elko, Fairmont Hot Springs, Fernie, Field, Golden, ' +
      'Grasmere, Invermere, Jaffray, Kimberley, Moyie, Parson, Radium, Skookumchuck, Sparwood, ' +
      'Spillimacheen',
  ],
  ['BC', 'Creston', 'Creston, Wynndel'],
  ['BC', 'Creston Edmonton', 'Yahk'],
  [
    'BC',
    'Dawson_Creek',
    "Chetwynd, Dawson Creek, East Pine, Flatrock, Fort St. John, Hudson's Hope, Montney, " +
      'Pouce Coupe, Prespatou, Rolla, Taylor, Tumbler Ridge, Wonowon',
  ],
  ['BC', 'Fort_Nelson', 'Fort Nelson, Muncho Lake, Prophet River, Toad River'],
  [
    'NL',
    'Goose_Bay',
    'Cartwright, Churchill Falls, Happy Valley - Goose Bay, Hopedale, Labrador City - Wabush, ' +
      'Makkovik, Nain, Natuashish, Northwest River, Paradise River, Postville, Rigolet',
  ],
  ['NL', 'St_Johns Goose_Bay', 'Black Tickle'],
  ['NU', 'Cambridge_Bay', 'Cambridge Bay, Gjoa Haven, Kugaaruk, Kugluktuk, Taloyoak'],
  [
    'NU',
    'Rankin_Inlet',
    'Arviat, Baker Lake, Chesterfield Inlet, Naujaat, Rankin Inlet, Whale Cove',
  ],
  ['NU', 'Resolute', 'Resolute'],
  ['NU', 'Atikokan', 'Coral Harbour'],
  [
    'NU',
    'Iqaluit',
    'Arctic Bay, Clyde River, Grise Fiord, Igloolik, Iqaluit, Kimmirut, Kinngait, Pangnirtung, ' +
      'Pond Inlet, Qikiqtarjuaq, Sanikiluaq, Sanirajak',
  ],
  ['ON', 'Atikokan', 'Atikokan, Pickle Lake'],
  [
    'ON',
    'Winnipeg',
    'Balmertown, Barwick, Bears Passage, Bearskin Lake, Cat Lake, Clearwater Bay, Cochenour, ' +
      'Deer Lake, Devlin, Dryden, Eagle River, Ear Falls, Emo, Flanders, Fort Frances, ' +
      'Grassy Narrows, Hudson, Ignace, Jaffray-Melick, Keewatin, Kenora, Lac La Croix, Madsen, ' +
      'McKenzie Portage, Minaki, Mine Centre, Morson, Muskrat Dam, Nestor Falls, Oxdrift, ' +
      'Perrault Falls, Pikangikum, Poplar Hill (Kenora Dist), Rainy River, Red Lake, Redditt, ' +
      'Sachigo Lake, Sandy Lake, Savant Lake, Sioux Lookout, Sioux Narrows, Stratton, ' +
      'Vermilion Bay, Wabigoon, Weagamow, Whitedog',
  ],
  ['ON', 'Winnipeg Atikokan', 'Sapawe'],
  [
    'ON',
    'Toronto Winnipeg',
    'Big Trout Lake, Fort Severn, Kasabonika, Kingfisher Lake, Shebandowan, Summer Beaver, ' +
      'Upsala, Webequie, Wunnummin Lake',
  ],
  ['QC', 'Halifax', 'Cap-aux-Meules, Grande-Entree, Havre-Aubert, Havre-aux-Maisons'],
  [
    'QC',
    'Blanc-Sablon',
    'Blanc-Sablon, Bonne-Esperance, Chevery, Harrington Harbour, La Romaine, Mutton Bay, ' +
      'Saint-Augustin (Duplessis), Tete-a-la-Baleine',
  ],
  ['QC', 'Toronto Halifax', 'Pointe-a-la-Croix'],
  ['QC', 'Toronto Blanc-Sablon', 'Natashquan'],
  ['SK', 'Edmonton', 'Lloydminster'],
  ['SK', 'Regina Edmonton', 'Lashburn, Maidstone, Marshall, Neilburg'],
  ['SK', 'Regina Winnipeg', 'Creighton'],
]

const exceptions: ReadonlyMap<string, string> = new Map(
  exceptionRows.flatMap(([region, zones, names]) =>
    names.split(', ').map((name): [string, string] => [`${region} ${name}`, zones]),
  ),
)

const gazetteer = await openPlaceNames()
const prefixZones = createPrefixZones(gazetteer, yearStart)

function zonesOf(rateCentre: RateCenter): string {
  const zones = prefixZones.findZones(rateCentre)
  return zones.map((zone) => zone.replace('America/', '')).join(' ')
}

describe('a Canadian rate center', () => {
  it.each([
    ['418', 'QC', 'Fermont', 'Toronto', 'beside Labrador City, west of the line'],
    ['418', 'QC', 'New Carlisle', 'Toronto', 'across the bay from New Brunswick'],
    ['581', 'QC', 'Bonaventure', 'Toronto', 'across the bay from New Brunswick'],
    ['581', 'QC', 'Chandler', 'Toronto', 'on the Gaspe coast'],
    ['418', 'QC', 'Saint-Augustin', 'Toronto', 'a part of the city of Quebec'],
    ['418', 'QC', 'Saint-Augustin (Duplessis)', 'Blanc-Sablon', 'on the Lower North Shore'],
    ['367', 'QC', 'Cap-aux-Meules', 'Halifax', 'on the Magdalen Islands'],
    ['418', 'QC', 'Pointe-a-la-Croix', 'Toronto Halifax', 'with the reserve of Listuguj'],
    ['306', 'SK', 'Regina', 'Regina', 'the capital'],
    ['306', 'SK', 'Creighton', 'Regina Winnipeg', 'beside Flin Flon'],
    ['639', 'SK', 'Lloydminster', 'Edmonton', 'on the border of Alberta'],
    ['250', 'BC', 'Creston', 'Creston', 'standard time all year'],
    ['250', 'BC', 'Golden', 'Edmonton', 'with the East Kootenay'],
    ['807', 'ON', 'Upsala', 'Toronto Winnipeg', 'west of 90 degrees, by custom on Eastern time'],
    ['867', 'NU', 'Coral Harbour', 'Atikokan', 'standard time all year'],
    ['418', 'QC', 'SAINTE-FÉLICITÉ', 'Toronto', 'spelled another way'],
  ])('%s %s %s is in %s: %s', (areaCode, region, name, expected) => {
    expect(zonesOf({ areaCode, region, name })).toBe(expected)
  })

  it.each([
    ['418', 'QC', 'New Settlement', 'Toronto Blanc-Sablon Halifax', 'not in the table'],
    ['709', 'NL', 'Flin Flon', 'St_Johns Goose_Bay', 'a place of another province'],
    ['273', 'QC', 'Fermont', 'Toronto', 'an area code to come'],
    ['416', 'ON', 'Kenora', 'Toronto', 'an area code of one zone'],
    ['418', 'QC', '', 'Toronto Blanc-Sablon Halifax', 'no rate center'],
  ])('%s %s %j is in %s: %s', (areaCode, region, name, expected) => {
    expect(zonesOf({ areaCode, region, name })).toBe(expected)
  })

  it('is looked up in the table alone, never among places of its name', () => {
    for (const region of ['AB', 'BC', 'NL', 'NU', 'ON', 'QC', 'SK']) {
      expect(gazetteer.findPlaces(region)).toEqual([])
    }
  })

  describe.skipIf(lacks('cnac'))('of the CNAC report', () => {
    const found = new Map<string, Set<string>>()
    beforeAll(async () => {
      await readCnac({
        path: files.cnac,
        onPrefix: ({ prefix, region, locality: name }) => {
          const key = `${region} ${name}`
          const zones = found.get(key) ?? new Set()
          found.set(key, zones.add(zonesOf({ areaCode: prefix.slice(0, 3), region, name })))
        },
      })
    })

    it('has the main zone of its province, or is a known exception', () => {
      expect(found.size).toBeGreaterThan(2_500)
      const wrong = [...found].flatMap(([key, zones]) => {
        const expected = exceptions.get(key) ?? mainZones[key.slice(0, 2)]
        const got = [...zones].join(' or ')
        return got === expected ? [] : [`${key}: is ${got}, must be ${expected}`]
      })
      expect(wrong).toEqual([])
    })

    it('is found for every known exception', () => {
      expect([...exceptions.keys()].filter((key) => !found.has(key))).toEqual([])
    })
  })
})

describe('a US rate center', () => {
  it.each([
    ['334', 'AL', 'HUGULEY', 'New_York Chicago', 'on Eastern time by custom, not by law'],
    ['928', 'AZ', 'DILKON', 'Denver', 'in the Navajo Nation'],
    ['928', 'AZ', 'TUBA CITY', 'Phoenix Denver', 'with the Hopi of Moenkopi'],
    ['928', 'AZ', 'KEAMSCNYON', 'Phoenix Denver', 'whose ZIP and coordinates disagree'],
    ['928', 'AZ', 'FLAGSTAFF', 'Phoenix Denver', 'whose ZIPs disagree'],
    ['928', 'AZ', 'PRESCOTT', 'Phoenix', 'far from any line'],
    ['208', 'ID', 'COTTONWOOD', 'Denver Los_Angeles', 'whose ZIP and coordinates disagree'],
    ['812', 'IN', 'OAKLAND CY', 'New_York Chicago', 'whose ZIP is taken for the next county'],
    ['270', 'KY', 'BUFFALO', 'New_York', 'in LaRue County'],
    ['270', 'KY', 'LEWISBRG', 'Chicago', 'in Logan County'],
    ['606', 'KY', 'LEWISBURG', 'New_York', 'in Mason County, of the same name'],
    ['906', 'MI', 'BARK RIVER', 'Detroit Menominee', 'next to the line'],
    ['775', 'NV', 'JACKPOT', 'Los_Angeles Denver', 'on Mountain time by custom, not by law'],
    ['775', 'NV', 'JARBIDGE', 'Los_Angeles Denver', 'on Mountain time by custom, not by law'],
    ['775', 'NV', 'MOUNTAINCY', 'Los_Angeles Denver', 'on Mountain time by custom, not by law'],
    ['775', 'NV', 'OWYHEE', 'Los_Angeles Denver', 'on Mountain time by custom, not by law'],
    ['775', 'NV', 'ELKO', 'Los_Angeles', 'far from any line'],
    ['605', 'SD', 'MOBRIDGE', 'Chicago', 'on the Missouri'],
  ])('%s %s %s is in %s: %s', (areaCode, region, name, expected) => {
    expect(zonesOf({ areaCode, region, name })).toBe(expected)
  })
})

describe('the table of rate centers', () => {
  const rows = Object.entries(rateCenterZones).flatMap(([region, byZones]) =>
    Object.entries(byZones).flatMap(([zones, names]) =>
      names.split(',').map((name) => ({ region, zones: zones.split(' '), name: name.trim() })),
    ),
  )

  it('leads each name, compared without digits, to one answer', () => {
    const answers = new Map<string, string>()
    for (const { region, name, zones } of rows) {
      const key = `${region} ${normalizeName(name)}`
      expect(normalizeName(name), `${region} ${name}`).not.toBe('')
      expect(answers.get(key) ?? zones.join(), key).toBe(zones.join())
      answers.set(key, zones.join())
    }
  })

  it('has known zones, which an area code of the province has too', () => {
    const codes = listAreaCodes()
    for (const { region, zones, name } of rows) {
      for (const zone of zones) expect(() => zoneNamed(zone)).not.toThrow()
      const widest = codes.map((code) => findCandidateZones(code, region))
      const covered = widest.some((known) => zones.every((zone) => known.includes(zone)))
      expect(covered, `${region} ${name}`).toBe(true)
    }
  })
})
