/** What differs between the ways in which the gate is asked about a call. */
import type { GateSettings } from './gate-deps.js'

export interface Way {
  /** On record, measured, logged and remembered, and refused while too many others wait. */
  readonly isRecorded: boolean
  /** A provider answers it after the questions of decisions, and nothing is added to the caches. */
  readonly isInBackground: boolean
  /** Whether it says what the call shows. */
  readonly hasCallerId: boolean
  /** `not-asked`: the attempt was counted when the call was allowed. */
  readonly counts: 'reserve' | 'read' | 'not-asked'
  /** From the arrival of the request, in milliseconds. */
  findDeadline(settings: Pick<GateSettings, 'deadlineMs'>): number
}

/** As many times longer as background questions to a provider may take. */
const previewFactor = 10

/** The use of a permit is not refused because its database takes longer than a decision may. */
const minRecheckMs = 1_000

export const ways = {
  decision: {
    isRecorded: true,
    isInBackground: false,
    hasCallerId: true,
    counts: 'reserve',
    findDeadline: ({ deadlineMs }) => deadlineMs,
  },
  /** What a decision would be. There may be any number of them at once, since their callers limit them. */
  preview: {
    isRecorded: false,
    isInBackground: true,
    hasCallerId: false,
    counts: 'read',
    findDeadline: ({ deadlineMs }) => deadlineMs * previewFactor,
  },
  /** Whether a call that was allowed still is. */
  recheck: {
    isRecorded: false,
    isInBackground: false,
    hasCallerId: true,
    counts: 'not-asked',
    findDeadline: ({ deadlineMs }) => Math.max(deadlineMs, minRecheckMs),
  },
} as const satisfies Readonly<Record<string, Way>>
