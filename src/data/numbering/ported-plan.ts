/**
 * The numbering plan with ports counted: what kind of line a number is now, not only what its prefix
 * or block was given out for. The lists of ported numbers are asked in a fixed order: the class of
 * the block, then ported to wireline, then ported to wireless. A list that is too old or cannot be
 * read says nothing, and then no number it speaks for is known to be a landline.
 */
import type { ListVersion, NumberSet } from '../../domain/number-set.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { NumberFacts, NumberingPlan, Ported } from '../../domain/place.js'
import { portedListNames } from '../number-list/list-names.js'

/** The imported lists as this file needs them. */
export interface PortedLists {
  get(name: string): NumberSet | undefined
  /** Lists whose file cannot be used; one without a name is of the whole folder. */
  problems(): readonly { readonly name?: string }[]
  /** `listener` is called after each change of lists or problems. */
  onChange(listener: () => void): unknown
}

export interface PortOptions {
  /** Whether a list is too old to answer; asked at each look-up. */
  isStale(list: ListVersion): boolean
}

/**
 * The plan as ports have changed it. Without lists of ported numbers it answers as `plan` does.
 *
 * Numbers that are not ported share the facts of their prefix or block, and so do ported ones of the
 * same prefix and direction, unless the day of the port is known.
 */
export function portAware(
  plan: NumberingPlan,
  lists: PortedLists,
  options: PortOptions,
): NumberingPlan {
  const ports = new Ports(lists, options)
  return {
    lookup(number) {
      const facts = plan.lookup(number)
      return facts.status === 'ok' ? ports.applied(number, facts) : facts
    },
    coverage: () => plan.coverage(),
  }
}

type Facts = NumberFacts & { readonly status: 'ok' }
type Direction = Ported['to']

class Ports {
  readonly #lists: PortedLists
  readonly #isStale: PortOptions['isStale']
  readonly #variants = new WeakMap<Facts, Variants>()
  #toWireless: NumberSet | undefined
  #toWireline: NumberSet | undefined
  /** A list is kept and cannot be read: what it would speak for is not known either. */
  #isUnusable = false

  constructor(lists: PortedLists, { isStale }: PortOptions) {
    this.#lists = lists
    this.#isStale = isStale
    this.#takeLists()
    lists.onChange(() => this.#takeLists())
  }

  applied(number: PhoneNumber, facts: Facts): Facts {
    const toWireless = speaking(this.#toWireless, number)
    const toWireline = speaking(this.#toWireline, number)
    if (!toWireless && !toWireline && !this.#isUnusable) return facts
    const wirelessIsStale = toWireless !== undefined && this.#isStale(toWireless)
    if (!wirelessIsStale && toWireless?.has(number)) {
      return this.#ported(facts, 'wireless', toWireless.dayOf?.(number))
    }
    const isInDoubt =
      wirelessIsStale || this.#isUnusable || (toWireline !== undefined && this.#isStale(toWireline))
    if (isInDoubt) return this.#doubted(facts)
    if (!toWireline?.has(number)) return facts
    return this.#ported(facts, 'wireline', toWireline.dayOf?.(number))
  }

  #takeLists(): void {
    const { wireless, wireline } = portedListNames
    this.#toWireless = this.#lists.get(wireless)
    this.#toWireline = this.#lists.get(wireline)
    const problems = this.#lists.problems()
    const isUnusable = (name: string, list: NumberSet | undefined) =>
      !list && problems.some((problem) => problem.name === undefined || problem.name === name)
    this.#isUnusable =
      isUnusable(wireless, this.#toWireless) || isUnusable(wireline, this.#toWireline)
  }

  #ported(facts: Facts, to: Direction, on: Ported['on']): Facts {
    if (on !== undefined) return { ...facts, lineClass: to, ported: { to, on } }
    const variants = this.#variantsOf(facts)
    variants[to] ??= { ...facts, lineClass: to, ported: { to, on } }
    return variants[to]
  }

  /** A wireless line stays one: no list could make a call to it stricter. */
  #doubted(facts: Facts): Facts {
    if (facts.lineClass === 'wireless' || facts.lineClass === 'unknown') return facts
    const variants = this.#variantsOf(facts)
    variants.doubted ??= { ...facts, lineClass: 'unknown' }
    return variants.doubted
  }

  #variantsOf(facts: Facts): Variants {
    const known = this.#variants.get(facts)
    if (known) return known
    const variants: Variants = {}
    this.#variants.set(facts, variants)
    return variants
  }
}

/** Facts of one prefix or block, as ports change them. */
type Variants = Partial<Record<Direction | 'doubted', Facts>>

/** The list, unless it says nothing of the number's area code: then it is as if there were none. */
function speaking(list: NumberSet | undefined, number: PhoneNumber): NumberSet | undefined {
  return list?.covers(number) ? list : undefined
}
