/** The metrics of the imported number lists. Ages are computed when the metrics are read. */
import { Gauge, type Registry } from 'prom-client'
import type { MaybePromise } from '../domain/compliance.js'
import { listStates } from '../domain/number-set.js'
import type { Instant } from '../domain/time/clock.js'

interface ListMeasurement {
  readonly name: string
  readonly entries: number
  readonly asOf: Instant
}

/**
 * The states by age, and two independent of age: `unusable` while the file of a list cannot be used,
 * even if an older version is still in use; `missing` for a required list that is not imported.
 */
export const listMetricStates = [...listStates, 'missing', 'unusable'] as const
type ListMetricState = (typeof listMetricStates)[number]

/** The current state of a list; ages are `undefined` for a list without content. */
export interface ListAgeMeasurement {
  readonly name: string
  readonly ageSeconds: number | undefined
  /** Also `undefined` when there is no limit. */
  readonly maxAgeSeconds: number | undefined
  readonly states: readonly ListMetricState[]
  /** Whether the version in force is used; `undefined` if servers do not share the list. */
  readonly isInForce: boolean | undefined
}

export interface ListMetrics {
  setLists(lists: readonly ListMeasurement[]): void
  /** `read` is called whenever the metrics are read; a later call replaces it. */
  setListAgesReader(read: () => MaybePromise<readonly ListAgeMeasurement[]>): void
}

export function createListMetrics(registry: Registry): ListMetrics {
  return { ...createContentMetrics(registry), ...createAgeMetrics(registry) }
}

function createContentMetrics(registry: Registry): Pick<ListMetrics, 'setLists'> {
  const registers = [registry]
  const entries = new Gauge({
    name: 'callgate_list_entries',
    help: 'Numbers in an imported list.',
    labelNames: ['list'],
    registers,
  })
  const asOf = new Gauge({
    name: 'callgate_list_as_of_timestamp_seconds',
    help: 'As-of date of the content of an imported list.',
    labelNames: ['list'],
    registers,
  })
  return {
    setLists(lists) {
      entries.reset()
      asOf.reset()
      for (const list of lists) {
        entries.set({ list: list.name }, list.entries)
        asOf.set({ list: list.name }, list.asOf / 1000)
      }
    },
  }
}

function createAgeMetrics(registry: Registry): Pick<ListMetrics, 'setListAgesReader'> {
  let read: () => MaybePromise<readonly ListAgeMeasurement[]> = () => []
  const gauge = (
    about: { readonly name: string; readonly help: string; readonly labelNames: string[] },
    set: (to: Gauge, list: ListAgeMeasurement) => void,
  ) =>
    new Gauge({
      ...about,
      registers: [registry],
      async collect() {
        const lists = await read()
        this.reset()
        for (const list of lists) set(this, list)
      },
    })
  gauge(
    {
      name: 'callgate_list_age_seconds',
      help: 'Time since the as-of date of an imported list.',
      labelNames: ['list'],
    },
    (to, { name, ageSeconds }) => {
      if (ageSeconds !== undefined) to.set({ list: name }, ageSeconds)
    },
  )
  gauge(
    {
      name: 'callgate_list_max_age_seconds',
      help: 'Maximum age of an imported list, beyond which it is not used; absent when there is no limit.',
      labelNames: ['list'],
    },
    (to, { name, maxAgeSeconds }) => {
      if (maxAgeSeconds !== undefined) to.set({ list: name }, maxAgeSeconds)
    },
  )
  gauge(
    {
      name: 'callgate_list_state',
      help: '1 for each state a list is in, 0 for the others: one state by age, possibly also unusable.',
      labelNames: ['list', 'state'],
    },
    (to, { name, states }) => {
      for (const state of listMetricStates) {
        to.set({ list: name, state }, states.includes(state) ? 1 : 0)
      }
    },
  )
  gauge(
    {
      name: 'callgate_list_in_force',
      help:
        'With lists that several servers share: 1 if this server uses the version in force, 0 if it does not have it ' +
        'and blocks.',
      labelNames: ['list'],
    },
    (to, { name, isInForce }) => {
      if (isInForce !== undefined) to.set({ list: name }, isInForce ? 1 : 0)
    },
  )
  return {
    setListAgesReader(from) {
      read = from
    },
  }
}
