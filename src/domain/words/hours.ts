/** Words about calling hours: the hours of a place on a local day, why it is closed, and how the place was found. */
import { formatWithWeekday, parseDay } from '../time/dates.js'

const placeTexts = {
  'postal-code': 'place by postal code',
  prefix: 'place by prefix',
  'area-code': 'place by area code alone',
} as const

const statusTexts = {
  OK: 'the hours are known',
  INVALID_PHONE: 'the number is not one of the North American plan',
  INVALID_PROJECT: 'the account has no such project or campaign',
  INVALID_DATE: 'the time is too far away',
  TOLL_FREE: 'toll-free number',
  UNKNOWN_NXX: 'area code or exchange not in service',
} as const

type LocalDay = {
  readonly region: string
  readonly name: string
  readonly zone: string
  readonly day: string
}

export const hoursWords = {
  'local-day': ({ region, name, zone, day }: LocalDay) =>
    `${name} (${region}), ${zone}, ${formatWithWeekday(parseDay(day) ?? Number.NaN)}`,
  /** Local times, such as `08:00` and `21:00`. */
  'hours-open': 'calls {from}-{to}',
  'no-hours': 'no calls on this day',
  'project-hours': 'project hours',
  'law-of-hours': '{basis} rule: {citation}',
  /** The last day of the row of the calling rules. */
  'law-of-hours-until': '{basis} rule: {citation} (until {until})',
  'within-law': 'project hours within the law',
  'hours-of-recorded-voice': 'recorded voice: {citation}',
  'closed-day': 'no calls on {name}',
  'closed-by-operator': 'proclaimed day entered by the operator',
  emergency: '{region}, {zone}: no calls during {name}',
  'emergency-rule': 'emergency rule: {citation}',
  'emergency-by-operator': 'emergency rule: closed by the operator',
  'no-calling-rules': "no calling rules are known for region '{region}'",
  'no-place': 'no place is known for the number',
  'all-places': 'all {places} possible places must permit',
  'postal-code-unplaced': 'the postal code has no known place',
  'postal-code-without-hours':
    'postalCode has no known place (military codes never have one), so the lawful hours are unknown; ' +
    'send the postal code of where the person is',
  'place-by': ({ source }: { readonly source: keyof typeof placeTexts }) => placeTexts[source],
  'permitted-by-provider': 'permitted for another {seconds} s, according to the provider',
  'closed-by-provider': 'outside the calling window, according to the provider',
  /** A status of the endpoint for calling hours; its message follows as a quotation. */
  'hours-status': ({ status }: { readonly status: keyof typeof statusTexts }) =>
    statusTexts[status],
} as const
