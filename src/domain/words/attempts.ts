/** Words about call frequency limits, and about exceptions of the law in use. */
import { nameRecord } from './scrub.js'

type CountedLimit = {
  readonly attempts: number
  readonly calls: number
  readonly counts: 'calls' | 'conversations'
  /** Of a limit by local days; otherwise `seconds`. */
  readonly days?: number | undefined
  readonly seconds?: number | undefined
  readonly citation: string
  /** Of a full limit. */
  readonly until?: string | undefined
}

type UsedException = {
  readonly id: string
  readonly citation: string
  readonly record: 'S' | 'I' | 'P'
  readonly on: string
  readonly decidedBy: string
}

export const attemptWords = {
  'limit-count': ({ attempts, calls, counts, days, seconds, citation, until }: CountedLimit) => {
    const end = until === undefined ? '' : `, until ${until}`
    return `${attempts} of ${calls} ${counts} in ${formatPeriod(days, seconds)} (${citation})${end}`
  },
  'limit-lifted': '{citation} lifted',
  exception: ({ id, citation, record, on, decidedBy }: UsedException) =>
    `exception ${id} (${citation}), by the ${nameRecord(record)} of ${on}, decided by ${decidedBy}`,
  'attempts-not-counted': 'the attempts could not be counted',
  'no-subjects': 'gate.subjects has none for this account and project',
  'subject-not-among': 'it must be one of {subjects}',
} as const

function formatPeriod(days: number | undefined, seconds = 0): string {
  if (days !== undefined) return `${days} days`
  return seconds % 3600 === 0 ? `${seconds / 3600} hours` : `${seconds} s`
}
