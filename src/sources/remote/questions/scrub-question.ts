/** The scrub: version 8, as JSON (spec, "Scrub"). */
import { scrubPost } from '../../../api/scrub/scrub.js'
import { wireScrubRow } from '../../../api/scrub/scrub-row.js'
import type { CallRow, Question, ResultLetter } from '../../../domain/compliance.js'
import { postalCodePattern } from '../../../domain/place.js'
import type { ScrubRow } from '../../../domain/scrub-row.js'
import type { Instant } from '../../../domain/time/clock.js'
import { type InvalidRow, type ParsedRow, withoutExpiry } from '../batch-question.js'
import { toPlainText } from '../client/reply-diagnostics.js'
import { createEndpointRequest, defineQuestion, omitEmpty } from './define-question.js'
import { parseRows } from './parse-rows.js'
import {
  computeRowHours,
  getNextFullMinute,
  getNextFullQuarter,
  type RowHours,
} from './row-hours.js'
import { findScrubContradiction } from './scrub-contradiction.js'

/** Supports neither an instant other than now nor a malformed postal code. */
export const scrubQuestion = defineQuestion<Question, CallRow>({
  name: 'scrub',
  findRefusal({ at, postalCode }) {
    if (at !== undefined)
      return 'a scrub of this provider is always as of now, not of another instant'
    // A separator in it would also shift the other parts of the item.
    if (postalCode !== undefined && !postalCodePattern.test(postalCode)) {
      return 'the postal code is neither a US ZIP code nor a Canadian postal code'
    }
    return undefined
  },
  group: ({ projectId, campaignId }) => [projectId, campaignId],
  item: ({ number, postalCode }) => [number, postalCode],
  buildRequest: ({ projectId, campaignId }, questions) =>
    createEndpointRequest(scrubPost, {
      items: questions.map(({ number, postalCode }) => ({ phone: number, postalCode })),
      version: 8,
      output: 'json',
      projectId: omitEmpty(projectId),
      campaignId: omitEmpty(campaignId),
    }),
  parseReply: (reply, questions) =>
    parseRows(reply, questions, {
      schema: wireScrubRow,
      getNumber: ({ phone }) => phone,
      interpret: (row, question) => interpretRow(row, question, reply.askedAt),
    }),
})

/** The only letters that may permit a kind of call; the gate decides which kind. */
export const possiblyPermittingLetters: ReadonlySet<ResultLetter> = new Set([
  'C',
  'X',
  'E',
  'O',
  'R',
  'W',
  'Y',
  'G',
  'H',
])

/** A reason has at most four parts, each a list and a day. */
const maxReasonLength = 200

function interpretRow(
  row: ScrubRow,
  question: Question,
  askedAt: Instant,
): ParsedRow<CallRow> | InvalidRow {
  const mayPermit = possiblyPermittingLetters.has(row.letter)
  const hours = computeRowHours(row, askedAt)
  const contradiction = findScrubContradiction(row, { question, hours, mayPermit })
  if (contradiction !== undefined) return { problem: contradiction }
  const { letter, ebrType, doNotCallToday = false } = row
  const reason = toPlainText(row.reason, maxReasonLength)
  const listedOn = findListedOn(reason)
  const common = { letter, ebrType, doNotCallToday, reason, listedOn, says: [] }
  if (!mayPermit) {
    // Flags for manual and autodialed calls are ignored on a letter that permits no call.
    const allowed = { manual: false, autodialed: false, ai: false }
    return withoutExpiry({ ...common, allowed })
  }
  const { allowed } = row
  const onlyTimeForbids = !allowed.manual && !doNotCallToday
  const opensAt = onlyTimeForbids ? hours?.opensAt : undefined
  return {
    value: { ...common, allowed, opensAt },
    holdsUntil: computeHoldsUntil({ allowed, doNotCallToday }, hours, askedAt),
  }
}

/** The parts of `Reason` are lists: the national one, then that of the state; or the litigator list alone. */
function findListedOn(reason: string): CallRow['listedOn'] {
  if (reason === 'Litigator') return 'litigator'
  if (reason.startsWith('National')) return 'national'
  return reason.split(';')[1]?.startsWith('State') ? 'state' : undefined
}

/**
 * The flags change with the time of day. If they do not match the row's own window, the provider's clock
 * or ours is slightly off, or something else forbids calls; the edges of the window are then not used.
 */
function computeHoldsUntil(
  { allowed, doNotCallToday }: Pick<CallRow, 'allowed' | 'doNotCallToday'>,
  hours: RowHours | undefined,
  askedAt: Instant,
): Instant {
  if (!hours) return getNextFullMinute(askedAt)
  const permits = allowed.manual || allowed.autodialed || allowed.ai
  if (permits && !hours.isInside) return getNextFullMinute(askedAt)
  const unexplained = !permits && hours.isInside && !doNotCallToday
  return unexplained ? Math.min(getNextFullQuarter(askedAt), hours.nextEdge) : hours.nextEdge
}
