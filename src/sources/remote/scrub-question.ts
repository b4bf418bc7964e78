/** The scrub as it is put to a provider: version 8, as JSON (spec, "Scrub"). */
import { type ScrubRequest, scrubPost } from '../../api/scrub.js'
import { wireScrubRow } from '../../api/scrub-row.js'
import { postalCodePattern } from '../../domain/call-fields.js'
import type { Instant } from '../../domain/clock.js'
import type { Question, ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type { ScrubRow } from '../../domain/scrub-row.js'
import type { BatchQuestion, NotUnderstood, Understood } from './batch-question.js'
import { plainText } from './odd-replies.js'
import { firstOfBatch, given, keyOf, outgoing } from './outgoing-request.js'
import { readEach } from './read-rows.js'
import { nextFullMinute, nextFullQuarter, type RowHours, rowHours } from './row-hours.js'
import { scrubContradiction } from './scrub-contradiction.js'

/** A postal code that is none, and an instant other than now, cannot be asked. */
export function scrubQuestion(): BatchQuestion<Question, ScrubVerdict> {
  return { name: 'scrub', refusal, identity, group, compose, read }
}

function refusal({ at, postalCode }: Question): string | undefined {
  if (at !== undefined) return 'a scrub of this provider is always of now, not of another instant'
  // It would also move the parts of the item that it is sent in.
  if (postalCode !== undefined && !postalCodePattern.test(postalCode)) {
    return 'the postal code is neither a US ZIP code nor a Canadian postal code'
  }
  return undefined
}

function identity({ number, postalCode, projectId, campaignId }: Question): string {
  return keyOf(number, postalCode, projectId, campaignId)
}

function group({ projectId, campaignId }: Question): string {
  return keyOf(projectId, campaignId)
}

function compose(questions: readonly Question[]) {
  const { projectId, campaignId } = firstOfBatch({ name: 'scrub', group }, questions)
  const request: ScrubRequest = {
    items: questions.map(({ number, postalCode }) => ({ phone: number, postalCode })),
    version: 8,
    output: 'json',
    projectId: given(projectId),
    campaignId: given(campaignId),
  }
  return outgoing(scrubPost, request)
}

const read: BatchQuestion<Question, ScrubVerdict>['read'] = (reply, questions) =>
  readEach(reply, questions, {
    schema: wireScrubRow,
    numberOf: (row) => row.phone,
    understand: (row, question) => understand(row, question, reply.askedAt),
  })

/** The only letters that may permit a kind of call; which kind is for the gate to say. */
export const permittingLetters: ReadonlySet<ResultLetter> = new Set([
  ...(['C', 'X', 'E', 'O', 'R'] as const),
  ...(['W', 'Y', 'G', 'H'] as const),
])

function understand(
  row: ScrubRow,
  question: Question,
  askedAt: Instant,
): Understood<ScrubVerdict> | NotUnderstood {
  const mayPermit = permittingLetters.has(row.letter)
  const hours = rowHours(row, askedAt)
  const contradiction = scrubContradiction(row, { question, hours, mayPermit })
  if (contradiction !== undefined) return { notUnderstood: contradiction }
  const { letter, ebrType, doNotCallToday = false } = row
  const said = { letter, ebrType, doNotCallToday, reason: reasonOf(row), detail: undefined }
  if (!mayPermit) {
    // Flags for calls by hand and by machine prove nothing on a letter that permits none.
    const allowed = { manual: false, autodialed: false, ai: false }
    return { value: { ...said, allowed }, holdsUntil: Number.POSITIVE_INFINITY }
  }
  const { allowed } = row
  const onlyTimeForbids = !allowed.manual && !doNotCallToday
  const opensAt = onlyTimeForbids ? hours?.opensAt : undefined
  return {
    value: { ...said, allowed, opensAt },
    holdsUntil: holdsUntil({ allowed, doNotCallToday }, hours, askedAt),
  }
}

/**
 * The flags change with the hour. Where they do not fit the row's own window, its clock or ours is
 * a little off, or something else forbids calls: then no edge of the window is relied on.
 */
function holdsUntil(
  { allowed, doNotCallToday }: Pick<ScrubVerdict, 'allowed' | 'doNotCallToday'>,
  hours: RowHours | undefined,
  askedAt: Instant,
): Instant {
  if (!hours) return nextFullMinute(askedAt)
  const permits = allowed.manual || allowed.autodialed || allowed.ai
  if (permits && !hours.inside) return nextFullMinute(askedAt)
  const unexplained = !permits && hours.inside && !doNotCallToday
  return unexplained ? Math.min(nextFullQuarter(askedAt), hours.nextEdge) : hours.nextEdge
}

/** Four parts at most, each a list and a day; more is no reason. */
const longestReason = 200

function reasonOf({ reason }: ScrubRow): string {
  return plainText(reason, longestReason)
}
