/**
 * How old each imported list may be before it answers nothing. The age counts from the instant the
 * list was true as of; what becomes of a number whose list is too old is left to those who ask it.
 */
import type { Instant } from '../../domain/clock.js'
import type { ListState, ListVersion } from '../../domain/number-set.js'
import { litigatorListName, nationalListNames, portedListNames } from './list-names.js'

/** The settings `lists`, as far as ages go; ages are in days, and 0 is no limit. */
export interface ListAgeSettings {
  readonly maxAgeDays: {
    readonly usDnc: number
    readonly canadaDnc: number
    readonly stateDnc: number
    readonly litigators: number
    readonly ported: number
  }
  /** By region, such as `FL`; in place of `stateDnc`. */
  readonly maxAgeDaysOfState: Readonly<Record<string, number>>
  /** Share of its age from which a list is `soon-stale`. */
  readonly warnAtPercent: number
}

export interface AgeLimit {
  readonly days: number
  /** For people: the setting it is told by, and the law behind it where there is one. */
  readonly rule: string
}

export interface ListAges {
  /** `undefined` where there is no limit, as for every list that no check reads. */
  limitOf(name: string): AgeLimit | undefined
  /** As {@link limitOf}. */
  maxAgeDays(name: string): number | undefined
  /**
   * From this instant on the list answers nothing; infinity when there is no limit. At exactly its
   * age a list still answers, a millisecond later it does not.
   */
  staleAt(list: ListVersion): Instant
  stateOf(list: ListVersion, now: Instant): ListState
}

const dayMs = 86_400_000

export function listAges(settings: ListAgeSettings): ListAges {
  const share = settings.warnAtPercent / 100
  const limits = new Map<string, AgeLimit>()
  const limitOf = (name: string): AgeLimit | undefined => {
    const limit = limits.get(name) ?? limitIn(settings, name)
    limits.set(name, limit)
    return limit.days === 0 ? undefined : limit
  }
  const maxAgeDays = (name: string) => limitOf(name)?.days
  const staleAt = ({ name, asOf }: ListVersion): Instant => {
    const days = maxAgeDays(name)
    return days === undefined ? Number.POSITIVE_INFINITY : asOf + days * dayMs + 1
  }
  return {
    limitOf,
    maxAgeDays,
    staleAt,
    stateOf(list, now) {
      const days = maxAgeDays(list.name)
      if (days === undefined) return 'fresh'
      if (now >= staleAt(list)) return 'stale'
      return now - list.asOf >= days * dayMs * share ? 'soon-stale' : 'fresh'
    },
  }
}

type Kind = keyof ListAgeSettings['maxAgeDays']

/** What a list may be no older than, where a rule says so. */
const laws: Readonly<Partial<Record<Kind, string>>> = {
  usDnc: '16 CFR 310.4(b)(3)(iv)',
  canadaDnc: 'CRTC Unsolicited Telecommunications Rules, Part II',
  ported: '47 CFR 64.1200(a)(1)(iv)',
}

const noLimit: AgeLimit = { days: 0, rule: '' }

function limitIn({ maxAgeDays, maxAgeDaysOfState }: ListAgeSettings, name: string): AgeLimit {
  const region = stateListPattern.exec(name)?.[1]?.toUpperCase() ?? ''
  const ofState = maxAgeDaysOfState[region]
  if (ofState !== undefined) {
    return { days: ofState, rule: `setting lists.maxAgeDaysOfState.${region}` }
  }
  const kind = kindOf(name, region)
  if (kind === undefined) return noLimit
  const law = laws[kind]
  const rule = `setting lists.maxAgeDays.${kind}${law === undefined ? '' : `, ${law}`}`
  return { days: maxAgeDays[kind], rule }
}

const stateListPattern = /^state-dnc-([a-z]{2})$/
const portedLists: ReadonlySet<string> = new Set(Object.values(portedListNames))

function kindOf(name: string, region: string): Kind | undefined {
  if (region !== '') return 'stateDnc'
  if (name === nationalListNames.US) return 'usDnc'
  if (name === nationalListNames.CA) return 'canadaDnc'
  if (name === litigatorListName) return 'litigators'
  return portedLists.has(name) ? 'ported' : undefined
}
