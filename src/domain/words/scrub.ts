/** Words about the letter of a scrub row (spec, "Scrub") and the records behind it. */

const letterTexts = {
  C: 'on no do-not-call list, no consent on file',
  X: 'list match overridden by an industry exemption',
  E: 'relationship or consent on file, on no do-not-call list',
  O: 'relationship or consent overrides a list match',
  R: 'relationship has expired, on no do-not-call list',
  W: 'wireless, on no do-not-call list, no consent on file',
  Y: 'VoIP, on no do-not-call list, no consent on file',
  G: 'wireless or VoIP with a relationship or consent, on no do-not-call list',
  H: 'wireless or VoIP, relationship or consent overrides a list match',
  L: 'wireless in a state that bans sales calls to wireless numbers',
  F: 'wireless in a state that bans sales calls to wireless numbers, relationship on file',
  V: 'wireless in a state that bans sales calls to wireless numbers, relationship and list match',
  D: 'on a do-not-call or litigator list without consent',
  P: 'on the internal do-not-call list',
  B: 'not covered by an imported national list',
  I: 'area code or exchange not in service',
  M: 'not ten digits',
  S: 'disconnected',
  T: 'high-cost telephone company',
} as const

const problemTexts = {
  stale: 'the list that covers it is too old',
  unreadable: 'the list that covers it cannot be read',
} as const

const recordNames = {
  S: 'sale',
  I: 'inquiry',
  P: 'permission',
  T: 'trial',
} as const
type RecordType = keyof typeof recordNames

/** Of a relationship or consent record, by its type. */
export const nameRecord = (type: RecordType): string => recordNames[type]

const onFile = (type: RecordType) => `the ${recordNames[type]} record on file`

type ScrubLetter = {
  readonly letter: keyof typeof letterTexts
  /** The parts of the row's `Reason`, such as `National (USA) 2024-01-31`; absent if they say nothing. */
  readonly match?: string | undefined
  readonly problem?: keyof typeof problemTexts | undefined
  /** An opt-out has ended the record on file. */
  readonly recordEnded?: true | undefined
}

type RecordRule = {
  readonly record: RecordType
  readonly region: string
  /** Of the row that decides; absent if there is none. */
  readonly citation?: string | undefined
}

const formatRule = ({ region, citation = 'no rule is known' }: RecordRule) =>
  `${region}, ${citation}`

type DatedRecord<Rest = unknown> = Rest & { readonly record: RecordType; readonly on: string }

export const scrubWords = {
  'scrub-letter': ({ letter, match, problem, recordEnded }: ScrubLetter) => {
    const ofLetter = letter === 'R' && recordEnded ? 'on no do-not-call list' : letterTexts[letter]
    const text = problem === undefined ? ofLetter : problemTexts[problem]
    return `${text} (scrub result ${letter}${match === undefined ? '' : `: ${match}`})`
  },
  'not-at-this-hour': 'not at this hour',
  'lists-do-not-forbid': 'do-not-call lists do not forbid {purpose} calls',
  'wireless-ban': 'ban: {region}, {citation}',
  'opt-out-ended-record': ({ record, on }: DatedRecord) =>
    `the opt-out of ${on} ended ${onFile(record)}`,
  'opt-out-still-applies': ({ record, on }: DatedRecord) =>
    `${onFile(record)} was stored with a key that may not lift opt-outs, or only a second person may, so the opt-out of ${on} still applies`,
  'record-never-exempts': (rule: RecordRule) =>
    `${onFile(rule.record)} never exempts: ${formatRule(rule)}`,
  'record-exempts-until': (rule: DatedRecord<RecordRule>) =>
    `${onFile(rule.record)} exempts until ${rule.on}: ${formatRule(rule)}`,
  'record-exempts-no-longer': (rule: DatedRecord<RecordRule>) =>
    `${onFile(rule.record)} no longer exempts since ${rule.on}: ${formatRule(rule)}`,
  'line-unknown': 'line class unknown, treated as wireless',
  'line-in-doubt':
    'line class unknown, treated as wireless: a list of ported numbers is too old or cannot be read',
} as const
