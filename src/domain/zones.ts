/**
 * Local time in the called party's place, from packaged IANA rules.
 * The rules come from a package and not from Node's own `Intl`, whose data lags behind the law:
 * British Columbia, Alberta and Manitoba changed their clocks in 2026 (IANA 2026b to 2026e).
 * The only file that knows the packaged rules; the only users of their shape are below.
 */
import { Zone } from 'luxon'
import moment from 'moment-timezone'
import type { Instant, LocalDay } from './clock.js'
import { formatInstant } from './clock.js'

/** One stretch of constant offset: from the previous `until` up to this one. */
interface Rules {
  readonly untils: readonly number[]
  /** Minutes east of UTC. */
  readonly offsets: readonly number[]
  readonly abbreviations: readonly string[]
}

export interface OffsetChange {
  readonly at: Instant
  /** The clock jumps ahead. */
  readonly later: boolean
}

/** A luxon zone over the packaged rules; {@link zone} gives the one instance per name. */
export class PackagedZone extends Zone {
  readonly #name: string
  readonly #rules: Rules
  #from = Number.POSITIVE_INFINITY
  #until = Number.NEGATIVE_INFINITY
  #index = 0

  constructor(name: string, rules: Rules) {
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
    const two = (value: number) => String(value).padStart(2, '0')
    if (format === 'techie') return `${sign}${two(hours)}${two(rest)}`
    if (format === 'narrow') return `${sign}${hours}${rest > 0 ? `:${two(rest)}` : ''}`
    return `${sign}${two(hours)}:${two(rest)}`
  }

  override equals(other: Zone): boolean {
    return other instanceof PackagedZone && other.name === this.#name
  }

  /** Changes of the offset after an instant, up to and with another, in order. */
  changesWithin(after: Instant, until: Instant): readonly OffsetChange[] {
    const { untils, offsets } = this.#rules
    return untils.flatMap((at, index) => {
      const [before, then] = [offsets[index], offsets[index + 1]]
      if (at <= after || at > until || before === undefined || then === undefined) return []
      return before === then ? [] : [{ at, later: then > before }]
    })
  }

  /** Decisions cluster around now, so the last stretch answers nearly every question. */
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

const zones = new Map<string, PackagedZone>()

/** The zone of an IANA name. Throws a `RangeError` for a name the packaged rules do not have. */
export function zone(name: string): PackagedZone {
  const known = zones.get(name)
  if (known) return known
  const packed = moment.tz.zone(name)
  if (!packed) throw new RangeError(`'${name}' is not a zone of the packaged IANA rules`)
  const made = new PackagedZone(name, {
    untils: packed.untils.map((until) => until ?? Number.POSITIVE_INFINITY),
    offsets: packed.offsets.map((west) => -west),
    abbreviations: packed.abbrs,
  })
  zones.set(name, made)
  return made
}

/** A wall-clock reading: calendar day, seconds since local midnight, minutes east of UTC. */
export interface LocalTime {
  readonly day: LocalDay
  readonly secondOfDay: number
  readonly offsetMinutes: number
}

export function localTime(zoneName: string, at: Instant): LocalTime {
  const offsetMinutes = zone(zoneName).offset(at)
  const local = at + offsetMinutes * 60_000
  const day = Math.floor(local / 86_400_000)
  return { day, secondOfDay: Math.floor((local - day * 86_400_000) / 1000), offsetMinutes }
}

/**
 * The instant at which a zone's clock reads a second of a day (86,400 is the next midnight).
 * A reading that the clock skips is taken with the offset from before the gap. A reading that comes
 * twice gives the first or the second, as asked: an opening takes the later, a closing the earlier.
 */
export function instantOf(
  zoneName: string,
  day: LocalDay,
  secondOfDay: number,
  twice: 'earlier' | 'later',
): Instant {
  const rules = zone(zoneName)
  const wall = day * 86_400_000 + secondOfDay * 1000
  const before = wall - rules.offset(wall - 86_400_000) * 60_000
  const after = wall - rules.offset(wall + 86_400_000) * 60_000
  const fits = [before, after].filter((at) => at + rules.offset(at) * 60_000 === wall)
  if (fits.length === 0) return Math.max(before, after)
  return twice === 'earlier' ? Math.min(...fits) : Math.max(...fits)
}

/** Shown by `callgate check` and the startup log. */
export function ianaVersion(): string {
  return moment.tz.dataVersion
}

const proof = { zone: 'America/Winnipeg', at: Date.UTC(2026, 11, 15), offsetMinutes: -300 }

/**
 * Refuses rules older than IANA 2026e, with which Canadian windows would be an hour off in winter.
 * Manitoba's move to -05:00 all year is the newest change a window depends on.
 */
export function assertZoneRulesAreCurrent(): void {
  const seen = zone(proof.zone).offset(proof.at)
  if (seen === proof.offsetMinutes) return
  throw new Error(
    `zone rules ${ianaVersion()} are too old: ${proof.zone} at ${formatInstant(proof.at)} is ` +
      `${seen / 60} h from UTC, must be ${proof.offsetMinutes / 60} (IANA 2026e or newer)`,
  )
}
