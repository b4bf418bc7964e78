/** The calling hours of a provider: `IsTimeLegalToCall` (spec, "Calling hours"). */
import { createTimeLegalEndpoint, wireTimeLegalRow } from '../../../api/calling-hours/time-legal.js'
import type { TimeLegalRow } from '../../../domain/calling-hours.js'
import type { LegalTime, Question } from '../../../domain/compliance.js'
import type { Instant } from '../../../domain/time/clock.js'
import { formatInstant } from '../../../domain/time/dates.js'
import { type InvalidRow, type ParsedRow, withoutExpiry } from '../batch-question.js'
import { toPlainText } from '../client/reply-diagnostics.js'
import { createEndpointRequest, defineQuestion, omitEmpty } from './define-question.js'
import { parseRows } from './parse-rows.js'
import { getNextFullQuarter } from './row-hours.js'

/** Accepts both forms of the answer, regardless of the option. */
const endpoint = createTimeLegalEndpoint({ wrappedRows: false })

/** The latest instant that a JavaScript date can represent. */
const maxInstant = 8_640_000_000_000_000

/**
 * The API supports neither recorded voices, nor the statutory window in addition to a project's hours,
 * nor postal codes. Questions that differ only in these share an answer, which callers must restrict.
 */
export const legalTimeQuestion = defineQuestion<Question, LegalTime>({
  name: 'legal-time',
  findRefusal({ projectId, campaignId, at }) {
    if (omitEmpty(campaignId) !== undefined && omitEmpty(projectId) === undefined) {
      return 'the calling hours of the provider accept a project but no campaign; name the project as well'
    }
    if (at !== undefined && !(Math.abs(at) <= maxInstant)) return 'the instant is not a date'
    return undefined
  },
  // Each item has its own project and instant.
  group: () => [],
  item: ({ number, projectId, at }) => [number, projectId, at],
  buildRequest: (_first, questions) =>
    createEndpointRequest(endpoint, {
      items: questions.map(({ number, at, projectId }) => ({
        phoneNumber: number,
        proposedAt: at === undefined ? undefined : formatInstant(at),
        projectId: omitEmpty(projectId),
      })),
    }),
  parseReply: (reply, questions) =>
    parseRows(reply, questions, {
      schema: wireTimeLegalRow.schema,
      getNumber: ({ phoneNumber }) => phoneNumber,
      interpret: (row, question) => interpretRow(row, question.at ?? reply.askedAt),
    }),
})

/** No window is longer than a day, so an answer is never used for longer. */
const maxWindowSeconds = 86_400

/** `at` is the evaluated instant. */
function interpretRow(row: TimeLegalRow, at: Instant): ParsedRow<LegalTime> | InvalidRow {
  const { permitted, status, secondsLeft } = row
  const contradiction = permitted ? findContradiction(row) : undefined
  if (contradiction !== undefined) return { problem: contradiction }
  const common = { status, permitted, restrictedDay: undefined, placeSource: undefined }
  if (permitted) {
    const says = [{ code: 'permitted-by-provider', params: { seconds: secondsLeft } }] as const
    const value = { ...common, secondsLeft, opensAt: at, says, message: null }
    return { value, holdsUntil: at + Math.min(secondsLeft, maxWindowSeconds) * 1000 }
  }
  const closed = { ...common, secondsLeft: 0, opensAt: undefined }
  if (status === 'OK') {
    const says = [{ code: 'closed-by-provider' }] as const
    return { value: { ...closed, says, message: null }, holdsUntil: getNextFullQuarter(at) }
  }
  const quote = toPlainText(row.message ?? '', maxMessageLength) || undefined
  const says = [{ code: 'hours-status', params: { status }, quote }] as const
  return withoutExpiry({ ...closed, says, message: quote ?? status })
}

const maxMessageLength = 200

/**
 * "`true` only when `Status` is `OK` and the proposed time is inside a legal window", with "seconds
 * left in the window", and a message that is "`null` when `Status` is `OK`" (spec, "Time-legal
 * result row"). A genuine row of a window's last second has no seconds left, too few to dial in.
 */
function findContradiction({ status, secondsLeft, message }: TimeLegalRow): string | undefined {
  const because = (rule: string) => `IsCallPermitted is true, but ${rule}`
  if (status !== 'OK') return because(`Status is ${status}, not OK`)
  if (secondsLeft <= 0) return because(`SecondsInCallWindow is ${secondsLeft}: nothing is left`)
  return (message ?? '').trim() === '' ? undefined : because('StatusMessage is not null')
}
