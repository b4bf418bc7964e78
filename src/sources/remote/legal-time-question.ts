/** The calling hours of a provider: `IsTimeLegalToCall` (spec, "Calling hours"). */
import {
  isTimeLegalToCall,
  type TimeLegalRequest,
  wireTimeLegalRow,
} from '../../api/calling-hours.js'
import { formatInstant, type Instant } from '../../domain/clock.js'
import type { LegalTime, LegalTimeQuestion } from '../../domain/compliance.js'
import type { TimeLegalRow } from '../../domain/time-legal-row.js'
import type { BatchQuestion, NotUnderstood, Understood } from './batch-question.js'
import { plainText } from './odd-replies.js'
import { firstOfBatch, given, keyOf, outgoing } from './outgoing-request.js'
import { readEach } from './read-rows.js'
import { nextFullQuarter } from './row-hours.js'

type LegalTimeBatch = BatchQuestion<LegalTimeQuestion, LegalTime>

/** Either form of the answer is understood, whatever the server is set to. */
const endpoint = isTimeLegalToCall({ wrappedRows: false })

/**
 * The API knows neither recorded voices, nor the law under a project's hours, nor postal codes:
 * questions that differ in these alone share an answer, and others must narrow it.
 */
export function legalTimeQuestion(): LegalTimeBatch {
  return { name: 'legal-time', refusal, identity, group, compose, read }
}

function refusal({ projectId, campaignId, at }: LegalTimeQuestion): string | undefined {
  if (given(campaignId) !== undefined && given(projectId) === undefined) {
    return 'calling hours take a project and no campaign; name the project as well'
  }
  if (at !== undefined && !(Math.abs(at) <= farthestInstant)) return 'the instant is no date'
  return undefined
}

/** The farthest instant a calendar text exists for. */
const farthestInstant = 8_640_000_000_000_000

function identity({ number, projectId, at }: LegalTimeQuestion): string {
  return keyOf(number, projectId, at)
}

/** Each item carries its own project and instant. */
function group(): string {
  return ''
}

function compose(questions: readonly LegalTimeQuestion[]) {
  firstOfBatch({ name: 'legal-time', group }, questions)
  const request: TimeLegalRequest = {
    items: questions.map(({ number, at, projectId }) => ({
      phoneNumber: number,
      proposedAt: at === undefined ? undefined : formatInstant(at),
      projectId: given(projectId),
    })),
  }
  return outgoing(endpoint, request)
}

const read: LegalTimeBatch['read'] = (reply, questions) =>
  readEach(reply, questions, {
    schema: wireTimeLegalRow,
    numberOf: (row) => row.phoneNumber,
    understand: (row, question) => understand(row, question.at ?? reply.askedAt),
  })

/** No window is longer than a day; what a provider says of later is not relied on. */
const longestWindow = 86_400

/** `at`: the instant judged. */
function understand(row: TimeLegalRow, at: Instant): Understood<LegalTime> | NotUnderstood {
  const { permitted, status, secondsLeft } = row
  const contradiction = permitted ? contradictionOf(row) : undefined
  if (contradiction !== undefined) return { notUnderstood: contradiction }
  const said = { status, permitted, restrictedDay: undefined, placeSource: undefined }
  if (permitted) {
    const rule = `permitted by the provider for ${secondsLeft} s more`
    const value = { ...said, secondsLeft, opensAt: at, rule, message: null }
    return { value, holdsUntil: at + Math.min(secondsLeft, longestWindow) * 1000 }
  }
  const closed = { ...said, secondsLeft: 0, opensAt: undefined }
  if (status === 'OK') {
    const rule = 'outside the calling window, by the provider'
    return { value: { ...closed, rule, message: null }, holdsUntil: nextFullQuarter(at) }
  }
  const message = plainText(row.message ?? '', longestMessage) || status
  const value = { ...closed, rule: message, message }
  return { value, holdsUntil: Number.POSITIVE_INFINITY }
}

const longestMessage = 200

/**
 * "`true` only when `Status` is `OK` and the proposed time is inside a legal window", with "seconds
 * left in the window", and a message that is "`null` when `Status` is `OK`" (spec, "Time-legal
 * result row"). A genuine row of a window's last second has none left; it permits nothing that could
 * still be dialled.
 */
function contradictionOf({ status, secondsLeft, message }: TimeLegalRow): string | undefined {
  const because = (rule: string) => `IsCallPermitted is true, but ${rule}`
  if (status !== 'OK') return because(`Status is ${status}, not OK`)
  if (secondsLeft <= 0) return because(`SecondsInCallWindow is ${secondsLeft}: nothing is left`)
  return (message ?? '').trim() === '' ? undefined : because('StatusMessage is not null')
}
