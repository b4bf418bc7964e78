/** Words about reassigned numbers: does the number still belong to the person who gave consent? */
type AskedAbout = {
  /** The day that was asked about, and what happened on it. */
  readonly since: string
  readonly basis: keyof typeof basisTexts
  /** Who was asked, and the release of its data. */
  readonly asked: string
  readonly release: string
}

const basisTexts = { consent: 'the consent', 'last-contact': 'the last contact' } as const

const format = ({ since, basis, asked, release }: AskedAbout) =>
  `${since}, the day of ${basisTexts[basis]} (${asked}, release of ${release})`

export const reassignedWords = {
  'number-reassigned': (about: AskedAbout) =>
    `the number was permanently disconnected on or after ${format(about)}`,
  'out-of-service': 'the line is out of service ({asked})',
  'not-reassigned': (about: AskedAbout) => `not disconnected since ${format(about)}`,
  'safe-harbor': 'safe harbor',
  'no-source-of-reassigned': 'not asked: no source of reassigned numbers is configured',
  'no-data-of-canada':
    'no data: the national database has no numbers of Canada, and no source has data on this one',
  'no-data-since': 'no data: no source has data on the number since {since}',
  'data-before-release': 'no data: the newest data are of {asOf}, before the release of {release}',
  'no-release':
    'no data: the calling rules do not say when the newest data are released: no row of reassignedReleases is in force',
  'person-day-unknown': 'not asked: it is not known when the person had the number',
  'reassigned-unreachable': 'no source of reassigned numbers could answer',
  'limits-still-apply': 'frequency limits still apply despite the permission record',
} as const
