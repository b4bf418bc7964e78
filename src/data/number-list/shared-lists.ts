/** The number lists of another thread, read in the same memory. */
import type { NumberSet } from '../../domain/number-set.js'
import { NumberList, type NumberListParts } from './format/number-list.js'
import type { ListProblem, ListStore } from './list-store.js'

/** All lists and problems of a {@link ListStore}, as sent to another thread. */
export interface ListsMessage {
  readonly lists: readonly NumberListParts[]
  readonly problems: readonly ListProblem[]
  readonly needed: readonly string[]
}

export function shareLists(store: Pick<ListStore, 'all' | 'needed' | 'problems'>): ListsMessage {
  const lists = store.all().map(toParts)
  return { lists, problems: store.problems(), needed: [...store.needed] }
}

function toParts(list: NumberSet): NumberListParts {
  if (list instanceof NumberList) return list.share()
  throw new TypeError(`the list '${list.name}' is not in shared memory`)
}

export class SharedLists
  implements Pick<ListStore, 'get' | 'all' | 'needed' | 'problems' | 'onChange'>
{
  readonly #listeners = new Set<(names: readonly string[]) => void>()
  #lists: ReadonlyMap<string, NumberSet> = new Map()
  #problems: readonly ListProblem[] = []
  #needed: ReadonlySet<string> = new Set()

  constructor(message: ListsMessage) {
    this.replace(message)
  }

  get(name: string): NumberSet | undefined {
    return this.#lists.get(name)
  }

  all(): readonly NumberSet[] {
    return [...this.#lists.values()]
  }

  get needed(): ReadonlySet<string> {
    return this.#needed
  }

  problems(): readonly ListProblem[] {
    return this.#problems
  }

  onChange(listener: (names: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Replaces all lists at once, then calls the listeners. */
  replace({ lists, problems, needed }: ListsMessage): void {
    const received = lists.map((parts) => new NumberList(parts))
    this.#lists = new Map(received.map((list) => [list.name, list]))
    this.#problems = problems
    this.#needed = new Set(needed)
    for (const listener of this.#listeners) listener([...this.#lists.keys()])
  }
}
