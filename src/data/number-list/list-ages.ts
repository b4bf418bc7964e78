/**
 * The maximum age of each imported list, counted from its as-of date. What happens to a number whose
 * list is too old is decided by the callers.
 */

import type { ListState, ListVersion } from '../../domain/number-set.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import {
  litigatorListName,
  nationalListNames,
  portedListNames,
  splitListName,
} from './list-names.js'

/** The settings of `lists` about ages; in days, 0 means no limit. */
export interface ListAgeSettings {
  readonly maxAgeDays: {
    readonly usDnc: number
    readonly canadaDnc: number
    readonly stateDnc: number
    readonly litigators: number
    readonly ported: number
  }
  /** Per region, such as `FL`; overrides `stateDnc`. */
  readonly maxAgeDaysOfState: Readonly<Record<string, number>>
  /** Percentage of the maximum age from which a list is `soon-stale`. */
  readonly warnAtPercent: number
}

interface AgeLimit {
  readonly days: number
  /** The setting that gives the limit, and the citation of the law behind it, if there is one. */
  readonly by: readonly string[]
}

export interface ListAges {
  /** The limit; `undefined` if there is none, as for lists that no check uses. */
  findLimit(name: string): AgeLimit | undefined
  /** The days of {@link findLimit}. */
  findMaxAgeDays(name: string): number | undefined
  /**
   * From this instant on the list is not used; infinity if there is no limit. At exactly its maximum age
   * a list is still used, a millisecond later it is not.
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

/** The law that limits the age of a list, if there is one. */
const ageRuleCitations: Readonly<Partial<Record<Kind, string>>> = {
  usDnc: '16 CFR 310.4(b)(3)(iv)',
  canadaDnc: 'CRTC Unsolicited Telecommunications Rules, Part II',
  ported: '47 CFR 64.1200(a)(1)(iv)',
}

const noLimit: AgeLimit = { days: 0, by: [] }

function findLimit({ maxAgeDays, maxAgeDaysOfState }: ListAgeSettings, name: string): AgeLimit {
  const { list } = splitListName(name)
  const region = stateListPattern.exec(list)?.[1]?.toUpperCase() ?? ''
  const ofState = maxAgeDaysOfState[region]
  if (ofState !== undefined) {
    return { days: ofState, by: [`lists.maxAgeDaysOfState.${region}`] }
  }
  const kind = findListKind(list, region)
  if (kind === undefined) return noLimit
  const law = ageRuleCitations[kind]
  const setting = `lists.maxAgeDays.${kind}`
  return { days: maxAgeDays[kind], by: law === undefined ? [setting] : [setting, law] }
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
