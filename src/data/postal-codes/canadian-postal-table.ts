/**
 * Province and zone of Canadian postal codes: a default per first letter, and the areas that differ, by
 * their first three characters, or all six if one community differs from its area. The zones follow the
 * same laws and customs as those in `../numbering/import/rate-center-zones.ts`.
 */

export interface PostalArea {
  readonly region: string
  /** More than one if the area is on both sides of a zone line. */
  readonly zones: readonly string[]
}

const halifax = 'America/Halifax'
const toronto = 'America/Toronto'
const winnipeg = 'America/Winnipeg'
const edmonton = 'America/Edmonton'
const vancouver = 'America/Vancouver'

export const provinceByLetter: Readonly<Record<string, PostalArea>> = {
  A: { region: 'NL', zones: ['America/St_Johns'] },
  B: { region: 'NS', zones: [halifax] },
  C: { region: 'PE', zones: [halifax] },
  E: { region: 'NB', zones: [halifax] },
  G: { region: 'QC', zones: [toronto] },
  H: { region: 'QC', zones: [toronto] },
  J: { region: 'QC', zones: [toronto] },
  K: { region: 'ON', zones: [toronto] },
  L: { region: 'ON', zones: [toronto] },
  M: { region: 'ON', zones: [toronto] },
  N: { region: 'ON', zones: [toronto] },
  P: { region: 'ON', zones: [toronto] },
  R: { region: 'MB', zones: [winnipeg] },
  S: { region: 'SK', zones: ['America/Regina'] },
  T: { region: 'AB', zones: [edmonton] },
  V: { region: 'BC', zones: [vancouver] },
  X: { region: 'NT', zones: [edmonton] },
  Y: { region: 'YT', zones: ['America/Whitehorse'] },
}

type Exception = readonly [areas: string, region: string, zones: readonly string[]]

const exceptionRows: readonly Exception[] = [
  ['A0P A0R A2V', 'NL', ['America/Goose_Bay']],
  // Cartwright keeps Atlantic time within A0K; for Black Tickle sources disagree.
  ['A0K1V0', 'NL', ['America/Goose_Bay']],
  ['A0K1N0', 'NL', ['America/St_Johns', 'America/Goose_Bay']],
  ['G4T', 'QC', [halifax]],
  ['G0B', 'QC', [toronto, halifax]],
  ['G0G', 'QC', [toronto, 'America/Blanc-Sablon']],
  // Listuguj keeps Atlantic time by law; its mail may go through Pointe-a-la-Croix.
  ['G0C2R0 G0C1L0', 'QC', [toronto, halifax]],
  ['P0V P0W P0X P0Y P8N P8T P9A P9N', 'ON', [winnipeg]],
  ['P0T', 'ON', [toronto, winnipeg]],
  // Big Trout Lake, Fort Severn, Kasabonika, Kingfisher Lake and Wunnummin Lake lie east of 90 degrees.
  ['P0V1G0 P0V1W0 P0V1Y0 P0V1Z0 P0V2Z0', 'ON', [toronto, winnipeg]],
  ['S0M', 'SK', ['America/Regina', edmonton]],
  ['S0P', 'SK', ['America/Regina', winnipeg]],
  ['S9V', 'SK', [edmonton]],
  ['V0A V1A V1C', 'BC', [edmonton]],
  ['V0B', 'BC', [vancouver, edmonton]],
  ['V0C', 'BC', [vancouver, 'America/Dawson_Creek']],
  ['V1G V1J', 'BC', ['America/Dawson_Creek']],
  ['X0A', 'NU', ['America/Iqaluit']],
  ['X0B', 'NU', ['America/Cambridge_Bay']],
  ['X0C', 'NU', ['America/Rankin_Inlet']],
  // Resolute keeps Central time within X0A, Coral Harbour standard time all year within X0C.
  ['X0A0V0', 'NU', ['America/Iqaluit', 'America/Resolute']],
  ['X0C0C0', 'NU', ['America/Rankin_Inlet', 'America/Atikokan']],
]

export const canadianExceptions: Readonly<Record<string, PostalArea>> = Object.fromEntries(
  exceptionRows.flatMap(([areas, region, zones]) =>
    areas.split(' ').map((area) => [area, { region, zones }]),
  ),
)

/** Post offices of the Canadian Forces (Belleville) and their fleet mail (Halifax, Victoria). */
export const militaryPostalCodes: ReadonlySet<string> = new Set(['K8N5W6', 'B3K5X5', 'V9A7N2'])
