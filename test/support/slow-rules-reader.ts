/**
 * A second reader of the calling rules, for comparison with the one that decides. It is written from
 * the text of the YAML file alone, imports nothing of `src`, and walks through calendars instead of computing
 * dates. Local time comes from moment-timezone: luxon has only the zones of Node, which are older than the law.
 */
import moment from 'moment-timezone'
import { parse } from 'yaml'

interface Week {
  readonly monFri: string
  readonly sat: string
  readonly sun: string
}

interface HolidayUse extends Span {
  readonly key: string
}

interface Span {
  readonly from?: string
  readonly until?: string
}

/** A row alone, or a list of rows. */
type Rows<Row> = Row | readonly Row[]

interface Voice extends Span {
  readonly hours: Week
  readonly holidayHours?: string
  readonly holidays?: readonly (string | HolidayUse)[]
  readonly observedPolicy?: string
}

interface Months extends Span {
  readonly S: number
  readonly I: number
}

type History = readonly { readonly until: string; readonly hours: Week }[]

interface Baseline {
  readonly hours: Week
  readonly history?: History
  readonly ebr: Rows<Months>
}

interface Region {
  readonly country: 'US' | 'CA'
  readonly hours?: Week
  readonly history?: History
  readonly ebr?: Rows<Months>
  readonly holidays?: readonly (string | HolidayUse)[]
  readonly holidaysDisputed?: readonly (string | HolidayUse)[]
  readonly holidaysLimited?: readonly (string | HolidayUse)[]
  readonly observedPolicy?: string
  readonly automated?: Rows<Voice>
}

interface DateRule {
  readonly type: string
  readonly month: number
  readonly day: number
  readonly observed?: 'by-region' | 'never'
  readonly shift: Readonly<Record<string, number>>
  readonly weekday: string
  readonly nth: number
  readonly offset?: number
  readonly days: number
  readonly years?: 'every' | 'even'
}

type Shifts = readonly ('preceding-friday' | 'following-monday')[]

interface Purpose extends Span {
  readonly hours?: Week
  readonly regions?: Readonly<Record<string, Span & { readonly hours: Week }>>
  readonly machines: string
}

interface RulesFile {
  readonly baselines: Readonly<Record<'US' | 'CA', Baseline>>
  readonly defaults: { readonly disputedHolidays: string; readonly limitedHolidays: string }
  readonly observedPolicies: Readonly<Record<string, { saturday: Shifts; sunday: Shifts }>>
  readonly holidays: Readonly<Record<string, { readonly rule: DateRule }>>
  readonly purposes: Readonly<Record<string, Purpose>>
  readonly regions: Readonly<Record<string, Region>>
}

/** From a printed calendar. */
const easterSundays = [
  '2021-04-04',
  '2022-04-17',
  '2023-04-09',
  '2024-03-31',
  '2025-04-20',
  '2026-04-05',
  '2027-03-28',
  '2028-04-16',
  '2029-04-01',
  '2030-04-21',
  '2031-04-13',
]

/** The years that the reader can read, apart from the first and the last, which only reach over. */
const readableYears = { from: 2022, to: 2030 }

type CallKind = 'manual' | 'autodialed' | 'ai'

interface SlowCall {
  readonly region: string
  readonly kind: CallKind
  readonly purpose: string
}

export class SlowRulesReader {
  readonly #file: RulesFile
  /** Days without calls by region, and holidays of recorded voices, each as `YYYY-MM-DD`. */
  readonly #closed = new Map<string, ReadonlySet<string>>()
  readonly #voiceHolidays = new Map<Voice, ReadonlySet<string>>()

  constructor(text: string) {
    this.#file = parse(text)
  }

  get regions(): readonly string[] {
    return Object.keys(this.#file.regions)
  }

  /** Sales calls, and what else the file says that calls are for. */
  get purposes(): readonly string[] {
    return ['telemarketing', ...Object.keys(this.#file.purposes)]
  }

  /** Whether such a call may be placed where the clock shows this date and time, such as `20:00:00`. */
  mayCall(call: SlowCall, date: string, time: string): boolean {
    const { region: code, kind, purpose } = call
    const region = this.#file.regions[code]
    if (!region) return false
    const own = this.#file.purposes[purpose]
    if (!own && purpose !== 'telemarketing') return false
    const weekday = weekdayOf(date)
    if (own?.hours && isInForce(own, date)) {
      const here = own.regions?.[code]
      const hours = here && isInForce(here, date) ? here.hours : own.hours
      if (!isWithin(windowOf(hours, weekday), time)) return false
    } else {
      if (this.#closedDays(code, region).has(date)) return false
      const federal = this.#file.baselines[region.country]
      const { history, hours: latest = federal.hours } = region.hours ? region : federal
      const hours = history?.find(({ until }) => date <= until)?.hours ?? latest
      if (!isWithin(windowOf(hours, weekday), time)) return false
    }
    const voice = rowOf(region.automated, date)
    if (kind === 'manual' || !voice) return true
    if (own && own.machines === 'unlimited') return true
    if (!isWithin(windowOf(voice.hours, weekday), time)) return false
    if (!this.#holidaysOfVoice(voice).has(date)) return true
    return isWithin(voice.holidayHours ?? 'none', time)
  }

  /** Months for which a sale and an inquiry exempt a number there on a date. */
  ebrMonths(code: string, date: string): readonly [sale: number, inquiry: number] {
    const region = this.#file.regions[code]
    const federal = region && this.#file.baselines[region.country].ebr
    const { S, I } = rowOf(region?.ebr, date) ?? rowOf(federal, date) ?? { S: 0, I: 0 }
    return [S, I]
  }

  #closedDays(code: string, region: Region): ReadonlySet<string> {
    let days = this.#closed.get(code)
    if (!days) {
      const { disputedHolidays, limitedHolidays } = this.#file.defaults
      const uses = [...(region.holidays ?? [])]
      if (disputedHolidays === 'ban') uses.push(...(region.holidaysDisputed ?? []))
      if (limitedHolidays === 'ban') uses.push(...(region.holidaysLimited ?? []))
      days = this.#listDays(uses, region.observedPolicy)
      this.#closed.set(code, days)
    }
    return days
  }

  #holidaysOfVoice(voice: Voice): ReadonlySet<string> {
    let days = this.#voiceHolidays.get(voice)
    if (!days) {
      days = this.#listDays(voice.holidays ?? [], voice.observedPolicy)
      this.#voiceHolidays.set(voice, days)
    }
    return days
  }

  #listDays(uses: readonly (string | HolidayUse)[], policyName: string | undefined) {
    const policy = this.#file.observedPolicies[policyName ?? '']
    const days = new Set<string>()
    for (const use of uses) {
      const { key, ...span } = typeof use === 'string' ? { key: use } : use
      const rule = this.#file.holidays[key]?.rule
      if (!rule) throw new Error(`the file has no holiday '${key}'`)
      for (let year = readableYears.from - 1; year <= readableYears.to + 1; year += 1) {
        const date = dateOf(rule, year)
        if (date === undefined || !isInForce(span, date)) continue
        days.add(date)
        if (rule.type !== 'fixed' || rule.observed !== 'by-region') continue
        const weekday = weekdayOf(date)
        const shifts =
          weekday === 'sat' ? policy?.saturday : weekday === 'sun' ? policy?.sunday : []
        for (const shift of shifts ?? []) {
          days.add(shift === 'preceding-friday' ? walk(date, -1, 'fri') : walk(date, 1, 'mon'))
        }
      }
    }
    return days
  }
}

function isInForce({ from, until }: Span, date: string): boolean {
  return (from ?? date) <= date && date <= (until ?? date)
}

function rowOf<Row extends Span>(rows: Rows<Row> | undefined, date: string): Row | undefined {
  return ([rows ?? []].flat() as Row[]).find((row) => isInForce(row, date))
}

function windowOf(week: Week, weekday: string): string {
  if (weekday === 'sat') return week.sat
  return weekday === 'sun' ? week.sun : week.monFri
}

/** The start second is inside, the end second is not. */
function isWithin(window: string, time: string): boolean {
  if (window === 'none') return false
  const [start = '', end = ''] = window.split('-')
  return `${start}:00` <= time && time < `${end}:00`
}

const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const weekdays = new Map<string, string>()

function weekdayOf(date: string): string {
  const known = weekdays.get(date)
  if (known !== undefined) return known
  const name = weekdayNames[moment.utc(date).day()] ?? ''
  weekdays.set(date, name)
  return name
}

function addDays(date: string, days: number): string {
  return moment.utc(date).add(days, 'days').format('YYYY-MM-DD')
}

/** The next such weekday in one direction, the date itself left out. */
function walk(date: string, step: 1 | -1, weekday: string): string {
  let at = addDays(date, step)
  while (weekdayOf(at) !== weekday) at = addDays(at, step)
  return at
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

function dateOf(rule: DateRule, year: number): string | undefined {
  const written = `${year}-${twoDigits(rule.month)}-${twoDigits(rule.day)}`
  switch (rule.type) {
    case 'fixed':
      return written
    case 'fixed-shifted':
      return addDays(written, rule.shift[weekdayOf(written)] ?? Number.NaN)
    case 'nth-weekday':
      return addDays(nthWeekday(rule, year), rule.offset ?? 0)
    case 'easter-offset': {
      const easter = easterSundays.find((date) => date.startsWith(String(year)))
      if (easter === undefined) throw new Error(`the reader does not know Easter ${year}`)
      return addDays(easter, rule.days)
    }
    case 'weekday-before':
      return walk(written, -1, rule.weekday)
    case 'weekday-after':
      return rule.years === 'even' && year % 2 === 1 ? undefined : walk(written, 1, rule.weekday)
    default:
      throw new Error(`the reader does not know holidays of type '${rule.type}'`)
  }
}

/** Writes down all such weekdays of the month, and takes the nth. */
function nthWeekday({ month, weekday, nth }: DateRule, year: number): string {
  const prefix = `${year}-${twoDigits(month)}-`
  const days: string[] = []
  for (let date = `${prefix}01`; date.startsWith(prefix); date = addDays(date, 1)) {
    if (weekdayOf(date) === weekday) days.push(date)
  }
  return days.at(nth === -1 ? -1 : nth - 1) ?? ''
}
