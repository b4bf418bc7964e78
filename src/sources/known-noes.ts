/**
 * What each source last forbade about one number of one account. A known no is lifted by its own
 * source's newer answer and by its own end, and by nothing else: no other source, no silence, no
 * other postal code. When it is given is left to `answer-shelf.ts`.
 */
import type { Instant } from '../domain/clock.js'
import type { Answered } from '../domain/compliance.js'

/** What an answer is about beside the number: all of it, and the part that has nothing of a place. */
export interface About {
  readonly variant: string
  /** Project and campaign. */
  readonly scope: string
}

export class KnownNoes<T> {
  /** By scope for those without an end, by variant for those that time will lift; and by source. */
  readonly #noes = new Map<string, Answered<T>>()

  /** Of one source alone; `forbids` says whether it forbids any kind of call. */
  note(answer: Answered<T>, { variant, scope }: About, forbids: boolean): void {
    if (!forbids && this.#noes.size === 0) return
    const lasting = keyOf('scope', scope, answer.source)
    const passing = keyOf('variant', variant, answer.source)
    for (const key of [lasting, passing]) {
      const known = this.#noes.get(key)
      if (known && known.asOf > answer.asOf) return
    }
    this.#noes.delete(lasting)
    this.#noes.delete(passing)
    if (!forbids) return
    const hasEnd = answer.holdsUntil < Number.POSITIVE_INFINITY
    this.#noes.set(hasEnd ? passing : lasting, answer)
  }

  /** The first that holds now and forbids what is asked. */
  find(
    { variant, scope }: About,
    now: Instant,
    forbids: (answer: Answered<T>) => boolean,
  ): Answered<T> | undefined {
    const places = [keyOf('scope', scope, ''), keyOf('variant', variant, '')]
    for (const [key, answer] of this.#noes) {
      const isMeant = places.some((place) => key.startsWith(place))
      if (isMeant && now < answer.holdsUntil && forbids(answer)) return answer
    }
    return undefined
  }

  /** Drops those that only one variant has. */
  forgetVariant(variant: string): void {
    const place = keyOf('variant', variant, '')
    for (const key of [...this.#noes.keys()]) if (key.startsWith(place)) this.#noes.delete(key)
  }
}

/** Neither variant nor scope holds a line end. */
function keyOf(kind: 'scope' | 'variant', about: string, source: string): string {
  return `${kind}\n${about}\n${source}`
}
