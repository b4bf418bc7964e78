/** The valid names of number lists: those that checks use, and `custom-` for all others. */
import { mainAccountId } from '../../domain/caller.js'
import type { Country } from '../../domain/place.js'
import { findRegionCountry } from '../../law/area-codes.js'

/**
 * The name of a list among those of all accounts: `acme/us-dnc`. A list of account main, the operator's, has no account in
 * front.
 */
export function toAccountListName(accountId: string, list: string): string {
  return accountId === mainAccountId ? list : `${accountId}/${list}`
}

/**
 * Whether a problem is one of a list: of the list itself, of all lists (`undefined`), of those of an account (`acme/`), or of those of all
 * accounts but main (`/`).
 */
export function affectsList(problemName: string | undefined, name: string): boolean {
  if (problemName === undefined || problemName === name) return true
  if (problemName === '/') return name.includes('/')
  return problemName.endsWith('/') && name.startsWith(problemName)
}

/** The account that a list belongs to, and the list as given to `callgate import list`. */
export function splitListName(name: string): { readonly owner: string; readonly list: string } {
  const end = name.indexOf('/')
  return end < 0
    ? { owner: mainAccountId, list: name }
    : { owner: name.slice(0, end), list: name.slice(end + 1) }
}

/** In the place of a list: every list that checks use. */
export const allLists = 'all'

/** In the place of a list: the logins of providers in the settings, which are those of account main. */
export const providerLogins = 'provider'

/** What an account uses besides its own: the account that each is of, by list, {@link allLists} or {@link providerLogins}. */
export type ListOwners = ReadonlyMap<string, string>

/** Whose lists a question is about. */
export interface ListUser {
  readonly accountId: string
  readonly listOwners: ListOwners
}

/**
 * The names, among the lists of all accounts, of the list that applies to the account's calls: the first one that there is. Its own applies even
 * if it cannot be used.
 */
export function findApplicableLists(
  list: string,
  { accountId, listOwners }: ListUser,
): readonly string[] {
  const own = toAccountListName(accountId, list)
  const owner = listOwners.get(list) ?? listOwners.get(allLists)
  return owner === undefined ? [own] : [own, toAccountListName(owner, list)]
}

/** Whether the account may ask providers with the login of account main, by a right of its own or to everything. */
export function canUseProviders(listOwners: ListOwners): boolean {
  return (listOwners.get(providerLogins) ?? listOwners.get(allLists)) === mainAccountId
}

/** Names of the lists, as given to `callgate import list`. */
export const nationalListNames: Readonly<Record<Country, string>> = {
  US: 'us-dnc',
  CA: 'canada-dnc',
}
export const litigatorListName = 'litigators'
/** Lists of numbers ported from the other kind of line, by their current kind. */
export const portedListNames = {
  wireless: 'ported-wireless',
  wireline: 'ported-wireline',
} as const

/** The name of a region's own do-not-call list. */
export function toStateListName(region: string): string {
  return `state-dnc-${region.toLowerCase()}`
}

const plainNames: ReadonlySet<string> = new Set([
  ...Object.values(nationalListNames),
  litigatorListName,
  ...Object.values(portedListNames),
])
const statePattern = /^state-dnc-([a-z]{2})$/
const customPattern = /^custom-[a-z0-9]+(?:-[a-z0-9]+)*$/
const maxNameLength = 60
/** As of the ids of accounts. */
const ownerPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/

/** Whether a text is a valid name of a list and so of its file. */
export function isListName(text: string): boolean {
  return (
    plainNames.has(text) ||
    isStateList(text) ||
    (customPattern.test(text) && text.length <= maxNameLength)
  )
}

/** Whether a text is a valid name of a list among those of all accounts, and so a path that stays in their folder. */
export function isAccountListName(text: string): boolean {
  const { owner, list } = splitListName(text)
  return ownerPattern.test(owner) && isListName(list)
}

/** Whether a check uses the list of this name, of any account; never true for `custom-` lists. */
export function isUsedByChecks(name: string): boolean {
  const { list } = splitListName(name)
  return plainNames.has(list) || isStateList(list)
}

/** Whether a list without stated area codes covers every number. */
export function coversAllByDefault(name: string): boolean {
  return name === litigatorListName || isStateList(name) || isPortedList(name)
}

/** Whether a list contains ported numbers, whose files may contain ranges. */
export function isPortedList(name: string): boolean {
  return Object.values<string>(portedListNames).includes(name)
}

/** Of account main, whose state lists all accounts need. */
export function isStateList(name: string): boolean {
  const region = statePattern.exec(name)?.[1]
  return region !== undefined && findRegionCountry(region.toUpperCase()) !== undefined
}

/** The command that imports a list, without its files. */
export function formatImportCommand(name: string): string {
  const { owner, list } = splitListName(name)
  const region = statePattern.exec(list)?.[1]?.toUpperCase()
  const feed = isPortedList(list) ? 'ported' : feedNames.has(list) ? list : `list ${list}`
  const account = owner === mainAccountId ? '' : ` --account ${owner}`
  return `callgate import ${region === undefined ? feed : `state-dnc --state ${region}`}${account}`
}

/** Lists with an import of their own, by their names. */
const feedNames: ReadonlySet<string> = new Set([
  ...Object.values(nationalListNames),
  litigatorListName,
])

/** The rule for list names, with the name that was probably meant. */
export function describeNameRule(text: string): string {
  const meant = suggestName(text)
  const rule =
    'must be us-dnc, canada-dnc, litigators, state-dnc-<two letters of a state or province>, ' +
    'ported-wireless, ported-wireline, ' +
    `or custom-<lower case letters, digits, hyphens> (at most ${maxNameLength} characters) for a ` +
    'list that no check uses'
  return meant === undefined ? rule : `${rule}; use ${meant}`
}

/** Words in a name that identify neither a country nor a region. */
const ignoredWords = new Set(['state', 'dnc', 'list', 'registry', 'do', 'not', 'call', 'of'])

function suggestName(text: string): string | undefined {
  const words: readonly string[] = text.toLowerCase().match(/[a-z0-9]+/g) ?? []
  const name = words.join('-')
  if (isListName(name)) return name
  if (name.includes('litig')) return 'litigators'
  const ported = Object.values(portedListNames).find((one) => words.includes(one.slice(7)))
  if (words.includes('ported') && ported) return ported
  const place = words.filter((word) => !ignoredWords.has(word)).join('')
  const letters = regionLetters.get(place) ?? place
  return nationalNames.get(place) ?? [`state-dnc-${letters}`].find(isStateList)
}

const nationalNames: ReadonlyMap<string, string> = new Map([
  ...['us', 'usa', 'usdnc', 'national', 'federal', 'ftc'].map((word) => [word, 'us-dnc'] as const),
  ...['canada', 'canadian', 'dncl'].map((word) => [word, 'canada-dnc'] as const),
])

/** Names of regions, without blanks and filler words, to their codes; used only for suggestions. */
const regionLetters: ReadonlyMap<string, string> = new Map(
  (
    'al alabama,ak alaska,az arizona,ar arkansas,ca california,co colorado,ct connecticut,' +
    'de delaware,dc districtcolumbia,fl florida,ga georgia,hi hawaii,id idaho,il illinois,' +
    'in indiana,ia iowa,ks kansas,ky kentucky,la louisiana,me maine,md maryland,' +
    'ma massachusetts,mi michigan,mn minnesota,ms mississippi,mo missouri,mt montana,' +
    'ne nebraska,nv nevada,nh newhampshire,nj newjersey,nm newmexico,ny newyork,' +
    'nc northcarolina,nd northdakota,oh ohio,ok oklahoma,or oregon,pa pennsylvania,' +
    'ri rhodeisland,sc southcarolina,sd southdakota,tn tennessee,tx texas,ut utah,vt vermont,' +
    'va virginia,wa washington,wv westvirginia,wi wisconsin,wy wyoming,pr puertorico,' +
    'vi usvirginislands,gu guam,as americansamoa,mp northernmarianaislands,ab alberta,' +
    'bc britishcolumbia,mb manitoba,nb newbrunswick,nl newfoundlandandlabrador,ns novascotia,' +
    'nt northwestterritories,nu nunavut,on ontario,pe princeedwardisland,qc quebec,' +
    'sk saskatchewan,yt yukon'
  )
    .split(',')
    .map((row) => [row.slice(3), row.slice(0, 2)]),
)
