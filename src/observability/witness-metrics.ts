/** Metrics about those that keep the heads of the journal. */
import { Gauge, type Registry } from 'prom-client'
import type { Instant } from '../domain/time/clock.js'

interface WitnessReading {
  readonly name: string
  readonly kind: string
  readonly size: number | undefined
  readonly answeredAt: Instant | undefined
  readonly failures: number
  readonly isConflict: boolean
}

export interface WitnessMetrics {
  /** `since` is used for those that never answered. */
  setWitnesses(witnesses: readonly WitnessReading[], since: Instant): void
}

export function createWitnessMetrics(registry: Registry): WitnessMetrics {
  const create = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['witness', 'keeper'], registers: [registry] })
  const size = create(
    'callgate_witness_size',
    'Number of records in the newest signed head of the journal that each of journal.witnesses has.',
  )
  const answered = create(
    'callgate_witness_last_answer_timestamp_seconds',
    'When each of journal.witnesses answered last; the start of the server before that.',
  )
  const failures = create(
    'callgate_witness_consecutive_failures',
    'Attempts in a row to send a head of the journal that have failed.',
  )
  const conflict = create(
    'callgate_witness_conflict',
    'Whether a witness has a head that the journal does not go on from, since it was rolled back or changed: 1 or 0.',
  )
  return {
    setWitnesses(witnesses, since) {
      for (const each of witnesses) {
        const labels = { witness: each.name, keeper: each.kind }
        size.set(labels, each.size ?? 0)
        answered.set(labels, (each.answeredAt ?? since) / 1000)
        failures.set(labels, each.failures)
        conflict.set(labels, Number(each.isConflict))
      }
    },
  }
}
