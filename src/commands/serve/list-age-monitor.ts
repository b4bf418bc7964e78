/**
 * Reports the age of the imported lists in the metrics, in `/readyz`, and once in the log. The
 * metrics also show lists that are missing or cannot be used.
 */
import type { Callgate } from '../../app/callgate.js'
import { litigatorListName, nationalListNames } from '../../data/number-list/list-names.js'
import type { ListState, NumberSet } from '../../domain/number-set.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { ListAgeMeasurement } from '../../observability/list-metrics.js'

type ListAgeDeps = Pick<Callgate, 'data' | 'runtime'>
type MissingListsDeps = ListAgeDeps & Pick<Callgate, 'remote'>

const daySeconds = 86_400
const expectedLists = [...Object.values(nationalListNames), litigatorListName]

/** Missing lists without which real accounts are blocked; none with a remote source. */
export function findMissingLists({ data, remote }: MissingListsDeps): readonly string[] {
  return remote ? [] : expectedLists.filter((name) => data.lists.get(name) === undefined)
}

/** Includes missing lists, so that an alert does not end because a file is gone. */
export function measureListAges(deps: MissingListsDeps): readonly ListAgeMeasurement[] {
  const { data, runtime } = deps
  const now = runtime.clock.now()
  const lists = data.lists.all()
  const problems = data.lists.problems()
  const named = problems.flatMap(({ name }) => name ?? [])
  const folderIsUnusable = problems.some(({ name }) => name === undefined)
  const isUnusable = (name: string) => folderIsUnusable || named.includes(name)
  const withoutContent = [...named, ...findMissingLists(deps)].filter(
    (name) => !data.lists.get(name),
  )
  return [
    ...lists.map((list): ListAgeMeasurement => {
      const { name, asOf } = list
      const maxAgeDays = data.listAges.findMaxAgeDays(name)
      const byAge = data.listAges.findState(list, now)
      return {
        name,
        ageSeconds: (now - asOf) / 1000,
        maxAgeSeconds: maxAgeDays === undefined ? undefined : maxAgeDays * daySeconds,
        states: isUnusable(name) ? [byAge, 'unusable'] : [byAge],
      }
    }),
    ...[...new Set(withoutContent)].map((name): ListAgeMeasurement => {
      const state = isUnusable(name) ? 'unusable' : 'missing'
      return { name, ageSeconds: undefined, maxAgeSeconds: undefined, states: [state] }
    }),
  ]
}

/** Logs each list version once when it is about to expire and once when it has. */
export class ListAgeMonitor {
  readonly #deps: ListAgeDeps
  readonly #reported = new Map<string, { readonly version: string; readonly state: ListState }>()

  constructor(deps: ListAgeDeps) {
    this.#deps = deps
  }

  check(): void {
    const { data, runtime } = this.#deps
    const now = runtime.clock.now()
    for (const list of data.lists.all()) {
      const { name, version } = list
      const state = data.listAges.findState(list, now)
      const reported = this.#reported.get(name)
      if (reported?.version === version && reported.state === state) continue
      this.#reported.set(name, { version, state })
      this.#report(list, state)
    }
  }

  #report(list: NumberSet, state: ListState): void {
    if (state === 'fresh') return
    const { data, runtime } = this.#deps
    const { name, version, asOf } = list
    const maxAgeDays = data.listAges.findMaxAgeDays(name)
    const until = formatInstant(data.listAges.computeStaleAt(list))
    const fields = { list: name, version, asOf: formatInstant(asOf), maxAgeDays, until }
    if (state === 'stale') runtime.log.error('a list is too old and is not used', fields)
    else runtime.log.warn('a list will soon be too old to be used', fields)
  }
}

/** For `/readyz`: empty when every list is fresh. */
export function describeAges({ data, runtime }: ListAgeDeps): string {
  const now = runtime.clock.now()
  const inState = (state: ListState) =>
    data.lists.all().filter((list) => data.listAges.findState(list, now) === state)
  const formatExpiry = (list: NumberSet) =>
    `${list.name} (${formatInstant(data.listAges.computeStaleAt(list))})`
  const stale = inState('stale').map(formatExpiry)
  const soon = inState('soon-stale').map(formatExpiry)
  return [
    ...(stale.length > 0 ? [`; too old since: ${stale.join(', ')}`] : []),
    ...(soon.length > 0 ? [`; too old from: ${soon.join(', ')}`] : []),
  ].join('')
}
