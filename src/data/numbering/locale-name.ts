/**
 * Human-readable names for rate centers that NANPA names by a code, such as `NWYRCYZN01` for zone 1 of
 * New York City. All other rate centers are names of up to ten letters and are unchanged.
 */
import type { Place } from '../../domain/place.js'

/** A place followed by its zone: `ZN01`, `ZON1`, `Z5`, ` DA 01`, `236`, `236Z13`. */
const withZone = /^([A-Z]+?)(?: DA \d+|ZO?N?\d+|2\d\d(?:Z\d+)?)$/

/** California: four letters for a place, followed by a part of it: `SNJS WEST`. */
const withPart = /^([A-Z]{4}) [A-Z-]+$/

/** Names keyed by region and code. */
const names: Readonly<Record<string, string>> = {
  'CA BKFD': 'BAKERSFIELD',
  'CA BRBN': 'BURBANK',
  'CA CLFX': 'COLFAX',
  'CA CMTN': 'COMPTON',
  'CA LSAN': 'LOS ANGELES',
  'CA OKLD': 'OAKLAND',
  'CA PLDL': 'PALMDALE',
  'CA PLVL': 'PLACERVILLE',
  'CA PSBG': 'PITTSBURG',
  'CA PSDN': 'PASADENA',
  'CA PTLM': 'PETALUMA',
  'CA RSVL': 'ROSEVILLE',
  'CA SCRM': 'SACRAMENTO',
  'CA SNDG': 'SAN DIEGO',
  'CA SNFC': 'SAN FRANCISCO',
  'CA SNFN': 'SAN FERNANDO',
  'CA SNJS': 'SAN JOSE',
  'CA SNMN': 'SANTA MONICA',
  'CA VTVL': 'VICTORVILLE',
  'CA WTFR': 'WATERFORD',
  'DC WSHNGTN': 'WASHINGTON',
  'IL CHICGO': 'CHICAGO',
  'MD DAMASCS': 'DAMASCUS',
  'MD WATERLO': 'WATERLOO',
  'MD WSHNGTN': 'WASHINGTON',
  'MD WSNG': 'WASHINGTON',
  'MD WSNGTN': 'WASHINGTON',
  'NY NWYRCY': 'NEW YORK',
  'NY WSCHST': 'WESTCHESTER',
  'PA HARISBG': 'HARRISBURG',
  'PA PHLDLPH': 'PHILADELPHIA',
  'PA PHPHSB': 'PHILADELPHIA SUBURBAN',
  'PA PTGSBN': 'PITTSBURGH SUBURBAN',
  'PA PTTSBG': 'PITTSBURGH',
  'VA NRFOLK': 'NORFOLK',
  'VA NWPTNWS': 'NEWPORT NEWS',
  'VA WSNGTN': 'WASHINGTON',
  'WI MILWAUK': 'MILWAUKEE',
  'WV CHRLSTN': 'CHARLESTON',
  'WV HNTNGTN': 'HUNTINGTON',
  'WV PRKRSBG': 'PARKERSBURG',
  'WV WHELNG': 'WHEELING',
}

/** Formats the rate center of a number as a name. */
export function formatLocaleName(
  { candidates }: Pick<Place, 'candidates'>,
  rateCenter: string,
): string {
  const region = candidates[0]?.region
  const zoned = withZone.exec(rateCenter)?.[1]
  if (zoned !== undefined) return names[`${region} ${zoned}`] ?? zoned
  const parted = withPart.exec(rateCenter)?.[1]
  return (parted !== undefined && names[`${region} ${parted}`]) || rateCenter
}
