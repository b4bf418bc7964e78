/**
 * How old each imported list may be before it answers nothing. The age counts from the instant the
 * list was true as of; what becomes of a number whose list is too old is left to those who ask it.
 */

import type { ListState, ListVersion } from '../../domain/number-set.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
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

interface AgeLimit {
  readonly days: number
  /** For people: the setting it is told by, and the law behind it where there is one. */
  readonly rule: string
}

export interface ListAges {
  /** `undefined` where there is no limit, as for every list that no check reads. */
  findLimit(name: string): AgeLimit | undefined
  /** As {@link findLimit}. */
  findMaxAgeDays(name: string): number | undefined
  /**
   * From this instant on the list answers nothing; infinity when there is no limit. At exactly its
   * age a list still answers, a millisecond later it does not.
   */
  computeStaleAt(list: ListVersion): Instant
  findState(list: ListVersion, now: Instant): ListState
}

export function createListAges(settings: ListAgeSettings): ListAges {
  const share = settings.warnAtPercent / 100
  const limits = new Map<string, AgeLimit>()
  const limitOf = (name: string): AgeLimit | undefined => {
    const limit = limits.get(name) ?? findLimit(settings, name)
    limits.set(name, limit)
    return limit.days === 0 ? undefined : limit
  }
  const findMaxAgeDays = (name: string) => limitOf(name)?.days
  const computeStaleAt = ({ name, asOf }: ListVersion): Instant => {
    const days = findMaxAgeDays(name)
    return days === undefined ? Number.POSITIVE_INFINITY : asOf + days * msPerDay + 1
  }
  return {
    findLimit: limitOf,
    findMaxAgeDays,
    computeStaleAt,
    findState(list, now) {
      const days = findMaxAgeDays(list.name)
      if (days === undefined) return 'fresh'
      if (now >= computeStaleAt(list)) return 'stale'
      return now - list.asOf >= days * msPerDay * share ? 'soon-stale' : 'fresh'
    },
  }
}

type Kind = keyof ListAgeSettings['maxAgeDays']

/** What a list may be no older than, where a rule says so. */
const ageRuleCitations: Readonly<Partial<Record<Kind, string>>> = {
  usDnc: '16 CFR 310.4(b)(3)(iv)',
  canadaDnc: 'CRTC Unsolicited Telecommunications Rules, Part II',
  ported: '47 CFR 64.1200(a)(1)(iv)',
}

const noLimit: AgeLimit = { days: 0, rule: '' }

function findLimit({ maxAgeDays, maxAgeDaysOfState }: ListAgeSettings, name: string): AgeLimit {
  const region = stateListPattern.exec(name)?.[1]?.toUpperCase() ?? ''
  const ofState = maxAgeDaysOfState[region]
  if (ofState !== undefined) {
    return { days: ofState, rule: `setting lists.maxAgeDaysOfState.${region}` }
  }
  const kind = findListKind(name, region)
  if (kind === undefined) return noLimit
  const law = ageRuleCitations[kind]
  const rule = `setting lists.maxAgeDays.${kind}${law === undefined ? '' : `, ${law}`}`
  return { days: maxAgeDays[kind], rule }
}

const stateListPattern = /^state-dnc-([a-z]{2})$/
const portedLists: ReadonlySet<string> = new Set(Object.values(portedListNames))

function findListKind(name: string, region: string): Kind | undefined {
  if (region !== '') return 'stateDnc'
  if (name === nationalListNames.US) return 'usDnc'
  if (name === nationalListNames.CA) return 'canadaDnc'
  if (name === litigatorListName) return 'litigators'
  return portedLists.has(name) ? 'ported' : undefined
}
