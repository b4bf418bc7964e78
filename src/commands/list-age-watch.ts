/**
 * Tells how old the imported lists are, and to the metrics also which cannot be used: to the
 * metrics, to `/readyz`, and once to the log.
 */
import type { Callgate } from '../compose.js'
import { litigatorListName, nationalListNames } from '../data/number-list/list-names.js'
import { formatInstant } from '../domain/clock.js'
import type { ListState, NumberSet } from '../domain/number-set.js'
import type { ListAgeMeasure } from '../metrics-lists.js'

type Watched = Pick<Callgate, 'data' | 'world'>
type WatchedFrom = Watched & Pick<Callgate, 'remote'>

const daySeconds = 86_400
const expectedLists = [...Object.values(nationalListNames), litigatorListName]

/** Lists that real accounts are blocked without; none where a provider scrubs. */
export function missingLists({ data, remote }: WatchedFrom): readonly string[] {
  return remote ? [] : expectedLists.filter((name) => data.lists.get(name) === undefined)
}

/** Also of lists that have no content, so that an alert does not end because a file is gone. */
export function listAgesNow(watched: WatchedFrom): readonly ListAgeMeasure[] {
  const { data, world } = watched
  const now = world.clock.now()
  const lists = data.lists.all()
  const problems = data.lists.problems()
  const named = problems.flatMap(({ name }) => name ?? [])
  const folderIsUnusable = problems.some(({ name }) => name === undefined)
  const isUnusable = (name: string) => folderIsUnusable || named.includes(name)
  const bare = [...named, ...missingLists(watched)].filter((name) => !data.lists.get(name))
  return [
    ...lists.map((list): ListAgeMeasure => {
      const { name, asOf } = list
      const maxAgeDays = data.listAges.maxAgeDays(name)
      const byAge = data.listAges.stateOf(list, now)
      return {
        name,
        ageSeconds: (now - asOf) / 1000,
        maxAgeSeconds: maxAgeDays === undefined ? undefined : maxAgeDays * daySeconds,
        states: isUnusable(name) ? [byAge, 'unusable'] : [byAge],
      }
    }),
    ...[...new Set(bare)].map((name): ListAgeMeasure => {
      const state = isUnusable(name) ? 'unusable' : 'missing'
      return { name, ageSeconds: undefined, maxAgeSeconds: undefined, states: [state] }
    }),
  ]
}

/** Logs each list once when it is soon too old and once when it is; another import begins anew. */
export class ListAgeNews {
  readonly #watched: Watched
  readonly #told = new Map<string, { readonly version: string; readonly state: ListState }>()

  constructor(watched: Watched) {
    this.#watched = watched
  }

  look(): void {
    const { data, world } = this.#watched
    const now = world.clock.now()
    for (const list of data.lists.all()) {
      const { name, version } = list
      const state = data.listAges.stateOf(list, now)
      const told = this.#told.get(name)
      if (told?.version === version && told.state === state) continue
      this.#told.set(name, { version, state })
      this.#tell(list, state)
    }
  }

  #tell(list: NumberSet, state: ListState): void {
    if (state === 'fresh') return
    const { data, world } = this.#watched
    const { name, version, asOf } = list
    const maxAgeDays = data.listAges.maxAgeDays(name)
    const until = formatInstant(data.listAges.staleAt(list))
    const fields = { list: name, version, asOf: formatInstant(asOf), maxAgeDays, until }
    if (state === 'stale') world.log.error('a list is too old and answers nothing', fields)
    else world.log.warn('a list will soon be too old to answer', fields)
  }
}

/** For `/readyz`: empty when every list is fresh. */
export function ageRemarks({ data, world }: Watched): string {
  const now = world.clock.now()
  const inState = (wanted: ListState) =>
    data.lists.all().filter((list) => data.listAges.stateOf(list, now) === wanted)
  const untilWhen = (list: NumberSet) =>
    `${list.name} (${formatInstant(data.listAges.staleAt(list))})`
  const stale = inState('stale').map(untilWhen)
  const soon = inState('soon-stale').map(untilWhen)
  return [
    ...(stale.length > 0 ? [`; too old to answer since: ${stale.join(', ')}`] : []),
    ...(soon.length > 0 ? [`; too old to answer from: ${soon.join(', ')}`] : []),
  ].join('')
}
