/** The internal do-not-call list of a provider: `pdnc`, action `status` (spec, "Internal DNC list"). */
import {
  type InternalDncItem,
  internalDncGet,
  wireInternalDncItem,
} from '../../../api/records/internal-dnc.js'
import type { InternalDncStatus, Question } from '../../../domain/compliance.js'
import { msPerDay, parseDay } from '../../../domain/time/dates.js'
import { type InvalidRow, type ParsedRow, withoutExpiry } from '../batch-question.js'
import { createEndpointRequest, defineQuestion, omitEmpty } from './define-question.js'
import { parseRows } from './parse-rows.js'

/**
 * Answered from the current list, regardless of the question's instant. A list belongs to a project, so
 * a campaign without its project is not supported.
 */
export const internalDncQuestion = defineQuestion<Question, InternalDncStatus>({
  name: 'internal-dnc',
  findRefusal: ({ projectId, campaignId }) =>
    omitEmpty(campaignId) === undefined || omitEmpty(projectId) !== undefined
      ? undefined
      : 'the internal list of the provider accepts a project but no campaign; name the project as well',
  group: ({ projectId }) => [projectId],
  item: ({ number }) => [number],
  buildRequest: ({ projectId }, questions) =>
    createEndpointRequest(internalDncGet, {
      action: 'status',
      numbers: questions.map(({ number }) => number),
      projectId: omitEmpty(projectId),
      ignoreInvalid: false,
    }),
  parseReply: (reply, questions) =>
    parseRows(reply, questions, {
      schema: wireInternalDncItem,
      getNumber: ({ phone }) => phone,
      interpret: interpretItem,
    }),
})

/** Both days are "`null` when not on the list" (spec, "Internal DNC status item"). */
function interpretItem(item: InternalDncItem): ParsedRow<InternalDncStatus> | InvalidRow {
  const { onList, addedOn, lastModifiedOn, invalid } = item
  if (invalid === true) {
    return { problem: 'invalid is true: the number is exactly 10 digits' }
  }
  if (!onList && (addedOn !== null || lastModifiedOn !== null)) {
    return { problem: 'onList is false, but addedOn or lastModifiedOn is not null' }
  }
  return withoutExpiry({ onList, addedAt: onList ? parseDayStart(addedOn) : undefined })
}

/** The API has only the day; the start of that day in UTC is used. */
function parseDayStart(day: string | null): number | undefined {
  const found = day === null ? undefined : parseDay(day)
  return found === undefined ? undefined : found * msPerDay
}
