/**
 * Reports the age of the imported lists in the metrics, in `/readyz`, and once in the log. The
 * metrics also show lists that are missing or cannot be used.
 */
import type { Callgate } from '../../app/callgate.js'
import {
  isUsedByChecks,
  litigatorListName,
  nationalListNames,
  splitListName,
} from '../../data/number-list/list-names.js'
import type { ListState, NumberSet } from '../../domain/number-set.js'
import { countries } from '../../domain/place.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { ListAgeMeasurement } from '../../observability/list-metrics.js'
import { withTimeout } from '../../runtime/runtime.js'
import { readUnneededCountries } from '../../service/lists/list-rights.js'

type ListAgeDeps = Pick<Callgate, 'data' | 'runtime'>
type MissingListsDeps = ListAgeDeps & Pick<Callgate, 'remote' | 'storage'>

const daySeconds = 86_400
const expectedLists = [...Object.values(nationalListNames), litigatorListName]

/** See {@link readUnneededCountries}. */
type UnneededCountries = ReadonlySet<string>

/** Whether a call of the account or of one that may use its lists can need it. */
export function isAskedFor(name: string, unneeded: UnneededCountries): boolean {
  const { owner, list } = splitListName(name)
  const country = countries.find((one) => nationalListNames[one] === list)
  return country === undefined || !unneeded.has(`country:${country}:${owner}`)
}

/** Missing lists without which account main, and those that use its lists, are blocked; none with a remote source. */
export function findMissingLists(
  { data, remote }: Omit<MissingListsDeps, 'storage'>,
  unneeded: UnneededCountries,
): readonly string[] {
  if (remote) return []
  return expectedLists.filter(
    (name) => data.lists.get(name) === undefined && isAskedFor(name, unneeded),
  )
}

/** A database that is slow has a check of its own. */
const maxReadMs = 50
const noCountries: UnneededCountries = new Set()

/** None if they cannot be read in time: then too much is said to be missing. */
export async function readUnneeded({
  storage,
}: Pick<Callgate, 'storage'>): Promise<UnneededCountries> {
  try {
    const reading = readUnneededCountries(storage.db)
    return await withTimeout(reading, maxReadMs, () => noCountries)
  } catch {
    return noCountries
  }
}

/** Includes missing lists, so that an alert does not end because a file is gone. */
export async function measureListAges(
  deps: MissingListsDeps,
): Promise<readonly ListAgeMeasurement[]> {
  const { data, runtime } = deps
  const unneeded = await readUnneeded(deps)
  const now = runtime.clock.now()
  const lists = data.lists.all().filter(({ name }) => isAskedFor(name, unneeded))
  const problems = data.lists.problems()
  const named = problems.flatMap(({ name }) => name ?? [])
  const folderIsUnusable = problems.some(({ name }) => name === undefined)
  const isUnusable = (name: string) => folderIsUnusable || named.includes(name)
  const inForce = data.lists.findInForce()
  const withoutContent = [...named, ...findMissingLists(deps, unneeded)].filter(
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
        isInForce: inForce.get(name),
      }
    }),
    ...[...new Set(withoutContent)].map((name): ListAgeMeasurement => {
      const state = isUnusable(name) ? 'unusable' : 'missing'
      const ages = { ageSeconds: undefined, maxAgeSeconds: undefined }
      return { name, ...ages, states: [state], isInForce: inForce.get(name) }
    }),
  ]
}

/** What makes a list unusable, now or soon. */
export interface ListAgeProblem {
  readonly state: 'soon-stale' | 'stale'
  readonly text: string
}

interface ListAgeProblemDeps extends Pick<Callgate, 'data'> {
  readonly runtime: Pick<Callgate['runtime'], 'clock'>
}

/** `undefined` if the list is fresh, or if no check uses it. */
export function findListAgeProblem(
  list: NumberSet,
  { data: { listAges }, runtime }: ListAgeProblemDeps,
): ListAgeProblem | undefined {
  const state = listAges.findState(list, runtime.clock.now())
  if (state === 'fresh' || !isUsedByChecks(list.name)) return undefined
  const at = formatInstant(listAges.computeStaleAt(list))
  const text =
    state === 'stale'
      ? `${list.name} has been too old since ${at} and is not used`
      : `${list.name} becomes too old at ${at} and will not be used after that`
  return { state, text }
}

/** Logs each list version once when it is about to expire and once when it has. */
export class ListAgeMonitor {
  readonly #deps: ListAgeDeps
  readonly #reported = new Map<string, { readonly version: string; readonly state: ListState }>()

  constructor(deps: ListAgeDeps) {
    this.#deps = deps
  }

  check(): void {
    for (const list of this.#deps.data.lists.all()) {
      const { name, version } = list
      const problem = findListAgeProblem(list, this.#deps)
      const state = problem?.state ?? 'fresh'
      const reported = this.#reported.get(name)
      if (reported?.version === version && reported.state === state) continue
      this.#reported.set(name, { version, state })
      if (problem) this.#report(list, problem)
    }
  }

  #report(list: NumberSet, { state, text }: ListAgeProblem): void {
    const { data, runtime } = this.#deps
    const { name, version, asOf } = list
    const maxAgeDays = data.listAges.findMaxAgeDays(name)
    const until = formatInstant(data.listAges.computeStaleAt(list))
    const fields = { list: name, version, asOf: formatInstant(asOf), maxAgeDays, until }
    if (state === 'stale') runtime.log.error(text, fields)
    else runtime.log.warn(text, fields)
  }
}
