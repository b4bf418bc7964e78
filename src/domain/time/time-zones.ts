/**
 * Local time of the called party, from packaged IANA rules. Node's own `Intl` is not used, since its
 * data lags behind the law: British Columbia, Alberta and Manitoba changed their clocks in 2026
 * (IANA 2026b to 2026e). The only file that uses the packaged rules.
 */
import { createRequire } from 'node:module'
import type moment from 'moment-timezone'
import type { Instant, LocalDay } from './clock.js'
import { formatInstant, msPerDay } from './dates.js'

/** Periods of constant offset: each from the previous `until` up to its own, the last without an end. */
interface ZoneRules {
  readonly untils: readonly number[]
  /** Minutes east of UTC. */
  readonly offsets: readonly number[]
}

interface OffsetChange {
  readonly at: Instant
  /** Whether the clock moves forward. */
  readonly isForward: boolean
}

/** {@link getTimeZone} returns one instance per name. */
class TimeZone {
  readonly #rules: ZoneRules
  #from = Number.POSITIVE_INFINITY
  #until = Number.NEGATIVE_INFINITY
  #index = 0

  constructor(rules: ZoneRules) {
    this.#rules = rules
  }

  /** Minutes east of UTC. */
  offset(at: Instant): number {
    return this.#rules.offsets[this.#find(at)] ?? 0
  }

  /** Changes of the offset after `after`, up to and including `until`, in order. */
  findOffsetChanges(after: Instant, until: Instant): readonly OffsetChange[] {
    const { untils, offsets } = this.#rules
    return untils.flatMap((at, index) => {
      const [previous, next] = [offsets[index], offsets[index + 1]]
      if (at <= after || at > until || previous === undefined || next === undefined) return []
      return previous === next ? [] : [{ at, isForward: next > previous }]
    })
  }

  /** Remembers the last period, which fits almost every lookup, since decisions are about the present. */
  #find(at: Instant): number {
    if (at >= this.#from && at < this.#until) return this.#index
    const { untils } = this.#rules
    let low = 0
    let high = untils.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (at < (untils[middle] ?? Number.POSITIVE_INFINITY)) high = middle
      else low = middle + 1
    }
    this.#index = low
    this.#from = untils[low - 1] ?? Number.NEGATIVE_INFINITY
    this.#until = untils[low] ?? Number.POSITIVE_INFINITY
    return low
  }
}

/** The data without the library, which would load moment as well: a tenth of the time of a start. */
const packed: Parameters<typeof moment.tz.load>[0] = createRequire(import.meta.url)(
  'moment-timezone/data/packed/latest.json',
)
const zoneCache = new Map<string, TimeZone>()

/** The zone of an IANA name. Throws a `RangeError` for an unknown name. */
export function getTimeZone(name: string): TimeZone {
  const known = zoneCache.get(name)
  if (known) return known
  const rules = findRules(name)
  if (!rules) throw new RangeError(`'${name}' is not a time zone of the packaged IANA rules`)
  const zone = new TimeZone(rules)
  zoneCache.set(name, zone)
  return zone
}

function findRules(name: string): ZoneRules | undefined {
  const target = packed.links.find((link) => link.endsWith(`|${name}`))?.split('|')[0] ?? name
  const zone = packed.zones.find((one) => one.startsWith(`${target}|`))
  return zone === undefined ? undefined : unpackRules(zone)
}

/**
 * Unpacks `name|abbreviations|offsets|indices|untils|population`, where the offset of the period `n` is the
 * one with the number of the `n`th index. Offsets are minutes west of UTC; an until is minutes after the one
 * before it, the first after 1970.
 */
function unpackRules(zone: string): ZoneRules {
  const [, , offsets = '', indices = '', untils = ''] = zone.split('|')
  const minutesWest = offsets.split(' ').map(parseBase60)
  let until = 0
  return {
    offsets: [...indices].map((index) => -(minutesWest[parseBase60(index)] ?? 0)),
    untils: [
      ...untils
        .split(' ')
        .filter(Boolean)
        .map((minutes) => {
          until = Math.round(until + parseBase60(minutes) * 60_000)
          return until
        }),
      Number.POSITIVE_INFINITY,
    ],
  }
}

const base60Digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX'

function parseBase60(text: string): number {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const digits = [...whole, ...fraction].map((digit) => base60Digits.indexOf(digit))
  const value = digits.reduce((sum, digit) => sum * 60 + digit, 0) / 60 ** fraction.length
  return text.startsWith('-') ? -value : value
}

/** A wall-clock reading: calendar day, seconds since local midnight, minutes east of UTC. */
export interface LocalTime {
  readonly day: LocalDay
  readonly secondOfDay: number
  readonly offsetMinutes: number
}

export function toLocalTime(zoneName: string, at: Instant): LocalTime {
  const offsetMinutes = getTimeZone(zoneName).offset(at)
  const local = at + offsetMinutes * 60_000
  const day = Math.floor(local / msPerDay)
  return { day, secondOfDay: Math.floor((local - day * msPerDay) / 1000), offsetMinutes }
}

/**
 * The instant of a local second of a day (86,400 is the next midnight). A local time that the clock
 * skips uses the offset before the gap. For a local time that occurs twice, `twice` selects which one:
 * opening times use the later, closing times the earlier.
 */
export function toInstant(
  zoneName: string,
  day: LocalDay,
  secondOfDay: number,
  twice: 'earlier' | 'later',
): Instant {
  const rules = getTimeZone(zoneName)
  const wall = day * msPerDay + secondOfDay * 1000
  const before = wall - rules.offset(wall - msPerDay) * 60_000
  const after = wall - rules.offset(wall + msPerDay) * 60_000
  const fits = [before, after].filter((at) => at + rules.offset(at) * 60_000 === wall)
  if (fits.length === 0) return Math.max(before, after)
  return twice === 'earlier' ? Math.min(...fits) : Math.max(...fits)
}

/** Shown by `callgate check` and the startup log. */
export function getIanaVersion(): string {
  return packed.version
}

const newestRuleProbe = {
  zone: 'America/Winnipeg',
  at: Date.UTC(2026, 11, 15),
  offsetMinutes: -300,
}

/**
 * Throws when the rules are older than IANA 2026e, since Canadian windows would be an hour off in
 * winter. Manitoba's move to -05:00 all year is the newest change that windows depend on.
 */
export function assertZoneRulesAreCurrent(): void {
  const offset = getTimeZone(newestRuleProbe.zone).offset(newestRuleProbe.at)
  if (offset === newestRuleProbe.offsetMinutes) return
  throw new Error(
    `zone rules ${getIanaVersion()} are too old: ${newestRuleProbe.zone} at ${formatInstant(newestRuleProbe.at)} is ` +
      `${offset / 60} h from UTC, must be ${newestRuleProbe.offsetMinutes / 60} (IANA 2026e or newer)`,
  )
}
