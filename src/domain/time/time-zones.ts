/**
 * Local time of the called party, from packaged IANA rules. Node's own `Intl` is not used, since its
 * data lags behind the law: British Columbia, Alberta and Manitoba changed their clocks in 2026
 * (IANA 2026b to 2026e). The only file that uses the packaged rules.
 */
import { Zone } from 'luxon'
import moment from 'moment-timezone'
import type { Instant, LocalDay } from './clock.js'
import { formatInstant, msPerDay } from './dates.js'

/** Periods of constant offset: each from the previous `until` up to its own. */
interface ZoneRules {
  readonly untils: readonly number[]
  /** Minutes east of UTC. */
  readonly offsets: readonly number[]
  readonly abbreviations: readonly string[]
}

export interface OffsetChange {
  readonly at: Instant
  /** Whether the clock moves forward. */
  readonly isForward: boolean
}

/** A luxon zone with the packaged rules; {@link getTimeZone} returns one instance per name. */
export class PackagedZone extends Zone {
  readonly #name: string
  readonly #rules: ZoneRules
  #from = Number.POSITIVE_INFINITY
  #until = Number.NEGATIVE_INFINITY
  #index = 0

  constructor(name: string, rules: ZoneRules) {
    super()
    this.#name = name
    this.#rules = rules
  }

  override get type(): string {
    return 'packaged-iana'
  }

  override get name(): string {
    return this.#name
  }

  override get isUniversal(): boolean {
    return false
  }

  override get isValid(): boolean {
    return true
  }

  override offset(at: Instant): number {
    return this.#rules.offsets[this.#find(at)] ?? 0
  }

  override offsetName(at: Instant): string {
    return this.#rules.abbreviations[this.#find(at)] ?? ''
  }

  override formatOffset(at: Instant, format: 'narrow' | 'short' | 'techie'): string {
    const minutes = this.offset(at)
    const sign = minutes < 0 ? '-' : '+'
    const hours = Math.trunc(Math.abs(minutes) / 60)
    const rest = Math.abs(minutes) % 60
    const twoDigits = (value: number) => String(value).padStart(2, '0')
    if (format === 'techie') return `${sign}${twoDigits(hours)}${twoDigits(rest)}`
    if (format === 'narrow') return `${sign}${hours}${rest > 0 ? `:${twoDigits(rest)}` : ''}`
    return `${sign}${twoDigits(hours)}:${twoDigits(rest)}`
  }

  override equals(other: Zone): boolean {
    return other instanceof PackagedZone && other.name === this.#name
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

const zoneCache = new Map<string, PackagedZone>()

/** The zone of an IANA name. Throws a `RangeError` for an unknown name. */
export function getTimeZone(name: string): PackagedZone {
  const known = zoneCache.get(name)
  if (known) return known
  const packed = moment.tz.zone(name)
  if (!packed) throw new RangeError(`'${name}' is not a time zone of the packaged IANA rules`)
  const zone = new PackagedZone(name, {
    untils: packed.untils.map((until) => until ?? Number.POSITIVE_INFINITY),
    offsets: packed.offsets.map((west) => -west),
    abbreviations: packed.abbrs,
  })
  zoneCache.set(name, zone)
  return zone
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
  return moment.tz.dataVersion
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
