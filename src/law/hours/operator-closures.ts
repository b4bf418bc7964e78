/**
 * Closures that operators enter by hand, since neither has a feed: days that a governor proclaims, and declared
 * emergencies.
 */
import type { CandidatePlace } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { parseDay } from '../../domain/time/dates.js'

/** A local day on which a region allows no calls. */
export interface ProclaimedDay {
  readonly region: string
  /** `YYYY-MM-DD` on the region's calendar. */
  readonly date: string
  readonly name: string
}

/** A ban in a region while a declared emergency lasts. */
export interface Emergency {
  readonly region: string
  readonly from: Instant
  /** The first instant after the emergency; absent while no end is known. */
  readonly until?: Instant | undefined
  /** Prefixes of the postal codes it applies to; absent or empty means the whole region. */
  readonly postalPrefixes?: readonly string[] | undefined
  readonly name: string
  /** If absent, the region's own emergency law is cited. */
  readonly citation?: string | undefined
}

/** A candidate place, with the postal code that it was found by, if any. */
export interface CalledPlace extends CandidatePlace {
  readonly postalCode?: string | undefined
}

/** Checked: see `prepareClosures` in `service/calling-hours/`. */
export interface EnteredClosures {
  readonly proclaimedDays: readonly ProclaimedDay[]
  readonly emergencies: readonly Emergency[]
}

export class OperatorClosures {
  /** By region. */
  readonly emergencies: ReadonlyMap<string, readonly Emergency[]>
  /** Names by region and day. */
  readonly #days: ReadonlyMap<string, string>

  constructor({ proclaimedDays, emergencies }: EnteredClosures) {
    this.#days = new Map(
      proclaimedDays.map(({ region, date, name }) => [`${region} ${parseDay(date)}`, name]),
    )
    const byRegion = new Map<string, Emergency[]>()
    for (const emergency of emergencies.map(normalizeEmergency)) {
      const others = byRegion.get(emergency.region) ?? []
      byRegion.set(emergency.region, [...others, emergency])
    }
    this.emergencies = byRegion
  }

  /** The name of the day proclaimed in the region, if any. */
  findProclaimedDay(region: string, day: LocalDay): string | undefined {
    return this.#days.get(`${region} ${day}`)
  }

  /** Without a postal code, every emergency of the region applies, since the place may be anywhere in it. */
  listEmergencies({ region, postalCode }: CalledPlace): readonly Emergency[] {
    const all = this.emergencies.get(region) ?? []
    if (postalCode === undefined) return all
    const code = normalizePostalCode(postalCode)
    return all.filter(
      ({ postalPrefixes }) => postalPrefixes?.some((prefix) => code.startsWith(prefix)) ?? true,
    )
  }
}

function normalizeEmergency(emergency: Emergency): Emergency {
  const prefixes = emergency.postalPrefixes
    ?.map(normalizePostalCode)
    .filter((prefix) => prefix !== '')
  return { ...emergency, postalPrefixes: prefixes?.length ? prefixes : undefined }
}

function normalizePostalCode(text: string): string {
  return text.replace(/[\s-]/g, '').toUpperCase()
}
