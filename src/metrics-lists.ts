/** The metrics of the imported number lists. Ages are computed when somebody asks for them. */
import { Gauge, type Registry } from 'prom-client'
import type { Instant } from './domain/clock.js'
import { listStates } from './domain/number-set.js'

export interface ListMeasure {
  readonly name: string
  readonly entries: number
  readonly asOf: Instant
}

/**
 * By age, and beside it what no age tells: `unusable` while the file of a list cannot be used,
 * whether or not an older content still answers; `missing` for one every scrub needs that is not
 * kept.
 */
export const measuredListStates = [...listStates, 'missing', 'unusable'] as const
export type MeasuredListState = (typeof measuredListStates)[number]

/** How a list is at the moment; ages are `undefined` for one without content. */
export interface ListAgeMeasure {
  readonly name: string
  readonly ageSeconds: number | undefined
  /** `undefined` also where there is no limit. */
  readonly maxAgeSeconds: number | undefined
  readonly states: readonly MeasuredListState[]
}

export interface ListMetrics {
  lists(lists: readonly ListMeasure[]): void
  /** `read` is asked at each reading of the metrics; a later one takes its place. */
  listAges(read: () => readonly ListAgeMeasure[]): void
}

export function listMetrics(registry: Registry): ListMetrics {
  return { ...contentMetrics(registry), ...ageMetrics(registry) }
}

function contentMetrics(registry: Registry): Pick<ListMetrics, 'lists'> {
  const registers = [registry]
  const entries = new Gauge({
    name: 'callgate_list_entries',
    help: 'Numbers in an imported list.',
    labelNames: ['list'],
    registers,
  })
  const asOf = new Gauge({
    name: 'callgate_list_as_of_timestamp_seconds',
    help: 'When the content of an imported list was true.',
    labelNames: ['list'],
    registers,
  })
  return {
    lists(lists) {
      entries.reset()
      asOf.reset()
      for (const list of lists) {
        entries.set({ list: list.name }, list.entries)
        asOf.set({ list: list.name }, list.asOf / 1000)
      }
    },
  }
}

function ageMetrics(registry: Registry): Pick<ListMetrics, 'listAges'> {
  let read: () => readonly ListAgeMeasure[] = () => []
  const gauge = (
    about: { readonly name: string; readonly help: string; readonly labelNames: string[] },
    set: (to: Gauge, list: ListAgeMeasure) => void,
  ) =>
    new Gauge({
      ...about,
      registers: [registry],
      collect() {
        this.reset()
        for (const list of read()) set(this, list)
      },
    })
  gauge(
    {
      name: 'callgate_list_age_seconds',
      help: 'Time since the content of an imported list was true.',
      labelNames: ['list'],
    },
    (to, { name, ageSeconds }) => {
      if (ageSeconds !== undefined) to.set({ list: name }, ageSeconds)
    },
  )
  gauge(
    {
      name: 'callgate_list_max_age_seconds',
      help: 'Age beyond which an imported list answers nothing; absent where there is no limit.',
      labelNames: ['list'],
    },
    (to, { name, maxAgeSeconds }) => {
      if (maxAgeSeconds !== undefined) to.set({ list: name }, maxAgeSeconds)
    },
  )
  gauge(
    {
      name: 'callgate_list_state',
      help: '1 for each state a list is in, 0 for the others: one by its age, unusable beside it.',
      labelNames: ['list', 'state'],
    },
    (to, { name, states }) => {
      for (const state of measuredListStates) {
        to.set({ list: name, state }, states.includes(state) ? 1 : 0)
      }
    },
  )
  return {
    listAges(from) {
      read = from
    },
  }
}
