/**
 * What one imported list says of a number: listed or clear with the version that says so, or why the
 * list cannot be asked. Which lists speak for a number, and what they mean together, is left to
 * `list-facts.ts`.
 */
import type { ListAges } from '../data/number-list/list-ages.js'
import { type Clock, formatInstant, type Instant, type LocalDay } from '../domain/clock.js'
import type { ListVersion, NumberSet } from '../domain/number-set.js'
import { areaCodeOf, type PhoneNumber } from '../domain/phone-number.js'

/** The imported lists as this file needs them. */
export interface Lists {
  get(name: string): NumberSet | undefined
  /** Lists whose file cannot be used; such a list is not the same as one that is not kept. */
  problems(): readonly { readonly name?: string; readonly detail: string }[]
}

/** What a judgement rests on. */
export interface Evidence {
  /** The lists that were looked at, as they were; one that is not kept is not among them. */
  readonly lists: readonly ListVersion[]
  /** When one of them becomes too old, so that the finding must not be used; infinity for none. */
  readonly holdsUntil: Instant
}

/** What one list, or several together, say of a number. */
export type ListFinding = Evidence &
  (
    | {
        readonly status: 'listed'
        readonly asOf: Instant
        /** The day the source gives for the number, where it gives one. */
        readonly listedOn?: LocalDay | undefined
      }
    | { readonly status: 'clear' }
    /** No list that speaks for the number can be asked; `detail` tells the operator what to do. */
    | {
        readonly status: 'not-covered'
        readonly detail: string
        /** The list is kept and its file cannot be used. */
        readonly isUnusable?: boolean
        /** The list speaks for the number and is too old to answer. */
        readonly isStale?: boolean
      }
  )

/** The findings of one list that depend on no number. */
export interface PlainFindings {
  readonly listed: ListFinding
  readonly clear: ListFinding
}

export interface ImportedListsParts {
  readonly lists: Lists
  readonly ages: Pick<ListAges, 'limitOf' | 'staleAt'>
  /** The machine's: the age of a list is the same whatever instant is judged. */
  readonly clock: Clock
}

const forEver = Number.POSITIVE_INFINITY

interface Prepared extends PlainFindings {
  /** Without the numbers, so that evidence that is kept does not keep a list that was replaced. */
  readonly list: ListVersion
  readonly staleAt: Instant
  /** Of the list once it is too old. */
  readonly aged: Evidence
}

export class ImportedLists {
  readonly #parts: ImportedListsParts
  /** Made once for each content of a list, so that a look-up makes nothing. */
  readonly #prepared = new WeakMap<NumberSet, Prepared>()

  constructor(parts: ImportedListsParts) {
    this.#parts = parts
  }

  /**
   * `undefined` when no list of the name is kept. A list that is too old is silent, or with
   * `still-lists` silent about those it does not list.
   */
  ask(
    name: string,
    number: PhoneNumber,
    whenStale: 'silent' | 'still-lists' = 'silent',
  ): ListFinding | undefined {
    const set = this.#parts.lists.get(name)
    if (!set) return this.#problemOf(name)
    const { list, staleAt, listed, clear } = this.#preparedOf(set)
    if (!set.covers(number)) return notCovered(name, number, [list])
    const isListed = set.has(number)
    const now = this.#parts.clock.now()
    if (now < staleAt) return isListed ? withDay(listed, set.dayOf?.(number)) : clear
    if (isListed && whenStale === 'still-lists') return plainFindings(list, forEver).listed
    return this.#stale(list, now)
  }

  /** What rests on the list whatever it says; `undefined` when none of the name can be read. */
  evidenceOf(name: string): Evidence | undefined {
    const set = this.#parts.lists.get(name)
    if (!set) return undefined
    const { staleAt, clear, aged } = this.#preparedOf(set)
    return this.#parts.clock.now() < staleAt ? clear : aged
  }

  #preparedOf(set: NumberSet): Prepared {
    const known = this.#prepared.get(set)
    if (known) return known
    const { name, version, asOf } = set
    const list = { name, version, asOf }
    const staleAt = this.#parts.ages.staleAt(list)
    const prepared = {
      ...{ list, staleAt, aged: lastingFor([list]) },
      ...plainFindings(list, staleAt),
    }
    this.#prepared.set(set, prepared)
    return prepared
  }

  #stale(list: ListVersion, now: Instant): ListFinding {
    const { name, asOf } = list
    const { days, rule } = this.#parts.ages.limitOf(name) ?? { days: 0, rule: '' }
    const age = Math.floor((now - asOf - 1) / 86_400_000)
    const detail =
      `the list '${name}' is too old to answer: it is as of ${formatInstant(asOf)}, more than ` +
      `${age} days ago, and may be ${days} days old (${rule}); ${importCommand(name)}`
    return { status: 'not-covered', detail, isStale: true, ...lastingFor([list]) }
  }

  #problemOf(name: string): ListFinding | undefined {
    const problem = this.#parts.lists
      .problems()
      .find((one) => one.name === undefined || one.name === name)
    if (!problem) return undefined
    const detail = `${name}: ${problem.detail}`
    return { status: 'not-covered', detail, isUnusable: true, ...lastingFor([]) }
  }
}

function withDay(listed: ListFinding, listedOn: LocalDay | undefined): ListFinding {
  return listedOn === undefined ? listed : ({ ...listed, listedOn } as ListFinding)
}

export function plainFindings(list: ListVersion, holdsUntil: Instant): PlainFindings {
  const lists = Object.freeze([list])
  return {
    listed: Object.freeze({ status: 'listed', asOf: list.asOf, lists, holdsUntil }),
    clear: Object.freeze({ status: 'clear', lists, holdsUntil }),
  }
}

/** For a number no list speaks for: none is kept, or the one that is does not cover it. */
export function notCovered(
  name: string,
  number: PhoneNumber,
  lists: readonly ListVersion[] = [],
): ListFinding {
  const detail = `no list '${name}' speaks for area code ${areaCodeOf(number)}; ${importCommand(name)}`
  return { status: 'not-covered', detail, ...lastingFor(lists) }
}

/** Until a list is imported, which ends everything that was made from the old ones. */
export function lastingFor(lists: readonly ListVersion[]): Evidence {
  return { lists, holdsUntil: forEver }
}

function importCommand(name: string): string {
  return `load one with: callgate import list ${name} <file>`
}
