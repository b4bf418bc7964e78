/**
 * Matches the name of a rate center, often truncated to ten letters, with the names of places.
 * `prefix-zones.ts` decides which matching place determines the zone.
 */

/** Normalizes a name to upper-case letters without accents, with common words abbreviated. */
export function normalizeName(name: string): string {
  return name
    .normalize('NFD')
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
    .replaceAll('SAINTE', 'ST')
    .replaceAll('SAINT', 'ST')
    .replaceAll('MOUNT', 'MT')
    .replaceAll('FORT', 'FT')
}

/** Abbreviated endings of NANPA's ten-letter names, and their full forms. */
const endings: readonly (readonly [short: RegExp, long: string])[] = [
  [/VL$/, 'VILLE'],
  [/SPGS?$/, 'SPRINGS'],
  [/BCH$/, 'BEACH'],
  [/C(?:T)?Y$/, 'CITY'],
  [/HTS$/, 'HEIGHTS'],
  [/JCT$/, 'JUNCTION'],
  [/FLS$/, 'FALLS'],
  [/LK$/, 'LAKE'],
  [/PK$/, 'PARK'],
  [/RDG$/, 'RIDGE'],
  [/GRV$/, 'GROVE'],
  [/CTR$/, 'CENTER'],
  [/MTN$/, 'MOUNTAIN'],
]

/** Abbreviations that no rule can resolve, keyed by region and normalized name. */
const aliases: Readonly<Record<string, string>> = {
  'TN CHATTNOOGA': 'CHATTANOOGA',
  'MI SALTSTMARI': 'SAULTSTEMARIE',
  'SD HARISBGTEA': 'HARRISBURG',
  'SD BELLEFORCH': 'BELLEFOURCHE',
  'FL DFUNIAKSPG': 'DEFUNIAKSPRINGS',
  'TX TERMINAL': 'MIDLAND',
}

/**
 * The names in `places` that a rate center's name may mean: equal ones, otherwise those with the same
 * first ten letters, otherwise the shortest that it abbreviates.
 */
export function findMatchingNames(
  region: string,
  rateCentre: string,
  places: ReadonlySet<string>,
): readonly string[] {
  const plain = normalizeName(rateCentre)
  const name = aliases[`${region} ${plain}`] ?? plain
  if (name === '') return []
  const spellings = [name, ...expandEndings(name)].filter((spelling) => places.has(spelling))
  if (spellings.length > 0) return spellings
  const all = [...places]
  if (name.length >= 8) {
    const alike = all.filter((place) => place.slice(0, 10) === name.slice(0, 10))
    if (alike.length > 0) return alike
  }
  const abbreviated = all.filter((place) => isAbbreviationOf(name, place))
  const shortest = Math.min(...abbreviated.map((place) => place.length))
  return abbreviated.filter((place) => place.length === shortest)
}

function expandEndings(name: string): string[] {
  return endings
    .filter(([short]) => short.test(name))
    .map(([short, long]) => normalizeName(name.replace(short, long)))
}

/** Whether `name` is a prefix of `place`, or has a subset of its letters in order, with equal ends. */
function isAbbreviationOf(name: string, place: string): boolean {
  if (place.startsWith(name)) return true
  if (place[0] !== name[0] || place.at(-1) !== name.at(-1)) return false
  let at = 0
  for (const letter of place) if (letter === name[at]) at += 1
  return at === name.length
}
